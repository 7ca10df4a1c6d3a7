//! The part of a function that decides where control goes: what the conditions of its branches are computed from.
//!
//! Most of a kernel computes data. Only what leads to a condition, backwards over operands and over the variables that are followed, is
//! made into values; the rest costs one look.

use super::memory::{self, Memory};
use super::promote::Variables;
use crate::module::{Block, Declarations, Function, Id, Inst};
use spirv::{Op, StorageClass};

/// What of a function is made into values.
#[derive(Clone, Debug)]
pub(super) struct Slice<'m> {
    /// By block: the instructions, in order, terminators left out.
    pub(super) blocks: Vec<Vec<Inst<'m>>>,
    /// Numbers of the variables whose values are asked for.
    pub(super) variables: Vec<u32>,
    /// Whether a variable of class Workgroup is among what is loaded.
    pub(super) loads_workgroup: bool,
}

impl<'m> Slice<'m> {
    /// Of all branches of the function.
    pub(super) fn of(
        declarations: &Declarations<'m>,
        memory: &Memory,
        function: &Function<'m>,
        variables: &Variables<'m>,
    ) -> Slice<'m> {
        let words = function.end.saturating_sub(function.offset) as usize;
        let mut walk = Walk {
            declarations,
            memory,
            function,
            variables,
            marked: vec![false; words],
            wanted: vec![false; variables.len()],
            loads_workgroup: false,
            work: Vec::new(),
        };
        for end in function.blocks.iter().filter_map(Block::terminator) {
            if matches!(end.op(), Some(Op::BranchConditional | Op::Switch))
                && let Ok(condition) = end.id(0)
            {
                walk.value(condition);
            }
        }
        while let Some(inst) = walk.work.pop() {
            walk.look(inst);
        }
        let is_marked = |inst: &&Inst<'m>| {
            let slot = inst.offset.wrapping_sub(function.offset) as usize;
            walk.marked.get(slot).copied().unwrap_or(false)
        };
        Slice {
            blocks: function
                .blocks
                .iter()
                .map(|block| block.insts.iter().filter(is_marked).copied().collect())
                .collect(),
            variables: (0..)
                .zip(&walk.wanted)
                .filter_map(|(number, wanted)| wanted.then_some(number))
                .collect(),
            loads_workgroup: walk.loads_workgroup,
        }
    }
}

struct Walk<'w, 'm> {
    declarations: &'w Declarations<'m>,
    memory: &'w Memory,
    function: &'w Function<'m>,
    variables: &'w Variables<'m>,
    /// By word of the function: whether the instruction that starts there is in the slice.
    marked: Vec<bool>,
    /// By variable.
    wanted: Vec<bool>,
    loads_workgroup: bool,
    work: Vec<Inst<'m>>,
}

impl<'m> Walk<'_, 'm> {
    fn value(&mut self, id: Id) {
        if let Some(inst) = self.declarations.module.def(id) {
            self.mark(inst);
        }
    }

    fn mark(&mut self, inst: Inst<'m>) {
        let slot = inst.offset.checked_sub(self.function.offset);
        if let Some(marked) = slot.and_then(|slot| self.marked.get_mut(slot as usize))
            && !std::mem::replace(marked, true)
        {
            self.work.push(inst);
        }
    }

    fn look(&mut self, inst: Inst<'m>) {
        match (inst.op(), inst.operands()) {
            (Some(Op::Load), [pointer, ..]) => {
                self.value(Id(*pointer));
                self.variable_behind(Id(*pointer));
                self.loads_workgroup |= memory::class_of(self.declarations, Id(*pointer))
                    == Some(StorageClass::Workgroup);
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
            }
            (Some(op), _) if reads_operands(op) => {
                let skip = 2; // result type and result
                for (_, id) in self.declarations.module.ids(inst).skip(skip) {
                    self.value(id);
                }
            }
            _ => {} // whatever its operands are, its result is not known
        }
    }

    fn variable_behind(&mut self, pointer: Id) {
        let Some(number) = self.variables.behind(self.declarations, pointer) else {
            return;
        };
        let Some(wanted) = self.wanted.get_mut(number as usize) else {
            return;
        };
        if std::mem::replace(wanted, true) {
            return;
        }
        let variables = self.variables;
        for (_, inst) in variables.changes(number) {
            self.mark(*inst);
        }
        if variables.is_shared(self.memory, self.function.id, number) {
            for (_, inst) in variables.impure_calls() {
                self.mark(*inst);
            }
        }
    }
}

/// Whether the result is made from the operands.
fn reads_operands(op: Op) -> bool {
    matches!(op, Op::AccessChain | Op::InBoundsAccessChain | Op::ExtInst) || memory::is_pure_op(op)
}
