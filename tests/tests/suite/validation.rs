//! The library rejects modules that `splitbar check` reports as errors, in every call, and returns
//! the warnings once. Only a waiver by name accepts such a module.

use crate::support::{always_split, assembled, run, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::diagnostic::{Code, Diagnostics, Severity};
use splitbar::{Bounds, Environment, Failure, Optimization, Options, Validation, exit};
use splitbar_passes::validate::rules::{REQUIRED, RULES, RUN_TIME_RULES};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The marker of modules whose rules do not depend only on the environment.
const LIMITS: &str = "; limit:";

pub(crate) fn trials() -> Vec<Trial> {
    type Test = (&'static str, fn() -> Result<()>);
    let tests: [Test; 4] = [
        (
            "what_check_refuses_is_refused",
            what_check_refuses_is_refused,
        ),
        ("a_waiver_has_a_name", a_waiver_has_a_name),
        ("warnings_come_once", warnings_come_once),
        ("commands_agree", commands_agree),
    ];
    tests
        .into_iter()
        .map(|(name, test)| trial(format!("validation/{name}"), test))
        .collect()
}

/// The modules of `fixtures/invalid`.
pub(crate) fn modules() -> Result<Vec<(PathBuf, String)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/invalid");
    let mut files = Vec::new();
    for folder in std::fs::read_dir(root)? {
        for file in std::fs::read_dir(folder?.path())? {
            files.push(file?.path());
        }
    }
    files.sort();
    files
        .into_iter()
        .map(|path| Ok((path.clone(), std::fs::read_to_string(path)?)))
        .collect()
}

/// The codes of the errors that a module's lines expect.
fn expected(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter_map(|line| Some(line.split_once("; error:")?.1))
        .flat_map(|codes| codes.split(';').next().unwrap_or("").split_whitespace())
        .map(str::to_owned)
        .collect()
}

/// The options for a module: its environment, unless it is waived.
fn options(text: &str, waived: bool) -> Result<Options> {
    let environment = text
        .lines()
        .find_map(|line| line.strip_prefix("; env: "))
        .context("no environment")?
        .parse::<Environment>()
        .map_err(anyhow::Error::msg)?;
    let mut options = always_split("gfx1201")?;
    options.optimization = Optimization::O0;
    options.workgroup_size = None;
    options.validation = if waived {
        Validation::Waived
    } else {
        Validation::Environment(environment)
    };
    Ok(options)
}

/// Codes of errors that rules raise.
fn broken(diagnostics: &Diagnostics) -> BTreeSet<String> {
    let is_rule = |code: Code| {
        let mut rules = RULES.iter().chain(RUN_TIME_RULES);
        rules.any(|rule| rule.code == code)
    };
    diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error && is_rule(d.code))
        .map(|d| d.code.to_string())
        .collect()
}

/// The result of each way into the library for a module.
fn ways(bytes: &[u8], options: &Options) -> [(&'static str, Result<(), Failure>); 4] {
    [
        (
            "compile",
            splitbar::Compiler::new(options).compile(bytes).map(drop),
        ),
        (
            "translate",
            splitbar::Compiler::new(options)
                .translate(bytes, splitbar::BarrierForm::Planned)
                .map(drop),
        ),
        (
            "plan",
            splitbar::Compiler::new(options).plan(bytes).map(drop),
        ),
        (
            "model",
            splitbar::Compiler::new(options)
                .model(bytes, Bounds::default())
                .map(drop),
        ),
    ]
}

fn what_check_refuses_is_refused() -> Result<()> {
    let (mut wrong, mut refused) = (Vec::new(), 0);
    for (path, text) in modules()? {
        if text.contains(LIMITS) {
            continue;
        }
        let expected = expected(&text);
        let bytes = assembled(&text)?;
        for (way, result) in ways(&bytes, &options(&text, false)?) {
            let said = result.err().map(|failure| {
                let code = failure.exit_code();
                (broken(&failure.diagnostics), code)
            });
            let right = match &said {
                Some((codes, code)) if !expected.is_empty() => {
                    refused += 1;
                    *codes == expected && *code == exit::INVALID
                }
                Some((codes, _)) => codes.is_empty(),
                None => expected.is_empty(),
            };
            if !right {
                wrong.push(format!(
                    "{}: {way}: {said:?}, not {expected:?}",
                    path.display()
                ));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    ensure!(refused > 400, "only {refused} refusals");
    Ok(())
}

/// Rules that code cannot be made without hold all the same.
fn a_waiver_has_a_name() -> Result<()> {
    let required: BTreeSet<String> = REQUIRED.iter().map(|rule| rule.code.to_string()).collect();
    let (mut compiled, mut refused) = (0, 0);
    for (path, text) in modules()? {
        let expected: BTreeSet<String> = expected(&text).intersection(&required).cloned().collect();
        let result = splitbar::Compiler::new(&options(&text, true)?).plan(&assembled(&text)?);
        let said = result.map_or_else(|failure| broken(&failure.diagnostics), |_| BTreeSet::new());
        let kept: BTreeSet<String> = said.intersection(&required).cloned().collect();
        ensure!(
            kept == expected,
            "{}: {kept:?}, not {expected:?}",
            path.display()
        );
        compiled += usize::from(said.is_empty());
        refused += usize::from(!kept.is_empty());
    }
    ensure!(compiled > 150, "only {compiled} pass");
    ensure!(refused > 10, "only {refused} are refused");
    Ok(())
}

/// A wait that some executions reach twice: a warning, of the library and of the program.
fn warnings_come_once() -> Result<()> {
    let (path, text) = modules()?
        .into_iter()
        .find(|(_, text)| text.contains("; warning: SB1003"))
        .context("no module has the warning SB1003")?;
    let bytes = assembled(&text)?;
    let output = splitbar::Compiler::new(&options(&text, false)?).compile(&bytes)?;
    let warned = output.warnings().iter();
    let count = warned
        .filter(|d| d.code == Code::BothSplitExtensions)
        .count();
    ensure!(count == 1, "{}: {count} warnings", path.display());
    let ran = run(&["lower", "-", "--target", "gfx1201"], &bytes, true)?;
    let count = ran.stderr.matches("SB1003").count();
    ensure!(ran.code == Some(0) && count == 1, "{}", ran.stderr);
    Ok(())
}

/// `lower`, `sim` and `model` refuse a module with a barrier in divergent control flow, and take it
/// where that is waived.
fn commands_agree() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/invalid");
    let text = std::fs::read_to_string(root.join("together/static_and_run_time.spvasm"))?;
    let text = text.replace(
        "%workgroup %workgroup %s_102 ; error: SB1216",
        "%workgroup %workgroup %s_104",
    );
    let bytes = assembled(&text)?;
    let commands: [&[&str]; 3] = [
        &["lower", "-", "--target", "gfx1100"],
        &["model", "-", "--target", "gfx1100"],
        &[
            "sim",
            "-",
            "--target",
            "gfx1100",
            "--groups",
            "1,1,1",
            "--schedules",
            "1",
            "--steps",
            "10000",
        ],
    ];
    for command in commands {
        let ran = run(command, &bytes, true)?;
        ensure!(
            ran.code == Some(1) && ran.stderr.contains("SB2000"),
            "{command:?}: {:?}\n{}",
            ran.code,
            ran.stderr
        );
        let waived = [command, &["--no-validate"]].concat();
        let ran = run(&waived, &bytes, true)?;
        ensure!(
            matches!(ran.code, Some(0 | 1)) && !ran.stderr.contains("SB2000"),
            "{waived:?}: {:?}\n{}",
            ran.code,
            ran.stderr
        );
    }
    Ok(())
}
