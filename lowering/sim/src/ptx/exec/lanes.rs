//! Sets of the lanes of a warp.

use crate::lane::Lane;

/// Lanes of a warp.
pub(super) const LANES: u32 = 32;

/// Lanes, a bit each.
pub(crate) type Lanes = u32;

/// The lanes in a set, from the lowest.
pub(crate) fn each(lanes: Lanes) -> impl Iterator<Item = Lane> {
    let mut left = lanes;
    std::iter::from_fn(move || {
        let lane = Lane::first(left);
        left &= left.wrapping_sub(1);
        lane
    })
}
