//! The cost of a phase of each strategy compared with a full barrier, and the minimum work for its
//! window. The figures, with their sources, are rows of the target (`costs` in `fixtures/targets`);
//! nothing ran on a GPU.

use super::{Overlap, Strategy};
use crate::target::{Cost, Target};

/// Cycles that a phase takes longer than with a full barrier, from the cheapest kernel measured to
/// the most expensive one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PhaseCycles {
    /// The least; negative where a split was faster though all waves did the same.
    pub min: i32,
    /// The most.
    pub max: i32,
}

impl PhaseCycles {
    /// The cost of `strategy` on `target`; `None` if it has not been measured.
    pub fn estimate(strategy: Strategy, target: &Target) -> Option<PhaseCycles> {
        if strategy.overlap() != Overlap::Split {
            // A full barrier, or none.
            return Some(PhaseCycles { min: 0, max: 0 });
        }
        let (least, most) = row(strategy, target)?.cycles?;
        Some(PhaseCycles {
            min: least,
            max: most,
        })
    }
}

/// Machine instructions that must be left in the window of a pair so that `strategy` pays on
/// `target`; `rotated`: the pair goes around a loop. `None` where no window is known to pay.
pub fn min_window(strategy: Strategy, target: &Target, rotated: bool) -> Option<u32> {
    let row = row(strategy, target)?;
    row.rotated.filter(|_| rotated).or(row.window)
}

fn row(strategy: Strategy, target: &Target) -> Option<&'static Cost> {
    let name = strategy.name();
    target.costs.iter().find(|cost| cost.strategy == name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn every_row_is_of_a_strategy_that_the_target_has() {
        for target in Target::all() {
            let fit = Strategy::all_of_target(target);
            for cost in target.costs {
                let strategy: Strategy = cost.strategy.parse().unwrap();
                let is_counter = strategy == Strategy::Counter; // it needs nanosleep
                assert!(fit.contains(&strategy) || is_counter, "{}", target.name);
                assert!(cost.cycles.is_none_or(|(least, most)| least <= most));
                assert!(cost.rotated >= cost.window || cost.rotated.is_none());
            }
        }
    }

    #[test]
    fn what_the_planner_takes_has_a_threshold() {
        let of = |name: &str| {
            let target = Target::by_name(name).unwrap();
            let strategy = Strategy::of_target(target);
            let least = |rotated| min_window(strategy, target, rotated);
            (strategy.name(), least(false), least(true))
        };
        assert_eq!(of("gfx1201"), ("native", Some(8), Some(16)));
        assert_eq!(of("sm_90"), ("mbarrier", Some(48), Some(48)));
        assert_eq!(of("sm_86"), ("mbarrier", Some(64), Some(64)));
        assert_eq!(of("sm_75"), ("warp-named", Some(64), Some(64)));
        assert_eq!(of("gfx1100"), ("fused", None, None));
    }
}
