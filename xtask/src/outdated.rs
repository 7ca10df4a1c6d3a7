//! `cargo xtask outdated`: which dependencies have newer releases, as the registry's index says.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::shell;

/// A dependency with a newer release.
#[derive(Debug, PartialEq, Eq)]
struct Behind {
    name: String,
    used: String,
    newest: String,
    /// `cargo update` takes the newest one; otherwise a `Cargo.toml` requires an older one.
    is_compatible: bool,
}

/// Prints the dependencies that are out of date: those that `cargo update` takes, and those that
/// need another requirement in a `Cargo.toml`. Nothing is changed.
pub(crate) fn run() -> Result<()> {
    let said = asked(shell::cargo(&["update", "--dry-run", "--verbose"]))?;
    let behind = parse(&said);
    let ours = our_requirements()?;
    let (compatible, others): (Vec<_>, Vec<_>) = behind.iter().partition(|one| one.is_compatible);
    let (direct, theirs): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|one| ours.contains(&one.name));
    for (title, list) in [
        ("a Cargo.toml of ours requires an older one", &direct),
        ("`cargo update` takes these", &compatible),
        ("other crates require an older one", &theirs),
    ] {
        println!("{title}: {}", list.len());
        for one in list {
            println!("  {} {} -> {}", one.name, one.used, one.newest);
        }
    }
    Ok(())
}

/// What cargo says on its standard error.
fn asked(mut command: Command) -> Result<String> {
    let shown = shell::show(&command);
    let output = command
        .env("CARGO_TERM_COLOR", "never")
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        bail!("{shown}: {said}");
    }
    Ok(said)
}

/// The names of the crates that a `Cargo.toml` of the workspace asks for.
fn our_requirements() -> Result<BTreeSet<String>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        dependencies: Vec<Dependency>,
    }
    #[derive(Deserialize)]
    struct Dependency {
        name: String,
    }
    let arguments = ["metadata", "--format-version", "1", "--no-deps"];
    let text = shell::read(shell::cargo(&arguments))?;
    let metadata: Metadata = serde_json::from_str(&text).context("cargo metadata")?;
    let packages = metadata.packages.into_iter();
    let names = packages.flat_map(|package| package.dependencies);
    Ok(names.map(|dependency| dependency.name).collect())
}

/// Reads lines such as `Updating itoa v1.0.18 -> v1.0.19` and
/// `Unchanged object v0.39.1 (available: v0.40.0)`.
fn parse(said: &str) -> Vec<Behind> {
    let version = |text: &str| {
        let text = text.trim_start_matches('v').trim_end_matches(')');
        text.split('+').next().unwrap_or(text).to_owned() // without the build's metadata
    };
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, used, newest, is_compatible) = match words.as_slice() {
            ["Updating", name, used, "->", newest] => (name, used, newest, true),
            ["Unchanged", name, used, "(available:", newest] => (name, used, newest, false),
            _ => return None,
        };
        Some(Behind {
            name: (*name).to_owned(),
            used: version(used),
            newest: version(newest),
            is_compatible,
        })
    };
    said.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_lines_are_read() {
        let said = "    Updating crates.io index\n     Locking 2 packages\n    Updating itoa v1.0.18 -> v1.0.19\n   \
                    Unchanged toml v0.9.12+spec-1.1.0 (available: v1.2.2+spec-1.1.0)\n      Adding x v1.0.0\nnote: to see\n";
        let one = |name: &str, used: &str, newest: &str, is_compatible| Behind {
            name: name.to_owned(),
            used: used.to_owned(),
            newest: newest.to_owned(),
            is_compatible,
        };
        assert_eq!(
            parse(said),
            [
                one("itoa", "1.0.18", "1.0.19", true),
                one("toml", "0.9.12", "1.2.2", false)
            ]
        );
    }
}
