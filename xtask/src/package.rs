//! What keeps the crates fit to be published: their packages, and what cargo-deny says of licences
//! and sources.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use flate2::read::GzDecoder;

use crate::shell;

/// The release of cargo-deny that is installed where there is none. Without optimisation: that is
/// built in less than a minute, a third of the time that it takes otherwise.
const DENY: &str = "0.20.2";

/// The crates that need no other crate of ours: their packages can be checked before others are in
/// the registry.
const FIRST: [&str; 2] = ["splitbar-target", "splitbar-passes"];

/// Makes the package of every crate that is published, in the order of their dependencies, and asks
/// the registry whether it would take it: `cargo publish --dry-run`.
///
/// With `verify` each package is unpacked and built as its users build it; without, those of
/// [`FIRST`] are unpacked and checked.
pub(crate) fn packages(verify: bool) -> Result<()> {
    let dry = [
        "publish",
        "--dry-run",
        "--allow-dirty",
        "--quiet",
        "--workspace",
    ];
    if verify {
        return shell::run(shell::cargo(&dry));
    }
    shell::run(shell::cargo(&[&dry[..], &["--no-verify"]].concat()))?;
    let folder = tempfile::tempdir()?;
    FIRST
        .into_iter()
        .try_for_each(|package| check(package, folder.path()))
}

/// Unpacks the package of a crate in `folder` and runs `cargo check` there: a file that is not in
/// the package is an error, as it is in a build, which takes longer.
fn check(package: &str, folder: &Path) -> Result<()> {
    let make = ["package", "--no-verify", "--allow-dirty", "--quiet"];
    shell::run(shell::cargo(&[&make[..], &["--package", package]].concat()))?;
    let name = format!("{package}-{}", env!("CARGO_PKG_VERSION"));
    let file = shell::target_directory()?.join(format!("package/{name}.crate"));
    let packed = File::open(&file).with_context(|| file.display().to_string())?;
    tar::Archive::new(GzDecoder::new(packed)).unpack(folder)?;
    let mut check = shell::cargo(&["check", "--quiet", "--manifest-path"]);
    check.arg(folder.join(name).join("Cargo.toml"));
    check.arg("--target-dir").arg(folder.join("target"));
    shell::run(check)
}

/// Asks cargo-deny about licences, duplicates and sources; installs it where it is missing.
pub(crate) fn deny() -> Result<()> {
    shell::ensure_installed("cargo-deny", DENY, &["--debug"])?;
    let check = ["deny", "--workspace", "check", "--hide-inclusion-graph"];
    // Advisories are a database of their own, which changes without us.
    let what = ["licenses", "bans", "sources"];
    shell::run(shell::cargo(&[&check[..], &what].concat()))
}
