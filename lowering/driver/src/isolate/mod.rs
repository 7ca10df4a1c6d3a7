//! Compilation in a process of its own, since LLVM ends its process on some inputs: with an abort,
//! a segmentation fault, or an exit code.
//!
//! A [`Worker`] owns the process: the program `splitbar` of the same release, with the hidden
//! command `worker`. Requests go to its standard input, events and replies come from its standard
//! output (`message.rs`). It compiles one module after the other. When it dies the request that
//! killed it becomes a diagnostic, and the next one starts another process. It ends with its owner:
//! its standard input is closed then. The programs that it has started end with it (`group.rs`).
//!
//! Commands that are more than a compilation run in such a process as a whole (`command.rs`).
//!
//! A program that has one thread can be copied instead of started again (`copy.rs`).

mod bytes;
mod command;
#[cfg(unix)]
mod copy;
mod group;
mod message;
mod product;
mod serve;
mod source;
mod streams;
mod worker_stderr;

pub(crate) use bytes::Bytes;
pub use command::{run_isolated, serve_command};
pub use product::Product;
pub use serve::{perform, serve_isolated};
pub use source::Source;

use crate::{Failure, Observer, Options, Stage, exit, refusal};
use group::Group;
use message::{Event, Request};
use source::Language;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use streams::{Pipes, Streams};
use worker_stderr::Listener;

/// How many lines of what a dying worker said go into the report.
const LAST_WORDS: usize = 8;

/// How often an observer is told that the work goes on.
const TICK: Duration = Duration::from_secs(5);

/// The longest time that a limit means.
const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

/// The worker process and its limits.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Isolation {
    /// The program `splitbar` of this release; `None` takes this program if it is called so, else
    /// the one beside it, else the one on PATH.
    pub program: Option<PathBuf>,
    /// The time that one compilation or command may take, the start of a process included.
    pub time: Option<Duration>,
    /// The memory in bytes that the process may use (Linux and other Unix systems).
    pub memory: Option<u64>,
    /// Makes the process a copy of this one where that is possible, which saves the start of
    /// `program`: on Linux, in a process of one thread, with `program` of this release and this
    /// build. The copy has all files that are open here. Off by default.
    pub copies: bool,
}

/// The output of a compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Isolated {
    /// The products, in the order of the request.
    pub products: Vec<Vec<u8>>,
    /// The warnings of the compilation.
    pub warnings: Diagnostics,
}

/// Compiles `source` in a process of its own, which ends with the call.
///
/// # Errors
/// As [`Compiler::compile`](crate::Compiler::compile). `WorkerLimit` when a limit ended the
/// process, `WorkerMissing` when it cannot be started or is of another release, and `LlvmFailed`
/// or `Internal` when it died of itself.
pub fn compile_isolated(
    source: impl Into<Source>,
    options: &Options,
    products: &[Product],
    isolation: &Isolation,
) -> Result<Isolated, Failure> {
    Worker::new(isolation.clone()).compile(source, options, products, &mut ())
}

/// A process that compiles one module after the other. Dropping it ends the process.
#[derive(Debug)]
pub struct Worker {
    isolation: Isolation,
    running: Option<Running>,
}

impl Worker {
    /// A worker whose process starts with the first compilation.
    pub fn new(isolation: Isolation) -> Worker {
        Worker {
            isolation,
            running: None,
        }
    }

    /// The id of the process, if one is running.
    pub fn process(&self) -> Option<u32> {
        self.running.as_ref().map(|running| running.group.id())
    }

