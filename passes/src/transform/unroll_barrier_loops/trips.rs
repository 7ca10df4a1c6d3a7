//! The trip count of a loop.

use super::Unrollable;
use crate::module::{BlockIndex, Constants, Declarations, Id, Inst};
use crate::transform::whole_variables::{Spot, whole_variables};
use spirv::Op;
use std::collections::BTreeMap;

/// Longest way from a value to the constants that it follows from.
const MOST_DEPTH: usize = 32;

/// How many iterations go on, if they are fewer than `most`; the one that follows leaves the loop.
pub(super) fn stays(
    declarations: &Declarations<'_>,
    constants: &Constants,
    unrollable: &Unrollable<'_, '_>,
    most: usize,
) -> Option<usize> {
    let mut trips = Trips::analyze(declarations, constants, unrollable)?;
    for count in 0..most {
        let condition = trips.value(trips.condition, 0)? != 0;
        if condition != unrollable.stays_if_true {
            return Some(count);
        }
        trips.go_on();
    }
    None
}

/// One iteration. Values have 32 bits, or are truth values.
struct Trips<'t, 'm> {
    declarations: &'t Declarations<'m>,
    constants: &'t Constants,
    unrollable: &'t Unrollable<'t, 'm>,
    condition: Id,
    /// Where instructions of the loop stand.
    spots: BTreeMap<Id, Spot>,
    /// Variables with their stores in the loop.
    variables: BTreeMap<Id, Vec<(Spot, Id)>>,
    /// What phis of the header are and what variables hold when the iteration begins; those that
    /// are not there are not known.
    state: BTreeMap<Id, u32>,
}

impl<'t, 'm> Trips<'t, 'm> {
    fn analyze(
        declarations: &'t Declarations<'m>,
        constants: &'t Constants,
        unrollable: &'t Unrollable<'t, 'm>,
    ) -> Option<Self> {
        let function = unrollable.function;
        let mut spots = BTreeMap::new();
        for block in &unrollable.blocks {
            let insts = function.block(*block)?.insts.iter().enumerate();
            let results = insts.filter_map(|(index, inst)| Some((inst.result()?, (*block, index))));
            spots.extend(results);
        }
        let branch = function.block(unrollable.exit)?.terminator()?;
        let mut trips = Trips {
            declarations,
            constants,
            unrollable,
            condition: branch.id(0).ok()?,
            spots,
            variables: whole_variables(declarations, function),
            state: BTreeMap::new(),
        };
        let front = function.block(unrollable.front)?.label;
        let first = trips.phis(front);
        let held = trips.variables.iter();
        let held: Vec<(Id, u32)> = held
            .filter_map(|(variable, stores)| Some((*variable, trips.held(*variable, stores)?)))
            .collect();
        trips.state = first.into_iter().chain(held).collect();
        let is_inside = |(spot, _): &(Spot, Id)| unrollable.blocks.contains(&spot.0);
        let variables = trips.variables.values_mut();
        variables.for_each(|stores| stores.retain(is_inside));
        Some(trips)
    }

