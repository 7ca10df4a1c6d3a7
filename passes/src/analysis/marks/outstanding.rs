//! Waits that can never block, and marks that no wait counts ("Implementation notes" of LLVM's
//! AMDGPU Asynchronous Operations).

use super::{EventPlace, MAX_MARKS};
use crate::analysis::cfg::Cfg;
use crate::analysis::dataflow::{Analysis, Direction, solve, solve_any};
use crate::module::{BlockIndex, BlockMap};
use std::collections::BTreeSet;

/// A change of the sequence of marks.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Tick {
    /// A mark is made.
    Mark,
    /// A wait until at most so many marks are outstanding.
    Wait(u8),
    /// Something that may make marks of this sequence and wait for them. Where the sequence belongs
    /// to the invocation and not to the function, as in PTX, this is a call, and the entry and the
    /// returns of a function that is called.
    Unknown,
}

/// The result of [`prune`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Marks that no wait counts, but for those in `waits`.
    pub marks: BTreeSet<EventPlace>,
    /// Waits that never block: on no path are more marks outstanding than they allow. What they
    /// order in memory, they order only together with a mark.
    pub waits: BTreeSet<EventPlace>,
}

/// The marks and waits of a body that have no effect, in blocks that control can reach or cannot.
/// All of them may be taken out together.
pub fn prune(cfg: &Cfg, ticks: &BlockMap<Vec<Tick>>) -> Pruned {
    let most = solve(cfg, &Most { ticks });
    let mut waits = BTreeSet::new();
    for (block, ticks) in ticks.iter() {
        let mut outstanding = most[block];
        for (index, tick) in ticks.iter().enumerate() {
            if matches!(tick, Tick::Wait(allowed) if outstanding <= (*allowed).min(MAX_MARKS)) {
                waits.insert((block, index));
            }
            outstanding = after(outstanding, *tick);
        }
    }
    // Whether something further on counts marks.
    let counted = solve_any(cfg, Direction::Backward, |block, counted| {
        let ticks = ticks.get(block).into_iter().flatten().enumerate();
        counted
            || ticks.into_iter().any(|(index, tick)| match tick {
                Tick::Mark => false,
                Tick::Wait(_) => !waits.contains(&(block, index)),
                Tick::Unknown => true,
            })
    });
    let mut marks = BTreeSet::new();
    for (block, ticks) in ticks.iter() {
        let mut counted = counted[block];
        for (index, tick) in ticks.iter().enumerate().rev() {
            match tick {
                Tick::Mark if !counted => {
                    marks.insert((block, index));
                }
                Tick::Mark => {}
                Tick::Wait(_) => counted |= !waits.contains(&(block, index)),
                Tick::Unknown => counted = true,
            }
        }
    }
    Pruned { marks, waits }
}

/// The most marks that are outstanding anywhere in the body; above [`MAX_MARKS`] any number.
pub fn most_outstanding(cfg: &Cfg, ticks: &BlockMap<Vec<Tick>>) -> u8 {
    let at_start = solve(cfg, &Most { ticks });
    let blocks = ticks.values().zip(at_start.into_values());
    let counts = blocks.flat_map(|(ticks, at_start)| {
        ticks.iter().scan(at_start, |outstanding, tick| {
            *outstanding = after(*outstanding, *tick);
            Some(*outstanding)
        })
    });
    counts.max().unwrap_or(0)
}

/// Outstanding marks at most; above [`MAX_MARKS`] any number.
fn after(outstanding: u8, tick: Tick) -> u8 {
    match tick {
        Tick::Mark => outstanding.min(MAX_MARKS) + 1,
        Tick::Wait(allowed) => outstanding.min(allowed),
        Tick::Unknown => MAX_MARKS + 1,
    }
}

/// How many marks may be outstanding.
struct Most<'t> {
    ticks: &'t BlockMap<Vec<Tick>>,
}

impl Analysis for Most<'_> {
    type State = u8;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> u8 {
        0
    }

    fn boundary(&self) -> u8 {
        0
    }

    fn join(&self, state: &mut u8, other: &u8) -> bool {
        let before = std::mem::replace(state, (*state).max(*other));
        before != *state
    }

    fn transfer(&self, block: BlockIndex, state: u8) -> u8 {
        let ticks = self.ticks.get(block).map_or(&[][..], Vec::as_slice);
        ticks.iter().fold(state, |state, tick| after(state, *tick))
    }
}
