//! The ways to lower a split barrier, and the choice among them.

use crate::groups::WarpGroups;
use crate::target::{Arch, Mbarrier, Nvptx, Placement, Target};
use splitbar_passes::module::Scope;
use std::fmt;
use std::str::FromStr;

/// A way to lower a pair of arrive and wait.
#[derive(
    Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum Strategy {
    /// The target's own split barrier: `s_barrier_signal` and `s_barrier_wait` (AMDGPU gfx12 and
    /// later).
    Native,
    /// A named barrier object of the workgroup's own (AMDGPU gfx12.5), beside which full barriers
    /// may stand in the window. Taken where one can.
    Named,
    /// One full barrier in place of the pair. Always right unless an invocation spins between
    /// arrive and wait on another's progress.
    Fused,
    /// An mbarrier in shared memory, one arrival per warp (NVPTX sm_80 and later).
    Mbarrier,
    /// The barrier of the cluster that the workgroup belongs to (NVPTX sm_90 and later, AMDGPU
    /// gfx12.5): no workgroup memory, more expensive than what a workgroup has for itself.
    ///
    /// SPIR-V has no scope between Workgroup and Device. With [`PlanOptions::cluster`] of several
    /// workgroups, all of them meet at every pair of scope Workgroup: the caller knows that they
    /// execute the same pairs. On NVPTX the workgroup is alone in its cluster unless the options
    /// say otherwise.
    Cluster,
    /// A named hardware barrier per warp, in two sets that are used in turn (NVPTX, two to seven
    /// warps).
    WarpNamed,
    /// A named hardware barrier per warp, the same for all phases (NVPTX, up to fifteen warps):
    /// only where a full barrier stands between each wait and the next arrive.
    WarpNamedSingle,
    /// A named hardware barrier per group of warps, in two sets (NVPTX): warps of a group wait for
    /// each other, the groups are split.
    GroupNamed,
    /// A counter in workgroup memory, one addition per wave, polled by the wait: really split where
    /// the hardware is not. Never chosen unless asked for.
    Counter,
    /// The workgroup is one wave: its fences, and nothing that waits for another wave.
    SingleWave,
    /// The pair's execution scope is Subgroup: the wave waits for itself.
    Subgroup,
}

impl Strategy {
    /// Every strategy, in the order of the support table.
    pub const ALL: &'static [Strategy] = &[
        Strategy::Native,
        Strategy::Named,
        Strategy::Mbarrier,
        Strategy::Cluster,
        Strategy::WarpNamed,
        Strategy::WarpNamedSingle,
        Strategy::GroupNamed,
        Strategy::Counter,
        Strategy::Fused,
        Strategy::SingleWave,
        Strategy::Subgroup,
    ];

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Native => "native",
            Strategy::Named => "named",
            Strategy::Fused => "fused",
            Strategy::Mbarrier => "mbarrier",
            Strategy::Cluster => "cluster",
            Strategy::WarpNamed => "warp-named",
            Strategy::WarpNamedSingle => "warp-named-single",
            Strategy::GroupNamed => "group-named",
            Strategy::Counter => "counter",
            Strategy::SingleWave => "single-wave",
            Strategy::Subgroup => "subgroup",
        }
    }

    /// The one that the planner takes on `target` for a workgroup of four waves while workgroup
    /// memory is left, with no full barrier between phases.
    pub fn of_target(target: &'static Target) -> Strategy {
        let situation = Situation {
            target,
            waves: Some(4),
            free_shared_bytes: target.lds_bytes,
            barrier_in_window: false,
            barrier_between_phases: false,
            cluster: None,
        };
        choose(Scope::Workgroup, situation).0
    }

    /// Every strategy that can lower a pair on `target`, in the order of [`Strategy::ALL`]: in a
    /// workgroup of the size that it needs, with memory left, a full barrier between phases and a
    /// launch in clusters.
    pub fn all_of_target(target: &'static Target) -> Vec<Strategy> {
        let possible = |strategy: Strategy, waves| {
            let situation = Situation {
                target,
                waves: Some(waves),
                free_shared_bytes: target.lds_bytes,
                barrier_in_window: false,
                barrier_between_phases: true,
                cluster: Some([1; 3]),
            };
            objection(strategy, situation).is_none()
        };
        Strategy::ALL
            .iter()
            .copied()
            .filter(|strategy| {
                // The scope asks for it, not the target.
                *strategy == Strategy::Subgroup || possible(*strategy, 4) || possible(*strategy, 1)
            })
            .collect()
    }

    /// Whether other waves may run between this wave's arrive and its wait, so that work in the
    /// window overlaps with their arrival.
    pub fn is_split(self) -> bool {
        match self {
            Strategy::Native
            | Strategy::Named
            | Strategy::Mbarrier
            | Strategy::Cluster
            | Strategy::WarpNamed
            | Strategy::WarpNamedSingle
            | Strategy::GroupNamed
            | Strategy::Counter => true,
            Strategy::Fused | Strategy::SingleWave | Strategy::Subgroup => false,
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Strategy::ALL
            .iter()
            .copied()
            .find(|s| s.name() == name)
            .ok_or_else(|| {
                let names: Vec<&str> = Strategy::ALL.iter().map(|s| s.name()).collect();
                format!(
                    "no strategy is called {name:?}; there are {}",
                    names.join(", ")
                )
            })
    }
}

