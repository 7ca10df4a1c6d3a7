//! Why PTX text cannot be executed: what is wrong, and on which line.

use splitbar_assembly::ptx::SyntaxError;
use std::fmt;

/// The kind of a problem.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The text is not PTX.
    Invalid,
    /// The simulator does not know this.
    Unsupported,
    /// More than the simulator takes.
    Limit,
}

/// A problem of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The kind.
    pub kind: ProblemKind,
    /// The line, from 1; 0 speaks of the whole text.
    pub line: u32,
    /// The message.
    pub what: String,
}

impl Problem {
    /// The text is not PTX.
    pub fn syntax(line: u32, what: impl Into<String>) -> Problem {
        Problem {
            kind: ProblemKind::Invalid,
            line,
            what: what.into(),
        }
    }

    /// The simulator does not know this.
    pub fn unsupported(line: u32, what: impl Into<String>) -> Problem {
        Problem {
            kind: ProblemKind::Unsupported,
            line,
            what: what.into(),
        }
    }

    /// More than the simulator takes.
    pub fn limit(line: u32, what: impl Into<String>) -> Problem {
        Problem {
            kind: ProblemKind::Limit,
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.what),
            line => write!(f, "line {line}: {}", self.what),
        }
    }
}

impl std::error::Error for Problem {}

impl From<SyntaxError> for Problem {
    fn from(error: SyntaxError) -> Problem {
        Problem::syntax(error.line, error.what)
    }
}
