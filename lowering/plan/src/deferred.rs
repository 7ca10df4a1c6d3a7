//! Copies that the mbarrier itself waits for (sm_80+): `cp.async.mbarrier.arrive` in place of a
//! wait before the arrive.
//!
//! An arrive that publishes copies has to find them complete, so the plan has a wait before it, and
//! the window hides nothing of them. The mbarrier can do better. Each thread asks for one more
//! arrival, which the hardware makes when the thread's copies so far have landed; the phase
//! completes when the last of these has come, so the copies may take until the wait.
//!
//! Why that is right:
//! - Counts. With `.noinc` the arrival is one of those that every phase expects: one for each
//!   warp's leader and one for each thread, `W + N` as `mbarrier.init` sets it. That takes a
//!   `.noinc` of every thread in every phase, so it is used where every arrive of the entry point
//!   publishes copies so. Elsewhere the form without `.noinc` raises the pending count of the
//!   current phase by the one that it will lower it by, and other phases stay as they are, `W`
//!   arrivals. Either way the phase cannot complete before the count is raised: a thread raises it
//!   before its warp syncs, and its leader arrives behind that.
//! - Phases. A thread's copies land before its phase completes, and it arrives in the next phase
//!   only behind the wait for this one. So no arrival comes in another phase than the one that it
//!   was asked for in.
//! - Memory. A wait that returns true makes the accesses before each leader's arrival visible, and
//!   the copies before each `cp.async.mbarrier.arrive` of the phase (PTX ISA, "mbarrier.test_wait,
//!   mbarrier.try_wait", the second of the orderings; "cp.async.mbarrier.arrive").
//! - Nothing in the window asks for the copies: the analysis says so of each arrive
//!   ([`AsyncCopies::deferred`](splitbar_passes::analysis::async_copy::AsyncCopies)).
//!
//! The arrival tracks all copies before it, so it takes the place of a wait for all of them and of
//! no other: a wait that leaves newer copies in flight stays.

use crate::plan::EntryPlan;
use crate::step::{NvptxStep, Step};
use crate::strategy::MeetsAt;
use splitbar_layout::Copies;
use splitbar_passes::analysis::pairing::SiteKind;
use splitbar_passes::module::{Scope, WordOffset};
use std::collections::BTreeSet;

/// What the reason of a pair says when copies arrive at it.
const REASON: &str = "its copies arrive when they are complete, which may be after the wait";

/// Lets copies arrive where that saves a wait. Changes nothing in a plan whose workgroup pairs are
/// not on an mbarrier.
pub(crate) fn defer(plan: &mut EntryPlan, copies: &Copies) {
    let pairs = plan.pairs.iter();
    let mut of_workgroup = pairs.filter(|pair| pair.scope == Scope::Workgroup);
    let all_mbarrier = of_workgroup.all(|pair| pair.strategy.meets_at() == MeetsAt::Mbarrier);
    // Copies of groups are in flight over arrives that do not publish them: they would hold up the
    // phase.
    if !all_mbarrier || copies.any_of_group() {
        return;
    }
    let arrives: BTreeSet<WordOffset> = plan
        .sites
        .iter()
        .filter(|site| site.kind == SiteKind::Arrive && site.execution == Some(Scope::Workgroup))
        .map(|site| site.offset)
        .collect();
    let work = before_work(plan);
    let deferred: BTreeSet<WordOffset> = copies
        .deferred()
        .iter()
        .copied()
        .filter(|arrive| arrives.contains(arrive) && waits_for_all(plan, *arrive))
        .filter(|arrive| work.contains(arrive))
        .collect();
    if deferred.is_empty() {
        return;
    }
    let noinc = deferred == arrives;
    for arrive in &deferred {
        if let Some(before) = plan.before_instruction.get_mut(arrive) {
            before.retain(|step| *step != Step::AsyncWait(0));
        }
        let steps = plan.at_instruction.entry(*arrive).or_default();
        steps.insert(0, Step::Nvptx(NvptxStep::CopiesArrive { noinc }));
    }
    for step in &mut plan.at_entry {
        if let Step::Nvptx(NvptxStep::MbarrierInit { copies }) = step {
            *copies = noinc;
        }
    }
    drop_marks(plan);
    explain(plan, &deferred);
}

/// Returns true if a wait for all copies stands before the instruction at `offset`.
fn waits_for_all(plan: &EntryPlan, offset: WordOffset) -> bool {
    let before = plan.before_instruction.get(&offset);
    before.is_some_and(|steps| steps.contains(&Step::AsyncWait(0)))
}

/// The arrives between which and their waits something stands, so that copies gain time.
fn before_work(plan: &EntryPlan) -> BTreeSet<WordOffset> {
    let pairs = plan.pairs.iter().filter(|pair| !pair.window.is_empty());
    let arrives = pairs.flat_map(|pair| &pair.arrives);
    let sites = arrives.filter_map(|id| plan.site(*id));
    sites.map(|site| site.offset).collect()
}

/// Where no wait counts marks any more, there are none.
fn drop_marks(plan: &mut EntryPlan) {
    let lists = || {
        let after = plan.at_instruction.values();
        after.chain(plan.before_instruction.values())
    };
    let counts = |step: &Step| matches!(step, Step::AsyncWait(_));
    if !lists().any(|steps| steps.iter().any(counts)) {
        for steps in plan.before_instruction.values_mut() {
            steps.retain(|step| *step != Step::AsyncMark);
        }
    }
    plan.before_instruction.retain(|_, steps| !steps.is_empty());
}

/// Adds the reason to the pairs that begin at `arrives`.
fn explain(plan: &mut EntryPlan, arrives: &BTreeSet<WordOffset>) {
    let sites = plan.sites.iter();
    let ids: BTreeSet<_> = sites
        .filter(|site| arrives.contains(&site.offset))
        .map(|site| site.id)
        .collect();
    for pair in &mut plan.pairs {
        if pair.arrives.iter().any(|arrive| ids.contains(arrive)) {
            pair.reason = format!("{}, and {REASON}", pair.reason);
        }
    }
}