    /// Compiles `source`; `observer` is told what happens in the worker while it happens.
    ///
    /// # Errors
    /// As [`compile_isolated`].
    pub fn compile(
        &mut self,
        source: impl Into<Source>,
        options: &Options,
        products: &[Product],
        observer: &mut dyn Observer,
    ) -> Result<Isolated, Failure> {
        let deadline = Instant::now() + self.isolation.time.unwrap_or(FOREVER).min(FOREVER);
        let mut running = match self.running.take() {
            Some(running) => running,
            None => Running::start(&self.isolation).map_err(|error| missing(&error))?,
        };
        let source = source.into();
        let language = source.language();
        let request = Request {
            source,
            options: options.clone(),
            products: products.to_vec(),
            artefacts: observer.wants_artefacts(),
        };
        // A worker that died takes no request; how it died is found out below.
        let _ = message::send(&mut running.requests, &request);
        let (mut stage, mut since) = (None, Instant::now());
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match running.events.recv_timeout(left.min(TICK)) {
                Ok(Err(stranger)) => return Err((*stranger).into()),
                Ok(Ok(Event::Begin(next))) => {
                    (stage, since) = (Some(next), Instant::now());
                    running.said.forget();
                    observer.begin(next);
                }
                Ok(Ok(Event::Produced(artefact, bytes))) => observer.produced(artefact, &bytes.0),
                Ok(Ok(Event::Done(products, warnings))) => {
                    self.running = Some(running);
                    return Ok(Isolated {
                        products: products.into_iter().map(|bytes| bytes.0).collect(),
                        warnings,
                    });
                }
                Ok(Ok(Event::Failed(diagnostics))) => {
                    self.running = Some(running);
                    return Err(diagnostics.into());
                }
                Err(RecvTimeoutError::Timeout) if left > TICK => {
                    let pass = running.said.pass();
                    observer.waits(
                        stage.unwrap_or(Stage::Read),
                        since.elapsed(),
                        pass.as_deref(),
                    );
                }
                Err(RecvTimeoutError::Timeout) => {
                    let pass = running.said.pass();
                    return Err(late(stage, self.isolation.time, pass.as_deref()).into());
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let died = running.death(stage, memory_limit(&self.isolation));
                    return Err(match language {
                        Language::SpirV => died,
                        Language::LlvmIr => on_ir(died, stage),
                    }
                    .into());
                }
            }
        }
    }
}

/// The process.
#[derive(Debug)]
struct Running {
    group: Group,
    requests: ChildStdin,
    /// What it says; or that it is no worker of this release.
    events: Receiver<Result<Event, Box<Diagnostic>>>,
    /// What the process says on its standard error.
    said: Listener,
}

impl Running {
    fn start(isolation: &Isolation) -> io::Result<Running> {
        let copy = if isolation.copies {
            Running::copy(isolation)?
        } else {
            None
        };
        let (group, streams) = match copy {
            Some(copy) => copy,
            None => Running::program(isolation)?,
        };
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        let requests = streams.stdin.ok_or_else(closed)?;
        let mut replies = streams.stdout.ok_or_else(closed)?;
        let errors = streams.stderr.ok_or_else(closed)?;
        let (sender, events) = channel();
        std::thread::spawn(move || {
            if let Err(release) = message::greeted(&mut replies) {
                // Nobody waits for it any more when this fails.
                let _ = sender.send(Err(Box::new(strange(release.as_deref()))));
                return;
            }
            while let Ok(Some(event)) = message::receive(&mut replies) {
                if sender.send(Ok(event)).is_err() {
                    break;
                }
            }
        });
        Ok(Running {
            group,
            requests,
            events,
            said: Listener::new(errors),
        })
    }

