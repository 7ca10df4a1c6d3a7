//! `cargo xtask portable`: where splitbar-passes builds beside the machines of the tests: with the
//! oldest Rust that its manifest names, and for wasm32.

use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::shell;

const PACKAGE: &str = "splitbar-passes";

/// The library alone: WebAssembly has no command line.
const LIBRARY: &[&str] = &["--no-default-features", "--features=rspirv"];

const WASM: &str = "wasm32-unknown-unknown";

/// Checks both; installs the tool chain and the target where rustup has none.
pub(crate) fn run() -> Result<()> {
    oldest()?;
    if !wasm()? {
        bail!("rustup cannot install the target {WASM}");
    }
    Ok(())
}

/// Checks the library for wasm32. Returns false, after a line about it, on a machine where the
/// target cannot be installed.
pub(crate) fn wasm() -> Result<bool> {
    let mut rustup = shell::command("rustup", &["target", "add", WASM]);
    if !rustup.output().is_ok_and(|ran| ran.status.success()) {
        eprintln!("skipped: no target {WASM}, and rustup cannot install it");
        return Ok(false);
    }
    let package = format!("--package={PACKAGE}");
    let check = ["check", "--quiet", "--target", WASM, &package];
    shell::run(shell::cargo(&[&check, LIBRARY].concat()))?;
    Ok(true)
}

/// Checks the library and the program with the oldest Rust, in a folder of its own.
fn oldest() -> Result<()> {
    let version = promised()?;
    let install = ["toolchain", "install", "--profile=minimal", &version];
    shell::run(shell::command("rustup", &install))?;
    let mut check: Command = shell::command("rustup", &["run", &version, "cargo", "check"]);
    // The cargo that runs this one names its own tool chain.
    check.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
    check.arg(format!("--package={PACKAGE}"));
    let folder = shell::target_directory()?.join("oldest");
    shell::run({
        check.arg("--target-dir").arg(folder);
        check
    })
}

/// The `rust-version` of the manifest.
fn promised() -> Result<String> {
    #[derive(Deserialize)]
    struct Manifest {
        package: Package,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct Package {
        rust_version: String,
    }
    let text = std::fs::read_to_string(shell::root().join("passes/Cargo.toml"))?;
    let manifest: Manifest = toml::from_str(&text).context("passes/Cargo.toml")?;
    Ok(manifest.package.rust_version)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_names_a_release() {
        let version = promised().unwrap();
        let numbers = version.split('.').map(str::parse::<u32>);
        assert!(numbers.clone().all(|number| number.is_ok()), "{version}");
        assert!(numbers.count() >= 2, "{version}");
    }
}
