//! The ways to lower a split barrier, and the choice among them.

use crate::target::{Arch, Mbarrier, Target};
use splitbar_passes::module::Scope;
use std::fmt;
use std::str::FromStr;

/// A way to lower a pair of arrive and wait.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strategy {
    /// The target's own split barrier: `s_barrier_signal` and `s_barrier_wait` (AMDGPU gfx12 and later).
    Native,
    /// One full barrier in place of the pair. Always right unless an invocation spins between arrive and wait on another's progress.
    Fused,
    /// An mbarrier in shared memory, one arrival per warp (NVPTX sm_80 and later).
    Mbarrier,
    /// A counter in workgroup memory, one addition per wave, polled by the wait: really split where the hardware is not. Never chosen unless asked for.
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
        Strategy::Mbarrier,
        Strategy::Counter,
        Strategy::Fused,
        Strategy::SingleWave,
        Strategy::Subgroup,
    ];

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Native => "native",
            Strategy::Fused => "fused",
            Strategy::Mbarrier => "mbarrier",
            Strategy::Counter => "counter",
            Strategy::SingleWave => "single-wave",
            Strategy::Subgroup => "subgroup",
        }
    }

    /// The one that the planner takes on `target` for a workgroup of several waves while workgroup memory is left.
    pub fn of_target(target: &'static Target) -> Strategy {
        let situation = Situation {
            target,
            waves: None,
            free_shared_bytes: target.lds_bytes,
        };
        choose(Scope::Workgroup, situation).0
    }

    /// Whether other waves may run between this wave's arrive and its wait, so that work in the window overlaps with their arrival.
    pub fn is_split(self) -> bool {
        match self {
            Strategy::Native | Strategy::Mbarrier | Strategy::Counter => true,
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
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum FuseAt {
    /// At the wait, the later place: work in the window is done before anybody waits.
    #[default]
    Wait,
    /// At the arrive, the earlier place.
    Arrive,
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
}

impl Default for PlanOptions {
    fn default() -> Self {
        PlanOptions {
            strategy: None,
            fuse_at: FuseAt::Wait,
            wave_size: None,
            window_guards: true,
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

/// Bytes of workgroup memory that an mbarrier takes (PTX ISA, "Size and alignment of mbarrier object").
pub(crate) const MBARRIER_BYTES: u32 = 8;

/// Bytes of workgroup memory that [`Strategy::Counter`] takes: one word for all pairs and all phases.
pub(crate) const COUNTER_BYTES: u32 = 4;

/// Chooses the strategy of a pair of execution scope `scope` and says why.
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
    let name = situation.target.name;
    match &situation.target.arch {
        Arch::Amdgpu(gpu) if gpu.split_barrier => {
            (Strategy::Native, format!("{name} signals and waits apart"))
        }
        Arch::Amdgpu(_) => (Strategy::Fused, format!("{name} has no split barrier")),
        Arch::Nvptx(gpu) => match gpu.mbarrier {
            Mbarrier::None => (Strategy::Fused, format!("{name} has no mbarrier")),
            Mbarrier::TestWait => with_mbarrier(situation, "test_wait"),
            Mbarrier::TryWait => with_mbarrier(situation, "try_wait"),
        },
    }
}

fn with_mbarrier(situation: Situation, poll: &str) -> (Strategy, String) {
    match situation.no_room("an mbarrier", MBARRIER_BYTES) {
        Some(why) => (Strategy::Fused, why),
        None => (
            Strategy::Mbarrier,
            format!("{} has mbarrier with {poll}", situation.target.name),
        ),
    }
}

/// Why `strategy` cannot lower a workgroup-scope pair in `situation`; `None` if it can.
pub(crate) fn objection(strategy: Strategy, situation: Situation) -> Option<String> {
    let name = situation.target.name;
    match (strategy, &situation.target.arch) {
        (Strategy::Fused, Arch::Amdgpu(_) | Arch::Nvptx(_)) => None,
        (Strategy::Native, Arch::Amdgpu(gpu)) => (!gpu.split_barrier)
            .then(|| format!("{name} has no s_barrier_signal and s_barrier_wait")),
        (Strategy::Native, Arch::Nvptx(_)) => Some(format!(
            "{name} has no barrier instruction with a separate arrive that the same thread may wait on; `mbarrier` is its split barrier"
        )),
        (Strategy::Mbarrier, Arch::Amdgpu(_)) => Some(format!("{name} has no mbarrier")),
        (Strategy::Mbarrier, Arch::Nvptx(gpu)) => match gpu.mbarrier {
            Mbarrier::None => Some(format!(
                "{name} has no mbarrier (sm_80 is the first that has)"
            )),
            Mbarrier::TestWait | Mbarrier::TryWait => {
                situation.no_room("an mbarrier", MBARRIER_BYTES)
            }
        },
        (Strategy::Counter, Arch::Amdgpu(_)) => situation.no_room("the counter", COUNTER_BYTES),
        (Strategy::Counter, Arch::Nvptx(_)) => {
            Some("the counter is made of AMD's instructions".to_owned())
        }
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
