//! Pages of docs/ that are generated from final code: a few of their rows are measured again.

use crate::support::{ptxas, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar_tests::{fixture, tools};
use std::process::Command;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("docs/amdgpu".to_owned(), || fresh("amdgpu")),
        trial("docs/nvptx".to_owned(), || {
            ptxas("sm_80")?;
            tools::nvdisasm()?;
            fresh("nvptx")
        }),
    ]
}

/// `cargo xtask PAGE --check` with this build's program.
fn fresh(page: &str) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let result = Command::new(cargo)
        .args([
            "run",
            "--quiet",
            "--package",
            "xtask",
            "--",
            page,
            "--check",
            "--tool",
        ])
        .arg(tools::splitbar()?)
        .current_dir(fixture::root())
        .output()
        .context("cargo cannot be started")?;
    print!("{}", String::from_utf8_lossy(&result.stdout));
    ensure!(
        result.status.success(),
        "{}",
        String::from_utf8_lossy(&result.stderr)
    );
    Ok(())
}
