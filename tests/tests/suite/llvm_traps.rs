//! What LLVM 23.1 gets wrong without a word (docs/llvm.md): every fixture, compiled for the GPUs where it happens, has nothing that would meet it.

use crate::support::{compile_bytes, told, trial};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use regex::Regex;
use splitbar::{Options, Placement, Target, Waits};
use splitbar_tests::fixture::Fixture;

/// Text that no output may hold.
struct Trap {
    name: &'static str,
    /// Where it happens.
    on: fn(&Target) -> bool,
    /// The options that come nearest to it.
    options: fn(&mut Options),
    /// In the IR, or in the assembly.
    ir: bool,
    /// A regular expression for a line.
    never: &'static str,
}

const TRAPS: &[Trap] = &[
    // The attribute's presence alone counts: "false" means uniform.
    Trap {
        name: "uniform-work-group-size",
        on: |target| target.amdgpu().is_some(),
        options: |_| {},
        ir: true,
        never: r#""uniform-work-group-size"="false""#,
    },
    // As above; and the subtarget feature of older releases is ignored, so that fences would be too weak.
    Trap {
        name: "tg-split-unasked",
        on: |target| target.amdgpu().is_some(),
        options: |_| {},
        ir: true,
        never: r"tg-?split",
    },
    Trap {
        name: "tg-split-feature",
        on: |target| target.amdgpu().is_some_and(|gpu| gpu.tg_split),
        options: |options| options.placement = Placement::ThreadgroupSplit,
        ir: true,
        never: r#"[+-]tgsplit|"amdgpu-tg-split"="(true|false)""#,
    },
    // The waits of gfx11 are encoded for gfx12.0 too, which has others; LLVM does not account for them, and they abort on gfx12.5.
    Trap {
        name: "legacy-waits",
        on: |target| target.amdgpu().is_some_and(|gpu| gpu.split_barrier),
        options: |options| options.waits = Waits::Explicit,
        ir: false,
        never: r"^\s*s_waitcnt",
    },
    Trap {
        name: "legacy-conservative-waits",
        on: |target| target.amdgpu().is_some_and(|gpu| gpu.split_barrier),
        options: |options| options.waits = Waits::Conservative,
        ir: false,
        never: r"^\s*s_waitcnt",
    },
];

pub fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    TRAPS
        .iter()
        .map(|trap| {
            let fixtures = fixtures.to_vec();
            trial(format!("llvm_traps/{}", trap.name), move || {
                avoided(trap, &fixtures)
            })
        })
        .collect()
}

fn avoided(trap: &Trap, fixtures: &[Fixture]) -> Result<()> {
    let never = Regex::new(trap.never)?;
    let mut looked_at = 0;
    // One GPU of each row's kind is enough, but the trap is where the facts say, not where somebody remembered.
    for target in Target::all()
        .iter()
        .filter(|target| (trap.on)(target))
        .step_by(3)
    {
        for fixture in fixtures {
            let compiled = compile_bytes(&fixture.module()?, target.name, trap.options);
            // A placement without LDS refuses most kernels.
            let Ok(output) = compiled else { continue };
            let text = match trap.ir {
                true => output.ir(),
                false => told(output.assembly())?,
            };
            looked_at += 1;
            let line = text.lines().find(|line| never.is_match(line));
            ensure!(
                line.is_none(),
                "{} on {}: {}",
                fixture.name,
                target.name,
                line.unwrap_or_default()
            );
        }
    }
    ensure!(looked_at > 0, "nothing was compiled");
    Ok(())
}