/// Where the one barrier of [`Strategy::Fused`] stands.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum FuseAt {
    /// At the wait, the later place: work in the window is done before anybody waits.
    #[default]
    Wait,
    /// At the arrive, the earlier place.
    Arrive,
}

/// Which waits for outstanding memory operations the barriers of an AMD GPU get. Other targets have
/// no such waits.
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

/// What the caller asks of the plan.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    /// Forces a strategy for the workgroup-scope pairs; `None` lets the planner choose.
    pub strategy: Option<Strategy>,
    /// Where fused barriers stand.
    pub fuse_at: FuseAt,
    /// Forces a wave size that the target has; `None` is the target's default.
    pub wave_size: Option<u32>,
    /// Keeps the scheduler from closing the window of pairs that are really split.
    pub window_guards: bool,
    /// Waits for outstanding memory operations.
    pub waits: Waits,
    /// Where the waves of a workgroup run.
    pub placement: Placement,
    /// Workgroups of a cluster in x, y and z: the kernel is for launches in such clusters.
    pub cluster: Option<[u32; 3]>,
}

impl Default for PlanOptions {
    fn default() -> Self {
        PlanOptions {
            strategy: None,
            fuse_at: FuseAt::Wait,
            wave_size: None,
            window_guards: true,
            waits: Waits::Auto,
            placement: Placement::Default,
            cluster: None,
        }
    }
}

/// What the choice depends on.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Situation {
    /// The target.
    pub target: &'static Target,
    /// Waves of the workgroup; `None` when only the launch knows.
    pub waves: Option<u32>,
    /// Workgroup memory that is still free, in bytes.
    pub free_shared_bytes: u32,
    /// A full barrier can be executed between an arrive and its wait.
    pub barrier_in_window: bool,
    /// A full barrier stands on every path from a wait to the next arrive.
    pub barrier_between_phases: bool,
    /// Workgroups of a cluster in x, y and z, if the kernel is launched in clusters.
    pub cluster: Option<[u32; 3]>,
}

impl Situation {
    /// Why `what` cannot have `bytes` of workgroup memory; `None` if it can.
    fn no_room(self, what: &str, bytes: u32) -> Option<String> {
        (self.free_shared_bytes < bytes).then(|| {
            format!(
                "{what} takes {bytes} bytes of workgroup memory and {} are left",
                self.free_shared_bytes
            )
        })
    }
}

/// Bytes of workgroup memory that an mbarrier takes (PTX ISA, "Size and alignment of mbarrier
/// object").
pub(crate) const MBARRIER_BYTES: u32 = 8;

/// Bytes of workgroup memory that [`Strategy::Counter`] takes: one word for all pairs and all
/// phases.
pub(crate) const COUNTER_BYTES: u32 = 4;

