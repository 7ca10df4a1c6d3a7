//! The part of a loop in front of its first barrier: a graph without back edges. Loops in it are
//! passed as a whole.

use crate::analysis::cfg::Cfg;
use crate::module::{BlockIndex, Function};
use spirv::Op;
use std::collections::{BTreeMap, BTreeSet};

/// Blocks of a region.
const MOST_BLOCKS: usize = 512;

/// What control comes to before the first barrier of an iteration.
pub(super) struct Region {
    /// Its blocks without those of inner loops, each before those that control comes to from it.
    /// The first is the header, the last the block with the barrier.
    pub(super) blocks: Vec<BlockIndex>,
    succs: BTreeMap<BlockIndex, Vec<BlockIndex>>,
    /// The merge blocks that selections name.
    merges: BTreeMap<BlockIndex, BlockIndex>,
    /// By block of an inner loop that control comes in by: where it goes on behind it.
    behind: BTreeMap<BlockIndex, BlockIndex>,
}

impl Region {
    /// The region between `header` and `last`. `inside` are the blocks of the loop, `own` those of
    /// them that are in no loop inside of it.
    pub(super) fn analyze(
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
            behind: BTreeMap::new(),
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
                    let behind = around(cfg, *next, inside, own)?;
                    region.behind.insert(*next, behind);
                    behind
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

    pub(super) fn has(&self, block: BlockIndex) -> bool {
        self.succs.contains_key(&block)
    }

    /// Where control goes from a block, in the region.
    pub(super) fn succs(&self, block: BlockIndex) -> &[BlockIndex] {
        self.succs.get(&block).map_or(&[], Vec::as_slice)
    }

    /// The merge block that the selection at the end of `block` names, in the region.
    pub(super) fn merge(&self, block: BlockIndex) -> Option<BlockIndex> {
        let merge = self.merges.get(&block).copied();
        merge.filter(|merge| self.has(*merge))
    }

    /// Where control goes on when it goes to `block`, with loops passed.
    pub(super) fn beyond(&self, block: BlockIndex) -> BlockIndex {
        self.behind.get(&block).copied().unwrap_or(block)
    }

    /// The blocks that control comes to from `block` before it comes to `end`.
    pub(super) fn between(&self, block: BlockIndex, end: BlockIndex) -> BTreeSet<BlockIndex> {
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

/// Where control comes from the inner loop that it enters by `block`, and from those that follow
/// it: one place, in the loop.
fn around(
    cfg: &Cfg,
    block: BlockIndex,
    inside: &BTreeSet<BlockIndex>,
    own: &BTreeSet<BlockIndex>,
) -> Option<BlockIndex> {
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
    behind
}
