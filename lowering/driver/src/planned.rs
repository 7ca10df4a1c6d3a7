//! The plans of a module's entry points, where no code is made.

use crate::compile::{
    BarrierMotion, Candidate, PlanPlaces, Reasons, SplitDecisions, Splitting, UnsplitBarrier,
    plan_text,
};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_plan::EntryPlan;
use std::fmt;

/// The plans of a module's entry points. Printed, they are what `--emit plan` shows.
#[derive(Clone, Debug, Default)]
pub struct Planned {
    /// One per entry point, in the module's order.
    pub entries: Vec<PlannedEntry>,
    /// Warnings and notes.
    pub warnings: Diagnostics,
    /// Why this version of the module was taken.
    pub reasons: Reasons,
}

/// One planned entry point.
#[derive(Clone, Debug)]
pub struct PlannedEntry {
    /// The plan for its barriers.
    pub plan: EntryPlan,
    /// The decisions among strategies; `None` if there was nothing to decide.
    pub decisions: Option<SplitDecisions>,
    /// The results of splitting its barriers.
    pub motions: Vec<BarrierMotion>,
    /// The OpControlBarriers of the workgroup that are not split, each with the reason, where the
    /// options have barriers split.
    pub unsplit: Vec<UnsplitBarrier>,
    /// The places of what the plan names, in the module that was given.
    pub places: PlanPlaces,
}

impl From<Candidate<'_, '_>> for Planned {
    fn from(candidate: Candidate<'_, '_>) -> Planned {
        let Candidate {
            kernels,
            mut problems,
            reasons,
            ..
        } = candidate;
        let entries = kernels.into_iter().map(|kernel| PlannedEntry {
            places: kernel.places(&problems),
            plan: kernel.plan,
            decisions: kernel.decisions,
            motions: kernel.prepared.motions.clone(),
            unsplit: kernel.unsplit,
        });
        Planned {
            entries: entries.collect(),
            warnings: problems.take_all(),
            reasons,
        }
    }
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = self.entries.iter().map(|entry| {
            let splitting = Splitting {
                motions: &entry.motions,
                decisions: entry.decisions.as_ref(),
                unsplit: &entry.unsplit,
                places: &entry.places,
            };
            plan_text(&entry.plan, None, splitting)
        });
        f.write_str(&texts.collect::<Vec<_>>().join("\n"))?;
        let Reasons { loops, strategy } = &self.reasons;
        for (what, why) in [("loops", loops), ("strategy", strategy)] {
            if let Some(why) = why {
                writeln!(f, "{what}: {why}")?;
            }
        }
        Ok(())
    }
}
