//! The reason why a compilation failed, and its exit code.

use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics, Kind, Severity};
use std::fmt;

/// A compilation that failed: everything that was found wrong, at least one error among it.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The problems, located and sorted; warnings of the same run included.
    pub diagnostics: Diagnostics,
}

/// Exit codes of the command line.
pub mod exit {
    /// Done.
    pub const DONE: u8 = 0;
    /// The module is invalid.
    pub const INVALID: u8 = 1;
    /// Wrong usage, or a file could not be read or written.
    pub const USAGE: u8 = 2;
    /// This target or this build cannot do it, or a limit is exceeded.
    pub const UNSUPPORTED: u8 = 3;
    /// A bug in splitbar.
    pub const BUG: u8 = 4;
}

impl Failure {
    /// The exit code of the failure. If there are problems of several kinds, the worst decides:
    /// first a bug of splitbar (4), since other problems may follow from it, then an invalid module
    /// (1), then wrong usage (2), then something unsupported (3), which may follow from the others.
    pub fn exit_code(&self) -> u8 {
        let any = |is: &dyn Fn(Code) -> bool| {
            self.diagnostics
                .iter()
                .any(|d| d.severity == Severity::Error && is(d.code))
        };
        let has = |kind: Kind| any(&|code| code.kind() == kind && !code.is_about_request());
        if has(Kind::Internal) {
            exit::BUG
        } else if has(Kind::Invalid) {
            exit::INVALID
        } else if any(&Code::is_about_request) {
            exit::USAGE
        } else if has(Kind::Unsupported) || has(Kind::Limit) {
            exit::UNSUPPORTED
        } else {
            // No error at all: only a bug can make this a failure.
            exit::BUG
        }
    }

    /// The reason why the requested strategy is not possible, if there is no other error.
    pub fn of_strategy(&self) -> Option<String> {
        let mut errors = self
            .diagnostics
            .iter()
            .filter(|problem| problem.severity == Severity::Error)
            .peekable();
        let first = *errors.peek()?;
        errors
            .all(|problem| problem.code == Code::UnsupportedStrategy)
            .then(|| first.reasons.first().unwrap_or(&first.message).clone())
    }
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Failure {
            diagnostics: diagnostics.sorted(),
        }
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Failure {
            diagnostics: diagnostic.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostics.fmt(f)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(codes: &[Code]) -> u8 {
        let mut diagnostics = Diagnostics::new();
        for code in codes {
            diagnostics.push(Diagnostic::error(*code, "x"));
        }
        Failure::from(diagnostics).exit_code()
    }

    #[test]
    fn the_worst_kind_decides() {
        assert_eq!(code_of(&[Code::UnsupportedInstruction]), exit::UNSUPPORTED);
        assert_eq!(code_of(&[Code::TooMuchSharedMemory]), exit::UNSUPPORTED);
        assert_eq!(
            code_of(&[Code::UnsupportedInstruction, Code::BadScope]),
            exit::INVALID
        );
        assert_eq!(
            code_of(&[Code::UnsupportedInstruction, Code::UnknownSpecId]),
            exit::USAGE
        );
        assert_eq!(
            code_of(&[
                Code::UnsupportedInstruction,
                Code::BadScope,
                Code::LlvmFailed
            ]),
            exit::BUG
        );
    }

    #[test]
    fn warnings_do_not_decide() {
        let mut diagnostics = Diagnostics::from(Diagnostic::warning(Code::BadScope, "x"));
        diagnostics.push(Diagnostic::error(Code::UnsupportedType, "y"));
        assert_eq!(Failure::from(diagnostics).exit_code(), exit::UNSUPPORTED);
    }
}
