//! Kernels as PTX on the simulated machine: results equal the host references under hostile schedules, and nothing is found.

use crate::support::{self, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::{ArgumentKind, Optimization};
use splitbar_sim::memory::Global;
use splitbar_sim::{Launch, Limits, Schedule, ptx};
use splitbar_tests::fixture::Fixture;
use splitbar_tests::reference::{self, Case, Place};

const TARGETS: [&str; 4] = ["sm_60", "sm_75", "sm_80", "sm_90"];
const SCHEDULES: u32 = 8;

pub fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for fixture in fixtures {
        for target in TARGETS {
            for level in [Optimization::O0, Optimization::O2] {
                let fixture = fixture.clone();
                trials.push(trial(
                    format!("sim_ptx/{}/{target}/{level:?}", fixture.name),
                    move || agrees(&fixture, target, level),
                ));
            }
        }
    }
    trials
}

fn agrees(fixture: &Fixture, target: &str, level: Optimization) -> Result<()> {
    let case = reference::case(&fixture.name).context("no host reference")?;
    let output = support::compile(fixture, target, level)?;
    let text = support::told(output.assembly())?;
    let mut kernel = ptx::kernel(&text, None)?;
    let abi = &output.entries()[0].abi;
    for index in 0..SCHEDULES {
        let schedule = Schedule::nth(index, 1);
        let mut global = Global::default();
        let regions: Vec<_> = case
            .buffers
            .iter()
            .map(|b| {
                let bytes = b.before.iter().flat_map(|w| w.to_le_bytes()).collect();
                global.add(b.name, bytes, true)
            })
            .collect();
        let mut block = vec![0; 4096];
        let place = |a: &splitbar::Argument| match (a.set, a.binding) {
            (Some(s), Some(b)) => Place::Binding(s, b),
            _ => Place::Argument(a.index),
        };
        for argument in &abi.arguments {
            let buffer = case.buffers.iter().position(|b| b.place == place(argument));
            let value: Vec<u8> = match argument.kind {
                ArgumentKind::Buffer | ArgumentKind::Value if buffer.is_some() => {
                    global.base(regions[buffer.unwrap()]).to_le_bytes().to_vec()
                }
                ArgumentKind::ArrayLength => {
                    (case.buffers[buffer.context("buffer")?].before.len() as u64 * 4)
                        .to_le_bytes()
                        .to_vec()
                }
                _ => case
                    .push_constants
                    .iter()
                    .flat_map(|w| w.to_le_bytes())
                    .collect(),
            };
            let at = argument.offset as usize;
            let size = argument.size as usize;
            block[at..at + size].copy_from_slice(&value[..size]);
        }
        kernel.set_parameters(&block);
        kernel.load(&mut global);
        let launch = Launch {
            groups: case.groups,
            workgroup_size: case.workgroup_size,
            shared_bytes: kernel.shared_bytes() as usize,
            limits: Limits {
                steps: 20_000_000,
                ..Limits::default()
            },
        };
        let started = std::time::Instant::now();
        let report = splitbar_sim::run(&kernel, &mut global, &launch, schedule);
        if std::env::var_os("SIM_TIME").is_some() {
            eprintln!(
                "{} {target} {schedule}: {} steps {} lanes {:?}",
                fixture.name,
                report.steps,
                report.lane_steps,
                started.elapsed()
            );
        }
        ensure!(
            report.findings.is_empty(),
            "{schedule}: {}",
            report
                .findings
                .iter()
                .take(5)
                .map(|f| f.to_string())
                .collect::<Vec<_>>()
                .join("\n")
        );
        let found: Vec<Vec<u32>> = regions
            .iter()
            .map(|r| {
                let bytes = global.region(*r).map_or(&[][..], |r| r.bytes());
                bytes
                    .chunks(4)
                    .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
                    .collect()
            })
            .collect();
        compare(&case, &found).map_err(|e| anyhow::anyhow!("{schedule}: {e}"))?;
    }
    Ok(())
}

fn compare(case: &Case, found: &[Vec<u32>]) -> Result<(), String> {
    case.compare(&found.iter().map(Vec::as_slice).collect::<Vec<_>>())
}