/// What the planner tries on a target, the best first. [`Strategy::Fused`], which every target has,
/// comes last.
///
/// Where a full barrier meets an open window on the barrier object that both use, the open phase
/// has to be completed first, each time; an object of its own costs one full barrier at the entry
/// and keeps the window open.
fn preferences(arch: &Arch, barrier_in_window: bool) -> &'static [Strategy] {
    match arch {
        Arch::Amdgpu(gpu) if barrier_in_window && gpu.named_barriers > 0 => {
            &[Strategy::Named, Strategy::Native]
        }
        Arch::Amdgpu(_) => &[Strategy::Native],
        Arch::Nvptx(_) => &[
            Strategy::Mbarrier,
            Strategy::Cluster,
            Strategy::WarpNamedSingle,
            Strategy::WarpNamed,
            Strategy::GroupNamed,
        ],
    }
}

/// Chooses the strategy of a pair of execution scope `scope` and says why: why not the target's
/// best, if so, and what speaks for the one that is taken.
pub(crate) fn choose(scope: Scope, situation: Situation) -> (Strategy, String) {
    if scope == Scope::Subgroup {
        return (
            Strategy::Subgroup,
            "the execution scope is Subgroup, so no other wave takes part".to_owned(),
        );
    }
    if situation.waves == Some(1) {
        return (
            Strategy::SingleWave,
            "the workgroup is one wave, so no other wave takes part".to_owned(),
        );
    }
    let mut objections = Vec::new();
    for strategy in preferences(&situation.target.arch, situation.barrier_in_window) {
        match meets_others(*strategy, situation).or_else(|| objection(*strategy, situation)) {
            Some(why) => objections.push(why),
            None => {
                objections.truncate(1);
                objections.push(recommendation(*strategy, situation));
                return (*strategy, objections.join(", and "));
            }
        }
    }
    // The first and the last one tried: the others are between them in what they ask for.
    let last = objections.pop().into_iter();
    let reason: Vec<String> = objections.into_iter().take(1).chain(last).collect();
    (Strategy::Fused, reason.join(", and "))
}

/// Why `strategy` makes more wait for each other than the pair's scope says; `None` if it does not.
fn meets_others(strategy: Strategy, situation: Situation) -> Option<String> {
    let alone = situation.cluster.is_none_or(|size| size == [1; 3]);
    (strategy == Strategy::Cluster && !alone)
        .then(|| "at the barrier of the cluster other workgroups meet too".to_owned())
}

/// What speaks for `strategy` where nothing speaks against it.
fn recommendation(strategy: Strategy, situation: Situation) -> String {
    let name = situation.target.name;
    let warps = situation.waves.unwrap_or(0);
    match strategy {
        Strategy::Native => format!("{name} signals and waits apart"),
        Strategy::Named => format!(
            "a full barrier can stand between arrive and wait, and {name} has a barrier object for each"
        ),
        Strategy::Mbarrier => match situation.target.arch {
            Arch::Nvptx(gpu) if gpu.mbarrier == Mbarrier::TryWait => {
                format!("{name} has mbarrier with try_wait")
            }
            Arch::Nvptx(_) | Arch::Amdgpu(_) => format!("{name} has mbarrier with test_wait"),
        },
        Strategy::Cluster => {
            format!("the barrier of a cluster of one workgroup, which {name} has, takes none")
        }
        Strategy::WarpNamedSingle => format!(
            "no arrive follows a wait without a full barrier between them, so one named barrier for each of {warps} warps is enough"
        ),
        Strategy::WarpNamed => {
            format!("there are two named barriers for each of {warps} warps")
        }
        Strategy::GroupNamed => format!("{warps} warps share the named barriers in groups"),
        Strategy::Counter => "a counter needs nothing but atomic additions".to_owned(),
        Strategy::Fused => "every target has a full barrier".to_owned(),
        Strategy::SingleWave | Strategy::Subgroup => "no other wave takes part".to_owned(),
    }
}

