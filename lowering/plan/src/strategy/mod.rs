//! The strategies for a split barrier: one table. A strategy is a row of it and a file. The row has
//! its properties, the file its conditions and steps. Only the emitter knows the instructions of a
//! target.

mod alone;
pub(crate) mod choice;
mod cluster;
pub(crate) mod cost;
mod counter;
mod fused;
pub(crate) mod mbarrier;
mod named;
mod native;
mod numbered;
pub(crate) mod situation;

use crate::protocol::{Protocol, Setup};
use crate::target::Target;
use serde::{Deserialize, Serialize};
use situation::Situation;
use splitbar_passes::module::Scope;
use std::fmt;
use std::str::FromStr;

/// The overlap of a pair's window with the arrival of other waves.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// Other waves may run between this wave's arrive and its wait: the window is split.
    Split,
    /// One full barrier stands in place of the pair: nothing overlaps.
    Nothing,
    /// No wave waits for another one, so nothing closes the window.
    Everything,
}

/// The barrier object on which the waves of a pair synchronise.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum MeetsAt {
    /// No other wave takes part.
    Nothing,
    /// The full barrier of the workgroup.
    FullBarrier,
    /// AMDGPU: the split barrier that the hardware gives each workgroup.
    WorkgroupBarrier,
    /// AMDGPU: a named barrier object.
    NamedObject,
    /// NVPTX: barriers of the CTA by number.
    NamedBarriers,
    /// The barrier of the cluster.
    ClusterBarrier,
    /// NVPTX: an mbarrier in shared memory.
    Mbarrier,
    /// A word of workgroup memory that waves add to.
    Counter,
}

