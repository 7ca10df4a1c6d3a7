//! The state of a walk that builds the values of a function.

use super::super::Branch;
use super::super::graph::{Graph, NodeId};
use super::super::promoted::Promoted;
use super::super::quiet::Quiet;
use super::calls::Calls;
use super::input::Input;
use crate::analysis::cfg::Cfg;
use crate::analysis::dominance::PostDominators;
use crate::module::{BlockIndex, BlockMap, Id};
use std::collections::HashMap;

pub(super) struct Builder<'b, 'm> {
    pub(super) input: Input<'b, 'm>,
    pub(super) cfg: Cfg,
    pub(super) post: PostDominators,
    pub(super) graph: Graph,
    pub(super) values: HashMap<Id, NodeId>, // looked up, never iterated
    pub(super) promoted: Promoted,
    /// Value of each promoted variable at the place that is being read.
    pub(super) current: Vec<NodeId>,
    pub(super) quiet: Quiet,
    pub(super) at: BlockIndex,
    pub(super) phis: BlockMap<Vec<NodeId>>,
    pub(super) variable_phis: BlockMap<Vec<(usize, NodeId)>>,
    pub(super) branches: BlockMap<Branch>,
    pub(super) computed: BlockMap<Vec<NodeId>>,
    pub(super) calls: Calls,
}

pub(super) type Undo = Vec<(usize, NodeId)>;
