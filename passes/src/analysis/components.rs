//! Strongly connected components of a graph, by the algorithm of Tarjan (1972) with a stack of its
//! own: linear time.

use crate::module::{BlockIndex, BlockMap};

/// Numbers the components of a graph with `len` blocks and the edges `succs`. If an edge leads from
/// one component to another, the number gets smaller, so components in descending order are in the
/// direction of the edges.
pub fn strongly_connected<'g>(
    len: usize,
    succs: impl Fn(BlockIndex) -> &'g [BlockIndex],
) -> BlockMap<usize> {
    const NONE: usize = usize::MAX;
    let mut component = BlockMap::filled(len, NONE);
    let mut number = BlockMap::filled(len, NONE);
    let mut low = BlockMap::filled(len, NONE);
    let mut open = Vec::new(); // blocks whose component is not complete
    let mut stack = Vec::new(); // the path of the search
    let (mut numbers, mut components) = (0, 0);
    for root in BlockIndex::all(len) {
        if number[root] != NONE {
            continue;
        }
        stack.push((root, 0));
        while let Some((node, next)) = stack.last_mut() {
            let at = *node;
            if *next == 0 {
                (number[at], low[at]) = (numbers, numbers);
                numbers += 1;
                open.push(at);
            }
            let succ = succs(at).get(*next).copied();
            *next += 1;
            match succ {
                Some(succ) if number[succ] == NONE => stack.push((succ, 0)),
                Some(succ) if component[succ] == NONE => {
                    low[at] = low[at].min(number[succ]);
                }
                Some(_) => {}
                None => {
                    stack.pop();
                    if let Some((above, _)) = stack.last() {
                        low[*above] = low[*above].min(low[at]);
                    }
                    if low[at] == number[at] {
                        while let Some(member) = open.pop() {
                            component[member] = components;
                            if member == at {
                                break;
                            }
                        }
                        components += 1;
                    }
                }
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::cfg::Cfg;
    use proptest::prelude::*;

    fn reaches(cfg: &Cfg, from: BlockIndex, to: BlockIndex) -> bool {
        let mut seen = BlockMap::filled(cfg.len(), false);
        let mut work = vec![from];
        while let Some(block) = work.pop() {
            if block == to {
                return true;
            }
            if !std::mem::replace(&mut seen[block], true) {
                work.extend(cfg.succs(block));
            }
        }
        false
    }

    proptest! {
        #[test]
        fn equal_to_the_definition(edges in prop::collection::vec((0usize..9, 0usize..9), 0..24)) {
            let cfg = Cfg::from_edges(9, &edges);
            let component = strongly_connected(9, |block| cfg.succs(block));
            for a in cfg.blocks() {
                for b in cfg.blocks() {
                    let there = reaches(&cfg, a, b);
                    let [of_a, of_b] = [a, b].map(|block| component[block]);
                    prop_assert_eq!(of_a == of_b, there && reaches(&cfg, b, a));
                    prop_assert!(!there || of_a >= of_b);
                }
            }
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let len = 200_000;
        let edges: Vec<_> = (0..len).map(|from| (from, (from + 1) % len)).collect();
        let cfg = Cfg::from_edges(len, &edges);
        assert!(
            strongly_connected(len, |block| cfg.succs(block))
                .values()
                .all(|component| *component == 0)
        );
    }
}
