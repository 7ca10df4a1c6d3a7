//! Values of the iterations that follow the current one, and of the first ones before the loop.
//!
//! An iteration begins with values for the phis of the header and for variables. What the one after
//! it begins with is computed from these, by instructions of the loop that are written again. They
//! may be executed where there is no such iteration, so that none may fail.

use super::copy::Names;
use super::shape::Shape;
use super::slice::Slice;
use super::unfailing::{cannot_fail, variable_at_constants};
use super::values::{MOST_DEPTH, MOST_MADE, Made, Values, Variables, is_copied, is_plain};
use crate::analysis::phases::Effects;
use crate::diagnostic::Diagnostic;
use crate::module::{Id, Inst};
use crate::transform::edit::Edit;
use crate::transform::whole_variables::Spot;
use spirv::Op;
use std::collections::BTreeMap;

/// The iteration that others are counted from.
enum Begin<'v, 'm> {
    /// The current one, after its first barrier.
    Now(Values<'v, 'm>),
    /// The first one, before the loop.
    First,
}

/// The values of one iteration.
#[derive(Default)]
struct Iteration {
    /// Results of instructions of the loop.
    known: BTreeMap<Id, Id>,
    /// What variables hold when it begins.
    held: BTreeMap<Id, Id>,
    made: Vec<Made>,
}

/// Values of an iteration, number 0, and of those after it.
pub(in crate::transform) struct Iterations<'v, 'm> {
    shape: &'v Shape<'v, 'm>,
    effects: &'v Effects<'v, 'm>,
    variables: &'v Variables,
    begin: Begin<'v, 'm>,
    /// By number.
    iterations: BTreeMap<usize, Iteration>,
}

impl<'v, 'm> Iterations<'v, 'm> {
    /// The current iteration and those after it, computed after its first barrier.
    pub(in crate::transform) fn now(
        shape: &'v Shape<'v, 'm>,
        effects: &'v Effects<'v, 'm>,
        variables: &'v Variables,
    ) -> Self {
        Iterations {
            begin: Begin::Now(Values::new(shape, effects, variables)),
            ..Iterations::first(shape, effects, variables)
        }
    }

    /// The first iteration and those after it, computed before the loop.
    pub(in crate::transform) fn first(
        shape: &'v Shape<'v, 'm>,
        effects: &'v Effects<'v, 'm>,
        variables: &'v Variables,
    ) -> Self {
        Iterations {
            shape,
            effects,
            variables,
            begin: Begin::First,
            iterations: BTreeMap::new(),
        }
    }

    /// The instructions that compute the values that were asked for, in order.
    pub(in crate::transform) fn into_made(self) -> Vec<Made> {
        let mut made = match self.begin {
            Begin::Now(values) => values.made,
            Begin::First => Vec::new(),
        };
        made.extend(self.iterations.into_values().flat_map(|one| one.made));
        made
    }

    /// The condition of the loop's exit in an iteration; `None`: it cannot be computed.
    pub(in crate::transform) fn condition(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        number: usize,
    ) -> Result<Option<Id>, Diagnostic> {
        self.value(edit, number, self.shape.exit.condition, 0)
    }

    /// Selects the second or the third of three conditions by the first one, in the place of an
    /// iteration's values.
    pub(in crate::transform) fn select(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        number: usize,
        [condition, then, otherwise]: [Id; 3],
    ) -> Result<Id, Diagnostic> {
        let bool = edit.type_of(Op::TypeBool, &[])?;
        let result = edit.fresh()?;
        let words = [0, bool, result, condition.0, then.0, otherwise.0];
        let function = self.shape.function;
        let exit = function.block(self.shape.exit.block);
        let exit = exit.and_then(|block| block.terminator());
        let origin = exit
            .ok_or_else(|| Diagnostic::bug("a loop has no end"))?
            .offset;
        self.iteration(number).made.push(Made {
            op: Op::Select,
            words: words.to_vec(),
            origin,
        });
        Ok(Id(result))
    }

