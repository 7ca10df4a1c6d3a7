//! Running cargo, and the programs that it builds.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{command, read, run};
use crate::llvm;

/// The cargo that started this program.
///
/// It gets the environment that a person's cargo would have: the LLVM prefix that
/// `.cargo/config.toml` put into ours is taken out again (it will put it back), so that going from
/// one to the other builds nothing again.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut c = command(
        std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        args,
    );
    let default = llvm::default_prefix();
    if std::env::var_os(llvm::VARIABLE).is_some_and(|v| Path::new(&v) == default) {
        c.env_remove(llvm::VARIABLE);
    }
    c
}

/// Installs a program from cargo's registry where there is none; `options` are for the build.
pub(crate) fn ensure_installed(program: &str, version: &str, options: &[&str]) -> Result<()> {
    let said = Command::new(program).arg("--version").output();
    if said.is_ok_and(|said| said.status.success()) {
        return Ok(());
    }
    let install = ["install", program, "--locked", "--version", version];
    run(cargo(&[&install, options].concat()))
        .with_context(|| format!("{program} cannot be installed"))
}

/// Where cargo builds.
pub(crate) fn target_directory() -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Metadata {
        target_directory: PathBuf,
    }
    let text = read(cargo(&["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Metadata = serde_json::from_str(&text).context("cargo metadata")?;
    Ok(metadata.target_directory)
}

/// Which program `splitbar` a command uses.
#[derive(clap::Args)]
pub(crate) struct Tool {
    /// A splitbar that is built already; without it, a release build is made
    #[arg(long = "tool", value_name = "PATH")]
    built: Option<PathBuf>,
}

impl Tool {
    /// The program's path, from anywhere.
    pub(crate) fn path(&self) -> Result<PathBuf> {
        match &self.built {
            Some(path) => std::fs::canonicalize(path).with_context(|| path.display().to_string()),
            None => {
                llvm::ensure()?;
                release_tool()
            }
        }
    }
}

/// Makes a release build of the program `splitbar`; its path.
pub(crate) fn release_tool() -> Result<PathBuf> {
    release("splitbar-cli", "splitbar")
}

/// Makes a release build of a program of the workspace; its path.
pub(crate) fn release(package: &str, program: &str) -> Result<PathBuf> {
    run(cargo(&[
        "build",
        "--release",
        "--package",
        package,
        "--bin",
        program,
    ]))?;
    Ok(target_directory()?
        .join("release")
        .join(format!("{program}{}", std::env::consts::EXE_SUFFIX)))
}
