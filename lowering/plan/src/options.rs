//! The options of a plan.

pub(super) use super::fuse_at::FuseAt;
use crate::strategy::Strategy;
use crate::target::Placement;
use splitbar_passes::module::WordOffset;
use std::collections::BTreeSet;

/// The waits for outstanding memory operations at the barriers of an AMD GPU. Other targets have no
/// such waits.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Waits {
    /// What the fences need and LLVM's code generator writes, and nothing else.
    #[default]
    Auto,
    /// The same, spelled as instructions ahead of every fence, for those who schedule the code
    /// themselves. On GPUs without BackOffBarrier `s_barrier` then stands alone: operations that no
    /// fence speaks of stay outstanding over it, and a memory fault of theirs may be reported at
    /// the barrier.
    Explicit,
    /// Everything that is outstanding, at every barrier instruction: to compare with.
    Conservative,
}

/// The options of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    /// Forces a strategy for the workgroup-scope pairs; `None` lets the planner choose.
    pub strategy: Option<Strategy>,
    /// Word offsets of arrives: a workgroup-scope pair that has one of them is lowered as
    /// [`Strategy::Fused`] all the same. In a workgroup of one wave it stays as it is.
    pub full: BTreeSet<WordOffset>,
    /// Word offsets of OpControlBarriers of the subgroup that all invocations of the workgroup come
    /// to together.
    pub joined: BTreeSet<WordOffset>,
    /// The place of fused barriers.
    pub fuse_at: FuseAt,
    /// Forces a wave size that the target has; `None` is the target's default.
    pub wave_size: Option<u32>,
    /// Forces the number of invocations of a subgroup, a power of two up to the wave size; `None`
    /// is the size that the entry point requires (SubgroupSize), otherwise the wave size.
    pub subgroup_size: Option<u32>,
    /// Keeps the scheduler from closing the window of pairs that are really split.
    pub scheduling_barriers: bool,
    /// Waits for outstanding memory operations.
    pub waits: Waits,
    /// The placement of the waves of a workgroup.
    pub placement: Placement,
    /// Workgroups of a cluster in x, y and z: the kernel is for launches in such clusters.
    pub cluster: Option<[u32; 3]>,
}

impl Default for PlanOptions {
    fn default() -> Self {
        PlanOptions {
            strategy: None,
            full: BTreeSet::new(),
            joined: BTreeSet::new(),
            fuse_at: FuseAt::Wait,
            wave_size: None,
            subgroup_size: None,
            scheduling_barriers: true,
            waits: Waits::Auto,
            placement: Placement::Default,
            cluster: None,
        }
    }
}
