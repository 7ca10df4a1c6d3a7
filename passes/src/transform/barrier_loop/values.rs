//! Values at the start of the next iteration of a loop, computed after the first barrier of this
//! one.

use super::shape::Shape;
use crate::analysis::phases::{Effects, Own};
use crate::diagnostic::Diagnostic;
use crate::module::facts::{Address, Class};
use crate::module::{Declarations, Id, Inst, WordOffset};
use crate::transform::edit::Edit;
use crate::transform::whole_variables::Spot;
use spirv::{Decoration, Op};
use std::collections::BTreeMap;

/// Longest way from a value to what it is made of.
pub(super) const MOST_DEPTH: usize = 64;

/// Instructions that are made in one place.
pub(super) const MOST_MADE: usize = 1024;

/// Variables that hold one value at a time, with their stores in a loop.
pub(in crate::transform) type Variables = BTreeMap<Id, Vec<(Spot, Id)>>;

/// An instruction that is written.
pub(in crate::transform) struct Made {
    pub(in crate::transform) op: Op,
    pub(in crate::transform) words: Vec<u32>,
    /// The one that it is a copy of.
    pub(in crate::transform) origin: WordOffset,
}

/// Writes instructions before the one at a place.
pub(in crate::transform) fn write_made(
    edit: &mut Edit<'_, '_>,
    place: WordOffset,
    made: &[Made],
) -> Result<(), Diagnostic> {
    for made in made {
        let operands = made.words.get(1..).unwrap_or(&[]);
        edit.before_from(place, made.origin, made.op, operands)?;
    }
    Ok(())
}

/// What is computed right behind the barrier, of this iteration's values.
pub(in crate::transform) struct Values<'v, 'm> {
    shape: &'v Shape<'v, 'm>,
    effects: &'v Effects<'v, 'm>,
    variables: &'v Variables,
    known: BTreeMap<Id, Id>,
    /// In order.
    pub(in crate::transform) made: Vec<Made>,
}

impl<'v, 'm> Values<'v, 'm> {
    pub(in crate::transform) fn new(
        shape: &'v Shape<'v, 'm>,
        effects: &'v Effects<'v, 'm>,
        variables: &'v Variables,
    ) -> Self {
        Values {
            shape,
            effects,
            variables,
            known: BTreeMap::new(),
            made: Vec::new(),
        }
    }

    /// Takes the instructions back that were made after the first `kept`.
    pub(in crate::transform) fn forget(&mut self, kept: usize) {
        let gone = self.made.split_off(kept.min(self.made.len()));
        let results: Vec<u32> = gone
            .iter()
            .filter_map(|made| made.words.get(2).copied())
            .collect();
        self.known.retain(|_, id| !results.contains(&id.0));
    }

    /// What a phi of the header is in the next iteration.
    pub(in crate::transform) fn of_phi(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        phi: Id,
    ) -> Result<Option<Id>, Diagnostic> {
        match self.shape.phi_from(phi, self.shape.latch_label) {
            Some(value) => self.get(edit, value),
            None => Ok(None),
        }
    }

    /// What a variable holds when the next iteration begins.
    pub(in crate::transform) fn of_variable(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        variable: Id,
        load: Inst<'m>,
    ) -> Result<Option<Id>, Diagnostic> {
        let stores = self.variables.get(&variable);
        let late = stores.into_iter().flatten();
        let late: Vec<(Spot, Id)> = late
            .filter(|(store, _)| !self.shape.may_precede(*store))
            .copied()
            .collect();
        match late.as_slice() {
            [] => self
                .make(edit, Op::Load, load.words.to_vec(), load.offset)
                .map(Some),
            [(store, value)] if self.shape.is_in_each(store.0) => self.get(edit, *value),
            _ => Ok(None), // not always the same
        }
    }

    /// The value of `id` in this iteration; `None`: it cannot be computed here.
    pub(in crate::transform) fn get(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        id: Id,
    ) -> Result<Option<Id>, Diagnostic> {
        self.value(edit, id, 0)
    }

