//! Builds of single programs and libraries that tests start. They use the crates that
//! `cargo test --workspace` has built, because `tests/unify/` asks for the same features.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::shell;

/// Selects the package that asks for the features of the workspace.
pub(crate) const SELECTED: &[&str] = &["--package=splitbar-unify"];

/// The builds, as arguments of cargo.
const BUILDS: &[&[&str]] = &[
    &["--package=splitbar-cli"],
    &["--package=splitbar-passes"],
    &["--package=splitbar-c-full"],
    &["--package=splitbar-c-passes"],
    &[
        "--package=splitbar-python",
        "--features=splitbar-python/unify",
    ],
    &[
        "--package=splitbar-cli",
        "--no-default-features",
        "--features=splitbar-unify/default",
    ],
];

/// Crates that have features of their own in each build.
const OWN: &[&str] = &["splitbar", "splitbar-c", "splitbar-cli", "splitbar-python"];

/// Returns [`SELECTED`] for a build that shares the crates of the tests, and nothing for others.
pub(crate) fn selection(unified: bool) -> &'static [&'static str] {
    if unified { SELECTED } else { &[] }
}

/// Names each crate that one of the builds compiles with other features than the workspace does.
pub(crate) fn check(problems: &mut Vec<String>) -> Result<()> {
    let workspace = features(&["--workspace", "--edges=normal,build,dev"])?;
    for build in BUILDS {
        let edges = ["--edges=normal,build"];
        let found = features(&[build, SELECTED, &edges].concat())?;
        for line in missing(&found, &workspace) {
            problems.push(format!(
                "{} compiles {line} once more, with other features than `cargo test --workspace`: correct tests/unify/Cargo.toml",
                build.join(" ")
            ));
        }
    }
    Ok(())
}

/// The crates of a build with their features, one in a line.
fn features(selection: &[&str]) -> Result<BTreeSet<String>> {
    let tree = ["tree", "--prefix=none", "--format={p} [{f}]"];
    let text = shell::read(shell::cargo(&[&tree[..], selection].concat()))?;
    let lines = text.lines().map(|line| line.trim_end_matches(" (*)"));
    Ok(lines.map(str::to_owned).collect())
}

/// The lines of `found` that `workspace` does not have.
fn missing<'f>(found: &'f BTreeSet<String>, workspace: &BTreeSet<String>) -> Vec<&'f str> {
    let is_own = |line: &str| OWN.contains(&line.split(' ').next().unwrap_or_default());
    let lines = found.iter().map(String::as_str);
    lines
        .filter(|line| !line.is_empty() && !workspace.contains(*line) && !is_own(line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_features_are_named() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
        let workspace = lines("serde v1.0.0 [alloc,std]\nsplitbar v0.1.0 (/x) [llvm,sim]");
        let same = lines("serde v1.0.0 [alloc,std]\nsplitbar v0.1.0 (/x) []");
        assert!(missing(&same, &workspace).is_empty());
        let other = lines("serde v1.0.0 [std]\nsplitbar v0.1.0 (/x) []");
        assert_eq!(missing(&other, &workspace), ["serde v1.0.0 [std]"]);
    }
}
