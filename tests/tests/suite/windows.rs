//! The window of the tiled multiplication stays open to the end: in the measurement, and in the
//! assembly as it can be read without it.

use crate::support::{compile_bytes, is_nvptx, ptxas, told, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use regex::Regex;
use splitbar::asm::amdgpu::late_windows::{Ordered, widen};
use splitbar::waits::operation::Memory;
use splitbar::window::Window;
use splitbar::{SplitBarriers, Target};
use splitbar_passes::module::Module;
use splitbar_passes::pipeline::{self, Settings, Step};
use splitbar_passes::transform::registry::{INSTRUMENT_BARRIER_SKEW, PassOptions};
use splitbar_tests::fixture::{self, Fixture};
use splitbar_tests::tools;
use std::process::Command;

/// Multiply-adds that one invocation does in one window of the tiled multiplication: 4 x 4 x 8.
const MULTIPLY_ADDS: usize = 128;

/// Strategies that keep a window open, each on the first and the last kind of GPU that it is for.
const SPLIT: &[(&str, &str)] = &[
    ("gfx1201", "auto"),
    ("gfx1250", "auto"),
    ("gfx1310", "auto"),
    ("gfx600", "counter"),
    ("gfx700", "counter"),
    ("gfx803", "counter"),
    ("gfx906", "counter"),
    ("gfx90a", "counter"),
    ("gfx942", "counter"),
    ("gfx1030", "counter"),
    ("gfx1100", "counter"),
    ("gfx1170", "counter"),
    ("gfx1201", "counter"),
    ("sm_60", "auto"),
    ("sm_75", "auto"),
    ("sm_80", "auto"),
    ("sm_86", "auto"),
    ("sm_89", "auto"),
    ("sm_90", "auto"),
    ("sm_100", "auto"),
    ("sm_120", "auto"),
    ("sm_75", "group-named"),
    ("sm_89", "warp-named-single"),
    ("sm_89", "group-named"),
    ("sm_70", "counter"),
    ("sm_80", "counter"),
    ("sm_120", "counter"),
    ("sm_90", "cluster"),
    ("sm_120", "cluster"),
];

/// Matrix instructions: who keeps them between arrive and wait.
const MATRICES: &[(&str, &str)] = &[
    ("gfx908", "counter"),
    ("gfx90a", "counter"),
    ("gfx942", "counter"),
    ("gfx950", "counter"),
    ("gfx1100", "counter"),
    ("gfx1170", "counter"),
    ("gfx1201", "auto"),
    ("gfx1250", "auto"),
    ("gfx1250", "named"),
    ("sm_75", "auto"),
    ("sm_80", "auto"),
    ("sm_86", "auto"),
    ("sm_89", "auto"),
    ("sm_90", "auto"),
    ("sm_100", "auto"),
    ("sm_120", "auto"),
    ("sm_80", "group-named"),
    ("sm_90", "cluster"),
];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (target, strategy) in MATRICES {
        trials.push(trial(
            format!("window/measured/cooperative_matmul/{target}/{strategy}"),
            move || matrices(target, strategy),
        ));
    }
    for (target, strategy) in SPLIT {
        for kernel in ["tiled_matmul", "tiled_matmul_double_buffered"] {
            // Nothing stands between the phases of the other kernel.
            if kernel != "tiled_matmul" && *strategy == "warp-named-single" {
                continue;
            }
            trials.push(trial(
                format!("window/measured/{kernel}/{target}/{strategy}"),
                move || measured(kernel, target, strategy),
            ));
        }
    }
    for target in ["gfx1201", "gfx1250"] {
        trials.push(trial(
            format!("window/unguarded/tiled_matmul/{target}"),
            move || unguarded(target),
        ));
        trials.push(trial(
            format!("window/read/tiled_matmul/{target}"),
            move || read_amdgpu(target),
        ));
    }
    for target in ["gfx1201", "gfx1250", "gfx1310"] {
        trials.push(trial(format!("window/late/{target}"), move || late(target)));
    }
    for target in ["gfx1201", "gfx1250", "sm_80", "sm_90"] {
        trials.push(trial(format!("window/instrumented/{target}"), move || {
            instrumented(target)
        }));
    }
    for target in ["sm_80", "sm_90", "sm_120"] {
        for arithmetic in [FMA, MMA] {
            trials.push(trial(
                format!("window/read/{}/{target}", arithmetic.kernel),
                move || read_ptx(arithmetic, target),
            ));
        }
    }
    for target in ["sm_90", "sm_100", "sm_120"] {
        for arithmetic in [FMA, MMA] {
            trials.push(trial(
                format!("window/read/{}/{target}/sass", arithmetic.kernel),
                move || read_sass(arithmetic, target),
            ));
        }
    }
    trials
}

