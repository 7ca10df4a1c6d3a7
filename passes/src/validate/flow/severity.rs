//! The severity of a rule that may be broken.

use crate::diagnostic::{Diagnostic, Severity};

/// What a rule says, by verdict.
pub(crate) fn severity(diagnostic: Diagnostic, refuted: bool, strict: bool) -> Diagnostic {
    Diagnostic {
        severity: if refuted || strict {
            Severity::Error
        } else {
            Severity::Warning
        },
        ..diagnostic
    }
}
