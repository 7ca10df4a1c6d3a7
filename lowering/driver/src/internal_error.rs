//! What is said of our own bugs.

use crate::failure::Failure;
use crate::options::Options;
use splitbar_passes::diagnostic::{Code, Diagnostic};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What to do about a bug of ours.
pub(crate) const REPORT: &str = concat!(
    "this is a bug in splitbar ",
    env!("CARGO_PKG_VERSION"),
    ": please report it with the module and the command line"
);

/// A bug of ours, in words.
pub(crate) fn internal(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::Internal, message).help(REPORT)
}

/// Runs `work`. A panic below is a bug of ours, and the caller's process is not ours to end.
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
