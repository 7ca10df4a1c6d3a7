//! `cargo xtask test` and `cargo xtask bless`: the tests, and how many ran.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result, bail};

use crate::{llvm, nvidia, page, shell};

/// Tests that ran, and those that did not.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests that were ignored.
    pub skipped: u64,
    /// How many of those gave this reason.
    reasons: BTreeMap<String, u64>,
    /// The names of the failed tests, each with the first lines that it printed.
    failures: Vec<String>,
}

/// Lines of each failed test in the summary, without its name.
const LINES_OF_A_FAILURE: usize = 4;

/// Lines about failed tests in the summary.
const MOST_LINES: usize = 100;

impl Counts {
    /// Adds those of another run.
    pub(crate) fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        for (reason, count) in other.reasons {
            *self.reasons.entry(reason).or_default() += count;
        }
        self.failures.extend(other.failures);
    }

    /// The closing lines: what failed, what was missing, and the numbers.
    pub(crate) fn summary(&self) -> String {
        let failures = self.failures.iter().take(MOST_LINES).cloned();
        let mut lines: Vec<String> = failures.collect();
        let reasons = self.reasons.iter();
        lines.extend(reasons.map(|(reason, count)| format!("skipped: {reason}: {count} tests")));
        lines.push(format!(
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        ));
        lines.join("\n")
    }
}

/// Which tests run.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Run all trials of the suite; several times as long
    #[arg(long, conflicts_with_all = ["seed", "fast"])]
    all: bool,
    /// Run another sample of the suite
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// The sample of CI: `SEED,ONE_OF,AT_LEAST`
    #[arg(skip)]
    sample: Option<String>,
    /// Run only the tests that need no LLVM: those of the crates without it, and of the program as
    /// it is built without it; leaves out two that take longer than all others together
    #[arg(long, conflicts_with = "seed")]
    fast: bool,
    /// Passed on to `cargo test`, for example a part of a test's name; takes no sample
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    filter: Vec<String>,
}

impl Options {
    /// The tests of CI: all of the small families of the suite, and a share of the large ones. Each
    /// commit has its own share.
    pub(crate) fn of_ci() -> Options {
        Options {
            sample: Some(format!("{},{CI_ONE_OF},{CI_AT_LEAST}", seed_of_commit())),
            ..Options::default()
        }
    }

    /// What is tested.
    fn selection(&self) -> &'static [&'static str] {
        if self.fast {
            WITHOUT_LLVM
        } else {
            &["--workspace"]
        }
    }
}

/// The crates that are built without LLVM, and the facade in a build without it.
const WITHOUT_LLVM: &[&str] = &[
    "--package=splitbar-passes",
    "--package=splitbar-plan",
    "--package=splitbar-assembly",
    "--package=splitbar-audit",
    "--package=splitbar-sim",
    "--package=splitbar",
    "--package=splitbar-cli",
    "--no-default-features",
    "--features=splitbar-passes/cli,splitbar/sim",
];

/// Tests that `--fast` leaves out. They pipeline the loops of published modules, and took 52 of 78
/// seconds of processors; a run without `--fast` has them.
const SLOW_WITHOUT_LLVM: [&str; 2] = [
    "published_modules_compute_the_same",
    "the_table_of_the_corpus_is_fresh",
];

/// The facade and the program in a build without LLVM, from the crates that the other tests have
/// built.
const FACADE_WITHOUT_LLVM: &[&str] = &[
    "--package=splitbar",
    "--package=splitbar-cli",
    "--package=splitbar-unify",
    "--no-default-features",
    "--features=splitbar-unify/default,splitbar-unify/sim",
];

/// CI takes one of so many trials of a family of the suite.
const CI_ONE_OF: u64 = 4;

/// CI takes at least so many trials of each family.
const CI_AT_LEAST: u64 = 40;

/// A seed that goes with the commit, so that each commit has its own sample, and a second run of it
/// the same one.
fn seed_of_commit() -> u64 {
    let head = shell::read(shell::command("git", &["rev-parse", "HEAD"]));
    let digits = head.ok().and_then(|head| head.get(..8).map(str::to_owned));
    let seed = digits.and_then(|digits| u64::from_str_radix(&digits, 16).ok());
    seed.unwrap_or(0) // not a clone
}

