//! What keeps the crates fit to be published: their packages, and what cargo-deny says of licences
//! and sources.

use anyhow::Result;

use crate::shell;

/// The release of cargo-deny that is installed where there is none. Without optimisation: that is
/// built in less than a minute, a third of the time that it takes otherwise.
const DENY: &str = "0.20.2";

/// Makes the package of every crate that is published, in the order of their dependencies, and asks
/// the registry whether it would take it: `cargo publish --dry-run`.
///
/// With `verify` each package is unpacked and built as its users build it; without, only those that
/// need no other crate of ours are.
pub(crate) fn packages(verify: bool) -> Result<()> {
    let dry = ["publish", "--dry-run", "--allow-dirty", "--quiet"];
    if verify {
        return shell::run(shell::cargo(&[&dry[..], &["--workspace"]].concat()));
    }
    for package in ["splitbar-target", "splitbar-passes"] {
        shell::run(shell::cargo(&[&dry[..], &["--package", package]].concat()))?;
    }
    let rest = ["--workspace", "--no-verify"];
    shell::run(shell::cargo(&[&dry[..], &rest].concat()))
}

/// Asks cargo-deny about licences, duplicates and sources; installs it where it is missing.
pub(crate) fn deny() -> Result<()> {
    shell::ensure_installed("cargo-deny", DENY, &["--debug"])?;
    let check = ["deny", "--workspace", "check", "--hide-inclusion-graph"];
    // Advisories are a database of their own, which changes without us.
    let what = ["licenses", "bans", "sources"];
    shell::run(shell::cargo(&[&check[..], &what].concat()))
}
