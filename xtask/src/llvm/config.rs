//! Asking an `llvm-config` what it belongs to.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::pins;
use crate::shell;

/// Names under which the program may be found, the most telling first; llvm-sys tries these too.
const NAMES: &[&str] = &["llvm-config-23", "llvm-config23", "llvm-config"];

/// An LLVM that the workspace can be built with.
pub(crate) struct Llvm {
    /// Its version, such as `23.1.1`.
    pub version: String,
    /// Where `bin/llvm-config` is.
    pub prefix: PathBuf,
}

/// The LLVM of a prefix, or why it will not do.
pub(super) fn probe_prefix(prefix: &Path) -> Result<Llvm> {
    let bin = prefix.join("bin");
    let config = NAMES
        .iter()
        .map(|n| bin.join(n))
        .find(|p| p.is_file())
        .with_context(|| format!("there is no bin/llvm-config in {}", prefix.display()))?;
    let version = probe(&config)?;
    Ok(Llvm {
        version,
        prefix: prefix.to_path_buf(),
    })
}

/// The first LLVM on PATH that will do.
pub(super) fn on_path() -> Option<Llvm> {
    NAMES.iter().find_map(|name| {
        probe(Path::new(name)).ok()?;
        let prefix = ask(Path::new(name), &["--prefix"]).ok()?;
        probe_prefix(Path::new(&prefix)).ok()
    })
}

/// Version of the LLVM behind this llvm-config, if release, back ends and libraries are all there.
fn probe(config: &Path) -> Result<String> {
    let version = ask(config, &["--version"])?;
    let release = version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    if release != pins::RELEASE {
        bail!("it is LLVM {version}; {} is needed", pins::RELEASE);
    }
    let built = ask(config, &["--targets-built"])?;
    for back_end in pins::BACK_ENDS {
        if !built.split_whitespace().any(|b| b == *back_end) {
            bail!("it was built without the {back_end} back end (it has: {built})");
        }
    }
    // A package with the program but without the libraries fails only when it is asked for them.
    ask(config, &["--link-static", "--libs", "core"])
        .or_else(|_| ask(config, &["--libs", "core"]))
        .context("its libraries are not installed (on Debian: the -dev package)")?;
    Ok(version)
}

fn ask(config: &Path, args: &[&str]) -> Result<String> {
    let mut c = Command::new(config);
    c.args(args);
    Ok(shell::read(c)?.trim().to_string())
}