/// A kernel that writes a profile has the same windows as without: together they lose at most a
/// tenth of their instructions, and none becomes empty. The instructions of the profile do not
/// count. A loop that is no longer unrolled keeps half of its windows' instructions.
fn instrumented(target: &str) -> Result<()> {
    let instrument = Step {
        pass: INSTRUMENT_BARRIER_SKEW,
        options: PassOptions::Clocks {
            set: 7,
            binding: 0,
            gpu: None,
        },
    };
    let kept = |bytes: &[u8]| -> Result<usize> {
        let output = compile_bytes(bytes, target, |options| {
            options.measure = true;
        })?;
        let windows = output.entries().iter().flat_map(|entry| &entry.windows);
        Ok(windows.flatten().map(|window| window.kept as usize).sum())
    };
    let (mut all, mut left) = (0, 0);
    for fixture in fixture::all()? {
        let bytes = fixture.module()?;
        let module = told(Module::parse(&bytes))?.into_owned();
        let steps = std::slice::from_ref(&instrument);
        let Ok(made) = pipeline::run(module, steps, Settings::default(), &mut |_, _| ()) else {
            continue; // a kernel of OpenCL
        };
        if made.source_map.is_none() {
            continue; // one without barriers
        }
        let Ok(plain) = kept(&bytes) else {
            continue; // nothing for this target
        };
        let with = kept(&made.module.to_bytes())?.min(plain);
        ensure!(
            2 * with >= plain,
            "{}: {with} of {plain} instructions are left",
            fixture.name
        );
        all += plain;
        left += with;
    }
    ensure!(all > 100, "{all} instructions are no measure");
    ensure!(
        10 * left >= 9 * all,
        "{left} of {all} instructions are left"
    );
    Ok(())
}

/// In the final code, the windows of the plain multiplication are as wide as possible, and loads of
/// the next tile are in flight across a wait. Neither is true for LLVM's own output. Full barriers
/// that must stay full do not change.
fn late(target: &str) -> Result<()> {
    let module = Fixture::load("plain_matmul")?.module()?;
    let gpu = Target::by_name(target).context("no such target")?;
    let compiled = |way, guards| {
        compile_bytes(&module, target, |options| {
            options.split_barriers = way;
            options.scheduling_barriers = guards;
            options.audit = true;
        })
    };
    let seen = |guards| -> Result<(bool, usize)> {
        let output = compiled(SplitBarriers::Always, guards)?;
        let text = told(output.assembly())?;
        let entry = output.entries().first().context("no entry point")?;
        let kernels = [(entry.abi.symbol.clone(), Ordered::Local)].into();
        let done = widen(&text, gpu, &kernels) == text;
        let audit = entry.audit.as_ref().context("nothing was audited")?;
        let waits = audit.barriers.iter();
        let waits = waits.filter(|barrier| barrier.at.mnemonic == "s_barrier_wait");
        let flying = waits.flat_map(|barrier| &barrier.outstanding);
        let loads = flying.filter(|it| it.memory == Memory::Global && !it.writes);
        Ok((done, loads.count()))
    };
    let (wide, narrow) = (seen(true)?, seen(false)?);
    ensure!(
        wide.0 && wide.1 >= 2,
        "widened and loads in flight: {wide:?}"
    );
    ensure!(
        !narrow.0 && narrow.1 < wide.1,
        "as LLVM leaves it: {narrow:?}"
    );
    let [one, other] = [true, false].map(|guards| compiled(SplitBarriers::Never, guards));
    ensure!(
        told(one?.assembly())? == told(other?.assembly())?,
        "full barriers were split"
    );
    Ok(())
}

