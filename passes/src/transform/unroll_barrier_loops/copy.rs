//! Writes the copies of a loop.

use super::Unrollable;
use crate::diagnostic::Diagnostic;
use crate::module::{Block, BlockIndex, Id, Inst, WordOffset};
use crate::transform::edit::Edit;
use spirv::Op;
use std::collections::{BTreeMap, BTreeSet};

/// What ids of the loop are called in a copy; others keep their names.
type Names = BTreeMap<Id, u32>;

/// The copies of one loop.
pub(super) struct Unrolling<'u, 'd, 'm> {
    edit: &'u mut Edit<'d, 'm>,
    unrollable: &'u Unrollable<'u, 'm>,
}

impl<'u, 'd, 'm> Unrolling<'u, 'd, 'm> {
    pub(super) fn new(edit: &'u mut Edit<'d, 'm>, unrollable: &'u Unrollable<'u, 'm>) -> Self {
        Unrolling { edit, unrollable }
    }

    /// Writes a copy for each of so many iterations in front of the loop, and makes the last
    /// iteration of what is there.
    pub(super) fn run(mut self, stays: usize) -> Result<(), Diagnostic> {
        let header = self.block(self.unrollable.header)?;
        let front = self.block(self.unrollable.front)?.label;
        let mut labels = Vec::new();
        for _ in 0..stays {
            labels.push(self.edit.fresh()?);
        }
        labels.push(header.label.0);
        let mut before = Names::new();
        let mut from = front;
        for at in labels.windows(2) {
            let [label, next] = *at else { continue };
            let mut names = self.names(&before, from)?;
            names.insert(header.label, label);
            self.copy(&names, next)?;
            (before, from) = (names, self.block(self.unrollable.latch)?.label);
        }
        let first = labels.first().copied().unwrap_or(header.label.0);
        self.lead_to(first)?;
        self.finish(&before, from)
    }

    fn block(&self, number: BlockIndex) -> Result<&'u Block<'m>, Diagnostic> {
        let block = self.unrollable.function.block(number);
        block.ok_or_else(|| Diagnostic::bug("a loop has a block that is not there"))
    }

    /// The blocks of the loop, in the order of the module.
    fn blocks(&self) -> Vec<(BlockIndex, &'u Block<'m>)> {
        let blocks = self.unrollable.function.numbered();
        let is_inside = |(number, _): &(BlockIndex, &Block<'m>)| {
            self.unrollable.blocks.contains(number) && self.unrollable.cfg.is_reachable(*number)
        };
        blocks.filter(is_inside).collect()
    }

    /// Phis of the header with what they are when control comes from `from`, whose copy has the
    /// names `before`.
    fn phis(&self, before: &Names, from: Id) -> Result<Vec<(Inst<'m>, u32)>, Diagnostic> {
        let mut phis = Vec::new();
        for phi in &self.block(self.unrollable.header)?.insts {
            if phi.op() != Some(Op::Phi) {
                break;
            }
            let mut pairs = phi.operands().chunks_exact(2);
            let pair = pairs.find(|pair| pair.get(1) == Some(&from.0));
            let Some(value) = pair.and_then(|pair| pair.first()) else {
                let lost = Diagnostic::bug("a phi does not name a block that leads to it");
                return Err(lost.at_word(phi.offset));
            };
            let value = before.get(&Id(*value)).copied().unwrap_or(*value);
            phis.push((*phi, value));
        }
        Ok(phis)
    }

    /// Names for the results and the labels of a copy; phis of the header are what they stand for.
    fn names(&mut self, before: &Names, from: Id) -> Result<Names, Diagnostic> {
        let mut names = Names::new();
        for (phi, value) in self.phis(before, from)? {
            names.extend(phi.result().map(|result| (result, value)));
        }
        for (_, block) in self.blocks() {
            let label = self.edit.fresh()?;
            names.insert(block.label, label);
            for result in block.insts.iter().filter_map(|inst| inst.result()) {
                if names.contains_key(&result) {
                    continue;
                }
                let name = self.edit.fresh()?;
                names.insert(result, name);
                for decoration in self.edit.declarations.decorations(result) {
                    let mut operands = vec![name, decoration.kind];
                    operands.extend(decoration.operands);
                    self.edit.annotation(Op::Decorate, &operands)?;
                }
            }
        }
        Ok(names)
    }

