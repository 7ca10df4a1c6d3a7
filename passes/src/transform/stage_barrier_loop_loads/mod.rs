//! Stages the global loads that fill shared memory in barrier loops one iteration ahead: software
//! pipelining of
//!
//! ```text
//! loop { tile = load; shared = tile; barrier; compute; barrier }
//! ```
//!
//! which becomes
//!
//! ```text
//! if (first) tile = load(first);
//! loop { shared = tile; barrier; if (next) tile = load(next); compute; barrier }
//! ```
//!
//! The loads of the next iteration stand behind the first barrier and in front of the work on this
//! one's tile, and their latency is hidden by it. When the barriers are split, the window of the
//! first has the loads, which nothing in it waits for. The tile is in registers over the work: as
//! many more as a lane loads.
//!
//! Of which loops. One way in, one way back, and one way out, by a branch on a condition. All
//! iterations come to an OpControlBarrier of the workgroup before any other barrier. In its block
//! and before it stand loads whose values are stored to shared memory there. Address and condition
//! of the next iteration can be computed behind that barrier from this one's values: phis of the
//! header, variables of the class Function that are stored once after the barrier, values from
//! outside of the loop, inputs and constants, and arithmetic with these (`values.rs`).
//!
//! Why it is right. Nothing in the loop writes memory that a staged load may read, and nothing but
//! barriers of the workgroup orders any, so what an iteration loads is there when the first barrier
//! of the iteration before has been passed. No load is executed that was not: the first stands
//! under the condition of the loop where that is asked before it, and the loads of the next
//! iteration under that iteration's.

mod shape;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod values;

use super::edit::Edit;
use super::inlined::{entries, follow, inlined};
use super::move_split_barriers::look;
use super::registry::PassOptions;
use super::rewrite::Edited;
use crate::analysis::loops::Loops;
use crate::analysis::phases::Effects;
use crate::analysis::phases::mutant::{Rule, is_out};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{Constants, Declarations, Id, Inst, Module, SpecValues, WordOffset};
use shape::Shape;
use spirv::Op;
use std::collections::{BTreeMap, BTreeSet};
use values::{Made, Values, When};

/// Loops of a function that are looked at, and that are staged.
const MOST_LOOPS: usize = 64;

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    _: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<Edited>, Diagnostics> {
    let is_whole = |inst: Inst<'_>| inst.op() == Some(Op::ControlBarrier);
    if !module.instructions().any(is_whole) {
        return Ok(None);
    }
    inlined(module, declarations, |declarations| {
        let mut done = stage_one(declarations)?;
        for _ in 0..MOST_LOOPS {
            let Some(first) = &done else {
                break;
            };
            match follow(first, stage_one)? {
                Some(next) => done = Some(next),
                None => break,
            }
        }
        Ok(done)
    })
}

/// Stages the loads of the first loop that has some.
fn stage_one(declarations: &Declarations<'_>) -> Result<Option<Edited>, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let constants = Constants::evaluate(declarations, &SpecValues::default(), &mut diagnostics);
    for entry in entries(declarations) {
        let (body, cfg) = look(declarations, &constants, entry, false, &mut diagnostics);
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        let effects = Effects::of(declarations, &constants, entry.1);
        let loops = Loops::of(&cfg, MOST_LOOPS);
        for shape in shape::shapes(entry.1, &cfg, &loops, &body) {
            let mut edit = Edit::new(declarations);
            let staged = Staging {
                edit: &mut edit,
                shape: &shape,
                effects: &effects,
                constants: &constants,
            }
            .stage()?;
            if staged {
                return edit.finish();
            }
        }
    }
    Ok(None)
}

struct Staging<'s, 'd, 'm> {
    edit: &'s mut Edit<'d, 'm>,
    shape: &'s Shape<'s, 'm>,
    effects: &'s Effects<'s, 'm>,
    constants: &'s Constants,
}

/// What is computed in one place: first what is always, then what is under a condition.
struct Part {
    always: Vec<Made>,
    condition: Option<u32>,
    guarded: Vec<Made>,
    /// By load: its value.
    loads: BTreeMap<Id, u32>,
}

