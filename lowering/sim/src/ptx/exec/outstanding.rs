//! Copies of a warp that are on their way.

use crate::lane::Lane;

/// One copy of one lane.
#[derive(Copy, Clone, Debug)]
pub(super) struct Copy {
    pub(super) lane: Lane,
    /// Number of the lane's group.
    pub(super) group: u32,
    pub(super) shared: u64,
    pub(super) global: u64,
    pub(super) bytes: u32,
    /// Bytes that come from global memory; zeros follow.
    pub(super) filled: u32,
    pub(super) pc: u32,
    pub(super) landed: bool,
}

/// An arrival at an mbarrier that comes when the lane's copies so far have landed.
#[derive(Copy, Clone, Debug)]
pub(super) struct Arrival {
    pub(super) lane: Lane,
    pub(super) address: u64,
    pub(super) pc: u32,
    pub(super) counted: bool,
}

/// The outstanding copies of a warp.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    pub(super) all: Vec<Copy>,
    pub(super) arrivals: Vec<Arrival>,
    /// Groups that each lane has closed.
    pub(super) closed: [u32; 32],
}
