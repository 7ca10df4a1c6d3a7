//! `splitbar worker`: the process that a [`splitbar::Worker`] or another command starts. People do
//! not call it.

use super::{Cli, Command, Served, write};
use clap::Parser;
use splitbar::exit;
use std::io;

/// Serves requests until the standard input ends, or runs one command.
pub(super) fn run(served: &Served) -> u8 {
    let result = match served.owner {
        Some(owner) => splitbar::serve_command(owner, served.memory).and_then(|()| command(served)),
        None => splitbar::serve_isolated(served.memory).map(|()| exit::DONE),
    };
    result.unwrap_or_else(|error| {
        write::error(&error.to_string());
        exit::USAGE
    })
}

/// Runs the command in this process.
fn command(served: &Served) -> io::Result<u8> {
    let name = std::ffi::OsString::from("splitbar");
    let arguments = std::iter::once(&name).chain(&served.command);
    let cli = Cli::try_parse_from(arguments).map_err(io::Error::other)?;
    cli.colour.write_global();
    match &cli.command {
        Command::Worker(_) => Err(io::Error::other("a worker has no worker")),
        command => Ok(command.run_here()),
    }
}
