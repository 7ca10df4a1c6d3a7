//! The choice of `auto`: which barriers of a module are split, and which are full barriers.
//!
//! `fast` decides as the module is planned, by the windows in SPIR-V. `balanced` compiles it with
//! every barrier split. If something is left in a window, the module as it is given is compiled as
//! well, and the version that is expected to take fewer cycles is taken. If some windows have
//! something left and others are empty, the version that splits the first and not the others is
//! compiled in place of the first one. What comes out never loses workgroups to the module as it is
//! given.

use super::build::build;
use super::cost_model::{Barrier, BarrierKind, Known, SplitDecisions, barriers};
use super::entry::Entry;
use super::expected::{By, Expected, expected_times};
use super::output::Output;
use super::plan::{Chosen, Decisions, explain, plan};
use super::prepare::{Prepared, PreparedSlots, prepare};
use super::profile_sites::ProfileSites;
use super::recorder::{Artefacts, Recorder};
use super::request::{Extent, Request};
use super::source::Source;
use super::split::{KeepFull, Split, SplitModule, split};
use super::unsplit::Outcomes;
use super::weighing::Weighing;
use crate::failure::Failure;
use crate::options::{Choice, Options, SplitBarriers};
use crate::stage::Observer;
use crate::usage::{Resident, ResourceUsage};
use splitbar_passes::module::WordOffset;
use splitbar_plan::Strategy;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Gives the expected time of an entry point, by its position, of what was compiled, by a launch.
pub(crate) type Expect = fn(&Output, usize, By<'_>) -> Expected;

/// The version of a module that is taken.
pub(crate) struct Selected {
    /// Its module.
    pub(super) module: SelectedModule,
    /// The decisions about its barriers; `None` if nothing was compiled to decide.
    pub(super) decisions: Option<Decisions>,
    /// Why the module stays as it is given, where it does because a split version loses to it.
    pub(super) untouched: Option<String>,
    /// Its code; `None` where the plan alone has settled it.
    pub(super) output: Option<Output>,
}

/// The module of the version that is taken.
pub(super) enum SelectedModule {
    /// The first one that was looked at.
    First,
    /// This one, or the given one where that is `None`.
    Other(Option<Rc<SplitModule>>),
}

/// One version of the module, compiled and measured.
struct Compiled {
    output: Output,
    /// The artefacts of its stages.
    artefacts: Artefacts,
}

impl Compiled {
    /// The expected time of entry point number `entry`, by `expect` unless it is known: an entry
    /// point that does not come to a barrier by an earlier launch that is made up keeps its time.
    fn expect(&self, entry: usize, expect: Expect, by: By<'_>) -> Expected {
        let known = self.output.entries().get(entry);
        let known = known.and_then(|entry| entry.expected.clone());
        let is_of_it = |known: &Expected| match (by, known.made_up()) {
            (By::MadeUp(first), Some(number)) => first <= number,
            (By::MadeUp(_) | By::Given(_), _) => true,
        };
        let known = known.filter(is_of_it);
        known.unwrap_or_else(|| expect(&self.output, entry, by))
    }

    /// Notes the expected time of entry point number `entry`.
    fn note(&mut self, entry: usize, expected: &Expected) {
        if let Some(entry) = self.output.entries_mut().get_mut(entry) {
            entry.expected = Some(expected.clone());
        }
    }
}

/// How often a module is compiled with some barriers split and others not, in search of a choice
/// that its own windows bear out.
const MOST_ROUNDS: usize = 2;

/// Selects a version of the module `source`. The `first` one is that with every barrier split.
///
/// # Errors
/// As [`compile`](super::compile()), and that the profile comes from another target.
pub(super) fn select(
    source: &Source<'_>,
    first: &Prepared<'_>,
    sites: &ProfileSites,
    request: Request<'_>,
    expect: Expect,
    observer: &mut Recorder<'_>,
) -> Result<Selected, Failure> {
    if Weighing::from_options(request.options) != Weighing::ByCode {
        return Ok(Selected {
            module: SelectedModule::First,
            decisions: None,
            untouched: None,
            output: None,
        });
    }
    let measured = Options {
        measure: true,
        ..request.options.clone()
    };
    let full = Options {
        strategy: measured.strategy.or(Some(Strategy::Fused)),
        ..measured.clone()
    };
    let selector = Selector {
        source,
        first,
        first_artefacts: observer.take(),
        sites,
        request,
        expect,
        measured: &measured,
        full: &full,
        splits: Vec::new(),
        observer,
    };
    selector.select()
}

/// Compiles versions of a module, and compares them.
struct Selector<'s, 'w, 'o> {
    source: &'s Source<'w>,
    first: &'s Prepared<'w>,
    /// The artefacts of the stages up to `first`.
    first_artefacts: Artefacts,
    sites: &'s ProfileSites,
    request: Request<'s>,
    expect: Expect,
    /// The options by which versions are compiled.
    measured: &'s Options,
    /// The options by which versions with full barriers are compiled.
    full: &'s Options,
    /// The modules that were made by splitting, by what they keep full.
    splits: Vec<(KeepFull, Option<Rc<SplitModule>>)>,
    observer: &'s mut Recorder<'o>,
}

