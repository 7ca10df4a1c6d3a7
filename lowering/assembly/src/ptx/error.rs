//! Where text is not PTX.

use std::fmt;

/// What is wrong with a text, and on which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong.
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
