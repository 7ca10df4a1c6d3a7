//! Finds the barriers that a neighbour makes redundant: within a block, and along all paths of a
//! control-flow graph, forward and backward.

use super::{Barrier, Part};
use crate::analysis::cfg::Cfg;
use crate::analysis::dataflow::{Analysis, Direction, solve};
use crate::module::{BlockIndex, BlockMap, WordOffset};

/// The barrier next to a place, looking against the direction of flow, with nothing that can be
/// seen between.
#[derive(Clone, Debug, PartialEq)]
enum Neighbour {
    /// No path has come here.
    Unknown,
    /// On every path one that orders at least what this one does.
    Barrier(Barrier),
    /// On some path there is none.
    None,
}

impl Neighbour {
    fn covers(&self, other: &Barrier) -> bool {
        matches!(self, Neighbour::Barrier(barrier) if barrier.covers(other))
    }

    /// The neighbour behind `part`: a barrier that goes changes nothing, but for what its window
    /// shows.
    fn after(&self, part: &Part) -> Neighbour {
        match (self, part) {
            (_, Part::Seen) => Neighbour::None,
            (_, Part::Barrier(new)) if !new.is_whole => Neighbour::None,
            (Neighbour::Unknown, Part::Barrier(_)) => Neighbour::Unknown,
            (old, Part::Barrier(new)) if old.covers(new) => old.clone(),
            (_, Part::Barrier(new)) => Neighbour::Barrier(new.clone()),
        }
    }
}

/// The parts of all blocks, as facts flow through them.
struct Across<'p, const FORWARD: bool>(&'p BlockMap<Vec<Part>>);

impl<const FORWARD: bool> Analysis for Across<'_, FORWARD> {
    type State = Neighbour;

    const DIRECTION: Direction = if FORWARD {
        Direction::Forward
    } else {
        Direction::Backward
    };

    fn bottom(&self) -> Neighbour {
        Neighbour::Unknown
    }

    fn boundary(&self) -> Neighbour {
        Neighbour::None
    }

    /// The weaker of two barriers, none when they cannot be compared: a state only ever gets
    /// weaker.
    fn join(&self, state: &mut Neighbour, other: &Neighbour) -> bool {
        let joined = match (&*state, other) {
            (_, Neighbour::Unknown) | (Neighbour::None, _) => return false,
            (Neighbour::Unknown, other) => other.clone(),
            (_, Neighbour::None) => Neighbour::None,
            (Neighbour::Barrier(old), Neighbour::Barrier(new)) if new.covers(old) => return false,
            (old, Neighbour::Barrier(new)) if old.covers(new) => other.clone(),
            (Neighbour::Barrier(_), Neighbour::Barrier(_)) => Neighbour::None,
        };
        *state = joined;
        true
    }

    fn transfer(&self, block: BlockIndex, state: Neighbour) -> Neighbour {
        let parts = self.0.get(block).into_iter().flatten();
        let step = |state: Neighbour, part: &Part| state.after(part);
        if FORWARD {
            parts.fold(state, step)
        } else {
            parts.rev().fold(state, step)
        }
    }
}

/// Takes redundant barriers out of `blocks` and adds the offsets of their instructions to
/// `redundant`. Without a graph a neighbour is looked for in the same block alone.
pub(super) fn reduce(
    cfg: Option<&Cfg>,
    blocks: &mut BlockMap<Vec<Part>>,
    redundant: &mut Vec<WordOffset>,
) {
    loop {
        let before = redundant.len();
        sweep::<true>(cfg, blocks, redundant);
        sweep::<false>(cfg, blocks, redundant);
        if redundant.len() == before {
            return;
        }
    }
}

fn sweep<const FORWARD: bool>(
    cfg: Option<&Cfg>,
    blocks: &mut BlockMap<Vec<Part>>,
    redundant: &mut Vec<WordOffset>,
) {
    let starts = match cfg {
        Some(cfg) => solve(cfg, &Across::<FORWARD>(blocks)),
        None => BlockMap::filled(blocks.len(), Neighbour::None),
    };
    for (parts, mut state) in blocks.values_mut().zip(starts.into_values()) {
        let mut list = std::mem::take(parts);
        if !FORWARD {
            list.reverse();
        }
        for part in list {
            let next = state.after(&part);
            match part {
                Part::Barrier(barrier) if state.covers(&barrier) => {
                    redundant.extend([barrier.first, barrier.last]);
                    if !barrier.is_whole {
                        parts.push(Part::Seen); // its window stays
                    }
                }
                part => parts.push(part),
            }
            state = next;
        }
        if !FORWARD {
            parts.reverse();
        }
    }
}
