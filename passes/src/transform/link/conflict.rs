//! Diagnostics about modules that cannot be linked.

use crate::diagnostic::{Code, Diagnostic};

/// A `LinkConflict`.
pub(super) fn conflict(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::LinkConflict, message)
}
