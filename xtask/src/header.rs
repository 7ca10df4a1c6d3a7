//! `cargo xtask header`: the C header, generated from the crate that has the functions.

use anyhow::{Context, Result, bail};

use crate::shell;

/// The crate, and the header in it.
const CRATE: &str = "bindings/c";
const HEADER: &str = "bindings/c/include/splitbar.h";

/// Writes the header, or with `check` only says whether it is fresh.
pub(crate) fn run(check: bool) -> Result<()> {
    let folder = shell::root().join(CRATE);
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml"))
        .map_err(|error| anyhow::anyhow!("cbindgen.toml: {error}"))?;
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_src(folder.join("src/ffi/mod.rs"))
        .with_src(folder.join("src/ffi/options.rs"))
        .with_src(folder.join("src/ffi/results.rs"))
        .with_src(folder.join("src/ffi/tables.rs"))
        .with_src(folder.join("src/ffi/work.rs"))
        .generate()
        .context("cbindgen")?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    let file = shell::root().join(HEADER);
    if check {
        if std::fs::read(&file).ok().as_ref() != Some(&text) {
            bail!("{HEADER} is stale; `cargo xtask header` writes it");
        }
        println!("{HEADER} is fresh");
        return Ok(());
    }
    std::fs::write(&file, text).with_context(|| HEADER.to_owned())
}
