//! `cargo xtask corpus`: every module of the corpus for every target, and the table of what became
//! of them.
//!
//! Each compilation has a process of its own, as many at once as there are processors. What is done
//! is written down at once, so that a run that was interrupted goes on where it stopped.

mod attempt;
mod exceptions;
pub(crate) mod modules;
mod results;
mod table;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use sha2::{Digest, Sha256};

use crate::each::each;
use crate::shell;
use attempt::Attempt;
use modules::Module;
use results::{Entry, Results};

/// A GPU for each way in which barriers, matrices and memory differ.
const TARGETS: &[&str] = &[
    "gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250", "sm_75", "sm_80",
    "sm_90", "sm_120",
];

/// What one compilation may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The table, relative to the repository.
const TABLE: &str = "docs/corpus.md";

/// What `cargo xtask corpus` takes.
#[derive(Args)]
pub(crate) struct Options {
    /// A folder of modules (`.spv`, at any depth) to take in place of fixtures/corpus; the table is
    /// printed alone
    folder: Option<PathBuf>,
    /// Only these targets [default: eleven, from gfx906 to sm_120]
    #[arg(long, num_args = 1.., value_name = "TARGET")]
    target: Vec<String>,
    /// Only these folders of the archive: glcompute, glcompute-split, kernel, kernel-split
    #[arg(long, num_args = 1.., value_name = "SET")]
    set: Vec<String>,
    /// LLVM's optimisation level
    #[arg(short = 'O', default_value = "1")]
    level: String,
    #[command(flatten)]
    tool: shell::Tool,
    /// Takes what another build compiled as compiled, and only tries the rest again
    #[arg(long)]
    keep: bool,
    /// Compilations at once [default: one per processor]
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,
}

/// Compiles what the options ask for, prints the table, and writes it to docs/ when it is whole.
pub(crate) fn run(options: &Options) -> Result<()> {
    let tool = options.tool.path()?;
    let folder = shell::target_directory()?.join("corpus");
    let all = match &options.folder {
        Some(own) => modules::list(own)?,
        None => modules::unpack(&folder.join("modules"))?,
    };
    let sets: BTreeSet<&str> = all.iter().map(|module| module.set.as_str()).collect();
    if let Some(wrong) = options.set.iter().find(|set| !sets.contains(set.as_str())) {
        let known: Vec<&str> = sets.into_iter().collect();
        bail!("there is no set {wrong:?}; there are {}", known.join(", "));
    }
    let chosen: Vec<&Module> = all
        .iter()
        .filter(|module| options.set.is_empty() || options.set.contains(&module.set))
        .collect();
    let targets: Vec<&str> = if options.target.is_empty() {
        TARGETS.to_vec()
    } else {
        options.target.iter().map(String::as_str).collect()
    };
    let fingerprint = fingerprint(&tool, &options.level)?;
    let results = match options.folder {
        Some(_) => "results-of-folders.jsonl",
        None => "results.jsonl",
    };
    let results = Results::open(&folder.join(results), &fingerprint, options.keep)?;
    let jobs: Vec<(&Module, &str)> = chosen
        .iter()
        .flat_map(|module| targets.iter().map(move |target| (*module, *target)))
        .filter(|(module, target)| !results.has(&module.name, target))
        .collect();
    let results = compile(&tool, options, &jobs, results)?;

    let text = table::render(&chosen, &targets, &options.level, &results);
    println!("{text}");
    if options.target.is_empty() && options.set.is_empty() && options.folder.is_none() {
        std::fs::write(shell::root().join(TABLE), &text).context(TABLE)?;
        println!("written to {TABLE}");
    }
    let failed = results
        .entries()
        .filter(|entry| {
            targets.contains(&entry.target.as_str())
                && chosen.iter().any(|module| module.name == entry.module)
        })
        .filter(|entry| entry.attempt.outcome.is_failure())
        .count();
    if failed > 0 {
        bail!("{failed} compilations crashed, took too long, or called the module invalid");
    }
    Ok(())
}

/// What a result holds for: this program, at this level.
fn fingerprint(tool: &Path, level: &str) -> Result<String> {
    let bytes = std::fs::read(tool).with_context(|| tool.display().to_string())?;
    let digest = Sha256::digest(&bytes);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{hex} -O{level}"))
}

/// Does the jobs, several at once.
fn compile(
    tool: &Path,
    options: &Options,
    jobs: &[(&Module, &str)],
    results: Results,
) -> Result<Results> {
    let shared = Mutex::new(results);
    each(jobs, options.jobs, |(module, target), bar| {
        let attempt = Attempt::new(tool, &module.path, target, &options.level, TIMEOUT)?;
        if attempt.outcome.is_failure() {
            bar.println(format!("{} {target}: {}", module.name, attempt.outcome));
        }
        let mut results = shared
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        results.add(Entry {
            module: module.name.clone(),
            target: (*target).to_owned(),
            attempt,
        })
    })?;
    Ok(shared
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner))
}
