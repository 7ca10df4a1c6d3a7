//! Finds marks without a copy before them, and adjusts waits so that they do not count them.

use super::{EventPlace, MAX_MARKS};
use crate::analysis::cfg::Cfg;
use crate::analysis::dataflow::{Direction, solve_any};
use crate::module::{BlockIndex, BlockMap};
use std::collections::{BTreeMap, BTreeSet};

/// Blocks times waits above which a wait waits for all marks instead of being counted anew.
const MOST_WORK: usize = 1 << 16;

/// A mark, a copy or a wait in a block.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A copy is started.
    Copy,
    /// A mark is made.
    Mark,
    /// A wait until at most so many marks are outstanding.
    Wait(u8),
}

/// The result of [`without_empty`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WithoutEmpty {
    /// The marks that on no path have a copy between them and the mark before.
    pub empty: BTreeSet<EventPlace>,
    /// For each wait, the number of the other marks that it may leave outstanding, so that it waits
    /// for the same copies; waits without copies are omitted.
    pub waits: BTreeMap<EventPlace, u8>,
}

/// Finds the empty marks, and adjusts the waits for their removal: of the marks that a wait leaves
/// outstanding it counts those that are kept, on the path that has the fewest.
pub fn without_empty(cfg: &Cfg, moments: &BlockMap<Vec<Moment>>) -> WithoutEmpty {
    // Whether there may be a copy that no mark covers yet.
    let unmarked = solve_any(cfg, Direction::Forward, |block, unmarked| {
        let moments = moments.get(block).into_iter().flatten();
        moments.fold(unmarked, |unmarked, moment| match moment {
            Moment::Copy => true,
            Moment::Mark => false,
            Moment::Wait(_) => unmarked,
        })
    });
    let mut found = WithoutEmpty::default();
    let mut waits = Vec::new();
    for block in cfg.reverse_postorder() {
        let mut unmarked = unmarked[*block];
        for (index, moment) in moments.get(*block).into_iter().flatten().enumerate() {
            match moment {
                Moment::Copy => unmarked = true,
                Moment::Mark => {
                    if !std::mem::replace(&mut unmarked, false) {
                        found.empty.insert((*block, index));
                    }
                }
                Moment::Wait(allowed) => waits.push(((*block, index), *allowed)),
            }
        }
    }
    let affordable = waits.len().saturating_mul(cfg.len()) <= MOST_WORK;
    for (place, allowed) in waits {
        let left = if found.empty.is_empty() {
            Some(allowed)
        } else if affordable {
            kept(cfg, moments, &found.empty, place, allowed)
        } else {
            Some(0)
        };
        if let Some(left) = left {
            found.waits.insert(place, left);
        }
    }
    found
}

/// How many of the `allowed` newest marks before `place` are kept, at least; `None` when no path
/// has more marks than these.
fn kept(
    cfg: &Cfg,
    moments: &BlockMap<Vec<Moment>>,
    empty: &BTreeSet<EventPlace>,
    place: EventPlace,
    allowed: u8,
) -> Option<u8> {
    let allowed = allowed.min(MAX_MARKS);
    // Backwards: end of a block and marks that are yet to be passed, with the kept ones among those
    // that were passed.
    let mut least: BTreeMap<(BlockIndex, u8), u8> = BTreeMap::new();
    let mut work = vec![(place.0, place.1, allowed, 0)];
    let mut found = None;
    while let Some((block, end, mut left, mut kept)) = work.pop() {
        let code = moments.get(block).map_or(&[][..], Vec::as_slice);
        let before = code.iter().enumerate().take(end).rev();
        let mut ended = false;
        for (index, _) in before.filter(|(_, moment)| **moment == Moment::Mark) {
            if left == 0 {
                found = Some(found.map_or(kept, |known: u8| known.min(kept)));
                ended = true;
                break;
            }
            left -= 1;
            kept += u8::from(!empty.contains(&(block, index)));
        }
        let preds = if ended { &[][..] } else { cfg.preds(block) };
        for pred in preds.iter().filter(|pred| cfg.is_reachable(**pred)) {
            let known = least.entry((*pred, left)).or_insert(u8::MAX);
            if kept < *known {
                *known = kept;
                work.push((*pred, usize::MAX, left, kept));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use Moment::{Copy, Mark, Wait};

    fn at(block: usize, index: usize) -> EventPlace {
        (BlockIndex::new(block), index)
    }

    #[test]
    fn a_wait_does_not_count_what_is_left_out() {
        let cfg = Cfg::from_edges(1, &[]);
        let found = without_empty(
            &cfg,
            &BlockMap::from([vec![
                Copy,
                Mark,
                Mark,
                Copy,
                Mark,
                Mark,
                Wait(3),
                Wait(2),
                Wait(9),
            ]]),
        );
        assert_eq!(found.empty, BTreeSet::from([at(0, 2), at(0, 5)]));
        // The three newest marks are one that is kept and two that are not; no path has ten.
        assert_eq!(found.waits, BTreeMap::from([(at(0, 6), 1), (at(0, 7), 1)]));
    }

    #[test]
    fn the_path_with_the_fewest_kept_marks_decides() {
        // Two marks on the one way and an empty one on the other, then a wait that leaves two
        // behind; the loop comes by again and again.
        let cfg = Cfg::from_edges(4, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 0)]);
        let found = without_empty(
            &cfg,
            &BlockMap::from([
                vec![Copy, Mark],
                vec![Copy, Mark, Copy, Mark],
                vec![Mark],
                vec![Wait(2)],
            ]),
        );
        assert_eq!(found.empty, BTreeSet::from([at(2, 0)]));
        assert_eq!(found.waits[&at(3, 0)], 1);
    }

    #[test]
    fn a_copy_on_one_path_is_enough_for_a_mark() {
        let cfg = Cfg::from_edges(3, &[(0, 1), (0, 2), (1, 2)]);
        let found = without_empty(
            &cfg,
            &BlockMap::from([vec![], vec![Copy], vec![Mark, Wait(0)]]),
        );
        assert!(found.empty.is_empty());
        assert_eq!(found.waits[&at(2, 1)], 0);
    }
}
