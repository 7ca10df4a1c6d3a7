//! Providing LLVM: find one that is there, else install the pinned one.
//!
//! In this order: the prefix that the user names in `LLVM_SYS_231_PREFIX` (and then only that one);
//! what an earlier run put into `.llvm/sdk`; an `llvm-config` on PATH, linked as `.llvm/sdk`; the
//! pinned packages, installed as `.llvm/sdk`. `.cargo/config.toml` points plain cargo at the same
//! folder.

mod config;
mod host;
mod pins;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::{shell, wheels};

pub(crate) use config::Llvm;

/// The variable by which llvm-sys finds LLVM. `.cargo/config.toml` sets it to `.llvm/sdk` unless
/// the environment has it.
pub(crate) const VARIABLE: &str = "LLVM_SYS_231_PREFIX";

/// Where the LLVM is put or linked that the build uses when the environment names no other.
pub(crate) fn default_prefix() -> PathBuf {
    shell::root().join(".llvm").join("sdk")
}

/// Makes sure that cargo will find a usable LLVM, and a linker that can link it.
pub(crate) fn ensure() -> Result<Llvm> {
    host::check_linker()?;
    let sdk = default_prefix();

    if let Some(named) = std::env::var_os(VARIABLE)
        .map(PathBuf::from)
        .filter(|p| *p != sdk)
    {
        let found = config::probe_prefix(&named).with_context(|| {
            format!(
                "{VARIABLE} names {}, which cannot be used; correct or unset it",
                named.display()
            )
        })?;
        return Ok(found);
    }

    let _lock = shell::lock_tools()?;
    if let Some(found) = present(&sdk) {
        return Ok(found);
    }
    if let Some(found) = config::on_path() {
        eprintln!("using LLVM {} at {}", found.version, found.prefix.display());
        link(&found.prefix, &sdk)?;
        return Ok(found);
    }
    pins::SDK.install(&sdk)?;
    config::probe_prefix(&sdk)
        .context("the LLVM that was just installed cannot be used; remove .llvm and try again")
}

/// The LLVM of an earlier run: a link to the machine's own, or the pinned one, complete.
fn present(sdk: &Path) -> Option<Llvm> {
    if !sdk.is_symlink() && !pins::SDK.is_complete(sdk) {
        return None;
    }
    config::probe_prefix(sdk).ok()
}

#[cfg(unix)]
fn link(prefix: &Path, sdk: &Path) -> Result<()> {
    wheels::remove(sdk)?;
    std::os::unix::fs::symlink(prefix, sdk)
        .with_context(|| format!("cannot create the link {}", sdk.display()))
}

#[cfg(not(unix))]
fn link(prefix: &Path, _sdk: &Path) -> Result<()> {
    anyhow::bail!("on this system, set {VARIABLE} to {}", prefix.display())
}
