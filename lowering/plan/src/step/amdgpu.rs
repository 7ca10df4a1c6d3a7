//! The steps that only AMD GPUs have.

use crate::target::{Amdgpu, Counter};
use std::fmt;

/// A step of AMDGPU. [`AmdgpuStep::is_on`] tells which GPUs have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AmdgpuStep {
    /// Waits until each of these counters of outstanding operations is zero. Sorted, not empty.
    WaitZero(Vec<Counter>),
    /// gfx12+: signals the workgroup's barrier object.
    Signal,
    /// gfx12+: signals the workgroup's barrier object, and notes whether this wave is the first to
    /// do so in the phase.
    SignalFirst,
    /// gfx12+: waits for the workgroup's barrier object.
    WaitSignal,
    /// gfx12.5: one wave initialises the named barrier object for all waves of the workgroup, and a
    /// full barrier publishes it. A step of the entry.
    NamedInit,
    /// gfx12.5: the wave joins the named barrier object: it is the one that it waits for. A step of
    /// the entry.
    NamedJoin,
    /// gfx12.5: arrives at the named barrier object.
    NamedArrive,
    /// gfx12.5: waits for the named barrier object.
    NamedWait,
    /// gfx12.5: the wave drops the named barrier object, whose phases need one arrival less from
    /// then on. A step where the wave may end while others go on; no arrival of it is open there.
    NamedLeave,
    /// The full workgroup barrier.
    WorkgroupBarrier,
    /// GPUs without split barriers: the full workgroup barrier, before which LLVM adds no wait.
    BareBarrier,
    /// No machine code; keeps the wave's accesses on their sides of this point.
    WaveBarrier,
    /// After the wait: nothing after it may be scheduled before it. Otherwise arithmetic that needs
    /// what the window loads is moved before the wait, and with it the waits for the loads.
    LeaveWindow,
}

impl AmdgpuStep {
    /// True if `gpu` has the instructions of the step.
    #[must_use]
    pub fn is_on(&self, gpu: &Amdgpu) -> bool {
        use AmdgpuStep::*;
        match self {
            WaitZero(_) | WorkgroupBarrier | WaveBarrier | LeaveWindow => true,
            Signal | SignalFirst | WaitSignal => gpu.split_barrier,
            BareBarrier => !gpu.split_barrier,
            NamedInit | NamedJoin | NamedArrive | NamedWait | NamedLeave => gpu.named_barriers > 0,
        }
    }
}

impl fmt::Display for AmdgpuStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AmdgpuStep::WaitZero(counters) => {
                f.write_str("wait-zero")?;
                for counter in counters {
                    write!(f, " {}", counter.name())?;
                }
                return Ok(());
            }
            AmdgpuStep::Signal => "signal",
            AmdgpuStep::SignalFirst => "signal-first",
            AmdgpuStep::WaitSignal => "wait-signal",
            AmdgpuStep::NamedInit => "named-init",
            AmdgpuStep::NamedJoin => "named-join",
            AmdgpuStep::NamedArrive => "named-arrive",
            AmdgpuStep::NamedWait => "named-wait",
            AmdgpuStep::NamedLeave => "named-leave",
            AmdgpuStep::WorkgroupBarrier => "workgroup-barrier",
            AmdgpuStep::BareBarrier => "bare-barrier",
            AmdgpuStep::WaveBarrier => "wave-barrier",
            AmdgpuStep::LeaveWindow => "leave-window",
        })
    }
}
