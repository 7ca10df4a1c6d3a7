//! JSON that the program writes, beside docs/schemas: reflections of every kernel on every target,
//! diagnostics of every kind, advice.

use crate::cli::{LINES, expect, path};
use crate::support::{assembled, compile, compile_bytes, trial};
use crate::validation;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use splitbar::diagnostic::{self, Code, Diagnostic, Diagnostics};
use splitbar::{CheckOptions, Choice, Optimization, SplitBarriers};
use splitbar_tests::fixture::{Fixture, root};
use splitbar_tests::schema::Schemas;
use std::collections::BTreeSet;

/// A test without a fixture.
type Test = fn() -> Result<()>;

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials: Vec<Trial> = splitbar::targets()
        .into_iter()
        .map(|row| {
            let fixtures = fixtures.to_vec();
            trial(format!("schemas/reflection/{}", row.name), move || {
                reflections(&fixtures, row.name)
            })
        })
        .collect();
    let tests: [(&str, Test); 4] = [
        ("arguments_have_rows", arguments_have_rows),
        ("rare_keys", rare_keys),
        ("diagnostics", diagnostics),
        ("advice", advice),
    ];
    let tests = tests.into_iter();
    trials.extend(tests.map(|(name, test)| trial(format!("schemas/{name}"), test)));
    trials
}

/// Those of all kernels that the target takes.
fn reflections(fixtures: &[Fixture], target: &str) -> Result<()> {
    let schemas = Schemas::read()?;
    let mut checked = 0;
    for fixture in fixtures {
        // A kernel may ask for what a GPU does not have; the tests of the grid say which.
        let Ok(output) = compile(fixture, target, Optimization::O0) else {
            continue;
        };
        let reflection: Value = serde_json::from_str(&output.reflect())?;
        schemas
            .check("reflection.json", &reflection)
            .with_context(|| fixture.name.clone())?;
        checked += 1;
    }
    ensure!(checked * 2 > fixtures.len(), "only {checked} kernels");
    Ok(())
}

/// Keys that a plain compilation leaves out or null: forms with tables, prints, choices, barriers
/// that were moved, and audits.
fn rare_keys() -> Result<()> {
    let schemas = Schemas::read()?;
    let mut seen = BTreeSet::new();
    let mut check = |module: &[u8], target: &str, change: fn(&mut splitbar::Options)| {
        let output = compile_bytes(module, target, change)?;
        let reflection: Value = serde_json::from_str(&output.reflect())?;
        schemas.check("reflection.json", &reflection)?;
        let entry = reflection[0].as_object().context("no entry")?;
        let filled = entry.iter().filter(|(_, value)| !value.is_null());
        seen.extend(filled.map(|(key, _)| key.clone()));
        anyhow::Ok(())
    };
    let plain = Fixture::load("plain_matmul")?.module()?;
    let tiled = Fixture::load("tiled_matmul")?.module()?;
    let prints = root().join("fixtures/opencl/printing.clang.spv");
    for target in ["gfx1201", "gfx942", "sm_90"] {
        check(&plain, target, |options| {
            options.split_barriers = SplitBarriers::Always;
            options.choice = Choice::Balanced;
            options.measure = true;
            options.audit = true;
        })?;
        check(&plain, target, |options| {
            options.split_barriers = SplitBarriers::Always;
            options.choice = Choice::AlwaysSplit;
        })?;
        check(&tiled, target, |options| {
            options.abi = "descriptor-sets".parse().unwrap();
            options.audit = true;
        })?;
        check(&std::fs::read(&prints)?, target, |_| ())?;
    }
    for key in [
        "abi",
        "printf",
        "choice",
        "moves",
        "unsplit",
        "audit",
        "resident",
        "resource_usage",
    ] {
        ensure!(seen.contains(key), "no reflection has {key}");
    }
    Ok(())
}