impl<'m> Staging<'_, '_, 'm> {
    /// Notes the changes; whether there are some.
    fn stage(&mut self) -> Result<bool, Diagnostic> {
        let wanted = self
            .shape
            .loads(self.edit.declarations, self.effects, self.constants);
        if wanted.is_empty() {
            return Ok(false);
        }
        let Some(mut first) = self.part(When::First, &wanted)? else {
            return Ok(false);
        };
        let Some(mut next) = self.part(When::Next, &wanted)? else {
            return Ok(false);
        };
        let loads: Vec<Inst<'m>> = wanted
            .into_iter()
            .filter(|load| {
                let has = |part: &Part| {
                    let result = load.result();
                    result.is_some_and(|result| part.loads.contains_key(&result))
                };
                has(&first) && has(&next)
            })
            .collect();
        if loads.is_empty() {
            return Ok(false);
        }
        let (front, front_end) = self.write_part(self.shape.front_end, &mut first, &loads)?;
        let (turn, turn_end) = self.write_part(self.shape.behind, &mut next, &loads)?;
        self.rename_phis(front_end, turn_end)?;
        for load in &loads {
            let (Some(ty), Some(result)) = (load.result_type(), load.result()) else {
                return Err(Diagnostic::bug("a load has no result").at_word(load.offset));
            };
            let value = |values: &BTreeMap<Id, u32>| values.get(&result).copied().unwrap_or(0);
            let latch = if self.shape.latch == self.shape.block {
                turn_end
            } else {
                None
            };
            let operands = [
                ty.0,
                result.0,
                value(&front),
                front_end.unwrap_or(self.shape.front_label.0),
                value(&turn),
                latch.unwrap_or(self.shape.latch_label.0),
            ];
            self.edit
                .before_from(self.shape.header_first, load.offset, Op::Phi, &operands)?;
            self.edit.remove(load.offset);
        }
        self.remove_unused(&loads, [&first, &next]);
        Ok(true)
    }

