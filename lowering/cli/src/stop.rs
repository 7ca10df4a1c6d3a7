//! Why a command did not do what it was asked to.

use splitbar::diagnostic::{Diagnostic, Diagnostics};
use splitbar::simulate::Refusal;
use splitbar::{Failure, exit};

/// The exit code of all whose codes are `codes`: that of the one for which most would have to be
/// done.
pub(super) fn worst(codes: impl Iterator<Item = u8>) -> u8 {
    /// The worst first, as [`splitbar::Failure::exit_code`] has it.
    const ORDER: [u8; 4] = [exit::BUG, exit::INVALID, exit::USAGE, exit::UNSUPPORTED];
    let codes: Vec<u8> = codes.collect();
    let worst = ORDER.into_iter().find(|code| codes.contains(code));
    worst.unwrap_or(exit::DONE)
}

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
