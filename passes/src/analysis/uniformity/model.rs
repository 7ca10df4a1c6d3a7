//! The values and the control flow of one function.

use super::graph::{Graph, NodeId};
use crate::analysis::cfg::Cfg;
use crate::analysis::dominance::PostDominators;
use crate::module::{BlockIndex, BlockMap, Id};
use std::collections::HashMap;

/// The terminator of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Branch {
    /// With one successor or none, or with a branch that was not asked about.
    #[default]
    None,
    /// OpBranchConditional.
    If {
        /// The condition.
        condition: NodeId,
        /// Where to when it is true.
        yes: BlockIndex,
        /// Where to when it is false.
        no: BlockIndex,
    },
    /// OpSwitch.
    Switch {
        /// The selector.
        selector: NodeId,
        /// A condition that is true when the case is taken, the literal, and where to.
        cases: Vec<(NodeId, u64, BlockIndex)>,
        /// Where to when none is.
        default: BlockIndex,
    },
}

impl Branch {
    /// The value that decides.
    pub fn condition(&self) -> Option<NodeId> {
        match self {
            Branch::None => None,
            Branch::If { condition, .. } => Some(*condition),
            Branch::Switch { selector, .. } => Some(*selector),
        }
    }

    /// The target for a value of the condition.
    pub fn target(&self, value: u64) -> Option<BlockIndex> {
        match self {
            Branch::None => None,
            Branch::If { yes, no, .. } => Some(if value != 0 { *yes } else { *no }),
            Branch::Switch { cases, default, .. } => Some(
                cases
                    .iter()
                    .find(|(_, literal, _)| *literal == value)
                    .map_or(*default, |(_, _, to)| *to),
            ),
        }
    }
}

/// The values and the control flow of one function.
#[derive(Clone, Debug)]
pub struct Model {
    /// Control flow, without the edges that no invocation takes.
    pub cfg: Cfg,
    /// Its post-dominators.
    pub post: PostDominators,
    /// Values.
    pub graph: Graph,
    /// Phis of each block.
    pub phis: BlockMap<Vec<NodeId>>,
    /// The terminator of each block.
    pub branches: BlockMap<Branch>,
    /// True if GlobalInvocationId is counted from 0: kernels may be enqueued with an offset.
    pub without_offset: bool,
    /// Values that each block computes, in order.
    pub computed: BlockMap<Vec<NodeId>>,
    /// The nodes of the values that it was built for, and of those that they are computed from;
    /// looked up, never iterated.
    pub(super) values: HashMap<Id, NodeId>,
}
