//! Conditions on every plan before code is made from it. A failure is a bug of the planner.

use crate::plan::EntryPlan;
use crate::step::{AmdgpuStep, NvptxStep, Step};
use crate::target::Target;
use splitbar_passes::diagnostic::Diagnostic;
use splitbar_passes::module::WordOffset;

impl EntryPlan {
    /// Checks that the plan is complete for `target`: every barrier instruction has its steps, the
    /// target has the instructions of every step, and the run-time state and the sets of registers
    /// that steps use are declared.
    ///
    /// # Errors
    /// `Internal`: names the first thing that does not hold, at the instruction it belongs to.
    pub fn check(&self, target: &Target) -> Result<(), Box<Diagnostic>> {
        let broken = |at: Option<WordOffset>, what: String| {
            let message = format!("the plan of `{}` for {}: {what}", self.entry, self.target);
            let bug = Diagnostic::bug(message);
            Box::new(match at {
                Some(at) => bug.at_word(at),
                None => bug,
            })
        };
        for site in &self.sites {
            if !self.at_instruction.contains_key(&site.offset) {
                return Err(broken(Some(site.offset), "a barrier has no steps".into()));
            }
        }
        for pair in &self.pairs {
            if !(pair.arrives.iter().chain(&pair.waits)).all(|id| self.site(*id).is_some()) {
                let pair = pair.id.0;
                return Err(broken(None, format!("a site of pair {pair} is not listed")));
            }
        }
        for (at, step) in self.steps() {
            if !step.is_on(target) {
                let what = format!("the target has no instruction for the step `{step}`");
                return Err(broken(at, what));
            }
            if !self.has_state_of(step) {
                let what = format!("the step `{step}` uses state that is not declared");
                return Err(broken(at, what));
            }
        }
        Ok(())
    }

    /// Every step, also those in other steps, with its instruction; steps of the entry and of the
    /// end have none.
    fn steps(&self) -> Vec<(Option<WordOffset>, &Step)> {
        let at_instruction = [
            &self.at_instruction,
            &self.before_instruction,
            &self.at_return,
        ];
        let located = at_instruction.into_iter().flatten();
        let mut open: Vec<_> = located
            .flat_map(|(at, steps)| steps.iter().map(|step| (Some(*at), step)))
            .chain(self.at_entry.iter().map(|step| (None, step)))
            .chain(self.at_end.iter().map(|step| (None, step)))
            .collect();
        let mut all = Vec::new();
        while let Some((at, step)) = open.pop() {
            open.extend(step.inner().iter().map(|step| (at, step)));
            all.push((at, step));
        }
        all
    }

    /// Returns true if the run-time state and the set of registers of `step` are declared.
    fn has_state_of(&self, step: &Step) -> bool {
        match step {
            Step::SetOutstanding(_) | Step::IfOutstanding(_) => self.state.outstanding,
            Step::StoreStaged(set) => *set < self.staged.len(),
            Step::CounterArrive | Step::CounterWait | Step::IfFirst(_) => self.state.word,
            Step::Amdgpu(step) => *step != AmdgpuStep::SignalFirst || self.state.word,
            Step::Nvptx(step) => match step {
                NvptxStep::MbarrierWait { .. } => self.state.word,
                NvptxStep::GroupArrive(groups) | NvptxStep::GroupSync(groups) => {
                    groups.sets < 2 || self.state.word
                }
                NvptxStep::BulkInit(_) | NvptxStep::BulkWait(_) => self.state.bulk_slots.is_some(),
                NvptxStep::CtaSync
                | NvptxStep::WarpSync(_)
                | NvptxStep::MbarrierInit { .. }
                | NvptxStep::CopiesArrive { .. }
                | NvptxStep::MbarrierArrive => true,
            },
            Step::Fence(_)
            | Step::ClusterArrive
            | Step::ClusterWait
            | Step::CounterInit
            | Step::OpenWindow
            | Step::CloseWindow
            | Step::AsyncMark
            | Step::AsyncWait(_) => true,
        }
    }
}
