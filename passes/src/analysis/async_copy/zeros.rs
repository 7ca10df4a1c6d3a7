//! Copies that write zeros instead of their source.

use crate::module::WordOffset;

/// The conditions under which a copy writes zeros instead of the loaded value, as in `tile[l] = g <
/// n ? source[g] : 0`. The default is never.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Zeros {
    /// True if control can reach the store without the load. The only successor of the load's block
    /// leads to the store.
    pub by_branch: bool,
    /// The OpSelect between load and store that can choose zeros, if there is one.
    pub by_select: Option<Choice>,
}

/// An OpSelect between a loaded value and zero, by a scalar condition.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Choice {
    /// Its word offset. It is in the block of the store.
    pub select: WordOffset,
    /// The condition with which it takes what was loaded.
    pub when: bool,
}

impl Zeros {
    /// Zeros on the paths to the store without the load.
    pub const BY_BRANCH: Zeros = Zeros {
        by_branch: true,
        by_select: None,
    };

    /// Returns true if there are any.
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