/// Why `strategy` cannot lower a workgroup-scope pair in `situation`; `None` if it can.
pub(crate) fn objection(strategy: Strategy, situation: Situation) -> Option<String> {
    let name = situation.target.name;
    match (strategy, &situation.target.arch) {
        (Strategy::Fused, Arch::Amdgpu(_) | Arch::Nvptx(_)) => None,
        (Strategy::Native, Arch::Amdgpu(gpu)) => {
            (!gpu.split_barrier).then(|| format!("{name} has no split barrier"))
        }
        (Strategy::Named, Arch::Amdgpu(gpu)) if gpu.named_barriers > 0 => None,
        (Strategy::Named, Arch::Amdgpu(_) | Arch::Nvptx(_)) => {
            Some(format!("{name} has no named barrier objects"))
        }
        (Strategy::Native, Arch::Nvptx(_)) => Some(format!(
            "{name} has no barrier instruction with a separate arrive that the same thread may wait on"
        )),
        (Strategy::Mbarrier, Arch::Nvptx(gpu)) if gpu.mbarrier != Mbarrier::None => {
            situation.no_room("an mbarrier", MBARRIER_BYTES)
        }
        (Strategy::Mbarrier, Arch::Amdgpu(_) | Arch::Nvptx(_)) => {
            Some(format!("{name} has no mbarrier"))
        }
        (Strategy::Cluster, Arch::Nvptx(gpu)) if gpu.cluster => None,
        (Strategy::Cluster, Arch::Amdgpu(gpu)) if gpu.cluster_barrier => {
            situation.cluster.is_none().then(|| {
                format!("{name} has the barrier of a cluster only in a launch in clusters, whose size is not given")
            })
        }
        (Strategy::Cluster, Arch::Amdgpu(_) | Arch::Nvptx(_)) => {
            Some(format!("{name} has no clusters"))
        }
        (
            Strategy::WarpNamed | Strategy::WarpNamedSingle | Strategy::GroupNamed,
            Arch::Amdgpu(_),
        ) => Some(format!(
            "{name} has no barriers that warps arrive at by number and count"
        )),
        (
            Strategy::WarpNamed | Strategy::WarpNamedSingle | Strategy::GroupNamed,
            Arch::Nvptx(gpu),
        ) => no_named_barriers(strategy, situation, gpu),
        (Strategy::Counter, Arch::Amdgpu(_)) => situation.no_room("the counter", COUNTER_BYTES),
        (Strategy::Counter, Arch::Nvptx(gpu)) if gpu.nanosleep => {
            situation.no_room("the counter", COUNTER_BYTES)
        }
        (Strategy::Counter, Arch::Nvptx(_)) => Some(format!(
            "on {name} a warp that polls a counter may keep the others from running"
        )),
        (Strategy::SingleWave, Arch::Amdgpu(_) | Arch::Nvptx(_)) => match situation.waves {
            Some(1) => None,
            Some(waves) => Some(format!("the workgroup has {waves} waves")),
            None => Some("the workgroup size is known only at launch".to_owned()),
        },
        (Strategy::Subgroup, Arch::Amdgpu(_) | Arch::Nvptx(_)) => {
            Some("the pair's execution scope is Workgroup".to_owned())
        }
    }
}

/// Why a strategy on named barriers cannot have them.
fn no_named_barriers(strategy: Strategy, situation: Situation, gpu: &Nvptx) -> Option<String> {
    let name = situation.target.name;
    if gpu.barriers_limit_occupancy {
        // Every warp has another barrier, so the numbers are in registers, and ptxas then reserves
        // all of them.
        return Some(format!(
            "a named barrier for each warp reserves all {} barriers, which on {name} limits the workgroups that an SM can hold",
            gpu.named_barriers
        ));
    }
    let Some(warps) = situation.waves else {
        return Some(
            "the workgroup size is known only at launch, and named barriers count warps".to_owned(),
        );
    };
    let too_many = |sets: u32| {
        let free = gpu.named_barriers.saturating_sub(WarpGroups::FIRST);
        let needed = warps.saturating_mul(sets);
        (needed > free)
            .then(|| format!("{warps} warps need {needed} named barriers, and {free} are free"))
    };
    match strategy {
        Strategy::WarpNamed => too_many(2),
        Strategy::WarpNamedSingle if !situation.barrier_between_phases => Some(
            "a path without a full barrier leads from a wait to the next arrive, so one set of named barriers would mix two phases"
                .to_owned(),
        ),
        Strategy::WarpNamedSingle => too_many(1),
        Strategy::GroupNamed
        | Strategy::Native
        | Strategy::Named
        | Strategy::Mbarrier
        | Strategy::Cluster
        | Strategy::Counter
        | Strategy::Fused
        | Strategy::SingleWave
        | Strategy::Subgroup => None,
    }
}
