//! The steps of a strategy at a place of the program. Those that every GPU can do are here, those
//! that one vendor has are in the vendor's file. Only the emitter knows the instructions.

mod amdgpu;
mod fence;
mod nvptx;

use crate::target::{Arch, Target};
pub use amdgpu::AmdgpuStep;
pub use fence::{Fence, FenceMemory, FenceOrder};
pub use nvptx::{NvptxStep, WarpMask};
use std::fmt;

/// One step. A place of the program (an arrive, a wait, a barrier, the entry, a return) has a list
/// of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A memory fence.
    Fence(Fence),
    /// A step that only AMD GPUs have.
    Amdgpu(AmdgpuStep),
    /// A step that only NVIDIA GPUs have.
    Nvptx(NvptxStep),
    /// Arrives at the barrier of the cluster, without ordering memory. NVPTX sm_90+: for the warp;
    /// AMDGPU gfx12.5: for the workgroup, of which one wave does it.
    ClusterArrive,
    /// Waits for the barrier of the cluster (NVPTX sm_90+, AMDGPU gfx12.5).
    ClusterWait,
    /// One invocation clears the workgroup's counter, and a full barrier publishes it. A step of
    /// the entry.
    CounterInit,
    /// The phase's target grows by the number of waves, and one lane of the wave adds one to the
    /// counter.
    CounterArrive,
    /// Polls the counter until it has reached the phase's target (in arithmetic that may wrap).
    CounterWait,
    /// The window begins: nothing after it may be scheduled before it.
    OpenWindow,
    /// The window ends: nothing before it may be scheduled after it.
    CloseWindow,
    /// A mark: it covers every asynchronous copy of the invocation before it (`asyncmark`;
    /// `cp.async.commit_group`).
    AsyncMark,
    /// Waits until at most so many marks, the newest, are outstanding (`wait.asyncmark`;
    /// `cp.async.wait_group`).
    AsyncWait(u8),
    /// Stores to workgroup memory what the set of registers with this number holds, if it holds
    /// something ([`crate::EntryPlan::staged`]).
    StoreStaged(usize),
    /// AMDGPU: does the steps only in the wave that the last [`AmdgpuStep::SignalFirst`] found to
    /// be the first.
    IfFirst(Vec<Step>),
    /// Run-time note: an arrive is outstanding (`true`) or has been completed (`false`).
    SetOutstanding(bool),
    /// Does the steps only if the run-time note says that an arrive is outstanding.
    IfOutstanding(Vec<Step>),
}

impl Step {
    /// True if `target` has the instructions of the step; those in it are others.
    #[must_use]
    pub fn is_on(&self, target: &Target) -> bool {
        match (self, &target.arch) {
            (Step::Amdgpu(step), Arch::Amdgpu(gpu)) => step.is_on(gpu),
            (Step::Nvptx(step), Arch::Nvptx(gpu)) => step.is_on(gpu),
            (Step::Amdgpu(_), Arch::Nvptx(_)) | (Step::Nvptx(_), Arch::Amdgpu(_)) => false,
            (Step::IfFirst(_), arch) => matches!(arch, Arch::Amdgpu(_)),
            (Step::ClusterArrive | Step::ClusterWait, Arch::Amdgpu(gpu)) => gpu.cluster_barrier,
            (Step::ClusterArrive | Step::ClusterWait, Arch::Nvptx(gpu)) => gpu.cluster,
            // Made of instructions that every GPU has.
            (
                Step::Fence(_)
                | Step::CounterInit
                | Step::CounterArrive
                | Step::CounterWait
                | Step::OpenWindow
                | Step::CloseWindow
                | Step::AsyncMark
                | Step::AsyncWait(_)
                | Step::StoreStaged(_)
                | Step::SetOutstanding(_)
                | Step::IfOutstanding(_),
                _,
            ) => true,
        }
    }

    /// The steps in this one, which are done on a condition.
    #[must_use]
    pub fn inner(&self) -> &[Step] {
        match self {
            Step::IfFirst(steps) | Step::IfOutstanding(steps) => steps,
            _ => &[], // no other step has steps in it
        }
    }
}

impl From<AmdgpuStep> for Step {
    fn from(step: AmdgpuStep) -> Self {
        Step::Amdgpu(step)
    }
}

impl From<NvptxStep> for Step {
    fn from(step: NvptxStep) -> Self {
        Step::Nvptx(step)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Fence(fence) => fence.fmt(f),
            Step::Amdgpu(step) => step.fmt(f),
            Step::Nvptx(step) => step.fmt(f),
            Step::ClusterArrive => f.write_str("cluster-arrive"),
            Step::ClusterWait => f.write_str("cluster-wait"),
            Step::CounterInit => f.write_str("counter-init"),
            Step::CounterArrive => f.write_str("counter-arrive"),
            Step::CounterWait => f.write_str("counter-wait"),
            Step::OpenWindow => f.write_str("open-window"),
            Step::CloseWindow => f.write_str("close-window"),
            Step::AsyncMark => f.write_str("async-mark"),
            Step::AsyncWait(outstanding) => write!(f, "async-wait {outstanding}"),
            Step::StoreStaged(slot) => write!(f, "store-staged {slot}"),
            Step::SetOutstanding(true) => f.write_str("set-outstanding"),
            Step::SetOutstanding(false) => f.write_str("clear-outstanding"),
            Step::IfFirst(steps) => block(f, "if-first", steps),
            Step::IfOutstanding(steps) => block(f, "if-outstanding", steps),
        }
    }
}

/// `if-first { cluster-arrive; }`
fn block(f: &mut fmt::Formatter<'_>, condition: &str, steps: &[Step]) -> fmt::Result {
    write!(f, "{condition} {{")?;
    for step in steps {
        write!(f, " {step};")?;
    }
    f.write_str(" }")
}
