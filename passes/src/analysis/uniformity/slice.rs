//! The part of a function that decides where control goes: what the conditions of its branches are
//! computed from.
//!
//! Most of a kernel computes data. Starting from the blocks that are asked about, the branches that
//! decide about them are followed ([`super::control`]), from their conditions backwards the
//! operands and the variables that are followed, and where values meet the branches that decide
//! about that. The rest of the function costs one look.

use super::control::{Control, loop_exits};
use super::memory::{self, Memory};
use super::promote::Variables;
use crate::analysis::cfg::Cfg;
use crate::analysis::dominance::PostDominators;
use crate::module::facts::Class;
use crate::module::{Block, BlockIndex, BlockMap, Declarations, Function, Id, Inst};
use spirv::{Op, StorageClass};

/// The places and values of a function that a slice has to explain.
#[derive(Copy, Clone, Debug)]
pub struct SlicingCriterion<'a> {
    /// The blocks whose execution is asked about.
    pub places: &'a [BlockIndex],
    /// The ids whose values are requested.
    pub values: &'a [Id],
}

/// What of a function is made into values.
#[derive(Clone, Debug)]
pub(super) struct Slice<'m> {
    /// By block: the instructions, in order, terminators left out.
    pub(super) blocks: BlockMap<Vec<Inst<'m>>>,
    /// By block: whether the branch at its end matters.
    pub(super) branches: BlockMap<bool>,
    /// Numbers of the variables whose values are asked for.
    pub(super) variables: Vec<u32>,
    /// True if a variable of class Workgroup is among what is loaded.
    pub(super) loads_workgroup: bool,
}

impl<'m> Slice<'m> {
    /// The part that decides about the execution of the places that are asked about and about the
    /// ends of loops, and that the values are computed from.
    pub(super) fn analyze(
        declarations: &Declarations<'m>,
        memory: &Memory,
        function: &Function<'m>,
        variables: &Variables<'m>,
        cfg: &Cfg,
        post: &PostDominators,
        asked: SlicingCriterion<'_>,
    ) -> Slice<'m> {
        let words = function.end.since(function.offset).unwrap_or_default();
        let mut walk = Walk {
            declarations,
            memory,
            function,
            variables,
            cfg,
            control: Control::analyze(cfg, post),
            marked: vec![false; words],
            wanted: vec![false; variables.len()],
            asked: BlockMap::filled(cfg.len(), false),
            branches: BlockMap::filled(cfg.len(), false),
            loads_workgroup: false,
            has_all: false,
            work: Vec::new(),
        };
        asked.places.iter().for_each(|block| walk.block(*block));
        asked.values.iter().for_each(|value| walk.value(*value));
        loop_exits(cfg)
            .into_iter()
            .for_each(|block| walk.branch(block));
        while let Some(step) = walk.work.pop() {
            match step {
                Step::Inst(inst) => walk.look(inst),
                Step::Block(block) => walk.decide(block),
            }
        }
        let is_marked = |inst: &&Inst<'m>| {
            let slot = inst.offset.since(function.offset);
            slot.and_then(|slot| walk.marked.get(slot).copied()) == Some(true)
        };
        Slice {
            blocks: function
                .blocks
                .iter()
                .map(|block| block.insts.iter().filter(is_marked).copied().collect())
                .collect(),
            branches: walk.branches,
            variables: (0..)
                .zip(&walk.wanted)
                .filter_map(|(number, wanted)| wanted.then_some(number))
                .collect(),
            loads_workgroup: walk.loads_workgroup,
        }
    }

    /// Returns true if no branch matters.
    pub(super) fn is_empty(&self) -> bool {
        !self.branches.values().any(|matters| *matters)
    }
}

/// Something that is still to be looked at.
enum Step<'m> {
    Inst(Inst<'m>),
    Block(BlockIndex),
}

struct Walk<'w, 'm> {
    declarations: &'w Declarations<'m>,
    memory: &'w Memory,
    function: &'w Function<'m>,
    variables: &'w Variables<'m>,
    cfg: &'w Cfg,
    control: Control,
    /// By word of the function: whether the instruction that starts there is in the slice.
    marked: Vec<bool>,
    /// By variable.
    wanted: Vec<bool>,
    /// By block: whether what decides about it is in the slice.
    asked: BlockMap<bool>,
    /// By block: whether the branch at its end is.
    branches: BlockMap<bool>,
    loads_workgroup: bool,
    /// All branches are in the slice.
    has_all: bool,
    work: Vec<Step<'m>>,
}

