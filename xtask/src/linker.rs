//! A linker for AMDGPU code objects, which most of the suites need: what is there, or what the
//! system's packages have.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::{shell, system};

/// Names a linker, for the tests as for the program.
const VARIABLE: &str = "SPLITBAR_LLD";

/// Installs a linker where none is found; an error where there is none then either.
pub(crate) fn ensure() -> Result<()> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        let named = PathBuf::from(named);
        if !runs(&named) {
            bail!(
                "{VARIABLE} names {}, which does not run; correct or unset it",
                named.display()
            );
        }
        return Ok(());
    }
    if found() {
        return Ok(());
    }
    system::install(&["lld"]);
    if !found() {
        bail!(
            "no linker for AMDGPU code objects: install LLVM's lld, or name one in {VARIABLE}. Without it most suites cannot run."
        );
    }
    Ok(())
}

/// Whether the program that is tested would find one: `ld.lld`, `lld` or one of a version on PATH,
/// or the `rust-lld` of the tool chain.
fn found() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let files = std::env::split_paths(&path)
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flat_map(|files| files.flatten());
    let on_path = files.filter(|file| {
        let name = file.file_name();
        let name = name.to_string_lossy();
        let base = name.strip_prefix("ld.").unwrap_or(&name);
        base.strip_prefix("lld").is_some_and(is_version)
    });
    on_path
        .map(|file| file.path())
        .chain(rust_lld())
        .any(|path| runs(&path))
}

/// Nothing, or `-22`.
fn is_version(rest: &str) -> bool {
    rest.is_empty()
        || rest
            .strip_prefix('-')
            .is_some_and(|number| number.parse::<u32>().is_ok())
}

fn rust_lld() -> Vec<PathBuf> {
    let sysroot = shell::read(shell::command("rustc", &["--print", "sysroot"]));
    let hosts = sysroot
        .map(|root| PathBuf::from(root.trim()).join("lib/rustlib"))
        .and_then(|hosts| Ok(std::fs::read_dir(hosts)?));
    let hosts = hosts.into_iter().flatten().flatten();
    hosts
        .map(|host| host.path().join("bin/rust-lld"))
        .filter(|path| path.is_file())
        .collect()
}

/// Whether it says its version; those that are many linkers in one are told which.
fn runs(linker: &Path) -> bool {
    let name = linker.file_name().unwrap_or_default().to_string_lossy();
    let flavour: &[&str] = if name.starts_with("ld.lld") {
        &[]
    } else {
        &["-flavor", "gnu"]
    };
    Command::new(linker)
        .args(flavour)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert!(is_version("") && is_version("-22"));
        assert!(!is_version("-link") && !is_version(".bak") && !is_version("-"));
    }
}
