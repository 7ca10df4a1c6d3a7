//! `splitbar worker`: the process that a [`splitbar::Worker`] or another command starts. People do
//! not call it.

use super::write;
use clap::Args;
use splitbar::exit;
use std::ffi::OsString;
use std::io;

/// The arguments of the hidden command `worker`.
#[derive(Debug, Args)]
pub(crate) struct Served {
    /// The memory that it may use
    #[arg(long, value_name = "BYTES")]
    memory: Option<u64>,
    /// The process that has asked for the command, and whose end is this one's
    #[arg(long, value_name = "PROCESS", requires = "command")]
    owner: Option<u32>,
    /// The command to run, in place of requests
    #[arg(last = true, requires = "owner")]
    command: Vec<OsString>,
}

/// Serves requests until the standard input ends, or runs one command by `run_command`.
pub(super) fn run(served: &Served, run_command: fn(&[OsString]) -> io::Result<u8>) -> u8 {
    let result = match served.owner {
        Some(owner) => splitbar::serve_command(owner, served.memory)
            .and_then(|()| run_command(&served.command)),
        None => splitbar::serve_isolated(served.memory).map(|()| exit::DONE),
    };
    result.unwrap_or_else(|error| {
        write::error(&error.to_string());
        exit::USAGE
    })
}
