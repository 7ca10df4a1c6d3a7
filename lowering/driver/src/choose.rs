//! The choice of `auto`: which barriers of a module are split, and which are full barriers.
//!
//! `fast` decides as the module is planned, by the windows in SPIR-V. `balanced` compiles it with
//! every barrier split, and once more as it is given where the first compilation leaves open which
//! version holds more workgroups at once, or spills less: a version at the most that a unit can
//! hold loses nothing, and one without a window that pays is not taken anyway. If some barriers are
//! worth it and others are not, what comes out is compiled as well. What comes out never loses
//! workgroups to the module as it is given.

use crate::failure::Failure;
use crate::options::{Choice, Options, SplitBarriers};
use crate::output::{Entry, Output};
use crate::pipeline::compile;
use crate::prepare::{first, plan};
use crate::split::split;
use crate::usage::{Resident, Usage};
use crate::weigh::{Barrier, BarrierKind, Facts, Version, Weighed, Written};
use crate::window::Window;
use spirv::Op;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::{Declarations, Module, Scope, WordOffset};
use splitbar_passes::profile::{Gpu, Profile, Site};
use splitbar_plan::{EntryPlan, Strategy, Target};
use std::collections::{BTreeMap, BTreeSet};

/// What was chosen for a module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chosen {
    /// What is known of each entry point, by its name.
    pub(crate) entries: BTreeMap<String, Weighed>,
    /// The OpControlBarriers that are not split.
    pub(crate) left: Left,
    /// What should be looked at in the profile that it goes by.
    pub(crate) doubts: Diagnostics,
}

/// OpControlBarriers that are not split though others are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Left {
    /// All are split.
    #[default]
    None,
    /// None is.
    All,
    /// None is, and those that order nothing stay too.
    Given,
    /// Those at these words of the given module are not.
    These(BTreeSet<WordOffset>),
}

/// What a profile says.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    /// By word of an arrive or OpControlBarrier.
    by_word: BTreeMap<WordOffset, Site>,
    /// What it was recorded on.
    gpu: Option<Gpu>,
    /// That it does not say what it was recorded on.
    pub(crate) doubts: Diagnostics,
}

impl Sites {
    /// What it says of the barrier at `word`.
    pub(crate) fn at(&self, word: WordOffset) -> Option<&Site> {
        self.by_word.get(&word)
    }

    fn of(profile: Profile) -> Sites {
        let mut sites = Sites {
            gpu: profile.gpu,
            ..Sites::default()
        };
        if profile.gpu.is_none() {
            sites.doubts.push(
                Diagnostic::warning(
                    Code::ProfileWithoutTarget,
                    "the profile does not say on which target it was recorded",
                )
                .because("clocks of one GPU say little about another one")
                .help("name the target when the module is instrumented"),
            );
        }
        for site in profile.sites {
            let word = site.arrive;
            // An arrive with several waits: what was measured most often.
            let known = sites.by_word.entry(word).or_insert_with(|| site.clone());
            if known.phases < site.phases {
                *known = site;
            }
        }
        sites
    }

    /// That the profile was recorded on the target of `plan`, with waves as many and as large as
    /// those that the kernel has there.
    ///
    /// # Errors
    /// `ProfileTarget`.
    pub(crate) fn check(&self, plan: &EntryPlan) -> Result<(), Diagnostic> {
        let foreign = |why| {
            Diagnostic::error(
                Code::ProfileTarget,
                "the profile was recorded on another target",
            )
            .because(why)
            .help("record a profile on the target that the code is for, with its wave size")
        };
        let name = Target::by_name(plan.target).map_or(plan.target, Target::gpu);
        if let Some(gpu) = self.gpu
            && (gpu.name().as_str(), gpu.wave_size()) != (name, plan.wave_size)
        {
            return Err(foreign(format!(
                "it comes from {gpu}, and {} is compiled for {name}, waves of {}",
                plan.entry, plan.wave_size
            )));
        }
        let Some([x, y, z]) = plan.workgroup_size else {
            return Ok(());
        };
        let invocations = u64::from(x) * u64::from(y) * u64::from(z);
        let subgroups = invocations.div_ceil(u64::from(plan.subgroup_size));
        let mut sites = self.by_word.values();
        match sites.find(|site| u64::from(site.subgroups) != subgroups) {
            None => Ok(()),
            Some(site) => Err(foreign(format!(
                "workgroups had {} subgroups there, and those of {} on {} have {subgroups}",
                site.subgroups, plan.entry, plan.target
            ))
            .at_word(site.arrive)),
        }
    }
}

