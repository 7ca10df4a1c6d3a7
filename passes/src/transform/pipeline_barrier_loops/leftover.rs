//! Inner loops of a stage that nothing needs any more when their stores are gone.

use super::find::Pipeline;
use crate::diagnostic::Diagnostic;
use crate::module::{BlockIndex, Id, Inst, WordOffset};
use crate::transform::barrier_loop::region::Inner;
use crate::transform::edit::Edit;
use crate::transform::whole_variables::Spot;
use spirv::Op;
use std::collections::BTreeSet;

/// Takes away the inner loops of the stage that do nothing without the stores, and whose values
/// nothing else uses, the new instructions with the words `used` among it.
pub(super) fn remove_inner_loops<'m>(
    pipeline: &Pipeline<'_, 'm>,
    edit: &mut Edit<'_, 'm>,
    used: &[u32],
) -> Result<(), Diagnostic> {
    let region = &pipeline.shape.region;
    for entry in &pipeline.stage.inner {
        let Some(inner) = region.inner().get(entry) else {
            continue;
        };
        let leftover = Leftover {
            pipeline,
            entry: *entry,
            inner,
        };
        if leftover.is_idle(used) {
            leftover.remove(edit)?;
        }
    }
    Ok(())
}

struct Leftover<'l, 'm> {
    pipeline: &'l Pipeline<'l, 'm>,
    entry: BlockIndex,
    inner: &'l Inner,
}

impl<'m> Leftover<'_, 'm> {
    /// Returns true if the loops do nothing and give nothing.
    fn is_idle(&self, used: &[u32]) -> bool {
        let shape = self.pipeline.shape;
        let moved: BTreeSet<WordOffset> =
            self.pipeline.stores.iter().map(|one| one.offset).collect();
        let mut names = BTreeSet::new();
        let mut variables = BTreeSet::new();
        for number in &self.inner.blocks {
            let Some(block) = shape.function.block(*number) else {
                return false;
            };
            names.insert(block.label);
            for inst in &block.insts {
                names.extend(inst.result());
                if moved.contains(&inst.offset) {
                    continue;
                }
                if inst.op() != Some(Op::Store) {
                    let effects = self.pipeline.facts.effects;
                    if !effects.instruction(*inst).writes.is_empty() {
                        return false;
                    }
                    continue;
                }
                let variable = inst.id(0).ok();
                let is_whole = |id: &Id| self.pipeline.variables.contains_key(id);
                match variable.filter(is_whole) {
                    Some(variable) => {
                        variables.insert(variable);
                    }
                    None if self.is_scratch(variable) => {}
                    None => return false,
                }
            }
        }
        if used.iter().any(|word| names.contains(&Id(*word))) {
            return false;
        }
        shape.function.numbered().all(|(number, block)| {
            let is_inside = self.inner.blocks.contains(&number);
            is_inside
                || block
                    .insts
                    .iter()
                    .all(|inst| self.is_free(number, *inst, &names, &variables))
        })
    }

    /// Returns true if a pointer leads into a variable that these loops alone use.
    fn is_scratch(&self, pointer: Option<Id>) -> bool {
        let scratch = &self.pipeline.scratch;
        let variable = pointer.and_then(|pointer| scratch.root(pointer));
        let is_here = |spot: Spot| self.inner.blocks.contains(&spot.0);
        variable.is_some_and(|variable| scratch.is_only(variable, is_here))
    }

    /// Whether an instruction elsewhere needs nothing of the loops, but leads to them.
    fn is_free(
        &self,
        number: BlockIndex,
        inst: Inst<'m>,
        names: &BTreeSet<Id>,
        variables: &BTreeSet<Id>,
    ) -> bool {
        let leads = inst.op() == Some(Op::Branch) && self.inner.preds.contains(&number);
        let loads = inst.op() == Some(Op::Load)
            && inst.id(0).is_ok_and(|pointer| variables.contains(&pointer));
        let mut ids = self.pipeline.facts.declarations.module.ids(inst);
        leads || (!loads && !ids.any(|(_, id)| names.contains(&id)))
    }

    fn remove(&self, edit: &mut Edit<'_, 'm>) -> Result<(), Diagnostic> {
        let function = self.pipeline.shape.function;
        let lost = || Diagnostic::bug("a block of a loop is not there");
        let behind = function.block(self.inner.behind).ok_or_else(lost)?.label;
        let entry = function.block(self.entry).ok_or_else(lost)?.label;
        for pred in &self.inner.preds {
            let end = function.block(*pred).and_then(|block| block.terminator());
            let end = end.filter(|end| end.operands() == [entry.0]);
            let end = end.ok_or_else(lost)?;
            edit.replace(end.offset, Op::Branch, &[behind.0])?;
        }
        for number in &self.inner.blocks {
            let block = function.block(*number).ok_or_else(lost)?;
            let end = block.terminator().map_or(block.offset, |last| last.offset);
            let all = edit.module().instructions_from(block.offset);
            let gone: Vec<WordOffset> = all
                .take_while(|inst| inst.offset <= end)
                .map(|inst| inst.offset)
                .collect();
            gone.into_iter().for_each(|offset| edit.remove(offset));
        }
        Ok(())
    }
}