    /// Values of the loads, and of the condition that they stand under. `None`: the condition
    /// cannot be computed there.
    fn part(&mut self, when: When, wanted: &[Inst<'m>]) -> Result<Option<Part>, Diagnostic> {
        let mut values = Values::new(self.edit, self.shape, self.effects);
        let is_guarded = (when == When::Next || self.shape.exit.is_first) && !is_out(Rule::Guarded);
        let mut condition = None;
        if is_guarded {
            let when = if self.shape.exit.is_first {
                when
            } else {
                When::Now // asked at the end of this iteration
            };
            condition = values.get(self.shape.exit.condition, when)?;
            if condition.is_none() {
                return Ok(None);
            }
        }
        let always = std::mem::take(&mut values.made);
        values.may_load = true;
        let mut loads = BTreeMap::new();
        for load in wanted {
            let kept = values.made.len();
            match (load.result(), values.load_of(*load, when)?) {
                (Some(result), Some(value)) => {
                    loads.insert(result, value.0);
                }
                _ => values.forget(kept),
            }
        }
        Ok(Some(Part {
            always,
            condition: condition.map(|id| id.0),
            guarded: values.made,
            loads,
        }))
    }

    /// Writes a part before the instruction at `place`: the values of the loads behind it, and the
    /// label of the block that ends there, where it is a new one.
    fn write_part(
        &mut self,
        place: WordOffset,
        part: &mut Part,
        loads: &[Inst<'m>],
    ) -> Result<(BTreeMap<Id, u32>, Option<u32>), Diagnostic> {
        for made in &part.always {
            self.write(place, made)?;
        }
        let Some(condition) = part.condition else {
            for made in &part.guarded {
                self.write(place, made)?;
            }
            return Ok((part.loads.clone(), None));
        };
        let (then, end) = (self.edit.fresh()?, self.edit.fresh()?);
        let before = if place == self.shape.front_end {
            self.shape.front_label
        } else {
            self.shape.label
        };
        self.edit.before(place, Op::SelectionMerge, &[end, 0])?;
        let targets = if self.shape.exit.stays_if_true {
            [condition, then, end]
        } else {
            [condition, end, then]
        };
        self.edit.before(place, Op::BranchConditional, &targets)?;
        self.edit.before(place, Op::Label, &[then])?;
        for made in &part.guarded {
            self.write(place, made)?;
        }
        self.edit.before(place, Op::Branch, &[end])?;
        self.edit.before(place, Op::Label, &[end])?;
        let mut values = BTreeMap::new();
        for load in loads {
            let (Some(ty), Some(result)) = (load.result_type(), load.result()) else {
                return Err(Diagnostic::bug("a load has no result").at_word(load.offset));
            };
            let undefined = self.edit.global(Op::Undef, &[ty.0, 0], 1)?;
            let phi = self.edit.fresh()?;
            let value = part.loads.get(&result).copied().unwrap_or(undefined);
            let operands = [ty.0, phi, value, then, undefined, before.0];
            self.edit
                .before_from(place, load.offset, Op::Phi, &operands)?;
            values.insert(result, phi);
        }
        Ok((values, Some(end)))
    }

    fn write(&mut self, place: WordOffset, made: &Made) -> Result<(), Diagnostic> {
        let operands = made.words.get(1..).unwrap_or(&[]);
        self.edit.before_from(place, made.origin, made.op, operands)
    }

    /// Phis behind a block that was cut take their values from its last part.
    fn rename_phis(&mut self, front: Option<u32>, turn: Option<u32>) -> Result<(), Diagnostic> {
        for phi in &self.shape.phis {
            let mut operands = phi.words.get(1..).unwrap_or(&[]).to_vec();
            for from in operands.iter_mut().skip(3).step_by(2) {
                if let Some(front) = front
                    && *from == self.shape.front_label.0
                {
                    *from = front;
                } else if let Some(turn) = turn
                    && *from == self.shape.label.0
                {
                    *from = turn;
                }
            }
            if phi.words.get(1..) != Some(&operands) {
                self.edit.replace(phi.offset, Op::Phi, &operands)?;
            }
        }
        Ok(())
    }

    /// Takes away what only the staged loads have needed.
    fn remove_unused(&mut self, loads: &[Inst<'m>], parts: [&Part; 2]) {
        let module = self.edit.module();
        let mut uses: BTreeMap<u32, usize> = BTreeMap::new();
        for inst in module.instructions() {
            let result = inst.result();
            for (_, id) in module.ids(inst).filter(|(_, id)| Some(*id) != result) {
                *uses.entry(id.0).or_default() += 1;
            }
        }
        let made = parts
            .into_iter()
            .flat_map(|part| part.always.iter().chain(&part.guarded));
        for word in made.flat_map(|made| &made.words) {
            *uses.entry(*word).or_default() += 1;
        }
        let conditions = parts.into_iter().filter_map(|part| part.condition);
        for id in conditions {
            *uses.entry(id).or_default() += 1;
        }
        let mut gone: BTreeSet<WordOffset> = loads.iter().map(|load| load.offset).collect();
        let mut free = loads.to_vec();
        while let Some(inst) = free.pop() {
            for (_, id) in module.ids(inst) {
                let Some(left) = uses.get_mut(&id.0) else {
                    continue;
                };
                *left = left.saturating_sub(1);
                let unused = *left == 0;
                let def = self.shape.before_barrier(id).filter(|_| unused);
                if let Some(def) = def.filter(|def| self.is_only_a_value(*def))
                    && gone.insert(def.offset)
                {
                    self.edit.remove(def.offset);
                    free.push(def);
                }
            }
        }
    }

    /// Whether nothing is lost with an instruction whose result nobody uses.
    fn is_only_a_value(&self, inst: Inst<'m>) -> bool {
        let effect = self.effects.instruction(inst);
        let is_quiet = !effect.stops && effect.writes.is_empty();
        is_quiet && inst.op() != Some(Op::Store) && self.effects.own(inst).is_some()
    }
}
