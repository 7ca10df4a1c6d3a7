//! Rules of motion that a test can leave out, to see that something notices. Builds without tests
//! have no such switch.

/// A rule of the analysis, or of a pass that moves by it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Zones reach over the window of a neighbour.
    Neighbours,
    /// A barrier orders what an OpMemoryBarrier beside it names.
    MemoryBarriers,
    /// Atomic operations may publish what others did.
    Publishes,
    /// What orders memory or execution is not passed.
    Stops,
    /// What conflicts with the other side is not passed.
    Conflicts,
    /// An arrive is added in front of a loop only where all invocations come.
    UniformFront,
    /// An instruction that moves does not pass what uses its result, or makes what it uses.
    Values,
    /// It does not pass accesses of its invocation that conflict with its own, in shared memory.
    Shared,
    /// The same in variables of the invocation.
    Own,
    /// Loads are staged only of memory that their loop leaves as it is.
    Unchanged,
    /// Staged loads stand under the condition of their iteration.
    Guarded,
    /// Staged loads stand under the conditions of the branches that lead to them.
    Arms,
}

#[cfg(test)]
thread_local! {
    static LEFT_OUT: std::cell::Cell<Option<Rule>> = const { std::cell::Cell::new(None) };
}

/// Returns true if a rule is left out.
#[cfg(test)]
pub(crate) fn is_out(rule: Rule) -> bool {
    LEFT_OUT.get() == Some(rule)
}

/// Returns true if a rule is left out: never.
#[cfg(not(test))]
pub(crate) const fn is_out(_: Rule) -> bool {
    false
}

/// Runs `body` without a rule.
#[cfg(test)]
pub(crate) fn without<T>(rule: Rule, body: impl FnOnce() -> T) -> T {
    LEFT_OUT.set(Some(rule));
    let result = body();
    LEFT_OUT.set(None);
    result
}
