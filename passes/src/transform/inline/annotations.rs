//! Names and decorations of what was copied and of what is gone.

use crate::diagnostic::Diagnostic;
use crate::module::{Id, IdMap, Inst, Module};
use crate::transform::rewrite::{Writer, instruction};
use spirv::Op;
use std::collections::BTreeMap;

/// What happened to ids.
pub(super) struct Fate {
    /// Ids that functions of the old module define: whether the new one does not.
    pub(super) gone: IdMap<bool>,
    /// Copies that the new module defines, by the id of the old module.
    pub(super) copies: BTreeMap<u32, Vec<u32>>,
}

impl Fate {
    fn is_gone(&self, id: u32) -> bool {
        self.gone.get(Id(id)) == Some(&true)
    }
}

/// Ids that have a name or a decoration.
pub(super) fn annotated(module: &Module<'_>) -> IdMap<()> {
    let mut ids = IdMap::new(module.words().len());
    let mut add = |id: &u32| ids.insert(Id(*id), ());
    for inst in module.instructions() {
        match inst.op() {
            Some(op) if is_of_one_id(op) => inst.operands().iter().take(1).for_each(&mut add),
            Some(Op::GroupDecorate) => inst.operands().iter().skip(1).for_each(&mut add),
            Some(Op::Function) => break, // annotations stand before all functions
            _ => {}                      // says nothing about an id of a function
        }
    }
    ids
}

/// An annotation whose first operand is the id that it is about.
fn is_of_one_id(op: Op) -> bool {
    matches!(
        op,
        Op::Name | Op::Decorate | Op::DecorateId | Op::DecorateString
    )
}

/// Writes the module-scope instruction `inst`, and what it says about copies.
pub(super) fn write(writer: &mut Writer, fate: &Fate, inst: Inst<'_>) -> Result<(), Diagnostic> {
    match inst.op() {
        Some(op) if is_of_one_id(op) => {
            let target = inst.operand(0)?;
            if !fate.is_gone(target) {
                writer.push(inst.words, inst.offset)?;
            }
            for copy in fate.copies.get(&target).into_iter().flatten() {
                let mut words = inst.words.to_vec();
                if let Some(target) = words.get_mut(1) {
                    *target = *copy;
                }
                writer.push(&words, inst.offset)?;
            }
            Ok(())
        }
        Some(Op::GroupDecorate) => {
            let mut operands: Vec<u32> = inst.operands().first().copied().into_iter().collect();
            for target in inst.operands().iter().skip(1) {
                if !fate.is_gone(*target) {
                    operands.push(*target);
                }
                operands.extend(fate.copies.get(target).into_iter().flatten());
            }
            writer.push(&instruction(Op::GroupDecorate, &operands)?, inst.offset)
        }
        _ => writer.push(inst.words, inst.offset), // says nothing about an id of a function
    }
}
