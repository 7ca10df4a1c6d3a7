//! The steps that only NVIDIA GPUs have.

use crate::groups::WarpGroups;
use crate::target::{Mbarrier, Nvptx};
use std::fmt;

/// A step of NVPTX. [`NvptxStep::is_on`] tells which GPUs have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NvptxStep {
    /// `bar.sync 0`, the full workgroup barrier.
    CtaSync,
    /// `bar.warp.sync` among the lanes of the mask.
    WarpSync(WarpMask),
    /// One invocation initialises the workgroup's mbarrier, and a full barrier publishes it. A step
    /// of the entry.
    MbarrierInit {
        /// Each phase expects an arrival for every invocation's copies and one for every warp.
        copies: bool,
    },
    /// sm_80+: one more arrival on the mbarrier in this phase, when the copies that the invocation
    /// has begun so far have landed. [`NvptxStep::MbarrierArrive`] follows it.
    CopiesArrive {
        /// The phase expects it; else the instruction raises the pending count itself.
        noinc: bool,
    },
    /// The warp syncs, its leader arrives on the mbarrier.
    MbarrierArrive,
    /// Polls the mbarrier's phase parity until the phase is complete, then flips the parity.
    MbarrierWait {
        /// With `try_wait`, which may suspend the warp (sm_90+); else `test_wait`.
        try_wait: bool,
    },
    /// `bar.arrive` at the barrier of every group but the warp's own, in the set of this phase.
    GroupArrive(WarpGroups),
    /// `bar.sync` on the barrier of the warp's own group, in the set of this phase; the next phase
    /// uses the next set.
    GroupSync(WarpGroups),
    /// sm_90+: one invocation initialises so many mbarriers for bulk copies, a power of two, and a
    /// full barrier publishes them. A step of the entry.
    BulkInit(u32),
    /// sm_90+: waits until at most so many bulk copies of the workgroup, the newest, are
    /// outstanding.
    BulkWait(u8),
}

/// The lanes of a warp that take part.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum WarpMask {
    /// These lanes.
    Lanes(u32),
    /// Of the lanes in `existing` those of this lane's subgroup, which is a part of the warp.
    Subgroup {
        /// Lanes of a subgroup.
        size: u32,
        /// Lanes of the warp that the workgroup may have.
        existing: u32,
    },
    /// The lanes that are active at this point.
    Active,
}

impl NvptxStep {
    /// True if `gpu` has the instructions of the step.
    #[must_use]
    pub fn is_on(&self, gpu: &Nvptx) -> bool {
        use NvptxStep::*;
        match self {
            CtaSync | WarpSync(_) | GroupArrive(_) | GroupSync(_) => true,
            MbarrierInit { .. } | MbarrierArrive | MbarrierWait { try_wait: false } => {
                gpu.mbarrier != Mbarrier::None
            }
            MbarrierWait { try_wait: true } => gpu.mbarrier == Mbarrier::TryWait,
            CopiesArrive { .. } => gpu.mbarrier != Mbarrier::None && gpu.cp_async,
            BulkInit(_) | BulkWait(_) => gpu.bulk_copy,
        }
    }
}

impl fmt::Display for NvptxStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NvptxStep::WarpSync(WarpMask::Lanes(mask)) => return write!(f, "warp-sync {mask:#x}"),
            NvptxStep::WarpSync(WarpMask::Subgroup { size, existing }) => {
                return write!(f, "warp-sync subgroup of {size} of {existing:#x}");
            }
            NvptxStep::GroupArrive(groups) => return write!(f, "group-arrive ({groups})"),
            NvptxStep::GroupSync(groups) => return write!(f, "group-sync ({groups})"),
            NvptxStep::BulkInit(slots) => return write!(f, "bulk-init {slots}"),
            NvptxStep::BulkWait(outstanding) => return write!(f, "bulk-wait {outstanding}"),
            NvptxStep::CtaSync => "cta-sync",
            NvptxStep::WarpSync(WarpMask::Active) => "warp-sync active",
            NvptxStep::MbarrierInit { copies: false } => "mbarrier-init",
            NvptxStep::MbarrierInit { copies: true } => "mbarrier-init with copies",
            NvptxStep::CopiesArrive { noinc: true } => "copies-arrive noinc",
            NvptxStep::CopiesArrive { noinc: false } => "copies-arrive",
            NvptxStep::MbarrierArrive => "mbarrier-arrive",
            NvptxStep::MbarrierWait { try_wait: true } => "mbarrier-wait try",
            NvptxStep::MbarrierWait { try_wait: false } => "mbarrier-wait test",
        })
    }
}