/// Says for how many seconds each fuzz target runs.
const FUZZ_SECONDS: &str = "SPLITBAR_FUZZ_SECONDS";

/// Runs the tests; an error if one failed.
pub(crate) fn run(options: &Options) -> Result<()> {
    let (counts, result) = run_counting(options);
    if counts.passed + counts.failed == 0 && result.is_ok() {
        bail!("no test ran");
    }
    println!("{}", counts.summary());
    if !options.all && !options.fast && options.filter.is_empty() {
        println!("this was a sample; `cargo xtask test --all` runs every trial");
    }
    result
}

/// Runs the tests and says how many ran, also when some of them, or a build, failed.
pub(crate) fn run_counting(options: &Options) -> (Counts, Result<()>) {
    if !options.fast
        && let Err(e) = llvm::ensure()
    {
        return (Counts::default(), Err(e));
    }
    let filter: Vec<&str> = options.filter.iter().map(String::as_str).collect();
    // One process for each test binary, so not nextest: the trials of the suite share what they
    // compile and a list of some 16,000 names, and a process for each trial would pay for both each
    // time (a second or more).
    let mut command = tests(options.selection(), &filter);
    if options.fast && filter.is_empty() {
        command.arg("--");
        for name in SLOW_WITHOUT_LLVM {
            command.args(["--skip", name]);
        }
    }
    if let Some(sample) = &options.sample {
        command.env("SPLITBAR_SAMPLE", sample);
    } else if !options.all {
        command.env("SPLITBAR_SAMPLE", options.seed.to_string());
        if std::env::var_os(FUZZ_SECONDS).is_none() {
            command.env(FUZZ_SECONDS, "1");
        }
    }
    nvidia::offer(&mut command);
    page::offer(&mut command);
    count(command)
}

/// Runs the tests of the facade and of the program in a build without LLVM, which the rest of the
/// workspace does not make.
pub(crate) fn run_without_llvm() -> (Counts, Result<()>) {
    count(tests(FACADE_WITHOUT_LLVM, &[]))
}

/// The tests of `selection` whose names contain `filter`, all of them also after one has failed.
fn tests(selection: &[&str], filter: &[&str]) -> Command {
    shell::cargo(&[&["test"], selection, &["--no-fail-fast"], filter].concat())
}

/// Runs tests, and says how many ran.
fn count(command: Command) -> (Counts, Result<()>) {
    let shown = shell::show(&command);
    match tee(command) {
        Ok((counts, true)) => (counts, Ok(())),
        Ok((counts, false)) => (counts, Err(anyhow::anyhow!("failed: {shown}"))),
        Err(e) => (Counts::default(), Err(e)),
    }
}

/// Runs the tests whose names contain `filter` and lets them rewrite what they compare with:
/// snapshots of fixtures, generated pages, expectations in the sources.
pub(crate) fn bless(filter: &[String]) -> Result<()> {
    llvm::ensure()?;
    let filter: Vec<&str> = filter.iter().map(String::as_str).collect();
    let mut command = shell::cargo(&[&["test", "--workspace"], filter.as_slice()].concat());
    // The second one is read by expect-test.
    command.env("SPLITBAR_BLESS", "1").env("UPDATE_EXPECT", "1");
    shell::run(command)
}

