//! Advice on entry points with pairs that people wrote.
//!
//! The module is compiled once with each strategy that fits, with every barrier split. The same
//! expected cycles count as for the choice of `auto`, which has one strategy that splits to decide
//! about.

use super::advice::{Advice, Candidate, Estimator, Refused};
use super::strategies::{Compiled, candidate, waves};
use crate::compile::{Barrier, By, Entry, Expected, Known, Output, expected_times};
use crate::expect::expect;
use crate::failure::Failure;
use crate::options::Options;
use splitbar_plan::{Overlap, Strategy};

/// The advice on each entry point with pairs of the workgroup, beside its position. `fused` is the
/// module with full barriers. An `estimator` is asked for the time of each strategy.
///
/// # Errors
/// As [`Compiled::with_each`].
pub(super) fn written(
    bytes: &[u8],
    options: &Options,
    fused: &Output,
    known: Known<'_>,
    estimator: &mut Option<Estimator<'_>>,
) -> Result<Vec<(usize, Advice)>, Failure> {
    let Compiled { outputs, refused } = Compiled::with_each(bytes, options)?;
    let full = std::iter::once((Strategy::Fused, fused));
    let others = outputs.iter().map(|(strategy, output)| (*strategy, output));
    let outputs: Vec<(Strategy, &Output)> = full.chain(others).collect();
    let mut all = Vec::new();
    for index in 0..fused.entries().len() {
        let of = outputs
            .iter()
            .filter_map(|(strategy, output)| Some((*strategy, output.entries().get(index)?)));
        let of: Vec<_> = of.collect();
        let expected = || {
            let by = By::from_options(options);
            expected_times(&outputs, by, |(_, output), by| expect(output, index, by))
        };
        let Some(mut advice) = entry(&of, refused.clone(), known, &expected) else {
            continue; // without pairs there is nothing to choose
        };
        if let Some(estimator) = estimator.as_mut() {
            let code = outputs.iter().map(|(_, output)| *output);
            advice.estimate(index, code, estimator);
        }
        all.push((index, advice));
    }
    Ok(all)
}

/// The advice for one entry point, compiled with each strategy; `None` if it has no pairs.
/// `expected` gives the time of each version.
fn entry(
    compiled: &[(Strategy, &Entry)],
    refused: Vec<Refused>,
    known: Known<'_>,
    expected: &dyn Fn() -> Vec<Expected>,
) -> Option<Advice> {
    let plan = &compiled.first()?.1.plan;
    let waves = waves(compiled.first()?.1);
    let mut candidates: Vec<Candidate> = compiled
        .iter()
        .map(|(strategy, entry)| candidate(*strategy, entry, known))
        .collect();
    if candidates.first()?.barriers.is_empty() {
        return None;
    }
    if candidates.iter().any(Candidate::depends_on_cycles) {
        for (candidate, expected) in candidates.iter_mut().zip(expected()) {
            candidate.version.expected = Some(expected);
        }
    }
    let (choice, reasons) = decide(&candidates)?;
    Some(Advice {
        entry: plan.entry.clone(),
        target: known.options.target.name,
        waves,
        wave_size: plan.wave_size,
        split_barriers: known.options.split_barriers.name(),
        choice,
        reasons,
        candidates,
        refused,
        unsplit: compiled.first()?.1.unsplit.clone(),
        places: compiled.first()?.1.places.clone(),
        improvements: Vec::new(),
        faster: None,
    })
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
            reasons.push("no strategy can split it".to_owned());
        }
        return Some((fused.strategy, reasons));
    };
    reasons.insert(0, format!("{}: {}", best.strategy, best.speaks_for(fused)));
    Some((best.strategy, reasons))
}

/// How good a split is.
#[derive(Copy, Clone, Debug, PartialEq, PartialOrd)]
enum Score {
    /// By a profile: whether its cost is known, and twice what its windows leave over.
    Measured(bool, i64),
    /// The part of the cycles of full barriers that it saves.
    Expected(f64),
}

impl Candidate {
    /// The barriers that are worth it.
    fn worth(&self) -> impl Iterator<Item = &Barrier> {
        self.barriers.iter().filter(|barrier| barrier.split)
    }

    /// Returns true if only cycles tell whether it gains.
    fn depends_on_cycles(&self) -> bool {
        let waits = self.overlap == Overlap::Split;
        waits && self.worth().next().is_some() && self.worth().all(|one| one.skew.is_none())
    }

