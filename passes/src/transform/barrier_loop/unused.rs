//! Instructions of the part before the first barrier that are not used any more when its stores
//! have moved.

use super::scratch::Scratch;
use super::shape::Shape;
use super::values::Variables;
use crate::analysis::phases::Effects;
use crate::module::{Id, Inst, WordOffset};
use crate::transform::edit::Edit;
use spirv::Op;
use std::collections::{BTreeMap, BTreeSet};

/// The part before the first barrier, and its variables.
pub(in crate::transform) struct Part<'p, 'm> {
    pub(in crate::transform) shape: &'p Shape<'p, 'm>,
    pub(in crate::transform) effects: &'p Effects<'p, 'm>,
    /// Variables that are loaded and stored as a whole.
    pub(in crate::transform) variables: &'p Variables,
    /// Variables that only this part uses.
    pub(in crate::transform) scratch: Option<&'p Scratch>,
}

/// Takes away the values that nothing needs which stays, and the stores to variables that nothing
/// loads which stays. What `edit` has removed does not stay; `used` are words of new instructions,
/// with ids that they use.
pub(in crate::transform) fn remove_unused<'m>(
    edit: &mut Edit<'_, 'm>,
    part: &Part<'_, 'm>,
    used: impl Iterator<Item = u32>,
) {
    let module = edit.module();
    let mut candidates: BTreeMap<WordOffset, Inst<'m>> = BTreeMap::new();
    for (number, block) in part.shape.function.numbered() {
        for (index, inst) in block.insts.iter().enumerate() {
            let is_here = part.shape.is_in_region((number, index))
                || part.shape.region.inner_of(number).is_some();
            if is_here && !edit.is_removed(inst.offset) && part.may_go(*inst) {
                candidates.insert(inst.offset, *inst);
            }
        }
    }
    let mut stores: BTreeMap<Id, Vec<Inst<'m>>> = BTreeMap::new();
    let mut defs: BTreeMap<Id, Inst<'m>> = BTreeMap::new();
    for inst in candidates.values() {
        defs.extend(inst.result().map(|result| (result, *inst)));
        if let Some(variable) = part.stored(*inst) {
            stores.entry(variable).or_default().push(*inst);
        }
    }
    let mut work: Vec<Id> = used.map(Id).collect();
    for inst in module.instructions() {
        let is_name = inst
            .op()
            .is_some_and(|op| op.is_debug() || op.is_annotation() || op == Op::EntryPoint);
        let stays = edit.current(inst).filter(|_| !is_name);
        if let Some(inst) = stays.filter(|inst| !candidates.contains_key(&inst.offset)) {
            // A store to a variable does not need what else is stored there.
            let stored = part.stored(inst);
            let ids = module.ids(inst).map(|(_, id)| id);
            work.extend(ids.filter(|id| Some(*id) != inst.result() && Some(*id) != stored));
        }
    }
    let mut needed: BTreeSet<Id> = BTreeSet::new();
    let mut kept: BTreeSet<WordOffset> = BTreeSet::new();
    while let Some(id) = work.pop() {
        if !needed.insert(id) {
            continue;
        }
        let stores = stores.get(&id).into_iter().flatten();
        for inst in stores.chain(defs.get(&id)) {
            kept.insert(inst.offset);
            let inst = edit.current(*inst).unwrap_or(*inst);
            work.extend(module.ids(inst).map(|(_, id)| id));
        }
    }
    for offset in candidates.keys().filter(|offset| !kept.contains(offset)) {
        edit.remove(*offset);
    }
}

impl<'m> Part<'_, 'm> {
    /// Returns true if nothing is lost with an instruction whose result is not used, or with a
    /// store to a variable that is not loaded.
    fn may_go(&self, inst: Inst<'m>) -> bool {
        if inst.op() == Some(Op::Store) {
            return self.stored(inst).is_some();
        }
        let effect = self.effects.instruction(inst);
        let is_quiet = !effect.ordering_barrier && effect.writes.is_empty();
        is_quiet && inst.result().is_some() && self.effects.own(inst).is_some()
    }

    /// The variable of the invocation that `inst` stores to, if all that is done with it is known.
    fn stored(&self, inst: Inst<'_>) -> Option<Id> {
        let pointer = inst.id(0).ok().filter(|_| inst.op() == Some(Op::Store))?;
        let scratch = self.scratch.and_then(|scratch| scratch.root(pointer));
        let whole = self.variables.contains_key(&pointer).then_some(pointer);
        scratch.or(whole)
    }
}