impl Selector<'_, '_, '_> {
    fn select(mut self) -> Result<Selected, Failure> {
        if let Some(decisions) = self.by_plan()? {
            let artefacts = std::mem::take(&mut self.first_artefacts);
            self.observer.show(artefacts);
            return Ok(Selected {
                module: SelectedModule::First,
                decisions: Some(decisions),
                untouched: None,
                output: None,
            });
        }
        let mut decisions = Decisions::new();
        let mut keep = KeepFull::None;
        let mut compiled = self.compile(&keep, &decisions)?;
        for entry in compiled.output.entries() {
            let decided = self.decide(entry)?;
            decisions.insert(entry.plan.entry.clone(), decided);
        }
        let mut untouched = None;
        self.compare(&mut decisions, &mut compiled, &mut untouched)?;
        let mut rounds = 0;
        // Once more if what is left loses after all.
        while any_split(&decisions) && any_full(&decisions) {
            rounds += 1;
            if rounds > MOST_ROUNDS {
                let why = "its window depends on splits of other barriers that save no cycles";
                give_up(&mut decisions, why);
                break;
            }
            keep = unsplit(&decisions);
            compiled = self.compile(&keep, &decisions)?;
            let is_narrower = self.decide_again(&mut decisions, &compiled)?;
            let loses = self.compare(&mut decisions, &mut compiled, &mut untouched)?;
            if !is_narrower && !loses {
                break;
            }
        }
        if !any_split(&decisions) && any_full(&decisions) {
            (keep, compiled) = match untouched.take() {
                Some(given) if !self.differs(&KeepFull::All)? => (KeepFull::Untouched, given),
                given => {
                    untouched = given;
                    let full = self.compile_full(&KeepFull::All, &decisions)?;
                    (KeepFull::All, full)
                }
            };
        }
        // Registers can be others with no split at all: barriers that order nothing have gone, and
        // narrow pairs have become barriers at other places.
        let mut loses = None;
        if self.may_lose(&compiled.output) && self.differs(&keep)? {
            let given = match untouched {
                Some(given) => given,
                None => self.compile_full(&KeepFull::Untouched, &decisions)?,
            };
            let why = lost(&compiled.output, &given.output).next();
            if let Some(why) = why {
                give_up(&mut decisions, &why);
                (keep, compiled) = (KeepFull::Untouched, given);
                loses = Some(why);
            }
        }
        self.selected(&keep, decisions, compiled, loses)
    }

    /// The selected version, with the measurements that the caller asked for.
    ///
    /// # Errors
    /// Why the module cannot be split; it was before.
    fn selected(
        mut self,
        keep: &KeepFull,
        decisions: Decisions,
        compiled: Compiled,
        untouched: Option<String>,
    ) -> Result<Selected, Failure> {
        let module = if self.is_first(keep) {
            SelectedModule::First
        } else {
            SelectedModule::Other(self.split(keep)?)
        };
        let Compiled {
            mut output,
            artefacts,
        } = compiled;
        self.observer.show(artefacts);
        for entry in output.entries_mut() {
            let decided = decisions.get(&entry.plan.entry);
            explain(&mut entry.plan, &entry.source_pairs, decided);
            entry.decisions = decided.cloned();
            let outcomes = Outcomes {
                entry: &entry.plan.entry,
                pairs: &entry.plan.pairs,
                source_pairs: &entry.source_pairs,
                decisions: decided,
                untouched: untouched.as_deref(),
                options: self.request.options,
            };
            entry.unsplit = outcomes.unsplit(self.first.fates.get(&entry.plan.function))?;
            if !self.request.options.measure {
                entry.forget_measurements();
            }
        }
        Ok(Selected {
            module,
            decisions: Some(decisions),
            untouched,
            output: Some(output),
        })
    }

    /// Where nothing stands in a window, or no strategy splits, nothing has to be compiled to know
    /// it. Barriers that nobody split have no windows yet.
    fn by_plan(&mut self) -> Result<Option<Decisions>, Failure> {
        let options = self.request.options;
        if options.split_barriers != SplitBarriers::Never {
            return Ok(None);
        }
        let fast = Options {
            choice: Choice::Fast,
            profile: None,
            ..options.clone()
        };
        let sites = ProfileSites::default();
        let planned = plan(self.first, Chosen::default(), &sites, &fast, &mut ())?;
        let decided = || {
            planned
                .kernels
                .iter()
                .filter_map(|one| one.decisions.as_ref())
        };
        let mut barriers = decided().flat_map(|entry| &entry.barriers);
        if barriers.any(|barrier| barrier.differs && barrier.operations > 0) {
            return Ok(None);
        }
        let mut decisions = Decisions::new();
        for kernel in &planned.kernels {
            self.sites.check(&kernel.plan).map_err(Failure::from)?;
            // Where no strategy splits, the planner says why.
            if let Some(decided) = kernel.decisions.as_ref().filter(|one| one.any_full()) {
                decisions.insert(kernel.plan.entry.clone(), decided.clone());
            }
        }
        Ok(Some(decisions))
    }

    /// Takes the figures of barriers that are split from `mixed`, where others are full barriers:
    /// windows may be narrower there. Whether one that is split in its code is not to be any more.
    fn decide_again(&self, decisions: &mut Decisions, mixed: &Compiled) -> Result<bool, Failure> {
        let mut any = false;
        for entry in mixed.output.entries() {
            let again = self.decide(entry)?;
            let Some(decided) = decisions.get_mut(&entry.plan.entry) else {
                continue; // every entry point was decided about
            };
            decided.split = again.split.clone();
            for barrier in decided.barriers.iter_mut().filter(|barrier| barrier.split) {
                match again.at(barrier.word) {
                    Some(now) => {
                        any |= !now.split;
                        *barrier = now.clone();
                    }
                    None => {
                        barrier.split = false;
                        barrier.reason =
                            "its window is too narrow if other barriers are not split".to_owned();
                    }
                }
            }
        }
        Ok(any)
    }

    /// Decides by windows about the barriers of an entry point that was compiled with all of them
    /// split.
    fn decide(&self, entry: &Entry) -> Result<SplitDecisions, Failure> {
        self.sites.check(&entry.plan).map_err(Failure::from)?;
        let known = Known {
            given: self.source.module(),
            sites: self.sites,
            options: self.request.options,
        };
        let windows = entry.final_windows();
        let barriers = barriers(&entry.plan, &entry.source_pairs, windows, known);
        Ok(SplitDecisions::new(entry.version(), barriers))
    }

    /// Gives up the splits of entry points that leave fewer workgroups at once than the module as
    /// it is given (`untouched`), or spill more, and of those that are not expected to be faster.
    /// Returns true if there was one.
    fn compare(
        &mut self,
        decisions: &mut Decisions,
        compiled: &mut Compiled,
        untouched: &mut Option<Compiled>,
    ) -> Result<bool, Failure> {
        if !any_split(decisions) {
            return Ok(false);
        }
        let mut decided = decisions.values();
        if !decided.any(SplitDecisions::depends_on_cycles) && !self.may_lose(&compiled.output) {
            return Ok(false);
        }
        let given = match untouched {
            Some(given) => given,
            None => untouched.insert(self.compile_full(&KeepFull::Untouched, decisions)?),
        };
        let expect = self.expect;
        let by = By::from_options(self.request.options);
        let mut any = false;
        for index in 0..compiled.output.entries().len() {
            let entries = compiled.output.entries();
            let Some(name) = entries.get(index).map(|entry| entry.plan.entry.clone()) else {
                continue; // there are so many
            };
            let Some(decided) = decisions.get_mut(&name) else {
                continue; // every entry point was decided about
            };
            let version = |of: &Compiled| {
                let entry = of.output.entries().get(index);
                entry.map(Entry::version).unwrap_or_default()
            };
            // A launch says how many workgroups run, and what they cost.
            let loses = match by {
                By::Given(_) => None,
                By::MadeUp(_) => version(compiled).loses_to(&version(given)),
            };
            let verdict = match loses {
                Some(why) => Err(why),
                None if decided.depends_on_cycles() => {
                    let versions = [&*compiled, &*given];
                    let found =
                        expected_times(&versions, by, |one, by| one.expect(index, expect, by));
                    let [own, full] = found.as_slice() else {
                        continue; // of two versions
                    };
                    compiled.note(index, own);
                    given.note(index, full);
                    own.beats(full)
                }
                None => Ok(String::new()),
            };
            decided.split = version(compiled);
            decided.full = Some(version(given));
            match verdict {
                Ok(why) => decided.because(&why),
                Err(why) if decided.any_split() => {
                    decided.give_up(&why);
                    any = true;
                }
                Err(_) => {}
            }
        }
        Ok(any)
    }

    /// Whether the module as it is given might leave more workgroups at once than an entry point of
    /// `output` has, or spill less, as far as that can be told. Where a launch decides, that is
    /// part of its time.
    fn may_lose(&self, output: &Output) -> bool {
        let entries = match self.request.options.deciding_launch() {
            Some(_) => &[],
            None => output.entries(),
        };
        entries.iter().any(|entry| {
            let version = entry.version();
            version.can_be_compared()
                && (version.workgroups() < self.most_workgroups(entry) || version.spills())
        })
    }

    /// The workgroups that a unit can hold of the kernel at most, whatever its registers are.
    fn most_workgroups(&self, entry: &Entry) -> Option<u32> {
        let least = ResourceUsage {
            registers: 1,
            barriers: 1,
            shared_memory_bytes: entry.abi.static_shared_bytes(),
            spilled_bytes: 0,
        };
        let resident = Resident::estimate(least, &entry.plan, self.request.options.target)?;
        Some(resident.workgroups)
    }

    /// Compiles the version that keeps these barriers full, with the strategies that were decided.
    fn compile(&mut self, keep: &KeepFull, decisions: &Decisions) -> Result<Compiled, Failure> {
        self.compile_with(keep, decisions, self.request.with(self.measured))
    }

    /// Compiles the version with full barriers: [`KeepFull::All`] or [`KeepFull::Untouched`].
    /// Only its resource usage is measured, unless the caller uses more of the measurements.
    fn compile_full(
        &mut self,
        keep: &KeepFull,
        decisions: &Decisions,
    ) -> Result<Compiled, Failure> {
        let options = self.request.options;
        let is_seen =
            options.measure || options.audit || options.lines || self.observer.wants_artefacts();
        let extent = if is_seen {
            Extent::Whole
        } else {
            Extent::Usage
        };
        let request = self.request.with(self.full).measuring(extent);
        self.compile_with(keep, decisions, request)
    }

    fn compile_with(
        &mut self,
        keep: &KeepFull,
        decisions: &Decisions,
        request: Request<'_>,
    ) -> Result<Compiled, Failure> {
        let options = request.options;
        let is_first = self.is_first(keep);
        let slots = PreparedSlots::default();
        let own;
        let prepared = if is_first {
            self.first
        } else {
            let split = Split {
                module: self.split(keep)?,
                fates: Rc::clone(&self.first.fates),
            };
            own = prepare(&slots, self.source, split, options, self.observer)?;
            &own
        };
        let chosen = Chosen {
            decisions: Some(decisions),
            untouched: None,
            is_trial: true,
        };
        let candidate = plan(prepared, chosen, self.sites, options, self.observer)?;
        let output = build(candidate, request, self.observer)?;
        let mut artefacts = if is_first {
            self.first_artefacts.clone()
        } else {
            Artefacts::new()
        };
        artefacts.append(&mut self.observer.take());
        Ok(Compiled { output, artefacts })
    }

    /// Returns true if the module that keeps these barriers full is the first one.
    fn is_first(&self, keep: &KeepFull) -> bool {
        *keep == KeepFull::None || self.request.options.split_barriers == SplitBarriers::Never
    }

    /// The module with all barriers split but those of `keep`.
    fn split(&mut self, keep: &KeepFull) -> Result<Option<Rc<SplitModule>>, Failure> {
        if let Some((_, known)) = self.splits.iter().find(|(of, _)| of == keep) {
            return Ok(known.clone());
        }
        let made = split(self.source, keep, self.request.options, self.observer)?.module;
        self.splits.push((keep.clone(), made.clone()));
        Ok(made)
    }

    /// Returns true if the module that keeps these barriers full differs from the given one.
    fn differs(&mut self, keep: &KeepFull) -> Result<bool, Failure> {
        if self.request.options.split_barriers == SplitBarriers::Never
            || *keep == KeepFull::Untouched
        {
            return Ok(false);
        }
        let [kept, given] = [self.split(keep)?, self.split(&KeepFull::Untouched)?];
        let [kept, given] = [&kept, &given].map(|split| {
            let split = split.as_ref()?;
            Some(split.edited.module.words())
        });
        Ok(kept != given)
    }
}

