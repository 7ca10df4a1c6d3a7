//! What each strategy costs a kernel on a GPU, and which one to take.
//!
//! The module is compiled once with each strategy that fits. What counts: workgroups that a compute
//! unit or multiprocessor holds at once (they fill each other's waits, so a split that leaves fewer
//! of them loses more than it gains), instructions that are left in the window, and what a phase
//! costs beside a full barrier. How much the waves differ in time before they arrive is not known;
//! a split gains at most the smaller of that and the window.

use crate::failure::Failure;
use crate::options::{Choice, Options, SplitBarriers};
use crate::output::{Entry, Output};
use crate::pipeline::compile;
use crate::usage::{Resident, Usage};
use crate::window::Window;
use serde::Serialize;
use splitbar_passes::diagnostic::{Code, Diagnostics, Severity};
use splitbar_passes::module::Scope;
use splitbar_plan::{Overlap, PhaseCycles, Strategy};
use std::collections::BTreeMap;

/// What is advised for one entry point.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// The entry point.
    pub entry: String,
    /// The GPU.
    pub target: &'static str,
    /// Waves of a workgroup; `None` when only the launch knows its size.
    pub waves: Option<u32>,
    /// Lanes of a wave.
    pub wave_size: u32,
    /// What was compiled, `fused` first.
    pub candidates: Vec<Candidate>,
    /// What the target has and this kernel cannot take.
    pub refused: Vec<Refused>,
    /// The strategy to take.
    pub choice: &'static str,
    /// Why.
    pub reasons: Vec<String>,
}

/// A strategy that fits.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    /// Its name.
    pub strategy: &'static str,
    /// Whether waves overlap between arrive and wait.
    #[serde(skip)]
    pub overlap: Overlap,
    /// Pairs of arrive and wait in the workgroup.
    pub pairs: u32,
    /// Instructions of their windows, all together: those of machine code where it was measured.
    pub window: Window,
    /// What the kernel takes; `None` on NVIDIA GPUs without ptxas.
    pub usage: Option<Usage>,
    /// How many are resident at once.
    pub resident: Option<Resident>,
    /// How many workgroups that are at least, and at most, where ptxas is not there to say.
    pub resident_between: Option<[u32; 2]>,
    /// What a phase costs; `None` where it was not measured.
    pub phase_cycles: Option<PhaseCycles>,
}

/// A strategy that does not fit.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    /// Its name.
    pub strategy: &'static str,
    /// Why.
    pub why: String,
}

/// Compiles `bytes` with each strategy and advises one for each entry point that has pairs of
/// execution scope Workgroup. `options` say the rest; their strategy does not matter.
///
/// # Errors
/// As [`compile`] with the strategy `fused`, or with another one for a reason that lies not in the
/// strategy.
pub fn advise(bytes: &[u8], options: &Options) -> Result<(Vec<Advice>, Diagnostics), Failure> {
    let with = |strategy| compiled(bytes, options, Some(strategy));
    let fused = with(Strategy::Fused)?;
    let mut outputs: Vec<(Strategy, Output)> = Vec::new();
    let mut refused = Vec::new();
    let others = Strategy::all_of_target(options.target).into_iter();
    for strategy in others.filter(|s| s.scope() == Scope::Workgroup && *s != Strategy::Fused) {
        match with(strategy) {
            Ok(output) => outputs.push((strategy, output)),
            Err(failure) => refused.push(Refused {
                strategy: strategy.name(),
                why: why(failure)?,
            }),
        }
    }
    let warnings = fused.warnings().clone();
    outputs.insert(0, (Strategy::Fused, fused));
    let entries = outputs
        .first()
        .map_or(0, |(_, output)| output.entries().len());
    let advice = (0..entries).filter_map(|index| {
        let of = outputs
            .iter()
            .filter_map(|(strategy, output)| Some((*strategy, output.entries().get(index)?)));
        entry(&of.collect::<Vec<_>>(), refused.clone(), options)
    });
    Ok((advice.collect(), warnings))
}

/// The strategy of each entry point with pairs of a workgroup, by name, and why: the planner's, or
/// `fused` where that is better.
///
/// # Errors
/// As [`compile`].
pub(crate) fn balanced(
    bytes: &[u8],
    options: &Options,
) -> Result<BTreeMap<String, (Strategy, String)>, Failure> {
    let with = |strategy| compiled(bytes, options, strategy);
    let (fused, split) = (with(Some(Strategy::Fused))?, with(None)?);
    let entries = fused.entries().iter().zip(split.entries());
    let chosen = entries.filter_map(|(fused, split)| {
        let planned = split.plan.pairs.iter();
        let planned = planned.map(|pair| pair.strategy);
        let planned = planned
            .filter(|strategy| strategy.scope() == Scope::Workgroup)
            .min()?;
        let compiled = [(Strategy::Fused, fused), (planned, split)];
        let candidates = compiled.map(|(strategy, entry)| candidate(strategy, entry, options));
        let (choice, reasons) = decide(&candidates)?;
        Some((
            fused.plan.entry.clone(),
            (choice.parse().ok()?, reasons.join("; ")),
        ))
    });
    Ok(chosen.collect())
}

