//! Masks of lanes.

use crate::lane::Lane;

/// Lanes of a mask.
pub(super) fn each(mut mask: u64) -> impl Iterator<Item = Lane> {
    std::iter::from_fn(move || {
        let lane = Lane::first(mask);
        mask &= mask.wrapping_sub(1);
        lane
    })
}
