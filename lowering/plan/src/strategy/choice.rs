//! The choice among the strategies that fit.

use super::Strategy;
use crate::target::{Arch, Target};
use splitbar_passes::module::Scope;

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
    /// The caller asks for the strategy by name.
    pub is_asked_for: bool,
}

impl Situation {
    /// Four waves on `target`, all workgroup memory, and nothing special.
    pub(crate) fn usual(target: &'static Target) -> Situation {
        Situation {
            target,
            waves: Some(4),
            free_shared_bytes: target.lds_bytes,
            barrier_in_window: false,
            barrier_between_phases: false,
            cluster: None,
            is_asked_for: false,
        }
    }

    /// Whether `what` can have `bytes` of workgroup memory.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn has_room(self, what: &str, bytes: u32) -> Result<(), String> {
        if self.free_shared_bytes < bytes {
            return Err(format!(
                "{what} takes {bytes} bytes of workgroup memory and {} are left",
                self.free_shared_bytes
            ));
        }
        Ok(())
    }
}

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
    for strategy in [Strategy::Subgroup, Strategy::SingleWave] {
        if let Ok(why) = strategy.fits(scope, situation) {
            return (strategy, why);
        }
    }
    let mut objections = Vec::new();
    for strategy in preferences(&situation.target.arch, situation.barrier_in_window) {
        match strategy.fits(scope, situation) {
            Err(why) => objections.push(why),
            Ok(why) => {
                objections.truncate(1);
                objections.push(why);
                return (*strategy, objections.join(", and "));
            }
        }
    }
    // The first and the last one tried: the others are between them in what they ask for.
    let last = objections.pop().into_iter();
    let reason: Vec<String> = objections.into_iter().take(1).chain(last).collect();
    (Strategy::Fused, reason.join(", and "))
}
