//! What each strategy costs a kernel on a GPU, and which one to take.
//!
//! The module is compiled once with each strategy that fits, with every barrier split. The same
//! figures count as for the choice of `auto` (`weigh.rs`), which has one strategy that splits to
//! decide about.

use crate::compile::{
    Barrier, Entry, Known, Output, ProfileSites, Source, SourceSlots, Version, barriers,
};
use crate::compiler::Compiler;
use crate::failure::Failure;
use crate::options::{Choice, Options, SplitBarriers};
use crate::window::Window;
use serde::Serialize;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::Scope;
use splitbar_plan::{Overlap, PhaseCycles, Strategy};

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
    #[serde(rename = "wavefront_size")]
    pub wave_size: u32,
    /// What was compiled, `fused` first.
    pub candidates: Vec<Candidate>,
    /// What the target has and this kernel cannot take.
    pub refused: Vec<Refused>,
    /// The strategy to take.
    pub choice: &'static str,
    /// Why.
    pub reasons: Vec<String>,
    /// What a simulator finds faster than the choice, by more than 2 %; `None` where nothing is, or
    /// nothing was estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faster: Option<Faster>,
}

/// How much of its cycles a strategy saves at least to be called faster: estimates that are closer
/// do not tell strategies apart.
const NOTABLE: f64 = 0.02;

/// A strategy whose estimate is better than that of the choice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Faster {
    /// Its name.
    pub strategy: &'static str,
    /// Its cycles over those of the choice, less than 1.
    pub of_choice: f64,
}

/// What a simulator of time says of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimated {
    /// Cycles from the first workgroup's start to the last one's end.
    Cycles(u64),
    /// Why there is no estimate.
    Refused(String),
}

/// Estimates the launch of an entry point, by its position, of what was compiled.
pub type Estimator<'e> = &'e mut dyn FnMut(&Output, usize) -> Estimated;

/// A strategy that fits.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    /// Its name.
    pub strategy: &'static str,
    /// Whether waves overlap between arrive and wait.
    #[serde(skip)]
    pub overlap: Overlap,
    /// Instructions of all windows together: those of machine code where it was measured.
    pub window: Window,
    /// Its barriers, and which of them are worth it.
    pub barriers: Vec<Barrier>,
    /// What the kernel takes, and how many workgroups are resident at once.
    #[serde(flatten)]
    pub version: Version,
    /// What a phase costs; `None` where it was not measured.
    pub phase_cycles: Option<PhaseCycles>,
    /// How long a launch takes; `None` where no estimate was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimated>,
}

/// A strategy that does not fit.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    /// Its name.
    pub strategy: &'static str,
    /// Why.
    pub reason: String,
}

/// Compiles `bytes` with each strategy and advises one for each entry point that has pairs of
/// execution scope Workgroup. `options` say the rest; their strategy does not matter. An
/// `estimator` is asked for the time of each strategy that fits.
///
/// # Errors
/// As [`Compiler::compile`] with the strategy `fused`, or with another one for a reason that lies
/// not in the strategy.
pub fn advise(
    bytes: &[u8],
    options: &Options,
    mut estimator: Option<Estimator<'_>>,
) -> Result<(Vec<Advice>, Diagnostics), Failure> {
    let slots = SourceSlots::default();
    let (spec, size) = (&options.spec, options.workgroup_size);
    let source = Source::read(&slots, bytes, spec, size, &mut ())?;
    let sites = ProfileSites::read(options, &source)?;
    let known = Known {
        given: source.module(),
        sites: &sites,
        options,
    };
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
                reason: failure.of_strategy().ok_or(failure)?,
            }),
        }
    }
    for entry in fused.entries() {
        sites.check(&entry.plan).map_err(Failure::from)?;
    }
    let mut warnings = fused.warnings().clone();
    warnings.extend(sites.doubts.clone());
    outputs.insert(0, (Strategy::Fused, fused));
    let entries = outputs
        .first()
        .map_or(0, |(_, output)| output.entries().len());
    let mut all = Vec::new();
    for index in 0..entries {
        let of = outputs
            .iter()
            .filter_map(|(strategy, output)| Some((*strategy, output.entries().get(index)?)));
        let of: Vec<_> = of.collect();
        let Some(mut advice) = entry(&of, refused.clone(), known) else {
            continue; // without pairs there is nothing to choose
        };
        if let Some(estimator) = estimator.as_mut() {
            for (candidate, (_, output)) in advice.candidates.iter_mut().zip(&outputs) {
                candidate.estimate = Some(estimator(output, index));
            }
            advice.faster = faster(advice.choice, &advice.candidates);
        }
        all.push(advice);
    }
    Ok((all, warnings))
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
        profile: None,
        split_barriers: match options.split_barriers {
            SplitBarriers::Never => SplitBarriers::Never,
            SplitBarriers::Auto | SplitBarriers::Always => SplitBarriers::Always,
        },
        ..options.clone()
    };
    Compiler::new(&options).compile(bytes)
}

