//! A mutant, and its possible fates.

/// The fate of a mutant.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    /// Noticed: the simulator has a finding.
    Finding,
    /// Noticed: the content of a buffer differs from the host reference.
    WrongResult,
    /// Noticed: at a barrier an operation may be outstanding that the plan requires to be finished.
    Audit,
    /// Noticed: some interleaving of the waves is wrong.
    Explorer,
    /// Equivalent: no launch of the suite executes the instruction.
    NotExecuted,
    /// Equivalent: in every execution the wait retires nothing, or no wave acquires anything
    /// through the fence.
    Idle,
    /// Equivalent: in every execution other waits retire the same operations before they are used
    /// and before the wave tells others of them.
    MadeUpFor,
    /// Equivalent: the machine code is the same without it.
    SameCode,
    /// Equivalent: in every execution without it, other barriers separate all conflicting accesses
    /// of different waves (of different lanes, on NVIDIA).
    Separated,
    /// Not noticed.
    Survives,
}

/// A mutant and its fate.
pub(crate) struct Mutant {
    /// The kernel.
    pub kernel: String,
    /// The removed part.
    pub what: String,
    /// Its fate.
    pub fate: Fate,
}
