//! Control dependence (Ferrante, Ottenstein, Warren 1987): the branches that decide whether, or how
//! often, a block is executed.

use crate::analysis::cfg::Cfg;
use crate::analysis::components::strongly_connected;
use crate::analysis::dominance::PostDominators;
use crate::module::{BlockIndex, BlockMap};

/// Bound on the length of all lists together, times blocks, with a least one.
const STEPS_PER_BLOCK: usize = 64;
const LEAST_STEPS: usize = 1 << 16;

/// For every block the blocks at whose end its execution is decided.
#[derive(Clone, Debug)]
pub(super) struct Control {
    /// `None` when the graph is built to make the lists long: then every branch decides about every
    /// block.
    deciders: Option<BlockMap<Vec<BlockIndex>>>,
}

impl Control {
    pub(super) fn analyze(cfg: &Cfg, post: &PostDominators) -> Control {
        Control {
            deciders: deciders(cfg, post),
        }
    }

    /// The blocks that decide about `block` directly; what decides about those does so as well.
    /// `None`: all branches of the function do.
    pub(super) fn deciders(&self, block: BlockIndex) -> Option<&[BlockIndex]> {
        self.deciders.as_ref()?.get(block).map(Vec::as_slice)
    }
}

/// From a block on, the blocks on its ways to the place where they meet depend on it. A block with
/// one successor that is taken for an end (of a loop without a way out) decides as a branch does.
fn deciders(cfg: &Cfg, post: &PostDominators) -> Option<BlockMap<Vec<BlockIndex>>> {
    let mut left = LEAST_STEPS.max(STEPS_PER_BLOCK * cfg.len());
    let mut deciders: BlockMap<Vec<BlockIndex>> = BlockMap::filled(cfg.len(), Vec::new());
    for block in cfg.reverse_postorder().iter().copied() {
        let end = post.immediate(block);
        for succ in cfg.succs(block) {
            let mut at = Some(*succ).filter(|succ| Some(*succ) != end);
            while let Some(inside) = at {
                left = left.checked_sub(1)?;
                if !post.reaches_end(inside) {
                    return None; // what leads to OpUnreachable alone has no post-dominators
                }
                if deciders[inside].last() != Some(&block) {
                    deciders[inside].push(block);
                }
                at = post.immediate(inside).filter(|next| Some(*next) != end);
            }
        }
    }
    Some(deciders)
}

/// Blocks at whose end a loop can be left.
pub(super) fn loop_exits(cfg: &Cfg) -> Vec<BlockIndex> {
    let component = strongly_connected(cfg.len(), |block| cfg.succs(block));
    let leaves = |block: &BlockIndex| {
        let inside = |succ: &BlockIndex| component[*succ] == component[*block];
        let succs = cfg.succs(*block);
        succs.iter().any(inside) && !succs.iter().all(inside)
    };
    cfg.reverse_postorder()
        .iter()
        .copied()
        .filter(leaves)
        .collect()
}
