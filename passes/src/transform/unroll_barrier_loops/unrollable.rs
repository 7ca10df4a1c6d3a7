//! A loop that can be unrolled.

use crate::analysis::cfg::Cfg;
use crate::analysis::dominance::Dominators;
use crate::module::{BlockIndex, Function, Inst};
use std::collections::BTreeSet;

/// A loop that can be unrolled.
pub(super) struct Unrollable<'f, 'm> {
    pub(super) function: &'f Function<'m>,
    pub(super) cfg: &'f Cfg,
    pub(super) dominators: &'f Dominators,
    pub(super) blocks: BTreeSet<BlockIndex>,
    /// Those of its blocks that are in no loop inside of it.
    pub(super) own: BTreeSet<BlockIndex>,
    pub(super) header: BlockIndex,
    pub(super) latch: BlockIndex,
    /// The block in front of it.
    pub(super) front: BlockIndex,
    /// The block that control leaves it from.
    pub(super) exit: BlockIndex,
    /// Where control goes from there: in the loop, and out of it.
    pub(super) stays: BlockIndex,
    pub(super) leaves: BlockIndex,
    /// True if it stays when the condition is true.
    pub(super) stays_if_true: bool,
}

impl<'m> Unrollable<'_, 'm> {
    /// The instructions of the loop.
    pub(super) fn insts(&self) -> impl Iterator<Item = Inst<'m>> {
        let blocks = self.blocks.iter().filter_map(|at| self.function.block(*at));
        blocks.flat_map(|block| block.insts.iter().copied())
    }

    /// The blocks that the last iteration comes to, which leaves the loop.
    pub(super) fn last(&self) -> BTreeSet<BlockIndex> {
        let mut found = BTreeSet::from([self.header]);
        let mut work = vec![self.header];
        while let Some(block) = work.pop() {
            if block == self.exit {
                continue;
            }
            for next in self.cfg.succs(block) {
                if self.blocks.contains(next) && found.insert(*next) {
                    work.push(*next);
                }
            }
        }
        found
    }

    /// Returns true if nothing leads from behind the way out to what the last iteration comes to
    /// before it.
    pub(super) fn is_in_order(&self) -> bool {
        let last = self.last();
        let is_alone = |block: &BlockIndex| {
            let mut preds = self.cfg.preds(*block).iter();
            preds.all(|pred| last.contains(pred) || !self.cfg.is_reachable(*pred))
        };
        last.iter()
            .all(|block| *block == self.header || is_alone(block))
    }
}
