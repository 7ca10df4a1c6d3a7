//! The control flow of the program that was compiled, as far as fences ask: blocks of words, and
//! what can come before what.

use splitbar_passes::analysis::cfg::Cfg;
use splitbar_passes::analysis::dominance::Dominators;
use splitbar_passes::analysis::loops::{Loop, natural};
use splitbar_passes::module::{BlockIndex, BlockMap, WordOffset};
use splitbar_plan::Fence;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Most loops that are looked at; in a function with more, only fences beside their synchronisation
/// count.
const MOST_LOOPS: usize = 1 << 10;

/// Words of the module, as half-open ranges.
pub type Words = Vec<Range<WordOffset>>;

/// The fences of an atomic operation of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Atomic {
    /// The fences before it.
    pub before: Vec<Fence>,
    /// The fences after it.
    pub after: Vec<Fence>,
}

/// The entry function: instructions are word offsets.
#[derive(Clone, Debug)]
pub struct ControlFlowSummary {
    cfg: Cfg,
    dominators: Dominators,
    /// `None`: too many.
    loops: Option<Vec<Loop>>,
    /// The words of each block.
    blocks: BlockMap<Range<WordOffset>>,
    /// Atomic operations: what invocations can synchronise by, beside barriers.
    pub(super) atomics: BTreeMap<WordOffset, Atomic>,
    /// Whatever touches memory.
    pub(super) accesses: BTreeSet<WordOffset>,
}

impl ControlFlowSummary {
    /// A function with the control flow `cfg`. `blocks` has the words of each of its blocks, in
    /// order; `atomics` has its atomic operations by word, `accesses` the words of everything that
    /// accesses memory.
    pub fn new(
        cfg: Cfg,
        blocks: BlockMap<Range<WordOffset>>,
        atomics: BTreeMap<WordOffset, Atomic>,
        accesses: BTreeSet<WordOffset>,
    ) -> ControlFlowSummary {
        let dominators = Dominators::analyze(&cfg);
        ControlFlowSummary {
            loops: natural(&cfg, &dominators, MOST_LOOPS),
            dominators,
            cfg,
            blocks,
            atomics,
            accesses,
        }
    }

    /// The number of blocks.
    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// All blocks.
    pub(super) fn all(&self) -> impl Iterator<Item = BlockIndex> + use<> {
        BlockIndex::all(self.len())
    }

    /// The block of a word; `None` where it is not the function's, or control cannot come.
    pub(super) fn block_of(&self, word: WordOffset) -> Option<BlockIndex> {
        let block = self
            .blocks
            .values()
            .as_slice()
            .partition_point(|block| block.start <= word)
            .checked_sub(1)?;
        let block = BlockIndex::new(block);
        let inside = self.blocks.get(block)?.contains(&word);
        (inside && self.cfg.is_reachable(block)).then_some(block)
    }

    /// The words of a block, none of one that the function does not have.
    pub(super) fn words(&self, block: BlockIndex) -> Range<WordOffset> {
        self.blocks.get(block).cloned().unwrap_or_default()
    }

    /// Returns true if anything in `words` accesses memory.
    pub(super) fn accesses_in(&self, words: &[Range<WordOffset>]) -> bool {
        words
            .iter()
            .filter(|range| range.start < range.end)
            .any(|range| self.accesses.range(range.clone()).next().is_some())
    }

    /// The blocks that control goes to from `block`, or comes from.
    pub(super) fn next(&self, block: BlockIndex, forward: bool) -> &[BlockIndex] {
        if forward {
            self.cfg.succs(block)
        } else {
            self.cfg.preds(block)
        }
    }

    /// Returns true if every path to `block` leads through `over`, and `block` is in every loop
    /// that `over` is in: then machine code, in which divergent branches are laid one after the
    /// other, has no way around either.
    pub(super) fn leads_through(&self, over: BlockIndex, block: BlockIndex) -> bool {
        let Some(loops) = &self.loops else {
            return false; // too many to say
        };
        self.dominators.dominates(over, block)
            && loops
                .iter()
                .all(|one| !one.body.contains(&over) || one.body.contains(&block))
    }

    /// The blocks that can be reached from `from` without passing through `not`, `from` itself only
    /// where control comes back to it.
    pub(super) fn reach(
        &self,
        from: BlockIndex,
        not: Option<BlockIndex>,
        forward: bool,
    ) -> BTreeSet<BlockIndex> {
        let mut found = BTreeSet::new();
        let mut todo = vec![from];
        while let Some(block) = todo.pop() {
            for next in self.next(block, forward) {
                let through = Some(*next) != not && self.cfg.is_reachable(*next);
                if through && found.insert(*next) {
                    todo.push(*next);
                }
            }
        }
        found
    }

    /// The blocks that control may come through on the way to `block`, or from it, without another
    /// iteration of a loop that `block` is in; all others stand on other sides of branches. `None`
    /// when there are too many loops to say.
    pub(super) fn on_the_way(&self, block: BlockIndex) -> Option<BTreeSet<BlockIndex>> {
        let loops = self.loops.as_ref()?;
        let begins_again = |from: BlockIndex, to: BlockIndex| {
            self.cfg.order(from) >= self.cfg.order(to)
                && loops
                    .iter()
                    .any(|one| one.header == to && one.body.contains(&block))
        };
        let mut found = BTreeSet::from([block]);
        for forward in [true, false] {
            let mut seen = BTreeSet::from([block]);
            let mut todo = vec![block];
            while let Some(block) = todo.pop() {
                for next in self.next(block, forward) {
                    let (from, to) = if forward {
                        (block, *next)
                    } else {
                        (*next, block)
                    };
                    if !begins_again(from, to) && self.cfg.is_reachable(*next) && seen.insert(*next)
                    {
                        todo.push(*next);
                    }
                }
            }
            found.extend(seen);
        }
        Some(found)
    }
}