/// Waves of a workgroup, where its size is known.
fn waves(entry: &Entry) -> Option<u32> {
    entry.plan.workgroup_size.map(|[x, y, z]| {
        let invocations = u64::from(x) * u64::from(y) * u64::from(z);
        let waves = invocations.div_ceil(u64::from(entry.plan.wave_size));
        u32::try_from(waves).unwrap_or(u32::MAX)
    })
}

/// The advice for one entry point, compiled with each strategy; `None` if it has no pairs.
fn entry(
    compiled: &[(Strategy, &Entry)],
    refused: Vec<Refused>,
    known: Known<'_>,
) -> Option<Advice> {
    let plan = &compiled.first()?.1.plan;
    let waves = waves(compiled.first()?.1);
    let candidates: Vec<Candidate> = compiled
        .iter()
        .map(|(strategy, entry)| candidate(*strategy, entry, known))
        .collect();
    if candidates.first()?.barriers.is_empty() {
        return None;
    }
    let (choice, reasons) = decide(&candidates)?;
    Some(Advice {
        entry: plan.entry.clone(),
        target: known.options.target.name,
        waves,
        wave_size: plan.wave_size,
        choice,
        reasons,
        candidates,
        refused,
        faster: None,
    })
}

/// What is estimated to be faster than `choice`, the fastest of it.
#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn faster(choice: &str, candidates: &[Candidate]) -> Option<Faster> {
    let estimates = candidates.iter().filter_map(|candidate| {
        let Some(Estimated::Cycles(cycles)) = candidate.estimate else {
            return None;
        };
        Some((cycles, candidate.strategy))
    });
    let (chosen, _) = estimates.clone().find(|(_, name)| *name == choice)?;
    let (least, strategy) = estimates.min_by_key(|(cycles, _)| *cycles)?;
    let of_choice = least.max(1) as f64 / chosen.max(1) as f64;
    (of_choice < 1.0 - NOTABLE).then_some(Faster {
        strategy,
        of_choice,
    })
}

