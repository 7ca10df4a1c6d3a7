//! Processes that are copies of this one, instead of the program started anew: what LLVM and the
//! loader make at a start is there already, which takes a quarter of the time of a small
//! compilation.

use super::streams::{Pipes, Streams};
use crate::exit;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, setpgid, waitpid};
use splitbar_plan::backend::Fork;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitStatus;

/// The exit code of a program that panics.
const PANICKED: i32 = 101;

/// As [`super::group::Group::copy`].
///
/// # Errors
/// What the system says.
pub(super) fn copy(
    pipes: Pipes,
    work: impl FnOnce() -> io::Result<u8>,
) -> io::Result<Option<(Pid, Streams)>> {
    let pipe = |wanted: bool| wanted.then(io::pipe).transpose();
    let (stdin, to_stdin) = pipe(pipes.stdin)?.unzip();
    let (from_stdout, stdout) = pipe(pipes.stdout)?.unzip();
    let (from_stderr, stderr) = pipe(pipes.stderr)?.unzip();
    // Else the copy says it once more.
    io::stdout().flush()?;
    let id = match crate::backend::current().fork() {
        Ok(Fork::Owner(id)) => id,
        Ok(Fork::Copy) => {
            // With its own end of a pipe open, nobody would ever read its end.
            drop((to_stdin, from_stdout, from_stderr));
            let code = begin(stdin, stdout, stderr).map(|()| catch_unwind(AssertUnwindSafe(work)));
            std::process::exit(match code {
                Ok(Ok(Ok(code))) => i32::from(code),
                Ok(Ok(Err(error))) => {
                    // Nobody is left to tell where the stream is closed or full.
                    let _ = writeln!(io::stderr(), "error: {error}");
                    i32::from(exit::USAGE)
                }
                Ok(Err(_)) | Err(_) => PANICKED,
            })
        }
        Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some(id) = Pid::from_raw(id.cast_signed()) else {
        return Err(io::Error::other("the copy has no number"));
    };
    // The copy does the same, and whoever is first has done it for both.
    let _ = setpgid(Some(id), Some(id));
    let streams = Streams {
        stdin: to_stdin.map(|pipe| OwnedFd::from(pipe).into()),
        stdout: from_stdout.map(|pipe| OwnedFd::from(pipe).into()),
        stderr: from_stderr.map(|pipe| OwnedFd::from(pipe).into()),
    };
    Ok(Some((id, streams)))
}

/// Gives the copy, which this is, its group and its streams.
fn begin(
    stdin: Option<PipeReader>,
    stdout: Option<PipeWriter>,
    stderr: Option<PipeWriter>,
) -> io::Result<()> {
    setpgid(None, None)?;
    stdin.map_or(Ok(()), rustix::stdio::dup2_stdin)?;
    stdout.map_or(Ok(()), rustix::stdio::dup2_stdout)?;
    Ok(stderr.map_or(Ok(()), rustix::stdio::dup2_stderr)?)
}

/// Ends a copy, and says how it has ended.
///
/// # Errors
/// What the system says.
pub(super) fn end(id: Pid) -> io::Result<ExitStatus> {
    // Whoever has ended already cannot be ended: that is no error.
    let _ = kill_process(id, Signal::KILL);
    loop {
        match waitpid(Some(id), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(ExitStatus::from_raw(status.as_raw())),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
