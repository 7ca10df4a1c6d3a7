//! The JSON output of the program agrees with docs/schemas: reflections of every kernel on every
//! target, diagnostics of every kind, advice.

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
    let tests: [(&str, Test); 5] = [
        ("arguments_have_rows", arguments_have_rows),
        ("rare_keys", rare_keys),
        ("diagnostics", diagnostics),
        ("advice", advice),
        ("of_every_command", of_every_command),
    ];
    let tests = tests.into_iter();
    trials.extend(tests.map(|(name, test)| trial(format!("schemas/{name}"), test)));
    trials
}

/// The reflections of all kernels that the target supports.
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

/// docs/launching.md describes each kind of argument, and has no other rows.
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

/// The diagnostics of every invalid module, and those about arguments and limits.
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

/// The schemas as any validator reads them: by their `$id`, which relative references begin at.
struct Plain {
    schemas: boon::Schemas,
    compiler: boon::Compiler,
}

impl Plain {
    const BASE: &str = "https://splitbar.invalid/schemas/";

    fn read() -> Result<Plain> {
        let mut compiler = boon::Compiler::new();
        for entry in std::fs::read_dir(root().join("docs/schemas"))? {
            let path = entry?.path();
            let schema: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
            let id = schema["$id"].as_str().context("no $id")?.to_owned();
            let name = path.file_name().and_then(|name| name.to_str());
            ensure!(id.strip_prefix(Plain::BASE) == name, "{id}");
            let added = compiler.add_resource(&id, schema);
            added.map_err(|error| anyhow::anyhow!("{error}"))?;
        }
        Ok(Plain {
            schemas: boon::Schemas::new(),
            compiler,
        })
    }

    fn check(&mut self, name: &str, value: &Value) -> Result<()> {
        let id = format!("{}{name}", Plain::BASE);
        let index = self.compiler.compile(&id, &mut self.schemas);
        let index = index.map_err(|error| anyhow::anyhow!("{error:#}"))?;
        let valid = self.schemas.validate(value, index);
        valid.map_err(|error| anyhow::anyhow!("{name}: {error:#}"))
    }
}

/// The JSON that each command prints, put to its schema by a plain validator and by the strict one.
fn of_every_command() -> Result<()> {
    let (mut plain, strict) = (Plain::read()?, Schemas::read()?);
    let mut checked = BTreeSet::new();
    let mut check = |name: &str, text: &[u8]| -> Result<()> {
        let value: Value = serde_json::from_slice(text).context(name.to_owned())?;
        plain.check(name, &value)?;
        strict.check(name, &value).context(name.to_owned())?;
        // Another object is refused, so the schema says something.
        ensure!(plain.check(name, &json!({"key": 1})).is_err(), "{name}");
        checked.insert(name.to_owned());
        Ok(())
    };
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name).display().to_string();
    let kernel = path("reduction")?;
    let (amd, nvidia) = (["--target", "gfx1201"], ["--target", "sm_90"]);
    let json = ["--format", "json"];
    let launch = ["--groups", "2,1,1", "--buffer", "0:0=seq:u32:256"];
    let launch = [
        &launch[..],
        &["--buffer=0:1=zeros:8", "--buffer=0:2=zeros:1024"],
    ]
    .concat();
    let run = |parts: &[&[&str]], code| expect(&parts.concat(), b"", code);

    for target in [amd, nvidia] {
        let sim = [&["sim", &*kernel], &target[..], &launch, &json].concat();
        check("findings.json", &run(&[&sim], 0)?.stdout)?;
        let timing = [&sim[..], &["--timing"]].concat();
        check("estimate.json", &run(&[&timing], 0)?.stdout)?;
        check(
            "comparison.json",
            &run(&[&timing, &["--compare"]], 0)?.stdout,
        )?;
        check(
            "model.json",
            &run(&[&["model", &kernel], &target, &json], 0)?.stdout,
        )?;
    }
    // A deadlock has a trace.
    let model = ["model", &kernel, "--target=gfx1201", "--strategy=counter"];
    let undecided = run(&[&model, &["--states", "3"], &json], 3)?.stdout;
    check("model.json", &undecided)?;
    // Findings: a race, with its places.
    let race = crate::formats::race(folder.path())?;
    let sim = ["sim", &race, "--groups=1,1,1", "--buffer=0:0=zeros:4"];
    check("findings.json", &run(&[&sim, &amd, &json], 1)?.stdout)?;
    let trace = file("trace.json");
    run(&[&sim, &amd, &["--trace", &trace]], 1)?;
    check("trace.json", &std::fs::read(&trace)?)?;

    check("targets.json", &run(&[&["targets"], &json], 0)?.stdout)?;
    let advise = ["advise", &kernel, "--targets=gfx1201,sm_90"];
    check("advice.json", &run(&[&advise, &json], 0)?.stdout)?;
    let report = ["report", &kernel, "--targets=gfx1201,sm_90"];
    check("report.json", &run(&[&report, &json], 0)?.stdout)?;
    let dump = file("dump.bin");
    run(
        &[&["sim", &kernel], &amd, &launch, &["--profile", &dump]],
        0,
    )?;
    check(
        "profile.json",
        &run(&[&["profile", &dump, &kernel], &json], 0)?.stdout,
    )?;
    let (code, plan) = (file("k.s"), file("plan.json"));
    let emit = format!("--emit=reflect={plan}");
    let asm = format!("--emit=asm={code}");
    run(&[&["lower", &kernel], &amd, &["--audit", &emit, &asm]], 0)?;
    check("reflection.json", &std::fs::read(&plan)?)?;
    let audit = ["audit", &code, "--plan", &plan, "--module", &kernel];
    check("audit.json", &run(&[&audit, &amd, &json], 0)?.stdout)?;
    let naked = file("naked.s");
    let text = ".type k,@function\nk:\n\tds_write_b32 v0, v1\n\ts_barrier\n\ts_endpgm\n";
    std::fs::write(&naked, text)?;
    let audit = ["audit", &naked, "--target=gfx942", "--release=local"];
    check("audit.json", &run(&[&audit, &json], 1)?.stdout)?;
    let modules = folder.path().join("modules");
    std::fs::create_dir(&modules)?;
    std::fs::copy(&kernel, modules.join("good.spv"))?;
    std::fs::write(modules.join("bad.spv"), b"no module")?;
    let (modules, out) = (modules.display().to_string(), file("out"));
    let batch = ["batch", &modules, "-o", &out, "--keep-going"];
    check("summary.json", &run(&[&batch, &amd, &json], 1)?.stdout)?;
    let wrong = expect(
        &["check", &format!("{modules}/bad.spv"), "--format=json"],
        b"",
        1,
    )?;
    for line in wrong.stderr.lines() {
        check("diagnostic.json", line.as_bytes())?;
    }
    let all: BTreeSet<String> = std::fs::read_dir(root().join("docs/schemas"))?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    let shared = BTreeSet::from(["place.json".to_owned()]);
    let missing: Vec<&String> = all
        .difference(&checked)
        .filter(|n| !shared.contains(*n))
        .collect();
    ensure!(missing.is_empty(), "no output of {missing:?}");
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
