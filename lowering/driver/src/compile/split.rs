//! Narrows and splits barriers. Those that keep only accesses of one wave apart become barriers of
//! the subgroup (`narrow.rs`).
//!
//! Splits the barriers that nobody split: OpControlBarriers that order nothing go, of the others
//! each becomes a pair, its halves move apart, and pairs whose window stays small become barriers
//! again. Those that were found not to be worth it stay as they are. Where the options ask for
//! that, loops are unrolled and their loads staged first, and other instructions come between the
//! halves.

use super::fates::{Fate, Fates, ORDERS_NOTHING, executed, too_narrow, why_left};
use super::motion::BarrierMotion;
use super::narrow::{OF_ONE_WAVE, may_narrow, narrowing, was_of_workgroup};
use super::source::Source;
use super::weighing::Weighing;
use crate::failure::Failure;
use crate::options::{NarrowBarriers, Options, PipelineLoops, SplitBarriers};
use crate::stage::{Observer, Stage};
use spirv::Op;
use splitbar_passes::analysis::pairing::Pairing;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::{
    Constants, Declarations, Inst, Module, Scope, SpecValues, WordOffset,
};
use splitbar_passes::pipeline::{self, Settings, Step};
use splitbar_passes::transform::registry::{
    ELIMINATE_REDUNDANT_CONTROL_BARRIERS, FILL_SPLIT_BARRIER_WINDOWS,
    FREEZE_SPECIALIZATION_CONSTANTS, FUSE_NARROW_SPLIT_BARRIERS, INLINE_BARRIER_FUNCTIONS,
    MOVE_SPLIT_BARRIERS, PIPELINE_BARRIER_LOOPS, PREFETCH_BARRIER_LOOP_LOADS, PassOptions,
    SPLIT_CONTROL_BARRIERS, UNROLL_BARRIER_LOOPS,
};
use splitbar_passes::transform::{
    self, Ahead, Buffers, Fill, RewrittenModule, SourceMap, Stop, Stopped, stops,
};
use splitbar_passes::validate::Validation;
use splitbar_plan::{Strategy, min_window};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use tracing::info_span;

/// Instructions of SPIR-V that a window must have: a smaller one hides less than the second half
/// costs.
const LEAST_WINDOW: u32 = 4;

/// OpControlBarriers that stay full barriers though others are split.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum KeepFull {
    /// All are split.
    #[default]
    None,
    /// None is.
    All,
    /// None is, and those that order nothing stay too.
    Untouched,
    /// Those at these words of the given module are not.
    Only(BTreeSet<WordOffset>),
}

/// A module with split barriers.
#[derive(Debug)]
pub(crate) struct SplitModule {
    /// The module, and where it came from.
    pub(super) edited: RewrittenModule,
    /// The results of splitting, in words of the given module.
    pub(super) motions: Vec<BarrierMotion>,
    /// The barriers that became barriers of the subgroup, or copies of them, in words of the given
    /// module.
    pub(super) narrowed: BTreeSet<WordOffset>,
}

/// The result of splitting barriers.
#[derive(Clone, Default)]
pub(crate) struct Split {
    /// The module with split barriers; `None` where it stays as it is.
    pub(super) module: Option<Rc<SplitModule>>,
    /// What became of its barriers. Only the version that is looked at first says it.
    pub(super) fates: Rc<Fates>,
}