    fn program(isolation: &Isolation) -> io::Result<(Group, Streams)> {
        let mut command = Command::new(program(isolation)?);
        command.arg("worker");
        if let Some(bytes) = isolation.memory {
            command.arg(format!("--memory={bytes}"));
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Group::start(&mut command)
    }

    fn copy(isolation: &Isolation) -> io::Result<Option<(Group, Streams)>> {
        let pipes = Pipes {
            stdin: true,
            stdout: true,
            stderr: true,
        };
        let memory = isolation.memory;
        Group::copy(pipes, || serve_isolated(memory).map(|()| exit::DONE))
    }

    /// The diagnostic for a process that died in `stage`.
    fn death(mut self, stage: Option<Stage>, memory: Option<u64>) -> Diagnostic {
        // It has closed its standard output, so it has ended or is about to.
        let status = self.group.wait(None);
        let said = self.said.words();
        let place = format!(" in stage `{}`", name(stage));
        match status {
            Ok(Some(status)) => death(COMPILER, &place, is_llvms(stage), status, &said, memory),
            Ok(None) => lost("it does not end"),
            Err(error) => lost(&error.to_string()),
        }
    }
}

fn lost(why: &str) -> Diagnostic {
    Diagnostic::error(Code::Internal, format!("{COMPILER} is lost: {why}"))
}

/// What a worker is called.
const COMPILER: &str = "the compiling process";

/// The program that is the worker.
fn program(isolation: &Isolation) -> io::Result<PathBuf> {
    if let Some(program) = &isolation.program {
        return Ok(program.clone());
    }
    let name: OsString = format!("splitbar{}", std::env::consts::EXE_SUFFIX).into();
    let this = std::env::current_exe()?;
    let beside = this.with_file_name(&name);
    Ok(if beside.is_file() {
        beside
    } else {
        name.into()
    })
}

fn missing(error: &io::Error) -> Diagnostic {
    Diagnostic::error(
        Code::WorkerMissing,
        format!("the compiling process cannot be started: {error}"),
    )
    .help("set Isolation::program to the program `splitbar`, or add it to PATH")
}

/// The diagnostic for a worker of another release, or for a program that is none.
fn strange(release: Option<&str>) -> Diagnostic {
    let what = match release {
        Some(release) => format!("{COMPILER} is of splitbar {release}"),
        None => format!(
            "{COMPILER} does not answer as splitbar {}",
            message::RELEASE
        ),
    };
    Diagnostic::error(Code::WorkerMissing, what)
        .because(format!("this is splitbar {}", message::RELEASE))
        .because("the protocol between a worker and its owner differs between releases")
        .help("set Isolation::program to the program `splitbar` of this release")
}

/// The diagnostic for a compilation that took too long, in LLVM's `pass` if one was running.
fn late(stage: Option<Stage>, limit: Option<Duration>, pass: Option<&str>) -> Diagnostic {
    // Only a limit makes a compilation late.
    let seconds = limit.unwrap_or_default().as_secs_f64();
    let problem = Diagnostic::error(
        Code::WorkerLimit,
        format!(
            "the compilation did not end within {seconds} s; it was in stage `{}`",
            name(stage)
        ),
    );
    let problem = match pass {
        Some(pass) => problem
            .because(format!("LLVM's pass `{pass}` was running"))
            .because("LLVM is slow for functions with very many blocks or deeply nested loops"),
        None => problem.because("the module is large or damaged"),
    };
    problem.help("raise the limit, split the kernel, or optimise less")
}

/// The limit in bytes on the memory of a process that is started now: ours, or the one that this
/// process has itself.
fn memory_limit(isolation: &Isolation) -> Option<u64> {
    #[cfg(unix)]
    let own = {
        use rustix::process::{Resource, getrlimit};
        let limits = [Resource::Data, Resource::As].map(|resource| getrlimit(resource).current);
        limits.into_iter().flatten().min()
    };
    #[cfg(not(unix))]
    let own = None;
    isolation.memory.or(own)
}

/// The diagnostic for a process that died: `who` it is and the `place` where it was.
fn death(
    who: &str,
    place: &str,
    in_llvm: bool,
    status: ExitStatus,
    said: &str,
    memory: Option<u64>,
) -> Diagnostic {
    let what = format!("{place} ({status})");
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let because = |diagnostic| {
        lines
            .clone()
            .take(LAST_WORDS)
            .fold(diagnostic, |diagnostic: Diagnostic, line| {
                diagnostic.because(line)
            })
    };
    // Who has no memory left cannot always say so: under a limit a silent death is one for want of
    // it.
    let silent = memory.is_some() && status.code().is_none() && said.trim().is_empty();
    if silent || is_out_of_memory(status, said) {
        let limit = Diagnostic::error(Code::WorkerLimit, format!("{who} ran out of memory{what}"));
        return because(limit).help(match memory {
            Some(bytes) => format!(
                "allow more than {} MiB, split the kernel, or optimise less",
                bytes >> 20
            ),
            None => "free memory, split the kernel, or optimise less".to_owned(),
        });
    }
    let code = if in_llvm {
        Code::LlvmFailed
    } else {
        Code::Internal
    };
    because(Diagnostic::error(code, format!("{who} died{what}"))).help(format!(
        "this is a bug in splitbar {}: please report it with the module and the options; the artefacts of the stages before this one help",
        env!("CARGO_PKG_VERSION")
    ))
}

/// The diagnostic for a worker that died in `stage` of what somebody else wrote for LLVM: LLVM
/// takes a module that its verifier accepts for one of a compiler, which writes nothing that the
/// target lacks.
fn on_ir(died: Diagnostic, stage: Option<Stage>) -> Diagnostic {
    let mut reasons = died.reasons.iter();
    let gave_up = reasons.any(|reason| reason.starts_with("LLVM ERROR"));
    // LLVM reads and verifies the module first.
    let is_llvms = gave_up || is_llvms(stage) || stage == Some(Stage::Read);
    match died.code {
        Code::LlvmFailed | Code::Internal if is_llvms => refusal::of_process(died),
        _ => died,
    }
}

/// Returns true if most of a stage is LLVM's work.
fn is_llvms(stage: Option<Stage>) -> bool {
    matches!(stage, Some(Stage::Lower | Stage::Measure | Stage::Generate))
}

fn name(stage: Option<Stage>) -> &'static str {
    stage.map_or("start", Stage::name)
}

