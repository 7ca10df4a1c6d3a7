//! Runs the checks in a child process. A kernel that hangs is ended, and one that breaks the
//! driver's context does not affect others.
//!
//! The child ([`serve`]) runs kernels in order and writes a line for each. It ends after the first
//! that goes wrong, because nothing that a GPU does after that can be trusted; the parent ([`run`])
//! starts another for the rest.

use crate::bundle::Bundle;
use crate::check::{self, Outcome};
use crate::device::Device;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A line of the child.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    kernel: usize,
    outcome: Outcome,
}

/// The child: runs the bundle's kernels from number `first` on, up to the first that fails.
///
/// # Errors
/// The bundle cannot be read, or nobody reads the lines.
pub fn serve(
    bundle: &Bundle,
    first: usize,
    device: &mut dyn Device,
    output: &mut dyn Write,
) -> Result<()> {
    let manifest = bundle.manifest()?;
    for (number, kernel) in manifest.kernels.iter().enumerate().skip(first) {
        let outcome = check::kernel(bundle, kernel, device)?;
        let wrong = matches!(outcome, Outcome::Wrong(_));
        let line = Line {
            kernel: number,
            outcome,
        };
        writeln!(output, "{}", serde_json::to_string(&line)?)?;
        output.flush()?;
        if wrong {
            break;
        }
    }
    Ok(())
}

/// The parent: has kernels 0 to `kernels` run by children that `child` prepares (its argument is
/// the first kernel's number) and hands on what became of each, in order. A child that says nothing
/// for `limit` is ended.
///
/// # Errors
/// A child cannot be started, or writes something else.
pub fn run(
    kernels: usize,
    limit: Duration,
    child: &dyn Fn(usize) -> Command,
    each: &mut dyn FnMut(usize, &Outcome),
) -> Result<()> {
    let mut next = 0;
    while next < kernels {
        let mut process = child(next)
            .stdout(Stdio::piped())
            .spawn()
            .context("the program cannot start itself")?;
        let output = process.stdout.take().context("the child has no output")?;
        let (sender, lines) = channel();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut wrong = false;
        while next < kernels && !wrong {
            let outcome = match lines.recv_timeout(limit) {
                Ok(text) => {
                    let line: Line = serde_json::from_str(&text).with_context(|| text.clone())?;
                    anyhow::ensure!(line.kernel == next, "the child left out a kernel");
                    line.outcome
                }
                Err(RecvTimeoutError::Timeout) => {
                    Outcome::Wrong(format!("no end after {} s", limit.as_secs()))
                }
                Err(RecvTimeoutError::Disconnected) => {
                    Outcome::Wrong(format!("the process ended: {}", process.wait()?))
                }
            };
            wrong = matches!(outcome, Outcome::Wrong(_));
            each(next, &outcome);
            next += 1;
        }
        // It has nothing more to do, or hangs.
        let _ = process.kill();
        process.wait()?;
        let _ = reader.join();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The outcomes of three kernels if the children are this shell script; `$0` is the number of
    /// the first kernel.
    fn outcomes(script: &'static str) -> Vec<Outcome> {
        let mut found = Vec::new();
        let child = |first: usize| {
            let mut command = Command::new("sh");
            command.args(["-c", script, &first.to_string()]);
            command
        };
        run(
            3,
            Duration::from_millis(500),
            &child,
            &mut |number, outcome| {
                assert_eq!(number, found.len());
                found.push(outcome.clone());
            },
        )
        .unwrap();
        found
    }

    #[cfg(unix)]
    #[test]
    fn every_kernel_has_an_outcome_whatever_the_child_does() {
        let right = r#"for i in 0 1 2; do [ $i -lt $0 ] || echo "{\"kernel\":$i,\"outcome\":{\"Right\":null}}"; done"#;
        assert_eq!(outcomes(right), vec![Outcome::Right(None); 3]);
        let ends = outcomes("exit 7");
        assert!(
            ends.iter()
                .all(|o| matches!(o, Outcome::Wrong(why) if why.contains('7')))
        );
        let hangs = outcomes(
            r#"[ $0 -eq 1 ] && exec sleep 60; echo "{\"kernel\":$0,\"outcome\":{\"Right\":null}}"; exec sleep 60"#,
        );
        assert_eq!(hangs.len(), 3);
        assert_eq!(hangs[0], Outcome::Right(None));
        assert!(matches!(&hangs[1], Outcome::Wrong(why) if why.contains("no end")));
    }
}
