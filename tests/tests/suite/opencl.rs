//! Kernels in OpenCL C on the simulated machine, as two compilers translate them, against functions
//! on the host.

use crate::support::{compile_bytes, linkable, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job, Outcome};
use splitbar_tests::fixture;
use splitbar_tests::opencl::{GROUPS, KERNELS, Kernel, LINE_NUMBER, WORDS, input, lines};

const TARGETS: [&str; 3] = ["gfx1201", "sm_80", "gfx906"];
/// clang's own SPIR-V back end, and the translator from LLVM IR to SPIR-V, the latter without
/// optimisation.
const COMPILERS: [&str; 2] = ["clang", "translator"];
/// Kernels of which a compiler makes a module that spirv-val refuses; there is no trial of them.
const REFUSED: [(&str, &str); 6] = [
    ("atomics", "clang"),
    ("copies", "clang"),
    ("generic", "clang"),
    ("printing_window", "translator"),
    ("program_scope", "clang"),
    ("vectors", "clang"),
];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for kernel in KERNELS {
        for compiler in COMPILERS {
            if REFUSED.contains(&(kernel.0, compiler)) {
                continue;
            }
            let path = fixture::root().join(format!("fixtures/opencl/{}.{compiler}.spv", kernel.0));
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

fn run((name, reference): Kernel, bytes: &[u8], target: &str) -> Result<()> {
    linkable(target)?;
    let output = compile_bytes(bytes, target, |_| {})?;
    let job = Job::compiled(&output, 0)?;
    let words = input();
    let before = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let inputs = Inputs::new(
        [GROUPS as u32, 1, 1],
        vec![
            (BufferName::Argument(0), before),
            (BufferName::Argument(1), vec![0; WORDS * 4]),
        ],
    );
    let want = reference(&words);
    let want_lines = lines(name, &words);
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
        check_lines(&outcome, want_lines.as_deref())?;
    }
    if want_lines.is_some() {
        check_full_buffer(job, &inputs, &want)?;
    }
    Ok(())
}

/// Checks the lines of each invocation, in its order; lines of different invocations can be in any
/// order.
fn check_lines(outcome: &Outcome, want: Option<&[String]>) -> Result<()> {
    let printed = outcome.printed.as_ref();
    ensure!(printed.is_some() == want.is_some(), "a printf buffer");
    let (Some(printed), Some(want)) = (printed, want) else {
        return Ok(());
    };
    ensure!(printed.missed == 0 && printed.damaged.is_none());
    let text = std::str::from_utf8(&printed.text)?;
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_by_key(|line| line.get(..LINE_NUMBER).unwrap_or_default());
    ensure!(lines.len() == want.len(), "{} lines", lines.len());
    for (line, want) in lines.iter().zip(want) {
        ensure!(line == want, "printed is {line:?}, not {want:?}");
    }
    Ok(())
}

/// If the buffer is too small, whole records are missing, and their calls return -1.
fn check_full_buffer(job: Job, inputs: &Inputs, want: &[u32]) -> Result<()> {
    let outcome = job
        .with_print_capacity(1000)
        .run(inputs, Schedule::nth(0, 1))?;
    if let Some(finding) = outcome.report.findings.first() {
        anyhow::bail!("{finding}");
    }
    let printed = outcome.printed.context("no printf buffer")?;
    ensure!(printed.damaged.is_none(), "{printed:?}");
    ensure!(printed.missed > 0 && printed.text.ends_with(b"\n"));
    let out = outcome.buffers.get(1).context("no output")?;
    let mut failed = out
        .chunks(4)
        .zip(want)
        .filter(|(bytes, want)| *bytes == want.wrapping_sub(1).to_le_bytes());
    ensure!(failed.next().is_some(), "every call found room");
    Ok(())
}