/// Returns true if the system ended the process for want of memory, or an allocation failed in it.
fn is_out_of_memory(status: ExitStatus, said: &str) -> bool {
    /// What Rust, LLVM and the C++ library say when an allocation fails. The last is what Rust says
    /// of `bad_alloc`: LLVM throws nothing of its own.
    const WORDS: [&str; 5] = [
        "memory allocation of ",
        "out of memory",
        "bad_alloc",
        "Cannot allocate memory",
        "Rust cannot catch foreign exceptions",
    ];
    #[cfg(unix)]
    if std::os::unix::process::ExitStatusExt::signal(&status) == Some(9) {
        return true;
    }
    !status.success() && WORDS.iter().any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn deaths_are_told_apart() {
        use std::os::unix::process::ExitStatusExt;
        for (stage, signal, said, code) in [
            (Stage::Generate, 11, "", Code::LlvmFailed),
            (
                Stage::Generate,
                6,
                "LLVM ERROR: Cannot select",
                Code::LlvmFailed,
            ),
            (
                Stage::Generate,
                6,
                "LLVM ERROR: out of memory",
                Code::WorkerLimit,
            ),
            (
                Stage::Lower,
                6,
                "memory allocation of 64 bytes failed",
                Code::WorkerLimit,
            ),
            (
                Stage::Lower,
                6,
                "terminate called: std::bad_alloc",
                Code::WorkerLimit,
            ),
            (Stage::Lower, 9, "", Code::WorkerLimit),
            (Stage::Plan, 11, "", Code::Internal),
        ] {
            let stage = Some(stage);
            let place = format!(" in stage `{}`", name(stage));
            let status = ExitStatus::from_raw(signal);
            let died = death(COMPILER, &place, is_llvms(stage), status, said, None);
            assert_eq!(died.code, code, "{died}");
            assert!(died.message.contains(name(stage)), "{died}");
            assert!(died.help.is_some() && died.reasons.len() == usize::from(!said.is_empty()));
        }
    }
}