fn any_split(decisions: &Decisions) -> bool {
    decisions.values().any(SplitDecisions::any_split)
}

fn any_full(decisions: &Decisions) -> bool {
    decisions.values().any(SplitDecisions::any_full)
}

/// Decides for full barriers everywhere, since `why`.
fn give_up(decisions: &mut Decisions, why: &str) {
    decisions.values_mut().for_each(|entry| entry.give_up(why));
}

/// The OpControlBarriers that no entry point splits.
fn unsplit(decisions: &Decisions) -> KeepFull {
    let barriers = || decisions.values().flat_map(|entry| &entry.barriers);
    let split: BTreeSet<WordOffset> = barriers()
        .filter(|barrier| barrier.split)
        .map(|barrier| barrier.word)
        .collect();
    let full = |barrier: &&Barrier| barrier.kind == BarrierKind::Full;
    let words = barriers().filter(full).map(|barrier| barrier.word);
    KeepFull::Only(words.filter(|word| !split.contains(word)).collect())
}

/// Why `output` loses to `given`, for each entry point that does.
fn lost<'o>(output: &'o Output, given: &'o Output) -> impl Iterator<Item = String> + 'o {
    let pairs = output.entries().iter().zip(given.entries());
    pairs.filter_map(|(entry, given)| entry.version().loses_to(&given.version()))
}
