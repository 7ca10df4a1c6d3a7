//! The sum that leads to a choice: what is known of a barrier that is split, beside what a full
//! barrier is.
//!
//! A barrier is a candidate for a split if something is left in its window in the final code. Which
//! candidates are split is decided by the expected cycles of whole versions (`expected.rs`), if no
//! workgroups are lost that fill each other's waits. Where a profile says how much waves differ in
//! time, a barrier is split if the window hides more than the phase costs. Where nothing is
//! compiled, its window in SPIR-V must have as many instructions as the target's row requires.

use super::expected::Expected;
use super::places::PlanPlaces;
use super::prepare::SourcePair;
use super::profile_sites::ProfileSites;
use crate::options::Options;
use crate::usage::{Resident, ResidentEstimate, ResourceUsage};
use crate::window::Window;
use serde::Serialize;
use spirv::Op;
use splitbar_passes::module::{Module, Scope, WordOffset};
use splitbar_passes::profile::Site;
use splitbar_plan::{EntryPlan, Overlap, PhaseCycles, Strategy, Target, min_window};
use std::collections::BTreeMap;

/// The kind of a barrier instruction of the given module.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum BarrierKind {
    /// OpControlBarrier.
    Full,
    /// An arrive with its wait.
    Pair,
}

/// The decision about one barrier of the workgroup, and the figures behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Barrier {
    /// Word offset, in the module that was given, of the OpControlBarrier or of the pair's first
    /// arrive.
    pub word: WordOffset,
    /// The kind of that instruction.
    pub kind: BarrierKind,
    /// The strategy that was weighed against a full barrier.
    pub strategy: &'static str,
    /// True if the barrier is split by `strategy`.
    pub split: bool,
    /// Instructions of SPIR-V in the window that compute, read or write.
    pub operations: u32,
    /// The window in machine code; `None` where nothing was compiled.
    pub window: Option<Window>,
    /// Instructions that must be left in a window so that it pays on the target; `None` where none
    /// is known to.
    pub min_window: Option<u32>,
    /// Cycles that a phase costs beside a full barrier; `None` where it was not measured.
    pub phase_cycles: Option<PhaseCycles>,
    /// The median of the time by which waves differ, from a profile.
    pub skew: Option<u64>,
    /// The gain of a phase, in cycles; negative for a loss.
    pub gain: Option<i64>,
    /// Why it is split or not.
    pub reason: String,
    /// True if a full barrier is different code from the one that `strategy` gives.
    #[serde(skip)]
    pub(crate) differs: bool,
    /// True if waves wait for each other with `strategy`.
    #[serde(skip)]
    pub(crate) waits: bool,
}

impl Barrier {
    /// Returns true if it is split and only cycles tell whether that gains: waves wait at it, and
    /// no profile has measured it.
    fn depends_on_cycles(&self) -> bool {
        self.split && self.waits && self.skew.is_none()
    }
}

/// The resources of a kernel in one version.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Version {
    /// Registers and workgroup memory; `None` on NVIDIA GPUs without ptxas.
    #[serde(rename = "resource_usage")]
    pub usage: Option<ResourceUsage>,
    /// The workgroups that are resident on a unit.
    pub resident: Option<Resident>,
    /// The bounds on their number without ptxas.
    pub resident_between: Option<[u32; 2]>,
    /// An estimate of their number if `resident` is `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resident_estimate: Option<ResidentEstimate>,
    /// The expected time; `None` if no choice depended on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
}

/// The two versions of an entry point, and what was decided about each of its barriers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SplitDecisions {
    /// With every barrier split that can be.
    pub split: Version,
    /// With full barriers; `None` where nothing depended on it.
    pub full: Option<Version>,
    /// The barriers, by their words.
    pub barriers: Vec<Barrier>,
}

/// The facts that decide about one barrier.
#[derive(Copy, Clone, Debug)]
pub(crate) struct BarrierFacts<'f> {
    pub(crate) strategy: Strategy,
    pub(crate) operations: u32,
    pub(crate) window: Option<Window>,
    /// The pair goes around a loop.
    pub(crate) rotated: bool,
    /// Its measurements in a profile.
    pub(crate) site: Option<&'f Site>,
}

