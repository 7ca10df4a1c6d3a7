//! One instruction, one test: on the simulated machine, as code for an AMD and an NVIDIA GPU, against functions on the host.
//!
//! `cargo test -p splitbar-tests --test suite -- features/integer` runs a family. Features of a family share modules; a module that fails is taken apart, so that
//! each failure has the name of its feature.

use crate::support::{assembled, compile_bytes, has_linker, trial};
use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{Inputs, Job, Place};
use splitbar_tests::features::module::{batch, results};
use splitbar_tests::features::want::Worst;
use splitbar_tests::features::{self, Family, Feature, Flavour, INVOCATIONS, Launch, WORKGROUP};
use std::sync::{Arc, OnceLock};

/// One GPU of each vendor, and one of AMD's that has waves of 64 and other instructions.
const TARGETS: [&str; 3] = ["gfx1201", "sm_80", "gfx906"];

/// Features of a module.
const TOGETHER: usize = 32;

/// A module's worth of features on one target, run when the first of its tests asks.
struct Chunk {
    family: Arc<Family>,
    first: usize,
    count: usize,
    target: &'static str,
    outcome: OnceLock<Vec<Result<Worst, String>>>,
}

pub fn trials() -> Vec<Trial> {
    let mut columns: Vec<Vec<Trial>> = Vec::new();
    for family in features::families() {
        let family = Arc::new(family);
        for target in TARGETS {
            for first in (0..family.features.len()).step_by(TOGETHER) {
                let chunk = Arc::new(Chunk {
                    family: family.clone(),
                    first,
                    count: TOGETHER.min(family.features.len() - first),
                    target,
                    outcome: OnceLock::new(),
                });
                columns.push((0..chunk.count).map(|at| chunk.trial(at)).collect());
            }
        }
    }
    // The tests of one module wait for the first of them: neighbours are of different modules.
    let longest = columns.iter().map(Vec::len).max().unwrap_or(0);
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    (0..longest)
        .flat_map(|_| {
            columns
                .iter_mut()
                .filter_map(Iterator::next)
                .collect::<Vec<_>>()
        })
        .collect()
}

impl Chunk {
    fn trial(self: &Arc<Chunk>, at: usize) -> Trial {
        let chunk = self.clone();
        let feature = &self.family.features[self.first + at];
        let name = format!(
            "features/{}/{}/{}",
            self.family.name,
            feature.name(),
            self.target
        );
        trial(name, move || {
            if !has_linker() {
                return Ok(());
            }
            let outcome = chunk.outcome.get_or_init(|| chunk.run());
            outcome[at]
                .clone()
                .map(|_| ())
                .map_err(|error| anyhow!(error))
        })
    }

    fn run(&self) -> Vec<Result<Worst, String>> {
        let features: Vec<&Feature> = self.family.features[self.first..self.first + self.count]
            .iter()
            .collect();
        if let Ok(outcome) = execute(&features, self.family.flavour, self.target) {
            return outcome;
        }
        let alone = |feature: &&Feature| {
            let outcome = execute(&[*feature], self.family.flavour, self.target);
            outcome
                .map_err(|error| format!("{error:#}"))
                .and_then(|mut all| all.pop().unwrap_or(Err("nothing came out".to_owned())))
        };
        features.iter().map(alone).collect()
    }
}

/// What becomes of each feature in one module.
fn execute(
    features: &[&Feature],
    flavour: Flavour,
    target: &str,
) -> Result<Vec<Result<Worst, String>>> {
    let module = batch(features, flavour);
    if let Some(folder) = std::env::var_os("SPLITBAR_FEATURES_DUMP") {
        let name = format!("{}.spvasm", features[0].name());
        std::fs::write(std::path::Path::new(&folder).join(name), &module.text)?;
    }
    let bytes = assembled(&module.text)?;
    let output = compile_bytes(&bytes, target, |_| {})?;
    let job = Job::compiled(&output, 0)?;
    let place = |at: usize| match flavour {
        Flavour::Shader => Place::Binding(0, at as u32),
        Flavour::Kernel => Place::Argument(at as u32),
    };
    let inputs = Inputs {
        dynamic_shared: 0,
        groups: [(INVOCATIONS / WORKGROUP) as u32, 1, 1],
        workgroup_size: None,
        buffers: module
            .buffers
            .iter()
            .enumerate()
            .map(|(at, buffer)| (place(at), buffer.bytes.clone()))
            .collect(),
        push: Vec::new(),
        limits: Default::default(),
    };
    let outcome = job.run(&inputs, Schedule::nth(0, 1))?;
    if let Some(finding) = outcome.report.findings.first() {
        return Err(anyhow!("{finding}"));
    }
    ensure!(outcome.report.steps > 0);
    let outputs: Vec<_> = module
        .buffers
        .iter()
        .zip(outcome.buffers)
        .filter(|(buffer, _)| buffer.output)
        .map(|(buffer, bytes)| (buffer.scalar, bytes))
        .collect();
    let subgroup = output
        .entries()
        .first()
        .context("no entry point")?
        .plan
        .wave_size;
    let launch = Launch {
        subgroup: subgroup as usize,
    };
    let found = results(features, &outputs);
    Ok(features
        .iter()
        .zip(found)
        .map(|(feature, found)| feature.judge(launch, &found))
        .collect())
}
