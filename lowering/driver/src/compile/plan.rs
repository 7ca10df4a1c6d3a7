//! The planning stage: checked kernels to a candidate, in which every pair has its strategy.

use super::cost_model::{Known, SplitDecisions, barriers};
use super::places::PlanPlaces;
use super::plan_text::{Splitting, plan_text};
use super::prepare::{Prepared, PreparedKernel, SourcePair};
use super::problems::Problems;
use super::profile_sites::ProfileSites;
use super::reasons::Reasons;
use super::unsplit::{Outcomes, UnsplitBarrier};
use super::weighing::Weighing;
use crate::failure::Failure;
use crate::options::Options;
use crate::stage::{Artefact, Observer, Stage, show};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Scope, WordOffset};
use splitbar_plan::{EntryPlan, PlanOptions};
use std::collections::{BTreeMap, BTreeSet};
use tracing::info_span;

/// The decisions about the barriers of a module, by the names of its entry points.
pub(crate) type Decisions = BTreeMap<String, SplitDecisions>;

/// One version of a module: its kernels with a plan each.
pub(crate) struct Candidate<'p, 'w> {
    /// The module.
    pub(crate) prepared: &'p Prepared<'w>,
    /// The kernels, in the module's order.
    pub(crate) kernels: Vec<PlannedKernel<'p, 'w>>,
    /// The problems so far.
    pub(crate) problems: Problems<'w>,
    /// Why it is this version of the module.
    pub(crate) reasons: Reasons,
}

/// A kernel with its plan.
pub(crate) struct PlannedKernel<'p, 'w> {
    /// The kernel.
    pub(crate) prepared: &'p PreparedKernel<'w>,
    /// How its barriers are lowered.
    pub(crate) plan: EntryPlan,
    /// The decisions about its barriers; `None` if there was nothing to decide.
    pub(crate) decisions: Option<SplitDecisions>,
    /// The OpControlBarriers of the given module that are not split.
    pub(crate) unsplit: Vec<UnsplitBarrier>,
}

impl PlannedKernel<'_, '_> {
    /// The places of what the plan names.
    pub(crate) fn places(&self, problems: &Problems<'_>) -> PlanPlaces {
        let motions = self.prepared.motions.iter().map(|motion| motion.word);
        let unsplit = self.unsplit.iter().map(|barrier| barrier.word);
        let pairs = self.prepared.source_pairs.iter();
        let pairs = pairs.flat_map(|pair| pair.words.iter().copied());
        PlanPlaces::new(&self.plan, motions.chain(unsplit).chain(pairs), problems)
    }
}

/// What was chosen for a module before it is planned.
#[derive(Copy, Clone, Default)]
pub(crate) struct Chosen<'c> {
    /// The decisions about its barriers; `None` where nothing is decided yet.
    pub(crate) decisions: Option<&'c Decisions>,
    /// Why the module stays as it is given, if it does.
    pub(crate) untouched: Option<&'c str>,
    /// True for a version that others are compared with: outcomes follow the comparison.
    pub(crate) is_trial: bool,
}