/// Compiles with `strategy` and measures.
fn compiled(
    bytes: &[u8],
    options: &Options,
    strategy: Option<Strategy>,
) -> Result<Output, Failure> {
    let options = Options {
        measure: true,
        strategy,
        choice: Choice::AlwaysSplit,
        split_barriers: match options.split_barriers {
            SplitBarriers::Never => SplitBarriers::Never,
            SplitBarriers::Auto | SplitBarriers::Always => SplitBarriers::Always,
        },
        ..options.clone()
    };
    compile(bytes, &options)
}

/// Waves of a workgroup, where its size is known.
fn waves(entry: &Entry) -> Option<u32> {
    entry.plan.workgroup_size.map(|[x, y, z]| {
        let invocations = u64::from(x) * u64::from(y) * u64::from(z);
        let waves = invocations.div_ceil(u64::from(entry.plan.wave_size));
        u32::try_from(waves).unwrap_or(u32::MAX)
    })
}

/// Why a strategy does not fit, if that is the only thing that is wrong.
fn why(failure: Failure) -> Result<String, Failure> {
    let errors: Vec<_> = failure
        .diagnostics
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .collect();
    let of_strategy = errors
        .iter()
        .all(|problem| problem.code == Code::UnsupportedStrategy);
    match errors.first() {
        Some(first) if of_strategy => Ok(first.reasons.first().unwrap_or(&first.message).clone()),
        _ => Err(failure),
    }
}

/// The advice for one entry point, compiled with each strategy; `None` if it has no pairs.
fn entry(
    compiled: &[(Strategy, &Entry)],
    refused: Vec<Refused>,
    options: &Options,
) -> Option<Advice> {
    let plan = &compiled.first()?.1.plan;
    let waves = waves(compiled.first()?.1);
    let candidates: Vec<Candidate> = compiled
        .iter()
        .map(|(strategy, entry)| candidate(*strategy, entry, options))
        .collect();
    if candidates.first()?.pairs == 0 {
        return None;
    }
    let (choice, reasons) = decide(&candidates)?;
    Some(Advice {
        entry: plan.entry.clone(),
        target: options.target.name,
        waves,
        wave_size: plan.wave_size,
        choice,
        reasons,
        candidates,
        refused,
    })
}

fn candidate(strategy: Strategy, entry: &Entry, options: &Options) -> Candidate {
    let windows = entry.machine_windows.as_ref().or(entry.windows.as_ref());
    let of_workgroup = || {
        let pairs = entry.plan.pairs.iter().enumerate();
        pairs.filter(|(_, pair)| pair.scope == Scope::Workgroup)
    };
    let mut window = Window { source: 0, kept: 0 };
    for (position, _) in of_workgroup() {
        if let Some(one) = windows.and_then(|windows| windows.get(position)) {
            window.source += one.source;
            window.kept += one.kept;
        }
    }
    Candidate {
        strategy: strategy.name(),
        overlap: strategy.overlap(),
        pairs: u32::try_from(of_workgroup().count()).unwrap_or(u32::MAX),
        window,
        usage: entry.usage,
        resident: entry.resident.clone(),
        resident_between: entry.resident_between,
        phase_cycles: PhaseCycles::of(strategy, options.target),
    }
}

/// The strategy to take and why. The first of `candidates` is `fused`; `None` without one.
fn decide(candidates: &[Candidate]) -> Option<(&'static str, Vec<String>)> {
    let (fused, others) = candidates.split_first()?;
    if let Some(alone) = others.iter().find(|c| c.overlap == Overlap::Everything) {
        let why = "no wave waits for another one".to_owned();
        return Some((alone.strategy, vec![why]));
    }
    let mut reasons = Vec::new();
    let mut best: Option<(i64, &Candidate)> = None;
    for split in others.iter().filter(|c| c.overlap == Overlap::Split) {
        match gain(split, fused) {
            Ok(gain) => {
                if best.is_none_or(|(most, _)| gain > most) {
                    best = Some((gain, split));
                }
            }
            Err(why) => reasons.push(format!("{}: {why}", split.strategy)),
        }
    }
    let Some((_, best)) = best else {
        if reasons.is_empty() {
            reasons.push("no strategy that splits fits".to_owned());
        }
        return Some((fused.strategy, reasons));
    };
    reasons.insert(0, format!("{}: {}", best.strategy, speaks_for(best, fused)));
    Some((best.strategy, reasons))
}

