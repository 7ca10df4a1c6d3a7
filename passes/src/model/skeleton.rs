//! The barrier skeleton of a function: which of its interesting instructions can be executed in
//! which order, loops unrolled.
//!
//! Blocks without an interesting instruction disappear, branches whose ways are alike too; what is
//! left is a graph without cycles whose forks are uniform choices. A loop goes back as often as the
//! caller says; a path that cannot end within that is left out. So is a path on which arrives and
//! waits do not alternate, as two equal conditions make them seem to: that they alternate is the
//! module's duty (VUIDs 13559 to 13561), and a question for validation.

use crate::analysis::cfg::Cfg;
use crate::module::{BlockIndex, BlockMap, Function, WordOffset};
use std::collections::BTreeMap;

/// The most nodes that unrolling makes.
const MOST: usize = 1 << 16;

/// The role of an instruction for the barriers around it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BarrierRole {
    /// An arrive of the sequence whose arrives and waits have to alternate.
    Arrive,
    /// A wait of that sequence.
    Wait,
    /// Anything else.
    Other,
}

/// A stretch of execution without a choice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    /// Word offsets of the interesting instructions, in order.
    pub places: Vec<WordOffset>,
    /// The successors: nodes with smaller indices; none at an end.
    pub next: Vec<usize>,
}

/// The graph. It begins at its last node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skeleton {
    /// The nodes, each after those that follow it in execution.
    pub nodes: Vec<Node>,
    /// True if paths were left out on which arrives and waits do not alternate.
    pub is_partial: bool,
    /// True if paths were left out on which a loop with interesting instructions goes back
    /// more often.
    pub is_cut: bool,
}

/// A block in the middle of an execution.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    block: BlockIndex,
    /// How often each loop around it has gone back, outermost first.
    counts: Vec<u8>,
    /// True if an arrive is outstanding at its begin.
    open: bool,
}

/// A loop: its header and the blocks from which control can get back to it without leaving it.
struct Loop {
    header: BlockIndex,
    body: BlockMap<bool>,
}

impl Skeleton {
    /// The skeleton of `function`, whose graph is `cfg`, with the instructions that `is_place`
    /// picks; loops go back at most `unroll` times.
    ///
    /// # Errors
    /// Why it cannot be made: too many nodes, or no way to an end within the bound.
    pub fn build(
        function: &Function<'_>,
        cfg: &Cfg,
        unroll: u8,
        place: impl Fn(WordOffset) -> Option<BarrierRole>,
    ) -> Result<Skeleton, String> {
        let places: BlockMap<Vec<(WordOffset, BarrierRole)>> = function
            .blocks
            .iter()
            .map(|block| {
                let offsets = block.insts.iter().map(|inst| inst.offset);
                offsets
                    .filter_map(|offset| Some((offset, place(offset)?)))
                    .collect()
            })
            .collect();
        Skeleton::of_graph(cfg, unroll, &places)
    }

    /// The same of a graph with `places` by block.
    fn of_graph(
        cfg: &Cfg,
        unroll: u8,
        places: &BlockMap<Vec<(WordOffset, BarrierRole)>>,
    ) -> Result<Skeleton, String> {
        if cfg.is_empty() {
            return Err("the function has no body".to_owned());
        }
        Unrolling::from_parts(cfg, unroll, places)?.skeleton(cfg, places)
    }
}

/// Whether an arrive is outstanding after `places` if one is before them (`open`); `None` when
/// arrives and waits do not alternate.
fn after(open: bool, places: &[(WordOffset, BarrierRole)]) -> Option<bool> {
    places
        .iter()
        .try_fold(open, |open, (_, place)| match (place, open) {
            (BarrierRole::Arrive, false) => Some(true),
            (BarrierRole::Wait, true) => Some(false),
            (BarrierRole::Other, open) => Some(open),
            (BarrierRole::Arrive, true) | (BarrierRole::Wait, false) => None,
        })
}

/// The unrolled graph.
struct Unrolling {
    spots: Vec<Spot>,
    /// By spot: where it leads; `None` when the path is one to leave out.
    next: Vec<Option<Vec<usize>>>,
    /// True if a loop with places was cut off.
    is_cut: bool,
}

impl Unrolling {
    fn from_parts(
        cfg: &Cfg,
        unroll: u8,
        places: &BlockMap<Vec<(WordOffset, BarrierRole)>>,
    ) -> Result<Unrolling, String> {
        let loops = loops(cfg);
        let start = Spot {
            block: BlockIndex::ENTRY,
            counts: counts_at(BlockIndex::ENTRY, &loops, |_| 0),
            open: false,
        };
        let mut graph = Unrolling {
            spots: vec![start.clone()],
            next: Vec::new(),
            is_cut: false,
        };
        let has_place = |header: BlockIndex| {
            let of_header = loops.iter().filter(move |one| one.header == header);
            let bodies = of_header.flat_map(|one| one.body.values().zip(places.values()));
            bodies
                .into_iter()
                .any(|(inside, places)| *inside && !places.is_empty())
        };
        let mut index = BTreeMap::from([(start, 0)]);
        while let Some(spot) = graph.spots.get(graph.next.len()).cloned() {
            let Some(open) = after(spot.open, &places[spot.block]) else {
                graph.next.push(None);
                continue;
            };
            let mut next = Vec::new();
            for to in cfg.succs(spot.block) {
                let Some(counts) = follow(cfg, &loops, &spot, *to, unroll) else {
                    graph.is_cut |= has_place(*to);
                    continue;
                };
                let spot = Spot {
                    block: *to,
                    counts,
                    open,
                };
                let fresh = graph.spots.len();
                let known = *index.entry(spot.clone()).or_insert(fresh);
                if known == fresh {
                    graph.spots.push(spot);
                }
                next.push(known);
            }
            graph.next.push(Some(next));
            if graph.spots.len() > MOST {
                return Err(format!(
                    "unrolling makes more than {MOST} blocks; unroll less"
                ));
            }
        }
        Ok(graph)
    }

