//! Computes how far an arrive or a wait can move.

use crate::analysis::cfg::Cfg;
use crate::analysis::components::strongly_connected;
use crate::analysis::dominance::{Dominators, PostDominators};
use crate::analysis::loops::{Loop, Loops};
use crate::analysis::phases::mutant::{Rule, is_out};
use crate::analysis::phases::{Body, Effect, Item, MemoryRegions, Role};
use crate::module::{BlockIndex, BlockMap};

/// Most loops that are looked at; in a function with more of them halves stay in their blocks.
const MOST_LOOPS: usize = 1 << 12;

/// Which way a half goes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::transform) enum Way {
    /// An arrive.
    Up,
    /// A wait.
    Down,
}

/// Before which item of which block a half stands.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::transform) struct HalfPosition {
    pub(in crate::transform) block: BlockIndex,
    pub(in crate::transform) index: usize,
}

/// What a half may not pass: what conflicts with `zone`, the other side of its barrier, in the
/// memory that the barrier may order.
#[derive(Copy, Clone, Debug)]
pub(in crate::transform) struct Limit {
    zone: Effect,
    may_order: MemoryRegions,
}

impl Limit {
    pub(in crate::transform) fn new(zone: Effect, may_order: MemoryRegions) -> Limit {
        Limit {
            zone: zone.within(may_order),
            may_order,
        }
    }

    /// Returns true if the half may pass `item`.
    pub(in crate::transform) fn lets(self, item: &Item) -> bool {
        let stops = item.effect.ordering_barrier && !is_out(Rule::Stops);
        let conflicts = self.zone.conflicts(item.effect.within(self.may_order));
        !stops && (!conflicts || is_out(Rule::Conflicts))
    }
}

/// Where a half gets to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Travel {
    pub(super) to: HalfPosition,
    /// Instructions that it passes, structure left out.
    pub(super) gain: usize,
}

/// The graph of a function, as far as motion asks for it.
pub(in crate::transform) struct Terrain<'c> {
    pub(in crate::transform) cfg: &'c Cfg,
    pub(in crate::transform) loops: Loops,
    pub(in crate::transform) post: PostDominators,
    /// The innermost loop around each block; `None`: too many loops.
    innermost: Option<BlockMap<Option<usize>>>,
    /// Whether a block is on a cycle that goes through no header of a natural loop: how often
    /// control comes to it is not known.
    is_irreducible: BlockMap<bool>,
}

