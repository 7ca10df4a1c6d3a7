//! From the instructions of a function to its [`Graph`]: variables of class Function and Private
//! become values.
//!
//! A walk over the dominator tree, so that what a block computes is known before what it dominates,
//! with the values of the followed variables at the place that is being read.

mod branch;
mod builder;
mod calls;
mod expressions;
mod follow;
mod input;
mod values;
mod variables;

use super::graph::{Graph, NodeId, Source};
use super::promoted::Promoted;
use super::quiet::Quiet;
use super::{Branch, Model};
use crate::analysis::cfg::Cfg;
use crate::analysis::dominance::{Dominators, PostDominators};
use crate::module::{BlockIndex, BlockMap, Id, WordOffset};
use builder::{Builder, Undo};
pub(super) use input::Input;
use std::collections::{BTreeSet, HashMap};

/// Most indices of one address.
const MOST_INDICES: usize = 64;
/// Largest composite that is taken apart.
const MOST_PARTS: usize = 16;

/// Builds the values of a function over `cfg`, which may be without branches that are never taken.
pub(super) fn build(input: Input<'_, '_>, cfg: Cfg, post: PostDominators) -> Model {
    let dominators = Dominators::analyze(&cfg);
    let promoted = Promoted::analyze(&input, &cfg, &dominators);
    let mut children = BlockMap::filled(cfg.len(), Vec::new());
    for block in cfg.reverse_postorder() {
        if let Some(above) = dominators.immediate(*block) {
            children[above].push(*block);
        }
    }
    let quiet = if input.slice.loads_workgroup {
        Quiet::analyze(input.declarations, input.memory, input.function, &cfg)
    } else {
        Quiet::default()
    };
    let len = cfg.len();
    let mut builder = Builder {
        input,
        graph: Graph::default(),
        values: HashMap::new(),
        current: Vec::new(),
        quiet,
        at: BlockIndex::ENTRY,
        phis: BlockMap::filled(len, Vec::new()),
        variable_phis: BlockMap::filled(len, Vec::new()),
        branches: BlockMap::filled(len, Branch::None),
        computed: BlockMap::filled(len, Vec::new()),
        calls: calls::Calls::default(),
        promoted,
        cfg,
        post,
    };
    builder.start();
    enum Step {
        Enter(BlockIndex),
        Leave(Vec<(usize, NodeId)>),
    }
    let mut steps = if len > 0 {
        vec![Step::Enter(BlockIndex::ENTRY)]
    } else {
        Vec::new()
    };
    while let Some(step) = steps.pop() {
        match step {
            Step::Enter(block) => {
                let undo = builder.block(block);
                steps.push(Step::Leave(undo));
                steps.extend(
                    children[block]
                        .iter()
                        .rev()
                        .map(|child| Step::Enter(*child)),
                );
            }
            Step::Leave(undo) => {
                for (variable, value) in undo.into_iter().rev() {
                    builder.current[variable] = value;
                }
            }
        }
    }
    builder.finish()
}

impl<'m> Builder<'_, 'm> {
    fn start(&mut self) {
        for (id, _) in &self.input.function.params {
            let width = self.width_of_value(*id);
            let node = self
                .graph
                .leaf(Source::Parameter, Vec::new(), width, BlockIndex::ENTRY);
            self.values.insert(*id, node);
        }
        for index in 0..self.promoted.variables.len() {
            let variable = self.promoted.variables[index];
            let inst = self.input.declarations.module.def(variable);
            self.graph.at = inst.map_or(WordOffset::default(), |inst| inst.offset);
            let initial = match inst.and_then(|inst| inst.operands().get(1).copied()) {
                Some(initializer) => self.value(Id(initializer)),
                None => self
                    .graph
                    .leaf(Source::Undefined, Vec::new(), 0, BlockIndex::ENTRY),
            };
            self.current.push(initial);
        }
        // Phis exist before anything names them.
        for block in self.cfg.reverse_postorder().to_vec() {
            for variable in self.promoted.phis[block].clone() {
                self.graph.at = self
                    .promoted
                    .variables
                    .get(variable)
                    .and_then(|id| self.input.declarations.module.def(*id))
                    .map_or(WordOffset::default(), |inst| inst.offset);
                let width = self.promoted.widths[variable];
                let phi = self.graph.phi(width, block);
                self.phis[block].push(phi);
                self.variable_phis[block].push((variable, phi));
            }
            let input = self.input;
            for inst in input.slice.blocks.get(block).into_iter().flatten() {
                if inst.op() == Some(spirv::Op::Phi)
                    && let Some(id) = inst.result()
                {
                    self.graph.at = inst.offset;
                    let width = self.width_of_value(id);
                    let phi = self.graph.phi(width, block);
                    self.phis[block].push(phi);
                    self.values.insert(id, phi);
                }
            }
        }
    }

    /// Reads a block; what to put back into `current` when the blocks under it are done.
    fn block(&mut self, block: BlockIndex) -> Undo {
        self.at = block;
        self.graph.asked.clear();
        let mut undo = Vec::new();
        for (variable, phi) in self.variable_phis[block].clone() {
            self.assign(variable, phi, &mut undo);
        }
        let input = self.input;
        self.quiet.enter(block);
        for inst in input.slice.blocks.get(block).into_iter().flatten() {
            self.graph.at = inst.offset;
            self.inst(*inst, &mut undo);
        }
        if input.slice.branches.get(block) == Some(&true)
            && let Some(end) = input
                .function
                .block(block)
                .and_then(|code| code.terminator())
        {
            self.graph.at = end.offset;
            self.branches[block] = self.branch(end);
        }
        for succ in self.cfg.succs(block).to_vec() {
            for (variable, phi) in self.variable_phis[succ].clone() {
                self.graph.add_incoming(phi, block, self.current[variable]);
            }
        }
        self.computed[block] = std::mem::take(&mut self.graph.asked);
        undo
    }

    fn assign(&mut self, variable: usize, value: NodeId, undo: &mut Undo) {
        undo.push((variable, self.current[variable]));
        self.current[variable] = value;
    }

    fn finish(mut self) -> Model {
        for block in self.cfg.reverse_postorder().to_vec() {
            let input = self.input;
            for inst in input.slice.blocks.get(block).into_iter().flatten() {
                if inst.op() != Some(spirv::Op::Phi) {
                    continue;
                }
                let Some(phi) = inst.result().and_then(|id| self.values.get(&id).copied()) else {
                    continue;
                };
                let mut named = BTreeSet::new();
                for pair in inst.operands().chunks_exact(2) {
                    let [value, from] = *pair else { continue };
                    if let Some(from) = self.cfg.index_of(Id(from)).filter(|from| {
                        self.cfg.preds(block).contains(from) && self.cfg.is_reachable(*from)
                    }) {
                        if !named.insert(from) {
                            continue; // a parent may be named again, with an equal value
                        }
                        let value = self.value(Id(value));
                        self.graph.add_incoming(phi, from, value);
                    }
                }
            }
        }
        Model {
            cfg: self.cfg,
            post: self.post,
            graph: self.graph,
            phis: self.phis,
            branches: self.branches,
            without_offset: false,
            computed: self.computed,
            values: self.values,
        }
    }
}
