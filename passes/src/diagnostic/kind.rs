//! The kinds of diagnostics.

/// The kind of a code, which determines the exit code of the tools.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The module breaks a rule of SPIR-V or of its client API.
    Invalid,
    /// The module is right, this target or this build cannot do it.
    Unsupported,
    /// A documented limit is exceeded.
    Limit,
    /// A bug in splitbar; asks for a report.
    Internal,
}
