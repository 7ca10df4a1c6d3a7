//! Dominators and post-dominators.
//!
//! The algorithm is that of Lengauer and Tarjan (1979) in its simple form: path compression without
//! balancing, O(m log n) on every graph, irreducible ones included, with stacks of its own. The
//! common iterative one is quadratic on graphs that an enemy can write.

use super::cfg::Cfg;
use crate::module::{BlockIndex, BlockMap};

const NONE: usize = usize::MAX;

/// A dominator tree over the nodes of a graph.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// Immediate dominator; `None` for the root and for nodes outside of the tree.
    idom: BlockMap<Option<BlockIndex>>,
    /// Interval of each node in a walk over the tree: a node's interval holds those of the nodes
    /// that it dominates. Empty for nodes outside of the tree.
    interval: BlockMap<(usize, usize)>,
}

impl Dominators {
    /// Computes, for each block, the blocks that are on every path to it from the entry block.
    pub fn analyze(cfg: &Cfg) -> Dominators {
        let len = cfg.len();
        if len == 0 {
            return Dominators {
                idom: BlockMap::default(),
                interval: BlockMap::default(),
            };
        }
        let preds = |block| cfg.preds(block).iter().copied();
        Dominators::solve(len, BlockIndex::ENTRY, |block| cfg.succs(block), preds)
    }

    /// The immediate dominator of `block`; `None` for the entry block and for blocks that control
    /// cannot reach.
    pub fn immediate(&self, block: BlockIndex) -> Option<BlockIndex> {
        self.idom.get(block).copied().flatten()
    }

    /// Returns true if every path from the entry block to `block` goes through `over`; a block
    /// dominates itself. False when control cannot reach one of them.
    pub fn dominates(&self, over: BlockIndex, block: BlockIndex) -> bool {
        let interval = |block: BlockIndex| self.interval.get(block);
        match (interval(over), interval(block)) {
            (Some((start, end)), Some((at, last))) => at < last && start <= at && at < end,
            _ => false,
        }
    }

    fn solve<'g, P>(
        len: usize,
        root: BlockIndex,
        succs: impl Fn(BlockIndex) -> &'g [BlockIndex],
        preds: impl Fn(BlockIndex) -> P,
    ) -> Dominators
    where
        P: Iterator<Item = BlockIndex>,
    {
        let (number, node, parent) = depth_first(len, root, succs);
        let count = node.len();
        // From here on nodes go by their depth-first number.
        let mut forest = Forest {
            ancestor: vec![NONE; count],
            label: (0..count).collect(),
            semi: (0..count).collect(),
            path: Vec::new(),
        };
        let mut idom = vec![NONE; count];
        // Lists of the nodes with the same semidominator: the first of each, and what follows.
        let mut bucket = vec![NONE; count];
        let mut next = vec![NONE; count];
        for w in (1..count).rev() {
            for pred in preds(node[w]) {
                let v = number[pred];
                if v != NONE {
                    let u = forest.eval(v);
                    forest.semi[w] = forest.semi[w].min(forest.semi[u]);
                }
            }
            next[w] = std::mem::replace(&mut bucket[forest.semi[w]], w);
            forest.ancestor[w] = parent[w];
            let mut v = std::mem::replace(&mut bucket[parent[w]], NONE);
            while v != NONE {
                let u = forest.eval(v);
                idom[v] = if forest.semi[u] < forest.semi[v] {
                    u
                } else {
                    parent[w]
                };
                v = next[v];
            }
        }
        for w in 1..count {
            if idom[w] != forest.semi[w] {
                idom[w] = idom[idom[w]];
            }
        }
        let interval = intervals(&idom);
        let mut tree = Dominators {
            idom: BlockMap::filled(len, None),
            interval: BlockMap::filled(len, (0, 0)),
        };
        for w in 0..count {
            let at = node[w];
            tree.interval[at] = interval[w];
            if w > 0 {
                tree.idom[at] = Some(node[idom[w]]);
            }
        }
        tree
    }
}

/// Preorder numbers by node (`NONE` where the search does not come), nodes by number, parents by
/// number.
fn depth_first<'g>(
    len: usize,
    root: BlockIndex,
    succs: impl Fn(BlockIndex) -> &'g [BlockIndex],
) -> (BlockMap<usize>, Vec<BlockIndex>, Vec<usize>) {
    let mut number = BlockMap::filled(len, NONE);
    let mut node = vec![root];
    let mut parent = vec![NONE];
    let mut stack = vec![(root, 0)];
    number[root] = 0;
    while let Some((at, next)) = stack.last_mut() {
        let at = *at;
        let succ = succs(at).get(*next).copied();
        *next += 1;
        match succ {
            Some(succ) if number[succ] == NONE => {
                number[succ] = node.len();
                node.push(succ);
                parent.push(number[at]);
                stack.push((succ, 0));
            }
            Some(_) => {}
            None => {
                stack.pop();
            }
        }
    }
    (number, node, parent)
}

