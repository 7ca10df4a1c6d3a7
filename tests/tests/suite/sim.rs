//! Every kernel on the simulated machine: the results are those of the host references under all schedules, and nothing is found.

use crate::support::{compile, has_linker, is_nvptx, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{Inputs, Job, Outcome, Place};
use splitbar::{Optimization, Output};
use splitbar_tests::fixture::Fixture;
use splitbar_tests::reference::{self, Case};

/// One AMD GPU of each generation that is simulated; NVIDIA's before and after independent progress of lanes, with and without mbarriers. Each with the number of
/// schedules: 8 are one of each kind, 16 are each once more with other chances.
const TARGETS: [(&str, u32); 13] = [
    ("gfx906", 16),
    ("gfx90a", 16),
    ("gfx942", 16),
    ("gfx950", 8),
    ("gfx1030", 16),
    ("gfx1100", 16),
    ("gfx1200", 8),
    ("gfx1201", 16),
    ("gfx1250", 16),
    ("sm_60", 8),
    ("sm_75", 8),
    ("sm_80", 8),
    ("sm_90", 8),
];

pub fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for fixture in fixtures {
        for (target, schedules) in TARGETS {
            for (level, optimization) in [(0, Optimization::O0), (2, Optimization::O2)] {
                let fixture = fixture.clone();
                let name = format!("sim/{}/{target}/O{level}", fixture.name);
                trials.push(trial(name, move || {
                    if !is_nvptx(target) && !has_linker() {
                        return Ok(());
                    }
                    let output = compile(&fixture, target, optimization)?;
                    agrees(&fixture, &output, schedules)
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
        dynamic_shared: 0,
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

/// Runs a compiled fixture under so many schedules: nothing may be found, and the results are the reference's.
pub fn agrees(fixture: &Fixture, output: &Output, schedules: u32) -> Result<()> {
    let case = reference::case(&fixture.name).context("no host reference")?;
    let job = Job::compiled(output, 0)?;
    let inputs = inputs(&case);
    for index in 0..schedules {
        let schedule = Schedule::nth(index, 1);
        let outcome = job.run(&inputs, schedule)?;
        if let Some(finding) = outcome.report.findings.first() {
            bail!("{schedule}:\n{finding}");
        }
        if let Err(difference) = compare(&case, &outcome) {
            bail!("{schedule}: {difference}");
        }
        ensure!(outcome.report.steps > 0);
    }
    Ok(())
}