    fn value(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        id: Id,
        depth: usize,
    ) -> Result<Option<Id>, Diagnostic> {
        if let Some(known) = self.known.get(&id) {
            return Ok(Some(*known));
        }
        let Some(spot) = self.shape.spots.get(&id).copied() else {
            return Ok(Some(id)); // from outside of the loop
        };
        if self.shape.is_before(spot) {
            return Ok(Some(id));
        }
        let Some(inst) = self.shape.inst(spot) else {
            return Ok(None);
        };
        if depth > MOST_DEPTH || self.made.len() > MOST_MADE {
            return Ok(None);
        }
        let value = match inst.op() {
            Some(Op::Load) => self.load(edit, inst, spot, depth)?,
            Some(_) if is_copied(edit.declarations, self.effects, inst) => {
                self.copy(edit, inst, depth)?
            }
            _ => None,
        };
        self.known.extend(value.map(|value| (id, value)));
        Ok(value)
    }

    fn copy(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        inst: Inst<'m>,
        depth: usize,
    ) -> Result<Option<Id>, Diagnostic> {
        let (Some(op), Some(result)) = (inst.op(), inst.result()) else {
            return Ok(None);
        };
        let mut words = inst.words.to_vec();
        for (index, id) in edit.module().ids(inst).skip(2) {
            debug_assert!(id != result, "an instruction that uses itself");
            let Some(value) = self.value(edit, id, depth + 1)? else {
                return Ok(None);
            };
            if let Some(word) = words.get_mut(index) {
                *word = value.0;
            }
        }
        self.make(edit, op, words, inst.offset).map(Some)
    }

    fn make(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        op: Op,
        mut words: Vec<u32>,
        origin: WordOffset,
    ) -> Result<Id, Diagnostic> {
        let result = edit.fresh()?;
        if let Some(word) = words.get_mut(2) {
            *word = result;
        }
        self.made.push(Made { op, words, origin });
        Ok(Id(result))
    }

    fn load(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        load: Inst<'m>,
        spot: Spot,
        depth: usize,
    ) -> Result<Option<Id>, Diagnostic> {
        let Ok(pointer) = load.id(0) else {
            return Ok(None);
        };
        if self.variables.contains_key(&pointer) {
            return self.variable(edit, load, pointer, spot);
        }
        let effect = self.effects.instruction(load);
        let is_kept = self.shape.keeps_own(self.effects, load);
        let is_constant = effect.reads.is_empty() && !effect.ordering_barrier && is_kept;
        if !is_constant || !is_plain(edit.declarations, load) {
            return Ok(None);
        }
        self.copy(edit, load, depth)
    }

    /// What a load of a variable gives, if nothing behind the barrier is stored before it.
    fn variable(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        load: Inst<'m>,
        variable: Id,
        spot: Spot,
    ) -> Result<Option<Id>, Diagnostic> {
        let stores = self.variables.get(&variable);
        let is_behind = |store: Spot| {
            if store.0 == spot.0 {
                store.1 > spot.1
            } else {
                self.shape.dominators.dominates(spot.0, store.0)
            }
        };
        let mut stores = stores.into_iter().flatten();
        let is_same = self.shape.is_own(spot.0)
            && stores.all(|(store, _)| self.shape.may_precede(*store) || is_behind(*store));
        if is_same {
            self.make(edit, Op::Load, load.words.to_vec(), load.offset)
                .map(Some)
        } else {
            Ok(None)
        }
    }
}

/// Returns true if an instruction gives the same result for the same operands, and does nothing
/// else.
pub(in crate::transform) fn is_copied<'m>(
    declarations: &Declarations<'m>,
    effects: &Effects<'_, 'm>,
    inst: Inst<'m>,
) -> bool {
    let facts = inst.facts();
    let is_of_values = match facts.class {
        Class::Address(address) => address != Address::Texel, // it is for atomics
        Class::Extended => {
            let is_quiet = effects.own(inst) == Some(Own::default());
            is_quiet && effects.instruction(inst).touches().is_empty()
        }
        _ => facts.is_arithmetic(),
    };
    is_of_values && is_plain(declarations, inst)
}

/// Returns true if no decoration of its result asks for more than the instruction says.
pub(in crate::transform) fn is_plain(declarations: &Declarations<'_>, inst: Inst<'_>) -> bool {
    let result = inst.result();
    let decorations = result.map_or(&[][..], |id| declarations.decorations(id));
    let is_harmless = |kind: u32| {
        kind == Decoration::RelaxedPrecision as u32
            || kind == Decoration::NoSignedWrap as u32
            || kind == Decoration::NoUnsignedWrap as u32
    };
    decorations.iter().all(|one| is_harmless(one.kind))
}
