//! The counters of outstanding operations that must be zero at a fence on an AMD GPU.
//!
//! LLVM's fences wait by themselves, with three gaps. What closes them is part of every plan:
//!
//! - A release leaves scalar loads in flight where they have a counter that it does not wait for. A
//!   scalar load that is overtaken by another wave's store behind the barrier would read the new
//!   value in a program without a race.
//! - In a loop LLVM 23.1 drops the waits of a fence if its first look at the block finds nothing
//!   outstanding on the way in, and does not come back for what the turn before left (fixed later:
//!   llvm-project pull request 220357). Waits that are spelled out are never dropped, so a release
//!   that control can come to again has its own.
//!
//! - Where the waves of a workgroup share one cache, a release to the workgroup leaves stores on
//!   their way to memory: those who acquire read the cache. Who of them releases to other
//!   workgroups waits for stores of his own alone, and each channel of the memory has a queue of
//!   its own, so the others' stores may come after his ("Memory Model gfx6-gfx9", "gfx90a" and
//!   "gfx942": vmcnt(0) is what orders operations of different waves; llvm-project pull request
//!   161638 fixed the same for CU mode of gfx10 and later). An entry point that releases beyond the
//!   workgroup waits for them.
//!
//! [`Waits::Explicit`] spells out every wait, [`Waits::Conservative`] waits for everything.
//!
//! Source: LLVM AMDGPUUsage, "Memory Model" (code sequences of each generation); LLVM 23.1.1
//! measured.

use crate::options::Waits;
use crate::protocol::full_barrier;
use crate::step::{AmdgpuStep, Fence, FenceMemory, FenceOrder, Step};
use crate::target::{Amdgpu, Arch, Counter, FenceScope, Placement, Target};

/// How waits are placed for one kernel.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Waiting {
    pub target: &'static Target,
    pub waits: Waits,
    pub placement: Placement,
    /// Control can come to the place more than once.
    pub repeats: bool,
    /// Asynchronous copies are to stay outstanding over barriers.
    pub copies_in_flight: bool,
    /// True if one wave may release to others what was released to its workgroup.
    pub releases_cumulatively: bool,
}

impl Waiting {
    /// The fence with the waits that stand before it.
    pub(crate) fn around(self, mut fence: Fence) -> Vec<Step> {
        let Arch::Amdgpu(gpu) = &self.target.arch else {
            return vec![Step::Fence(fence)];
        };
        let counters = match self.waits {
            Waits::Auto => {
                let mut counters = self.gap(fence, gpu);
                if self.repeats && fence.order != FenceOrder::Acquire {
                    counters.extend(self.asked_for(fence, gpu));
                }
                counters
            }
            Waits::Explicit => {
                let mut counters = self.asked_for(fence, gpu);
                counters.extend(self.gap(fence, gpu));
                counters
            }
            Waits::Conservative => {
                fence.memory = FenceMemory::All;
                Vec::new()
            }
        };
        wait(counters)
            .into_iter()
            .chain([Step::Fence(fence)])
            .collect()
    }

    /// What stands before every barrier instruction, whatever its semantics.
    pub(crate) fn before_barrier(self) -> Vec<Step> {
        match (&self.target.arch, self.waits) {
            (Arch::Amdgpu(gpu), Waits::Conservative) => {
                wait(gpu.counters.iter().map(|(counter, _)| *counter).collect())
            }
            (Arch::Amdgpu(_) | Arch::Nvptx(_), _) => None,
        }
        .into_iter()
        .collect()
    }

    /// The full barrier of a workgroup of several waves.
    pub(crate) fn workgroup_barrier(self) -> Step {
        match &self.target.arch {
            // Before s_barrier LLVM would wait for all that is outstanding; the fences around it
            // wait for what the semantics ask for.
            Arch::Amdgpu(gpu)
                if !gpu.back_off_barrier
                    && (self.waits == Waits::Explicit
                        || self.waits == Waits::Auto && self.copies_in_flight) =>
            {
                Step::Amdgpu(AmdgpuStep::BareBarrier)
            }
            arch => full_barrier(arch),
        }
    }

    /// The counters that LLVM's fence waits for.
    fn asked_for(self, fence: Fence, gpu: &Amdgpu) -> Vec<Counter> {
        if fence.scope == FenceScope::Subgroup {
            return Vec::new();
        }
        let mut counters = Vec::new();
        // Nobody outside of the workgroup sees its memory, but a fence of a wider scope orders it
        // all the same.
        if fence.memory != FenceMemory::Global && self.placement != Placement::ThreadgroupSplit {
            counters.extend([Counter::Lgkmcnt, Counter::Dscnt]);
        }
        let one_cache = gpu.ordered_vmem && self.placement != Placement::ThreadgroupSplit
            || fence.order == FenceOrder::Acquire && self.placement == Placement::CuMode;
        if fence.memory != FenceMemory::Local
            && !(one_cache && fence.scope == FenceScope::Workgroup)
        {
            counters.extend([
                Counter::Vmcnt,
                Counter::Vscnt,
                Counter::Loadcnt,
                Counter::Storecnt,
            ]);
        }
        counters.retain(|counter| gpu.most_outstanding(*counter).is_some());
        counters
    }

    /// The counters that the fence should wait for and does not: of scalar loads, if it releases
    /// memory that they may have read; of vector memory operations, if others may release them
    /// further.
    fn gap(self, fence: Fence, gpu: &Amdgpu) -> Vec<Counter> {
        if fence.order == FenceOrder::Acquire
            || fence.memory == FenceMemory::Local
            || fence.scope == FenceScope::Subgroup
        {
            return Vec::new();
        }
        // A fence that orders LDS too waits for the counter that the two share; a workgroup that is
        // spread over compute units has no LDS to order.
        let orders_lds =
            fence.memory != FenceMemory::Global && self.placement != Placement::ThreadgroupSplit;
        let mut counters = if gpu.kmcnt {
            vec![Counter::Kmcnt]
        } else if orders_lds {
            Vec::new()
        } else {
            vec![Counter::Lgkmcnt]
        };
        if self.releases_cumulatively
            && gpu.ordered_vmem
            && self.placement != Placement::ThreadgroupSplit
            && fence.scope == FenceScope::Workgroup
        {
            counters.push(Counter::Vmcnt);
        }
        counters
    }
}

/// The counters that have to be zero before a release which control can come to again: those of a
/// fence of its kind, and of scalar loads. For releases that are no barrier's (atomic operations);
/// with `releases_cumulatively`, other waves may release further what is released here
/// ([`crate::EntryPlan::releases_cumulatively`]). None on other than AMD GPUs.
pub fn release_waits(
    scope: FenceScope,
    target: &'static Target,
    placement: Placement,
    releases_cumulatively: bool,
) -> Vec<Counter> {
    let Arch::Amdgpu(gpu) = &target.arch else {
        return Vec::new();
    };
    let waiting = Waiting {
        target,
        waits: Waits::Auto,
        placement,
        repeats: true,
        copies_in_flight: false,
        releases_cumulatively,
    };
    let fence = Fence {
        order: FenceOrder::Release,
        scope,
        memory: FenceMemory::All,
    };
    let mut counters = waiting.asked_for(fence, gpu);
    counters.extend(waiting.gap(fence, gpu));
    counters
}

/// One step for the counters, none for none.
fn wait(mut counters: Vec<Counter>) -> Option<Step> {
    counters.sort_unstable();
    counters.dedup();
    (!counters.is_empty()).then_some(Step::Amdgpu(AmdgpuStep::WaitZero(counters)))
}
