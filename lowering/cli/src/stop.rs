//! Why a command did not do what it was asked to.

use splitbar::Failure;
use splitbar::diagnostic::{Diagnostic, Diagnostics};
use splitbar::simulate::Refusal;

/// What stopped it.
pub(super) enum Stop {
    /// Something about the module, the target or this build.
    Problems(Failure),
    /// Something about the command line or the files.
    Usage(String),
}

impl From<String> for Stop {
    fn from(text: String) -> Self {
        Stop::Usage(text)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Stop::Problems(failure)
    }
}

impl From<Diagnostics> for Stop {
    fn from(problems: Diagnostics) -> Self {
        Stop::Problems(problems.into())
    }
}

impl From<Diagnostic> for Stop {
    fn from(problem: Diagnostic) -> Self {
        Stop::Problems(problem.into())
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Code(problems) => problems.into(),
            launch => Stop::Usage(launch.to_string()),
        }
    }
}
