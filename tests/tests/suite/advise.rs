//! Advice on strategies, and the choice that goes by it.

use crate::cli::{expect, path};
use crate::support::{ptxas, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::collections::BTreeMap;

/// A test of the command line.
type Test = fn() -> Result<()>;

pub(crate) fn trials() -> Vec<Trial> {
    let tests: [(&str, Test); 3] = [
        ("compares_strategies", advice_compares_strategies),
        ("balance_keeps_what_pays", balance_keeps_what_pays),
        ("balance_keeps_occupancy", balance_keeps_occupancy),
    ];
    let tests = tests.into_iter();
    tests
        .map(|(name, test)| trial(format!("advise/{name}"), test))
        .collect()
}

/// The candidates of the advice for one GPU by strategy: registers, and workgroups at once.
fn advised(advice: &Value) -> Result<BTreeMap<&str, (u64, u64)>> {
    let candidates = advice["candidates"].as_array().context("candidates")?;
    let candidate = |candidate: &'_ Value| {
        let registers = candidate["usage"]["registers"].as_u64()?;
        let workgroups = candidate["resident"]["workgroups"].as_u64()?;
        Some((registers, workgroups))
    };
    candidates
        .iter()
        .map(|one| {
            let strategy = one["strategy"].as_str().context("a name")?;
            Ok((strategy, candidate(one).context("what it takes")?))
        })
        .collect()
}

fn advice_compares_strategies() -> Result<()> {
    let module = path("tiled_matmul")?;
    let both = ["advise", &module, "--targets", "gfx1201,gfx942"];
    let json = expect(&[&both[..], &["--format", "json"]].concat(), b"", 0)?;
    let advice: Vec<Value> = serde_json::from_slice(&json.stdout)?;
    let [rdna, cdna] = &advice[..] else {
        bail!("{} entry points", advice.len());
    };
    ensure!(rdna["choice"] == "native" && cdna["choice"] == "fused");
    let on_rdna = advised(rdna)?;
    ensure!(on_rdna.keys().eq(["counter", "fused", "native"].iter()));
    ensure!(on_rdna["native"].1 == on_rdna["fused"].1);
    // A wave of 64 has 512 registers on each of four SIMDs, and the workgroup has four.
    for (registers, workgroups) in advised(cdna)?.into_values() {
        ensure!(workgroups == (512 / registers.next_multiple_of(8)).min(8));
    }
    let text = expect(&both, b"", 0)?;
    let text = String::from_utf8(text.stdout)?;
    ensure!(
        text.contains("entry main on gfx942, 4 waves of 64: fused"),
        "{text}"
    );

    let none = expect(
        &["advise", &path("uniform_ifs")?, "--target", "gfx1201"],
        b"",
        0,
    )?;
    ensure!(!none.stdout.is_empty());
    expect(&["advise", &module], b"", 2)?;
    expect(&["advise", &module, "--target", "gfx1"], b"", 2)?;
    expect(&["advise", "-", "--target", "gfx1201"], b"no module", 1)?;
    Ok(())
}

fn balance_keeps_what_pays() -> Result<()> {
    let assembly = |kernel: &str, strategy: &str| -> Result<Vec<u8>> {
        let module = path(kernel)?;
        let arguments = [
            "lower",
            &module,
            "--target",
            "gfx1201",
            "--strategy",
            strategy,
        ];
        Ok(expect(&arguments, b"", 0)?.stdout)
    };
    // All of the window is left, at no cost.
    let balanced = assembly("tiled_matmul", "auto=balanced")?;
    ensure!(balanced == assembly("tiled_matmul", "native")?);
    // Nothing is left.
    let balanced = assembly("softmax", "auto=balanced")?;
    ensure!(balanced == assembly("softmax", "fused")?);
    ensure!(balanced != assembly("softmax", "auto")?);
    let module = path("softmax")?;
    let plan = [
        "lower",
        &module,
        "--target",
        "gfx1201",
        "--strategy",
        "auto=balanced",
        "--emit",
        "plan",
    ];
    let plan = String::from_utf8(expect(&plan, b"", 0)?.stdout)?;
    ensure!(
        plan.contains("native: nothing is left in the window"),
        "{plan}"
    );
    Ok(())
}

fn balance_keeps_occupancy() -> Result<()> {
    let ptxas = ptxas("sm_80")?.program().display().to_string();
    let module = path("tiled_matmul")?;
    let plan = |strategy: &str| -> Result<String> {
        let plan = expect(
            &[
                "lower",
                &module,
                "--target",
                "sm_80",
                "--strategy",
                strategy,
                "--emit",
                "plan",
                "--ptxas",
                &ptxas,
            ],
            b"",
            0,
        )?;
        Ok(String::from_utf8(plan.stdout)?)
    };
    ensure!(plan("auto")?.contains("mbarrier"));
    let balanced = plan("auto=balanced")?;
    ensure!(balanced.contains("workgroups fit at once"), "{balanced}");
    ensure!(balanced.contains("fused"), "{balanced}");
    Ok(())
}
