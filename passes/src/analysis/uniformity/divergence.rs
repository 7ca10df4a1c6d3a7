//! The solution for one level: what is not uniform, and why.

use super::graph::{NodeId, NodeMap, Op, Source};
use super::level::Level;
use super::level::is_uniform_input;
use super::regions::Regions;
use super::solution::{Cause, Uniformity};
use super::strides::{self, Ids};
use super::{Model, lanes};
use crate::module::{BlockIndex, BlockMap, Scope};

/// How often the function is solved again because values turned out to be the same by their
/// strides.
const MOST_ROUNDS: usize = 4;

/// Bound on the blocks of all regions together, times the blocks of the function, with a least one.
const REGIONS_PER_BLOCK: usize = 64;
const LEAST_REGIONS: usize = 1 << 16;

impl Uniformity {
    /// The uniformity of a function that all invocations enter together.
    pub fn analyze(model: &Model, level: Level, size: Option<[u32; 3]>) -> Uniformity {
        if size.and_then(lanes::count) == Some(1) {
            return Uniformity {
                values: NodeMap::filled(model.graph.nodes().len(), None),
                blocks: BlockMap::filled(model.cfg.len(), None),
            };
        }
        let mut same = NodeMap::filled(model.graph.nodes().len(), false);
        let mut solution = Uniformity::with(model, level, &same);
        let Some(size) = size else {
            return solution;
        };
        let ids = Ids {
            size,
            without_offset: model.without_offset,
        };
        // What one round proves holds in the next one, which can prove more.
        for _ in 0..MOST_ROUNDS {
            let found = strides::same_for_all(&model.graph, &solution, ids);
            if !found.values().any(|same| *same) {
                break;
            }
            for (same, found) in same.values_mut().zip(found.into_values()) {
                *same |= found;
            }
            solution = Uniformity::with(model, level, &same);
        }
        solution
    }

    /// The solution in which the nodes of `same` are uniform whatever they are computed from.
    fn with(model: &Model, level: Level, same: &NodeMap<bool>) -> Uniformity {
        let blocks = model.cfg.len();
        let mut solver = Solver {
            model,
            level,
            same,
            solution: Uniformity {
                values: NodeMap::filled(model.graph.nodes().len(), None),
                blocks: BlockMap::filled(blocks, None),
            },
            users: users(model),
            decides: NodeMap::filled(model.graph.nodes().len(), Vec::new()),
            leaves: BlockMap::filled(blocks, Vec::new()),
            regions: Regions::analyze(
                &model.cfg,
                &model.post,
                LEAST_REGIONS.max(REGIONS_PER_BLOCK * blocks),
            ),
            ends: BlockMap::filled(blocks, None),
            work: Vec::new(),
        };
        solver.run();
        solver.solution
    }
}

/// By node: the nodes computed from it.
fn users(model: &Model) -> NodeMap<Vec<NodeId>> {
    let mut users = NodeMap::filled(model.graph.nodes().len(), Vec::new());
    for (id, node) in model.graph.nodes().iter() {
        for arg in &node.args {
            users[*arg].push(id);
        }
    }
    users
}

struct Solver<'s> {
    model: &'s Model,
    level: Level,
    same: &'s NodeMap<bool>,
    solution: Uniformity,
    users: NodeMap<Vec<NodeId>>,
    /// By node: blocks whose branch it decides.
    decides: NodeMap<Vec<BlockIndex>>,
    /// By block: its leaves and phis.
    leaves: BlockMap<Vec<NodeId>>,
    regions: Regions<'s>,
    /// By non-uniform block: where the region that made it so ends.
    ends: BlockMap<Option<Option<BlockIndex>>>,
    work: Vec<NodeId>,
}

impl Solver<'_> {
    fn run(&mut self) {
        for (block, branch) in self.model.branches.iter() {
            if let Some(condition) = branch.condition()
                && self.model.cfg.succs(block).len() > 1
            {
                self.decides[condition].push(block);
            }
        }
        for (id, node) in self.model.graph.nodes().iter() {
            if let Some(block) = node.block {
                self.leaves[block].push(id);
            }
        }
        for (id, node) in self.model.graph.nodes().iter() {
            if !is_uniform_source(&node.op, self.level) {
                self.mark(id, Cause::Source);
            }
        }
        while let Some(value) = self.work.pop() {
            for user in std::mem::take(&mut self.users[value]) {
                if !hides_arguments(&self.model.graph.node(user).op) && !self.same[user] {
                    self.mark(user, Cause::Value(value));
                }
            }
            for block in std::mem::take(&mut self.decides[value]) {
                self.split(block);
            }
        }
    }

    fn mark(&mut self, value: NodeId, cause: Cause) {
        let slot = &mut self.solution.values[value];
        if slot.is_none() {
            *slot = Some(cause);
            self.work.push(value);
        }
    }

    fn mark_block(&mut self, block: BlockIndex, cause: Cause) {
        if self.solution.blocks[block].is_some() {
            return;
        }
        self.solution.blocks[block] = Some(cause);
        for leaf in self.leaves[block].clone() {
            self.mark(leaf, cause);
        }
    }

    /// Invocations go different ways at the end of `block`.
    fn split(&mut self, block: BlockIndex) {
        if self.solution.blocks[block].is_some() {
            return; // the region that it lies in holds its own, and what meets at the end of it
        }
        let ends = &self.ends;
        let Some(region) = self
            .regions
            .region_skipping(&self.model.cfg, block, |at| ends[at])
        else {
            for block in self.model.cfg.blocks() {
                self.mark_block(block, Cause::TooLarge);
            }
            return;
        };
        let cause = Cause::Branch(block);
        for inside in &region.blocks {
            self.ends[*inside] = Some(region.end);
        }
        let repeats = region.blocks.contains(&block);
        for inside in region.blocks {
            self.mark_block(inside, cause);
        }
        let Some(end) = region.end else { return };
        let ways = self
            .model
            .cfg
            .preds(end)
            .iter()
            .filter(|pred| **pred == block || self.solution.blocks[**pred].is_some())
            .count();
        if ways < 2 && !repeats {
            return;
        }
        for phi in self.model.phis[end].clone() {
            let node = self.model.graph.node(phi);
            let same = node
                .args
                .windows(2)
                .all(|pair| matches!(pair, [a, b] if a == b));
            if repeats || !same {
                self.mark(phi, cause);
            }
        }
    }
}

/// Returns true if non-uniform arguments say nothing about the result: it is the same for the scope
/// by what the instruction does.
fn hides_arguments(op: &Op) -> bool {
    matches!(op, Op::Leaf(Source::Group(_)))
}

/// Returns true if a node with uniform arguments is uniform, where control is.
fn is_uniform_source(op: &Op, level: Level) -> bool {
    match op {
        Op::Number(_)
        | Op::Constant(_)
        | Op::Variable(_)
        | Op::Pure(..)
        | Op::Extract(_)
        | Op::Insert(_)
        | Op::Composite
        | Op::Constantly
        | Op::Call(..)
        | Op::Phi => true,
        Op::Input(built_in, _) => is_uniform_input(*built_in, level),
        Op::Leaf(source) => match source {
            Source::Parameter | Source::QuietWorkgroup(_) => true,
            Source::Group(scope) => match (scope, level) {
                (Some(Scope::Workgroup), _) | (Some(Scope::Subgroup), Level::Subgroup) => true,
                _ => false, // each subgroup or each invocation has its own
            },
            Source::Workgroup(_)
            | Source::Memory(_)
            | Source::Atomic
            | Source::Call(_)
            | Source::Undefined
            | Source::Other(_) => false,
        },
    }
}
