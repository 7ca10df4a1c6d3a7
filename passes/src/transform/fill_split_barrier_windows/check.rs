//! Checks that the moved instructions passed only instructions that they may pass. It compares the
//! function before and after, independently of the code that moves.

use super::facts::Facts;
use crate::analysis::cfg::Cfg;
use crate::analysis::dominance::Dominators;
use crate::analysis::phases::{Body, Effect, Item, Own, Role};
use crate::diagnostic::{Diagnostic, WitnessStep};
use crate::module::{BlockIndex, WordOffset};
use std::collections::{BTreeMap, BTreeSet};

/// Instructions that are looked at; what moved in a larger function is not asked.
const MOST_WORK: usize = 1 << 24;

/// Where an instruction stands: the place of its block in reverse postorder, the block, and its
/// place there.
type Spot = (usize, BlockIndex, usize);

/// Asks of each of the instructions that have `moved` whether it has changed places with one whose
/// order with it can be told. Halves of barriers are left to `still_ordered`.
pub(super) fn program_order(
    before: &Body,
    after: &Body,
    moved: &BTreeSet<WordOffset>,
    cfg: &Cfg,
    facts: &Facts,
) -> Result<(), Diagnostic> {
    let dominators = Dominators::analyze(cfg);
    let (old, new) = (spots(before, cfg), spots(after, cfg));
    let mut work = 0;
    for offset in moved {
        let (Some((from, item)), Some((to, _))) = (old.get(offset), new.get(offset)) else {
            return Err(Diagnostic::bug("code motion lost an instruction").at_word(*offset));
        };
        let (above, below) = (from.min(to), from.max(to));
        // What control comes through from the one place to the other.
        let is_between = |block: BlockIndex| {
            let order = cfg.order(block);
            order.is_some_and(|order| (above.0..=below.0).contains(&order))
                && dominators.dominates(above.1, block)
        };
        let blocks = cfg.blocks().filter(|block| is_between(*block));
        let there = blocks.flat_map(|block| before.block(block).iter().chain(after.block(block)));
        for other in there {
            work += 1;
            if work > MOST_WORK {
                return Ok(());
            }
            let (Some((then, _)), Some((now, _))) =
                (old.get(&other.offset), new.get(&other.offset))
            else {
                return Err(
                    Diagnostic::bug("code motion added or removed an instruction")
                        .at_word(other.offset),
                );
            };
            if (then < from) != (now < to) && depends(item, other, facts) {
                let what = "an instruction was moved past one on which it depends";
                let other = WitnessStep::at(other.offset, "the one that it depends on");
                return Err(Diagnostic::bug(what).at_word(*offset).passing(other));
            }
        }
    }
    Ok(())
}

fn spots(body: &Body, cfg: &Cfg) -> BTreeMap<WordOffset, (Spot, Item)> {
    let mut spots = BTreeMap::new();
    for (block, items) in body.blocks.iter() {
        for (index, item) in items.iter().enumerate() {
            let order = cfg.order(block).unwrap_or(usize::MAX);
            spots.insert(item.offset, ((order, block, index), *item));
        }
    }
    spots
}

/// Returns true if it makes a difference which of the two comes first.
fn depends(one: &Item, other: &Item, facts: &Facts) -> bool {
    if one.offset == other.offset || matches!(other.role, Role::Half(..)) {
        return false;
    }
    let (Some(first), Some(second)) = (facts.at(one.offset), facts.at(other.offset)) else {
        return true;
    };
    let needs = |user: &[_], made: Option<_>| made.is_some_and(|made| user.contains(&made));
    let is_used =
        needs(&first.ids.uses, second.ids.result) || needs(&second.ids.uses, first.ids.result);
    let is_own = match (&first.own, &second.own) {
        (Some(first), Some(second)) => first.conflicts(second),
        // Nothing is known of the one that stays.
        (Some(first), None) => first.conflicts(&Own::unknown()),
        (None, _) => true,
    };
    let effect = |item: &Item| {
        if item.effect.ordering_barrier {
            Effect::UNKNOWN
        } else {
            item.effect
        }
    };
    is_used || is_own || effect(one).conflicts(effect(other))
}
