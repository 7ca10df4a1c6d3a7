//! A test harness that ignores tests which need a program that is not installed. It counts them,
//! with the reason.
//!
//! A function that looks up a program returns [`Missing`] if the program is not installed. `?`
//! passes it on, and it ends the test. A test cannot ask whether a program is installed, and so
//! cannot pass without it.

mod alone;
pub mod check;
mod clock;
mod cpu;
mod sample;

use anyhow::Result;
use libtest_mimic::{Arguments, Completion, Failed};
use sample::Sample;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

pub use alone::alone;
pub use cpu::{cpu_time, process_cpu_time};
pub use libtest_mimic::Trial;

/// A program that is not installed, or not the one that is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing(String);

impl Missing {
    /// Describes what is missing, and how to provide it: `no ptxas for sm_60 (name one in
    /// SPLITBAR_PTXAS)`.
    pub fn new(what: impl Into<String>) -> Missing {
        Missing(what.into())
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

/// The programs that the environment variable `variable` names, separated as in PATH, or else those
/// called `name` on PATH.
pub fn programs(variable: &str, name: &str) -> Vec<PathBuf> {
    let named = std::env::var_os(variable).filter(|value| !value.is_empty());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let candidates: Vec<PathBuf> = match &named {
        Some(value) => std::env::split_paths(value).collect(),
        None => std::env::split_paths(&path)
            .map(|folder| folder.join(name))
            .collect(),
    };
    candidates
        .into_iter()
        .filter(|path| path.is_file())
        .collect()
}

/// The first of [`programs`].
///
/// # Errors
/// [`Missing`].
pub fn program(variable: &str, name: &str) -> Result<PathBuf, Missing> {
    let missing = || Missing::new(format!("no {name} (name one in {variable})"));
    programs(variable, name)
        .into_iter()
        .next()
        .ok_or_else(missing)
}

/// A test with a name. [`Missing`], with whatever context, ignores it; any other error fails it.
pub fn trial<E: Into<anyhow::Error>>(
    name: String,
    run: impl FnOnce() -> Result<(), E> + Send + 'static,
) -> Trial {
    let family = clock::family(&name).to_owned();
    Trial::ignorable_test(name, move || {
        clock::timed(family, || outcome(run().map_err(Into::into)))
    })
}

/// The variable that names a sample.
const SAMPLE: &str = "SPLITBAR_SAMPLE";

/// Returns true if a sample of the trials runs, not all of them.
pub fn is_sample() -> bool {
    sample_seed().is_some()
}

/// The seed of the sample that runs; `None` if all trials run.
pub fn sample_seed() -> Option<u64> {
    let text = std::env::var(SAMPLE).ok()?;
    text.parse().ok().map(|sample: Sample| sample.seed)
}

/// Runs the tests that the arguments of the process select: those that match its filter, or all. If
/// `SPLITBAR_SAMPLE` names a sample (`SEED`, or `SEED,ONE_OF,AT_LEAST`) and there is no filter,
/// runs a sample of each family.
pub fn main(mut trials: Vec<Trial>) -> ExitCode {
    let arguments = Arguments::from_args();
    if let (Some(text), None) = (std::env::var_os(SAMPLE), &arguments.filter) {
        let sample: Sample = match text.to_string_lossy().parse() {
            Ok(sample) => sample,
            Err(error) => {
                eprintln!("error: {SAMPLE}: {error}");
                return ExitCode::FAILURE;
            }
        };
        let all = trials.len();
        trials = sample::sample(trials, sample);
        println!("sample {}: {} of {all} trials", sample.seed, trials.len());
    }
    finish(&arguments, trials)
}

/// As [`main`], but never a sample: for tests that run for milliseconds.
pub fn main_of_all(trials: Vec<Trial>) -> ExitCode {
    finish(&Arguments::from_args(), trials)
}

fn finish(arguments: &Arguments, trials: Vec<Trial>) -> ExitCode {
    let conclusion = libtest_mimic::run(arguments, trials);
    println!("{}", clock::summary());
    conclusion.exit_code()
}

fn outcome(result: Result<()>) -> Result<Completion, Failed> {
    match result {
        Ok(()) => Ok(Completion::Completed),
        Err(error) => match error.downcast_ref::<Missing>() {
            Some(missing) => Ok(Completion::ignored_with(missing)),
            None => Err(Failed::from(format!("{error:#}"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn what_is_missing_ignores_and_the_rest_fails() {
        let missing = || Missing::new("no lld");
        let inside = Err::<(), _>(missing()).context("gfx1201");
        assert!(matches!(
            outcome(inside),
            Ok(Completion::Ignored { reason: Some(why) }) if why == "no lld"
        ));
        assert!(outcome(Err(anyhow::anyhow!("{}", missing()))).is_err());
        assert!(matches!(outcome(Ok(())), Ok(Completion::Completed)));
    }
}
