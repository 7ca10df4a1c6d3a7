//! The states of the barriers of one scope at each place: one for each kind of path.

use crate::analysis::cfg::Cfg;
use crate::analysis::dataflow::at;
use crate::module::{BlockIndex, BlockMap};
use std::collections::VecDeque;

/// No arrive is outstanding.
pub(super) const CLOSED: u8 = 1;
/// An arrive is outstanding.
pub(super) const OPEN: u8 = 2;
/// An arrive was outstanding and has been completed before its wait.
pub(super) const DONE: u8 = 4;

/// What changes the state, or asks for it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Arrive,
    Wait,
    /// OpControlBarrier; an open pair is completed before it.
    Barrier,
    /// The end of the shader.
    Exit,
}

impl Event {
    /// The states after it.
    pub(super) fn after(self, state: u8) -> u8 {
        match self {
            _ if state == 0 => 0, // control does not come here
            Event::Arrive => OPEN,
            Event::Wait | Event::Exit => CLOSED,
            Event::Barrier => state & !OPEN | if state & OPEN != 0 { DONE } else { 0 },
        }
    }
}

/// A block that ends with a branch on whether an arrive is outstanding: where control goes if so,
/// and if not.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) open: BlockIndex,
    pub(super) closed: BlockIndex,
}

/// The states at the start of each block. `tests` has the tests of blocks that end with one.
///
/// A block is looked at again only when its set has grown, so three times at the most after the
/// first.
pub(super) fn solve(
    cfg: &Cfg,
    events: &BlockMap<Vec<Event>>,
    tests: &BlockMap<Option<Test>>,
) -> BlockMap<u8> {
    let mut states = BlockMap::filled(cfg.len(), 0);
    let mut work = VecDeque::new();
    if let Some(first) = states.get_mut(BlockIndex::ENTRY) {
        *first = CLOSED;
        work.push_back(BlockIndex::ENTRY);
    }
    while let Some(block) = work.pop_front() {
        let start = at(&states, block);
        let end = events
            .get(block)
            .into_iter()
            .flatten()
            .fold(start, |state, event| event.after(state));
        for next in cfg.succs(block) {
            let passed = match tests.get(block).copied().flatten() {
                Some(test) if test.open == test.closed => end,
                Some(test) if test.open == *next => end & OPEN,
                Some(_) => end & !OPEN,
                None => end,
            };
            if let Some(state) = states.get_mut(*next)
                && passed & !*state != 0
            {
                *state |= passed;
                work.push_back(*next);
            }
        }
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_on_one_path() {
        // arrive; if { barrier }; wait
        let cfg = Cfg::from_edges(4, &[(0, 1), (0, 2), (1, 2), (2, 3)]);
        let events = BlockMap::from([
            vec![Event::Arrive],
            vec![Event::Barrier],
            vec![Event::Wait],
            vec![],
        ]);
        assert_eq!(
            solve(&cfg, &events, &BlockMap::filled(4, None)),
            BlockMap::from([CLOSED, OPEN, OPEN | DONE, CLOSED])
        );
    }

    #[test]
    fn a_test_tells_the_paths_apart() {
        let cfg = Cfg::from_edges(5, &[(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)]);
        let events = BlockMap::from([
            vec![],
            vec![Event::Arrive],
            vec![],
            vec![Event::Wait],
            vec![],
        ]);
        let mut tests = BlockMap::filled(5, None);
        assert_eq!(
            solve(&cfg, &events, &tests),
            BlockMap::from([CLOSED, CLOSED, CLOSED | OPEN, CLOSED | OPEN, CLOSED | OPEN])
        );
        tests[BlockIndex::new(2)] = Some(Test {
            open: BlockIndex::new(3),
            closed: BlockIndex::new(4),
        });
        assert_eq!(
            solve(&cfg, &events, &tests),
            BlockMap::from([CLOSED, CLOSED, CLOSED | OPEN, OPEN, CLOSED])
        );
    }
}
