//! Natural loops of a control-flow graph: a block that dominates one of its predecessors, and all
//! that comes back to it without leaving through it (Aho, Sethi, Ullman).

use super::cfg::Cfg;
use super::dominance::Dominators;
use crate::module::{BlockIndex, BlockMap};
use std::collections::{BTreeMap, BTreeSet};

/// A loop with one way in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The block that control comes in through.
    pub header: BlockIndex,
    /// All of its blocks, the header and those of inner loops among them.
    pub body: BTreeSet<BlockIndex>,
}

impl Loop {
    /// The block that control goes back from, and the one that it comes in from, if there is one of
    /// each.
    pub(crate) fn latch_and_front(&self, cfg: &Cfg) -> Option<(BlockIndex, BlockIndex)> {
        let (inside, outside): (Vec<BlockIndex>, Vec<BlockIndex>) = cfg
            .preds(self.header)
            .iter()
            .filter(|block| cfg.is_reachable(**block))
            .partition(|pred| self.body.contains(pred));
        match (inside.as_slice(), outside.as_slice()) {
            ([latch], [front]) => Some((*latch, *front)),
            _ => None,
        }
    }
}

/// The loops of a graph, and the dominance that they follow from.
#[derive(Clone, Debug)]
pub struct Loops {
    /// The dominators of the graph.
    pub dominators: Dominators,
    /// The natural loops, by header; `None`: more than are looked at.
    pub natural: Option<Vec<Loop>>,
}

impl Loops {
    /// Those of `cfg`, if they are at most `most`.
    pub fn analyze(cfg: &Cfg, most: usize) -> Loops {
        let dominators = Dominators::analyze(cfg);
        Loops {
            natural: natural(cfg, &dominators, most),
            dominators,
        }
    }

    /// For each of `blocks` blocks the innermost loop around it, as its place among the natural
    /// loops. `None` when there are too many.
    pub fn innermost(&self, blocks: usize) -> Option<BlockMap<Option<usize>>> {
        let natural = self.natural.as_ref()?;
        let mut order: Vec<usize> = (0..natural.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(natural.get(*index).map(|one| one.body.len())));
        let mut innermost = BlockMap::filled(blocks, None);
        for index in order {
            for block in natural.get(index).iter().flat_map(|one| &one.body) {
                if let Some(slot) = innermost.get_mut(*block) {
                    *slot = Some(index);
                }
            }
        }
        Some(innermost)
    }
}

/// The natural loops of `cfg`, by header; loops that share one count as one. `None` when there are
/// more than `most`: looking at each costs time linear in the graph.
pub fn natural(cfg: &Cfg, dominators: &Dominators, most: usize) -> Option<Vec<Loop>> {
    let mut latches: BTreeMap<BlockIndex, Vec<BlockIndex>> = BTreeMap::new();
    for block in cfg.reverse_postorder() {
        for succ in cfg.succs(*block) {
            if dominators.dominates(*succ, *block) {
                latches.entry(*succ).or_default().push(*block);
            }
        }
    }
    if latches.len() > most {
        return None;
    }
    let natural = |(header, mut work): (BlockIndex, Vec<BlockIndex>)| {
        let mut body = BTreeSet::from([header]);
        while let Some(block) = work.pop() {
            if cfg.is_reachable(block) && body.insert(block) {
                work.extend(cfg.preds(block));
            }
        }
        Loop { header, body }
    };
    Some(latches.into_iter().map(natural).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_in_a_loop() {
        // 0 -> 1 -> 2 -> 2, 2 -> 3 -> 1, 3 -> 4
        let cfg = Cfg::from_edges(5, &[(0, 1), (1, 2), (2, 2), (2, 3), (3, 1), (3, 4)]);
        let dominators = Dominators::analyze(&cfg);
        let found = natural(&cfg, &dominators, 2);
        let found: Option<Vec<_>> =
            found.map(|loops| loops.into_iter().map(|l| (l.header, l.body)).collect());
        let [one, two, three] = [1, 2, 3].map(BlockIndex::new);
        let (outer, inner) = (BTreeSet::from([one, two, three]), BTreeSet::from([two]));
        assert_eq!(found, Some(vec![(one, outer), (two, inner)]));
        assert_eq!(natural(&cfg, &dominators, 1), None);
        let loops = Loops::analyze(&cfg, 2);
        let (outer, inner) = (Some(0), Some(1));
        assert_eq!(
            loops.innermost(5),
            Some(BlockMap::from([None, outer, inner, outer, None]))
        );
    }
}
