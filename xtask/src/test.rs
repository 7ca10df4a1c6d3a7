//! `cargo xtask test` and `cargo xtask bless`: the tests, and how many ran.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result, bail};

use crate::{llvm, shell};

/// Tests that ran.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
}

/// Runs everything; an error if a test failed.
pub fn run(filter: &[String]) -> Result<()> {
    let (counts, result) = run_counting(filter);
    if counts.passed + counts.failed == 0 && result.is_ok() {
        bail!("no test ran");
    }
    result
}

/// Runs everything and says how many tests ran, also when some of them, or a build, failed.
pub fn run_counting(filter: &[String]) -> (Counts, Result<()>) {
    if let Err(e) = llvm::ensure() {
        return (Counts::default(), Err(e));
    }
    let filter: Vec<&str> = filter.iter().map(String::as_str).collect();
    // One process for each test binary, so not nextest: the trials of the suite share what they compile and a list of
    // some 14,000 names, and a process for each trial would pay for both each time (a second or more).
    let command = shell::cargo(
        &[
            &["test", "--workspace", "--no-fail-fast"],
            filter.as_slice(),
        ]
        .concat(),
    );
    let shown = shell::show(&command);
    match tee(command) {
        Ok((counts, true)) => (counts, Ok(())),
        Ok((counts, false)) => (counts, Err(anyhow::anyhow!("failed: {shown}"))),
        Err(e) => (Counts::default(), Err(e)),
    }
}

/// Runs the filetests and lets them rewrite their snapshots.
pub fn bless() -> Result<()> {
    llvm::ensure()?;
    let mut command = shell::cargo(&["test", "--package", "splitbar-tests"]);
    command.env("SPLITBAR_BLESS", "1");
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
    // Bytes, not lines of UTF-8: what a failing test prints must not end the reading.
    while reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        show(text);
        if let Some(found) = parse_summary(text) {
            let mut c = counts
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            c.passed += found.passed;
            c.failed += found.failed;
        }
        line.clear();
    }
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
            _ => {}
        }
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries() {
        let counts = |passed, failed| Some(Counts { passed, failed });
        assert_eq!(
            parse_summary(
                "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.01s"
            ),
            counts(12, 0)
        );
        assert_eq!(
            parse_summary("test result: FAILED. 1 passed; 2 failed; 0 ignored"),
            counts(1, 2)
        );
        assert_eq!(parse_summary("running 12 tests: 3 passed"), None);
    }
}
