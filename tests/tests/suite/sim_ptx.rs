//! Kernels as PTX on the simulated machine: results equal the host references under hostile schedules, and nothing is found.

use crate::sim::multiplies_matrices;
use crate::support::{self, trial};
use anyhow::{Context, Result, anyhow};
use libtest_mimic::Trial;
use splitbar::{Argument, ArgumentKind, Optimization};
use splitbar_sim::memory::{Global, RegionId};
use splitbar_sim::{Launch, Limits, Schedule, ptx};
use splitbar_tests::fixture::Fixture;
use splitbar_tests::reference::{self, Case, Place};

/// Before and after independent progress of lanes, with and without mbarriers.
const TARGETS: [&str; 4] = ["sm_60", "sm_75", "sm_80", "sm_90"];
/// All kinds of schedule, once each.
const SCHEDULES: u32 = 8;
/// More than any kernel here takes.
const STEPS: u64 = 20_000_000;

pub fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for fixture in fixtures {
        for target in TARGETS {
            for level in [Optimization::O0, Optimization::O2] {
                let fixture = fixture.clone();
                let name = format!("sim_ptx/{}/{target}/{level:?}", fixture.name);
                trials.push(trial(name, move || agrees(&fixture, target, level)));
            }
        }
    }
    trials
}

fn agrees(fixture: &Fixture, target: &str, level: Optimization) -> Result<()> {
    let compiled = Compiled::new(fixture, target, level)?;
    if multiplies_matrices(&compiled.text) {
        println!(
            "skipped: {} on {target} has products of matrices, which are not simulated",
            fixture.name
        );
        return Ok(());
    }
    let kernel = ptx::kernel(&compiled.text, None)?;
    for index in 0..SCHEDULES {
        compiled.run(&kernel, Schedule::nth(index, 1), STEPS)?;
    }
    Ok(())
}

/// A kernel as PTX with its launch.
struct Compiled {
    case: Case,
    text: String,
    arguments: Vec<Argument>,
}

impl Compiled {
    fn new(fixture: &Fixture, target: &str, level: Optimization) -> Result<Compiled> {
        let output = support::compile(fixture, target, level)?;
        let entry = output.entries().first().context("no entry point")?;
        Ok(Compiled {
            case: reference::case(&fixture.name).context("no host reference")?,
            text: support::told(output.assembly())?,
            arguments: entry.abi.arguments.clone(),
        })
    }

    /// Runs a kernel that takes the arguments of this one. Findings and wrong results are errors.
    fn run(&self, kernel: &ptx::Kernel, schedule: Schedule, steps: u64) -> Result<()> {
        let mut kernel = kernel.clone();
        let mut global = Global::default();
        let regions: Vec<RegionId> = self
            .case
            .buffers
            .iter()
            .map(|b| global.add(b.name, bytes(&b.before), true))
            .collect();
        kernel.set_parameters(&self.parameters(&global, &regions)?);
        kernel.load(&mut global);
        let launch = Launch {
            groups: self.case.groups,
            workgroup_size: self.case.workgroup_size,
            shared_bytes: kernel.shared_bytes() as usize,
            limits: Limits {
                steps,
                ..Limits::default()
            },
        };
        let report = splitbar_sim::run(&kernel, &mut global, &launch, schedule);
        if let Some(finding) = report.findings.first() {
            return Err(anyhow!(
                "{schedule}: {} findings, the first: {finding}",
                report.findings.len()
            ));
        }
        let found: Vec<Vec<u32>> = regions
            .iter()
            .map(|id| words(global.region(*id).map_or(&[], |r| r.bytes())))
            .collect();
        let found: Vec<&[u32]> = found.iter().map(Vec::as_slice).collect();
        self.case
            .compare(&found)
            .map_err(|error| anyhow!("{schedule}: {error}"))
    }

    /// The parameter block, as the reflection describes it.
    fn parameters(&self, global: &Global, regions: &[RegionId]) -> Result<Vec<u8>> {
        let mut block = Vec::new();
        for argument in &self.arguments {
            let place = match (argument.set, argument.binding) {
                (Some(set), Some(binding)) => Place::Binding(set, binding),
                _ => Place::Argument(argument.index),
            };
            let mut buffers = self.case.buffers.iter().zip(regions);
            let buffer = buffers.find(|(buffer, _)| buffer.place == place);
            let value = match (argument.kind, buffer) {
                (ArgumentKind::Buffer | ArgumentKind::Value, Some((_, id))) => {
                    global.base(*id).to_le_bytes().to_vec()
                }
                (ArgumentKind::ArrayLength, Some((buffer, _))) => {
                    (buffer.before.len() as u64 * 4).to_le_bytes().to_vec()
                }
                _ => bytes(&self.case.push_constants),
            };
            let (at, size) = (argument.offset as usize, argument.size as usize);
            block.resize(block.len().max(at + size), 0);
            block[at..at + size].copy_from_slice(value.get(..size).context("too few bytes")?);
        }
        Ok(block)
    }
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|w| u32::from_le_bytes(*w))
        .collect()
}
