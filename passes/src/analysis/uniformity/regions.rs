//! The region of a branch: the blocks between it and the merge of all its paths.
//!
//! Invocations that go different ways are taken to be together again at the immediate
//! post-dominator of the branch. SPIR-V grants that for the merge block of a construct; for a
//! `continue` and for a place inside of a construct where both ways meet,
//! SPV_KHR_maximal_reconvergence does, and compilers keep to it without.

use crate::analysis::cfg::Cfg;
use crate::analysis::dominance::PostDominators;
use crate::module::{BlockIndex, BlockMap};

/// Blocks between a branch and where its ways meet.
#[derive(Clone, Debug, Default)]
pub struct Region {
    /// The blocks, in no particular order; the branch's own block is among them when a way leads
    /// back to it.
    pub blocks: Vec<BlockIndex>,
    /// The block where the paths merge; `None` if that is the end of the function.
    pub end: Option<BlockIndex>,
}

/// Finds regions of one graph, up to a bound of work.
#[derive(Clone, Debug)]
pub struct Regions<'p> {
    post: &'p PostDominators,
    mark: BlockMap<usize>,
    round: usize,
    left: usize,
}

impl<'p> Regions<'p> {
    /// For `cfg`, whose post-dominators are `post`; all regions together may have `most` blocks.
    pub fn analyze(cfg: &Cfg, post: &'p PostDominators, most: usize) -> Regions<'p> {
        Regions {
            post,
            mark: BlockMap::filled(cfg.len(), 0),
            round: 0,
            left: most,
        }
    }

    /// The region of the branch at the end of `block`; `None` when the bound is reached.
    pub fn region(&mut self, cfg: &Cfg, block: BlockIndex) -> Option<Region> {
        self.region_skipping(cfg, block, |_| None)
    }

    /// As [`Regions::region`], but for a block that `skip` knows to lie in an earlier region: the
    /// walk goes on at the end of that one (`Some(None)`: the end of the function).
    pub fn region_skipping(
        &mut self,
        cfg: &Cfg,
        block: BlockIndex,
        skip: impl Fn(BlockIndex) -> Option<Option<BlockIndex>>,
    ) -> Option<Region> {
        let end = self.post.immediate(block);
        self.round += 1;
        let mut work: Vec<BlockIndex> = cfg.succs(block).to_vec();
        let mut blocks = Vec::new();
        while let Some(at) = work.pop() {
            if Some(at) == end || self.mark[at] == self.round {
                continue;
            }
            self.left = self.left.checked_sub(1)?;
            self.mark[at] = self.round;
            match skip(at) {
                Some(past) => work.extend(past),
                None => {
                    blocks.push(at);
                    work.extend(cfg.succs(at));
                }
            }
        }
        Some(Region { blocks, end })
    }
}
