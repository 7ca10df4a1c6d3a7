//! Values of another iteration, computed in another place.

use super::shape::Shape;
use crate::analysis::phases::{Effects, Own, Places};
use crate::analysis::uniformity::memory::is_arithmetic;
use crate::diagnostic::Diagnostic;
use crate::module::{Id, Inst, WordOffset};
use crate::transform::edit::Edit;
use crate::transform::whole_variables::{Spot, whole_variables};
use spirv::{Decoration, Op};
use std::collections::BTreeMap;

/// Longest way from a value to what it is made of.
const MOST_DEPTH: usize = 64;

/// Instructions that are made in one place.
const MOST_MADE: usize = 1024;

/// Of which iteration a value is wanted, and where.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum When {
    /// Of the first, in front of the loop.
    First,
    /// Of this one, behind its first barrier; values that are made later are made there.
    Now,
    /// Of the next, in the same place.
    Next,
}

/// An instruction that is written.
pub(super) struct Made {
    pub(super) op: Op,
    pub(super) words: Vec<u32>,
    /// The one that it is a copy of.
    pub(super) origin: WordOffset,
}

/// What is computed in one place.
pub(super) struct Values<'v, 'd, 'm> {
    edit: &'v mut Edit<'d, 'm>,
    shape: &'v Shape<'v, 'm>,
    effects: &'v Effects<'v, 'm>,
    /// Variables that hold one value at a time, with their stores in the loop.
    variables: BTreeMap<Id, Vec<(Spot, Id)>>,
    known: BTreeMap<(When, Id), Id>,
    /// In order.
    pub(super) made: Vec<Made>,
    /// Whether loads of memory that others write may be made.
    pub(super) may_load: bool,
}

impl<'v, 'd, 'm> Values<'v, 'd, 'm> {
    pub(super) fn new(
        edit: &'v mut Edit<'d, 'm>,
        shape: &'v Shape<'v, 'm>,
        effects: &'v Effects<'v, 'm>,
    ) -> Self {
        let mut variables = whole_variables(edit.declarations, shape.function);
        let is_inside = |(spot, _): &(Spot, Id)| shape.blocks.contains(&spot.0);
        variables
            .values_mut()
            .for_each(|stores| stores.retain(is_inside));
        Values {
            edit,
            shape,
            effects,
            variables,
            known: BTreeMap::new(),
            made: Vec::new(),
            may_load: false,
        }
    }

    /// Takes the instructions back that were made after the first `kept`.
    pub(super) fn forget(&mut self, kept: usize) {
        let gone = self.made.split_off(kept.min(self.made.len()));
        let results: Vec<u32> = gone
            .iter()
            .filter_map(|made| made.words.get(2).copied())
            .collect();
        self.known.retain(|_, id| !results.contains(&id.0));
    }

    /// A load that is staged, of another iteration.
    pub(super) fn load_of(&mut self, load: Inst<'m>, when: When) -> Result<Option<Id>, Diagnostic> {
        match load.result() {
            Some(result) => self.value(result, when, 0),
            None => Ok(None),
        }
    }

    /// The value of `id`; `None`: it cannot be computed.
    pub(super) fn get(&mut self, id: Id, when: When) -> Result<Option<Id>, Diagnostic> {
        self.value(id, when, 0)
    }

    fn value(&mut self, id: Id, when: When, depth: usize) -> Result<Option<Id>, Diagnostic> {
        if let Some(known) = self.known.get(&(when, id)) {
            return Ok(Some(*known));
        }
        let Some(spot) = self.shape.spots.get(&id).copied() else {
            return Ok(Some(id)); // from outside of the loop
        };
        let Some(inst) = self.shape.inst(spot) else {
            return Ok(None);
        };
        if depth > MOST_DEPTH || self.made.len() > MOST_MADE {
            return Ok(None);
        }
        if when == When::Now && self.shape.is_before(spot) {
            return Ok(Some(id));
        }
        let value = match inst.op() {
            Some(Op::Phi) if spot.0 == self.shape.header => self.phi(inst, when, depth)?,
            Some(Op::Load) => self.load(inst, spot, when, depth)?,
            Some(_) if self.is_copied(inst) => self.copy(inst, when, depth)?,
            _ => None,
        };
        self.known.extend(value.map(|value| ((when, id), value)));
        Ok(value)
    }

    /// A value that goes around the loop.
    fn phi(&mut self, phi: Inst<'m>, when: When, depth: usize) -> Result<Option<Id>, Diagnostic> {
        let from = |label: Id| {
            let pairs = phi.operands().chunks_exact(2);
            let mut found = pairs.filter_map(|pair| match *pair {
                [value, from] if from == label.0 => Some(Id(value)),
                _ => None,
            });
            found.next()
        };
        match when {
            When::First => Ok(from(self.shape.front_label)),
            When::Now => Ok(phi.result()),
            When::Next => match from(self.shape.latch_label) {
                Some(value) => self.value(value, When::Now, depth + 1),
                None => Ok(None),
            },
        }
    }