/// What came of the choice.
pub(crate) struct Settled {
    /// The options with what was chosen.
    pub(crate) options: Options,
    /// The module compiled by them, measured; `None` where the plan alone has settled it.
    pub(crate) output: Option<Output>,
}

/// How barriers are weighed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Weighing {
    /// Not at all: the options say it, or it was done before.
    Done,
    /// By the plan.
    ByPlan,
    /// By compiling.
    ByCode,
}

impl Chosen {
    fn any_split(&self) -> bool {
        self.entries.values().any(Weighed::any_split)
    }

    fn any_full(&self) -> bool {
        self.entries.values().any(Weighed::any_full)
    }

    /// Decides for full barriers everywhere, since `why`.
    fn give_up(&mut self, why: &str) {
        self.entries
            .values_mut()
            .for_each(|entry| entry.give_up(why));
    }
}

impl Options {
    /// How barriers are weighed.
    pub(crate) fn weighing(&self) -> Weighing {
        let names_strategy = self.strategy.is_some();
        let gates = self.split_barriers == SplitBarriers::Auto;
        if self.chosen.is_some() || names_strategy && !gates {
            return Weighing::Done;
        }
        match self.choice {
            Choice::Fast => Weighing::ByPlan,
            Choice::AlwaysSplit if !gates && self.profile.is_none() => Weighing::Done,
            Choice::AlwaysSplit | Choice::Balanced => Weighing::ByCode,
        }
    }

    /// What the profile says of the module in `bytes`, by word.
    ///
    /// # Errors
    /// As [`Profile::read`] and [`Profile::check`].
    pub(crate) fn sites(&self, declarations: &Declarations<'_>) -> Result<Sites, Diagnostics> {
        let Some(dump) = &self.profile else {
            return Ok(Sites::default());
        };
        let profile = Profile::read(dump)?;
        profile.check(declarations)?;
        Ok(Sites::of(profile))
    }
}

/// Chooses for the module in `bytes`; `None` where the options leave nothing to choose by code.
///
/// # Errors
/// As [`compile`], and what is wrong with the profile.
pub(crate) fn settle(bytes: &[u8], options: &Options) -> Result<Option<Settled>, Failure> {
    if options.weighing() != Weighing::ByCode {
        return Ok(None);
    }
    let module = first(bytes)?;
    let mut problems = Diagnostics::new();
    let declarations = Declarations::of(&module, &mut problems);
    let sites = options.sites(&declarations).map_err(Failure::from)?;
    let judge = Judge {
        bytes,
        module: &module,
        options,
        sites,
    };
    judge.settle().map(Some)
}

/// How often a module is compiled with some barriers split and others not, in search of a choice
/// that its own windows bear out.
const MOST_ROUNDS: usize = 2;

impl Settled {
    /// The output, as `asked` wants it; else, where stages are to be shown or the code audited, the
    /// options to compile it by once more.
    pub(crate) fn reuse(self, asked: &Options, shows_stages: bool) -> Result<Output, Box<Options>> {
        if shows_stages || asked.audit {
            return Err(Box::new(self.options));
        }
        let Some(mut output) = self.output else {
            return Err(Box::new(self.options));
        };
        if !asked.measure {
            for entry in &mut output.entries {
                entry.windows = None;
                entry.machine_windows = None;
                entry.usage = None;
                entry.resident = None;
                entry.resident_between = None;
            }
        }
        Ok(output)
    }
}

