//! The memory that an instruction may access. Each front end says it beside its decoded
//! instructions; with debug assertions an estimate of time compares what every step touches.

use crate::memory::Space;

/// The memory that an instruction may read and may write. Memory of one thread alone (private or
/// local memory, parameters) is not listed.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// Memory that it reads.
    pub reads: &'static [Space],
    /// Memory that it writes.
    pub writes: &'static [Space],
}

impl Accesses {
    /// Either memory, as an address without a state space means it.
    pub(crate) const ANY: &'static [Space] = &[Space::Global, Space::Shared];
    /// Global memory.
    pub(crate) const GLOBAL: &'static [Space] = &[Space::Global];
    /// Shared memory.
    pub(crate) const SHARED: &'static [Space] = &[Space::Shared];

    /// No memory.
    pub(crate) const NONE: Accesses = Accesses::analyze(&[], &[]);

    /// Reads and writes.
    pub(crate) const fn analyze(reads: &'static [Space], writes: &'static [Space]) -> Accesses {
        Accesses { reads, writes }
    }

    /// Returns true if an access of `space` is listed.
    pub(crate) fn covers(self, space: Space, write: bool) -> bool {
        if write {
            self.writes.contains(&space)
        } else {
            self.reads.contains(&space)
        }
    }
}
