//! Pages of docs/ with what each strategy keeps and costs, measured in final code: one file per
//! vendor, one for the choice, one for barriers that are split automatically, and one for pipelined
//! loops.

pub(crate) mod amdgpu;
pub(crate) mod choice;
mod loops;
pub(crate) mod nvptx;
mod picture;
pub(crate) mod pipelining;
pub(crate) mod splitting;

use crate::shell;
use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

/// What these commands take.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    tool: shell::Tool,
    /// Write nothing: measure a few rows again and say whether the page has them
    #[arg(long)]
    check: bool,
}

/// Instructions of a window: those that the final code has, and those that are still in it.
#[derive(Copy, Clone, Debug, Deserialize)]
struct Window {
    source: u32,
    kept: u32,
}

impl Window {
    /// Whether at least 90 % are kept.
    fn is_open(self) -> bool {
        u64::from(self.kept) * 10 >= u64::from(self.source) * 9
    }
}

impl std::fmt::Display for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} / {}", self.kept, self.source)
    }
}

/// `splitbar lower` on a kernel of fixtures/.
fn lower(tool: &Path, kernel: &str, options: &[&str], emit: &str) -> Result<Output> {
    let module = format!("fixtures/kernels/{kernel}/{kernel}.spv");
    let mut command = Command::new(tool);
    command.current_dir(shell::root()).args(["lower", &module]);
    command.args(options).args(["--emit", emit]);
    command.output().context("splitbar cannot be started")
}

/// The strategies of each GPU, as `splitbar targets` lists them.
fn strategies(tool: &Path) -> Result<BTreeMap<String, Vec<String>>> {
    #[derive(Deserialize)]
    struct Target {
        name: String,
        strategies: Vec<String>,
    }
    let mut command = Command::new(tool);
    let listed = command.args(["targets", "--format", "json"]).output();
    let listed = listed.context("splitbar cannot be started")?;
    let targets: Vec<Target> = serde_json::from_slice(&listed.stdout)?;
    let named = targets.into_iter();
    Ok(named
        .map(|target| (target.name, target.strategies))
        .collect())
}

/// The reflection of the first entry point of a kernel. `None`: not for this GPU.
fn reflection<Entry: DeserializeOwned>(
    tool: &Path,
    kernel: &str,
    options: &[&str],
) -> Result<Option<Entry>> {
    let reflect = lower(tool, kernel, options, "reflect")?;
    match reflect.status.code() {
        Some(0) => {}
        // Unsupported: the strategy is not for this GPU or this kernel.
        Some(3) => return Ok(None),
        _ => bail!(
            "{kernel} {}: {}",
            options.join(" "),
            String::from_utf8_lossy(&reflect.stderr)
        ),
    }
    let mut entries: Vec<Entry> = serde_json::from_slice(&reflect.stdout)?;
    anyhow::ensure!(!entries.is_empty(), "{kernel} has no entry point");
    Ok(Some(entries.swap_remove(0)))
}

/// Writes a page, or only says whether it has these rows.
fn deliver(page: &str, text: &str, check: bool) -> Result<()> {
    let path = shell::root().join(page);
    if !check {
        std::fs::write(&path, text).with_context(|| format!("cannot write {page}"))?;
        println!("{page} written");
        return Ok(());
    }
    let written = std::fs::read_to_string(&path).with_context(|| page.to_owned())?;
    let missing: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("| ") && !written.lines().any(|other| other == *line))
        .collect();
    if !missing.is_empty() {
        bail!(
            "{page} is stale: it lacks\n{}\nwrite it again without --check",
            missing.join("\n")
        );
    }
    println!("{page} has the rows");
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Whoever writes on a page has to write in its generator.
    #[test]
    fn pages_begin_as_they_are_generated() {
        for (page, introduction) in [
            (amdgpu::PAGE, amdgpu::INTRODUCTION),
            (choice::PAGE, choice::INTRODUCTION),
            (nvptx::PAGE, nvptx::INTRODUCTION),
            (pipelining::PAGE, pipelining::INTRODUCTION),
            (splitting::PAGE, splitting::INTRODUCTION),
            (crate::split::PAGE, crate::split::INTRODUCTION),
        ] {
            let text = std::fs::read_to_string(shell::root().join(page)).unwrap();
            assert!(text.starts_with(introduction), "{page}");
        }
    }
}
