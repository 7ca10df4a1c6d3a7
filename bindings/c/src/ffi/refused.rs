//! The reasons for which a call has no result.

use splitbar::Failure;
use splitbar::diagnostic::{Code, Diagnostic, Diagnostics};

/// The reason why a call has no result.
pub(super) struct Refused(pub(super) Failure);

impl Refused {
    /// The caller is wrong.
    pub(super) fn usage(text: String) -> Refused {
        Refused(Diagnostic::error(Code::WrongUsage, text).into())
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Refused {
        Refused(failure)
    }
}

impl From<Diagnostics> for Refused {
    fn from(diagnostics: Diagnostics) -> Refused {
        Refused(diagnostics.into())
    }
}