/// The forest of Lengauer and Tarjan: answers with the node of least semidominator on the way to a
/// tree's root.
struct Forest {
    ancestor: Vec<usize>,
    label: Vec<usize>,
    semi: Vec<usize>,
    path: Vec<usize>,
}

impl Forest {
    fn eval(&mut self, v: usize) -> usize {
        if self.ancestor[v] == NONE {
            return v;
        }
        let mut at = v;
        while self.ancestor[self.ancestor[at]] != NONE {
            self.path.push(at);
            at = self.ancestor[at];
        }
        while let Some(below) = self.path.pop() {
            let above = self.ancestor[below];
            if self.semi[self.label[above]] < self.semi[self.label[below]] {
                self.label[below] = self.label[above];
            }
            self.ancestor[below] = self.ancestor[above];
        }
        self.label[v]
    }
}

/// Intervals of a walk over the tree that `idom` describes; a node's dominator has a smaller number
/// than the node.
fn intervals(idom: &[usize]) -> Vec<(usize, usize)> {
    let count = idom.len();
    let mut size = vec![1; count];
    for w in (1..count).rev() {
        size[idom[w]] += size[w];
    }
    let mut interval = vec![(0, count); count];
    let mut free: Vec<usize> = vec![1; count]; // where the next child's interval starts
    for w in 1..count {
        let start = free[idom[w]];
        free[idom[w]] += size[w];
        interval[w] = (start, start + size[w]);
        free[w] = start + 1;
    }
    interval
}

/// For each block, the blocks that are on every path from it to the end of the function.
///
/// The end is a return or a kill. Blocks from which control only gets to an OpUnreachable are
/// outside of the tree: no run goes there. A loop without a way out counts as an end too (one block
/// of it does), so what comes after a branch into it is not taken for granted.
#[derive(Clone, Debug)]
pub struct PostDominators {
    tree: Dominators,
}

impl PostDominators {
    /// The post-dominators of `cfg`.
    pub fn analyze(cfg: &Cfg) -> PostDominators {
        let len = cfg.len();
        let end = BlockIndex::new(len); // a node of its own that every exit leads to
        let exits = ends(cfg);
        let mut leads_to_end = BlockMap::filled(len, false);
        for exit in &exits {
            leads_to_end[*exit] = true;
        }
        let succs_with_end = |block: BlockIndex| {
            let to_end = leads_to_end[block].then_some(end);
            cfg.succs(block).iter().copied().chain(to_end)
        };
        let tree = Dominators::solve(
            len + 1,
            end,
            |node| if node == end { &exits } else { cfg.preds(node) },
            succs_with_end,
        );
        PostDominators { tree }
    }

    /// Returns true if every path from `block` to the end of the function goes through `over`; a
    /// block post-dominates itself. False when no path leads from one of them to the end.
    pub fn post_dominates(&self, over: BlockIndex, block: BlockIndex) -> bool {
        self.tree.dominates(over, block)
    }

    /// Returns true if some path leads from `block` to the end of the function.
    pub fn reaches_end(&self, block: BlockIndex) -> bool {
        self.tree.dominates(block, block)
    }

    /// The immediate post-dominator of `block`; `None` when that is the end itself, or no path
    /// leads to the end.
    pub fn immediate(&self, block: BlockIndex) -> Option<BlockIndex> {
        let end = BlockIndex::new(self.tree.idom.len().checked_sub(1)?);
        self.tree.immediate(block).filter(|idom| *idom != end)
    }
}

/// The blocks that the end of the function is taken to follow: exits, and one block of each loop
/// without a way out.
fn ends(cfg: &Cfg) -> Vec<BlockIndex> {
    let mut ends: Vec<_> = cfg.blocks().filter(|block| cfg.is_exit(*block)).collect();
    let mut settled = BlockMap::filled(cfg.len(), false);
    // OpUnreachable settles what leads to it without being an end.
    let dead: Vec<_> = cfg
        .blocks()
        .filter(|block| cfg.succs(*block).is_empty() && !cfg.is_exit(*block))
        .collect();
    settle(
        cfg,
        &mut settled,
        ends.iter().chain(&dead).copied().collect(),
    );
    for block in cfg.reverse_postorder().iter().rev().copied() {
        if !settled[block] {
            ends.push(block);
            settle(cfg, &mut settled, vec![block]);
        }
    }
    ends
}

