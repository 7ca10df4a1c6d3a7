//! Faults of the pinned LLVM, and the guards against them: one table, `docs/llvm.md` as text.
//! Nothing here knows LLVM; the crate splitbar-llvm has the guards.

mod guard;
#[cfg(test)]
mod page;
pub mod reports;
mod table;

pub use guard::{Guard, Guards};
pub use table::FAULTS;

/// The effect of a fault.
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
    /// Its effect.
    pub kind: Kind,
    /// The wrong behaviour of LLVM.
    pub what: &'static str,
    /// The targets and levels of optimisation where it does so.
    pub on: &'static str,
    /// The countermeasure of splitbar.
    pub cure: &'static str,
    /// The guard that does it, where tests can leave it out.
    pub guard: Option<Guard>,
    /// The cost of the guard.
    pub cost: Option<&'static str>,
    /// The place of the error in LLVM's code, or the report of it.
    pub source: Option<&'static str>,
    /// The check that fails without the guard.
    pub notices: &'static str,
    /// The test that fails when LLVM no longer has the fault.
    pub gone: Option<&'static str>,
}
