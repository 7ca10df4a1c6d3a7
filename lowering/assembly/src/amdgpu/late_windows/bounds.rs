//! How many operations waits leave outstanding at most.

use super::super::passable::Passage;
use splitbar_target::Counter;
use std::collections::BTreeMap;

/// How many operations may be outstanding behind waits, by counter.
pub(super) type Bounds = BTreeMap<Counter, u32>;

pub(super) fn add(bounds: &mut Bounds, passage: &Passage) {
    if let Passage::Waits(waits) = passage {
        for (counter, left) in waits {
            let bound = bounds.entry(*counter).or_insert(*left);
            *bound = (*bound).min(*left);
        }
    }
}

/// Whether `bounds` are at least as strict as `needed`.
pub(super) fn hold(needed: &Bounds, bounds: &Bounds) -> bool {
    let mut needed = needed.iter();
    needed.all(|(counter, needed)| bounds.get(counter).is_some_and(|bound| bound <= needed))
}
