//! The program `splitbar`: what its command line accepts. Each command has a file, and `command.rs`
//! lists them.

mod advise;
mod arguments;
mod audit;
mod batch;
mod buffer_name;
mod check;
mod code;
mod command;
mod compare;
mod depfile;
mod described;
mod emit;
mod estimate;
mod explain;
mod explanations;
mod findings;
mod flags;
mod given;
mod help;
mod input;
mod launch;
mod limits;
mod lower;
mod lower_ir;
mod meter;
mod model;
mod options;
mod places;
mod problem;
mod profile;
mod report;
mod report_command;
mod shell;
mod sim;
mod stop;
mod table;
mod targets;
mod texts;
mod trace;
mod values;
mod warnings;
mod worker;
mod write;

use std::process::ExitCode;

/// Runs the command that the arguments name.
fn main() -> ExitCode {
    ExitCode::from(command::run())
}
