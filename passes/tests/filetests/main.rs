//! Tests of passes that are files: each `fixtures/passes/PASS/CASE.spvasm` is a test, and
//! `fixtures/README.md` says how one is written. `SPLITBAR_BLESS=1` writes what passes leave into
//! the files.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod case;
mod outcome;
mod printed;
mod verdict;
mod wrong;

use anyhow::{Context, Result, ensure};
use case::Case;
use splitbar_harness::trial;
use splitbar_passes::transform::registry::{PASSES, Pass};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The folder of cases that are of no pass.
const PIPELINES: &str = "pipelines";

fn main() -> ExitCode {
    let files = match files() {
        Ok(files) => files,
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    let cases = files.into_iter().map(|(name, path)| {
        trial(format!("passes/{name}"), move || -> Result<()> {
            run(&name, &path).with_context(|| path.display().to_string())
        })
    });
    splitbar_harness::main_of_all(cases.chain(wrong::trials()).collect())
}

/// The files of `fixtures/passes`, with their names: `PASS/CASE`. Every pass has one.
fn files() -> Result<Vec<(String, PathBuf)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/passes");
    let mut files = Vec::new();
    for (pass, folder) in sorted(&root)? {
        ensure!(
            Pass::named(&pass).is_some() || pass == PIPELINES,
            "{}: there is no such pass",
            folder.display()
        );
        for (file, path) in sorted(&folder)? {
            let case = file.strip_suffix(".spvasm");
            let case = case.with_context(|| format!("{}: not a case", path.display()))?;
            files.push((format!("{pass}/{case}"), path));
        }
    }
    for pass in PASSES {
        let has_case = files.iter().any(|(name, _)| {
            let folder = name.split_once('/');
            folder.is_some_and(|(folder, _)| folder == pass.name)
        });
        ensure!(has_case, "{}: {} has no case", root.display(), pass.name);
    }
    Ok(files)
}

/// The entries of a folder, by name.
fn sorted(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        found.push((name, entry.path()));
    }
    found.sort();
    Ok(found)
}

/// Runs the case `PASS/CASE` of a file; with `SPLITBAR_BLESS=1` its blocks are written first.
fn run(name: &str, path: &Path) -> Result<()> {
    let text = std::fs::read_to_string(path)?;
    let folder = name.split('/').next().unwrap_or(name);
    let steps = Case::parse(&text)?.steps;
    ensure!(
        folder == PIPELINES || steps.iter().any(|step| step.pass.name == folder),
        "the pass of its folder is not run"
    );
    let is_blessing = std::env::var_os("SPLITBAR_BLESS").is_some_and(|value| value == "1");
    if !is_blessing {
        return verdict::judge(&text);
    }
    let blessed = verdict::blessed(&text)?;
    if blessed != text {
        std::fs::write(path, &blessed)?;
    }
    verdict::judge(&blessed)
}