/// Runs a test runner with its output shown, and adds up the summaries that it prints.
fn tee(mut command: Command) -> Result<(Counts, bool)> {
    let shown = shell::show(&command);
    eprintln!("$ {shown}");
    let mut child = command
        .env("CARGO_TERM_COLOR", "never")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{shown}`"))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let counts = Mutex::new(Counts::default());
    std::thread::scope(|s| {
        if let Some(out) = stdout {
            s.spawn(|| copy(out, |line| println!("{line}"), &counts));
        }
        if let Some(err) = stderr {
            s.spawn(|| copy(err, |line| eprintln!("{line}"), &counts));
        }
    });
    let status = child.wait()?;
    let counts = counts
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok((counts, status.success()))
}

fn copy(from: impl Read, show: impl Fn(&str), counts: &Mutex<Counts>) {
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    // Lines that still belong to the failed test whose heading was read last.
    let mut lines_left = 0;
    // Bytes, not lines of UTF-8: what a failing test prints must not end the reading.
    while reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        show(text);
        let mut counts = counts
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(found) = parse_summary(text) {
            counts.add(found);
        } else if let Some(reason) = ignored(text) {
            *counts.reasons.entry(reason.to_owned()).or_default() += 1;
        } else if let Some(name) = heading_of_a_failure(text) {
            counts.failures.push(format!("failed: {name}"));
            lines_left = LINES_OF_A_FAILURE;
        } else if lines_left > 0 && !text.is_empty() {
            lines_left -= 1;
            counts.failures.push(format!("  {text}"));
        }
        drop(counts);
        line.clear();
    }
}

/// The name of the test in the line over what it printed: `---- NAME stdout ----`, or without
/// `stdout`.
fn heading_of_a_failure(line: &str) -> Option<&str> {
    let name = line.strip_prefix("---- ")?.strip_suffix(" ----")?;
    Some(name.strip_suffix(" stdout").unwrap_or(name))
}

/// Why a test was ignored, of the line that says so:
/// `test grid_cubin/scan/sm_60 ... ignored (no ptxas for sm_60)`, or `ignored, reason` of Rust's
/// own harness.
fn ignored(line: &str) -> Option<&str> {
    let (_, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let reason = outcome.strip_prefix("ignored")?;
    let inner = reason.strip_prefix(" (").and_then(|r| r.strip_suffix(')'));
    inner.or_else(|| reason.strip_prefix(", "))
}

/// Reads the line that sums up a test binary.
fn parse_summary(line: &str) -> Option<Counts> {
    let rest = line.trim_start().strip_prefix("test result: ")?;
    let mut counts = Counts::default();
    let words: Vec<&str> = rest
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|w| !w.is_empty())
        .collect();
    for pair in words.windows(2) {
        let [number, word] = pair else { continue };
        let Ok(number) = number.parse::<u64>() else {
            continue;
        };
        match *word {
            "passed" => counts.passed += number,
            "failed" => counts.failed += number,
            "ignored" => counts.skipped += number,
            _ => {}
        }
    }
    Some(counts)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn summaries() {
        let counts = |passed, failed, skipped| {
            Some(Counts {
                passed,
                failed,
                skipped,
                ..Counts::default()
            })
        };
        assert_eq!(
            parse_summary(
                "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.01s"
            ),
            counts(12, 0, 1)
        );
        assert_eq!(
            parse_summary("test result: FAILED. 1 passed; 2 failed; 0 ignored"),
            counts(1, 2, 0)
        );
        assert_eq!(parse_summary("running 12 tests: 3 passed"), None);
    }

    #[test]
    fn what_failed_is_named_above_the_numbers() {
        let said = "test fuzz ... FAILED\n\nfailures:\n\n---- fuzz stdout ----\n\n\
                    thread 'fuzz' panicked at a.rs:1:2:\nlost\n\n\
                    ---- suite/a ----\none\ntwo\nthree\nfour\nfive\n\
                    test result: FAILED. 0 passed; 2 failed; 0 ignored\n";
        let counts = Mutex::new(Counts::default());
        copy(said.as_bytes(), |_| (), &counts);
        assert_eq!(
            counts.into_inner().unwrap().summary(),
            "failed: fuzz\n  thread 'fuzz' panicked at a.rs:1:2:\n  lost\n\
             failed: suite/a\n  one\n  two\n  three\n  four\n\
             0 passed, 2 failed, 0 skipped"
        );
    }

    #[test]
    fn what_was_missing_is_named_above_the_numbers() {
        let said = "test grid_cubin/scan/sm_60 ... ignored (no ptxas for sm_60 (name one in X))\n\
                    test grid/scan/sm_60       ... ok\n\
                    test other ... ignored, by hand\n\
                    test result: ok. 1 passed; 0 failed; 2 ignored; 0 measured\n";
        let counts = Mutex::new(Counts::default());
        copy(said.as_bytes(), |_| (), &counts);
        assert_eq!(
            counts.into_inner().unwrap().summary(),
            "skipped: by hand: 1 tests\n\
             skipped: no ptxas for sm_60 (name one in X): 1 tests\n\
             1 passed, 0 failed, 2 skipped"
        );
    }
}