    /// How good it is, or why it is worse than `fused`.
    fn score(&self, fused: &Candidate) -> Result<Score, String> {
        if let Some(lost) = self.version.loses_to(&fused.version) {
            return Err(lost);
        }
        if self.depends_on_cycles() {
            let versions = [self, fused].map(|one| one.version.expected.as_ref());
            let [Some(own), Some(full)] = versions else {
                return Err("its time is unknown".to_owned());
            };
            own.beats(full)?;
            return Ok(Score::Expected(1.0 - own.over(full).unwrap_or(1.0)));
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
        let left = self.worth().map(left).sum();
        Ok(Score::Measured(self.phase_cycles.is_some(), left))
    }

    /// The reasons for it and against `fused`.
    fn speaks_for(&self, fused: &Candidate) -> String {
        let why: Vec<&str> = self
            .worth()
            .map(|barrier| barrier.reason.as_str())
            .collect();
        let first = why.first().copied().unwrap_or_default();
        let versions = [self, fused].map(|one| one.version.expected.as_ref());
        let first = match versions {
            [Some(own), Some(full)] => match own.beats(full) {
                Ok(cycles) => format!("{first}; {cycles}"),
                Err(_) => first.to_owned(),
            },
            _ => first.to_owned(),
        };
        match self.barriers.len() {
            1 => first,
            all => format!("{} of {all} barriers; {first}", why.len()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::advise::advice::{Estimated, faster};
    use crate::compile::{BarrierFacts, BarrierKind, ExpectedCycles, Version};
    use crate::usage::Resident;
    use crate::window::Window;
    use splitbar_passes::module::WordOffset;
    use splitbar_plan::{PhaseCycles, Target};

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
            of_full: None,
        }
    }

    #[test]
    fn a_difference_in_time_is_said_from_two_percent_on() {
        let with = |strategy, cycles: Option<u64>| Candidate {
            estimate: Some(match cycles {
                Some(cycles) => Estimated::Cycles {
                    cycles,
                    range: None,
                    resident: 1,
                },
                None => Estimated::Refused {
                    refused: String::new(),
                },
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

    fn expected(cycles: u64) -> Option<Expected> {
        Some(Expected::Cycles(ExpectedCycles {
            cycles,
            workgroups: 4,
            resident: 4,
            complete: true,
            progress: Vec::new(),
            made_up: None,
            splits_for_free: false,
        }))
    }

    fn timed(strategy: Strategy, cycles: u64) -> Candidate {
        let mut timed = candidate(strategy, 128, 4);
        timed.version.expected = expected(cycles);
        timed
    }

    #[test]
    fn the_fastest_is_taken() {
        let fused = timed(Strategy::Fused, 1000);
        let slow = timed(Strategy::Mbarrier, 985);
        let (name, reasons) = decide(&[fused.clone(), slow.clone()]).unwrap();
        assert_eq!(name, "fused");
        let why = "mbarrier: expected cycles: 985, and 1000 with full barriers (-1.5 %)";
        assert_eq!(reasons, [why]);
        let named = timed(Strategy::WarpNamed, 960);
        let group = timed(Strategy::GroupNamed, 940);
        let all = [fused.clone(), slow, named, group.clone()];
        assert_eq!(choice(&all), "group-named");
        let unknown = candidate(Strategy::Mbarrier, 128, 4);
        let (name, reasons) = decide(&[fused.clone(), unknown]).unwrap();
        assert_eq!(name, "fused");
        assert_eq!(reasons, ["mbarrier: its time is unknown"]);
        // One of two barriers is enough.
        let mut both = group;
        let empty = candidate(Strategy::GroupNamed, 0, 4);
        both.barriers.extend(empty.barriers.clone());
        let (name, reasons) = decide(&[fused.clone(), both]).unwrap();
        assert_eq!(name, "group-named");
        let start = "group-named: 1 of 2 barriers; instructions left in the window: 128 of 128; expected cycles: 940";
        assert!(reasons[0].starts_with(start), "{reasons:?}");
        let (name, reasons) = decide(&[fused.clone(), empty]).unwrap();
        assert_eq!(name, "fused");
        assert_eq!(
            reasons,
            ["group-named: the window is empty in the final code"]
        );
        assert!(decide(&[fused]).unwrap().1[0].contains("no strategy"));
    }
}
