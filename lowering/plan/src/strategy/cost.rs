//! What a phase of each strategy costs beside a full barrier.
//!
//! Measured in cycles on a public timing simulator of NVIDIA GPUs (GPGPU-Sim with Accel-Sim's
//! configuration of a V100: a barrier takes 20 cycles, and one barrier instruction begins in two)
//! with five kernels whose waves do the same work, one workgroup for each multiprocessor. Nothing
//! ran on a GPU.

use super::Strategy;
use crate::target::{Arch, Mbarrier, Target};

/// Cycles that a phase takes longer than with a full barrier, from the cheapest kernel measured to
/// the most expensive one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PhaseCycles {
    /// The least; negative where a split was faster though all waves did the same.
    pub least: i32,
    /// The most.
    pub most: i32,
}

impl PhaseCycles {
    /// That of `strategy` on `target`; `None` where it has not been measured.
    pub fn of(strategy: Strategy, target: &Target) -> Option<PhaseCycles> {
        let (least, most) = match (strategy, &target.arch) {
            // The same two instructions as a full barrier of the target.
            (Strategy::Native, _) => (0, 0),
            (Strategy::Fused | Strategy::SingleWave, _) => (0, 0),
            // The simulator's model of an arrival and a wait that do not poll.
            (Strategy::Mbarrier, Arch::Nvptx(gpu)) if gpu.mbarrier == Mbarrier::TryWait => (-6, 24),
            (Strategy::Mbarrier, Arch::Nvptx(_)) => (46, 82),
            (Strategy::WarpNamed | Strategy::WarpNamedSingle, Arch::Nvptx(_)) => (12, 40),
            (Strategy::GroupNamed, Arch::Nvptx(_)) => (9, 47),
            (Strategy::Counter, Arch::Nvptx(_)) => (56, 130),
            _ => return None,
        };
        Some(PhaseCycles { least, most })
    }
}
