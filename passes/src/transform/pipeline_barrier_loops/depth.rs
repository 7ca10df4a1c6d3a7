//! The number of buffers of a loop, and what follows from it: how far its stage runs ahead, and
//! what its split barriers enclose.
//!
//! With two buffers, the arrive follows the work and the stores for the next iteration, and the
//! wait precedes the next work. With more, the window contains the work:
//!
//! ```text
//! 3, loads:  loop { if (i + 2) x = load(i + 2); work; wait; if (i + 2) tile[(i + 2) % 3] = x; arrive } wait
//! 4, loads:  loop { if (i + 2) x = load(i + 2); work; if (i + 2) tile[(i + 2) % 4] = x; wait; arrive } wait
//! 3, stage:  loop { if (i + 1) tile[(i + 1) % 3] = load(i + 1); arrive; work; wait } barrier
//! 4, stage:  loop { if (i + 2) tile[(i + 2) % 4] = load(i + 2); arrive; work; wait } barrier
//! ```
//!
//! `tests/overlap/protocol.rs` explores each of them.

use crate::transform::options::Buffers;

/// The place of the stage and of the barrier of an iteration.
#[derive(Copy, Clone, Debug)]
pub(super) struct Depth {
    /// Buffers of each array.
    pub(super) buffers: u32,
    /// Iterations that the stage is ahead.
    pub(super) distance: usize,
    /// True if the work is in the window of the split barrier.
    pub(super) encloses_work: bool,
    /// True if stores after the work are in the window, too.
    pub(super) encloses_stores: bool,
}

impl Depth {
    /// Of a loop whose arrays have one buffer.
    pub(super) const ONE: Depth = Depth {
        buffers: 1,
        distance: 1,
        encloses_work: false,
        encloses_stores: false,
    };

    /// `is_in_parts`: loads are before the work and stores after it.
    pub(super) fn new(buffers: Buffers, is_in_parts: bool) -> Depth {
        let (distance, encloses_work) = match (buffers, is_in_parts) {
            (Buffers::Two, _) => (1, false),
            (Buffers::Three, false) => (1, true),
            (Buffers::Three, true) | (Buffers::Four, _) => (2, true),
        };
        Depth {
            buffers: buffers.count(),
            distance,
            encloses_work,
            encloses_stores: buffers == Buffers::Four && is_in_parts,
        }
    }
}
