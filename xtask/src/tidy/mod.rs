//! `cargo xtask tidy`: checks that no compiler makes. All problems in one run.

mod edges;
mod fixtures;
mod glossary;
mod links;
mod module_cycles;
mod packages;
mod steps;
mod style;
mod text;
mod variables;

use anyhow::{Result, bail};

use crate::{features, header, shell, targets, unify};

/// Runs every check.
pub(crate) fn run() -> Result<()> {
    let files = files()?;
    let mut problems = Vec::new();
    edges::check(&mut problems)?;
    features::check(&mut problems)?;
    unify::check(&mut problems)?;
    fixtures::check(&mut problems)?;
    glossary::check(&files, &mut problems);
    links::check(&files, &mut problems);
    module_cycles::check(&files, &mut problems);
    packages::check(&files, &mut problems);
    steps::check(&mut problems);
    style::check(&files, &mut problems);
    text::check(&files, &mut problems);
    variables::check(&files, &mut problems)?;
    folders_are_described(&files, &mut problems);
    for generated in [targets::run(true), header::run(true)] {
        problems.extend(generated.err().map(|e| format!("{e:#}")));
    }
    if problems.is_empty() {
        println!("tidy: {} files checked", files.len());
        return Ok(());
    }
    for problem in &problems {
        eprintln!("tidy: {problem}");
    }
    bail!("{} problems", problems.len())
}

/// The files of the repository, tracked or about to be, sorted, relative to its root.
fn files() -> Result<Vec<String>> {
    let out = shell::read(shell::command(
        "git",
        &[
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "-z",
        ],
    ))?;
    let mut files: Vec<String> = out
        .split('\0')
        .filter(|f| !f.is_empty())
        .map(str::to_string)
        .filter(|f| shell::root().join(f).is_file())
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// ARCHITECTURE.md has to name every folder that holds a crate, and every folder at the top and one
/// below.
fn folders_are_described(files: &[String], problems: &mut Vec<String>) {
    let text = std::fs::read_to_string(shell::root().join("ARCHITECTURE.md")).unwrap_or_default();
    let mut folders: Vec<String> = files
        .iter()
        .filter_map(|f| {
            let mut parts: Vec<&str> = f.split('/').collect();
            parts.pop();
            parts.truncate(2);
            (!parts.is_empty()).then(|| parts.join("/"))
        })
        .filter(|f| !f.ends_with("/src"))
        .collect();
    folders.sort();
    folders.dedup();
    for folder in folders {
        if !text.contains(&format!("{folder}/")) {
            problems.push(format!("ARCHITECTURE.md does not name {folder}/"));
        }
    }
}