impl BarrierFacts<'_> {
    /// Decides about the barrier at `word`.
    pub(crate) fn decide(self, word: WordOffset, kind: BarrierKind, target: &Target) -> Barrier {
        let mut barrier = Barrier {
            word,
            kind,
            strategy: self.strategy.name(),
            split: false,
            operations: self.operations,
            window: self.window,
            min_window: match self.window {
                Some(_) => None, // its code has cycles
                None => min_window(self.strategy, target, self.rotated),
            },
            phase_cycles: PhaseCycles::estimate(self.strategy, target),
            skew: self.site.and_then(|site| Some(site.skew?.median)),
            gain: None,
            reason: String::new(),
            differs: self.strategy.is_split() || kind == BarrierKind::Full,
            waits: self.strategy.overlap() == Overlap::Split,
        };
        let outcome = match (self.strategy.overlap(), barrier.skew) {
            (Overlap::Everything, _) => Ok("no wave waits for another one".to_owned()),
            (Overlap::Nothing, _) => Err("no strategy can split it".to_owned()),
            (Overlap::Split, Some(skew)) => self.by_skew(&mut barrier, skew, target),
            (Overlap::Split, None) => self.by_window(&barrier),
        };
        barrier.split = outcome.is_ok();
        let (Ok(why) | Err(why)) = outcome;
        barrier.reason = why;
        barrier
    }

    /// What is left in the window, and the same in words.
    fn left(&self) -> Result<(u32, String), String> {
        match self.window {
            Some(Window { kept: 0, .. }) => Err("the window is empty in the final code".to_owned()),
            None if self.operations == 0 => Err("the window is empty".to_owned()),
            Some(Window { source, kept }) => Ok((
                kept,
                format!("instructions left in the window: {kept} of {source}"),
            )),
            None => Ok((
                self.operations,
                format!("SPIR-V instructions in the window: {}", self.operations),
            )),
        }
    }

    fn by_window(&self, barrier: &Barrier) -> Result<String, String> {
        let (left, words) = self.left()?;
        if self.window.is_some() {
            return Ok(words);
        }
        let Some(least) = barrier.min_window else {
            return Err("no window size is known to be worth a split on this GPU".to_owned());
        };
        if left < least {
            return Err(format!("{words}, and {least} are needed"));
        }
        Ok(match barrier.phase_cycles {
            Some(cost) => format!(
                "{words}, and {least} are needed; a split saves time if the waves arrive more than {} cycles apart",
                cost.max.max(0)
            ),
            None => format!("{words}, and {least} are needed"),
        })
    }

    fn by_skew(&self, barrier: &mut Barrier, skew: u64, target: &Target) -> Result<String, String> {
        let (left, words) = self.left()?;
        let Some(cost) = barrier.phase_cycles else {
            return Err("the cost of an arrive and a wait on this GPU was not measured".to_owned());
        };
        let felt = skew.saturating_sub(u64::from(target.barrier_cycles));
        let hidden = felt.min(u64::from(left));
        let gain = i64::try_from(hidden).unwrap_or(i64::MAX) - i64::from(cost.max);
        barrier.gain = Some(gain);
        let sum = format!(
            "{words}; the waves arrive {skew} cycles apart, and a full barrier takes {} cycles; the window hides {hidden}, and an arrive and a wait cost up to {}",
            target.barrier_cycles, cost.max
        );
        match gain {
            1.. => Ok(format!("{sum}: gain {gain}")),
            _ => Err(format!("{sum}: no gain")),
        }
    }
}

impl Version {
    /// Bytes of registers that a thread stores to memory, where that is known.
    fn spilled(&self) -> u32 {
        self.usage.map_or(0, |usage| usage.spilled_bytes)
    }

    /// Returns true if registers are spilled.
    pub(crate) fn spills(&self) -> bool {
        self.spilled() > 0
    }

    /// Why this one holds fewer workgroups at once than `full`, if it may, or spills more.
    pub(crate) fn loses_to(&self, full: &Version) -> Option<String> {
        self.holds_fewer_than(full).or_else(|| {
            let [split, full] = [self.spilled(), full.spilled()];
            (split > full)
                .then(|| format!("spilled bytes of registers: {split}, and {full} with `fused`"))
        })
    }

    fn holds_fewer_than(&self, full: &Version) -> Option<String> {
        match (&self.resident, &full.resident) {
            (Some(split), Some(full)) if split.workgroups < full.workgroups => Some(format!(
                "resident workgroups: {}, and {} with `fused`; limited by {}",
                split.workgroups, full.workgroups, split.limiter
            )),
            (Some(_), Some(_)) => None,
            _ => self.holds_fewer_by_estimate(full),
        }
    }