    /// The values that an iteration begins with, for the phis and the variables of a slice; `None`:
    /// that cannot be computed.
    pub(in crate::transform) fn names(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        number: usize,
        slice: &Slice,
    ) -> Result<Option<Names>, Diagnostic> {
        let mut names = Names::new();
        for phi in &slice.phis {
            match self.phi(edit, number, *phi, 0)? {
                Some(value) => names.insert(*phi, value.0),
                None => return Ok(None),
            };
        }
        for (variable, load) in &slice.variables {
            let load = self.shape.inst(*load);
            let load = load.ok_or_else(|| Diagnostic::bug("a load is not there"))?;
            match self.held(edit, number, (*variable, load), 0)? {
                Some(value) => names.insert(*variable, value.0),
                None => return Ok(None),
            };
        }
        Ok(Some(names))
    }

    /// What a phi of the header is in an iteration.
    fn phi(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        number: usize,
        phi: Id,
        depth: usize,
    ) -> Result<Option<Id>, Diagnostic> {
        match number.checked_sub(1) {
            Some(before) => match self.shape.phi_from(phi, self.shape.latch_label) {
                Some(value) => self.value(edit, before, value, depth),
                None => Ok(None),
            },
            None => Ok(match self.begin {
                Begin::Now(_) => Some(phi),
                Begin::First => self.shape.phi_from(phi, self.shape.front_label),
            }),
        }
    }

