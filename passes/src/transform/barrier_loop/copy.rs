//! Writes a slice of a region for another iteration, with the branches of the region.

use super::arrays::Indexed;
use super::shape::Shape;
use super::slice::{Slice, Slicer};
use crate::analysis::phases::mutant::{Rule, is_out};
use crate::diagnostic::Diagnostic;
use crate::module::{BlockIndex, Id, Inst, WordOffset};
use crate::transform::edit::Edit;
use spirv::{Op, StorageClass};
use std::collections::BTreeMap;

/// What a copy begins with: by phi of the header and by variable, the value there.
pub(in crate::transform) type Names = BTreeMap<Id, u32>;

/// The variables that values of loads are kept in, by result of the load, and what the copy does
/// with them.
#[derive(Clone, Debug, Default)]
pub(in crate::transform) struct Kept {
    pub(in crate::transform) variables: Names,
    /// The copy has the values from the variables; otherwise it loads and stores them there.
    pub(in crate::transform) is_taken: bool,
}

/// One copy of a slice.
pub(in crate::transform) struct Copy<'c, 'd, 'm> {
    pub(in crate::transform) edit: &'c mut Edit<'d, 'm>,
    pub(in crate::transform) slicer: &'c Slicer<'c, 'm>,
    pub(in crate::transform) slice: &'c Slice,
    pub(in crate::transform) kept: &'c Kept,
    /// Label of the block where control goes if the loop ends before it begins. The copy then ends
    /// in the part where the loop goes on; without this label both paths meet at its end.
    pub(in crate::transform) elsewhere: Option<u32>,
    /// True if the copy is executed where the loop ends before it begins, too.
    pub(in crate::transform) is_unguarded: bool,
    /// The arrays that the copy stores to, and which of their buffers.
    pub(in crate::transform) arrays: Option<Indexed<'c, 'm>>,
    /// The variables of all copies, for those that only the region uses.
    pub(in crate::transform) scratch: Option<&'c Names>,
    /// The instruction that all of it is written before.
    pub(in crate::transform) place: WordOffset,
    /// The label of the block that it is written into.
    pub(in crate::transform) label: u32,
    /// What ids of the region are called in the copy.
    names: Names,
    /// Variables of the copy, for those that the region stores to.
    variables: Names,
    labels: BTreeMap<BlockIndex, u32>,
}