/// docs/launching.md says what to pass for each kind of argument, and has no other rows.
fn arguments_have_rows() -> Result<()> {
    let page = std::fs::read_to_string(root().join("docs/launching.md"))?;
    let section = page.split("\n## Arguments\n").nth(1);
    let table = section
        .context("no section")?
        .trim_start()
        .split("\n\n")
        .next();
    let rows = table.context("no table")?.lines().skip(2);
    let named: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
    let schema = std::fs::read_to_string(root().join("docs/schemas/reflection.json"))?;
    let schema: Value = serde_json::from_str(&schema)?;
    let kinds = &schema["$defs"]["argument"]["properties"]["kind"]["enum"];
    let mut listed: Vec<&str> = Vec::new();
    listed.extend(
        kinds
            .as_array()
            .context("kinds")?
            .iter()
            .filter_map(Value::as_str),
    );
    let sorted = |mut names: Vec<&str>| {
        names.sort_unstable();
        names.join(" ")
    };
    let (named, listed) = (sorted(named), sorted(listed));
    ensure!(named == listed, "rows: {named}\nkinds: {listed}");
    Ok(())
}

/// What the rules say of every invalid module, and what arguments and limits lead to.
fn diagnostics() -> Result<()> {
    let schemas = Schemas::read()?;
    let mut seen = BTreeSet::new();
    let mut check = |lines: &str| -> Result<()> {
        for line in lines.lines() {
            let said: Value = serde_json::from_str(line).context(line.to_owned())?;
            schemas
                .check("diagnostic.json", &said)
                .context(line.to_owned())?;
            let keys = said.as_object().context("no object")?.iter();
            let empty = |value: &Value| value.is_null() || *value == json!([]);
            let filled = keys.filter(|(_, value)| !empty(value));
            seen.extend(filled.map(|(key, _)| key.clone()));
            seen.insert(said["severity"].to_string());
        }
        Ok(())
    };
    let modules = validation::modules()?.into_iter().map(|(_, text)| text);
    for text in modules.chain([LINES.to_owned()]) {
        let mut options = CheckOptions::default();
        options.strict = true;
        let found = splitbar::check(&assembled(&text)?, &options);
        check(&diagnostic::json::render(&found, "module"))?;
    }
    // Every code by itself, as a problem without a place.
    for code in Code::ALL {
        let problem = Diagnostic::error(*code, "message");
        check(&diagnostic::json::render(&Diagnostics::from(problem), "-"))?;
    }
    let wrong = ["check", "no/such/file.spv", "--format", "json"];
    check(&expect(&wrong, b"", 2)?.stderr)?;
    let limited = [
        "check",
        &path("reduction")?,
        "--format=json",
        "--time-limit=0.000001",
    ];
    check(&expect(&limited, b"", 3)?.stderr)?;
    for key in [
        "vuid",
        "span",
        "source",
        "witness",
        "reasons",
        "help",
        "\"warning\"",
    ] {
        ensure!(seen.contains(key), "no diagnostic has {key}: {seen:?}");
    }
    Ok(())
}

fn advice() -> Result<()> {
    let kernel = path("reduction")?;
    let targets = ["--targets", "gfx1201,sm_80", "--format", "json"];
    let ran = expect(&[&["advise", &kernel], &targets[..]].concat(), b"", 0)?;
    let advice: Value = serde_json::from_slice(&ran.stdout)?;
    let schemas = Schemas::read()?;
    schemas.check("advice.json", &advice)?;
    // Estimates with the buffers, and reasons without them.
    let launch = ["--estimate", "--groups", "1,1,1", "--resident", "1"];
    let buffers = ["0:0=seq:u32:128", "0:1=zeros:4", "0:2=zeros:512"];
    let buffers = buffers.iter().flat_map(|buffer| ["--buffer", buffer]);
    let buffers: Vec<&str> = buffers.collect();
    for more in [&buffers[..], &[]] {
        let command = [&["advise", &kernel], &targets[..], &launch, more].concat();
        let ran = expect(&command, b"", 0)?;
        schemas.check("advice.json", &serde_json::from_slice(&ran.stdout)?)?;
    }
    Ok(())
}
