//! The standard streams of a process that was started or copied.

use std::process::{ChildStderr, ChildStdin, ChildStdout};

/// Which standard streams of a copy are pipes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pipes {
    pub(super) stdin: bool,
    pub(super) stdout: bool,
    pub(super) stderr: bool,
}

/// The other ends of the standard streams of a process, of those that are pipes.
#[derive(Debug)]
pub(super) struct Streams {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}
