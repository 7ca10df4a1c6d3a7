//! The kernels of fixtures/, with fused pairs, on a Vulkan driver for the CPU: the results are
//! those of the host references.
//!
//! This checks the references and the pass fuse-split-barriers against a compiler that is not ours.
//! Without such a driver they are ignored.
#![allow(clippy::unwrap_used, clippy::panic)]

use splitbar_gpu::vulkan::{self, Answer, Buffer, Job};
use splitbar_tests::fixture;
use splitbar_tests::harness::{self, Missing, trial};
use splitbar_tests::reference::{self, BufferName, Case};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

/// Kernels that lavapipe cannot be asked about, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    (
        "cooperative_matmul",
        "the driver has no cooperative matrices before Mesa 24",
    ),
    ("cooperative_tensors", "the driver has no tensor layouts"),
    // With the same loads and stores less MakePointerVisible and NonPrivatePointer, it runs the
    // branch.
    (
        "message_passing",
        "Mesa 22.3 loses the branch of one invocation in which a loop makes what it loads visible",
    ),
];

/// The launch of a kernel's reference; `None` for OpenCL kernels, which are not for Vulkan.
fn job(case: &Case, module: &[u8]) -> Option<Job> {
    let buffers = case.buffers.iter().map(|buffer| match buffer.place {
        BufferName::Binding(set, binding) => Some(Buffer {
            set,
            binding,
            uniform: false,
            words: buffer.before.clone(),
        }),
        BufferName::Argument(_) => None,
    });
    let constants = case.push_constants.iter();
    Some(Job {
        module: vulkan::fused(module).unwrap(),
        entry: "main".to_owned(),
        groups: case.groups,
        buffers: buffers.collect::<Option<_>>()?,
        images: Vec::new(),
        samplers: Vec::new(),
        push: constants.flat_map(|word| word.to_le_bytes()).collect(),
        spec: Vec::new(),
    })
}

fn main() -> ExitCode {
    let mut trials = vec![
        trial(
            "fused_kernels_leave_what_the_references_say".to_owned(),
            fused_kernels_leave_what_the_references_say,
        ),
        trial(
            "a_kernel_without_barriers_is_noticed".to_owned(),
            a_kernel_without_barriers_is_noticed,
        ),
    ];
    #[cfg(unix)]
    {
        trials.push(trial(
            "a_driver_that_hangs_or_crashes_is_an_answer".to_owned(),
            a_driver_that_hangs_or_crashes_is_an_answer,
        ));
    }
    harness::main(trials)
}

fn fused_kernels_leave_what_the_references_say() -> Result<(), Missing> {
    let program = Path::new(env!("CARGO_BIN_EXE_splitbar-gpu"));
    let mut ran = 0;
    for fixture in fixture::all().unwrap() {
        let case = reference::case(&fixture.name).unwrap();
        let Some(job) = job(&case, &fixture.module().unwrap()) else {
            continue;
        };
        if let Some((name, why)) = LEFT_OUT.iter().find(|(name, _)| *name == fixture.name) {
            println!("left out: {name}: {why}");
            continue;
        }
        match vulkan::run(program, &job, LIMIT).unwrap() {
            Answer::NoDevice(why) => return Err(Missing::new(why)),
            Answer::Failed(why) => panic!("{}: {why}", fixture.name),
            Answer::Done(_, found) => {
                let found: Vec<&[u32]> = found.iter().map(Vec::as_slice).collect();
                let compared = case.compare(&found);
                assert_eq!(compared, Ok(()), "{}", fixture.name);
                ran += 1;
            }
        }
    }
    assert!(ran > 10, "only {ran} kernels are for Vulkan");
    Ok(())
}

/// A wrong module is detected: without its barriers, a kernel has another result.
fn a_kernel_without_barriers_is_noticed() -> Result<(), Missing> {
    let program = Path::new(env!("CARGO_BIN_EXE_splitbar-gpu"));
    let case = reference::case("odd_workgroup").unwrap();
    let fixture = fixture::Fixture::load("odd_workgroup").unwrap();
    let mut job = job(&case, &fixture.module().unwrap()).unwrap();
    // OpControlBarrier has four words; OpNop has one.
    let barrier = 4 << 16 | 224;
    let at = job.module.iter().position(|word| *word == barrier).unwrap();
    job.module[at..at + 4].fill(1 << 16);
    match vulkan::run(program, &job, LIMIT).unwrap() {
        Answer::NoDevice(why) => return Err(Missing::new(why)),
        Answer::Failed(why) => panic!("{why}"),
        Answer::Done(_, found) => {
            let found: Vec<&[u32]> = found.iter().map(Vec::as_slice).collect();
            assert!(case.compare(&found).is_err());
        }
    }
    Ok(())
}

/// A child that crashes or says nothing is an answer, not an error.
#[cfg(unix)]
fn a_driver_that_hangs_or_crashes_is_an_answer() -> Result<(), Missing> {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let case = reference::case("odd_workgroup").unwrap();
    let fixture = fixture::Fixture::load("odd_workgroup").unwrap();
    let job = job(&case, &fixture.module().unwrap()).unwrap();
    for (script, says) in [("exec sleep 60", "no end"), ("kill -SEGV $$", "signal: 11")] {
        let program = folder.path().join("driver");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        match vulkan::run(&program, &job, Duration::from_millis(500)).unwrap() {
            Answer::Failed(why) => assert!(why.contains(says), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    Ok(())
}