impl<'c, 'd, 'm> Copy<'c, 'd, 'm> {
    pub(in crate::transform) fn new(
        edit: &'c mut Edit<'d, 'm>,
        slicer: &'c Slicer<'c, 'm>,
        slice: &'c Slice,
        kept: &'c Kept,
        (place, label): (WordOffset, u32),
    ) -> Self {
        Copy {
            edit,
            slicer,
            slice,
            kept,
            elsewhere: None,
            is_unguarded: false,
            arrays: None,
            scratch: None,
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
    pub(in crate::transform) fn write(
        mut self,
        first: &Names,
        guard: Option<u32>,
    ) -> Result<Option<u32>, Diagnostic> {
        let begin = self.label;
        let exit = self.shape().exit;
        let is_first = exit.is_first && !self.is_unguarded && !is_out(Rule::Guarded);
        let ends_early = guard.is_some() || is_first;
        let end = match self.elsewhere {
            None if ends_early => Some(self.edit.fresh()?),
            elsewhere => elsewhere,
        };
        // A selection for the guard has another merge block than one for the exit.
        let guard_end = match guard {
            Some(_) if is_first => Some(self.edit.fresh()?),
            Some(_) => end,
            None => None,
        };
        if let (Some(condition), Some(end)) = (guard, guard_end) {
            let then = self.edit.fresh()?;
            self.branch_to_stay(condition, [then, end])?;
            self.before(Op::Label, &[then])?;
            self.label = then;
        }
        self.variables(first)?;
        let blocks: Vec<BlockIndex> = self.slice.next.keys().copied().collect();
        let region = &self.shape().region;
        let is_entry = |block: &BlockIndex| self.slice.inner.contains(block);
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
                && !is_entry(next)
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
        self.name_inner()?;
        for (head, chain) in &heads {
            self.inner_before(*head)?;
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
        let inner = end.filter(|end| Some(*end) != self.elsewhere);
        let outer = guard_end.filter(|outer| Some(*outer) != end);
        for end in [inner, outer].into_iter().flatten() {
            self.before(Op::Branch, &[end])?;
            self.before(Op::Label, &[end])?;
            self.label = end;
        }
        Ok((self.label != begin).then_some(self.label))
    }

    /// Names the results and the labels of inner loops that are copied: some are used before the
    /// place where they stand.
    fn name_inner(&mut self) -> Result<(), Diagnostic> {
        let shape = self.shape();
        for entry in &self.slice.inner {
            let inner = shape.region.inner().get(entry);
            let blocks = inner.into_iter().flat_map(|inner| &inner.blocks);
            for block in blocks {
                let label = self.edit.fresh()?;
                self.labels.insert(*block, label);
                let insts = shape.function.block(*block).into_iter();
                for inst in insts.flat_map(|block| &block.insts) {
                    let Some(result) = inst.result() else {
                        continue;
                    };
                    let name = match self.known(*inst) {
                        Some(value) => value,
                        None => self.edit.fresh()?,
                    };
                    self.names.insert(result, name);
                }
            }
        }
        Ok(())
    }

    /// Copies the inner loops that control comes from to `head`.
    fn inner_before(&mut self, head: BlockIndex) -> Result<(), Diagnostic> {
        let shape = self.shape();
        let slice = self.slice;
        for entry in &slice.inner {
            let inner = shape.region.inner().get(entry);
            let Some(inner) = inner.filter(|inner| inner.behind == head) else {
                continue;
            };
            for (number, block) in shape.function.numbered() {
                if !inner.blocks.contains(&number) {
                    continue;
                }
                let label = self.label_of(number)?;
                self.before(Op::Label, &[label])?;
                self.label = label;
                for inst in &block.insts {
                    self.inner_instruction(*inst)?;
                }
            }
        }
        Ok(())
    }

    /// The value of a load of a variable that the copy does not store to: what the copy begins
    /// with.
    fn known(&self, inst: Inst<'m>) -> Option<u32> {
        let pointer = inst.id(0).ok().filter(|_| inst.op() == Some(Op::Load))?;
        let is_kept =
            self.slice.variables.contains_key(&pointer) && !self.variables.contains_key(&pointer);
        is_kept.then(|| self.name(pointer))
    }

    /// Copies an instruction of an inner loop: its result has a name.
    fn inner_instruction(&mut self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        if self.known(inst).is_some() {
            return Ok(());
        }
        let lost = || Diagnostic::bug("an instruction of a loop is not there");
        let op = inst.op().ok_or_else(lost)?;
        let words = match op {
            Op::Phi => self.phi(inst)?,
            Op::Branch
            | Op::BranchConditional
            | Op::Switch
            | Op::LoopMerge
            | Op::SelectionMerge => self.branch(inst)?,
            _ => self.renamed(inst)?,
        };
        let mut operands = words.get(1..).unwrap_or(&[]).to_vec();
        if let (Some(result), Some(slot)) = (inst.result(), operands.get_mut(1)) {
            *slot = self.name(result);
        }
        self.edit
            .before_from(self.place, inst.offset, op, &operands)
    }

    /// The words of a branch or a merge instruction with the labels of the copy.
    fn branch(&self, inst: Inst<'m>) -> Result<Vec<u32>, Diagnostic> {
        let mut words = inst.words.to_vec();
        for (index, id) in self.edit.module().ids(inst) {
            let name = match self.shape().block_of(id) {
                Some(block) => self.label_of(block)?,
                None => self.name(id),
            };
            if let Some(word) = words.get_mut(index) {
                *word = name;
            }
        }
        Ok(words)
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
        self.names.extend(self.scratch.into_iter().flatten());
        for variable in self.slice.variables.keys() {
            let stores = self.slicer.variables.get(variable);
            let mut stores = stores.into_iter().flatten();
            let is_stored = stores.any(|(store, _)| {
                let inner = self.shape().region.inner_of(store.0);
                self.slice.needed.contains(store)
                    || inner.is_some_and(|inner| self.slice.inner.contains(&inner))
            });
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
        if let (Some(value), Some(result)) = (self.known(inst), inst.result()) {
            self.names.insert(result, value);
            return Ok(());
        }
        let kept = inst.result().and_then(|result| {
            let variable = self.kept.variables.get(&result);
            variable.map(|variable| (result, *variable))
        });
        if let Some((result, variable)) = kept.filter(|_| self.kept.is_taken) {
            let ty = inst.result_type().ok_or_else(lost)?;
            let fresh = self.edit.fresh()?;
            self.names.insert(result, fresh);
            let operands = [ty.0, fresh, variable];
            return self
                .edit
                .before_from(self.place, inst.offset, op, &operands);
        }
        let mut words = match op {
            Op::Phi => self.phi(inst)?,
            _ => self.renamed(inst)?,
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
        if let (Some((_, variable)), Some(value)) = (kept, words.get(2)) {
            let operands = [variable, *value];
            self.edit
                .before_from(self.place, inst.offset, Op::Store, &operands)?;
        }
        Ok(())
    }

    /// The words of an instruction with the names of the copy; the result keeps its own. Pointers
    /// to arrays are those of the copy's buffer.
    fn renamed(&mut self, inst: Inst<'m>) -> Result<Vec<u32>, Diagnostic> {
        let mut words = inst.words.to_vec();
        for (index, id) in self.edit.module().ids(inst) {
            let name = match self.arrays {
                Some(arrays) if Some(index) == arrays.pointer_word(inst) => {
                    if self.names.contains_key(&id) {
                        self.name(id)
                    } else {
                        arrays.pointer(self.edit, (self.place, inst.offset), id)?
                    }
                }
                _ => self.name(id),
            };
            if let Some(word) = words.get_mut(index) {
                *word = name;
            }
        }
        if let Some(arrays) = self.arrays {
            arrays.index(inst, &mut words);
        }
        Ok(words)
    }

    /// A phi of the blocks that lead to its own in the copy.
    fn phi(&self, phi: Inst<'m>) -> Result<Vec<u32>, Diagnostic> {
        let mut words = phi.words.get(..3).unwrap_or(&[]).to_vec();
        for pair in phi.operands().chunks_exact(2) {
            if let [value, from] = *pair
                && let Some(block) = self.shape().block_of(Id(from))
                && (self.slice.next.contains_key(&block) || self.labels.contains_key(&block))
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
                Some(target) => self.label_of(self.slice.target(&self.shape().region, target))?,
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
pub(in crate::transform) fn variable_of(
    edit: &mut Edit<'_, '_>,
    shape: &Shape<'_, '_>,
    ty: u32,
) -> Result<u32, Diagnostic> {
    let variable = edit.fresh()?;
    let class = StorageClass::Function as u32;
    edit.before(shape.first, Op::Variable, &[ty, variable, class])?;
    Ok(variable)
}
