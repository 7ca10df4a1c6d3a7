//! Copies in loops that fill: `for (i = lane; i < n; i += 256) tile[i] = source[i]`. In one run of
//! the loop an invocation writes no byte twice, so an iteration need not wait for the copies of
//! those before it; only what is left of an earlier run of the loop is in its way.

use super::address::Address;
use super::candidate::Candidate;
use super::expression::Expression;
use super::induction::{self, Induction};
use super::sum::Sum;
use crate::analysis::loops::{Loop, Loops};
use crate::analysis::uniformity::Model;
use crate::analysis::uniformity::graph::{NodeId, Op};
use crate::module::BlockIndex;
use std::collections::{BTreeMap, BTreeSet};

/// The copies that fill.
#[derive(Clone, Debug, Default)]
pub(super) struct Fills {
    /// By number among the candidates.
    copies: BTreeSet<usize>,
    /// By block that leads into their loops: the copies.
    entered: BTreeMap<BlockIndex, BTreeSet<usize>>,
}

impl Fills {
    /// Those of `candidates`, which go to `addresses`.
    pub(super) fn analyze(
        model: &Model,
        loops: &Loops,
        size: Option<[u32; 3]>,
        candidates: &[Candidate],
        addresses: &[Address],
    ) -> Fills {
        let mut fills = Fills::default();
        let mut counters: BTreeMap<BlockIndex, Vec<Induction>> = BTreeMap::new();
        for (copy, (candidate, address)) in candidates.iter().zip(addresses).enumerate() {
            // The innermost loop, in one of whose turns the copy is made once.
            let natural = loops.natural.iter().flatten();
            let around = natural.filter(|inside| inside.body.contains(&candidate.block));
            let innermost = around.min_by_key(|inside| inside.body.len());
            let Some(inside) = innermost.filter(|inside| !repeats(model, inside, candidate.block))
            else {
                continue;
            };
            let counters = counters
                .entry(inside.header)
                .or_insert_with(|| induction::counters(model, &loops.dominators, inside, size));
            let fills_by = |counter: &Induction| {
                let mut indices = address.nodes.iter();
                indices.any(|index| differs(model, inside, *counter, *index))
            };
            if !counters.iter().any(fills_by) {
                continue;
            }
            fills.copies.insert(copy);
            for block in model.cfg.preds(inside.header) {
                if !inside.body.contains(block) {
                    fills.entered.entry(*block).or_default().insert(copy);
                }
            }
        }
        fills
    }

    /// Returns true if copy `copy` fills.
    pub(super) fn contains(&self, copy: usize) -> bool {
        self.copies.contains(&copy)
    }

    /// The copies that fill in a loop which `block` leads into.
    pub(super) fn entered_from(&self, block: BlockIndex) -> impl Iterator<Item = usize> + '_ {
        self.entered.get(&block).into_iter().flatten().copied()
    }
}

/// Returns true if control can come to `block` twice in one iteration of the loop: a cycle in it
/// that is no loop with one way in.
fn repeats(model: &Model, inside: &Loop, block: BlockIndex) -> bool {
    let mut seen = BTreeSet::new();
    let mut work = vec![block];
    while let Some(at) = work.pop() {
        for next in model.cfg.succs(at) {
            if *next == block && block != inside.header {
                return true;
            }
            if *next != inside.header && inside.body.contains(next) && seen.insert(*next) {
                work.push(*next);
            }
        }
    }
    false
}

/// Returns true if `index` has another value in each iteration of the loop: the counter and
/// something that stays, or the counter divided by no more than its step.
fn differs(model: &Model, inside: &Loop, counter: Induction, index: NodeId) -> bool {
    let sum = Sum::analyze(model, index);
    let (counters, others): (Vec<NodeId>, Vec<NodeId>) =
        sum.terms.into_iter().partition(|term| *term == counter.phi);
    if counters.len() == 1 {
        return others.iter().all(|term| stays(model, inside, *term));
    }
    let node = model.graph.node(index);
    let [dividend, divisor] = node.args.as_slice() else {
        return false;
    };
    let number = match model.graph.node(*divisor).op {
        Op::Number(number) => number,
        _ => return false, // not known
    };
    let divisor = match node.op {
        Op::Pure(opcode, _) if opcode == spirv::Op::UDiv as u16 => number,
        Op::Pure(opcode, _) if opcode == spirv::Op::ShiftRightLogical as u16 => {
            let shift = u32::try_from(number).unwrap_or(u32::MAX);
            1u64.checked_shl(shift).unwrap_or(u64::MAX)
        }
        _ => return false, // not a quotient
    };
    *dividend == counter.phi && (1..=counter.step).contains(&divisor)
}

/// Returns true if `node` has one value for an invocation in all iterations of one run of the loop.
fn stays(model: &Model, inside: &Loop, node: NodeId) -> bool {
    let expression = Expression::analyze(&model.graph, node);
    expression.leaves().all(|leaf| {
        let leaf = model.graph.node(leaf);
        match leaf.op {
            Op::Number(_) | Op::Input(..) => true,
            Op::Phi => leaf
                .block
                .is_some_and(|block| !inside.body.contains(&block)),
            _ => false, // what may be computed anew
        }
    })
}
