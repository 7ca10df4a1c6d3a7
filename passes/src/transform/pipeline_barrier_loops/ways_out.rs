//! The place after a loop where all ways out of it meet.

use super::find::Facts;
use crate::analysis::phases::{Effect, Role};
use crate::module::BlockIndex;
use crate::transform::barrier_loop::shape::Shape;
use spirv::Op;
use std::collections::BTreeSet;

/// Blocks that are passed on one way.
const MOST_PASSED: usize = 16;

/// The first block that all ways out of a loop lead to, past blocks that touch no memory of others,
/// if control comes to it from the loop alone.
pub(super) fn meeting(facts: &Facts<'_, '_>, shape: &Shape<'_, '_>) -> Option<BlockIndex> {
    let mut ways = Vec::new();
    for at in &shape.leaving {
        let succs = facts.cfg.succs(*at).iter();
        let outside = succs.filter(|next| !shape.blocks.contains(next));
        ways.extend(outside.map(|next| way(facts, *next)));
    }
    let (first, others) = ways.split_first()?;
    let is_common = |at: &&BlockIndex| others.iter().all(|way| way.contains(at));
    let target = *first.iter().find(is_common)?;
    let passed = ways
        .iter()
        .flat_map(|way| way.iter().take_while(|at| **at != target));
    let passed: BTreeSet<BlockIndex> = passed.copied().collect();
    let is_from_the_loop = |at: &BlockIndex| {
        let mut preds = facts.cfg.preds(*at).iter();
        preds.all(|pred| shape.blocks.contains(pred) || passed.contains(pred))
    };
    let mut all = passed.iter().chain([&target]);
    all.all(is_from_the_loop).then_some(target)
}

/// The blocks that control comes to from `block` on, as far as there is one way and all before the
/// last touch no memory of others.
fn way(facts: &Facts<'_, '_>, block: BlockIndex) -> Vec<BlockIndex> {
    let mut found = vec![block];
    let mut at = block;
    while found.len() <= MOST_PASSED
        && is_quiet(facts, at)
        && let [next] = facts.cfg.succs(at)
        && !found.contains(next)
    {
        found.push(*next);
        at = *next;
    }
    found
}

fn is_quiet(facts: &Facts<'_, '_>, block: BlockIndex) -> bool {
    let end = facts.function.block(block).and_then(|of| of.terminator());
    let is_branch = end.is_some_and(|end| end.op() == Some(Op::Branch));
    let mut items = facts.body.block(block).iter();
    is_branch
        && items.all(|item| !matches!(item.role, Role::Half(..)) && item.effect == Effect::NONE)
}