    /// Children before parents: a node is made when all that follow it are, and nodes that are
    /// alike are one.
    fn skeleton(
        &self,
        cfg: &Cfg,
        places: &BlockMap<Vec<(WordOffset, BarrierRole)>>,
    ) -> Result<Skeleton, String> {
        let mut made: Vec<Option<usize>> = vec![None; self.spots.len()]; // none: no way to an end
        let mut skeleton = Skeleton {
            nodes: Vec::new(),
            is_partial: self.next.iter().any(Option::is_none),
            is_cut: self.is_cut,
        };
        let mut index: BTreeMap<Node, usize> = BTreeMap::new();
        for spot in self.postorder() {
            let block = self.spots[spot].block;
            let Some(next) = &self.next[spot] else {
                continue;
            };
            let mut next: Vec<usize> = next.iter().filter_map(|to| made[*to]).collect();
            next.sort_unstable();
            next.dedup();
            let places = &places[block];
            made[spot] = match next[..] {
                [] if !cfg.is_exit(block) => None,
                [only] if places.is_empty() => Some(only),
                [] | [_] | [_, _, ..] => {
                    let node = Node {
                        places: places.iter().map(|(offset, _)| *offset).collect(),
                        next,
                    };
                    let fresh = skeleton.nodes.len();
                    let known = *index.entry(node.clone()).or_insert(fresh);
                    if known == fresh {
                        skeleton.nodes.push(node);
                    }
                    Some(known)
                }
            };
        }
        let Some(start) = made[0] else {
            return Err("no path ends within the bound; unroll more".to_owned());
        };
        // The start is made last, unless it is one with a node that was there before: then all
        // later ones lead nowhere that matters.
        skeleton.nodes.truncate(start + 1);
        Ok(skeleton)
    }

    fn postorder(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.spots.len());
        let mut seen = vec![false; self.spots.len()];
        let mut stack = vec![(0, 0)];
        seen[0] = true;
        while let Some((spot, child)) = stack.last_mut() {
            let spot = *spot;
            let next = self.next[spot].iter().flatten().nth(*child).copied();
            *child += 1;
            match next {
                Some(next) if !seen[next] => {
                    seen[next] = true;
                    stack.push((next, 0));
                }
                Some(_) => {}
                None => {
                    order.push(spot);
                    stack.pop();
                }
            }
        }
        order
    }
}

/// Returns true if the edge goes back: to a block that is not later in reverse postorder.
fn goes_back(cfg: &Cfg, from: BlockIndex, to: BlockIndex) -> bool {
    cfg.order(to) <= cfg.order(from)
}

/// The loops, outermost first: one per block that an edge goes back to.
fn loops(cfg: &Cfg) -> Vec<Loop> {
    let latches = |header: BlockIndex| {
        let preds = cfg.preds(header).iter().copied();
        preds.filter(move |from| cfg.is_reachable(*from) && goes_back(cfg, *from, header))
    };
    let headers = cfg.reverse_postorder().iter().copied();
    headers
        .filter(|header| latches(*header).next().is_some())
        .map(|header| {
            let mut body = BlockMap::filled(cfg.len(), false);
            body[header] = true;
            let mut work: Vec<BlockIndex> = latches(header).collect();
            while let Some(block) = work.pop() {
                if !std::mem::replace(&mut body[block], true) {
                    work.extend(
                        cfg.preds(block)
                            .iter()
                            .filter(|from| cfg.is_reachable(**from)),
                    );
                }
            }
            Loop { header, body }
        })
        .collect()
}

/// The counts of the loops around `block`; `count` says them by the loop's number.
fn counts_at(block: BlockIndex, loops: &[Loop], count: impl Fn(usize) -> u8) -> Vec<u8> {
    (0..loops.len())
        .filter(|number| loops[*number].body[block])
        .map(count)
        .collect()
}