/// Splits the barriers of `source`, all but those of `keep`, if the options ask for that, and
/// narrows those of one wave.
///
/// # Errors
/// What is wrong with the module, at its places; barriers at which clusters meet.
pub(crate) fn split(
    source: &Source<'_>,
    keep: &KeepFull,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Split, Failure> {
    let only_narrows = only_narrows(options);
    if only_narrows && !may_narrow(source, options) {
        return Ok(Split::default());
    }
    let _span = (!only_narrows).then(|| info_span!("split").entered());
    let mut problems = source.problems();
    // Passes take valid modules. What they make of another one may look valid, or like a bug.
    let broken = errors(|found| {
        let rules = options.validation;
        rules.check_static(source.declarations, source.constants, found);
    });
    if only_narrows && !broken.is_empty() {
        return Ok(Split::default()); // all problems are found later
    }
    problems.take(broken)?;
    let split = match split_module(source, keep, options) {
        Ok(split) => split,
        Err(refused) => match broken_rules(source, options) {
            broken if broken.is_empty() => return Err(problems.and(refused)),
            _ if only_narrows => return Ok(Split::default()),
            broken => return Err(problems.and(broken)),
        },
    };
    if split.module.is_some() {
        observer.begin(Stage::Split);
    }
    Ok(split)
}

/// Returns true if no barrier is split and no loop is pipelined.
fn only_narrows(options: &Options) -> bool {
    options.split_barriers == SplitBarriers::Never && options.pipeline_loops == PipelineLoops::Never
}

/// Why splitting was `refused`: an arrive without a wait, for example, is only found when the
/// control flow is known.
pub(super) fn explained(
    source: &Source<'_>,
    options: &Options,
    refused: Diagnostics,
) -> Diagnostics {
    let broken = broken_rules(source, options);
    if broken.is_empty() { refused } else { broken }
}

/// The rules that the module breaks, also those that are waived.
fn broken_rules(source: &Source<'_>, options: &Options) -> Diagnostics {
    let rules = match options.validation {
        Validation::Waived => Validation::Default,
        rules => rules,
    };
    errors(|found| rules.check_alone(source.declarations, source.constants, found))
}

/// The errors among what `check` finds.
fn errors(check: impl FnOnce(&mut Diagnostics)) -> Diagnostics {
    let mut found = Diagnostics::new();
    check(&mut found);
    found.errors()
}

/// Splits the barriers of the module of `source`, all but those of `keep`.
fn split_module(
    source: &Source<'_>,
    keep: &KeepFull,
    options: &Options,
) -> Result<Split, Diagnostics> {
    if !only_narrows(options) {
        check_cluster(options)?;
    }
    let least = least_operations(options);
    let mut splitting = Splitting {
        module: source.module().clone().into_owned(),
        source_map: None,
        source,
        narrowed: BTreeSet::new(),
        options,
        fates: (options.split_barriers != SplitBarriers::Never
            && *keep == KeepFull::at_first(options))
        .then(|| first_fates(source)),
    };
    let keep = keep.with(&options.full_barriers);
    splitting.run(&pipelining(options))?;
    splitting.note_removed("its loop is pipelined")?;
    if options.split_barriers == SplitBarriers::Never {
        splitting.narrow()?;
        return Ok(splitting.done(Vec::new()));
    }
    splitting.run(&before_splitting(options, keep == KeepFull::Untouched))?;
    if keep == KeepFull::Untouched {
        splitting.narrow()?;
        return Ok(splitting.done(Vec::new()));
    }
    splitting.note_removed(ORDERS_NOTHING)?;
    splitting.run(&unrolling(options))?;
    splitting.note_removed("unrolling has removed the code around it")?;
    splitting.narrow()?;
    let kept = match keep {
        KeepFull::None => Some(BTreeSet::new()),
        KeepFull::All | KeepFull::Untouched => None,
        KeepFull::Only(words) => Some(words),
    };
    match kept {
        None => {}
        Some(words) if words.is_empty() && splitting.narrowed.is_empty() => {
            splitting.run(&[Step::plain(SPLIT_CONTROL_BARRIERS)])?;
        }
        Some(words) => {
            splitting.run(&[Step::plain(INLINE_BARRIER_FUNCTIONS)])?;
            // The words of an inlined module are known to nobody else.
            let mut kept = splitting.words_of(&words);
            kept.extend(splitting.narrowed_barriers());
            let pass = SPLIT_CONTROL_BARRIERS;
            let options = PassOptions::AllBut(kept);
            splitting.run(&[Step { pass, options }])?;
        }
    }
    splitting.note_left()?;
    splitting.run(&after_splitting(options))?;
    let motions = splitting.motions(least, source.declarations);
    let pass = FUSE_NARROW_SPLIT_BARRIERS;
    let options = PassOptions::Narrow(least);
    splitting.run(&[Step { pass, options }])?;
    splitting.note_narrow(&motions, least)?;
    Ok(splitting.done(motions))
}

/// The barriers that the entry points can execute, before anything has become of them.
fn first_fates(source: &Source<'_>) -> Fates {
    let (declarations, constants) = (source.declarations, source.constants);
    let entries = declarations.entry_points.iter();
    let fates = entries.map(|entry| {
        let words = executed(declarations, constants, entry).into_iter();
        (entry.function, words.map(|word| (word, None)).collect())
    });
    fates.collect()
}

/// The memory that barriers order: all of it, or the memory that their semantics name.
fn memory(options: &Options) -> PassOptions {
    if options.barriers_order_all_memory {
        PassOptions::AllMemory
    } else {
        PassOptions::None
    }
}

/// The pass that gives specialization constants their values: the number of a loop's iterations may
/// follow from them.
fn freezing(options: &Options) -> Step {
    Step {
        pass: FREEZE_SPECIALIZATION_CONSTANTS,
        options: PassOptions::Values {
            spec: options.spec.clone(),
            workgroup_size: options.workgroup_size,
        },
    }
}

/// The passes that pipeline loops, if the options ask for that.
pub(super) fn pipelining(options: &Options) -> Vec<Step> {
    let ahead = match options.pipeline_loops {
        PipelineLoops::Never => return Vec::new(),
        PipelineLoops::OneBuffer => Ahead::LoadsOfOneBuffer,
        // Before a module is split, `auto` is one of the others (`pipelining.rs`).
        PipelineLoops::TwoBuffers | PipelineLoops::TwoBuffersAlwaysStored | PipelineLoops::Auto => {
            Ahead::Either
        }
        PipelineLoops::TwoBuffersAsync => Ahead::Copies,
        PipelineLoops::ThreeBuffers | PipelineLoops::FourBuffers => Ahead::Either,
        PipelineLoops::ThreeBuffersStage => Ahead::Stage,
    };
    let buffers = match options.pipeline_loops {
        PipelineLoops::Never
        | PipelineLoops::OneBuffer
        | PipelineLoops::TwoBuffers
        | PipelineLoops::TwoBuffersAlwaysStored
        | PipelineLoops::TwoBuffersAsync
        | PipelineLoops::Auto => Buffers::Two,
        PipelineLoops::ThreeBuffers | PipelineLoops::ThreeBuffersStage => Buffers::Three,
        PipelineLoops::FourBuffers => Buffers::Four,
    };
    let pipeline = transform::PipelineLoops {
        ahead,
        buffers,
        always_store: options.pipeline_loops == PipelineLoops::TwoBuffersAlwaysStored,
        most_memory: options.target.static_shared_bytes(),
        aliased: options.narrow_barriers == NarrowBarriers::Aliased,
        all_memory: options.barriers_order_all_memory,
        ..transform::PipelineLoops::default()
    };
    vec![
        freezing(options),
        Step {
            pass: PIPELINE_BARRIER_LOOPS,
            options: PassOptions::PipelineLoops(pipeline),
        },
    ]
}

/// The passes on barriers before any barrier is split; with `keeps_all` barriers that order nothing
/// stay, and only loops are changed.
fn before_splitting(options: &Options, keeps_all: bool) -> Vec<Step> {
    if keeps_all {
        return unrolling(options);
    }
    vec![Step {
        pass: ELIMINATE_REDUNDANT_CONTROL_BARRIERS,
        options: memory(options),
    }]
}

/// The passes on loops before any barrier is split.
fn unrolling(options: &Options) -> Vec<Step> {
    let mut steps = Vec::new();
    if let Some(most) = options.unroll_barrier_loops {
        steps.push(freezing(options));
        steps.push(Step {
            pass: UNROLL_BARRIER_LOOPS,
            options: PassOptions::Unroll(most),
        });
    }
    if options.prefetch_loop_loads {
        steps.push(Step::plain(PREFETCH_BARRIER_LOOP_LOADS));
    }
    steps
}

/// The passes that move halves apart and fill what is between them.
fn after_splitting(options: &Options) -> Vec<Step> {
    let mut steps = vec![Step {
        pass: MOVE_SPLIT_BARRIERS,
        options: memory(options),
    }];
    if let Some(most_live) = options.fill_windows {
        let all_memory = options.barriers_order_all_memory;
        steps.push(Step {
            pass: FILL_SPLIT_BARRIER_WINDOWS,
            options: PassOptions::Fill(Fill {
                most_live,
                all_memory,
            }),
        });
    }
    steps
}

/// That no workgroups meet at split barriers: these would be others afterwards.
fn check_cluster(options: &Options) -> Result<(), Diagnostic> {
    let is_several = options.cluster.is_some_and(|size| size != [1; 3]);
    if options.strategy != Some(Strategy::Cluster) || !is_several {
        return Ok(());
    }
    let what =
        "barriers cannot be split if the workgroups of a cluster synchronise at each split barrier";
    Err(Diagnostic::error(Code::UnsupportedStrategy, what)
        .because(
            "a barrier that is split becomes one of the cluster, and a pair with a narrow window \
             becomes one of the workgroup alone",
        )
        .help("leave `Options::split_barriers` at `Never`, or choose another strategy"))
}

/// The instructions that a window must have: as many as the target asks for, where nothing is
/// compiled to decide; `None` if no window is known to pay there.
fn least_of_target(options: &Options) -> Option<u32> {
    if Weighing::from_options(options) != Weighing::ByPlan || options.profile.is_some() {
        return Some(LEAST_WINDOW);
    }
    let target = options.target;
    let strategy = options
        .strategy
        .unwrap_or_else(|| Strategy::of_target(target));
    min_window(strategy, target, false).map(|least| least.max(LEAST_WINDOW))
}

/// The instructions that a window must have.
fn least_operations(options: &Options) -> u32 {
    least_of_target(options).unwrap_or(LEAST_WINDOW)
}

impl KeepFull {
    /// The barriers that stay full before anything is compiled to decide.
    pub(crate) fn at_first(options: &Options) -> KeepFull {
        match least_of_target(options) {
            Some(_) => KeepFull::None,
            None => KeepFull::All,
        }
    }

    /// These, and those at `words`.
    fn with(&self, words: &BTreeSet<WordOffset>) -> KeepFull {
        match self {
            KeepFull::None if words.is_empty() => KeepFull::None,
            KeepFull::None => KeepFull::Only(words.clone()),
            KeepFull::Only(others) => KeepFull::Only(others | words),
            KeepFull::All | KeepFull::Untouched => self.clone(),
        }
    }
}

/// A module on its way.
struct Splitting<'o, 'w> {
    module: Module<'static>,
    /// Where its instructions came from; `None`: it is the one that was given.
    source_map: Option<SourceMap>,
    /// The given module.
    source: &'o Source<'w>,
    /// The barriers that became barriers of the subgroup, or copies of them, in words of the given
    /// module.
    narrowed: BTreeSet<WordOffset>,
    options: &'o Options,
    /// What has become of its barriers; `None` where nobody asks.
    fates: Option<Fates>,
}

impl Splitting<'_, '_> {
    /// The fates that are not decided yet of the barriers for which `fate` has one, from the
    /// OpControlBarriers that an entry point still has, by their words in the given module.
    fn note(
        &mut self,
        fate: impl Fn(&Declarations<'_>, WordOffset, Option<Inst<'_>>) -> Option<Fate>,
    ) -> Result<(), Diagnostics> {
        let Some(mut fates) = self.fates.take() else {
            return Ok(());
        };
        let declarations = Declarations::of_made(&self.module, "splitting")?;
        let (spec, size) = (&self.options.spec, self.options.workgroup_size);
        let constants = declarations.specialized(spec, size, &mut Diagnostics::new());
        for entry in &declarations.entry_points {
            let left = executed(&declarations, &constants, entry).into_iter();
            let left = left.filter_map(|word| Some((self.given(word)?, word)));
            let left: BTreeMap<WordOffset, WordOffset> = left.collect();
            let open = fates.get_mut(&entry.function).into_iter().flatten();
            for (word, known) in open.filter(|(_, known)| known.is_none()) {
                let inst = left.get(word).and_then(|word| self.module.at(*word));
                *known = fate(&declarations, *word, inst);
            }
        }
        drop(declarations);
        self.fates = Some(fates);
        Ok(())
    }

    /// Makes barriers of the subgroup of those that keep only accesses of one wave apart.
    fn narrow(&mut self) -> Result<(), Diagnostics> {
        if !may_narrow(self.source, self.options) {
            return Ok(());
        }
        let before = (self.module.clone(), self.source_map.clone());
        // Elements and places may depend on specialization constants.
        self.run(&[freezing(self.options)])?;
        let kept = self.words_of(&self.options.full_barriers);
        if !self.run(&[narrowing(self.options, kept)])? {
            (self.module, self.source_map) = before;
            return Ok(());
        }
        let given = self.narrowed_barriers().into_iter();
        self.narrowed = given.filter_map(|word| self.given(word)).collect();
        let is_split = self.fates.is_some();
        if !is_split {
            self.fates = Some(first_fates(self.source));
        }
        let narrowed = self.narrowed.clone();
        self.note(|_, word, inst| {
            let is_narrowed = inst.is_none() && narrowed.contains(&word);
            is_narrowed.then_some(Fate::Narrowed(OF_ONE_WAVE))
        })?;
        if !is_split {
            // Nobody asks why the others are not split.
            let fates = self.fates.iter_mut().flat_map(BTreeMap::values_mut);
            fates.for_each(|fates| fates.retain(|_, fate| fate.is_some()));
        }
        Ok(())
    }

    /// The places in the module of barriers of the subgroup that the given module has as barriers
    /// of the workgroup.
    fn narrowed_barriers(&self) -> BTreeSet<WordOffset> {
        let barriers = self.module.instructions();
        let barriers = barriers.filter(|inst| inst.op() == Some(Op::ControlBarrier));
        let narrowed = barriers.filter(|inst| {
            let given = self.given(inst.offset);
            given.is_some_and(|word| was_of_workgroup(self.source, word))
                && self.is_of_subgroup(*inst)
        });
        narrowed.map(|inst| inst.offset).collect()
    }

    /// Returns true for a barrier of execution scope Subgroup. A pass that narrows barriers makes
    /// the scope a constant.
    fn is_of_subgroup(&self, inst: Inst<'_>) -> bool {
        let scope = inst.id(0).ok().and_then(|id| self.module.def(id));
        let value = scope.and_then(|constant| match constant.op() {
            Some(Op::Constant) => constant.operand(0).ok(),
            _ => None, // a specialization constant
        });
        value.and_then(Scope::from_u32) == Some(Scope::Subgroup)
    }

    /// Barriers that have gone, for this reason.
    fn note_removed(&mut self, why: &'static str) -> Result<(), Diagnostics> {
        self.note(|_, _, inst| inst.is_none().then_some(Fate::Removed(why)))
    }

    /// Barriers that were not split.
    fn note_left(&mut self) -> Result<(), Diagnostics> {
        let least = least_of_target(self.options);
        let options = self.options;
        self.note(|declarations, _, inst| {
            let inst = inst?;
            let why = match least {
                Some(_) => why_left(declarations, inst)?.to_owned(),
                None => {
                    let strategy = options
                        .strategy
                        .unwrap_or_else(|| Strategy::of_target(options.target));
                    if strategy.is_split() {
                        format!(
                            "{strategy}: no window size is known to be worth a split on this GPU"
                        )
                    } else {
                        "no strategy that splits is known to save time on this GPU".to_owned()
                    }
                }
            };
            Some(Fate::Full(why))
        })
    }

    /// Barriers that became full barriers again.
    fn note_narrow(&mut self, motions: &[BarrierMotion], least: u32) -> Result<(), Diagnostics> {
        self.note(|_, word, inst| {
            inst?;
            let mut motions = motions.iter();
            let motion = motions.find(|motion| !motion.split && motion.words.contains(&word));
            Some(Fate::Full(too_narrow(motion, least)))
        })
    }

    /// The word in the given module of the instruction at `word`.
    fn given(&self, word: WordOffset) -> Option<WordOffset> {
        match &self.source_map {
            Some(source_map) => source_map.of(word),
            None => Some(word),
        }
    }

    /// Runs passes. Returns true if one of them has changed the module.
    fn run(&mut self, steps: &[Step]) -> Result<bool, Diagnostics> {
        if steps.is_empty() {
            return Ok(false);
        }
        let module = self.module.clone();
        let outcome = pipeline::run(module, steps, Settings::IN_COMPILATIONS, &mut |_, _| ())
            .map_err(|problems| self.map_to_source(problems))?;
        let source_map = outcome.source_map;
        let is_changed = source_map.is_some();
        if let Some(source_map) = source_map {
            self.take(outcome.module, source_map);
        }
        Ok(is_changed)
    }

    /// The places in the module of the barriers at `words` of the given one.
    fn words_of(&self, words: &BTreeSet<WordOffset>) -> BTreeSet<WordOffset> {
        let Some(source_map) = &self.source_map else {
            return words.clone();
        };
        let barriers = self.module.instructions();
        let barriers = barriers.filter(|inst| inst.op() == Some(Op::ControlBarrier));
        let kept = barriers.filter(|inst| {
            let given = source_map.of(inst.offset);
            given.is_some_and(|word| words.contains(&word))
        });
        kept.map(|inst| inst.offset).collect()
    }

    /// The places of arrives and waits, with reasons. `source` has the declarations of the given
    /// module.
    fn motions(&self, least: u32, source: &Declarations<'_>) -> Vec<BarrierMotion> {
        let mut problems = Diagnostics::new();
        let declarations = Declarations::new(&self.module, &mut problems);
        let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
        let given = |word: WordOffset| self.given(word);
        let stopped = stops(&declarations, self.options.barriers_order_all_memory);
        let ends = stopped.iter().flat_map(|one| [one.arrive, one.wait]);
        let words: Vec<WordOffset> = ends.filter_map(|end| given(end.word()?)).collect();
        let places = source.locations(&words);
        let named = |stop: Stop| {
            let place = stop.word().and_then(given);
            match place.and_then(|word| places.get(&word)) {
                Some(place) => stop.described(place),
                None => stop.to_string(),
            }
        };
        let mut windows = BTreeMap::new();
        for entry in &declarations.entry_points {
            let pairing = Pairing::analyse(&declarations, &constants, entry, &mut problems);
            for pair in &pairing.pairs {
                let operations = pair.operations(&self.module);
                let is_simple = pair.arrives.len() == 1 && pair.waits.len() == 1;
                for arrive in pair.arrives.iter().filter_map(|id| pairing.site(*id)) {
                    windows.insert(arrive.offset, (operations, is_simple));
                }
            }
        }
        let moved = |stopped: Stopped| {
            let arrive = *stopped.words.first()?;
            let (operations, is_simple) = *windows.get(&arrive)?;
            Some(BarrierMotion {
                word: given(arrive)?,
                operations: operations.try_into().unwrap_or(u32::MAX),
                split: !is_simple || operations >= least as usize,
                arrive: named(stopped.arrive),
                wait: named(stopped.wait),
                words: stopped.words.iter().copied().filter_map(given).collect(),
            })
        };
        stopped.into_iter().filter_map(moved).collect()
    }

    /// What came out, unless it is what went in.
    fn done(self, motions: Vec<BarrierMotion>) -> Split {
        let Splitting {
            module,
            source_map,
            fates,
            narrowed,
            ..
        } = self;
        let module = source_map.map(|source_map| SplitModule {
            edited: RewrittenModule { module, source_map },
            motions,
            narrowed,
        });
        Split {
            module: module.map(Rc::new),
            fates: Rc::new(fates.unwrap_or_default()),
        }
    }

    fn take(&mut self, module: Module<'static>, source_map: SourceMap) {
        self.source_map = Some(match &self.source_map {
            Some(earlier) => source_map.through(earlier),
            None => source_map,
        });
        self.module = module;
    }

    /// Problems at their places in the given module.
    fn map_to_source(&self, problems: Diagnostics) -> Diagnostics {
        match &self.source_map {
            Some(source_map) => problems.moved(|word| source_map.of(word)),
            None => problems,
        }
    }
}
