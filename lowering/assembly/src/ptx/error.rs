//! Syntax errors in PTX.

use std::fmt;

/// A syntax error, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line, from 1.
    pub line: u32,
    /// A description of the error.
    pub what: String,
}

impl SyntaxError {
    pub(super) fn new(line: u32, what: impl Into<String>) -> SyntaxError {
        SyntaxError {
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for SyntaxError {}