    /// The same without ptxas. Both estimates have the same error, so that they tell more than the
    /// bounds.
    fn holds_fewer_by_estimate(&self, full: &Version) -> Option<String> {
        let estimates = (&self.resident_estimate, &full.resident_estimate);
        if let (Some(split), Some(full)) = estimates {
            let [split, full] = [split.workgroups, full.workgroups];
            return (split < full).then(|| {
                format!("about {split} resident workgroups, and about {full} with `fused`")
            });
        }
        match (self.resident_between, full.resident_between) {
            (Some([least, _]), Some([_, most])) if least < most => Some(format!(
                "registers are unknown without ptxas: at least {least} workgroups are resident, and at most {most} with `fused`"
            )),
            _ => None,
        }
    }

    /// Whether fewer workgroups than with full barriers can be told at all.
    pub(crate) fn can_be_compared(&self) -> bool {
        self.resident.is_some() || self.resident_between.is_some()
    }

    /// How many workgroups fit at once, surely.
    pub(crate) fn workgroups(&self) -> Option<u32> {
        match (&self.resident, self.resident_between) {
            (Some(resident), _) => Some(resident.workgroups),
            (None, between) => between.map(|[least, _]| least),
        }
    }

    /// Registers and workgroups, as reasons say them.
    fn words(&self) -> String {
        let registers = match (self.usage, &self.resident_estimate) {
            (Some(usage), _) => format!("{} registers", usage.registers),
            (None, Some(estimate)) => format!("about {} registers", estimate.registers),
            (None, None) => "registers unknown".to_owned(),
        };
        match (&self.resident, self.resident_between) {
            (Some(resident), _) => {
                format!("{registers}, {} resident workgroups", resident.workgroups)
            }
            (None, Some([least, most])) => {
                format!("{registers}, {least} to {most} resident workgroups")
            }
            (None, None) => match &self.resident_estimate {
                Some(estimate) => {
                    format!(
                        "{registers}, about {} resident workgroups",
                        estimate.workgroups
                    )
                }
                None => registers,
            },
        }
    }
}

impl SplitDecisions {
    /// Returns true if a barrier is split.
    pub(crate) fn any_split(&self) -> bool {
        self.barriers.iter().any(|barrier| barrier.split)
    }

    /// Whether a barrier is not split, and would be other code if it were.
    pub(crate) fn any_full(&self) -> bool {
        let mut barriers = self.barriers.iter();
        barriers.any(|barrier| !barrier.split && barrier.differs)
    }

    /// Returns true if a barrier is split whose gain only cycles tell.
    pub(crate) fn depends_on_cycles(&self) -> bool {
        self.barriers.iter().any(Barrier::depends_on_cycles)
    }

    /// Adds `why` to the reasons of what is split.
    pub(crate) fn because(&mut self, why: &str) {
        let barriers = self.barriers.iter_mut();
        for barrier in barriers.filter(|barrier| barrier.depends_on_cycles()) {
            barrier.reason = format!("{}; {why}", barrier.reason);
        }
    }

    /// Decides for full barriers, since `why`.
    pub(crate) fn give_up(&mut self, why: &str) {
        for barrier in self.barriers.iter_mut().filter(|barrier| barrier.split) {
            barrier.split = false;
            why.clone_into(&mut barrier.reason);
        }
    }

    /// The decision about the barrier at `word`.
    pub(crate) fn at(&self, word: WordOffset) -> Option<&Barrier> {
        self.barriers.iter().find(|barrier| barrier.word == word)
    }

    /// Several pairs of one word (copies of an inlined function) are one barrier, which is split if
    /// all of them are worth it.
    pub(crate) fn new(
        split: Version,
        barriers: impl IntoIterator<Item = Barrier>,
    ) -> SplitDecisions {
        let mut by_word: BTreeMap<WordOffset, Barrier> = BTreeMap::new();
        for barrier in barriers {
            let known = by_word.entry(barrier.word).or_insert(barrier.clone());
            if known.split && !barrier.split {
                *known = barrier;
            }
        }
        SplitDecisions {
            split,
            full: None,
            barriers: by_word.into_values().collect(),
        }
    }

