//! Copies that write zeros instead of their source.

use crate::module::WordOffset;

/// Where a copy takes zeros and not what its load reads: `tile[l] = g < n ? source[g] : 0`.
/// Nowhere, unless something is said here.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Zeros {
    /// Where control has come to the store without the load. That stands in a block from which the
    /// only way leads to the store.
    pub by_branch: bool,
    /// Where an OpSelect between load and store does not take what was loaded.
    pub by_select: Option<Choice>,
}

/// An OpSelect between a loaded value and zero, by a scalar condition.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Choice {
    /// Its word offset. It stands in the block of the store.
    pub select: WordOffset,
    /// The condition with which it takes what was loaded.
    pub when: bool,
}

impl Zeros {
    /// Where control comes another way.
    pub const BY_BRANCH: Zeros = Zeros {
        by_branch: true,
        by_select: None,
    };

    /// Whether there are any.
    pub fn any(self) -> bool {
        self.by_branch || self.by_select.is_some()
    }

    /// Zeros in both places; `None` with two selections.
    pub(super) fn and(self, other: Zeros) -> Option<Zeros> {
        let by_select = match (self.by_select, other.by_select) {
            (Some(_), Some(_)) => return None,
            (one, other) => one.or(other),
        };
        Some(Zeros {
            by_branch: self.by_branch || other.by_branch,
            by_select,
        })
    }
}
