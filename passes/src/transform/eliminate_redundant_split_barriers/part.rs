//! The parts of a block that matter to its barriers.

use super::super::operands::Fence;
use crate::module::WordOffset;

/// A barrier of one scope.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Barrier {
    /// Word offsets of its instructions: first and last, the same for OpControlBarrier.
    pub(super) first: WordOffset,
    pub(super) last: WordOffset,
    pub(super) release: Fence,
    pub(super) acquire: Fence,
    /// Bits that nothing weaker stands for.
    pub(super) strict: u32,
    /// Nothing that can be seen is in its window.
    pub(super) is_whole: bool,
}

impl Barrier {
    pub(super) fn covers(&self, other: &Barrier) -> bool {
        self.is_whole
            && self.release.covers(other.release)
            && self.acquire.covers(other.acquire)
            && other.strict & !self.strict == 0
    }
}

/// A block as one scope sees it.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Barrier(Barrier),
    /// Something that can be seen.
    Seen,
}
