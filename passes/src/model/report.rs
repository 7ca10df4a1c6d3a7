//! The result of a search.

use super::trace::Trace;
use super::verdict::Verdict;
use std::fmt;

/// The verdict, how much was looked at, and the way to what goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// States that were told apart.
    pub states: usize,
    /// Steps between them.
    pub steps: usize,
    /// For a refutation, a shortest way to it.
    pub trace: Option<Trace>,
}

impl Report {
    pub(super) fn without_trace(verdict: Verdict) -> Report {
        Report {
            verdict,
            states: 0,
            steps: 0,
            trace: None,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} ({} states, {} steps)",
            self.verdict, self.states, self.steps
        )?;
        match &self.trace {
            Some(trace) => trace.fmt(f),
            None => Ok(()),
        }
    }
}
