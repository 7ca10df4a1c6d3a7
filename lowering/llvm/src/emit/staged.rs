//! Copies to workgroup memory through registers: what has been loaded stays in a set of registers
//! until the plan says that it is stored.
//!
//! A set is stack slots that the optimiser turns into registers: the values, the address, and a
//! note whether the invocation holds something. The note is what makes an invocation that did not
//! copy not store, and is folded wherever all paths agree.

use super::function::FunctionEmitter;
use super::state::StagedSet;
use super::{Result, builtin};
use crate::ffi::{IntPredicate, Ty, Value};

/// A type of so many bytes, of words where it has several.
pub(super) fn plain<'c>(e: &FunctionEmitter<'_, 'c, '_>, bytes: u32) -> Ty<'c> {
    if bytes > 4 {
        e.b.int_type(32).vector(bytes / 4)
    } else {
        e.b.int_type(bytes * 8)
    }
}

impl<'c> FunctionEmitter<'_, 'c, '_> {
    /// Makes the sets of the plan, which hold nothing yet.
    pub(super) fn empty_sets(&mut self) -> Result<()> {
        let plan = self.kernel.plan;
        for shape in &plan.staged {
            let value = plain(self, shape.unit);
            let values = (0..shape.rounds).map(|_| self.stack_slot(value, shape.unit));
            let values = values.collect::<Result<_>>()?;
            let address = self.stack_slot(self.b.pointer_type(3), 8)?;
            let holds = self.stack_slot(self.b.int_type(32), 4)?;
            self.b.store(self.b.i32(0), holds, 4)?;
            self.barrier_state.staged.push(StagedSet {
                shape: *shape,
                values,
                address,
                holds,
            });
        }
        Ok(())
    }

    fn staged_set(&self, number: usize) -> Result<StagedSet<'c>> {
        let lacks = || self.b.internal("the plan has no such set of registers");
        self.barrier_state
            .staged
            .get(number)
            .cloned()
            .ok_or_else(lacks)
    }

    /// Writes one value into a set.
    pub(super) fn hold_value(&mut self, number: usize, round: u32, value: Value<'c>) -> Result<()> {
        let set = self.staged_set(number)?;
        let Some(slot) = set.values.get(round as usize) else {
            return Err(self.b.internal("a copy has more rounds than its registers"));
        };
        self.b.store(value, *slot, set.shape.unit)?;
        Ok(())
    }

    /// Notes that a set holds what goes to `address`.
    pub(super) fn hold(&mut self, number: usize, address: Value<'c>) -> Result<()> {
        let set = self.staged_set(number)?;
        self.b.store(address, set.address, 8)?;
        self.b.store(self.b.i32(1), set.holds, 4)?;
        Ok(())
    }

    /// Stores what a set holds, if it holds something.
    pub(super) fn store_staged(&mut self, number: usize) -> Result<()> {
        let b = self.b;
        let set = self.staged_set(number)?;
        let holds = b.load(b.int_type(32), set.holds, 4)?;
        let holds = b.icmp(IntPredicate::LLVMIntNE, holds, b.i32(0))?;
        self.when(holds, |e| {
            let address = b.load(b.pointer_type(3), set.address, 8)?;
            match set.shape.units {
                None => e.store_value(&set, 0, address)?,
                Some(units) => {
                    let rounds = Rounds {
                        first: builtin::local_invocation_index(e)?,
                        lane: b.i32(0),
                        each: builtin::invocations(e)?,
                        units: b.i32(units),
                        count: set.shape.rounds,
                    };
                    rounds.each(e, |e, round, unit| {
                        let bytes = b.mul(unit, b.i32(set.shape.unit))?;
                        e.store_value(&set, round, b.offset(address, bytes, false)?)
                    })?;
                }
            }
            b.store(b.i32(0), set.holds, 4)?;
            Ok(())
        })
    }

    fn store_value(&mut self, set: &StagedSet<'c>, round: u32, address: Value<'c>) -> Result<()> {
        let Some(slot) = set.values.get(round as usize) else {
            return Err(self.b.internal("a copy has more rounds than its registers"));
        };
        let value = self
            .b
            .load(plain(self, set.shape.unit), *slot, set.shape.unit)?;
        self.b.store(value, address, set.shape.unit)?;
        Ok(())
    }
}

/// Rounds of a copy of a group, written one after the other: in each every invocation moves a unit.
pub(super) struct Rounds<'c> {
    /// What the round of an invocation begins with, `i32`: the unit is that and `lane`.
    pub(super) first: Value<'c>,
    /// How far on the unit of this invocation is, `i32`.
    pub(super) lane: Value<'c>,
    /// Units of a round, `i32`.
    pub(super) each: Value<'c>,
    /// Units in all, `i32`.
    pub(super) units: Value<'c>,
    /// How many rounds.
    pub(super) count: u32,
}

impl<'c> Rounds<'c> {
    /// Does `move_unit` for each round, with what the round begins with, where the invocation has a
    /// unit in it.
    pub(super) fn each<'e, 'm>(
        &self,
        e: &mut FunctionEmitter<'e, 'c, 'm>,
        mut move_unit: impl FnMut(&mut FunctionEmitter<'e, 'c, 'm>, u32, Value<'c>) -> Result<()>,
    ) -> Result<()> {
        let b = e.b;
        for round in 0..self.count {
            let first = b.add(self.first, b.mul(self.each, b.i32(round))?)?;
            let all = match (self.units.as_u64(), self.each.as_u64()) {
                (Some(units), Some(each)) => u64::from(round + 1) * each <= units,
                _ => false,
            };
            if all {
                move_unit(e, round, first)?;
            } else {
                let unit = b.add(first, self.lane)?;
                if_there(e, unit, self.units, |e| move_unit(e, round, first))?;
            }
        }
        Ok(())
    }
}

/// Does `action` if `unit` is one of the first `units`.
pub(super) fn if_there<'e, 'c, 'm>(
    e: &mut FunctionEmitter<'e, 'c, 'm>,
    unit: Value<'c>,
    units: Value<'c>,
    action: impl FnOnce(&mut FunctionEmitter<'e, 'c, 'm>) -> Result<()>,
) -> Result<()> {
    let there = e.b.icmp(IntPredicate::LLVMIntULT, unit, units)?;
    e.when(there, action)
}
