//! Warps in groups, each group with a hardware barrier of its own: what the strategies on NVPTX's
//! named barriers have in common.
//!
//! At an arrive a warp arrives (`bar.arrive`) at the barrier of every other group; at a wait it
//! syncs (`bar.sync`) on its own group's. So a group's barrier completes when all other warps have
//! arrived and all of its own members wait: each warp arrives once, and the count is the number of
//! warps. One warp a group is a barrier that is split for everybody; warps that share a group wait
//! for each other at the wait and are split from all the rest.
//!
//! A warp that is ahead may arrive for the next phase before a slower one has synced for this
//! phase. Two sets of barriers, used in turn, keep the two apart: for a third phase everybody must
//! have arrived for the second, and so synced for the first. One set is enough where a full barrier
//! stands between each wait and the next arrive.
//!
//! To arrive and to sync on the same barrier is wrong (PTX ISA, `bar`: sync is an arrival too):
//! with two warps, one that arrives and syncs has completed the barrier alone.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Groups of [`Strategy::GroupNamed`](crate::Strategy::GroupNamed). An SM has four schedulers (CUDA
/// C++ Programming Guide, compute capabilities 5.x to 12.x; 6.0 has two), and warp `w` runs on
/// scheduler `w mod 4`: warps that wait for each other then are those that compete for one
/// scheduler anyhow.
pub(crate) const SCHEDULERS: u32 = 4;

/// The groups of the warps of a workgroup, and the number of their sets of barriers.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WarpGroups {
    /// Warps of the workgroup.
    pub warps: u32,
    /// Groups, at most as many as warps. Warp `w` is in group `w % groups`.
    pub groups: u32,
    /// Sets of barriers: two, used in turn, or one for all phases.
    pub sets: u32,
}

impl WarpGroups {
    /// The first barrier that is used, because barrier 0 is the full barrier's; barrier
    /// `FIRST + set * groups + group` belongs to a group.
    pub const FIRST: u32 = 1;

    /// Barriers that are used.
    pub fn barriers(self) -> u32 {
        self.groups.saturating_mul(self.sets)
    }

    /// Threads that each barrier counts: barriers count whole warps, whatever the last one lacks.
    pub fn threads(self) -> u32 {
        self.warps.saturating_mul(32)
    }
}

impl fmt::Display for WarpGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} warps in {} groups, {} {}",
            self.warps,
            self.groups,
            self.sets,
            if self.sets == 1 { "set" } else { "sets" }
        )
    }
}