    /// What a variable holds when an iteration begins. `load`: a load of it.
    fn held(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        number: usize,
        (variable, load): (Id, Inst<'m>),
        depth: usize,
    ) -> Result<Option<Id>, Diagnostic> {
        if let Some(known) = self.iteration(number).held.get(&variable) {
            return Ok(Some(*known));
        }
        let Some(before) = number.checked_sub(1) else {
            return match self.begin {
                Begin::Now(_) => Ok(None), // the stage has stored to it
                Begin::First => self.load_again(edit, number, load).map(Some),
            };
        };
        if let (0, Begin::Now(values)) = (before, &mut self.begin) {
            return values.of_variable(edit, variable, load);
        }
        let stores = self.variables.get(&variable).map_or(&[][..], Vec::as_slice);
        let value = match stores {
            [] => self.held(edit, before, (variable, load), depth + 1)?,
            [(store, value)] if self.shape.is_in_each(store.0) => {
                self.value(edit, before, *value, depth + 1)?
            }
            // Any value is right.
            _ if self.is_overwritten(variable) => Some(self.load_again(edit, number, load)?),
            _ => None,
        };
        let held = value.map(|value| (variable, value));
        self.iteration(number).held.extend(held);
        Ok(value)
    }

    /// The value of `id` in an iteration.
    fn value(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        number: usize,
        id: Id,
        depth: usize,
    ) -> Result<Option<Id>, Diagnostic> {
        if let (0, Begin::Now(values)) = (number, &mut self.begin) {
            return values.get(edit, id);
        }
        if let Some(known) = self.iteration(number).known.get(&id) {
            return Ok(Some(*known));
        }
        let Some(spot) = self.shape.spots.get(&id).copied() else {
            return Ok(Some(id)); // from outside of the loop
        };
        let Some(inst) = self.shape.inst(spot) else {
            return Ok(None);
        };
        if depth > MOST_DEPTH || self.iteration(number).made.len() > MOST_MADE {
            return Ok(None);
        }
        let is_of_header = spot.0 == self.shape.header;
        let value = match inst.op() {
            Some(Op::Phi) if is_of_header => self.phi(edit, number, id, depth + 1)?,
            Some(Op::Load) => self.load(edit, number, (inst, spot), depth)?,
            Some(_)
                if is_copied(edit.declarations, self.effects, inst)
                    && cannot_fail(edit.declarations, inst) =>
            {
                self.copy(edit, number, inst, depth)?
            }
            _ => None,
        };
        let known = value.map(|value| (id, value));
        self.iteration(number).known.extend(known);
        Ok(value)
    }

    fn load(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        number: usize,
        (load, spot): (Inst<'m>, Spot),
        depth: usize,
    ) -> Result<Option<Id>, Diagnostic> {
        let Ok(pointer) = load.id(0) else {
            return Ok(None);
        };
        if let Some(stores) = self.variables.get(&pointer) {
            let is_own = self.shape.is_own(spot.0);
            if is_own && stores.iter().all(|(store, _)| self.precedes(spot, *store)) {
                return self.held(edit, number, (pointer, load), depth + 1);
            }
            return match stores.as_slice() {
                [(store, value)] if self.precedes(*store, spot) => {
                    self.value(edit, number, *value, depth + 1)
                }
                _ => Ok(None), // not always the same
            };
        }
        let effect = self.effects.instruction(load);
        let is_kept = self.shape.keeps_own(self.effects, load);
        let is_constant = effect.reads.is_empty() && !effect.ordering_barrier && is_kept;
        if !is_constant
            || !is_plain(edit.declarations, load)
            || variable_at_constants(edit.declarations, pointer).is_none()
        {
            return Ok(None);
        }
        self.copy(edit, number, load, depth)
    }

    fn copy(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        number: usize,
        inst: Inst<'m>,
        depth: usize,
    ) -> Result<Option<Id>, Diagnostic> {
        let mut words = inst.words.to_vec();
        for (index, id) in edit.module().ids(inst).skip(2) {
            let Some(value) = self.value(edit, number, id, depth + 1)? else {
                return Ok(None);
            };
            if let Some(word) = words.get_mut(index) {
                *word = value.0;
            }
        }
        self.make(edit, number, inst, words).map(Some)
    }

    /// Loads a variable in this place.
    fn load_again(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        number: usize,
        load: Inst<'m>,
    ) -> Result<Id, Diagnostic> {
        let value = self.make(edit, number, load, load.words.to_vec())?;
        let variable = load.id(0).ok().map(|variable| (variable, value));
        self.iteration(number).held.extend(variable);
        Ok(value)
    }

    fn make(
        &mut self,
        edit: &mut Edit<'_, 'm>,
        number: usize,
        inst: Inst<'m>,
        mut words: Vec<u32>,
    ) -> Result<Id, Diagnostic> {
        let lost = || Diagnostic::bug("an instruction of a loop is not there");
        let op = inst.op().ok_or_else(lost)?;
        let result = edit.fresh()?;
        *words.get_mut(2).ok_or_else(lost)? = result;
        let origin = inst.offset;
        let made = &mut self.iteration(number).made;
        made.push(Made { op, words, origin });
        Ok(Id(result))
    }

    fn iteration(&mut self, number: usize) -> &mut Iteration {
        self.iterations.entry(number).or_default()
    }

    /// Returns true if an iteration comes to one instruction before it comes to the other one.
    fn precedes(&self, first: Spot, then: Spot) -> bool {
        if first.0 == then.0 {
            first.1 < then.1
        } else {
            self.shape.dominators.dominates(first.0, then.0)
        }
    }

    /// Returns true if an iteration stores to a variable before each load of it.
    fn is_overwritten(&self, variable: Id) -> bool {
        let stores = self.variables.get(&variable).into_iter().flatten();
        let stores: Vec<Spot> = stores.map(|(store, _)| *store).collect();
        self.shape.blocks.iter().all(|number| {
            let insts = self.shape.function.block(*number).into_iter();
            let mut insts = insts.flat_map(|block| block.insts.iter().enumerate());
            insts.all(|(index, inst)| {
                let is_load = inst.op() == Some(Op::Load) && inst.id(0).ok() == Some(variable);
                let load = (*number, index);
                !is_load || stores.iter().any(|store| self.precedes(*store, load))
            })
        })
    }
}
