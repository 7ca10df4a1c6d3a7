//! Real modules without split barriers: as LLVM IR, which splitbar makes of them, they go through
//! the door unchanged, and the code is the one that is made without it.
//!
//! A plain run takes some of the modules; `SPLITBAR_CORPUS=all` takes [`MODULES`] that compile.

use crate::support::{always_split, told, trial};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use splitbar_tests::corpus::{is_complete, modules};

const TARGETS: [&str; 4] = ["gfx1201", "sm_90", "gfx942", "sm_75"];

/// Modules that are compared when all are.
const MODULES: usize = 200;
/// Modules of a plain run.
const SAMPLE: usize = 24;

pub(super) fn trials() -> Vec<Trial> {
    let count = if is_complete() { MODULES } else { SAMPLE } / TARGETS.len();
    let trials = TARGETS.iter().enumerate();
    trials
        .map(|(share, target)| {
            trial(format!("ir/translated/{target}"), move || {
                same_code(target, share, count)
            })
        })
        .collect()
}

/// Compares `count` modules, each [`TARGETS`]th one from number `share` on.
fn same_code(gpu: &str, share: usize, count: usize) -> Result<()> {
    let options = always_split(gpu)?;
    let mut compared = 0;
    // Windows of split barriers are widened in the final code of SPIR-V, of which bitcode does not
    // have any.
    let modules = modules()?.iter();
    let whole = modules.filter(|(name, _)| !name.contains("-split/"));
    for (name, module) in whole.skip(share).step_by(TARGETS.len()) {
        if compared == count {
            break;
        }
        let Ok(output) = splitbar::Compiler::new(&options).compile(module) else {
            continue; // corpus/ says what becomes of it
        };
        let there = splitbar::Compiler::new(&options)
            .compile(splitbar::Input::LlvmIr(&output.bitcode()))?;
        ensure!(there.entries().is_empty(), "{name}: it has split barriers");
        let (one, other) = (told(output.assembly())?, told(there.assembly())?);
        ensure!(one == other, "{name}: other code");
        compared += 1;
    }
    ensure!(compared == count, "{compared} of {count} modules compile");
    Ok(())
}
