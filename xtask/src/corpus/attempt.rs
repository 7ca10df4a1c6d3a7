//! One compilation in a process of its own, and what became of it.

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// What a module gets whose workgroup size is left to specialization constants that default to 0:
/// an application has to give it one too.
pub(super) const WORKGROUP_SIZE: &str = "64,1,1";

/// The diagnostic for a workgroup dimension of 0 (`splitbar explain SB0311`).
const EMPTY_WORKGROUP: &str = "SB0311";

/// How often a running compilation is looked at.
const GLANCE: Duration = Duration::from_millis(5);

/// What became of a module.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Outcome {
    /// An object or PTX came out.
    Compiled,
    /// A diagnostic says what is not supported.
    Refused,
    /// It was called invalid; other compilers take these modules.
    Invalid,
    /// The process ended without an answer.
    Crashed,
    /// It was ended after the time that it may take.
    TooSlow,
}

impl Outcome {
    /// Whether it must not happen.
    pub(super) fn is_failure(self) -> bool {
        match self {
            Outcome::Compiled | Outcome::Refused => false,
            Outcome::Invalid | Outcome::Crashed | Outcome::TooSlow => true,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Compiled => "compiled",
            Outcome::Refused => "refused",
            Outcome::Invalid => "called invalid",
            Outcome::Crashed => "crashed",
            Outcome::TooSlow => "too slow",
        })
    }
}

/// A diagnostic, without its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Reason {
    /// `SB` and four digits.
    pub code: String,
    /// The message; ids are left out.
    pub message: String,
}

/// A compilation that has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Attempt {
    /// How it ended.
    pub outcome: Outcome,
    /// Whether it was given [`WORKGROUP_SIZE`].
    pub sized: bool,
    /// Seconds.
    pub seconds: f64,
    /// Its errors, each once, in order.
    pub reasons: Vec<Reason>,
}

impl Attempt {
    /// Compiles the module at `path` for `target`; once more with a workgroup size if it turns out
    /// to need one.
    pub(super) fn new(
        tool: &Path,
        path: &Path,
        target: &str,
        level: &str,
        timeout: Duration,
    ) -> Result<Attempt> {
        let plain = Attempt::once(tool, path, target, level, timeout, false)?;
        if plain
            .reasons
            .iter()
            .any(|reason| reason.code == EMPTY_WORKGROUP)
        {
            Attempt::once(tool, path, target, level, timeout, true)
        } else {
            Ok(plain)
        }
    }

    fn once(
        tool: &Path,
        path: &Path,
        target: &str,
        level: &str,
        timeout: Duration,
        sized: bool,
    ) -> Result<Attempt> {
        let emit = if target.starts_with("gfx") {
            "obj"
        } else {
            "asm"
        };
        let mut command = Command::new(tool);
        command
            .arg("lower")
            .arg(path)
            .args(["--target", target, "-O", level, "--emit", emit])
            .args(["--format", "json"])
            // No shield: a crash is to be seen as one.
            .env("SPLITBAR_IN_PROCESS", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if sized {
            command.args(["--workgroup-size", WORKGROUP_SIZE]);
        }
        let begin = Instant::now();
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {}", tool.display()))?;
        let stderr = child.stderr.take();
        let (status, said) = std::thread::scope(|scope| -> Result<_> {
            let reader = scope.spawn(move || {
                let mut said = Vec::new();
                if let Some(mut stderr) = stderr {
                    // What cannot be read is missing from the reasons, and the exit code still
                    // counts.
                    let _ = stderr.read_to_end(&mut said);
                }
                said
            });
            let status = wait(&mut child, begin + timeout)?;
            Ok((status, reader.join().unwrap_or_default()))
        })?;
        let said = String::from_utf8_lossy(&said);
        let outcome = match status.map(|status| status.code()) {
            None => Outcome::TooSlow,
            Some(Some(0)) => Outcome::Compiled,
            Some(Some(1)) => Outcome::Invalid,
            Some(Some(3)) => Outcome::Refused,
            Some(_) => Outcome::Crashed,
        };
        let mut reasons = reasons(&said);
        if outcome == Outcome::Crashed && reasons.is_empty() {
            let last = said.lines().find(|line| !line.trim().is_empty());
            reasons.push(Reason {
                code: "none".to_owned(),
                message: last.unwrap_or("it said nothing").to_owned(),
            });
        }
        Ok(Attempt {
            outcome,
            sized,
            seconds: begin.elapsed().as_secs_f64(),
            reasons,
        })
    }
}

/// Waits for the child until `deadline`, then ends it: `None`.
fn wait(child: &mut Child, deadline: Instant) -> Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(GLANCE);
    }
}

/// The errors among lines of JSON diagnostics, each once.
fn reasons(said: &str) -> Vec<Reason> {
    #[derive(Deserialize)]
    struct Line {
        severity: String,
        code: String,
        message: String,
    }
    let mut reasons: Vec<Reason> = said
        .lines()
        .filter_map(|line| serde_json::from_str::<Line>(line).ok())
        .filter(|line| line.severity == "error")
        .map(|line| Reason {
            code: line.code,
            message: without_ids(&line.message),
        })
        .collect();
    reasons.sort();
    reasons.dedup();
    reasons
}

/// A message that is the same for every module: no ids.
fn without_ids(message: &str) -> String {
    let words: Vec<&str> = message
        .split(' ')
        .filter(|word| !word.starts_with('%'))
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_from_warnings_and_text() {
        let said = concat!(
            "{\"severity\":\"warning\",\"code\":\"SB2010\",\"message\":\"w\"}\n",
            "{\"severity\":\"error\",\"code\":\"SB0300\",\"message\":\"OpX %a is not lowered\"}\n",
            "{\"severity\":\"error\",\"code\":\"SB0300\",\"message\":\"OpX %b is not lowered\"}\n",
            "LLVM ERROR: x\n"
        );
        let expected = Reason {
            code: "SB0300".to_owned(),
            message: "OpX is not lowered".to_owned(),
        };
        assert_eq!(reasons(said), vec![expected]);
    }
}