/// Plans the kernels. What was `chosen` for their barriers before counts; where nothing was and
/// the options ask for it, it is decided by the plan. Planning needs the size of the workgroup
/// and how much of its memory is taken.
///
/// # Errors
/// What is wrong with single kernels, what no plan fits, and that the profile comes from another
/// target.
pub(crate) fn plan<'p, 'w>(
    prepared: &'p Prepared<'w>,
    chosen: Chosen<'_>,
    sites: &ProfileSites,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Candidate<'p, 'w>, Failure> {
    let _span = info_span!("plan").entered();
    observer.begin(Stage::Plan);
    let mut problems = prepared.problems.clone();
    let mut found = sites.doubts.clone();
    let by_plan = chosen.decisions.is_none() && Weighing::from_options(options) == Weighing::ByPlan;
    let known = Known {
        given: prepared.given,
        sites,
        options,
    };
    let fates = &prepared.fates;
    let kernels = prepared.kernels.iter().map(|prepared| {
        let entry = &prepared.kernel.entry;
        let decisions = match chosen.decisions {
            Some(decided) => decided.get(&*entry.name).cloned(),
            None => by_plan.then(|| decide_by_plan(prepared, known, &mut found)),
        };
        let plan = plan_kernel(prepared, decisions.as_ref(), options, &mut found);
        let outcomes = Outcomes {
            entry: &plan.entry,
            pairs: &plan.pairs,
            source_pairs: &prepared.source_pairs,
            decisions: decisions.as_ref(),
            untouched: chosen.untouched,
            options,
        };
        let fates = fates.get(&entry.function);
        let unsplit = outcomes.unsplit(fates.filter(|_| !chosen.is_trial));
        let unsplit = unsplit.unwrap_or_else(|bug| {
            found.push(bug);
            Vec::new()
        });
        PlannedKernel {
            prepared,
            plan,
            decisions,
            unsplit,
        }
    });
    let kernels: Vec<PlannedKernel<'_, '_>> = kernels.collect();
    show(observer, Artefact::Plan, || {
        let texts = kernels.iter().map(|kernel| {
            let places = kernel.places(&problems);
            let splitting = Splitting {
                motions: &kernel.prepared.motions,
                decisions: kernel.decisions.as_ref(),
                unsplit: &kernel.unsplit,
                places: &places,
            };
            plan_text(&kernel.plan, None, splitting)
        });
        texts.collect::<Vec<_>>().join("\n").into_bytes()
    });
    problems.take(found)?;
    Ok(Candidate {
        prepared,
        kernels,
        problems,
        reasons: Reasons::default(),
    })
}

/// Decides about the barriers of a kernel by the windows that its plan has in SPIR-V.
fn decide_by_plan(
    prepared: &PreparedKernel<'_>,
    known: Known<'_>,
    found: &mut Diagnostics,
) -> SplitDecisions {
    // What is wrong with it the plan that comes of the choice says once more.
    let plan = splitbar_plan::plan(
        &prepared.kernel,
        plan_options(known.options, prepared, BTreeSet::new()),
        &mut Diagnostics::new(),
    );
    if let Err(foreign) = known.sites.check(&plan) {
        found.push(foreign);
    }
    let barriers = barriers(&plan, &prepared.source_pairs, None, known);
    SplitDecisions::new(Default::default(), barriers)
}

/// The plan of one kernel, by what was decided for its barriers.
fn plan_kernel(
    prepared: &PreparedKernel<'_>,
    decisions: Option<&SplitDecisions>,
    options: &Options,
    found: &mut Diagnostics,
) -> EntryPlan {
    let (kernel, source_pairs) = (&prepared.kernel, &prepared.source_pairs);
    let is_full = |source: &SourcePair| {
        let barrier = source.word().and_then(|word| decisions?.at(word));
        let mut words = source.words.iter();
        barrier.is_some_and(|barrier| !barrier.split)
            || words.any(|word| options.full_barriers.contains(word))
    };
    let pairs = kernel.pairing.pairs.iter().zip(source_pairs);
    let full = pairs
        .filter(|(_, source)| is_full(source))
        .flat_map(|(pair, _)| &pair.arrives)
        .filter_map(|id| kernel.pairing.site(*id))
        .map(|site| site.offset)
        .collect();
    let mut plan = splitbar_plan::plan(kernel, plan_options(options, prepared, full), found);
    explain(&mut plan, source_pairs, decisions);
    plan
}

/// The planner's part of the options, with the arrives of pairs that get full barriers.
fn plan_options(
    options: &Options,
    prepared: &PreparedKernel<'_>,
    full: BTreeSet<WordOffset>,
) -> PlanOptions {
    PlanOptions {
        strategy: options.strategy,
        full,
        // As barriers of the workgroup they are in uniform control flow.
        joined: prepared.narrowed.clone(),
        fuse_at: options.fuse_at,
        wave_size: options.wave_size,
        subgroup_size: options.subgroup_size,
        scheduling_barriers: options.scheduling_barriers,
        waits: options.waits,
        placement: options.placement,
        cluster: options.cluster,
    }
}

/// Has the pairs of a plan say why they have their strategies.
pub(crate) fn explain(
    plan: &mut EntryPlan,
    source_pairs: &[SourcePair],
    decisions: Option<&SplitDecisions>,
) {
    for (pair, source) in plan.pairs.iter_mut().zip(source_pairs) {
        let reason = source.word().and_then(|word| decisions?.reason(word));
        if let (Scope::Workgroup, Some(reason)) = (pair.scope, reason) {
            pair.reason = reason;
        }
    }
}
