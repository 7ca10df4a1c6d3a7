//! Random programs without and with optimisation, for an AMD and an NVIDIA GPU: the simulator's results are those of the host, and nothing is found.
//!
//! `SPLITBAR_SEEDS=1000 cargo test -p splitbar-tests --test suite -- random/` runs more of them.

use crate::support::{assembled, compile_bytes, has_linker, trial};
use anyhow::{Context, Result, bail};
use libtest_mimic::Trial;
use splitbar::Optimization;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{Inputs, Job, Place};
use splitbar_tests::random::{self, GROUPS, VARIABLES, WORKGROUP};

const TARGETS: [&str; 3] = ["gfx906", "gfx1201", "sm_80"];
/// Programs of a normal run.
const SEEDS: u64 = 24;
/// The variable that asks for more.
const MORE: &str = "SPLITBAR_SEEDS";

pub fn trials() -> Vec<Trial> {
    let seeds = std::env::var(MORE).ok().and_then(|n| n.parse().ok());
    (0..seeds.unwrap_or(SEEDS))
        .map(|seed| trial(format!("random/{seed}"), move || agrees(seed)))
        .collect()
}

fn agrees(seed: u64) -> Result<()> {
    if !has_linker() {
        return Ok(());
    }
    let program = random::program(seed);
    let text = random::text(&program);
    let bytes = assembled(&text).with_context(|| text.clone())?;
    let words = random::inputs(seed);
    for target in TARGETS {
        for level in [Optimization::O0, Optimization::O2] {
            let at = || format!("{target} {level:?}");
            let output = compile_bytes(&bytes, target, |options| options.optimization = level)?;
            let subgroup = output
                .entries()
                .first()
                .context("no entry point")?
                .plan
                .wave_size;
            let wanted = random::run(&program, &words, subgroup as usize);
            let inputs = Inputs {
                groups: [GROUPS as u32, 1, 1],
                workgroup_size: None,
                buffers: vec![
                    (
                        Place::Binding(0, 0),
                        words.iter().flat_map(|w| w.to_le_bytes()).collect(),
                    ),
                    (
                        Place::Binding(0, 1),
                        vec![0; WORKGROUP * GROUPS * VARIABLES * 4],
                    ),
                ],
                push: Vec::new(),
                dynamic_shared: 0,
                limits: Default::default(),
            };
            // Another kind of schedule for each program.
            let outcome =
                Job::compiled(&output, 0)?.run(&inputs, Schedule::nth(seed as u32 % 8, seed))?;
            if let Some(finding) = outcome.report.findings.first() {
                bail!("{}: {finding}\n{program:#?}", at());
            }
            let found = outcome.buffers[1]
                .as_chunks::<4>()
                .0
                .iter()
                .map(|w| u32::from_le_bytes(*w));
            if let Some((index, (found, wanted))) =
                found.zip(&wanted).enumerate().find(|(_, (f, w))| f != *w)
            {
                let (invocation, variable) = (index / VARIABLES, index % VARIABLES);
                bail!(
                    "{}: variable {variable} of invocation {invocation} is {found:#x} instead of {wanted:#x}\n{program:#?}",
                    at()
                );
            }
        }
    }
    Ok(())
}
