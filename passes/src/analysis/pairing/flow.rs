//! Arrives and waits of one execution scope over a control-flow graph: what reaches what.

use super::lattice::{OpenArrives, Union};
use crate::analysis::cfg::Cfg;
use crate::analysis::components::strongly_connected;
use crate::analysis::dataflow::{Direction, solve_any};
use crate::module::{BlockIndex, BlockMap};
use std::cmp::Reverse;

/// What happens to the state of the scope.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The arrive with this number among the arrives of the scope.
    Arrive(usize),
    /// A wait.
    Wait,
}

impl Event {
    /// The state after it, whatever stood before.
    pub(super) fn after(self) -> OpenArrives {
        match self {
            Event::Arrive(arrive) => OpenArrives::open(arrive),
            Event::Wait => OpenArrives::closed(),
        }
    }
}

/// The solution for one scope.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    /// What is open at the start of each block.
    pub(super) at_start: BlockMap<OpenArrives>,
    /// Whether, from the end of each block, a wait can be reached with no arrive and no other wait
    /// on the way.
    pub(super) wait_ahead: BlockMap<bool>,
}

/// Solves for `events`, which gives each block its events in order. `None` when the sets of arrives
/// that have to be made are larger than `most` together.
pub(super) fn flow(cfg: &Cfg, events: &BlockMap<Vec<Event>>, most: usize) -> Option<Flow> {
    Some(Flow {
        at_start: outstanding(cfg, events, most)?,
        wait_ahead: solve_any(cfg, Direction::Backward, |block, ahead| {
            let first = events.get(block).and_then(|events| events.first());
            first.map_or(ahead, |first| *first == Event::Wait)
        }),
    })
}

