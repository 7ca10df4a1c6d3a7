//! The steps that a strategy asks for at a place of the program. They say where and what; the
//! emitter alone knows how a target spells them.

use crate::groups::WarpGroups;
use crate::target::{Counter, FenceScope};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a fence orders.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FenceOrder {
    /// Later accesses stay after it.
    Acquire,
    /// Earlier accesses stay before it.
    Release,
    /// Both.
    AcquireRelease,
    /// Both, and one total order of all of them.
    SequentiallyConsistent,
}

/// Which memory a fence orders.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FenceMemory {
    /// Workgroup memory alone (LDS, shared memory).
    Local,
    /// Everything but workgroup memory.
    Global,
    /// All of it.
    All,
}

/// A fence.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fence {
    /// Order.
    pub order: FenceOrder,
    /// Scope.
    pub scope: FenceScope,
    /// Memory.
    pub memory: FenceMemory,
}

/// One step. A place of the program (an arrive, a wait, a barrier, the entry, a return) has a list
/// of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A memory fence.
    Fence(Fence),
    /// AMDGPU: waits until each of these counters of outstanding operations is zero. Sorted, not
    /// empty.
    WaitZero(Vec<Counter>),
    /// AMDGPU gfx12+: signals the workgroup's barrier object.
    Signal,
    /// AMDGPU gfx12+: signals the workgroup's barrier object, and notes whether this wave is the
    /// first to do so in the phase.
    SignalFirst,
    /// Does the steps only in the wave that the last [`Step::SignalFirst`] found to be the first.
    IfFirst(Vec<Step>),
    /// AMDGPU gfx12+: waits for the workgroup's barrier object.
    WaitSignal,
    /// AMDGPU gfx12.5: one wave initialises the named barrier object for all waves of the
    /// workgroup, and a full barrier publishes it. Stands at the entry.
    NamedInit,
    /// AMDGPU gfx12.5: the wave joins the named barrier object: it is the one that it waits for.
    /// Stands at the entry.
    NamedJoin,
    /// AMDGPU gfx12.5: arrives at the named barrier object.
    NamedArrive,
    /// AMDGPU gfx12.5: waits for the named barrier object.
    NamedWait,
    /// AMDGPU gfx12.5: the wave drops the named barrier object, whose phases need one arrival less
    /// from then on. Stands where it may end while others go on; no arrival of the wave is open
    /// there.
    NamedLeave,
    /// AMDGPU: the full workgroup barrier.
    WorkgroupBarrier,
    /// AMDGPU without BackOffBarrier: the full workgroup barrier, before which LLVM adds no wait.
    BareBarrier,
    /// AMDGPU: no machine code; keeps the wave's accesses on their sides of this point.
    WaveBarrier,
    /// NVPTX: `bar.sync 0`, the full workgroup barrier.
    CtaSync,
    /// NVPTX: `bar.warp.sync` among the lanes of `mask`.
    WarpSync(WarpMask),
    /// NVPTX: one invocation initialises the workgroup's mbarrier, and a full barrier publishes it.
    /// Stands at the entry.
    MbarrierInit {
        /// Each phase expects an arrival for every invocation's copies, beside one for every warp.
        copies: bool,
    },
    /// NVPTX sm_80+: one more arrival on the mbarrier in this phase, when the copies that the
    /// invocation has begun so far have landed. Stands before [`Step::MbarrierArrive`].
    CopiesArrive {
        /// The phase expects it; else the instruction raises the pending count itself.
        noinc: bool,
    },
    /// NVPTX: the warp syncs, its leader arrives on the mbarrier.
    MbarrierArrive,
    /// NVPTX: polls the mbarrier's phase parity until the phase is complete, then flips the parity.
    MbarrierWait {
        /// With `try_wait`, which may suspend the warp (sm_90+); else `test_wait`.
        try_wait: bool,
    },
    /// NVPTX: `bar.arrive` at the barrier of every group but the warp's own, in the set of this
    /// phase.
    GroupArrive(WarpGroups),
    /// NVPTX: `bar.sync` on the barrier of the warp's own group, in the set of this phase; the next
    /// phase uses the next set.
    GroupSync(WarpGroups),
    /// Arrives at the barrier of the cluster, without ordering memory. NVPTX sm_90+: for the warp;
    /// AMDGPU gfx12.5: for the workgroup, of which one wave does it.
    ClusterArrive,
    /// Waits for the barrier of the cluster (NVPTX sm_90+, AMDGPU gfx12.5).
    ClusterWait,
    /// One invocation clears the workgroup's counter, and a full barrier publishes it. Stands at
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
    /// Behind the wait: nothing after it may be scheduled before it. Else arithmetic that needs
    /// what the window loads comes in front of the wait, and with it the waits for the loads.
    LeaveWindow,
    /// A mark: it covers every asynchronous copy of the invocation before it (`asyncmark`;
    /// `cp.async.commit_group`).
    AsyncMark,
    /// Waits until at most so many marks, the newest, are outstanding (`wait.asyncmark`;
    /// `cp.async.wait_group`).
    AsyncWait(u8),
    /// NVPTX sm_90+: one invocation initialises so many mbarriers for bulk copies, a power of two,
    /// and a full barrier publishes them. Stands at the entry.
    BulkInit(u32),
    /// NVPTX sm_90+: waits until at most so many bulk copies of the workgroup, the newest, are
    /// outstanding.
    BulkWait(u8),
    /// Stores to workgroup memory what the set of registers with this number holds, if it holds
    /// something ([`crate::EntryPlan::staged`]).
    StoreStaged(usize),
    /// Run-time note: an arrive is outstanding (`true`) or has been completed (`false`).
    SetOutstanding(bool),
    /// Does the steps only if the run-time note says that an arrive is outstanding.
    IfOutstanding(Vec<Step>),
}

