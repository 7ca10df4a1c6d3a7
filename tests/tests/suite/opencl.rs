//! Kernels in OpenCL C on the simulated machine, as two compilers translate them, against functions on the host.

use crate::support::{compile_bytes, has_linker, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{Inputs, Job, Place};
use splitbar_tests::fixture;
use splitbar_tests::opencl::{GROUPS, KERNELS, Kernel, WORDS, input};

const TARGETS: [&str; 3] = ["gfx1201", "sm_80", "gfx906"];
/// clang's own SPIR-V back end, and the translator from LLVM IR to SPIR-V, the latter without optimisation.
const COMPILERS: [&str; 2] = ["clang", "translator"];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for kernel in KERNELS {
        for compiler in COMPILERS {
            let path = fixture::root().join(format!("fixtures/opencl/{}.{compiler}.spv", kernel.0));
            // A few of these compilers' modules are no valid SPIR-V.
            if !path.exists() {
                continue;
            }
            for target in TARGETS {
                let path = path.clone();
                trials.push(trial(
                    format!("opencl/{}/{compiler}/{target}", kernel.0),
                    move || {
                        let bytes = std::fs::read(&path).context(path.display().to_string())?;
                        run(kernel, &bytes, target)
                    },
                ));
            }
        }
    }
    trials
}

fn run((_, reference): Kernel, bytes: &[u8], target: &str) -> Result<()> {
    if !has_linker() {
        return Ok(());
    }
    let output = compile_bytes(bytes, target, |_| {})?;
    let job = Job::compiled(&output, 0)?;
    let words = input();
    let before = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let inputs = Inputs {
        dynamic_shared: 0,
        groups: [GROUPS as u32, 1, 1],
        workgroup_size: None,
        buffers: vec![
            (Place::Argument(0), before),
            (Place::Argument(1), vec![0; WORDS * 4]),
        ],
        push: Vec::new(),
        limits: Default::default(),
    };
    let want = reference(&words);
    for schedule in 0..2 {
        let outcome = job.run(&inputs, Schedule::nth(schedule, 1))?;
        if let Some(finding) = outcome.report.findings.first() {
            anyhow::bail!("{finding}");
        }
        let out = outcome.buffers.get(1).context("no output")?;
        for (at, (bytes, want)) in out.chunks(4).zip(&want).enumerate() {
            ensure!(
                bytes == want.to_le_bytes(),
                "word {at} is {bytes:02x?}, not {want:#010x}"
            );
        }
    }
    Ok(())
}