/// Twice the instructions of an average window that a phase leaves over, or why the split is worse
/// than `fused`.
fn gain(split: &Candidate, fused: &Candidate) -> Result<i64, String> {
    if let (Some(split), Some(fused)) = (&split.resident, &fused.resident)
        && split.workgroups < fused.workgroups
    {
        return Err(format!(
            "{} workgroups fit at once, {} with `fused`: {} allow no more",
            split.workgroups, fused.workgroups, split.bound
        ));
    }
    if let (Some([least, _]), Some([_, most])) = (split.resident_between, fused.resident_between)
        && least < most
    {
        return Err(format!(
            "registers are not known without ptxas: {least} workgroups or more fit at once, {most} or fewer with `fused`"
        ));
    }
    if split.window.kept == 0 {
        return Err("nothing is left in the window".to_owned());
    }
    let Some(cost) = split.phase_cycles else {
        return Err("what a phase costs on this GPU was not measured".to_owned());
    };
    let kept = i64::from(split.window.kept / split.pairs.max(1));
    if kept <= i64::from(cost.most) {
        return Err(format!(
            "instructions left in a window: {kept}, and a phase costs up to {} cycles",
            cost.most
        ));
    }
    Ok(2 * kept - i64::from(cost.least) - i64::from(cost.most))
}

/// What speaks for a split that is taken.
fn speaks_for(split: &Candidate, fused: &Candidate) -> String {
    let Window { source, kept } = split.window;
    let windows = if split.pairs == 1 {
        "window"
    } else {
        "windows"
    };
    let resident = match (&split.resident, split.resident_between, &fused.resident) {
        (Some(resident), _, Some(_)) => format!(", {} workgroups at once", resident.workgroups),
        (_, Some([least, _]), _) => format!(", {least} workgroups at once or more"),
        _ => ", registers are not known".to_owned(),
    };
    let least = split.phase_cycles.map_or(0, |cost| cost.most.max(0));
    format!(
        "{kept} of {source} instructions are left in {} {windows}{resident}; it pays where waves differ by more than {least} cycles",
        split.pairs
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn candidate(strategy: Strategy, kept: u32, workgroups: u32, cost: (i32, i32)) -> Candidate {
        let (least, most) = cost;
        Candidate {
            strategy: strategy.name(),
            overlap: strategy.overlap(),
            pairs: 1,
            window: Window { source: 128, kept },
            usage: None,
            resident: Some(Resident {
                workgroups,
                occupancy: 0.5,
                bound: "registers".to_owned(),
            }),
            resident_between: None,
            phase_cycles: Some(PhaseCycles { least, most }),
        }
    }

    fn choice(candidates: &[Candidate]) -> &'static str {
        decide(candidates).unwrap().0
    }

    #[test]
    fn occupancy_goes_first() {
        let fused = candidate(Strategy::Fused, 0, 4, (0, 0));
        let loses = candidate(Strategy::Mbarrier, 128, 2, (-6, 24));
        assert_eq!(choice(&[fused.clone(), loses.clone()]), "fused");
        let keeps = candidate(Strategy::Counter, 128, 4, (46, 82));
        assert_eq!(choice(&[fused.clone(), loses, keeps]), "counter");
        assert!(decide(&[fused]).unwrap().1[0].contains("no strategy"));
    }

    #[test]
    fn without_ptxas_the_worst_case_counts() {
        let between = |mut candidate: Candidate, workgroups| {
            candidate.resident = None;
            candidate.resident_between = Some(workgroups);
            candidate
        };
        let split = candidate(Strategy::Mbarrier, 128, 0, (-6, 24));
        let fused = between(candidate(Strategy::Fused, 0, 0, (0, 0)), [6, 8]);
        assert_eq!(
            choice(&[fused.clone(), between(split.clone(), [6, 8])]),
            "fused"
        );
        assert_eq!(choice(&[fused, between(split, [8, 8])]), "mbarrier");
    }

    #[test]
    fn the_window_has_to_be_worth_the_phase() {
        let fused = candidate(Strategy::Fused, 0, 4, (0, 0));
        let narrow = candidate(Strategy::Mbarrier, 24, 4, (-6, 24));
        assert_eq!(choice(&[fused.clone(), narrow]), "fused");
        let wide = candidate(Strategy::Mbarrier, 25, 4, (-6, 24));
        assert_eq!(choice(&[fused.clone(), wide.clone()]), "mbarrier");
        let mut unknown = wide.clone();
        unknown.phase_cycles = None;
        assert_eq!(choice(&[fused.clone(), unknown]), "fused");
        // Two pairs share the instructions.
        let mut pairs = wide;
        pairs.pairs = 2;
        assert_eq!(choice(&[fused, pairs]), "fused");
    }

    #[test]
    fn the_cheapest_of_equal_windows_is_taken() {
        let fused = candidate(Strategy::Fused, 0, 4, (0, 0));
        let named = candidate(Strategy::WarpNamed, 100, 4, (12, 40));
        let counter = candidate(Strategy::Counter, 100, 4, (46, 82));
        assert_eq!(choice(&[fused, counter, named]), "warp-named");
    }
}