/// What is open at the start of each block.
///
/// A block with an event has the same state after it whatever comes before, so only blocks without
/// events pass states on. Blocks that pass states to each other in a circle have the same state:
/// their strongly connected components, in the direction of flow, give the least solution in one
/// walk. The general solver would look at a block once for every arrive that comes to it on its
/// own.
fn outstanding(
    cfg: &Cfg,
    events: &BlockMap<Vec<Event>>,
    most: usize,
) -> Option<BlockMap<OpenArrives>> {
    let mut left = most;
    let last = |block: BlockIndex| events.get(block).and_then(|events| events.last());
    let releases_cumulatively = |block: BlockIndex| {
        if last(block).is_none() {
            cfg.succs(block)
        } else {
            &[]
        }
    };
    let component = strongly_connected(cfg.len(), releases_cumulatively);
    let mut order = cfg.reverse_postorder().to_vec();
    order.sort_by_key(|block| Reverse(component[*block]));
    let mut states = BlockMap::filled(cfg.len(), OpenArrives::default());
    for members in order.chunk_by(|a, b| component[*a] == component[*b]) {
        let mut union = Union::default();
        for block in members {
            if *block == BlockIndex::ENTRY {
                union.add(&OpenArrives::closed());
            }
            for pred in cfg
                .preds(*block)
                .iter()
                .filter(|pred| cfg.is_reachable(**pred))
            {
                match last(*pred) {
                    Some(event) => union.add(&event.after()),
                    // The same state.
                    None if component[*pred] == component[*block] => {}
                    None => union.add(&states[*pred]),
                }
            }
        }
        let state = union.state(&mut left)?;
        for block in members {
            states[*block].clone_from(&state);
        }
    }
    Some(states)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::lattice::Open;
    use super::*;
    use crate::analysis::dataflow::{Analysis, solve};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The same problem for the general solver.
    struct Outstanding<'e> {
        events: &'e BlockMap<Vec<Event>>,
    }

    impl Analysis for Outstanding<'_> {
        type State = OpenArrives;
        const DIRECTION: Direction = Direction::Forward;

        fn bottom(&self) -> OpenArrives {
            OpenArrives::default()
        }

        fn boundary(&self) -> OpenArrives {
            OpenArrives::closed()
        }

        fn join(&self, state: &mut OpenArrives, other: &OpenArrives) -> bool {
            state.join(other)
        }

        fn transfer(&self, block: BlockIndex, state: OpenArrives) -> OpenArrives {
            self.events
                .get(block)
                .and_then(|events| events.last())
                .map_or(state, |last| last.after())
        }
    }

    const BLOCKS: usize = 5;

    /// Graphs of five blocks with at most two edges from each (any target, so loops and irreducible
    /// ones come), and up to two events in each block.
    fn problem() -> impl Strategy<Value = (BlockMap<Vec<BlockIndex>>, BlockMap<Vec<Event>>)> {
        let block = (0..BLOCKS).prop_map(BlockIndex::new);
        let succs = prop::collection::vec(prop::collection::vec(block, 0..=2), BLOCKS);
        let events = prop::collection::vec(prop::collection::vec(any::<bool>(), 0..=2), BLOCKS);
        (succs, events).prop_map(|(succs, kinds)| {
            let mut arrives = 0..;
            let event = |arrive| {
                if arrive {
                    Event::Arrive(arrives.next().unwrap_or(0))
                } else {
                    Event::Wait
                }
            };
            let mut event = event;
            let events = kinds
                .into_iter()
                .map(|kinds| kinds.into_iter().map(&mut event).collect())
                .collect();
            (succs.into(), events)
        })
    }

    /// What one path says about the starts of blocks: the outstanding arrive, or none.
    type Seen = BlockMap<BTreeSet<Option<usize>>>;

    /// Walks every path of at most `left` blocks more. Ten blocks are enough for five: at most five
    /// to get to the last event that counts, at most five from there to the place.
    fn walk(
        succs: &BlockMap<Vec<BlockIndex>>,
        events: &BlockMap<Vec<Event>>,
        block: BlockIndex,
        mut open: Option<usize>,
        left: usize,
        seen: &mut Seen,
    ) {
        seen[block].insert(open);
        if left == 0 {
            return;
        }
        for event in &events[block] {
            open = match event {
                Event::Arrive(arrive) => Some(*arrive),
                Event::Wait => None,
            };
        }
        for succ in &succs[block] {
            walk(succs, events, *succ, open, left - 1, seen);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn equal_to_all_paths((succs, events) in problem()) {
            let edges: Vec<_> = succs.iter().flat_map(|(from, to)| to.iter().map(move |to| (from.index(), to.index()))).collect();
            let cfg = Cfg::from_edges(BLOCKS, &edges);
            let flow = flow(&cfg, &events, usize::MAX).unwrap();
            prop_assert_eq!(&flow.at_start, &solve(&cfg, &Outstanding { events: &events }));
            let mut seen = BlockMap::filled(BLOCKS, BTreeSet::new());
            walk(&succs, &events, BlockIndex::ENTRY, None, 2 * BLOCKS, &mut seen);
            for (state, seen) in flow.at_start.values().zip(seen.values()) {
                let arrives: Vec<usize> = seen.iter().flatten().copied().collect();
                prop_assert_eq!(state.arrives().collect::<Vec<_>>(), arrives);
                let verdict = match (seen.iter().any(Option::is_some), seen.contains(&None)) {
                    (true, true) => Open::Sometimes,
                    (true, false) => Open::Always,
                    (false, _) => Open::Never,
                };
                prop_assert_eq!(state.verdict(), verdict);
            }
            for block in cfg.blocks().filter(|block| cfg.is_reachable(*block)) {
                prop_assert_eq!(flow.wait_ahead[block], wait_ahead(&succs, &events, block, 2 * BLOCKS));
            }
        }
    }

    fn wait_ahead(
        succs: &BlockMap<Vec<BlockIndex>>,
        events: &BlockMap<Vec<Event>>,
        block: BlockIndex,
        left: usize,
    ) -> bool {
        left > 0
            && succs[block].iter().any(|succ| match events[*succ].first() {
                Some(event) => *event == Event::Wait,
                None => wait_ahead(succs, events, *succ, left - 1),
            })
    }

    #[test]
    fn the_loop_of_a_pipeline() {
        // arrive; loop { wait; arrive }; wait
        let cfg = Cfg::from_edges(3, &[(0, 1), (1, 1), (1, 2)]);
        let events = BlockMap::from([
            vec![Event::Arrive(0)],
            vec![Event::Wait, Event::Arrive(1)],
            vec![Event::Wait],
        ]);
        let flow = flow(&cfg, &events, usize::MAX).unwrap();
        assert_eq!(
            flow.at_start[BlockIndex::new(1)]
                .arrives()
                .collect::<Vec<_>>(),
            [0, 1]
        );
        assert_eq!(flow.at_start[BlockIndex::new(1)].verdict(), Open::Always);
        assert_eq!(
            flow.at_start[BlockIndex::new(2)]
                .arrives()
                .collect::<Vec<_>>(),
            [1]
        );
        assert_eq!(flow.wait_ahead, BlockMap::from([true, true, false]));
    }

    /// Loops nested in each other, an arrive at the end of each: every arrive comes to all loops
    /// inside of its own.
    #[test]
    fn nested_loops_are_solved_in_time() {
        let depth = 1000;
        let latch = |level: usize| 2 * depth - 1 - level;
        let mut edges = Vec::new();
        for level in 0..depth {
            edges.push((
                level,
                if level + 1 < depth {
                    level + 1
                } else {
                    latch(level)
                },
            ));
            edges.push((latch(level), level));
            edges.extend((level > 0).then(|| (latch(level), latch(level - 1))));
        }
        let cfg = Cfg::from_edges(2 * depth, &edges);
        let mut events = BlockMap::filled(2 * depth, Vec::new());
        for level in 0..depth {
            events[BlockIndex::new(latch(level))].push(Event::Arrive(level));
        }
        let flow = flow(&cfg, &events, usize::MAX).unwrap();
        assert_eq!(
            flow.at_start[BlockIndex::new(depth - 1)].arrives().count(),
            depth
        );
        assert_eq!(
            flow.at_start[BlockIndex::ENTRY]
                .arrives()
                .collect::<Vec<_>>(),
            [0]
        );
        assert_eq!(flow.at_start[BlockIndex::ENTRY].verdict(), Open::Sometimes);
    }
}