    /// What the phis of the header become when control comes from `label`.
    fn phis(&self, label: Id) -> BTreeMap<Id, u32> {
        let header = self.unrollable.function.block(self.unrollable.header);
        let insts = header.into_iter().flat_map(|block| &block.insts);
        let phis = insts.take_while(|inst| inst.op() == Some(Op::Phi));
        let value = |phi: &Inst<'_>| {
            let mut pairs = phi.operands().chunks_exact(2);
            let pair = pairs.find(|pair| pair.get(1) == Some(&label.0))?;
            Some((phi.result()?, self.value(Id(*pair.first()?), 0)?))
        };
        phis.filter_map(value).collect()
    }

    /// What a variable holds in front of the loop.
    fn held(&self, variable: Id, stores: &[(Spot, Id)]) -> Option<u32> {
        let mut at = self.unrollable.front;
        for _ in 0..self.unrollable.cfg.len() {
            let here = stores.iter().filter(|(spot, _)| spot.0 == at);
            if let Some((_, value)) = here.max_by_key(|(spot, _)| spot.1) {
                return self.constant(*value);
            }
            at = match self.unrollable.cfg.preds(at) {
                [above] => *above,
                [] => {
                    let def = self.declarations.module.def(variable)?;
                    return self.constant(def.id(1).ok()?);
                }
                _ => return None, // ways that may have stored different values
            };
        }
        None
    }

    fn constant(&self, id: Id) -> Option<u32> {
        let constant = self.constants.get(id)?;
        constant.as_u32().or(constant.as_bool().map(u32::from))
    }

    /// Goes to the next iteration.
    fn go_on(&mut self) {
        let latch = self.unrollable.function.block(self.unrollable.latch);
        let mut next = latch.map_or_else(BTreeMap::new, |latch| self.phis(latch.label));
        for (variable, stores) in &self.variables {
            let value = match stores.as_slice() {
                [] => self.state.get(variable).copied(),
                [(spot, value)] if self.is_in_each(spot.0) => self.value(*value, 0),
                _ => None, // not always the same
            };
            next.extend(value.map(|value| (*variable, value)));
        }
        self.state = next;
    }

    /// Returns true if every iteration that goes on comes to `block` once.
    fn is_in_each(&self, block: BlockIndex) -> bool {
        let dominators = self.unrollable.dominators;
        self.unrollable.own.contains(&block) && dominators.dominates(block, self.unrollable.latch)
    }

    /// The value of `id` in this iteration.
    fn value(&self, id: Id, depth: usize) -> Option<u32> {
        let Some(spot) = self.spots.get(&id) else {
            return self.constant(id);
        };
        if depth > MOST_DEPTH || !self.unrollable.own.contains(&spot.0) {
            return None;
        }
        let block = self.unrollable.function.block(spot.0)?;
        let inst = block.insts.get(spot.1)?;
        match inst.op()? {
            Op::Phi => {
                let is_of_header = spot.0 == self.unrollable.header;
                self.state.get(&id).copied().filter(|_| is_of_header)
            }
            Op::Load => self.loaded(inst.id(0).ok()?, *spot, depth),
            op => {
                let is_narrow = inst.operands().len() <= 2;
                let mut values = inst
                    .operands()
                    .iter()
                    .map(|id| self.value(Id(*id), depth + 1));
                let first = values.next()??;
                let second = values.next().unwrap_or(Some(0))?;
                let of_32_bits = inst.operands().iter().all(|id| self.has_32_bits(Id(*id)));
                (is_narrow && of_32_bits)
                    .then(|| folded(op, first, second))
                    .flatten()
            }
        }
    }

    /// Returns true if a value is an integer of 32 bits, or a truth value.
    fn has_32_bits(&self, id: Id) -> bool {
        use crate::module::Type;
        let ty = self.declarations.type_of(id);
        let ty = ty.and_then(|ty| self.declarations.ty(ty));
        matches!(ty, Some(Type::Int { width: 32, .. } | Type::Bool))
    }

    /// What a load of a variable gives.
    fn loaded(&self, variable: Id, spot: Spot, depth: usize) -> Option<u32> {
        let comes_first = |one: Spot, other: Spot| {
            if one.0 == other.0 {
                one.1 < other.1
            } else {
                self.unrollable.dominators.dominates(one.0, other.0)
            }
        };
        match self.variables.get(&variable)?.as_slice() {
            [] => self.state.get(&variable).copied(),
            [(store, value)] if self.is_in_each(store.0) => {
                if comes_first(*store, spot) {
                    self.value(*value, depth + 1)
                } else if comes_first(spot, *store) {
                    self.state.get(&variable).copied()
                } else {
                    None
                }
            }
            _ => None, // not always the same
        }
    }
}

/// The result of an operation on integers of 32 bits, where SPIR-V defines it.
fn folded(op: Op, a: u32, b: u32) -> Option<u32> {
    let (x, y) = (a as i32, b as i32);
    let truth = |value: bool| Some(u32::from(value));
    match op {
        Op::CopyObject | Op::Bitcast => Some(a),
        Op::IAdd => Some(a.wrapping_add(b)),
        Op::ISub => Some(a.wrapping_sub(b)),
        Op::IMul => Some(a.wrapping_mul(b)),
        Op::UDiv => a.checked_div(b),
        Op::SDiv => x.checked_div(y).map(|value| value as u32),
        Op::ShiftLeftLogical => a.checked_shl(b),
        Op::ShiftRightLogical => a.checked_shr(b),
        Op::ShiftRightArithmetic => x.checked_shr(b).map(|value| value as u32),
        Op::IEqual | Op::LogicalEqual => truth(a == b),
        Op::INotEqual | Op::LogicalNotEqual => truth(a != b),
        Op::ULessThan => truth(a < b),
        Op::ULessThanEqual => truth(a <= b),
        Op::UGreaterThan => truth(a > b),
        Op::UGreaterThanEqual => truth(a >= b),
        Op::SLessThan => truth(x < y),
        Op::SLessThanEqual => truth(x <= y),
        Op::SGreaterThan => truth(x > y),
        Op::SGreaterThanEqual => truth(x >= y),
        Op::LogicalNot => truth(a == 0),
        _ => None, // not of loops' conditions
    }
}
