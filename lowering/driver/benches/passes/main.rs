//! What each pass of LLVM takes and brings: compilations without it, beside those with all.
//!
//! LLVM leaves passes out by name (`-opt-disable`), those of its optimiser and of its code
//! generator, but for the ones that code cannot do without. This is an option of the process, so
//! every pass has a process of its own, one after the other, and after each ten of them there is
//! one that leaves out nothing. A module's CPU time is compared with its median in those, and the
//! median of the modules counts; what it is at most in those themselves is the noise.
//!
//! Words on the command line are targets (default gfx1201 and sm_90). `SPLITBAR_BENCH_EVERY=N`
//! takes every N-th module of the corpus beside the kernels of the fixtures (default 100), and
//! `SPLITBAR_BENCH_TIMES=N` compiles each N times (default 2). Where `SPLITBAR_PTXAS` names a
//! ptxas, registers of NVIDIA GPUs are those that it gives out.

#[path = "../../../../passes/tests/corpus/mod.rs"]
mod corpus;
mod measure;
mod sample;
mod table;

use anyhow::{Context, Result};
use measure::Measured;
use splitbar::Target;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use table::{Row, Usual};

/// The first word of a process that measures; LLVM's options follow target and folder.
const MEASURE: &str = "measure";

/// So many passes are left out between two runs with all of them.
const BETWEEN: usize = 10;

/// A process that takes longer does not end: without some passes others go around in circles.
const LONGEST: Duration = Duration::from_secs(120);

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [first, target, folder, times, options @ ..] = words.as_slice()
        && first == MEASURE
    {
        let target = Target::by_name(target).context("no such target")?;
        return measure::run(target, Path::new(folder), times.parse()?, options);
    }
    let mut targets: Vec<&'static Target> = words
        .iter()
        .filter_map(|word| Target::by_name(word))
        .collect();
    if targets.is_empty() {
        targets.extend(["gfx1201", "sm_90"].into_iter().filter_map(Target::by_name));
    }
    for target in targets {
        compare(target)?;
    }
    Ok(())
}

/// A number that the environment gives.
fn number(variable: &str, default: usize) -> usize {
    let value = std::env::var(variable).ok();
    value.and_then(|n| n.parse().ok()).unwrap_or(default).max(1)
}

/// Prints the table of `target`.
fn compare(target: &'static Target) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let every = number("SPLITBAR_BENCH_EVERY", 100);
    let times = number("SPLITBAR_BENCH_TIMES", 2);
    let count = sample::write(target, every, folder.path())?;
    let (_, said) = child(
        target,
        folder.path(),
        1,
        &["-opt-bisect-limit=-1".to_owned()],
    )?;
    let passes = names(&said);
    eprintln!("{}: {count} modules, {} passes", target.name, passes.len());
    let without = |pass: &str| -> Result<Option<Vec<Option<Measured>>>> {
        let quiet = "-opt-bisect-verbose=0".to_owned();
        let options = [quiet, format!("-opt-disable={pass}")];
        let (measured, _) = child(target, folder.path(), times, &options)?;
        Ok(measured)
    };
    // The same work, with a name that no pass has.
    let usual = || without("none")?.context("a plain run failed");
    let mut all = vec![usual()?];
    let mut rows = Vec::new();
    for (done, pass) in passes.iter().enumerate() {
        rows.push((pass.as_str(), without(pass)?));
        if done % BETWEEN == BETWEEN - 1 {
            all.push(usual()?);
        }
        eprint!("\r{} of {}  ", done + 1, passes.len());
    }
    all.push(usual()?);
    eprintln!();
    let with = Usual::from_runs(&all).context("no runs")?;
    let rows = rows.into_iter().map(|(pass, measured)| match measured {
        Some(measured) => Row::from_parts(pass, &measured, &with),
        None => Row::ended(pass),
    });
    table::print(target.name, count, &with, rows.collect());
    Ok(())
}

/// Measures the sample in a process with options of LLVM's. `None` where LLVM ended the process, or
/// found no end itself; the text is what it said.
fn child(
    target: &Target,
    folder: &Path,
    times: usize,
    options: &[String],
) -> Result<(Option<Vec<Option<Measured>>>, String)> {
    let [out, said] = ["out.json", "said.txt"].map(|name| folder.join(name));
    let mut child = Command::new(std::env::current_exe()?)
        .args([MEASURE, target.name])
        .arg(folder)
        .arg(times.to_string())
        .args(options)
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .stderr(File::create(&said)?)
        .spawn()?;
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if begin.elapsed() > LONGEST {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let said = String::from_utf8_lossy(&std::fs::read(said)?).into_owned();
    let measured = if status.is_some_and(|status| status.success()) {
        Some(serde_json::from_slice(&std::fs::read(out)?)?)
    } else {
        None
    };
    Ok((measured, said))
}

/// The passes of reports such as `BISECT: running pass (7) licm on loop ...`.
fn names(said: &str) -> BTreeSet<String> {
    let lines = said.lines();
    let names = lines.filter_map(|line| {
        let (_, rest) = line
            .strip_prefix("BISECT: running pass (")?
            .split_once(") ")?;
        let (name, _) = rest.rsplit_once(" on ")?;
        // A list of passes has commas in between.
        (!name.contains(',')).then(|| name.to_owned())
    });
    names.collect()
}