/// The counts after the edge to `to`; none when a loop has gone back often enough.
fn follow(cfg: &Cfg, loops: &[Loop], from: &Spot, to: BlockIndex, unroll: u8) -> Option<Vec<u8>> {
    let around = (0..loops.len()).filter(|number| loops[*number].body[from.block]);
    let before: BTreeMap<usize, u8> = around.zip(from.counts.iter().copied()).collect();
    let back = goes_back(cfg, from.block, to);
    let count = |number: usize| {
        let so_far = before.get(&number).copied().unwrap_or(0);
        match (loops[number].header == to, back) {
            (true, true) => so_far.saturating_add(1),
            (true, false) => 0,
            (false, _) => so_far,
        }
    };
    let counts = counts_at(to, loops, count);
    counts
        .iter()
        .all(|count| *count <= unroll)
        .then_some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// The skeleton of a graph in which block n has place n if `places` says so, as text.
    fn skeleton(len: usize, edges: &[(usize, usize)], places: &[usize], unroll: u8) -> String {
        let cfg = Cfg::from_edges(len, edges);
        let of_block = |block| {
            let place = u32::try_from(block)
                .ok()
                .filter(|_| places.contains(&block));
            place
                .into_iter()
                .map(|place| (WordOffset::new(place), BarrierRole::Other))
                .collect()
        };
        let places: BlockMap<Vec<(WordOffset, BarrierRole)>> = (0..len).map(of_block).collect();
        show(Skeleton::of_graph(&cfg, unroll, &places))
    }

    fn show(skeleton: Result<Skeleton, String>) -> String {
        match skeleton {
            Ok(skeleton) => {
                let nodes = skeleton.nodes.iter().enumerate();
                nodes
                    .map(|(index, node)| {
                        let places: Vec<u32> =
                            node.places.iter().map(|place| place.get()).collect();
                        format!("{index}:{places:?}{:?} ", node.next)
                    })
                    .collect()
            }
            Err(why) => why,
        }
    }

    #[test]
    fn branches_without_a_place_disappear() {
        assert_eq!(
            skeleton(4, &[(0, 1), (0, 2), (1, 3), (2, 3)], &[3], 1),
            "0:[3][] "
        );
        assert_eq!(
            skeleton(4, &[(0, 1), (0, 2), (1, 3), (2, 3)], &[1, 3], 1),
            "0:[3][] 1:[1][0] 2:[][0, 1] "
        );
    }

    #[test]
    fn loops_go_back_so_often() {
        // 0 -> 1 (header) -> 2 (body) -> 1, 1 -> 3.
        let edges = [(0, 1), (1, 2), (2, 1), (1, 3)];
        assert_eq!(skeleton(4, &edges, &[], 3), "0:[][] ");
        assert_eq!(
            skeleton(4, &edges, &[2], 2),
            "0:[][] 1:[2][0] 2:[][0, 1] 3:[2][2] 4:[][0, 3] "
        );
    }

    #[test]
    fn an_inner_loop_begins_anew() {
        // 1 is the outer header, 2 a loop of its own with a place; 3 goes back to 1 or on to 4.
        let edges = [(0, 1), (1, 2), (2, 2), (2, 3), (3, 1), (3, 4)];
        let once = skeleton(5, &edges, &[2], 0);
        assert_eq!(once, "0:[][] 1:[2][0] ");
        let twice = skeleton(5, &edges, &[2], 1);
        // Two, three or four times through the place: no more.
        assert_eq!(twice.matches("[2]").count(), 4, "{twice}");
    }

    #[test]
    fn a_loop_that_is_cut_off_is_said() {
        // 1 is the header of a loop over 2; 3 is after it.
        let cfg = Cfg::from_edges(4, &[(0, 1), (1, 2), (2, 1), (1, 3)]);
        for (place, is_cut) in [(0, false), (1, true), (2, true), (3, false)] {
            let of_block = |block| {
                let place = (block == place).then_some((WordOffset::new(9), BarrierRole::Other));
                place.into_iter().collect()
            };
            let places: BlockMap<Vec<(WordOffset, BarrierRole)>> = (0..4).map(of_block).collect();
            let skeleton = Skeleton::of_graph(&cfg, 2, &places).unwrap_or_default();
            assert_eq!(skeleton.is_cut, is_cut, "{place}");
        }
    }

    #[test]
    fn what_cannot_end_is_said() {
        assert!(skeleton(2, &[(0, 1), (1, 1)], &[1], 3).contains("no path ends"));
    }

    #[test]
    fn arrives_and_waits_alternate() {
        // `if (c) arrive; if (c) wait;` seems to have four paths; the wait alone is none.
        let edges = [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)];
        let places = BlockMap::from([
            vec![],
            vec![(WordOffset::new(10), BarrierRole::Arrive)],
            vec![],
            vec![(WordOffset::new(30), BarrierRole::Wait)],
            vec![],
        ]);
        let skeleton = Skeleton::of_graph(&Cfg::from_edges(5, &edges), 1, &places);
        assert!(skeleton.as_ref().is_ok_and(|skeleton| skeleton.is_partial));
        assert_eq!(
            show(skeleton),
            "0:[][] 1:[30][0] 2:[][0, 1] 3:[10][2] 4:[][0, 3] "
        );
    }

    #[test]
    fn irreducible_graphs_end_too() {
        let edges = [(0, 1), (0, 2), (1, 2), (2, 1), (1, 3), (2, 3)];
        assert!(skeleton(4, &edges, &[1, 2], 3).starts_with("0:[][] "));
    }
}
