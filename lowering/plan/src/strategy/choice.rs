//! The choice among the strategies that fit.

use super::Strategy;
use super::situation::Situation;
use crate::target::{Arch, Target};
use splitbar_passes::module::Scope;

impl Strategy {
    /// The one that the planner takes on `target` for a workgroup of four waves while workgroup
    /// memory is left, with no full barrier between phases.
    pub fn of_target(target: &'static Target) -> Strategy {
        choose(Scope::Workgroup, Situation::usual(target)).0
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