fn assembly(kernel: &str, target: &str) -> Result<String> {
    let module = Fixture::load(kernel)?.module()?;
    told(compile_bytes(&module, target, |_| {})?.assembly())
}

/// At least 90 %.
fn open(kept: usize, source: usize) -> Result<()> {
    ensure!(source > 0, "the window is empty");
    ensure!(
        kept * 10 >= source * 9,
        "{kept} of {source} are left in the window"
    );
    Ok(())
}

/// Measures the one window of a kernel: in the final assembly, and in NVIDIA's machine code where
/// that can be had.
fn measure(
    kernel: &str,
    target: &str,
    strategy: &str,
    guards: bool,
) -> Result<(Window, Option<Window>)> {
    let module = Fixture::load(kernel)?.module()?;
    let output = compile_bytes(&module, target, |options| {
        options.measure = true;
        options.strategy = strategy.parse().ok();
        options.scheduling_barriers = guards;
    })?;
    let entry = output.entries().first().context("no entry point")?;
    let windows = entry.windows.as_ref().context("nothing was measured")?;
    let [window] = windows.as_slice() else {
        anyhow::bail!("{} windows instead of one", windows.len());
    };
    let machine = entry.machine_windows.as_ref();
    Ok((
        *window,
        machine.and_then(|windows| windows.first().copied()),
    ))
}

fn measured(kernel: &str, target: &str, strategy: &str) -> Result<()> {
    let (window, machine) = measure(kernel, target, strategy, true)?;
    // 128 and 32 multiply-adds; a packed or dual instruction does two.
    let least = match kernel {
        "tiled_matmul" => MULTIPLY_ADDS / 2,
        _ => 16,
    };
    // Of the other kernel's, ptxas moves a sixth in front of a cluster's barrier.
    let machine = machine.filter(|_| kernel == "tiled_matmul" || strategy != "cluster");
    for window in [Some(window), machine].into_iter().flatten() {
        ensure!(
            window.source as usize >= least,
            "only {} instructions of the window were found",
            window.source
        );
        open(window.kept as usize, window.source as usize)?;
    }
    Ok(())
}

/// The matrix instructions stay in the window, and no optimiser may sink their calls to where only
/// some lanes are active.
fn matrices(target: &str, strategy: &str) -> Result<()> {
    let kernel = "cooperative_matmul";
    let (window, machine) = measure(kernel, target, strategy, true)?;
    for window in [Some(window), machine].into_iter().flatten() {
        ensure!(
            window.source >= 2,
            "only {} instructions of the window were found",
            window.source
        );
        open(window.kept as usize, window.source as usize)?;
    }
    let module = Fixture::load(kernel)?.module()?;
    let output = compile_bytes(&module, target, |options| {
        options.strategy = strategy.parse().ok();
    })?;
    let ir = output.ir();
    let call = Regex::new(r"\bcall\b.*@llvm\.(nvvm\.mma|amdgcn\.(wmma|mfma))\.")?;
    let mut calls = 0;
    for line in ir.lines().filter(|line| call.is_match(line)) {
        calls += 1;
        // AMDGPU's are convergent by their declarations.
        let marked = line.split_whitespace().any(|word| {
            word.starts_with('#')
                && ir.lines().any(|l| {
                    l.starts_with(&format!("attributes {word} ")) && l.contains("convergent")
                })
        });
        ensure!(marked || !is_nvptx(target), "not convergent: {line}");
    }
    ensure!(calls > 0, "no matrix is multiplied");
    Ok(())
}

/// Without the guards LLVM closes the window: that they are needed, and that the measurement sees
/// it.
fn unguarded(target: &str) -> Result<()> {
    let (window, _) = measure("tiled_matmul", target, "auto", false)?;
    let (kept, source) = (window.kept as usize, window.source as usize);
    ensure!(
        open(kept, source).is_err(),
        "{kept} of {source} are left without the guards"
    );
    Ok(())
}

/// Multiply-adds of a line: a dual instruction has two parts, a packed one counts twice.
fn multiply_adds(line: &str) -> usize {
    let code = line.split([';', '/']).next().unwrap_or_default();
    code.matches("fma").count() * if code.contains("v_pk_") { 2 } else { 1 }
}