/// What is asked about a strategy.
struct Row {
    /// The name on the command line and in reports.
    name: &'static str,
    /// A summary in one line.
    summary: &'static str,
    /// The execution scope of the pairs that it lowers.
    scope: Scope,
    meets_at: MeetsAt,
    /// Workgroup memory of what the waves meet at, in bytes.
    shared_bytes: u32,
    overlap: Overlap,
    /// What speaks for it in a situation, or why it cannot be taken there.
    fits: fn(Situation) -> Result<String, String>,
    /// Its steps.
    protocol: fn(Setup<'_>) -> Protocol,
}

/// Declares the strategies, in the order of the support table.
macro_rules! strategies {
    ($($(#[$doc:meta])* $name:ident { $($row:tt)* })*) => {
        /// A way to lower a pair of arrive and wait.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "&'static str")]
        pub enum Strategy {
            $($(#[$doc])* $name,)*
        }

        impl Strategy {
            /// Every strategy, in the order of the support table.
            pub const ALL: &'static [Strategy] = &[$(Strategy::$name),*];

            fn row(self) -> &'static Row {
                match self { $(Strategy::$name => &Row { $($row)* },)* }
            }
        }
    };
}

strategies! {
    /// The target's own split barrier: `s_barrier_signal` and `s_barrier_wait` (AMDGPU gfx12 and
    /// later).
    Native {
        name: "native",
        summary: "The target's own split barrier (gfx12 and later)",
        scope: Scope::Workgroup,
        meets_at: MeetsAt::WorkgroupBarrier,
        shared_bytes: 0,
        overlap: Overlap::Split,
        fits: native::fits,
        protocol: native::protocol,
    }
    /// A named barrier object of the workgroup's own (AMDGPU gfx12.5), beside which full barriers
    /// may stand in the window. Taken where one can.
    Named {
        name: "named",
        summary: "A named barrier object (gfx12.5)",
        scope: Scope::Workgroup,
        meets_at: MeetsAt::NamedObject,
        shared_bytes: 0,
        overlap: Overlap::Split,
        fits: named::fits,
        protocol: named::protocol,
    }
    /// An mbarrier in shared memory, one arrival per warp (NVPTX sm_80 and later).
    Mbarrier {
        name: "mbarrier",
        summary: "An mbarrier in shared memory (sm_80 and later)",
        scope: Scope::Workgroup,
        meets_at: MeetsAt::Mbarrier,
        shared_bytes: mbarrier::BYTES,
        overlap: Overlap::Split,
        fits: mbarrier::fits,
        protocol: mbarrier::protocol,
    }
    /// The barrier of the cluster that the workgroup belongs to (NVPTX sm_90 and later, AMDGPU
    /// gfx12.5): no workgroup memory, more expensive than what a workgroup has for itself.
    ///
    /// SPIR-V has no scope between Workgroup and Device. With
    /// [`PlanOptions::cluster`](crate::PlanOptions::cluster) of several workgroups, all of them
    /// meet at every pair of scope Workgroup: the caller knows that they execute the same pairs. On
    /// NVPTX the workgroup is alone in its cluster unless the options say otherwise.
    Cluster {
        name: "cluster",
        summary: "The barrier of the cluster (sm_90 and later, gfx12.5)",
        scope: Scope::Workgroup,
        meets_at: MeetsAt::ClusterBarrier,
        shared_bytes: 0,
        overlap: Overlap::Split,
        fits: cluster::fits,
        protocol: cluster::protocol,
    }
    /// A named hardware barrier per warp, in two sets that are used in turn (NVPTX, two to seven
    /// warps).
    WarpNamed {
        name: "warp-named",
        summary: "Two barriers for each warp, used in turn (NVIDIA, up to seven warps)",
        scope: Scope::Workgroup,
        meets_at: MeetsAt::NamedBarriers,
        shared_bytes: 0,
        overlap: Overlap::Split,
        fits: numbered::two_sets_fit,
        protocol: numbered::two_sets,
    }
    /// A named hardware barrier per warp, the same for all phases (NVPTX, up to fifteen warps):
    /// only where a full barrier stands between each wait and the next arrive.
    WarpNamedSingle {
        name: "warp-named-single",
        summary: "One barrier for each warp, with full barriers between phases (NVIDIA, up to fifteen warps)",
        scope: Scope::Workgroup,
        meets_at: MeetsAt::NamedBarriers,
        shared_bytes: 0,
        overlap: Overlap::Split,
        fits: numbered::one_set_fits,
        protocol: numbered::one_set,
    }
    /// A named hardware barrier per group of warps, in two sets (NVPTX): warps of a group wait for
    /// each other, the groups are split.
    GroupNamed {
        name: "group-named",
        summary: "Two barriers for each of four groups of warps (NVIDIA)",
        scope: Scope::Workgroup,
        meets_at: MeetsAt::NamedBarriers,
        shared_bytes: 0,
        overlap: Overlap::Split,
        fits: numbered::groups_fit,
        protocol: numbered::groups,
    }
    /// A counter in workgroup memory, one addition per wave, polled by the wait: really split where
    /// the hardware is not. Never chosen unless asked for.
    Counter {
        name: "counter",
        summary: "A counter in workgroup memory, which waits poll",
        scope: Scope::Workgroup,
        meets_at: MeetsAt::Counter,
        shared_bytes: counter::BYTES,
        overlap: Overlap::Split,
        fits: counter::fits,
        protocol: counter::protocol,
    }
    /// One full barrier in place of the pair. Always right unless an invocation spins between
    /// arrive and wait on another's progress.
    Fused {
        name: "fused",
        summary: "One full barrier in place of the pair",
        scope: Scope::Workgroup,
        meets_at: MeetsAt::FullBarrier,
        shared_bytes: 0,
        overlap: Overlap::Nothing,
        fits: fused::fits,
        protocol: fused::protocol,
    }
    /// The workgroup is one wave: its fences, and nothing that waits for another wave.
    SingleWave {
        name: "single-wave",
        summary: "No barrier, for workgroups of one wave",
        scope: Scope::Workgroup,
        meets_at: MeetsAt::Nothing,
        shared_bytes: 0,
        overlap: Overlap::Everything,
        fits: alone::single_wave_fits,
        protocol: alone::single_wave,
    }
    /// The pair's execution scope is Subgroup: the wave waits for itself.
    Subgroup {
        name: "subgroup",
        summary: "No barrier, for pairs of scope Subgroup",
        scope: Scope::Subgroup,
        meets_at: MeetsAt::Nothing,
        shared_bytes: 0,
        overlap: Overlap::Everything,
        fits: alone::subgroup_fits,
        protocol: alone::subgroup,
    }
}

impl Strategy {
    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// A summary in one line.
    pub fn summary(self) -> &'static str {
        self.row().summary
    }

    /// The execution scope of the pairs that it lowers: Workgroup or Subgroup.
    pub fn scope(self) -> Scope {
        self.row().scope
    }

    /// The barrier object on which the waves of a pair synchronise.
    pub fn meets_at(self) -> MeetsAt {
        self.row().meets_at
    }

    /// Workgroup memory of what the waves meet at, in bytes. Where there is some, an arrival and a
    /// wait may be ordinary accesses of it.
    pub fn shared_bytes(self) -> u32 {
        self.row().shared_bytes
    }

    /// The overlap of a pair's window.
    pub fn overlap(self) -> Overlap {
        self.row().overlap
    }

    /// Returns true if other waves may run between this wave's arrive and its wait, so that work in
    /// the window overlaps with their arrival.
    pub fn is_split(self) -> bool {
        self.overlap() == Overlap::Split
    }

    /// Its steps in a workgroup that it fits.
    pub(crate) fn protocol(self, setup: Setup<'_>) -> Protocol {
        (self.row().protocol)(setup)
    }

    /// What speaks for it in `situation`.
    ///
    /// # Errors
    /// Why it cannot lower a pair of execution scope `scope` there.
    pub(crate) fn fits(self, scope: Scope, situation: Situation) -> Result<String, String> {
        if self.scope() == scope {
            (self.row().fits)(situation)
        } else {
            Err(format!("the pair's execution scope is {scope}"))
        }
    }

    /// Every strategy that can lower a pair on `target`, in the order of [`Strategy::ALL`]: in a
    /// workgroup of the size that it needs, with memory left, a full barrier between phases and a
    /// launch in clusters.
    pub fn all_of_target(target: &'static Target) -> Vec<Strategy> {
        let possible = |strategy: Strategy, waves| {
            let situation = Situation {
                waves: Some(waves),
                barrier_between_phases: true,
                cluster: Some([1; 3]),
                ..Situation::usual(target)
            };
            strategy.fits(strategy.scope(), situation).is_ok()
        };
        let all = Strategy::ALL.iter().copied();
        all.filter(|strategy| possible(*strategy, 4) || possible(*strategy, 1))
            .collect()
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Strategy> for &'static str {
    fn from(strategy: Strategy) -> &'static str {
        strategy.name()
    }
}

impl TryFrom<String> for Strategy {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let mut all = Strategy::ALL.iter().copied();
        all.find(|strategy| strategy.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Strategy::ALL.iter().map(|s| s.name()).collect();
            format!(
                "there is no strategy {name:?}; the strategies are {}",
                names.join(", ")
            )
        })
    }
}
