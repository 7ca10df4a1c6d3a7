//! Writes a slice of a region for another iteration, with the branches of the region.

use super::shape::Shape;
use super::slice::{Slice, Slicer};
use crate::analysis::phases::mutant::{Rule, is_out};
use crate::diagnostic::Diagnostic;
use crate::module::{BlockIndex, Id, Inst, WordOffset};
use crate::transform::edit::Edit;
use spirv::{Op, StorageClass};
use std::collections::BTreeMap;

/// What a copy begins with: by phi of the header and by variable, the value there.
pub(super) type Names = BTreeMap<Id, u32>;

/// One copy of a slice.
pub(super) struct Copy<'c, 'd, 'm> {
    pub(super) edit: &'c mut Edit<'d, 'm>,
    pub(super) slicer: &'c Slicer<'c, 'm>,
    pub(super) slice: &'c Slice,
    /// The variables that loads are kept in, by result of the load.
    pub(super) kept: &'c BTreeMap<Id, u32>,
    /// The instruction that all of it is written before.
    pub(super) place: WordOffset,
    /// The label of the block that it is written into.
    pub(super) label: u32,
    /// What ids of the region are called in the copy.
    names: Names,
    /// Variables of the copy, for those that the region stores to.
    variables: Names,
    labels: BTreeMap<BlockIndex, u32>,
}

impl<'c, 'd, 'm> Copy<'c, 'd, 'm> {
    pub(super) fn new(
        edit: &'c mut Edit<'d, 'm>,
        slicer: &'c Slicer<'c, 'm>,
        slice: &'c Slice,
        kept: &'c BTreeMap<Id, u32>,
        place: WordOffset,
        label: u32,
    ) -> Self {
        Copy {
            edit,
            slicer,
            slice,
            kept,
            place,
            label,
            names: Names::new(),
            variables: Names::new(),
            labels: BTreeMap::new(),
        }
    }

