//! `cargo xtask tidy`: checks that no compiler makes. All problems in one run.

mod edges;
mod english;
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
    english::check(&files, &mut problems);
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

/// The pages that describe folders: ARCHITECTURE.md names every folder at the top and every crate,
/// and names the other folders one below unless the README of the folder above does.
fn folders_are_described(files: &[String], problems: &mut Vec<String>) {
    let read = |page: &str| std::fs::read_to_string(shell::root().join(page)).unwrap_or_default();
    let text = read("ARCHITECTURE.md");
    let mut folders: Vec<String> = files
        .iter()
        .filter_map(|f| {
            let mut parts: Vec<&str> = f.split('/').collect();
            parts.pop();
            parts.truncate(2);
            (!parts.is_empty()).then(|| parts.join("/"))
        })
        .filter(|f| !INSIDE_A_CRATE.iter().any(|end| f.ends_with(end)))
        .collect();
    folders.sort();
    folders.dedup();
    for folder in folders {
        let by_the_readme = folder.split_once('/').is_some_and(|(above, name)| {
            let is_crate = files.contains(&format!("{folder}/Cargo.toml"));
            !is_crate && read(&format!("{above}/README.md")).contains(&format!("[{name}]({name})"))
        });
        if !by_the_readme && !text.contains(&format!("{folder}/")) {
            problems.push(format!("ARCHITECTURE.md does not name {folder}/"));
        }
    }
}

/// Folders of a crate at the top, which the crate describes itself.
const INSIDE_A_CRATE: [&str; 3] = ["/src", "/tests", "/benches"];
