//! Diagnostics for bugs of splitbar.

use crate::failure::Failure;
use crate::options::Options;
use splitbar_passes::diagnostic::{Code, Diagnostic};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The help text for a bug.
pub(crate) const REPORT: &str = concat!(
    "this is a bug in splitbar ",
    env!("CARGO_PKG_VERSION"),
    ": please report it with the module and the command line"
);

/// The diagnostic for a bug.
pub(crate) fn internal(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::Internal, message).help(REPORT)
}

/// Runs `work` and turns a panic into a diagnostic: the caller's process goes on.
///
/// # Errors
/// Those of `work`; `Internal` after a panic.
pub(crate) fn guarded<R>(
    options: &Options,
    work: impl FnOnce() -> Result<R, Failure>,
) -> Result<R, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let payload = payload.as_ref();
        let words = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("it left no message");
        let target = options.target.name;
        Err(internal(format!("a panic while compiling for {target}"))
            .because(words)
            .into())
    })
}
