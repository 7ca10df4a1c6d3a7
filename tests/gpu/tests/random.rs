//! Random kernels after passes whose output is for every driver, on a Vulkan driver for the CPU:
//! the results are those of the host.
//!
//! Loops are pipelined with plain barriers (`splitbar_tests::pipelines`), and barriers are narrowed
//! to subgroups of four invocations (`splitbar_tests::exchanges`). The subgroups of the driver have
//! four invocations or a multiple.
#![allow(clippy::unwrap_used, clippy::panic)]

use splitbar_gpu::vulkan::{self, Answer, Buffer, Job};
use splitbar_passes::module::{Module, assemble};
use splitbar_passes::pipeline::{self, Settings, Step};
use splitbar_passes::transform::registry::{
    NARROW_BARRIERS_TO_SUBGROUPS, PIPELINE_BARRIER_LOOPS, PassOptions,
};
use splitbar_passes::transform::{Ahead, PipelineLoops};
use splitbar_tests::harness::{self, Missing, trial};
use splitbar_tests::{exchanges, pipelines};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

/// Kernels of each kind.
const SEEDS: u64 = 40;

fn main() -> ExitCode {
    harness::main(vec![
        trial("pipelined_loops".to_owned(), pipelined_loops),
        trial(
            "barriers_narrowed_to_subgroups".to_owned(),
            barriers_narrowed_to_subgroups,
        ),
    ])
}

/// The module of `text`, changed by `step`; `None` if it stays as it is.
fn changed(text: &str, step: Step) -> Option<Vec<u32>> {
    let words = assemble(text).unwrap().words;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let module = Module::parse(&bytes).unwrap().into_owned();
    let done = pipeline::run(module, &[step], Settings::default(), &mut |_, _| ()).unwrap();
    done.ran[0].changed.then(|| done.module.words().to_vec())
}

/// Runs a module with these storage buffers, and compares the one with the results.
fn compare(
    seed: u64,
    module: Vec<u32>,
    buffers: Vec<Vec<u32>>,
    results: usize,
    wanted: &[u32],
) -> Result<(), Missing> {
    let buffers = buffers.into_iter().zip(0..).map(|(words, binding)| Buffer {
        set: 0,
        binding,
        uniform: false,
        words,
    });
    let job = Job {
        module,
        entry: "main".to_owned(),
        groups: [1, 1, 1],
        buffers: buffers.collect(),
        images: Vec::new(),
        samplers: Vec::new(),
        push: Vec::new(),
        spec: Vec::new(),
    };
    let program = Path::new(env!("CARGO_BIN_EXE_splitbar-gpu"));
    match vulkan::run(program, &job, LIMIT).unwrap() {
        Answer::NoDevice(why) => Err(Missing::new(why)),
        Answer::Failed(why) => panic!("seed {seed}: {why}"),
        Answer::Done(_, found) => {
            let words = found[results].iter().zip(wanted);
            let wrong = words.clone().position(|(found, wanted)| found != wanted);
            assert_eq!(wrong, None, "seed {seed}: the first wrong word");
            Ok(())
        }
    }
}

fn pipelined_loops() -> Result<(), Missing> {
    let mut ran = 0;
    for seed in 0..SEEDS {
        let program = pipelines::program(seed);
        let ahead = [Ahead::Either, Ahead::Stage, Ahead::LoadsOfOneBuffer];
        let form = PipelineLoops {
            ahead: ahead[seed as usize % 3],
            plain: true,
            always_store: seed / 3 % 2 == 1,
            ..PipelineLoops::default()
        };
        let step = Step {
            pass: PIPELINE_BARRIER_LOOPS,
            options: PassOptions::PipelineLoops(form),
        };
        let Some(module) = changed(&pipelines::text(&program), step) else {
            continue;
        };
        let inputs = pipelines::inputs(&program, seed);
        let wanted = pipelines::run(&program, &inputs);
        let buffers = vec![inputs, vec![0; program.results()]];
        compare(seed, module, buffers, 1, &wanted)?;
        ran += 1;
    }
    assert!(ran > 20, "only {ran} loops are pipelined");
    Ok(())
}

fn barriers_narrowed_to_subgroups() -> Result<(), Missing> {
    let mut ran = 0;
    for seed in 0..SEEDS {
        let kernel = exchanges::kernel(seed);
        let step = Step {
            pass: NARROW_BARRIERS_TO_SUBGROUPS,
            options: PassOptions::Subgroups {
                size: 4,
                kept: BTreeSet::new(),
            },
        };
        let Some(module) = changed(&exchanges::text(&kernel), step) else {
            continue;
        };
        let wanted = exchanges::run(&kernel);
        let buffers = vec![vec![0; wanted.len()]];
        compare(seed, module, buffers, 0, &wanted)?;
        ran += 1;
    }
    assert!(ran > 5, "only {ran} kernels have narrowed barriers");
    Ok(())
}
