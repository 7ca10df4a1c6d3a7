//! Loops whose counters constants decide: which values these have whenever a block is executed.

use crate::analysis::dominance::Dominators;
use crate::analysis::loops::Loop;
use crate::analysis::uniformity::lanes::{Fixed, of_all_where};
use crate::analysis::uniformity::{Branch, Model};
use crate::module::BlockIndex;

/// Most iterations that are looked at.
const MOST_ITERATIONS: usize = 256;

/// What the counters of `innermost`, the loop around `block`, are, for each iteration that executes
/// it; `None` unless every invocation that comes to the loop executes the block in exactly these
/// iterations.
pub(super) fn iterations(
    model: &Model,
    dominators: &Dominators,
    innermost: &Loop,
    block: BlockIndex,
) -> Option<Vec<Vec<Fixed>>> {
    let cfg = &model.cfg;
    let (latch, front) = innermost.latch_and_front(cfg)?;
    let mut exits = innermost.body.iter().filter(|from| {
        let mut to = cfg.succs(**from).iter();
        to.any(|to| !innermost.body.contains(to)) || cfg.succs(**from).is_empty()
    });
    let exit = *exits.next()?;
    let dominates = |over, block| dominators.dominates(over, block);
    // The block is executed once in every iteration, or in all but the last.
    let is_first = dominates(block, exit);
    let is_whole = dominates(block, latch) && (is_first || dominates(exit, block));
    if exits.next().is_some() || !is_whole || !dominates(exit, latch) {
        return None;
    }
    let Branch::If { condition, yes, no } = model.branches.get(exit)? else {
        return None;
    };
    let stays = match [yes, no].map(|to| innermost.body.contains(to)) {
        [true, false] => true,
        [false, true] => false,
        _ => return None,
    };
    let graph = &model.graph;
    let phis = model.phis.get(innermost.header)?;
    let argument = |phi, from| {
        let node = graph.node(phi);
        let place = node.from.iter().position(|block| *block == from)?;
        node.args.get(place).copied()
    };
    let begin = |phi| Some((phi, of_all_where(graph, argument(phi, front)?, &[])?));
    let mut counters: Vec<Fixed> = phis.iter().filter_map(|phi| begin(*phi)).collect();
    let mut found = Vec::new();
    loop {
        let goes_on = (of_all_where(graph, *condition, &counters)? != 0) == stays;
        if is_first || goes_on {
            found.push(counters.clone());
        }
        if !goes_on {
            return Some(found);
        }
        if found.len() >= MOST_ITERATIONS {
            return None;
        }
        let next = |phi| Some((phi, of_all_where(graph, argument(phi, latch)?, &counters)?));
        counters = counters.iter().filter_map(|(phi, _)| next(*phi)).collect();
    }
}
