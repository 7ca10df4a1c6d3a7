//! Counters of loops that cannot wrap: a phi that grows by a constant in every iteration, in a loop
//! that a comparison ends in time. Its values in one run of the loop are all different.

use super::expression::Expression;
use super::sum::Sum;
use super::value::Value;
use crate::analysis::dominance::Dominators;
use crate::analysis::loops::{Loop, Loops};
use crate::analysis::uniformity::graph::{NodeId, Op};
use crate::analysis::uniformity::{Branch, Model};
use crate::module::BlockIndex;
use spirv::Op as Opcode;

/// A counter.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Induction {
    pub(super) phi: NodeId,
    /// What an iteration adds, not zero.
    pub(super) step: u64,
    /// Its bounds, whatever the loop begins with.
    pub(super) least: u64,
    pub(super) most: u64,
}

/// The phi `phi` as a counter of the loop that begins with its block, and that loop.
pub(super) fn of<'l>(
    model: &Model,
    loops: &'l Loops,
    size: Option<[u32; 3]>,
    phi: NodeId,
) -> Option<(Induction, &'l Loop)> {
    let header = model.graph.node(phi).block?;
    let mut natural = loops.natural.iter().flatten();
    let inside = natural.find(|inside| inside.header == header)?;
    let counter = counter(model, &loops.dominators, inside, size, phi)?;
    Some((counter, inside))
}

/// The counters of loop `inside`, for a workgroup of `size`.
pub(super) fn counters(
    model: &Model,
    dominators: &Dominators,
    inside: &Loop,
    size: Option<[u32; 3]>,
) -> Vec<Induction> {
    let phis = model.phis.get(inside.header).into_iter().flatten();
    phis.filter_map(|phi| counter(model, dominators, inside, size, *phi))
        .collect()
}

fn counter(
    model: &Model,
    dominators: &Dominators,
    inside: &Loop,
    size: Option<[u32; 3]>,
    phi: NodeId,
) -> Option<Induction> {
    let node = model.graph.node(phi);
    if !(1..=64).contains(&node.width) {
        return None;
    }
    let mut step = None;
    let mut first: Option<(u64, u64)> = None;
    for (from, arg) in node.from.iter().zip(&node.args) {
        if inside.body.contains(from) {
            let sum = Sum::analyze(model, *arg);
            let grows = sum.terms == [phi] && sum.constant > 0;
            if !grows || step.is_some_and(|step| step != sum.constant) {
                return None;
            }
            step = Some(sum.constant);
        } else {
            let Value { least, most, .. } = bounds(model, size, *arg);
            first = Some(first.map_or((least, most), |first| {
                (first.0.min(least), first.1.max(most))
            }));
        }
    }
    let (step, (least, first)) = step.zip(first)?;
    let latches = || {
        let preds = model.cfg.preds(inside.header).iter();
        preds.filter(|block| inside.body.contains(block))
    };
    let in_each_turn = |block: &&BlockIndex| {
        let block = **block;
        latches().all(|latch| dominators.dominates(block, *latch))
    };
    let most = inside.body.iter().filter(in_each_turn).find_map(|block| {
        let bound = staying(model, inside, *block)?.bound(model, size)?;
        bound.most_of(model, phi, step, first)
    })?;
    Some(Induction {
        phi,
        step,
        least,
        most,
    })
}

/// What `node` can be, whatever the phis are.
fn bounds(model: &Model, size: Option<[u32; 3]>, node: NodeId) -> Value {
    Expression::analyze(&model.graph, node).evaluate(&model.graph, size, |_| None)
}

/// A comparison that holds in every iteration but the last: `small < great`, or `small <= great`
/// where it is not strict.
struct Comparison {
    small: NodeId,
    great: NodeId,
    is_signed: bool,
    is_strict: bool,
}

/// The comparison at the end of `block`, if the loop is left there when it does not hold.
fn staying(model: &Model, inside: &Loop, block: BlockIndex) -> Option<Comparison> {
    let Branch::If { condition, yes, no } = model.branches.get(block)? else {
        return None;
    };
    let stays = |block: &BlockIndex| inside.body.contains(block);
    let mut holds = match (stays(yes), stays(no)) {
        (true, false) => true,
        (false, true) => false,
        (true, true) | (false, false) => return None,
    };
    let pure = |node: NodeId| match &model.graph.node(node).op {
        Op::Pure(opcode, _) => Opcode::from_u32(u32::from(*opcode)),
        _ => None, // a leaf or a phi
    };
    let mut condition = *condition;
    if pure(condition)? == Opcode::LogicalNot {
        condition = *model.graph.node(condition).args.first()?;
        holds = !holds;
    }
    let [left, right] = model.graph.node(condition).args.as_slice() else {
        return None;
    };
    // The graph writes all comparisons as these two, swapped or negated.
    let is_signed = match pure(condition)? {
        Opcode::ULessThan => false,
        Opcode::SLessThan => true,
        _ => return None, // another condition
    };
    let (small, great) = if holds {
        (*left, *right)
    } else {
        (*right, *left)
    };
    Some(Comparison {
        small,
        great,
        is_signed,
        is_strict: holds,
    })
}

impl Comparison {
    fn bound(self, model: &Model, size: Option<[u32; 3]>) -> Option<Bound> {
        let great = bounds(model, size, self.great);
        let all = u64::MAX >> 64u32.checked_sub(great.width).filter(|left| *left < 64)?;
        let limit = if self.is_signed { all >> 1 } else { all };
        Some(Bound {
            small: self.small,
            most: great
                .most
                .min(limit)
                .saturating_sub(u64::from(self.is_strict)),
            limit,
        })
    }
}

/// What an iteration that is not the last has compared.
struct Bound {
    /// It is no greater than `most`.
    small: NodeId,
    most: u64,
    /// The greatest number that compares as it should.
    limit: u64,
}

impl Bound {
    /// The greatest number of the counter `phi`, which begins with no more than `first` and grows
    /// by `step`, when this holds in each iteration but the last; `None` when that is beyond the
    /// limit.
    fn most_of(&self, model: &Model, phi: NodeId, step: u64, first: u64) -> Option<u64> {
        let sum = Sum::analyze(model, self.small);
        // What is compared is the counter, or the next one. Either way no turn but the last has a
        // greater one than these.
        let is_counter = sum.terms == [phi] && [0, step].contains(&sum.constant);
        let next = self.most.max(first).checked_add(step)?;
        (is_counter && next <= self.limit).then_some(next)
    }
}