impl<'c> Terrain<'c> {
    pub(in crate::transform) fn analyze(cfg: &'c Cfg) -> Terrain<'c> {
        let loops = Loops::analyze(cfg, MOST_LOOPS);
        Terrain {
            cfg,
            post: PostDominators::analyze(cfg),
            innermost: loops.innermost(cfg.len()),
            is_irreducible: irreducible(cfg, &loops.dominators),
            loops,
        }
    }

    /// Returns true if control comes to `above` exactly as often as to `below`, and there first.
    pub(in crate::transform) fn are_equivalent(
        &self,
        above: BlockIndex,
        below: BlockIndex,
    ) -> bool {
        above == below
            || (self.loops.dominators.dominates(above, below)
                && self.post.post_dominates(below, above)
                && self.is_same_loop(above, below))
    }

    pub(in crate::transform) fn is_same_loop(&self, one: BlockIndex, other: BlockIndex) -> bool {
        let innermost = |block: BlockIndex| self.innermost.as_ref()?.get(block).copied();
        let is_counted = |block: BlockIndex| self.is_irreducible.get(block) == Some(&false);
        is_counted(one)
            && is_counted(other)
            && innermost(one).is_some_and(|found| innermost(other) == Some(found))
    }

    /// Returns true if `block` is in the innermost loop around `inner`, or that is in none.
    fn is_in_loop_of(&self, inner: BlockIndex, block: BlockIndex) -> bool {
        let innermost = self
            .innermost
            .as_ref()
            .and_then(|all| all.get(inner).copied());
        match innermost {
            None => false, // too many
            Some(None) => true,
            Some(Some(_)) => {
                let around = self.innermost_loop(inner);
                around.is_some_and(|around| around.body.contains(&block))
            }
        }
    }

    /// The innermost loop around `block`.
    pub(super) fn innermost_loop(&self, block: BlockIndex) -> Option<&Loop> {
        let index = (*self.innermost.as_ref()?.get(block)?)?;
        self.loops.natural.as_ref()?.get(index)
    }

    /// The next block that control comes to exactly as often as to `block`, and those between the
    /// two on some path.
    pub(in crate::transform) fn next(
        &self,
        block: BlockIndex,
        way: Way,
    ) -> Option<(BlockIndex, Vec<BlockIndex>)> {
        let mut at = block;
        loop {
            at = match way {
                Way::Up => self.loops.dominators.immediate(at)?,
                Way::Down => self.post.immediate(at)?,
            };
            let (above, below) = match way {
                Way::Up => (at, block),
                Way::Down => (block, at),
            };
            if self.are_equivalent(above, below) {
                return Some((at, self.between(block, at, way)));
            }
            // An inner loop may lie between; out of the loop around nothing leads back.
            let is_beside = self.loops.dominators.dominates(above, below)
                && self.post.post_dominates(below, above)
                && self.is_in_loop_of(block, at);
            if !is_beside {
                return None;
            }
        }
    }

    /// The blocks on paths from `from` to `to`, without both.
    fn between(&self, from: BlockIndex, to: BlockIndex, way: Way) -> Vec<BlockIndex> {
        let neighbours = |block| match way {
            Way::Up => self.cfg.preds(block),
            Way::Down => self.cfg.succs(block),
        };
        let mut seen = BlockMap::filled(self.cfg.len(), false);
        let mut found = Vec::new();
        let mut work = vec![from];
        while let Some(block) = work.pop() {
            for next in neighbours(block) {
                let is_path = *next != to && *next != from && self.leads(*next);
                if is_path
                    && seen
                        .get_mut(*next)
                        .is_some_and(|seen| !std::mem::replace(seen, true))
                {
                    found.push(*next);
                    work.push(*next);
                }
            }
        }
        found
    }

    /// Returns true if a run can come through `block`.
    fn leads(&self, block: BlockIndex) -> bool {
        self.cfg.is_reachable(block) && self.post.reaches_end(block)
    }

    /// The way of a half that stands at `from`, and the instructions that were looked at.
    pub(super) fn travel(
        &self,
        body: &Body,
        from: HalfPosition,
        way: Way,
        limit: Limit,
        work: &mut usize,
    ) -> Travel {
        let mut travel = Travel { to: from, gain: 0 };
        let mut start = match way {
            Way::Up => from.index,
            Way::Down => from.index + 1,
        };
        let mut block = from.block;
        loop {
            let (reached, passed, is_free) = in_block(
                body,
                HalfPosition {
                    block,
                    index: start,
                },
                way,
                limit,
            );
            *work += passed + 1;
            travel.gain += passed;
            if passed > 0 || block != from.block {
                travel.to = HalfPosition {
                    block,
                    index: reached,
                };
            }
            if !is_free {
                return travel;
            }
            let Some((next, between)) = self.next(block, way) else {
                return travel;
            };
            let mut gain = 0;
            for item in between.iter().flat_map(|block| body.block(*block)) {
                *work += 1;
                if !limit.lets(item) {
                    return travel;
                }
                gain += weight(item);
            }
            *work += self.cfg.len();
            travel.gain += gain;
            block = next;
            start = match way {
                Way::Up => end(body, block),
                Way::Down => top(body, block),
            };
        }
    }
}

/// The blocks on cycles that are left when nothing leads back to a block that dominates it.
fn irreducible(cfg: &Cfg, dominators: &Dominators) -> BlockMap<bool> {
    let forward = |from: BlockIndex| {
        let succs = cfg.succs(from).iter().copied();
        succs.filter(move |to| !dominators.dominates(*to, from))
    };
    let graph: BlockMap<Vec<BlockIndex>> =
        cfg.blocks().map(|from| forward(from).collect()).collect();
    let component = strongly_connected(cfg.len(), |block| graph.get(block).map_or(&[], |to| to));
    let mut sizes = vec![0_usize; cfg.len()];
    for number in component.values() {
        if let Some(size) = sizes.get_mut(*number) {
            *size += 1;
        }
    }
    let is_cycle = |number: &usize| sizes.get(*number).is_some_and(|size| *size > 1);
    component.values().map(is_cycle).collect()
}

/// Goes on in the block of `from`: where it ends, how many instructions are passed, and whether the
/// end of the block is reached.
pub(super) fn in_block(
    body: &Body,
    from: HalfPosition,
    way: Way,
    limit: Limit,
) -> (usize, usize, bool) {
    let items = body.block(from.block);
    let (mut at, mut passed) = (from.index, 0);
    loop {
        let next = match way {
            Way::Up => at.checked_sub(1).and_then(|index| items.get(index)),
            Way::Down => items.get(at),
        };
        match next {
            None => return (at, passed, true),
            Some(item) => match (item.role, way) {
                (Role::First, Way::Up) | (Role::Last, Way::Down) => return (at, passed, true),
                (Role::Half(..), _) => return (at, passed, false),
                _ if !limit.lets(item) => return (at, passed, false),
                (Role::First | Role::Plain | Role::Last, _) => {
                    passed += weight(item);
                    at = match way {
                        Way::Up => at - 1,
                        Way::Down => at + 1,
                    };
                }
            },
        }
    }
}

/// The first place of a block that a half may have.
pub(super) fn top(body: &Body, block: BlockIndex) -> usize {
    let items = body.block(block).iter();
    items.take_while(|item| item.role == Role::First).count()
}

/// The last place of a block that a half may have.
pub(super) fn end(body: &Body, block: BlockIndex) -> usize {
    let items = body.block(block).iter();
    items.take_while(|item| item.role != Role::Last).count()
}

/// What an instruction counts in a window.
pub(super) fn weight(item: &Item) -> usize {
    usize::from(item.role == Role::Plain)
}
