//! Why a version of a module was taken.

/// Why a version of a module was taken, with the cycles that versions are expected to take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reasons {
    /// Why the loops are pipelined or not; `None` unless the options left that open.
    pub loops: Option<String>,
    /// Why the barriers have their strategy; `None` unless a launch decided among all strategies.
    pub strategy: Option<String>,
}