    fn shape(&self) -> &'c Shape<'c, 'm> {
        self.slicer.shape
    }

    /// Writes all of it; `first` has what phis and variables are when it begins. With a `guard` it
    /// stands in a selection with this condition, in which the loop goes on. The label of the block
    /// that is behind it, if that is a new one.
    pub(super) fn write(
        mut self,
        first: &Names,
        guard: Option<u32>,
    ) -> Result<Option<u32>, Diagnostic> {
        let begin = self.label;
        let exit = self.shape().exit;
        let ends_early = guard.is_some() || (exit.is_first && !is_out(Rule::Guarded));
        let end = if ends_early {
            Some(self.edit.fresh()?)
        } else {
            None
        };
        if let (Some(condition), Some(end)) = (guard, end) {
            let then = self.edit.fresh()?;
            self.branch_to_stay(condition, [then, end])?;
            self.before(Op::Label, &[then])?;
            self.label = then;
        }
        self.variables(first)?;
        let blocks: Vec<BlockIndex> = self.slice.next.keys().copied().collect();
        let region = &self.shape().region;
        let mut entering: BTreeMap<BlockIndex, usize> = BTreeMap::new();
        for to in self.slice.next.values().flatten() {
            *entering.entry(*to).or_default() += 1;
        }
        // A block that control comes to from one alone, by a plain branch, continues that one.
        let mut heads: Vec<(BlockIndex, Vec<BlockIndex>)> = Vec::new();
        for block in region.blocks.iter().filter(|block| blocks.contains(block)) {
            if heads.iter().any(|(_, chain)| chain.contains(block)) {
                continue;
            }
            let mut chain = vec![*block];
            let mut at = *block;
            while let Some([next]) = self.slice.next.get(&at).map(Vec::as_slice)
                && entering.get(next) == Some(&1)
                && !self.slicer.decides(at, &[*next])
            {
                chain.push(*next);
                at = *next;
            }
            heads.push((*block, chain));
        }
        for (head, chain) in &heads {
            let label = if *head == self.shape().header {
                self.label
            } else {
                self.edit.fresh()?
            };
            for block in chain {
                self.labels.insert(*block, label);
            }
        }
        for (head, chain) in &heads {
            if *head != self.shape().header {
                let label = self.label_of(*head)?;
                self.before(Op::Label, &[label])?;
                self.label = label;
            }
            for block in chain {
                for spot in self.slice.of_block(*block) {
                    self.instruction(spot)?;
                }
            }
            if let Some(last) = chain.last().filter(|last| **last != self.shape().block) {
                self.leave(*last, end)?;
            }
        }
        if let Some(end) = end {
            self.before(Op::Branch, &[end])?;
            self.before(Op::Label, &[end])?;
            self.label = end;
        }
        Ok((self.label != begin).then_some(self.label))
    }

    fn before(&mut self, op: Op, operands: &[u32]) -> Result<(), Diagnostic> {
        self.edit.before(self.place, op, operands)
    }

    /// A branch to the first of `targets` if the loop goes on, else to the second, where both meet.
    fn branch_to_stay(&mut self, condition: u32, [stay, end]: [u32; 2]) -> Result<(), Diagnostic> {
        let targets = if self.shape().exit.stays_if_true {
            [condition, stay, end]
        } else {
            [condition, end, stay]
        };
        self.before(Op::SelectionMerge, &[end, 0])?;
        self.before(Op::BranchConditional, &targets)
    }

    /// Variables of the copy in place of those that the region stores to, which keep their values.
    fn variables(&mut self, first: &Names) -> Result<(), Diagnostic> {
        self.names.extend(first);
        for variable in self.slice.variables.keys() {
            let stores = self.slicer.variables.get(variable);
            let mut stores = stores.into_iter().flatten();
            let is_stored = stores.any(|(store, _)| self.slice.needed.contains(store));
            let value = first.get(variable).copied();
            if is_stored {
                let ty = self.edit.declarations.type_of(*variable);
                let (Some(ty), Some(value)) = (ty, value) else {
                    return Err(Diagnostic::bug("a variable has no type or no value"));
                };
                let copy = variable_of(self.edit, self.shape(), ty.0)?;
                self.before(Op::Store, &[copy, value])?;
                self.variables.insert(*variable, copy);
            }
        }
        Ok(())
    }

    fn name(&self, id: Id) -> u32 {
        let variable = self.variables.get(&id);
        let name = variable.or_else(|| self.names.get(&id));
        name.copied().unwrap_or(id.0)
    }

    fn label_of(&self, block: BlockIndex) -> Result<u32, Diagnostic> {
        let label = self.labels.get(&block).copied();
        label.ok_or_else(|| Diagnostic::bug("a block of a copy has no label"))
    }

    /// Copies an instruction.
    fn instruction(&mut self, spot: (BlockIndex, usize)) -> Result<(), Diagnostic> {
        let lost = || Diagnostic::bug("an instruction of a loop is not there");
        let inst = self.shape().inst(spot).ok_or_else(lost)?;
        let op = inst.op().ok_or_else(lost)?;
        if let (Some(Op::Load), Ok(pointer), Some(result)) = (inst.op(), inst.id(0), inst.result())
            && self.slice.variables.contains_key(&pointer)
            && !self.variables.contains_key(&pointer)
        {
            // What it holds is known.
            let value = self.name(pointer);
            self.names.insert(result, value);
            return Ok(());
        }
        let mut words = match op {
            Op::Phi => self.phi(inst)?,
            _ => self.renamed(inst),
        };
        if let Some(result) = inst.result() {
            let fresh = self.edit.fresh()?;
            self.names.insert(result, fresh);
            if let Some(word) = words.get_mut(2) {
                *word = fresh;
            }
        }
        let operands = words.get(1..).unwrap_or(&[]);
        self.edit
            .before_from(self.place, inst.offset, op, operands)?;
        let kept = inst.result().and_then(|result| self.kept.get(&result));
        if let (Some(variable), Some(value)) = (kept, words.get(2)) {
            let operands = [*variable, *value];
            self.edit
                .before_from(self.place, inst.offset, Op::Store, &operands)?;
        }
        Ok(())
    }

    /// The words of an instruction with the names of the copy; the result keeps its own.
    fn renamed(&self, inst: Inst<'m>) -> Vec<u32> {
        let mut words = inst.words.to_vec();
        for (index, id) in self.edit.module().ids(inst) {
            if let Some(word) = words.get_mut(index) {
                *word = self.name(id);
            }
        }
        words
    }

    /// A phi of the blocks that lead to its own in the copy.
    fn phi(&self, phi: Inst<'m>) -> Result<Vec<u32>, Diagnostic> {
        let mut words = phi.words.get(..3).unwrap_or(&[]).to_vec();
        for pair in phi.operands().chunks_exact(2) {
            if let [value, from] = *pair
                && let Some(block) = self.shape().block_of(Id(from))
                && self.slice.next.contains_key(&block)
            {
                words.extend([self.name(Id(value)), self.label_of(block)?]);
            }
        }
        Ok(words)
    }

    /// Writes how control leaves a block.
    fn leave(&mut self, block: BlockIndex, end: Option<u32>) -> Result<(), Diagnostic> {
        let lost = || Diagnostic::bug("a block of a loop has no end");
        let next = self.slice.next.get(&block).ok_or_else(lost)?.as_slice();
        let function = self.shape().function;
        let branch = function.block(block).and_then(|of| of.terminator());
        let branch = branch.ok_or_else(lost)?;
        let exit = self.shape().exit;
        let is_exit = exit.is_first && block == exit.block;
        if let (true, Some(end), [stay]) = (is_exit, end, next) {
            let targets = [self.label_of(*stay)?, end];
            let condition = self.name(exit.condition);
            return self.branch_to_stay(condition, targets);
        }
        if is_exit || !self.slicer.decides(block, next) {
            let target = next.first().copied().ok_or_else(lost)?;
            let target = self.label_of(target)?;
            return self.before(Op::Branch, &[target]);
        }
        if let Some(merge) = self.shape().region.merge(block) {
            let merge = self.label_of(merge)?;
            self.before(Op::SelectionMerge, &[merge, 0])?;
        }
        let mut words = branch.words.to_vec();
        for (index, id) in self.edit.module().ids(branch) {
            let Some(word) = words.get_mut(index) else {
                continue;
            };
            let target = match index {
                1 => None, // the condition
                _ => self.shape().block_of(id),
            };
            *word = match target {
                Some(target) => self.label_of(self.shape().region.beyond(target))?,
                None => self.name(id),
            };
        }
        let op = branch.op().ok_or_else(lost)?;
        let operands = words.get(1..).unwrap_or(&[]);
        self.edit
            .before_from(self.place, branch.offset, op, operands)
    }
}

/// A new variable of the class Function, of the pointer type `ty`.
pub(super) fn variable_of(
    edit: &mut Edit<'_, '_>,
    shape: &Shape<'_, '_>,
    ty: u32,
) -> Result<u32, Diagnostic> {
    let variable = edit.fresh()?;
    let class = StorageClass::Function as u32;
    edit.before(shape.first, Op::Variable, &[ty, variable, class])?;
    Ok(variable)
}
