//! Runs a whole command of `splitbar` in its own process, which prints its output itself. The owner
//! reports the reason if it had to end the process.

use super::group::{self, Group};
use super::streams::{Pipes, Streams};
use super::{Isolation, death, memory_limit, missing, program, serve};
use splitbar_passes::diagnostic::{Code, Diagnostic};
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Read, Write};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The exit codes that a command gives itself.
const OWN_CODES: std::ops::RangeInclusive<i32> = 0..=4;

/// Runs the command with these `arguments` in its own process, with the standard streams of this
/// process, and returns its exit code. With `quiet`, its standard error is passed on after it has
/// ended; if it crashed, only diagnostics as JSON are passed on, and the rest is in the result.
/// `here` is the same command, for a process that is a copy of this one.
///
/// # Errors
/// `WorkerLimit` when a limit ended the process, `WorkerMissing` when it cannot be started,
/// `Internal` when it died of itself.
pub fn run_isolated(
    arguments: &[OsString],
    isolation: &Isolation,
    quiet: bool,
    here: impl FnOnce() -> u8,
) -> Result<u8, Diagnostic> {
    let deadline = isolation.time.map(|time| Instant::now() + time);
    let started = start(arguments, isolation, quiet, || {
        // Too late already: the owner is about to end it, and nothing may come out.
        while deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            std::thread::sleep(Duration::from_millis(1));
        }
        here()
    });
    let (mut group, streams) = started.map_err(|error| missing(&error))?;
    if let Some(pipe) = streams.stdin {
        feed(pipe);
    }
    let listener = streams.stderr.map(|mut stderr| {
        std::thread::spawn(move || {
            let mut said = Vec::new();
            // What came before an error of the stream counts.
            let _ = stderr.read_to_end(&mut said);
            said
        })
    });
    let name = arguments
        .first()
        .map_or("?".into(), |name| name.to_string_lossy());
    let status = match group.wait(deadline) {
        Ok(Some(status)) => status,
        // Only a limit on time ends the wait.
        Ok(None) => return Err(late(&name, isolation.time.unwrap_or_default())),
        Err(error) => {
            return Err(Diagnostic::error(
                Code::Internal,
                format!("the process of `splitbar {name}` is lost: {error}"),
            ));
        }
    };
    // Without a pipe nothing was said.
    let said = listener
        .and_then(|listener| listener.join().ok())
        .unwrap_or_default();
    if let Some(code) = own_code(status) {
        pass_on(&said);
        return Ok(code);
    }
    let text = String::from_utf8_lossy(&said);
    let (told, words): (Vec<&str>, Vec<&str>) = text
        .split_inclusive('\n')
        .partition(|line| line.starts_with('{'));
    pass_on(told.concat().as_bytes());
    let who = format!("the process of `splitbar {name}`");
    let limit = memory_limit(isolation);
    Err(death(&who, "", false, status, &words.concat(), limit))
}

/// Writes to the standard error. Nobody is left to tell if it is closed.
fn pass_on(said: &[u8]) {
    let _ = io::stderr().write_all(said);
}

/// The exit code, if it is one that commands give.
fn own_code(status: ExitStatus) -> Option<u8> {
    let code = status.code().filter(|code| OWN_CODES.contains(code))?;
    u8::try_from(code).ok()
}

fn start(
    arguments: &[OsString],
    isolation: &Isolation,
    quiet: bool,
    here: impl FnOnce() -> u8,
) -> io::Result<(Group, Streams)> {
    let pipes = Pipes {
        // A group in the background may not read from a terminal.
        stdin: io::stdin().is_terminal() && arguments.iter().any(|argument| is_stdin(argument)),
        stdout: false,
        stderr: quiet,
    };
    let owner = std::process::id();
    if isolation.copies {
        let command = || serve_command(owner, isolation.memory).map(|()| here());
        if let Some(copy) = Group::copy(pipes, command)? {
            return Ok(copy);
        }
    }
    let mut command = Command::new(program(isolation)?);
    command.arg("worker").arg(format!("--owner={owner}"));
    command.args(isolation.memory.map(|bytes| format!("--memory={bytes}")));
    command.arg("--").args(arguments);
    if pipes.stderr {
        command.stderr(Stdio::piped());
    }
    if pipes.stdin {
        command.stdin(Stdio::piped());
    }
    Group::start(&mut command)
}

/// Returns true if an argument names the standard input: `-`, or `...=-`.
fn is_stdin(argument: &OsStr) -> bool {
    argument == "-" || argument.to_string_lossy().ends_with("=-")
}

/// Passes the standard input on.
fn feed(mut pipe: ChildStdin) {
    std::thread::spawn(move || {
        // A command that reads no more closes it.
        let _ = io::copy(&mut io::stdin().lock(), &mut pipe);
    });
}

/// Makes this process the one of a command: it ends when `owner` does, with what it has started,
/// and uses `memory` bytes at most.
///
/// # Errors
/// What the system says when the limit cannot be set.
pub fn serve_command(owner: u32, memory: Option<u64>) -> io::Result<()> {
    group::end_with(owner);
    crate::backend::current().end_with_llvm(); // the owner says how this process has ended
    memory.map_or(Ok(()), serve::limit_memory)
}

/// The diagnostic for a command that took too long.
fn late(name: &str, limit: Duration) -> Diagnostic {
    let seconds = limit.as_secs_f64();
    Diagnostic::error(
        Code::WorkerLimit,
        format!("`splitbar {name}` did not end within {seconds} s"),
    )
    .because("the input is large, or needs much work")
    .help("raise the limit, or use a smaller input")
}
