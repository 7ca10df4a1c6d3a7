//! The part of a loop before its first barrier: a graph without back edges. Loops in it are passed
//! as a whole.

use crate::analysis::cfg::Cfg;
use crate::module::{BlockIndex, Function};
use spirv::Op;
use std::collections::{BTreeMap, BTreeSet};

/// Blocks of a region.
const MOST_BLOCKS: usize = 2048;

/// What control comes to before the first barrier of an iteration.
pub(in crate::transform) struct Region {
    /// Its blocks without those of inner loops, each before those that control comes to from it.
    /// The first is the header, the last the block with the barrier.
    pub(in crate::transform) blocks: Vec<BlockIndex>,
    succs: BTreeMap<BlockIndex, Vec<BlockIndex>>,
    /// The merge blocks that selections name.
    merges: BTreeMap<BlockIndex, BlockIndex>,
    /// By block that control comes in by: the inner loops there.
    inner: BTreeMap<BlockIndex, Inner>,
}

/// Inner loops, one after the other, with no block of the outer loop between them.
pub(in crate::transform) struct Inner {
    /// Their blocks.
    pub(in crate::transform) blocks: BTreeSet<BlockIndex>,
    /// Where control goes on after them.
    pub(in crate::transform) behind: BlockIndex,
    /// The blocks of the region that it comes from.
    pub(in crate::transform) preds: BTreeSet<BlockIndex>,
}

impl Region {
    /// The region between `header` and `last`. `inside` are the blocks of the loop, `own` those of
    /// them that are in no loop inside of it.
    pub(in crate::transform) fn analyze(
        function: &Function<'_>,
        cfg: &Cfg,
        [header, last]: [BlockIndex; 2],
        inside: &BTreeSet<BlockIndex>,
        own: &BTreeSet<BlockIndex>,
    ) -> Option<Region> {
        let mut region = Region {
            blocks: Vec::new(),
            succs: BTreeMap::new(),
            merges: BTreeMap::new(),
            inner: BTreeMap::new(),
        };
        let mut work = vec![header];
        while let Some(block) = work.pop() {
            if region.succs.contains_key(&block) {
                continue;
            }
            if region.succs.len() == MOST_BLOCKS {
                return None;
            }
            let mut succs = Vec::new();
            let all = cfg.succs(block).iter().filter(|_| block != last);
            for next in all.filter(|next| inside.contains(next)) {
                let next = if own.contains(next) {
                    *next
                } else {
                    if !region.inner.contains_key(next) {
                        region.inner.insert(*next, around(cfg, *next, inside, own)?);
                    }
                    let inner = region.inner.get_mut(next)?;
                    inner.preds.insert(block);
                    inner.behind
                };
                if cfg.order(next)? <= cfg.order(block)? {
                    return None; // a way back
                }
                if !succs.contains(&next) {
                    succs.push(next);
                }
            }
            let end = function.block(block)?.end()?;
            if end.op() == Some(Op::SelectionMerge) {
                let merge = cfg.index_of(end.id(0).ok()?)?;
                region.merges.insert(block, merge);
            }
            work.extend(&succs);
            region.succs.insert(block, succs);
        }
        region.blocks = region.succs.keys().copied().collect();
        region.blocks.sort_by_key(|block| cfg.order(*block));
        (region.blocks.last() == Some(&last)).then_some(region)
    }

    pub(in crate::transform) fn has(&self, block: BlockIndex) -> bool {
        self.succs.contains_key(&block)
    }

    /// Where control goes from a block, in the region.
    pub(in crate::transform) fn succs(&self, block: BlockIndex) -> &[BlockIndex] {
        self.succs.get(&block).map_or(&[], Vec::as_slice)
    }

    /// The merge block that the selection at the end of `block` names, in the region.
    pub(in crate::transform) fn merge(&self, block: BlockIndex) -> Option<BlockIndex> {
        let merge = self.merges.get(&block).copied();
        merge.filter(|merge| self.has(*merge))
    }

    /// Where control goes on when it goes to `block`, with loops passed.
    pub(in crate::transform) fn beyond(&self, block: BlockIndex) -> BlockIndex {
        self.inner.get(&block).map_or(block, |inner| inner.behind)
    }

    /// Inner loops, by the block that control comes in by.
    pub(in crate::transform) fn inner(&self) -> &BTreeMap<BlockIndex, Inner> {
        &self.inner
    }

    /// The block that control comes in by to the inner loops that `block` is in.
    pub(in crate::transform) fn inner_of(&self, block: BlockIndex) -> Option<BlockIndex> {
        let mut inner = self.inner.iter();
        let found = inner.find(|(_, inner)| inner.blocks.contains(&block));
        found.map(|(entry, _)| *entry)
    }

    /// The blocks whose branches decide by themselves whether control comes to `block`: it always
    /// does by one of their ways, and need not by another.
    pub(in crate::transform) fn controllers(&self, block: BlockIndex) -> Vec<BlockIndex> {
        let leads = self.leading(block);
        let some = |at: &&BlockIndex| self.succs(**at).iter().any(|next| leads.contains(next));
        let others = self.blocks.iter().filter(|at| !leads.contains(at));
        others.filter(some).copied().collect()
    }

    /// Returns true if control always comes from `block` to `end`.
    pub(in crate::transform) fn leads_to(&self, block: BlockIndex, end: BlockIndex) -> bool {
        self.leading(end).contains(&block)
    }

    /// The blocks from which control always comes to `block`, itself among them.
    fn leading(&self, block: BlockIndex) -> BTreeSet<BlockIndex> {
        let mut leading = BTreeSet::from([block]);
        for at in self.blocks.iter().rev() {
            let succs = self.succs(*at);
            if !succs.is_empty() && succs.iter().all(|next| leading.contains(next)) {
                leading.insert(*at);
            }
        }
        leading
    }

    /// The blocks that control comes to from `block` before it comes to `end`.
    pub(in crate::transform) fn between(
        &self,
        block: BlockIndex,
        end: BlockIndex,
    ) -> BTreeSet<BlockIndex> {
        let mut found = BTreeSet::new();
        let mut work = self.succs(block).to_vec();
        while let Some(next) = work.pop() {
            if next != end && found.insert(next) {
                work.extend(self.succs(next));
            }
        }
        found
    }
}

/// The inner loop that control enters by `block`, and those that follow it, if it goes on from them
/// to one place, in the loop, and comes in by one.
fn around(
    cfg: &Cfg,
    block: BlockIndex,
    inside: &BTreeSet<BlockIndex>,
    own: &BTreeSet<BlockIndex>,
) -> Option<Inner> {
    let mut seen = BTreeSet::from([block]);
    let mut work = vec![block];
    let mut behind = None;
    while let Some(at) = work.pop() {
        for next in cfg.succs(at) {
            if own.contains(next) {
                if *behind.get_or_insert(*next) != *next {
                    return None;
                }
            } else if !inside.contains(next) {
                return None;
            } else if seen.insert(*next) {
                work.push(*next);
            }
        }
    }
    Some(Inner {
        blocks: seen,
        behind: behind?,
        preds: BTreeSet::new(),
    })
}
