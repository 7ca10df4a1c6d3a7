//! SentryWard, an independent verifier of PTX, checks the kernels of fixtures/: no race and no
//! misuse of a barrier under any schedule.
//!
//! It needs the program `sentryward` (PyPI), named in SPLITBAR_SENTRYWARD or on PATH; without it
//! the tests are ignored. Windows are not guarded: a guard is a branch that nobody can fold, and
//! the verifier wants to fold all of them. It does not take mbarriers that are polled, and no
//! constants of a launch here.
#![allow(clippy::unwrap_used, clippy::panic)]

use serde::Deserialize;
use splitbar_tests::fixture::{self, Fixture};
use splitbar_tests::harness::{self, Missing, trial};
use splitbar_tests::tools;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Strategies whose barriers the verifier knows, each with a target that has them.
const STRATEGIES: &[(&str, &str)] = &[
    ("fused", "sm_90"),
    ("cluster", "sm_90"),
    ("warp-named", "sm_75"),
    ("group-named", "sm_75"),
];

/// Seconds for one kernel.
const LIMIT: &str = "10";

/// Results that are undecided, which are not findings.
const UNDECIDED: &[&str] = &["unsupported", "timeout", "analysis_budget_exceeded"];

#[derive(Deserialize)]
struct Verdict {
    result: String,
    diagnostics: Vec<serde_json::Value>,
}

fn main() -> ExitCode {
    harness::main(vec![
        trial(
            "no_kernel_has_a_finding".to_owned(),
            no_kernel_has_a_finding,
        ),
        trial(
            "a_kernel_without_barriers_has_one".to_owned(),
            a_kernel_without_barriers_has_one,
        ),
    ])
}

fn no_kernel_has_a_finding() -> Result<(), Missing> {
    let verifier = tools::sentryward()?;
    let (mut proved, mut findings) = (0, Vec::new());
    for fixture in fixture::all().unwrap() {
        for (strategy, target) in STRATEGIES {
            let Some(ptx) = compile(&fixture, strategy, target) else {
                continue;
            };
            let verdict = verify(&verifier, &fixture, &ptx);
            let label = format!("{} {strategy}", fixture.name);
            match verdict.result.as_str() {
                "race_free" => proved += 1,
                other if UNDECIDED.contains(&other) => println!("undecided: {label}: {other}"),
                other => findings.push(format!(
                    "{label}: {other} {:?}",
                    verdict.diagnostics.first()
                )),
            }
        }
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    assert!(proved >= 30, "only {proved} are proved");
    Ok(())
}

/// A race is found in a fused kernel without its barriers.
fn a_kernel_without_barriers_has_one() -> Result<(), Missing> {
    let verifier = tools::sentryward()?;
    let fixture = Fixture::load("relaxed_pair").unwrap();
    let ptx = compile(&fixture, "fused", "sm_90").unwrap();
    let kept = ptx
        .lines()
        .filter(|line| !line.contains("bar.sync") && !line.contains("barrier.sync"));
    let broken: Vec<&str> = kept.collect();
    assert!(broken.len() < ptx.lines().count());
    assert_eq!(
        verify(&verifier, &fixture, &broken.join("\n")).result,
        "potential_race"
    );
    Ok(())
}

/// The kernel's PTX; `None` where the strategy is not for it.
fn compile(fixture: &Fixture, strategy: &str, target: &str) -> Option<String> {
    let result = Command::new(tools::splitbar().unwrap())
        .arg("lower")
        .arg(fixture.module_path())
        .args(["--target", target, "--strategy", strategy])
        .arg("--no-scheduling-barriers")
        .output()
        .unwrap();
    match result.status.code() {
        Some(0) => Some(String::from_utf8(result.stdout).unwrap()),
        Some(3) => None,
        _ => panic!("{}", String::from_utf8_lossy(&result.stderr)),
    }
}

fn verify(verifier: &Path, fixture: &Fixture, ptx: &str) -> Verdict {
    let folder = tempfile::tempdir().unwrap();
    let (kernel, input) = (
        folder.path().join("k.ptx"),
        folder.path().join("input.json"),
    );
    std::fs::write(&kernel, ptx).unwrap();
    let launch = &fixture.expectations.reference;
    let launch = serde_json::json!({
        "schema": "spverify.kernel-input/v1",
        "launch": {
            "grid_dim": launch.groups,
            "block_dim": launch.workgroup_size,
            "cluster_dim": [1, 1, 1],
            "dynamic_shared_bytes": 0,
        },
    });
    std::fs::write(&input, launch.to_string()).unwrap();
    let result = Command::new(verifier)
        .arg(&kernel)
        .arg("--input")
        .arg(&input)
        .args(["--timeout", LIMIT])
        .output()
        .unwrap();
    serde_json::from_slice(&result.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&result.stderr)))
}
