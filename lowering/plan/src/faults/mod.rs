//! Faults of the pinned LLVM, and the guards against them: one table, `docs/llvm.md` as text.
//! Nothing here knows LLVM; the crate splitbar-llvm has the guards.

mod guard;
#[cfg(test)]
mod page;
pub mod reports;
mod table;

pub use guard::{Guard, Guards};
pub use table::FAULTS;

/// What a fault leads to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Code with other results, silently.
    WrongCode,
    /// A crash, or code that cannot be assembled.
    Crash,
}

/// Something that the pinned LLVM does wrong. Texts are Markdown.
#[derive(Copy, Clone, Debug)]
pub struct Fault {
    /// Its name.
    pub id: &'static str,
    /// What it leads to.
    pub kind: Kind,
    /// What LLVM does.
    pub what: &'static str,
    /// The targets and levels of optimisation where it does so.
    pub on: &'static str,
    /// What splitbar does against it.
    pub cure: &'static str,
    /// The guard that does it, where tests can leave it out.
    pub guard: Option<Guard>,
    /// What the guard costs.
    pub cost: Option<&'static str>,
    /// Where LLVM's code is wrong, or where it was reported.
    pub source: Option<&'static str>,
    /// What would notice that the guard is missing.
    pub notices: &'static str,
    /// The test that fails when LLVM no longer has the fault.
    pub gone: Option<&'static str>,
}
