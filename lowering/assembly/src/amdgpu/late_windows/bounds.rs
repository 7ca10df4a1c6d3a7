//! The maximum numbers of operations that waits leave outstanding.

use super::super::passable::Passage;
use splitbar_target::Counter;
use std::collections::BTreeMap;

/// The maximum number of outstanding operations after waits, by counter.
pub(super) type Bounds = BTreeMap<Counter, u32>;

pub(super) fn add(bounds: &mut Bounds, passage: &Passage) {
    if let Passage::Waits(waits) = passage {
        for (counter, left) in waits {
            let bound = bounds.entry(*counter).or_insert(*left);
            *bound = (*bound).min(*left);
        }
    }
}

/// Returns true if `bounds` are at least as strict as `needed`.
pub(super) fn hold(needed: &Bounds, bounds: &Bounds) -> bool {
    let mut needed = needed.iter();
    needed.all(|(counter, needed)| bounds.get(counter).is_some_and(|bound| bound <= needed))
}
