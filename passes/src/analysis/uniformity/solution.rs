//! The uniform values and blocks of a function, and the causes for the others.

use super::graph::{NodeId, NodeMap};
use crate::module::{BlockIndex, BlockMap};

/// Why something is not uniform.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The value itself is from a source that gives each invocation its own.
    Source,
    /// It is computed from this value.
    Value(NodeId),
    /// The branch at the end of this block, whose condition is not uniform, decides.
    Branch(BlockIndex),
    /// The function is larger than the analysis takes.
    TooLarge,
}

/// The uniformity of the values and blocks of a function.
#[derive(Clone, Debug)]
pub struct Uniformity {
    pub(super) values: NodeMap<Option<Cause>>,
    pub(super) blocks: BlockMap<Option<Cause>>,
}

impl Uniformity {
    /// Why `value` is not uniform; `None` when it is.
    pub fn value(&self, value: NodeId) -> Option<Cause> {
        self.values.get(value).copied().flatten()
    }

    /// Why `block` is not executed by all invocations alike; `None` when it is.
    pub fn block(&self, block: BlockIndex) -> Option<Cause> {
        self.blocks.get(block).copied().flatten()
    }
}
