//! The barrier plan of one entry point on one target: the steps at each instruction, and the
//! reasons.

use crate::Step;
use crate::async_copies::CopyPlan;
use crate::staged::StagedShape;
use crate::strategy::Strategy;
use crate::target::{Placement, Target};
use splitbar_layout::types::Waves;
use splitbar_passes::analysis::pairing::{PairId, Site, SiteId};
use splitbar_passes::module::{Id, Scope, WordOffset};
use std::collections::{BTreeMap, BTreeSet};

/// The plan of one split-barrier pair.
#[derive(Clone, Debug)]
pub struct PairPlan {
    /// The pair, as the pairing analysis numbers it.
    pub id: PairId,
    /// Its execution scope.
    pub scope: Scope,
    /// The strategy.
    pub strategy: Strategy,
    /// Why so, one sentence.
    pub reason: String,
    /// Its arrives.
    pub arrives: Vec<SiteId>,
    /// Its waits.
    pub waits: Vec<SiteId>,
    /// Word offsets of the instructions that can be executed between an arrive and a wait of the
    /// pair; sorted.
    pub window: Vec<WordOffset>,
}

/// The run-time state of each invocation for the barriers of an entry point.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct BarrierState {
    /// The word that the strategy of the workgroup's pairs keeps between phases, zero at the entry:
    /// the parity of the mbarrier's phase, the set of named barriers, what the counter reaches when
    /// all have arrived, or whether this wave was the first of its workgroup to arrive.
    pub word: bool,
    /// True if an arrive is outstanding, where that is not known at every place.
    pub outstanding: bool,
    /// The counts of bulk copies that were started and waited for; if there are some, the number of
    /// mbarriers that they use in turn, a power of two.
    pub bulk_slots: Option<u32>,
}

/// The plan of one entry point. [The first page](crate) makes one.
///
/// ```
/// use splitbar_plan::{EntryPlan, Strategy};
///
/// fn is_split(plan: &EntryPlan) -> bool {
///     plan.pairs.iter().any(|pair| pair.strategy != Strategy::Fused)
/// }
/// ```
#[derive(Clone, Debug)]
pub struct EntryPlan {
    /// The entry point's name.
    pub entry: String,
    /// Its function.
    pub function: Id,
    /// The target's name.
    pub target: &'static str,
    /// Its workgroup size; `None` when only the launch knows it.
    pub workgroup_size: Option<[u32; 3]>,
    /// Invocations of a wave or warp that it is compiled for.
    pub wave_size: u32,
    /// Invocations of a subgroup: those of a wave, or a power of two of them. A wave then is
    /// several subgroups.
    pub subgroup_size: u32,
    /// The placement of the waves of a workgroup.
    pub placement: Placement,
    /// Workgroups of a cluster in x, y and z, if it has to be launched in clusters.
    pub cluster: Option<[u32; 3]>,
    /// One per pair, in order of id.
    pub pairs: Vec<PairPlan>,
    /// Every barrier instruction that it reaches, in module order: those of its pairing, named by
    /// their places ([`EntryPlan::site`]).
    pub sites: Vec<Site>,
    /// Steps at the entry, before anything else.
    pub at_entry: Vec<Step>,
    /// Steps that replace a barrier instruction, by the instruction's word offset. Every
    /// OpControlBarrierArrive/Wait, OpControlBarrier and OpMemoryBarrier that the entry point
    /// reaches is a key, possibly without steps. So is every OpGroupWaitEvents; the steps of an
    /// OpGroupAsyncCopy follow it.
    pub at_instruction: BTreeMap<WordOffset, Vec<Step>>,
    /// Steps before an instruction that stays, by its word offset: what asynchronous copies need.
    pub before_instruction: BTreeMap<WordOffset, Vec<Step>>,
    /// The plans of asynchronous copies, by the word offset of the instruction.
    pub copies: BTreeMap<WordOffset, CopyPlan>,
    /// Word offsets of the loads whose values such copies carry: they are not made.
    pub copied_loads: BTreeSet<WordOffset>,
    /// The sets of registers in which copies are on their way, by number.
    pub staged: Vec<StagedShape>,
    /// Steps before a return from the entry point, by the word offset of the return.
    pub at_return: BTreeMap<WordOffset, Vec<Step>>,
    /// Steps of a wave that ends, where all of its invocations have come to a return of the entry
    /// point.
    pub at_end: Vec<Step>,
    /// True if a wave may release to other workgroups what others of its own have released to it.
    pub releases_cumulatively: bool,
    /// Run-time state that the steps use.
    pub state: BarrierState,
    /// Bytes of workgroup memory that the steps need (Vulkan: splitBarrierReservedSharedMemory).
    pub reserved_shared_bytes: u32,
    /// Bytes of dynamic shared memory that a launch must request (NVIDIA): all workgroup variables,
    /// if they and other declarations exceed the limit of static shared memory; otherwise 0.
    pub dynamic_shared_bytes: u32,
}

impl EntryPlan {
    /// The site that `id` names; `None` for a name of another entry point's that is too large.
    pub fn site(&self, id: SiteId) -> Option<&Site> {
        self.sites.get(id.0 as usize)
    }
}

/// The division of workgroups into waves of `target`. The wave size is the same for all `plans` of
/// one compilation; the number of waves is known if all of them have the same.
pub fn waves<'p>(plans: impl Iterator<Item = &'p EntryPlan> + Clone, target: &Target) -> Waves {
    let size = plans
        .clone()
        .next()
        .map_or_else(|| target.default_wave_size(), |plan| plan.wave_size);
    Waves {
        size,
        subgroups: subgroups(plans, size),
    }
}

/// Subgroups of a workgroup, if all plans have the same.
fn subgroups<'p>(mut plans: impl Iterator<Item = &'p EntryPlan>, wave: u32) -> Option<u32> {
    let size = plans.next()?.workgroup_size?;
    let invocations = size.iter().try_fold(1u32, |n, d| n.checked_mul(*d))?;
    let same = plans.all(|plan| plan.workgroup_size == Some(size));
    same.then(|| invocations.div_ceil(wave.max(1)).max(1))
}