fn candidate(strategy: Strategy, entry: &Entry, known: Known<'_>) -> Candidate {
    let windows = entry.final_windows();
    let barriers = barriers(&entry.plan, &entry.source_pairs, windows, known);
    let mut window = Window { source: 0, kept: 0 };
    for one in barriers.iter().filter_map(|barrier| barrier.window) {
        window.source += one.source;
        window.kept += one.kept;
    }
    Candidate {
        strategy: strategy.name(),
        overlap: strategy.overlap(),
        window,
        barriers,
        version: entry.version(),
        phase_cycles: PhaseCycles::estimate(strategy, known.options.target),
        estimate: None,
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
    let mut best: Option<(Score, &Candidate)> = None;
    for split in others.iter().filter(|c| c.overlap == Overlap::Split) {
        match split.score(fused) {
            Ok(score) => {
                if best.is_none_or(|(most, _)| score > most) {
                    best = Some((score, split));
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
    reasons.insert(0, format!("{}: {}", best.strategy, best.speaks_for()));
    Some((best.strategy, reasons))
}

/// How good a split is: whether its cost is known, and twice what its windows leave over.
type Score = (bool, i64);

impl Candidate {
    /// The barriers that are worth it.
    fn worth(&self) -> impl Iterator<Item = &Barrier> {
        self.barriers.iter().filter(|barrier| barrier.split)
    }

    /// How good it is, or why it is worse than `fused`.
    fn score(&self, fused: &Candidate) -> Result<Score, String> {
        if let Some(lost) = self.version.loses_to(&fused.version) {
            return Err(lost);
        }
        let left = |barrier: &Barrier| {
            let window = barrier
                .window
                .map_or(barrier.operations, |window| window.kept);
            let cost = barrier.phase_cycles.map_or(0, |cost| cost.min + cost.max);
            2 * i64::from(window) - i64::from(cost)
        };
        if self.worth().next().is_none() {
            let widest = self.barriers.iter().max_by_key(|barrier| left(barrier));
            return Err(widest.map_or_else(String::new, |widest| widest.reason.clone()));
        }
        Ok((self.phase_cycles.is_some(), self.worth().map(left).sum()))
    }

    /// What speaks for it.
    fn speaks_for(&self) -> String {
        let why: Vec<&str> = self
            .worth()
            .map(|barrier| barrier.reason.as_str())
            .collect();
        let first = why.first().copied().unwrap_or_default();
        match self.barriers.len() {
            1 => first.to_owned(),
            all => format!("{} of {all} barriers; {first}", why.len()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::compile::{BarrierFacts, BarrierKind};
    use crate::usage::Resident;
    use splitbar_passes::module::WordOffset;
    use splitbar_plan::Target;

    fn candidate(strategy: Strategy, kept: u32, workgroups: u32) -> Candidate {
        let target = Target::by_name("sm_80").unwrap();
        let window = Window { source: 128, kept };
        let facts = BarrierFacts {
            strategy,
            operations: kept,
            window: Some(window),
            rotated: false,
            site: None,
        };
        Candidate {
            strategy: strategy.name(),
            overlap: strategy.overlap(),
            window,
            barriers: vec![facts.decide(WordOffset::new(5), BarrierKind::Pair, target)],
            version: Version {
                resident: Some(Resident {
                    workgroups,
                    occupancy: 0.5,
                    limiter: "registers".to_owned(),
                }),
                ..Version::default()
            },
            phase_cycles: PhaseCycles::estimate(strategy, target),
            estimate: None,
        }
    }

    #[test]
    fn a_difference_in_time_is_said_from_two_percent_on() {
        let with = |strategy, cycles: Option<u64>| Candidate {
            estimate: Some(match cycles {
                Some(cycles) => Estimated::Cycles(cycles),
                None => Estimated::Refused(String::new()),
            }),
            ..candidate(strategy, 128, 4)
        };
        for (fused, mbarrier, choice, expected) in [
            (Some(1000), Some(970), "fused", Some("mbarrier")),
            (Some(1000), Some(985), "fused", None),
            (Some(1000), Some(970), "mbarrier", None),
            (Some(970), Some(1000), "mbarrier", Some("fused")),
            (None, Some(970), "fused", None),
            (Some(1000), None, "fused", None),
            (Some(0), Some(0), "fused", None),
        ] {
            let all = [
                with(Strategy::Fused, fused),
                with(Strategy::Mbarrier, mbarrier),
            ];
            let found = faster(choice, &all).map(|faster| faster.strategy);
            assert_eq!(found, expected, "{fused:?} {mbarrier:?} {choice}");
        }
    }

    fn choice(candidates: &[Candidate]) -> &'static str {
        decide(candidates).unwrap().0
    }

    #[test]
    fn occupancy_goes_first() {
        let fused = candidate(Strategy::Fused, 0, 4);
        let loses = candidate(Strategy::Mbarrier, 128, 2);
        assert_eq!(choice(&[fused.clone(), loses.clone()]), "fused");
        let keeps = candidate(Strategy::WarpNamed, 128, 4);
        assert_eq!(choice(&[fused.clone(), loses, keeps]), "warp-named");
        assert!(decide(&[fused]).unwrap().1[0].contains("no strategy"));
    }

    #[test]
    fn a_window_has_to_pay() {
        let fused = candidate(Strategy::Fused, 0, 4);
        let narrow = candidate(Strategy::Mbarrier, 63, 4);
        assert_eq!(choice(&[fused.clone(), narrow.clone()]), "fused");
        let wide = candidate(Strategy::Mbarrier, 64, 4);
        assert_eq!(choice(&[fused.clone(), wide.clone()]), "mbarrier");
        let counter = candidate(Strategy::Counter, 128, 4);
        assert_eq!(choice(&[fused.clone(), counter]), "fused");
        // One of two barriers is enough.
        let mut both = wide;
        both.barriers.extend(narrow.barriers);
        let (name, reasons) = decide(&[fused, both]).unwrap();
        assert_eq!(name, "mbarrier");
        assert!(reasons[0].starts_with("mbarrier: 1 of 2 barriers"));
    }

    #[test]
    fn the_cheapest_of_equal_windows_is_taken() {
        let fused = candidate(Strategy::Fused, 0, 4);
        let named = candidate(Strategy::WarpNamed, 100, 4);
        let mbarrier = candidate(Strategy::Mbarrier, 100, 4);
        assert_eq!(choice(&[fused, mbarrier, named]), "warp-named");
    }
}
