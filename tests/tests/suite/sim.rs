//! Every kernel on the simulated machine: the results are those of the host references under all schedules, and nothing is found.

use crate::support::{compile, has_linker, told, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::Optimization;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{Inputs, Job, Outcome, Place};
use splitbar_tests::fixture::Fixture;
use splitbar_tests::reference::{self, Case};

/// One GPU of each generation that is simulated.
const TARGETS: [&str; 7] = [
    "gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250",
];

/// All kinds of schedule, and each once more with other chances.
const SCHEDULES: u32 = 16;

pub fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for fixture in fixtures {
        for target in TARGETS {
            for (level, optimization) in [(0, Optimization::O0), (2, Optimization::O2)] {
                let fixture = fixture.clone();
                let name = format!("sim/{}/{target}/O{level}", fixture.name);
                trials.push(trial(name, move || {
                    if !has_linker() {
                        return Ok(());
                    }
                    agrees(&fixture, target, optimization)
                }));
            }
        }
    }
    trials
}

/// The launch of a kernel's reference.
pub fn inputs(case: &Case) -> Inputs {
    let place = |place| match place {
        reference::Place::Binding(set, binding) => Place::Binding(set, binding),
        reference::Place::Argument(index) => Place::Argument(index),
    };
    Inputs {
        groups: case.groups,
        workgroup_size: Some(case.workgroup_size),
        buffers: case
            .buffers
            .iter()
            .map(|b| (place(b.place), bytes(&b.before)))
            .collect(),
        push: bytes(&case.push_constants),
        limits: Default::default(),
    }
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Whether the buffers hold what the reference says.
pub fn compare(case: &Case, outcome: &Outcome) -> Result<(), String> {
    let words: Vec<Vec<u32>> = outcome
        .buffers
        .iter()
        .map(|b| {
            b.chunks_exact(4)
                .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
                .collect()
        })
        .collect();
    case.compare(&words.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// Whether code has products of matrices, which are not simulated (SB3011). Where a GPU has none, the same kernel multiplies by shuffles, and is.
pub fn multiplies_matrices(code: &str) -> bool {
    ["v_wmma", "v_mfma", "mma.sync"]
        .iter()
        .any(|name| code.contains(name))
}

fn agrees(fixture: &Fixture, target: &str, optimization: Optimization) -> Result<()> {
    let case = reference::case(&fixture.name).context("no host reference")?;
    let output = compile(fixture, target, optimization)?;
    if multiplies_matrices(&told(output.assembly())?) {
        println!(
            "skipped: {} on {target} has products of matrices, which are not simulated",
            fixture.name
        );
        return Ok(());
    }
    let job = Job::compiled(&output, 0)?;
    let inputs = inputs(&case);
    for index in 0..SCHEDULES {
        let schedule = Schedule::nth(index, 1);
        let outcome = job.run(&inputs, schedule)?;
        if let Some(finding) = outcome.report.findings.first() {
            anyhow::bail!("{schedule}:\n{finding}");
        }
        if let Err(difference) = compare(&case, &outcome) {
            anyhow::bail!("{schedule}: {difference}");
        }
        ensure!(outcome.report.steps > 0);
    }
    Ok(())
}
