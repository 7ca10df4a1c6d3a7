//! Uniformity analysis: the values and blocks that are uniform in a workgroup or in a subgroup.
//!
//! Values are followed through the graph of [`graph`], control through the regions of [`regions`]:
//! a branch on a value that is not uniform makes the blocks up to the place where its ways meet
//! non-uniform, and the phis there. Each verdict has a reason, and reasons chain down to a built-in
//! or a load.
//!
//! Relaxed assumptions, each granted: no data races and no overlap of memory objects ([`memory`]);
//! invocations meet again at the post-dominator of a branch ([`regions`]); a loop that can end does
//! end.

pub(in crate::analysis) mod arithmetic;
mod build;
mod control;
mod divergence;
pub mod graph;
pub mod lanes;
mod level;
pub mod memory;
mod model;
mod promote;
mod promoted;
mod quiet;
pub mod regions;
mod slice;
mod solution;
mod strides;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod width;

pub use level::Level;
pub use model::{Branch, Model};
pub use solution::{Cause, Uniformity};
use width::scalar_width;

use crate::analysis::cfg::Cfg;
use crate::analysis::dominance::PostDominators;
use crate::module::{BlockIndex, BlockMap, Constants, Declarations, Function, Id};
use graph::{Graph, NodeId, Op};
use lanes::Lanes;
use memory::Memory;
use promote::Variables;
use slice::Slice;
pub use slice::SlicingCriterion;
use std::collections::HashMap;

/// How often a function is looked at again because branches of it turned out to go one way.
const MOST_ROUNDS: usize = 4;

impl Model {
    /// The model of `function`, whose control flow is `cfg`, with what decides about the execution
    /// of `places` (blocks): other branches have no condition.
    ///
    /// `size` is the size of the workgroup, where it is fixed: with it, branches on constants and
    /// on the ids inside of the workgroup that go one way for all invocations lose their other way.
    pub fn analyze(
        declarations: &Declarations<'_>,
        constants: &Constants,
        memory: &Memory,
        function: &Function<'_>,
        size: Option<[u32; 3]>,
        cfg: Cfg,
        places: &[BlockIndex],
    ) -> Model {
        Model::with_values(
            declarations,
            constants,
            memory,
            function,
            size,
            cfg,
            SlicingCriterion {
                places,
                values: &[],
            },
        )
    }

    /// As [`Model::analyze`], with the values of some ids as well ([`Model::value`]).
    pub fn with_values(
        declarations: &Declarations<'_>,
        constants: &Constants,
        memory: &Memory,
        function: &Function<'_>,
        size: Option<[u32; 3]>,
        cfg: Cfg,
        asked: SlicingCriterion<'_>,
    ) -> Model {
        let post = PostDominators::analyze(&cfg);
        let variables = Variables::analyze(declarations, memory, function);
        let slice = Slice::analyze(
            declarations,
            memory,
            function,
            &variables,
            &cfg,
            &post,
            asked,
        );
        if slice.is_empty() && asked.values.is_empty() {
            return Model::without_branches(cfg, post);
        }
        let without_offset = !declarations.has_capability(spirv::Capability::Kernel);
        let input = build::Input {
            declarations,
            constants,
            memory,
            function,
            variables: &variables,
            slice: &slice,
            size,
        };
        let mut model = build::build(input, cfg, post);
        for _ in 0..MOST_ROUNDS {
            let decided = model.decided(size);
            if decided.values().all(Option::is_none) {
                break;
            }
            let cfg = model
                .cfg
                .restricted(|from, to| decided[from].is_none_or(|target| target == to));
            let post = PostDominators::analyze(&cfg);
            model = build::build(input, cfg, post);
        }
        Model {
            without_offset,
            ..model
        }
    }

    fn without_branches(cfg: Cfg, post: PostDominators) -> Model {
        let len = cfg.len();
        Model {
            cfg,
            post,
            graph: Graph::default(),
            phis: BlockMap::filled(len, Vec::new()),
            branches: BlockMap::filled(len, Branch::None),
            without_offset: false,
            computed: BlockMap::filled(len, Vec::new()),
            values: HashMap::new(),
        }
    }

    /// The node of the value `id`; `None` when the model was not built for it, and for what the
    /// function does not compute.
    pub fn value(&self, id: Id) -> Option<NodeId> {
        self.values.get(&id).copied()
    }

    /// The value that decides at the end of `block`, if one was asked about.
    pub fn condition(&self, block: BlockIndex) -> Option<NodeId> {
        self.branches.get(block)?.condition()
    }

    /// For each block with more than one successor: the one that all invocations take, if that is
    /// known.
    fn decided(&self, size: Option<[u32; 3]>) -> BlockMap<Option<BlockIndex>> {
        let mut lanes = Lanes::from_size(size);
        let decide = |(block, branch): (BlockIndex, &Branch)| {
            if self.cfg.succs(block).len() < 2 {
                return None;
            }
            let condition = branch.condition()?;
            let value = match self.graph.node(condition).op {
                Op::Number(value) => value,
                _ => lanes.same_for_all(&self.graph, condition)?,
            };
            branch.target(value)
        };
        self.branches.iter().map(decide).collect()
    }
}
