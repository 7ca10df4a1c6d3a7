//! The corpus: real compute modules, read out of their archive.

use crate::fixture;
use anyhow::{Context, Result};
use std::io::Read;
use std::sync::OnceLock;

/// A module and its path in the archive.
pub type Module = (String, Vec<u8>);

/// Returns true if the environment requests the whole corpus instead of a plain run's share
/// (`SPLITBAR_CORPUS=all`).
pub fn is_complete() -> bool {
    std::env::var_os("SPLITBAR_CORPUS").is_some_and(|value| value == "all")
}

/// All modules, in the order of their paths; unpacked once in a process.
///
/// # Errors
/// The archive cannot be read.
pub fn modules() -> Result<&'static [Module]> {
    static LOADED: OnceLock<Result<Vec<Module>, String>> = OnceLock::new();
    match LOADED.get_or_init(|| load().map_err(|error| format!("{error:#}"))) {
        Ok(modules) => Ok(modules),
        Err(error) => anyhow::bail!("{error}"),
    }
}

fn load() -> Result<Vec<Module>> {
    let path = fixture::root().join("fixtures/corpus/dev.tar.xz");
    let packed = std::fs::read(&path).with_context(|| path.display().to_string())?;
    let mut unpacked = Vec::new();
    lzma_rs::xz_decompress(&mut packed.as_slice(), &mut unpacked)?;
    let mut modules = Vec::new();
    for entry in tar::Archive::new(unpacked.as_slice()).entries()? {
        let mut entry = entry?;
        let name = entry.path()?.display().to_string();
        if name.ends_with(".spv") {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            modules.push((name, bytes));
        }
    }
    modules.sort();
    Ok(modules)
}
