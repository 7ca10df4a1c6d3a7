//! What is said of modules that do not fit together.

use crate::diagnostic::{Code, Diagnostic};

/// A `LinkConflict`.
pub(super) fn conflict(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::LinkConflict, message)
}