struct Judge<'j> {
    bytes: &'j [u8],
    module: &'j Module<'j>,
    options: &'j Options,
    sites: Sites,
}

impl Judge<'_> {
    /// Where nothing stands in a window, or no strategy splits, nothing has to be compiled to know
    /// it. Barriers that nobody split have no windows yet.
    fn by_plan(&self) -> Result<Option<Chosen>, Failure> {
        if self.options.split_barriers != SplitBarriers::Never {
            return Ok(None);
        }
        let options = Options {
            choice: Choice::Fast,
            profile: None,
            ..self.options.clone()
        };
        let planned = plan(self.bytes, &options, &mut ())?;
        let weighed = || planned.weighed.iter().flatten();
        let barriers = || weighed().flat_map(|entry| &entry.barriers);
        if barriers().any(|barrier| barrier.differs && barrier.operations > 0) {
            return Ok(None);
        }
        let mut chosen = Chosen::default();
        for (plan, weighed) in planned.plans.iter().zip(&planned.weighed) {
            self.sites.check(plan).map_err(Failure::from)?;
            // Where no strategy splits, the planner says why.
            let weighed = weighed.iter().filter(|one| one.any_full());
            let named = weighed.map(|one| (plan.entry.clone(), one.clone()));
            chosen.entries.extend(named);
        }
        Ok(Some(chosen))
    }

    fn settle(&self) -> Result<Settled, Failure> {
        if let Some(chosen) = self.by_plan()? {
            return Ok(Settled {
                options: self.with(chosen),
                output: None,
            });
        }
        let mut output = self.compiled(Chosen::default())?;
        let mut chosen = Chosen::default();
        for entry in output.entries() {
            let weighed = self.weigh(entry)?;
            chosen.entries.insert(entry.plan.entry.clone(), weighed);
        }
        let mut given = None;
        self.compare(&mut chosen, &output, &mut given)?;
        let mut rounds = 0;
        // Once more if what is left loses after all.
        while chosen.any_split() && chosen.any_full() {
            rounds += 1;
            if rounds > MOST_ROUNDS {
                let why = "its window depends on barriers that are not worth it";
                chosen.give_up(why);
                break;
            }
            chosen.left = self.left(&chosen);
            output = self.compiled(chosen.clone())?;
            let is_narrower = self.weigh_again(&mut chosen, &output)?;
            let loses = self.compare(&mut chosen, &output, &mut given)?;
            if !is_narrower && !loses {
                break;
            }
        }
        if !chosen.any_split() && chosen.any_full() {
            (chosen.left, output) = match given.take() {
                Some(as_given) if !self.differs(&Left::All)? => (Left::Given, as_given),
                as_given => {
                    given = as_given;
                    (Left::All, self.unsplit(&chosen, Left::All)?)
                }
            };
        }
        // Registers can be others with no split at all: barriers that order nothing have gone, and
        // narrow pairs have become barriers at other places.
        if self.may_lose(&output) && self.differs(&chosen.left)? {
            let as_given = match given {
                Some(as_given) => as_given,
                None => self.unsplit(&chosen, Left::Given)?,
            };
            let why = lost(&output, &as_given).next();
            if let Some(why) = why {
                chosen.give_up(&why);
                (chosen.left, output) = (Left::Given, as_given);
            }
        }
        explain(&mut output, &chosen);
        Ok(Settled {
            options: self.with(chosen),
            output: Some(output),
        })
    }

    /// Takes the figures of barriers that are split from `mixed`, where others are full barriers:
    /// windows may be narrower there. Whether one that is split in its code is not to be any more.
    fn weigh_again(&self, chosen: &mut Chosen, mixed: &Output) -> Result<bool, Failure> {
        let mut any = false;
        for entry in mixed.entries() {
            let again = self.weigh(entry)?;
            let Some(weighed) = chosen.entries.get_mut(&entry.plan.entry) else {
                continue; // every entry point was weighed
            };
            weighed.split = again.split.clone();
            for barrier in weighed.barriers.iter_mut().filter(|barrier| barrier.split) {
                match again.at(barrier.word) {
                    Some(now) => {
                        any |= !now.split;
                        *barrier = now.clone();
                    }
                    None => {
                        barrier.split = false;
                        barrier.why = "beside barriers that are not split its window is too narrow"
                            .to_owned();
                    }
                }
            }
        }
        Ok(any)
    }

    /// Decides by windows about the barriers of an entry point that was compiled with all of them
    /// split.
    fn weigh(&self, entry: &Entry) -> Result<Weighed, Failure> {
        let windows = entry.machine_windows.as_ref().or(entry.windows.as_ref());
        self.sites.check(&entry.plan).map_err(Failure::from)?;
        let windows = windows.map(Vec::as_slice);
        let known = (&self.sites, self.options);
        let barriers = barriers(&entry.plan, &entry.written, windows, known, |word| {
            kind(self.module, word)
        });
        Ok(Weighed::of(Version::of(entry), barriers))
    }

    /// Gives up the splits of entry points that leave fewer workgroups at once than the module as
    /// it is `given`, or spill more; whether there was one.
    fn compare(
        &self,
        chosen: &mut Chosen,
        output: &Output,
        given: &mut Option<Output>,
    ) -> Result<bool, Failure> {
        if !chosen.any_split() || !self.may_lose(output) {
            return Ok(false);
        }
        let given = match given {
            Some(given) => given,
            None => given.insert(self.unsplit(chosen, Left::Given)?),
        };
        let mut any = false;
        for (entry, given) in output.entries().iter().zip(given.entries()) {
            let Some(weighed) = chosen.entries.get_mut(&entry.plan.entry) else {
                continue; // every entry point was weighed
            };
            let given = Version::of(given);
            let lost = Version::of(entry).loses_to(&given);
            weighed.full = Some(given);
            if let (true, Some(why)) = (weighed.any_split(), lost) {
                weighed.give_up(&why);
                any = true;
            }
        }
        Ok(any)
    }

    /// Whether the module as it is given might leave more workgroups at once than an entry point of
    /// `output` has, or spill less, as far as that can be told.
    fn may_lose(&self, output: &Output) -> bool {
        output.entries().iter().any(|entry| {
            let version = Version::of(entry);
            version.can_be_compared()
                && (version.workgroups() < self.most_workgroups(entry) || version.spills())
        })
    }

    /// The workgroups that a unit can hold of the kernel at most, whatever its registers are.
    fn most_workgroups(&self, entry: &Entry) -> Option<u32> {
        let least = Usage {
            registers: 1,
            barriers: 1,
            shared_memory_bytes: entry.abi.static_shared_bytes(),
            spilled_bytes: 0,
        };
        let resident = Resident::of(least, &entry.plan, self.options.target)?;
        Some(resident.workgroups)
    }

    /// The OpControlBarriers that no entry point splits.
    fn left(&self, chosen: &Chosen) -> Left {
        let barriers = || chosen.entries.values().flat_map(|entry| &entry.barriers);
        let split: BTreeSet<WordOffset> = barriers()
            .filter(|barrier| barrier.split)
            .map(|barrier| barrier.word)
            .collect();
        let words = barriers()
            .filter(|barrier| barrier.kind == BarrierKind::Full)
            .map(|barrier| barrier.word)
            .filter(|word| !split.contains(word));
        Left::These(words.collect())
    }

    /// The options that lead to what was chosen without asking again.
    fn with(&self, chosen: Chosen) -> Options {
        Options {
            split_barriers: match self.options.split_barriers {
                SplitBarriers::Never => SplitBarriers::Never,
                SplitBarriers::Auto | SplitBarriers::Always => SplitBarriers::Always,
            },
            profile: None,
            chosen: Some(Chosen {
                doubts: self.sites.doubts.clone(),
                ..chosen
            }),
            ..self.options.clone()
        }
    }

    fn compiled(&self, chosen: Chosen) -> Result<Output, Failure> {
        let options = Options {
            measure: true,
            audit: false,
            ..self.with(chosen)
        };
        compile(self.bytes, &options)
    }

    /// The module with full barriers: `Left::All` or `Left::Given`.
    fn unsplit(&self, chosen: &Chosen, left: Left) -> Result<Output, Failure> {
        let mut options = Options {
            measure: true,
            audit: false,
            ..self.with(Chosen {
                entries: chosen.entries.clone(),
                left,
                ..Chosen::default()
            })
        };
        if self.options.strategy.is_none() {
            options.strategy = Some(Strategy::Fused);
        }
        compile(self.bytes, &options)
    }

    /// Whether the module with `left` unsplit is another one than the one that is given.
    fn differs(&self, left: &Left) -> Result<bool, Failure> {
        if self.options.split_barriers == SplitBarriers::Never {
            return Ok(false);
        }
        let module = |left: &Left| -> Result<_, Failure> {
            let options = self.with(Chosen {
                left: left.clone(),
                ..Chosen::default()
            });
            let split = split(self.module, &options)?;
            Ok(split.map(|split| split.edited.module.to_bytes()))
        };
        Ok(*left != Left::Given && module(left)? != module(&Left::Given)?)
    }
}

