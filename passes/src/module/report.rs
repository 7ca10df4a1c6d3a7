//! Collects the problems of one stage, and stops at a number that a person can read.

use crate::diagnostic::{Diagnostic, Diagnostics, Severity};

/// Problems that one stage of one run reports at the most: a file of noise has one in every
/// instruction.
pub(crate) const MOST_PROBLEMS: usize = 100;

/// Where one stage puts its problems.
pub(crate) struct Report<'d> {
    diagnostics: &'d mut Diagnostics,
    left: usize,
}

impl<'d> Report<'d> {
    pub(crate) fn new(diagnostics: &'d mut Diagnostics) -> Self {
        Report {
            diagnostics,
            left: MOST_PROBLEMS,
        }
    }

    /// Adds one; the last one that fits is followed by a note that says so, later ones are dropped.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        let Some(left) = self.left.checked_sub(1) else {
            return;
        };
        self.left = left;
        let rest = (left == 0).then(|| Diagnostic {
            severity: Severity::Note,
            message: format!("{MOST_PROBLEMS} problems are shown, there may be more"),
            reasons: Vec::new(),
            help: None,
            ..diagnostic.clone()
        });
        self.diagnostics.push(diagnostic);
        rest.into_iter()
            .for_each(|note| self.diagnostics.push(note));
    }

    /// Returns true if nothing more fits.
    pub(crate) fn is_full(&self) -> bool {
        self.left == 0
    }
}
