//! A solver for dataflow problems over a [`Cfg`]: states, a join, a transfer function per block, a
//! worklist.
//!
//! An analysis must be monotone and its states must not rise for ever; then the result is the least
//! solution, whatever the shape of the graph. A block is looked at again only when the state before
//! it has changed, blocks earlier in the direction of flow first.

use super::cfg::Cfg;
use crate::module::{BlockIndex, BlockMap};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::marker::PhantomData;
use std::ops::BitOr;

/// The direction in which facts flow.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From a block to its successors.
    Forward,
    /// From a block to its predecessors.
    Backward,
}

/// The entry for `block` of a table that has one for each block; the default value for a block that
/// has none, which is a bug that debug builds report.
pub(crate) fn at<T: Copy + Default>(table: &BlockMap<T>, block: BlockIndex) -> T {
    let entry = table.get(block).copied();
    debug_assert!(entry.is_some(), "block {block} has no entry");
    entry.unwrap_or_default()
}

/// A dataflow problem.
pub trait Analysis {
    /// What is known at a place.
    type State: Clone + PartialEq;

    /// The direction in which facts flow.
    const DIRECTION: Direction;

    /// The state of a place that no fact has reached.
    fn bottom(&self) -> Self::State;

    /// The state where flow starts: before the entry block (forward), after a block without
    /// successors (backward).
    fn boundary(&self) -> Self::State;

    /// Adds `other` to `state`; says whether `state` has changed.
    fn join(&self, state: &mut Self::State, other: &Self::State) -> bool;

    /// From the state before the block (in the direction of flow) to the state after it.
    fn transfer(&self, block: BlockIndex, state: Self::State) -> Self::State;
}

/// The solution: for each block the state before it in the direction of flow. That is the state at
/// its first instruction for a forward problem, and after its terminator for a backward one. Blocks
/// that control cannot reach keep the bottom state.
pub fn solve<A: Analysis>(cfg: &Cfg, analysis: &A) -> BlockMap<A::State> {
    let order: Vec<BlockIndex> = match A::DIRECTION {
        Direction::Forward => cfg.reverse_postorder().to_vec(),
        Direction::Backward => cfg.reverse_postorder().iter().rev().copied().collect(),
    };
    let mut position = BlockMap::filled(cfg.len(), None);
    for (place, block) in order.iter().enumerate() {
        position[*block] = Some(place);
    }
    let mut states = BlockMap::filled(cfg.len(), analysis.bottom());
    for block in &order {
        let starts = match A::DIRECTION {
            Direction::Forward => *block == BlockIndex::ENTRY,
            Direction::Backward => cfg.succs(*block).is_empty(),
        };
        if starts {
            analysis.join(&mut states[*block], &analysis.boundary());
        }
    }
    let mut queued = vec![true; order.len()];
    let mut work: BinaryHeap<_> = (0..order.len()).map(Reverse).collect();
    while let Some(Reverse(place)) = work.pop() {
        queued[place] = false;
        let block = order[place];
        let after = analysis.transfer(block, states[block].clone());
        let next = match A::DIRECTION {
            Direction::Forward => cfg.succs(block),
            Direction::Backward => cfg.preds(block),
        };
        for block in next {
            // Predecessors that control cannot reach have no position: nothing is known of them,
            // nothing is asked.
            let Some(place) = position[*block] else {
                continue;
            };
            if analysis.join(&mut states[*block], &after)
                && !std::mem::replace(&mut queued[place], true)
            {
                work.push(Reverse(place));
            }
        }
    }
    states
}

/// The solution of a problem whose facts are a set (a bit for each, or one `bool`) and hold where
/// they hold on some path: states join by union, and nothing holds where flow starts. `transfer` is
/// [`Analysis::transfer`]; the result is that of [`solve`].
pub fn solve_any<S>(
    cfg: &Cfg,
    direction: Direction,
    transfer: impl Fn(BlockIndex, S) -> S,
) -> BlockMap<S>
where
    S: Copy + Default + PartialEq + BitOr<Output = S>,
{
    let state = PhantomData;
    match direction {
        Direction::Forward => solve(cfg, &Any::<_, _, true> { transfer, state }),
        Direction::Backward => solve(cfg, &Any::<_, _, false> { transfer, state }),
    }
}

struct Any<S, F, const FORWARD: bool> {
    transfer: F,
    state: PhantomData<S>,
}

impl<S, F, const FORWARD: bool> Analysis for Any<S, F, FORWARD>
where
    S: Copy + Default + PartialEq + BitOr<Output = S>,
    F: Fn(BlockIndex, S) -> S,
{
    type State = S;
    const DIRECTION: Direction = if FORWARD {
        Direction::Forward
    } else {
        Direction::Backward
    };

    fn bottom(&self) -> S {
        S::default()
    }

    fn boundary(&self) -> S {
        S::default()
    }

    fn join(&self, state: &mut S, other: &S) -> bool {
        let before = *state;
        *state = before | *other;
        before != *state
    }

    fn transfer(&self, block: BlockIndex, state: S) -> S {
        (self.transfer)(block, state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Which blocks have been passed on some path: a set of bits.
    macro_rules! passed {
        ($name:ident) => {
            struct $name;
            impl Analysis for $name {
                type State = u32;
                const DIRECTION: Direction = Direction::$name;
                fn bottom(&self) -> u32 {
                    0
                }
                fn boundary(&self) -> u32 {
                    1 << 31
                }
                fn join(&self, state: &mut u32, other: &u32) -> bool {
                    let before = std::mem::replace(state, *state | *other);
                    before != *state
                }
                fn transfer(&self, block: BlockIndex, state: u32) -> u32 {
                    state | 1 << block.index()
                }
            }
        };
    }
    passed!(Forward);
    passed!(Backward);

    const START: u32 = 1 << 31;

    #[test]
    fn if_else() {
        let cfg = Cfg::from_edges(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert_eq!(
            solve(&cfg, &Forward),
            BlockMap::from([START, START | 0b1, START | 0b1, START | 0b111])
        );
        assert_eq!(
            solve(&cfg, &Backward),
            BlockMap::from([START | 0b1110, START | 0b1000, START | 0b1000, START])
        );
    }

    #[test]
    fn a_loop_feeds_its_header() {
        let cfg = Cfg::from_edges(4, &[(0, 1), (1, 2), (2, 1), (1, 3)]);
        let states = solve(&cfg, &Forward);
        assert_eq!(states[BlockIndex::new(1)], START | 0b111);
        assert_eq!(states[BlockIndex::new(3)], START | 0b111);
    }

    #[test]
    fn a_loop_without_a_way_out_is_solved_backward() {
        let cfg = Cfg::from_edges(3, &[(0, 1), (1, 2), (2, 1)]);
        assert_eq!(solve(&cfg, &Backward), BlockMap::from([0b110; 3]));
    }

    #[test]
    fn irreducible() {
        let cfg = Cfg::from_edges(4, &[(0, 1), (0, 2), (1, 2), (2, 1), (1, 3)]);
        let states = solve(&cfg, &Forward);
        assert_eq!(states[BlockIndex::new(1)], START | 0b111);
        assert_eq!(states[BlockIndex::new(2)], START | 0b111);
    }

    #[test]
    fn what_control_cannot_reach_says_nothing() {
        let cfg = Cfg::from_edges(3, &[(0, 2), (1, 2)]);
        assert_eq!(
            solve(&cfg, &Forward),
            BlockMap::from([START, 0, START | 0b1])
        );
    }
}
