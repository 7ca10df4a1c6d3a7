//! Launches that no simulator can run have an answer at once: a code or wrong usage, and little memory. Long runs say how far they are.

use crate::support::{Ran, run, trial};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use splitbar_tests::fixture::Fixture;
use std::time::{Duration, Instant};

/// Far more than a refusal takes, and far less than the launch would.
const AT_ONCE: Duration = Duration::from_secs(20);

/// A launch of the kernel that is right but for the arguments that follow; its name, the exit code, and what is said.
const REFUSED: [(&str, &[&str], i32, &str); 14] = [
    ("workgroups", &["--groups", "4294967295,1,1"], 3, "SB3020"),
    (
        "workgroups_that_overflow",
        &["--groups", "65536,65536,65536"],
        3,
        "SB3020",
    ),
    (
        "no_workgroups",
        &["--groups", "1,0,1"],
        2,
        "three numbers from 1",
    ),
    (
        "workgroup_size",
        &["--groups", "1,1,1", "--workgroup-size", "65536,65536,1"],
        3,
        "SB3020",
    ),
    (
        "dynamic_shared",
        &["--groups", "1,1,1", "--dynamic-shared", "4294967295"],
        3,
        "SB3020",
    ),
    (
        "print_capacity",
        &["--groups", "1,1,1", "--print-capacity", "4294967295"],
        2,
        "is not in",
    ),
    (
        "no_schedules",
        &["--groups", "1,1,1", "--schedules", "0"],
        2,
        "is not in",
    ),
    (
        "buffer_without_end",
        &["--groups", "1,1,1", "--buffer", "0:9=/dev/zero"],
        2,
        "more than",
    ),
    (
        "buffer",
        &["--groups", "1,1,1", "--buffer", "0:9=zeros:99999999999"],
        2,
        "at most",
    ),
    (
        "buffers",
        &[
            "--groups",
            "1,1,1",
            "--buffer",
            "0:8=zeros:200000000",
            "--buffer",
            "0:9=seq:u32:50000000",
        ],
        2,
        "the buffers have more than",
    ),
    (
        "buffer_twice",
        &["--groups", "1,1,1", "--buffer", "0:0=zeros:4"],
        2,
        "given twice",
    ),
    (
        "push_without_end",
        &["--groups", "1,1,1", "--push", "/dev/zero"],
        2,
        "more than",
    ),
    (
        "push",
        &["--groups", "1,1,1", "--push", "LONG"],
        3,
        "SB3020",
    ),
    (
        "dump",
        &["--groups", "1,1,1", "--dump", "0:9=nowhere"],
        2,
        "no buffer 0:9",
    ),
];

pub fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = REFUSED
        .into_iter()
        .map(|(name, arguments, code, said)| {
            trial(format!("launches/{name}"), move || {
                refused(arguments, code, said)
            })
        })
        .collect();
    trials.push(trial("launches/input_without_end".to_owned(), || {
        let arguments = ["sim", "/dev/zero", "--target", "sm_80", "--groups", "1,1,1"];
        let ran = run(&arguments, b"", false)?;
        ensure!(
            ran.code == Some(2) && ran.stderr.contains("more than"),
            "{ran:?}"
        );
        Ok::<_, anyhow::Error>(())
    }));
    trials.push(trial("launches/progress".to_owned(), progress));
    trials
}

/// Runs a kernel of three buffers.
fn simulated(arguments: &[&str]) -> Result<Ran> {
    let kernel = Fixture::load("reduction")?.module_path();
    let kernel = kernel.display().to_string();
    let mut all = vec!["sim", kernel.as_str(), "--target", "sm_80"];
    for buffer in ["0:0=seq:u32:512", "0:1=zeros:2048", "0:2=zeros:2048"] {
        all.extend(["--buffer", buffer]);
    }
    all.extend(arguments);
    run(&all, b"", false)
}

fn refused(arguments: &[&str], code: i32, said: &str) -> Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), vec![0; (1 << 16) + 1])?;
    let long = file.path().display().to_string();
    let arguments: Vec<&str> = arguments
        .iter()
        .map(|argument| {
            if *argument == "LONG" {
                long.as_str()
            } else {
                argument
            }
        })
        .collect();
    let start = Instant::now();
    let ran = simulated(&arguments)?;
    ensure!(ran.code == Some(code), "{:?}: {}", ran.code, ran.stderr);
    ensure!(ran.stderr.contains(said), "{}", ran.stderr);
    ensure!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
    Ok(())
}

/// With `--verbose` the standard error says how far it is; without, and where the output is for programs, it does not.
fn progress() -> Result<()> {
    let arguments = ["--groups", "2,1,1", "--schedules", "3"];
    for (more, lines) in [
        (&["--verbose"][..], 3),
        (&[], 0),
        (&["--verbose", "--report", "json"], 0),
    ] {
        let ran = simulated(&[&arguments, more].concat())?;
        ensure!(ran.code == Some(0), "{:?}: {}", ran.code, ran.stderr);
        let said = ran.stderr.lines().filter(|line| line.contains("schedule"));
        ensure!(said.count() == lines, "{more:?}: {}", ran.stderr);
        ensure!(lines > 0 || ran.stderr.is_empty(), "{}", ran.stderr);
    }
    Ok(())
}
