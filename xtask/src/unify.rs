//! Builds of single programs and libraries that tests start. They use the crates that
//! `cargo test --workspace` has built, because `tests/unify/` asks for the same features.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::shell;

/// The package that asks for the features of the workspace.
pub(crate) const PACKAGE: &str = "--package=splitbar-unify";

/// How a build uses the crate `splitbar`, which has features of its own.
#[derive(Clone, Copy)]
pub(crate) enum Splitbar {
    /// Not at all.
    Unused,
    /// With LLVM, as the suite does.
    WithLlvm,
    /// Without LLVM, as the program that is tested without LLVM does.
    WithoutLlvm,
}

impl Splitbar {
    /// Returns the arguments that select the features of the tests.
    fn selected(self) -> &'static [&'static str] {
        match self {
            Splitbar::Unused => &[PACKAGE],
            Splitbar::WithLlvm => &[PACKAGE, "--features=splitbar-unify/llvm"],
            Splitbar::WithoutLlvm => &[PACKAGE, "--features=splitbar-unify/sim"],
        }
    }
}

/// Returns the arguments of a build that shares the crates of the tests, and none for others.
pub(crate) fn selection(unified: bool, splitbar: Splitbar) -> &'static [&'static str] {
    if unified { splitbar.selected() } else { &[] }
}

/// The builds, as arguments of cargo, and crates that have features of their own in them.
const BUILDS: &[(&[&str], &[&str])] = &[
    (&["--package=xtask"], &[]),
    (
        &[
            "--package=splitbar-cli",
            PACKAGE,
            "--features=splitbar-unify/llvm",
        ],
        WITH_LLVM,
    ),
    (&["--package=splitbar-passes", PACKAGE], &[]),
    (
        &[
            "--package=splitbar-c-full",
            PACKAGE,
            "--features=splitbar-unify/llvm",
        ],
        WITH_LLVM,
    ),
    (
        &[
            "--package=splitbar-c-passes",
            PACKAGE,
            "--features=splitbar-unify/sim",
        ],
        WITHOUT_LLVM,
    ),
    (
        &[
            "--package=splitbar-python",
            "--features=splitbar-python/unify",
        ],
        WITHOUT_LLVM,
    ),
    (
        &[
            "--package=splitbar-cli",
            "--no-default-features",
            PACKAGE,
            "--features=splitbar-unify/default,splitbar-unify/sim",
        ],
        WITHOUT_LLVM,
    ),
];

/// Crates that have other features in every build: there is no code in this one.
const WITH_LLVM: &[&str] = &["splitbar-unify"];

/// Crates that have other features without LLVM.
const WITHOUT_LLVM: &[&str] = &[
    "splitbar",
    "splitbar-c",
    "splitbar-cli",
    "splitbar-python",
    "splitbar-unify",
];

/// Names each crate that one of the builds compiles with other features than the workspace does.
pub(crate) fn check(problems: &mut Vec<String>) -> Result<()> {
    let workspace = features(&["--workspace", "--edges=normal,build,dev"])?;
    for (build, own) in BUILDS {
        let found = features(&[build, &["--edges=normal,build"][..]].concat())?;
        for line in missing(&found, &workspace, own) {
            problems.push(format!(
                "{} compiles {line} once more, with other features than `cargo test --workspace`: correct the manifests in tests/unify",
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

/// The lines of `found` that `workspace` does not have, without the crates `own`.
fn missing<'f>(
    found: &'f BTreeSet<String>,
    workspace: &BTreeSet<String>,
    own: &[&str],
) -> Vec<&'f str> {
    let is_own = |line: &str| own.contains(&line.split(' ').next().unwrap_or_default());
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
        assert!(missing(&same, &workspace, &["splitbar"]).is_empty());
        let other = lines("serde v1.0.0 [std]\nsplitbar v0.1.0 (/x) []");
        assert_eq!(
            missing(&other, &workspace, &["splitbar"]),
            ["serde v1.0.0 [std]"]
        );
        assert_eq!(missing(&other, &workspace, &[]).len(), 2);
    }
}