impl<'m> Walk<'_, 'm> {
    fn value(&mut self, id: Id) {
        if let Some(inst) = self.declarations.module.def(id) {
            self.mark(inst);
        }
    }

    fn mark(&mut self, inst: Inst<'m>) {
        let slot = inst.offset.since(self.function.offset);
        if let Some(marked) = slot.and_then(|slot| self.marked.get_mut(slot))
            && !std::mem::replace(marked, true)
        {
            self.work.push(Step::Inst(inst));
        }
    }

    /// What decides about the execution of `block` is asked for.
    fn block(&mut self, block: BlockIndex) {
        if let Some(asked) = self.asked.get_mut(block)
            && !std::mem::replace(asked, true)
        {
            self.work.push(Step::Block(block));
        }
    }

    fn decide(&mut self, block: BlockIndex) {
        match self.control.deciders(block).map(<[BlockIndex]>::to_vec) {
            Some(deciders) => deciders.into_iter().for_each(|block| self.branch(block)),
            None if std::mem::replace(&mut self.has_all, true) => {}
            None => self.cfg.blocks().for_each(|block| self.branch(block)),
        }
    }

    /// What the branch at the end of `block` goes by is asked for, and what decides about the
    /// block.
    fn branch(&mut self, block: BlockIndex) {
        self.block(block);
        let end = self.function.block(block).and_then(Block::terminator);
        if let Some(end) = end
            && matches!(end.op(), Some(Op::BranchConditional | Op::Switch))
            && let Ok(condition) = end.id(0)
            && let Some(branch) = self.branches.get_mut(block)
            && !std::mem::replace(branch, true)
        {
            self.value(condition);
        }
    }

    /// The block that `inst` stands in.
    fn block_of(&self, inst: Inst<'m>) -> Option<BlockIndex> {
        let blocks = &self.function.blocks;
        blocks
            .partition_point(|block| block.offset <= inst.offset)
            .checked_sub(1)
            .map(BlockIndex::new)
    }

    fn look(&mut self, inst: Inst<'m>) {
        match (inst.op(), inst.operands()) {
            (Some(Op::Load), [pointer, ..]) => {
                self.value(Id(*pointer));
                self.variable_behind(Id(*pointer));
                let class = memory::class_of(self.declarations, Id(*pointer));
                if class == Some(StorageClass::Workgroup) {
                    self.loads_workgroup = true;
                    self.block_of(inst)
                        .into_iter()
                        .for_each(|block| self.block(block));
                }
            }
            (Some(Op::Store), [pointer, value, ..]) => {
                self.value(Id(*pointer));
                self.value(Id(*value));
            }
            (Some(Op::FunctionCall), [_, arguments @ ..]) => {
                for argument in arguments {
                    self.value(Id(*argument));
                    self.variable_behind(Id(*argument));
                }
            }
            (Some(Op::Phi), incoming) => {
                for pair in incoming.chunks_exact(2) {
                    pair.iter().take(1).for_each(|value| self.value(Id(*value)));
                }
                self.meets(inst);
            }
            _ if reads_operands(inst) => {
                let skip = 2; // result type and result
                for (_, id) in self.declarations.module.ids(inst).skip(skip) {
                    self.value(id);
                }
            }
            _ => {
                // Whatever its operands are; but it may give one value to those that execute it
                // together.
                self.block_of(inst)
                    .into_iter()
                    .for_each(|block| self.block(block));
            }
        }
    }

    /// Which way leads to the phi decides about its value.
    fn meets(&mut self, phi: Inst<'m>) {
        let Some(block) = self.block_of(phi) else {
            debug_assert!(false, "a phi of another function");
            return;
        };
        self.block(block);
        let cfg = self.cfg;
        for pred in cfg.preds(block) {
            self.branch(*pred);
        }
    }

    fn variable_behind(&mut self, pointer: Id) {
        let Some(number) = self.variables.behind(self.declarations, pointer) else {
            return;
        };
        let Some(wanted) = self.wanted.get_mut(number as usize) else {
            debug_assert!(false, "no variable {number}");
            return;
        };
        if std::mem::replace(wanted, true) {
            return;
        }
        let variables = self.variables;
        let shared = variables.is_shared(self.memory, self.function.id, number);
        let calls = variables.impure_calls().iter().filter(|_| shared);
        for (block, inst) in variables.changes(number).iter().chain(calls) {
            self.mark(*inst);
            self.block(*block); // whether it is executed decides about the value
        }
    }
}

/// Returns true if the result is made from the operands.
fn reads_operands(inst: Inst<'_>) -> bool {
    let facts = inst.facts();
    matches!(
        facts.class,
        Class::Address(_) | Class::Extended | Class::Marker
    ) || facts.is_pure()
}