/// Which lanes of a warp take part.
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

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order {
            FenceOrder::Acquire => "acquire",
            FenceOrder::Release => "release",
            FenceOrder::AcquireRelease => "acquire-release",
            FenceOrder::SequentiallyConsistent => "seq-cst",
        };
        let scope = match self.scope {
            FenceScope::Subgroup => "subgroup",
            FenceScope::Workgroup => "workgroup",
            FenceScope::Device => "device",
            FenceScope::System => "system",
        };
        let memory = match self.memory {
            FenceMemory::Local => "local",
            FenceMemory::Global => "global",
            FenceMemory::All => "all",
        };
        write!(f, "fence {order} {scope} {memory}")
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Fence(fence) => fence.fmt(f),
            Step::WaitZero(counters) => {
                f.write_str("wait-zero")?;
                for counter in counters {
                    write!(f, " {}", counter.name())?;
                }
                Ok(())
            }
            Step::Signal => f.write_str("signal"),
            Step::SignalFirst => f.write_str("signal-first"),
            Step::IfFirst(steps) => block(f, "if-first", steps),
            Step::WaitSignal => f.write_str("wait-signal"),
            Step::NamedInit => f.write_str("named-init"),
            Step::NamedJoin => f.write_str("named-join"),
            Step::NamedArrive => f.write_str("named-arrive"),
            Step::NamedWait => f.write_str("named-wait"),
            Step::NamedLeave => f.write_str("named-leave"),
            Step::WorkgroupBarrier => f.write_str("workgroup-barrier"),
            Step::BareBarrier => f.write_str("bare-barrier"),
            Step::WaveBarrier => f.write_str("wave-barrier"),
            Step::CtaSync => f.write_str("cta-sync"),
            Step::WarpSync(WarpMask::Lanes(mask)) => write!(f, "warp-sync {mask:#x}"),
            Step::WarpSync(WarpMask::Subgroup { size, existing }) => {
                write!(f, "warp-sync subgroup of {size} of {existing:#x}")
            }
            Step::WarpSync(WarpMask::Active) => f.write_str("warp-sync active"),
            Step::MbarrierInit { copies: false } => f.write_str("mbarrier-init"),
            Step::MbarrierInit { copies: true } => f.write_str("mbarrier-init with copies"),
            Step::CopiesArrive { noinc: true } => f.write_str("copies-arrive noinc"),
            Step::CopiesArrive { noinc: false } => f.write_str("copies-arrive"),
            Step::MbarrierArrive => f.write_str("mbarrier-arrive"),
            Step::MbarrierWait { try_wait: true } => f.write_str("mbarrier-wait try"),
            Step::MbarrierWait { try_wait: false } => f.write_str("mbarrier-wait test"),
            Step::GroupArrive(groups) => write!(f, "group-arrive ({groups})"),
            Step::GroupSync(groups) => write!(f, "group-sync ({groups})"),
            Step::ClusterArrive => f.write_str("cluster-arrive"),
            Step::ClusterWait => f.write_str("cluster-wait"),
            Step::CounterInit => f.write_str("counter-init"),
            Step::CounterArrive => f.write_str("counter-arrive"),
            Step::CounterWait => f.write_str("counter-wait"),
            Step::OpenWindow => f.write_str("open-window"),
            Step::CloseWindow => f.write_str("close-window"),
            Step::LeaveWindow => f.write_str("leave-window"),
            Step::AsyncMark => f.write_str("async-mark"),
            Step::AsyncWait(outstanding) => write!(f, "async-wait {outstanding}"),
            Step::BulkInit(slots) => write!(f, "bulk-init {slots}"),
            Step::BulkWait(outstanding) => write!(f, "bulk-wait {outstanding}"),
            Step::StoreStaged(slot) => write!(f, "store-held {slot}"),
            Step::SetOutstanding(true) => f.write_str("set-outstanding"),
            Step::SetOutstanding(false) => f.write_str("clear-outstanding"),
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