/// Why `output` loses to `given`, for each entry point that does.
fn lost<'o>(output: &'o Output, given: &'o Output) -> impl Iterator<Item = String> + 'o {
    let pairs = output.entries().iter().zip(given.entries());
    pairs.filter_map(|(entry, given)| Version::of(entry).loses_to(&Version::of(given)))
}

/// Has the output say what was decided.
fn explain(output: &mut Output, chosen: &Chosen) {
    for entry in &mut output.entries {
        let weighed = chosen.entries.get(&entry.plan.entry);
        explain_plan(&mut entry.plan, &entry.written, weighed);
        entry.weighed = weighed.cloned();
    }
}

/// The reasons of the pairs of one plan.
pub(crate) fn explain_plan(plan: &mut EntryPlan, written: &[Written], weighed: Option<&Weighed>) {
    for (pair, written) in plan.pairs.iter_mut().zip(written) {
        let word = written.word();
        let reason = word.and_then(|word| weighed?.reason(word));
        if let (Scope::Workgroup, Some(reason)) = (pair.scope, reason) {
            pair.reason = reason;
        }
    }
}

/// What stands at `word` of the given module.
pub(crate) fn kind(module: &Module<'_>, word: WordOffset) -> BarrierKind {
    match module.at(word).and_then(|inst| inst.op()) {
        Some(Op::ControlBarrier) => BarrierKind::Full,
        _ => BarrierKind::Pair,
    }
}

/// Decides about the pairs of the workgroup of one entry point, by their windows in machine code,
/// in the order of the plan's pairs, or else in SPIR-V.
pub(crate) fn barriers(
    plan: &EntryPlan,
    written: &[Written],
    windows: Option<&[Window]>,
    (sites, options): (&Sites, &Options),
    kind: impl Fn(WordOffset) -> BarrierKind,
) -> Vec<Barrier> {
    let mut barriers = Vec::new();
    for (position, (pair, written)) in plan.pairs.iter().zip(written).enumerate() {
        let (Scope::Workgroup, Some(word)) = (pair.scope, written.word()) else {
            continue;
        };
        let kind = kind(word);
        let mut words = written.words.iter();
        if kind == BarrierKind::Pair && options.strategy.is_some()
            || words.any(|word| options.full_barriers.contains(word))
        {
            continue; // the caller has said what becomes of it
        }
        let facts = Facts {
            strategy: pair.strategy,
            operations: written.operations,
            window: windows.and_then(|windows| windows.get(position)).copied(),
            rotated: pair.arrives.len() > 1 || pair.waits.len() > 1,
            site: sites.at(word),
        };
        barriers.push(facts.weigh(word, kind, options.target));
    }
    barriers
}