    /// Writes a copy that goes on to the block `next`.
    fn copy(&mut self, names: &Names, next: u32) -> Result<(), Diagnostic> {
        let header = self.block(self.unrollable.header)?;
        let place = header.offset;
        let stays = self.block(self.unrollable.stays)?.label;
        let name = |id: Id| names.get(&id).copied().unwrap_or(id.0);
        for (number, block) in self.blocks() {
            let label = [name(block.label)];
            self.edit
                .before_from(place, block.offset, Op::Label, &label)?;
            let is_exit = number == self.unrollable.exit;
            for inst in &block.insts {
                if self.is_dropped(number, block, *inst) {
                    continue;
                }
                let is_last = block.terminator().map(|last| last.offset) == Some(inst.offset);
                let target = |id: Id| {
                    if id == header.label && is_last {
                        next
                    } else {
                        name(id)
                    }
                };
                if is_last && is_exit {
                    let stays = target(stays);
                    self.edit
                        .before_from(place, inst.offset, Op::Branch, &[stays])?;
                    continue;
                }
                let Some(op) = inst.op() else {
                    let unknown = Diagnostic::bug("an instruction of a loop is not known");
                    return Err(unknown.at_word(inst.offset));
                };
                let mut words = inst.words.to_vec();
                for (index, id) in self.edit.module().ids(*inst) {
                    if let Some(word) = words.get_mut(index) {
                        *word = target(id);
                    }
                }
                let operands = words.get(1..).unwrap_or(&[]);
                self.edit.before_from(place, inst.offset, op, operands)?;
            }
        }
        Ok(())
    }

    /// Returns true if an instruction has no place in a copy: phis and the merge instruction of the
    /// header, and that of the branch that leaves the loop.
    fn is_dropped(&self, number: BlockIndex, block: &Block<'_>, inst: Inst<'_>) -> bool {
        let is_header = number == self.unrollable.header;
        let is_end = block.end().map(|end| end.offset) == Some(inst.offset);
        match inst.op() {
            Some(Op::Phi | Op::LoopMerge) => is_header,
            Some(Op::SelectionMerge) => number == self.unrollable.exit && is_end,
            _ => false, // of every copy
        }
    }

    /// What led to the loop leads to the block `first`.
    fn lead_to(&mut self, first: u32) -> Result<(), Diagnostic> {
        let header = self.block(self.unrollable.header)?.label;
        if first == header.0 {
            return Ok(());
        }
        for (number, block) in self.unrollable.function.numbered() {
            if self.unrollable.blocks.contains(&number) {
                continue;
            }
            let ends = block.insts.iter().rev().take(2);
            for inst in ends.filter(|inst| inst.op() != Some(Op::Phi)) {
                let mut words = inst.words.to_vec();
                for (index, id) in self.edit.module().ids(*inst) {
                    if let Some(word) = words.get_mut(index).filter(|_| id == header) {
                        *word = first;
                    }
                }
                if let Some(op) = inst.op().filter(|_| words != inst.words) {
                    let operands = words.get(1..).unwrap_or(&[]);
                    self.edit.replace(inst.offset, op, operands)?;
                }
            }
        }
        Ok(())
    }

    /// Makes the last iteration, which leaves the loop, of what is there.
    fn finish(&mut self, before: &Names, from: Id) -> Result<(), Diagnostic> {
        for (phi, value) in self.phis(before, from)? {
            let (Some(ty), Some(result)) = (phi.result_type(), phi.result()) else {
                return Err(Diagnostic::bug("a phi has no result").at_word(phi.offset));
            };
            self.edit
                .replace(phi.offset, Op::CopyObject, &[ty.0, result.0, value])?;
        }
        let leaves = self.block(self.unrollable.leaves)?.label;
        let alive = self.unrollable.last();
        for (number, block) in self.blocks() {
            if !alive.contains(&number) {
                self.remove(block);
                continue;
            }
            for inst in &block.insts {
                if inst.op() != Some(Op::Phi) && self.is_dropped(number, block, *inst) {
                    self.edit.remove(inst.offset);
                }
            }
            if number == self.unrollable.exit
                && let Some(last) = block.terminator()
            {
                self.edit.replace(last.offset, Op::Branch, &[leaves.0])?;
            }
        }
        Ok(())
    }

    /// Takes a block away, and what stands between its instructions.
    fn remove(&mut self, block: &Block<'_>) {
        let end = block.terminator().map_or(block.offset, |last| last.offset);
        let all = self.edit.module().instructions();
        let gone: BTreeSet<WordOffset> = all
            .skip_while(|inst| inst.offset < block.offset)
            .take_while(|inst| inst.offset <= end)
            .map(|inst| inst.offset)
            .collect();
        gone.into_iter().for_each(|offset| self.edit.remove(offset));
    }
}