/// Lines after the first match of `from` up to the next match of `to`, by line.
fn between<'t>(text: &'t str, from: &Regex, to: &Regex) -> Result<Vec<&'t str>> {
    let mut lines = text.lines();
    lines
        .find(|line| from.is_match(line))
        .with_context(|| format!("no {from}"))?;
    let mut found = Vec::new();
    for line in lines {
        if to.is_match(line) {
            return Ok(found);
        }
        found.push(line);
    }
    anyhow::bail!("no {to} after {from}")
}

/// The arithmetic stands between a signal and the wait that follows it. The full barrier of the
/// kernel is a signal with a wait behind it too, with nothing between; so all the spans are added.
fn read_amdgpu(target: &str) -> Result<()> {
    let text = assembly("tiled_matmul", target)?;
    let (mut inside, mut kept, mut all) = (false, 0, 0);
    for line in text.lines() {
        if line.contains("s_barrier_signal") {
            inside = true;
        } else if line.contains("s_barrier_wait") {
            inside = false;
        }
        all += multiply_adds(line);
        if inside {
            kept += multiply_adds(line);
        }
    }
    ensure!(
        all >= MULTIPLY_ADDS,
        "{all} multiply-adds instead of {MULTIPLY_ADDS}"
    );
    open(kept, all)
}

/// The arithmetic of a kernel's window as NVIDIA spells it.
#[derive(Copy, Clone)]
struct Arithmetic {
    kernel: &'static str,
    ptx: &'static str,
    sass: &'static str,
    /// Instructions of the window, at least.
    least: usize,
}

const FMA: Arithmetic = Arithmetic {
    kernel: "tiled_matmul",
    ptx: r"\bfma\.rn\.f32(x2)?\b",
    sass: r"\bFFMA2?\b",
    least: MULTIPLY_ADDS / 2,
};

const MMA: Arithmetic = Arithmetic {
    kernel: "cooperative_matmul",
    ptx: r"\bmma\.sync\b",
    sass: r"\bHMMA\b",
    least: 2,
};

/// The amount of arithmetic between the first match of `arrive` and the next match of `wait`.
fn stands_between(
    text: &str,
    arithmetic: &str,
    least: usize,
    [arrive, wait]: [&str; 2],
) -> Result<()> {
    let arithmetic = Regex::new(arithmetic)?;
    let lines = between(text, &Regex::new(arrive)?, &Regex::new(wait)?)?;
    let kept = lines
        .iter()
        .filter(|line| arithmetic.is_match(line))
        .count();
    let all = text
        .lines()
        .filter(|line| arithmetic.is_match(line))
        .count();
    ensure!(all >= least, "{all} of {arithmetic} instead of {least}");
    open(kept, all)
}

fn read_ptx(arithmetic: Arithmetic, target: &str) -> Result<()> {
    stands_between(
        &assembly(arithmetic.kernel, target)?,
        arithmetic.ptx,
        arithmetic.least,
        [r"mbarrier\.arrive", r"mbarrier\.(test|try)_wait"],
    )
}

/// Reads the code of ptxas. In SASS an arrive is `SYNCS.ARRIVE...`, and the first test of the wait
/// is `SYNCS.PHASECHK...`.
fn read_sass(arithmetic: Arithmetic, target: &str) -> Result<()> {
    let (disassembler, tool) = (tools::nvdisasm()?, ptxas(target)?);
    let folder = tempfile::tempdir()?;
    let (ptx, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&ptx, assembly(arithmetic.kernel, target)?)?;
    tool.assemble(&ptx, target, &cubin)
        .map_err(anyhow::Error::msg)?;
    let result = Command::new(disassembler).arg("-c").arg(&cubin).output()?;
    ensure!(
        result.status.success(),
        "{}",
        String::from_utf8_lossy(&result.stderr)
    );
    stands_between(
        &String::from_utf8(result.stdout)?,
        arithmetic.sass,
        arithmetic.least,
        [r"SYNCS\.ARRIVE", r"SYNCS\.PHASECHK"],
    )
}
