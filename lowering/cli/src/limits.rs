//! The limits of time and memory that every command with a module has, and the process of its own
//! that they hold for.

use super::values::{Format, parse_seconds};
use super::{arguments, report};
use clap::{Args, value_parser};
use splitbar::diagnostic::Diagnostics;
use splitbar::{Failure, Isolation, run_isolated};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// Set by hand: the work is done in this process, without limits, for a debugger.
const IN_PROCESS: &str = "SPLITBAR_IN_PROCESS";

/// The flags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub(super) struct LimitArgs {
    /// Stops the command after this time, with exit code 3
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    time_limit: Option<Duration>,
    /// Stops the command if it needs more memory, with exit code 3
    #[arg(long, value_name = "MIB", value_parser = value_parser!(u64).range(1..))]
    memory_limit: Option<u64>,
}

impl LimitArgs {
    /// The process that they ask for: this program once more.
    pub(super) fn isolation(&self) -> Isolation {
        let mebibytes = self.memory_limit;
        let mut isolation = Isolation::default();
        isolation.program = std::env::current_exe().ok();
        isolation.copies = true;
        isolation.time = self.time_limit;
        isolation.memory = mebibytes.map(|mebibytes| mebibytes.saturating_mul(1 << 20));
        isolation
    }
}

/// Returns true if the work is to be done in this process.
pub(super) fn in_process() -> bool {
    std::env::var_os(IN_PROCESS).is_some()
}

/// Runs the command that this process was started with, which is also `here`, in a process of its
/// own, and gives its exit code. `input` is the module that problems are about, `format` how they
/// are printed.
///
/// # Errors
/// The process has no exit code: why has been shown, and this is the code for it.
pub(super) fn isolated(
    limits: &LimitArgs,
    input: &Path,
    format: Format,
    here: impl FnOnce() -> u8,
) -> Result<u8, u8> {
    let arguments: Vec<OsString> = arguments::given().into_iter().skip(1).collect();
    match run_isolated(
        &arguments,
        &limits.isolation(),
        format != Format::Text,
        here,
    ) {
        Ok(code) => Ok(code),
        Err(problem) => {
            let failure = Failure::from(Diagnostics::from(problem));
            report::show(&failure.diagnostics, input, format);
            Err(failure.exit_code())
        }
    }
}