    /// Why the pair at `word` has its strategy: the decision with both versions of the kernel.
    pub(crate) fn reason(&self, word: WordOffset) -> Option<String> {
        let barrier = self.at(word)?;
        let full = self.full.as_ref().map(Version::words);
        let full = match full {
            Some(full) if full == self.split.words() => ", as with `fused`".to_owned(),
            Some(full) => format!(", {full} with `fused`"),
            None => String::new(),
        };
        let versions = match self.split {
            Version {
                usage: None,
                resident: None,
                resident_between: None,
                ..
            } => String::new(),
            _ => format!(" ({}{full})", self.split.words()),
        };
        Some(format!(
            "{}: {}{versions}",
            barrier.strategy, barrier.reason
        ))
    }

    /// The lines that a plan shows: one for each barrier whose reason is not among those that its
    /// pairs have `said`.
    pub(crate) fn lines(&self, said: &[&str], places: &PlanPlaces) -> Vec<String> {
        let line = |barrier: &Barrier| {
            let reason = self.reason(barrier.word)?;
            let what = match barrier.kind {
                BarrierKind::Full => "barrier",
                BarrierKind::Pair => "pair",
            };
            let outcome = if barrier.split {
                "split"
            } else {
                "a full barrier"
            };
            let is_new = !said.contains(&reason.as_str());
            let place = places.text(barrier.word);
            is_new.then(|| format!("{what} at {place}: {outcome}, {reason}"))
        };
        self.barriers.iter().filter_map(line).collect()
    }
}

/// The kind of the barrier at `word` of the given module.
fn kind(module: &Module<'_>, word: WordOffset) -> BarrierKind {
    match module.at(word).and_then(|inst| inst.op()) {
        Some(Op::ControlBarrier) => BarrierKind::Full,
        _ => BarrierKind::Pair,
    }
}

/// The inputs of a decision besides the plan and the windows.
#[derive(Copy, Clone)]
pub(crate) struct Known<'k> {
    /// The module that people know.
    pub(crate) given: &'k Module<'k>,
    /// The profile's measurements of its barriers.
    pub(crate) sites: &'k ProfileSites,
    /// The caller's options.
    pub(crate) options: &'k Options,
}

