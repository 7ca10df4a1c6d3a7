//! `cargo xtask bench`: the benchmarks of the crates.

use anyhow::Result;

use crate::shell;

/// Crates with benchmarks; the last one needs LLVM.
const CRATES: &[&str] = &["splitbar-passes", "splitbar-sim", "splitbar"];

/// Runs the benchmarks whose names contain the filter.
pub(crate) fn run(filter: &[String]) -> Result<()> {
    for name in CRATES {
        let mut command = shell::cargo(&["bench", "--package", name, "--benches", "--"]);
        command.args(filter);
        shell::run(command)?;
    }
    Ok(())
}