/// Marks `work` and everything that leads there.
fn settle(cfg: &Cfg, settled: &mut BlockMap<bool>, mut work: Vec<BlockIndex>) {
    while let Some(block) = work.pop() {
        if !std::mem::replace(&mut settled[block], true) {
            work.extend(cfg.preds(block).iter().filter(|pred| !settled[**pred]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_diamond() {
        let cfg = Cfg::from_edges(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        let (dom, post) = (Dominators::analyze(&cfg), PostDominators::analyze(&cfg));
        let [top, left, _, end] = [0, 1, 2, 3].map(BlockIndex::new);
        assert_eq!(dom.immediate(end), Some(top));
        assert!(!dom.dominates(left, end) && dom.dominates(top, end) && dom.dominates(end, end));
        assert_eq!(post.immediate(top), Some(end));
        assert_eq!(post.immediate(end), None);
        assert!(post.post_dominates(end, top) && !post.post_dominates(left, top));
    }

    #[test]
    fn a_loop_without_a_way_out_ends_somewhere() {
        // 0 -> 1 <-> 2, 0 -> 3 (return)
        let cfg = Cfg::from_edges(4, &[(0, 1), (1, 2), (2, 1), (0, 3)]);
        let post = PostDominators::analyze(&cfg);
        let [top, header, latch, end] = [0, 1, 2, 3].map(BlockIndex::new);
        assert!(!post.post_dominates(end, top), "a run may stay in the loop");
        assert!(post.post_dominates(latch, header));
    }

    #[test]
    fn irreducible() {
        let cfg = Cfg::from_edges(4, &[(0, 1), (0, 2), (1, 2), (2, 1), (2, 3)]);
        let dom = Dominators::analyze(&cfg);
        let immediate = [1, 2, 3].map(|block| dom.immediate(BlockIndex::new(block)));
        assert_eq!(
            immediate,
            [0, 0, 2].map(|block| Some(BlockIndex::new(block)))
        );
    }

    #[test]
    fn a_ladder_of_100_000_blocks_is_quick() {
        // Two ways lead to every block but 1 and the last: nothing but the entry dominates it. The
        // search goes 100,000 deep.
        let len = 100_000;
        let edges: Vec<_> = (0..len - 2)
            .flat_map(|block| [(block, block + 1), (block, block + 2)])
            .collect();
        let cfg = Cfg::from_edges(len, &edges);
        let dom = Dominators::analyze(&cfg);
        let mut between = cfg.blocks().skip(1).take(len - 2);
        assert!(between.all(|block| dom.immediate(block) == Some(BlockIndex::ENTRY)));
    }

    fn reaches(
        cfg: &Cfg,
        from: BlockIndex,
        without: Option<BlockIndex>,
        goal: impl Fn(BlockIndex) -> bool,
    ) -> bool {
        let mut seen = BlockMap::filled(cfg.len(), false);
        let mut work = vec![from];
        work.retain(|from| Some(*from) != without);
        while let Some(block) = work.pop() {
            if goal(block) {
                return true;
            }
            for succ in cfg.succs(block) {
                if Some(*succ) != without && !std::mem::replace(&mut seen[*succ], true) {
                    work.push(*succ);
                }
            }
        }
        false
    }

    proptest! {
        #[test]
        fn equal_to_the_definition(edges in prop::collection::vec((0usize..9, 0usize..9), 0..24)) {
            let cfg = Cfg::from_edges(9, &edges);
            let (dom, post) = (Dominators::analyze(&cfg), PostDominators::analyze(&cfg));
            for over in cfg.blocks() {
                for block in cfg.blocks() {
                    let expected = cfg.is_reachable(over) && cfg.is_reachable(block) && !reaches(&cfg, BlockIndex::ENTRY, Some(over), |b| b == block);
                    prop_assert_eq!(dom.dominates(over, block), expected, "{} over {}", over, block);
                    let ends = |b: BlockIndex| cfg.is_exit(b);
                    if reaches(&cfg, block, None, ends) && reaches(&cfg, over, None, ends) {
                        // Loops without a way out only take post-dominance away.
                        let on_every_path = !reaches(&cfg, block, Some(over), ends);
                        prop_assert!(on_every_path || !post.post_dominates(over, block));
                        let all_end = cfg.blocks().all(|b| !reaches(&cfg, block, None, |x| x == b) || reaches(&cfg, b, None, ends));
                        if all_end {
                            prop_assert_eq!(post.post_dominates(over, block), on_every_path);
                        }
                    }
                }
            }
        }
    }
}
