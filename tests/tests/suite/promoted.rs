//! Every kernel with its copies made asynchronous, on the simulated machine: the results are those of the host references, and nothing is found. A copy that is not waited
//! for in time is read too early under one of the schedules.

use crate::sim::agrees;
use crate::support::{compile_bytes, has_linker, is_nvptx, told, trial};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use splitbar::Options;
use splitbar_plan::Step;
use splitbar_tests::fixture::Fixture;

/// Targets with instructions for copies, one of each kind: LDS DMA without and with BackOffBarrier, with a counter of stores, loads to LDS, `cp.async` with mbarriers that are
/// tested and tried; and without any: loads that wait in registers, in one counter and in counters of their own, NVIDIA.
const TARGETS: [&str; 9] = [
    "gfx906", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250", "sm_75", "sm_80", "sm_90",
];

/// Schedules of a kernel in which something is copied.
const SCHEDULES: u32 = 8;

/// Kernels in which copies are found, with the asynchronous instructions of gfx1250 in their code.
const COPIES: [(&str, usize); 2] = [("tiled_matmul", 4), ("tiled_matmul_double_buffered", 2)];

pub fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for target in ["sm_80", "sm_90"] {
        trials.push(trial(
            format!("promoted/async_double_buffer/{target}/nobody_waits"),
            move || nobody_waits(target),
        ));
    }
    for fixture in fixtures {
        for target in TARGETS {
            let fixture = fixture.clone();
            let name = format!("promoted/{}/{target}", fixture.name);
            trials.push(trial(name, move || simulated(&fixture, target)));
        }
        let count = COPIES.iter().find(|(name, _)| *name == fixture.name);
        if let Some((_, count)) = count {
            let fixture = fixture.clone();
            let name = format!("promoted/{}/copies", fixture.name);
            trials.push(trial(name, move || copies(&fixture, *count)));
        }
    }
    trials
}

fn simulated(fixture: &Fixture, target: &str) -> Result<()> {
    let output = compile_bytes(&fixture.module()?, target, |options| {
        options.promote_async_copies = true;
    })?;
    let copies = output
        .entries()
        .iter()
        .any(|entry| !entry.plan.copies.is_empty());
    if !copies || !is_nvptx(target) && !has_linker() {
        return Ok(()); // the same code as without promotion, which other tests run
    }
    agrees(fixture, &output, SCHEDULES)
}

/// Where the mbarrier waits for copies, nobody else does: without their arrival they are read too early.
fn nobody_waits(target: &str) -> Result<()> {
    let fixture = Fixture::load("async_double_buffer")?;
    let options = Options {
        promote_async_copies: true,
        ..Options::new(crate::support::target(target)?)
    };
    let mut left_out = 0;
    let output = splitbar::compile_changed(&fixture.module()?, &options, |plans| {
        let steps = plans.iter_mut().flat_map(|p| p.at_instruction.values_mut());
        for steps in steps {
            let before = steps.len();
            steps.retain(|step| *step != Step::CopiesArrive { noinc: false });
            left_out += before - steps.len();
        }
    })?;
    ensure!(left_out == 1, "{left_out} arrivals of copies");
    let found = agrees(&fixture, &output, SCHEDULES);
    ensure!(
        found.is_err_and(|found| found.to_string().contains("SB3001")),
        "the copies are not missed"
    );
    Ok(())
}

fn copies(fixture: &Fixture, expected: usize) -> Result<()> {
    let output = compile_bytes(&fixture.module()?, "gfx1250", |options| {
        options.promote_async_copies = true;
        options.optimization = splitbar::Optimization::O0;
    })?;
    let code = told(output.assembly())?;
    let found = code.matches("global_load_async_to_lds").count();
    ensure!(
        found == expected,
        "{found} asynchronous loads instead of {expected}"
    );
    Ok(())
}