    /// Whether an instruction gives the same result for the same operands, and does nothing else.
    fn is_copied(&self, inst: Inst<'m>) -> bool {
        let is_of_values = match inst.op() {
            Some(Op::AccessChain | Op::InBoundsAccessChain) => true,
            Some(Op::PtrAccessChain | Op::InBoundsPtrAccessChain) => true,
            Some(Op::ExtInst) => {
                let is_quiet = self.effects.own(inst) == Some(Own::default());
                is_quiet && self.effects.instruction(inst).touches().is_empty()
            }
            Some(op) => is_arithmetic(op),
            None => false,
        };
        is_of_values && self.is_plain(inst)
    }

    /// Whether no decoration of its result asks for more than the instruction says.
    fn is_plain(&self, inst: Inst<'m>) -> bool {
        let result = inst.result();
        let decorations = result.map_or(&[][..], |id| self.edit.declarations.decorations(id));
        let is_harmless = |kind: u32| {
            kind == Decoration::RelaxedPrecision as u32
                || kind == Decoration::NoSignedWrap as u32
                || kind == Decoration::NoUnsignedWrap as u32
        };
        decorations.iter().all(|one| is_harmless(one.kind))
    }

    fn copy(&mut self, inst: Inst<'m>, when: When, depth: usize) -> Result<Option<Id>, Diagnostic> {
        let (Some(op), Some(result)) = (inst.op(), inst.result()) else {
            return Ok(None);
        };
        let mut words = inst.words.to_vec();
        for (index, id) in self.edit.module().ids(inst).skip(2) {
            debug_assert!(id != result, "an instruction that uses itself");
            let Some(value) = self.value(id, when, depth + 1)? else {
                return Ok(None);
            };
            if let Some(word) = words.get_mut(index) {
                *word = value.0;
            }
        }
        self.make(op, words, inst.offset).map(Some)
    }

    fn make(&mut self, op: Op, mut words: Vec<u32>, origin: WordOffset) -> Result<Id, Diagnostic> {
        let result = self.edit.fresh()?;
        if let Some(word) = words.get_mut(2) {
            *word = result;
        }
        self.made.push(Made { op, words, origin });
        Ok(Id(result))
    }

    fn load(
        &mut self,
        load: Inst<'m>,
        spot: Spot,
        when: When,
        depth: usize,
    ) -> Result<Option<Id>, Diagnostic> {
        let Ok(pointer) = load.id(0) else {
            return Ok(None);
        };
        if self.variables.contains_key(&pointer) {
            return self.variable(load, pointer, spot, when, depth);
        }
        let effect = self.effects.instruction(load);
        let is_own = self.effects.own(load) != Some(Own::default());
        let is_shared = !(effect.reads & Places::WORKGROUP).is_empty();
        let is_allowed = effect.reads.is_empty() || (self.may_load && !self.shape.changes(effect));
        if effect.stops || is_own || is_shared || !is_allowed || !self.is_plain(load) {
            return Ok(None);
        }
        self.copy(load, when, depth)
    }

    /// What a load of a variable gives.
    fn variable(
        &mut self,
        load: Inst<'m>,
        variable: Id,
        spot: Spot,
        when: When,
        depth: usize,
    ) -> Result<Option<Id>, Diagnostic> {
        let stores = match self.variables.get(&variable) {
            Some(stores) => stores.clone(),
            None => return Ok(None),
        };
        let is_early = |store: &Spot| self.is_before_on_some_path(*store);
        if when == When::Now {
            // Behind the barrier nothing is stored before the load is made.
            let is_behind = |store: &Spot| {
                if store.0 == spot.0 {
                    store.1 > spot.1
                } else {
                    self.shape.dominators.dominates(spot.0, store.0)
                }
            };
            let is_same = self.shape.is_own(spot.0)
                && stores
                    .iter()
                    .all(|(store, _)| is_early(store) || is_behind(store));
            return match is_same {
                true => self.copy_of_load(load).map(Some),
                false => Ok(None),
            };
        }
        // The last store of the iteration before the load, if it is one on all paths.
        let mut at = spot;
        loop {
            let here = stores
                .iter()
                .filter(|(store, _)| store.0 == at.0 && store.1 < at.1);
            if let Some((_, value)) = here.max_by_key(|(store, _)| store.1) {
                return self.value(*value, when, depth + 1);
            }
            if at.0 == self.shape.header {
                break;
            }
            let [above] = self.shape.cfg.preds(at.0) else {
                if stores.iter().any(|(store, _)| is_early(store)) {
                    return Ok(None);
                }
                break;
            };
            at = (*above, usize::MAX);
        }
        if when == When::First {
            return self.copy_of_load(load).map(Some);
        }
        let late: Vec<(Spot, Id)> = stores
            .iter()
            .filter(|(store, _)| !is_early(store))
            .copied()
            .collect();
        match late.as_slice() {
            [] => self.copy_of_load(load).map(Some),
            [(store, value)] if self.shape.is_in_each(store.0) => {
                self.value(*value, When::Now, depth + 1)
            }
            _ => Ok(None),
        }
    }

    /// Whether a store may be executed before the end of the first barrier, in its iteration.
    fn is_before_on_some_path(&self, store: Spot) -> bool {
        if store.0 == self.shape.block {
            store.1 < self.shape.barrier
        } else {
            !self.shape.dominators.dominates(self.shape.block, store.0)
        }
    }

    fn copy_of_load(&mut self, load: Inst<'m>) -> Result<Id, Diagnostic> {
        self.make(Op::Load, load.words.to_vec(), load.offset)
    }
}