/// Decides about the pairs of the workgroup of one entry point, by their windows in machine code,
/// in the order of the plan's pairs, or else in SPIR-V.
pub(crate) fn barriers(
    plan: &EntryPlan,
    source_pairs: &[SourcePair],
    windows: Option<&[Window]>,
    known: Known<'_>,
) -> Vec<Barrier> {
    let Known {
        given,
        sites,
        options,
    } = known;
    let mut barriers = Vec::new();
    for (position, (pair, source)) in plan.pairs.iter().zip(source_pairs).enumerate() {
        let (Scope::Workgroup, Some(word)) = (pair.scope, source.word()) else {
            continue;
        };
        let kind = kind(given, word);
        let mut words = source.words.iter();
        if kind == BarrierKind::Pair && options.strategy.is_some()
            || words.any(|word| options.full_barriers.contains(word))
        {
            continue; // the caller has said what becomes of it
        }
        let facts = BarrierFacts {
            strategy: pair.strategy,
            operations: source.operations,
            window: windows.and_then(|windows| windows.get(position)).copied(),
            rotated: pair.arrives.len() > 1 || pair.waits.len() > 1,
            site: sites.at(word),
        };
        barriers.push(facts.decide(word, kind, options.target));
    }
    barriers
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use splitbar_passes::profile::{Distribution, SiteKind};

    fn decide(target: &str, strategy: Strategy, kept: u32, rotated: bool) -> Barrier {
        let facts = BarrierFacts {
            strategy,
            operations: 99,
            window: Some(Window { source: 128, kept }),
            rotated,
            site: None,
        };
        facts.decide(
            WordOffset::new(7),
            BarrierKind::Pair,
            Target::by_name(target).unwrap(),
        )
    }

    fn version(workgroups: u32) -> Version {
        Version {
            resident: Some(Resident {
                workgroups,
                occupancy: 0.5,
                limiter: "registers".to_owned(),
            }),
            ..Version::default()
        }
    }

    #[test]
    fn something_is_left_in_a_window_of_code() {
        for (target, strategy) in [
            ("gfx1201", Strategy::Native),
            ("sm_90", Strategy::Mbarrier),
            ("sm_75", Strategy::WarpNamed),
            ("sm_90", Strategy::Counter),
        ] {
            let one = decide(target, strategy, 1, true);
            assert!(one.split && one.min_window.is_none(), "{target}");
            let decisions = SplitDecisions::new(version(2), [one]);
            assert!(decisions.depends_on_cycles(), "{target}");
        }
        let none = decide("gfx1201", Strategy::Native, 0, false);
        assert_eq!(none.reason, "the window is empty in the final code");
        let fused = decide("gfx1100", Strategy::Fused, 100, false);
        assert!(!fused.split && fused.reason.contains("no strategy"));
        let alone = decide("gfx1100", Strategy::SingleWave, 0, false);
        assert!(alone.split);
        assert!(!SplitDecisions::new(version(2), [none, fused, alone]).depends_on_cycles());
    }

    #[test]
    fn without_code_the_instructions_of_the_module_count() {
        let on = |operations| {
            let facts = BarrierFacts {
                strategy: Strategy::Native,
                operations,
                window: None,
                rotated: false,
                site: None,
            };
            facts.decide(
                WordOffset::new(0),
                BarrierKind::Full,
                Target::by_name("gfx1201").unwrap(),
            )
        };
        assert!(on(8).split && !on(7).split);
        assert_eq!(on(8).min_window, Some(8));
        assert_eq!(on(0).reason, "the window is empty");
    }

    #[test]
    fn a_profile_goes_before_the_threshold() {
        let with = |strategy, kept, skew| {
            let site = Site {
                kind: SiteKind::Split,
                arrive: WordOffset::new(7),
                wait: WordOffset::new(9),
                subgroups: 4,
                phases: 1,
                incomplete: 0,
                contradictory: 0,
                skew: Distribution::from_values(vec![skew]),
                window: None,
                waiting: None,
            };
            let facts = BarrierFacts {
                strategy,
                operations: 99,
                window: Some(Window { source: 128, kept }),
                rotated: false,
                site: Some(&site),
            };
            facts.decide(
                WordOffset::new(7),
                BarrierKind::Pair,
                Target::by_name("sm_90").unwrap(),
            )
        };
        // A barrier takes 20 cycles, and a phase up to 24.
        assert_eq!(with(Strategy::Mbarrier, 100, 44).gain, Some(0));
        assert!(!with(Strategy::Mbarrier, 100, 44).split);
        assert_eq!(with(Strategy::Mbarrier, 100, 45).gain, Some(1));
        assert!(with(Strategy::Mbarrier, 100, 45).split);
        // The window bounds the gain, below the threshold too.
        assert_eq!(with(Strategy::Mbarrier, 30, 4000).gain, Some(6));
        assert!(with(Strategy::Mbarrier, 30, 4000).split);
        assert!(!with(Strategy::Mbarrier, 24, 4000).split);
        assert!(!with(Strategy::Mbarrier, 0, 4000).split);
        assert_eq!(with(Strategy::Mbarrier, 100, 3).gain, Some(-24));
        // Where skew is known a counter may pay.
        assert!(with(Strategy::Counter, 200, 4000).split);
        assert!(!with(Strategy::Cluster, 200, 4000).split);
        assert_eq!(with(Strategy::Mbarrier, 100, u64::MAX).gain, Some(76));
    }

    #[test]
    fn occupancy_goes_first() {
        let lost = version(2).loses_to(&version(4)).unwrap();
        assert!(lost.contains("2, and 4 with `fused`; limited by registers"));
        assert_eq!(version(4).loses_to(&version(4)), None);
        let between = |workgroups| Version {
            resident_between: Some(workgroups),
            ..Version::default()
        };
        assert!(between([6, 8]).loses_to(&between([6, 8])).is_some());
        assert_eq!(between([8, 8]).loses_to(&between([6, 8])), None);
        assert_eq!(Version::default().loses_to(&version(4)), None);
        let wide = decide("gfx1201", Strategy::Native, 100, false);
        let mut decisions = SplitDecisions::new(version(2), [wide]);
        assert!(decisions.any_split());
        decisions.give_up(&lost);
        assert!(!decisions.any_split());
        assert!(
            decisions
                .reason(WordOffset::new(7))
                .unwrap()
                .starts_with("native: resident workgroups")
        );
    }

    #[test]
    fn copies_of_a_function_are_decided_together() {
        let wide = decide("gfx1201", Strategy::Native, 100, false);
        let narrow = decide("gfx1201", Strategy::Native, 0, false);
        let both = SplitDecisions::new(version(2), [wide.clone(), narrow]);
        assert!(!both.any_split() && both.barriers.len() == 1);
        let other = Barrier {
            word: WordOffset::new(8),
            ..wide.clone()
        };
        assert_eq!(
            SplitDecisions::new(version(2), [other, wide])
                .barriers
                .len(),
            2
        );
    }
}
