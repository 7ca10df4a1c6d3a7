//! The result of splitting one barrier.

use serde::Serialize;
use splitbar_passes::module::WordOffset;

/// A barrier that was split, and where its halves came to stand; or a pair that people wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BarrierMotion {
    /// Word offset, in the module that was given, of the OpControlBarrier or of the first arrive.
    pub word: WordOffset,
    /// Instructions of SPIR-V in its window.
    pub operations: u32,
    /// True if that is enough: a pair with fewer becomes an OpControlBarrier again.
    pub split: bool,
    /// The instruction that the arrive cannot pass.
    pub arrive: String,
    /// The instruction that the wait cannot pass.
    pub wait: String,
    /// Words of all its arrives and waits, as `word`.
    #[serde(skip)]
    pub(super) words: Vec<WordOffset>,
}
