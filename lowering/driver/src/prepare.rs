//! Bytes to plans, in order, with the reason for each step: what check, plan, model and lowering
//! have in common. No LLVM.

use crate::choose::{self, Weighing};
use crate::failure::Failure;
use crate::options::{Options, SplitBarriers};
use crate::output::plan_text;
use crate::split::{self, Moved, Split};
use crate::stage::{Artefact, Observer, Stage};
use crate::weigh::{Weighed, Written};
use spirv::StorageClass;
use splitbar_passes::analysis::pairing::SiteId;
use splitbar_passes::analysis::program::Program;
use splitbar_passes::analysis::uses::{Reached, Uses};
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics, Location};
use splitbar_passes::module::{
    Constants, Declarations, EntryPoint, Id, Module, SpecValues, WordOffset,
};
use splitbar_passes::transform::registry::{Pass, PassOptions};
use splitbar_passes::transform::{Edited, Origin};
use splitbar_passes::validate::{Checked, Inlined, Validation};
use splitbar_plan::EntryPlan;
use splitbar_plan::faults::Guards;
use splitbar_typed::{Kernel, Wanted};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tracing::info_span;

/// Plans the barriers of the SPIR-V module in `bytes` and goes no further: no code is generated,
/// and what only the lowering of bodies refuses is not looked at.
///
/// # Errors
/// As [`crate::compile`].
pub fn plan(
    bytes: &[u8],
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Planned, Failure> {
    guarded(options, || {
        run(bytes, options, observer, |prepared, _| {
            Ok(Planned::of(prepared))
        })
    })
}

/// The plans of a module's entry points. Printed, they are what `--emit plan` shows.
#[derive(Clone, Debug)]
pub struct Planned {
    /// One per entry point, in the module's order.
    pub plans: Vec<EntryPlan>,
    /// What led to the choice for each, where one was made.
    pub weighed: Vec<Option<Weighed>>,
    /// What became of the barriers of each when they were split.
    pub moves: Vec<Vec<Moved>>,
    /// What did not stop the planning but should be looked at.
    pub warnings: Diagnostics,
}

impl Planned {
    /// Of a module without barriers.
    pub(crate) fn nothing() -> Planned {
        Planned {
            plans: Vec::new(),
            weighed: Vec::new(),
            moves: Vec::new(),
            warnings: Diagnostics::new(),
        }
    }

    pub(crate) fn of(mut prepared: Prepared<'_>) -> Planned {
        Planned {
            plans: prepared.plans,
            weighed: prepared.weighed,
            moves: prepared.moves,
            warnings: prepared.problems.take_all(),
        }
    }
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plan_text(&self.plans, None, &self.weighed, &self.moves))
    }
}

/// A panic anywhere below is a bug of ours, and the caller's process is not ours to end.
pub(crate) fn guarded<R>(
    options: &Options,
    work: impl FnOnce() -> Result<R, Failure>,
) -> Result<R, Failure> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Err(bug(options, payload.as_ref()).into()))
}

/// A module that was read.
#[derive(Copy, Clone)]
pub(crate) struct Source<'s> {
    /// What it declares.
    pub(crate) declarations: &'s Declarations<'s>,
    /// Its constants under the specialization that is wanted.
    pub(crate) constants: &'s Constants,
    /// What did not stop the reading.
    pub(crate) found: &'s Diagnostics,
    /// The module that was given, if this one was made of it by splitting barriers, and where its
    /// instructions came from.
    pub(crate) split: Option<(&'s Declarations<'s>, &'s Origin)>,
    /// What became of its barriers then.
    pub(crate) moves: &'s [Moved],
    /// What the entry points of the given module touch, by their functions, if it was split.
    pub(crate) touched: &'s BTreeMap<Id, Uses>,
}

impl<'s> Source<'s> {
    /// The module that people know.
    fn given(self) -> &'s Declarations<'s> {
        self.split.map_or(self.declarations, |(given, _)| given)
    }
}

/// An entry point's way to code, before LLVM.
pub(crate) struct Prepared<'w> {
    /// The module.
    pub(crate) work: Work<'w>,
    /// What was found so far.
    pub(crate) problems: Problems<'w>,
    /// The entry points that are compiled.
    pub(crate) kernels: Vec<Kernel<'w>>,
    /// The plan of each.
    pub(crate) plans: Vec<EntryPlan>,
    /// The pairs of each plan, as the given module has them.
    pub(crate) written: Vec<Vec<Written>>,
    /// What led to the choice for each, where one was made.
    pub(crate) weighed: Vec<Option<Weighed>>,
    /// What became of the barriers of each when they were split.
    pub(crate) moves: Vec<Vec<Moved>>,
}

/// Bytes to plans, and then whatever `then` makes of them.
pub(crate) fn run<R>(
    bytes: &[u8],
    options: &Options,
    observer: &mut dyn Observer,
    then: impl FnOnce(Prepared<'_>, &mut dyn Observer) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let settled = choose::settle(bytes, options)?;
    let options = settled.as_ref().map_or(options, |settled| &settled.options);
    let (spec, size) = (&options.spec, options.workgroup_size);
    read(bytes, spec, size, observer, |source, observer| {
        split(source, options, observer, |source, observer| {
            prepare(source, options, observer, then)
        })
    })
}

/// Splits barriers, if that is asked for: `then` gets the module that comes out.
fn split<R>(
    source: Source<'_>,
    options: &Options,
    observer: &mut dyn Observer,
    then: impl FnOnce(Source<'_>, &mut dyn Observer) -> Result<R, Failure>,
) -> Result<R, Failure> {
    if options.split_barriers == SplitBarriers::Never {
        return then(source, observer);
    }
    let span = info_span!("split").entered();
    let given = source.declarations;
    let mut problems = Problems::of(source);
    // Passes take valid modules. What they make of another one may look valid, or like a bug.
    let rules = options.validation;
    problems.take(errors(|found| {
        rules.check_static(given, source.constants, found);
    }))?;
    // An arrive without a wait, for example, is only found when the control flow is known.
    let explained = |refused: Diagnostics| {
        let rules = match rules {
            Validation::Waived => Validation::Default,
            rules => rules,
        };
        let broken = errors(|found| rules.check_alone(given, source.constants, found));
        match broken.is_empty() {
            true => refused,
            false => broken,
        }
    };
    let edited =
        split::split(given.module, options).map_err(|refused| problems.and(explained(refused)))?;
    let Some(Split { edited, moves }) = edited else {
        span.exit();
        return then(source, observer);
    };
    observer.begin(Stage::Split);
    show(observer, Artefact::Split, || edited.module.to_bytes());
    let declarations = Declarations::of_made(&edited.module, "splitting")
        .map_err(|found| problems.and(explained(found)))?;
    let mut found = Diagnostics::new();
    let constants = constants(
        &declarations,
        &options.spec,
        options.workgroup_size,
        &mut found,
    );
    if found.has_errors() {
        found.push(Diagnostic::bug(
            "splitting gave constants that cannot be evaluated",
        ));
        return Err(problems.and(explained(found)));
    }
    span.exit();
    let touched = touched(given, source.constants).map_err(|found| problems.and(found.into()))?;
    let source = Source {
        declarations: &declarations,
        constants: &constants,
        split: Some((given, &edited.origin)),
        moves: &moves,
        touched: &touched,
        ..source
    };
    then(source, observer)
}

/// What each entry point touches, by its function.
///
/// # Errors
/// Those of [`Reached::of`].
fn touched(
    declarations: &Declarations<'_>,
    constants: &Constants,
) -> Result<BTreeMap<Id, Uses>, Diagnostic> {
    let mut touched = BTreeMap::new();
    for entry in &declarations.entry_points {
        let reached = Reached::of(declarations, constants, entry)?;
        touched.insert(entry.function, reached.own);
    }
    Ok(touched)
}

/// The errors among what `check` finds.
fn errors(check: impl FnOnce(&mut Diagnostics)) -> Diagnostics {
    let mut found = Diagnostics::new();
    check(&mut found);
    found.errors()
}

/// Reads a module: instructions, then declarations, then the constants that these specialization
/// values give; each needs the one before.
///
/// # Errors
/// What makes declarations or constants less than whole: everything that follows relies on them.
pub(crate) fn read<R>(
    bytes: &[u8],
    spec: &SpecValues,
    workgroup_size: Option<[u32; 3]>,
    observer: &mut dyn Observer,
    then: impl FnOnce(Source<'_>, &mut dyn Observer) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let span = info_span!("read").entered();
    observer.begin(Stage::Read);
    show(observer, Artefact::Input, || bytes.to_vec());
    let given = Module::parse(bytes)?;
    let mut found = Diagnostics::new();
    let mut declarations = Declarations::of(&given, &mut found);
    let ready = match found.has_errors() {
        true => None,
        false => made_ready(&declarations)?,
    };
    let module = ready.as_ref().unwrap_or(&given);
    if ready.is_some() {
        declarations = Declarations::of_made(module, MADE_READY)?;
    }
    let constants = constants(&declarations, spec, workgroup_size, &mut found);
    let (nothing, untouched) = (Diagnostics::new(), BTreeMap::new());
    let mut problems = Problems::of(Source {
        declarations: &declarations,
        constants: &constants,
        found: &nothing,
        split: None,
        moves: &[],
        touched: &untouched,
    });
    problems.take(found)?;
    show(observer, Artefact::Disassembly, || {
        disassembly(module, &declarations).into_bytes()
    });
    span.exit();
    let source = Source {
        declarations: &declarations,
        constants: &constants,
        found: &problems.found,
        split: None,
        moves: &[],
        touched: &untouched,
    };
    then(source, observer)
}

/// The module's constants under these specialization values, and with a workgroup of this size.
pub(crate) fn constants(
    declarations: &Declarations<'_>,
    spec: &SpecValues,
    workgroup_size: Option<[u32; 3]>,
    found: &mut Diagnostics,
) -> Constants {
    let mut spec = spec.clone();
    if let Some(size) = workgroup_size {
        declarations.specialize_workgroup_size(size, &mut spec);
    }
    Constants::evaluate(declarations, &spec, found)
}

/// Passes that every module goes through: they write what is asked for in one of several ways in
/// the way that is lowered, and change no other module.
const FIRST: [&str; 4] = [
    "link-device-library",
    "modernize-cooperative-matrices",
    "scalarize-pointer-vectors", // makes predicated accesses
    "branch-on-predicates",
];

/// What they are called where their module is wrong.
const MADE_READY: &str = "linking, modernizing, scalarizing or branching";

/// The module after the passes of [`FIRST`]; `None` where they leave it as it is. Its words are no
/// longer those of the bytes that were given, as with modules that are linked.
///
/// # Errors
/// That the module gets too large.
fn made_ready(declarations: &Declarations<'_>) -> Result<Option<Module<'static>>, Diagnostics> {
    let mut ready: Option<Module<'static>> = None;
    for name in FIRST {
        let after = ready
            .as_ref()
            .map(|module| Declarations::of_made(module, MADE_READY))
            .transpose()?;
        let declarations = after.as_ref().unwrap_or(declarations);
        let pass =
            Pass::named(name).ok_or_else(|| Diagnostic::bug(format!("there is no pass {name}")))?;
        let options = PassOptions::None;
        let mut found = Diagnostics::new();
        let edited = pass.run(declarations.module, declarations, &options, &mut found)?;
        if let Some(edited) = edited {
            ready = Some(edited.module);
        }
    }
    Ok(ready)
}

/// The module in `bytes` after the passes of [`FIRST`]: its words are those that [`read`] knows.
///
/// # Errors
/// Why it cannot be read.
pub(crate) fn first(bytes: &[u8]) -> Result<Module<'_>, Diagnostics> {
    let module = Module::parse(bytes)?;
    let mut found = Diagnostics::new();
    let declarations = Declarations::of(&module, &mut found);
    if found.has_errors() {
        return Ok(module); // whoever compiles it says so
    }
    let ready = made_ready(&declarations)?;
    Ok(ready.unwrap_or(module))
}

/// Plans the entry points of a module.
pub(crate) fn prepare<R>(
    source: Source<'_>,
    options: &Options,
    observer: &mut dyn Observer,
    then: impl FnOnce(Prepared<'_>, &mut dyn Observer) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let mut problems = Problems::of(source);

    // Inline: from here on every barrier stands in an entry point's own function, so one function's
    // paths are all there is to know.
    let span = info_span!("inline").entered();
    observer.begin(Stage::Inline);
    let (declarations, constants) = (source.declarations, source.constants);
    let inlined = Inlined::of(declarations).map_err(|refused| {
        let mut found = Diagnostics::new();
        let rules = options.validation;
        rules.check_alone(declarations, constants, &mut found);
        if !found.has_errors() {
            found.extend(refused);
        }
        problems.and(found)
    })?;
    let after = inlined.edited().map(|edited| {
        show(observer, Artefact::Inlined, || edited.module.to_bytes());
        Declarations::of_made(&edited.module, "inlining")
    });
    let after = after.transpose().map_err(|found| problems.and(found))?;
    span.exit();

    // Pair: which barriers belong together is asked by rules and by the plan.
    let span = info_span!("pair").entered();
    let program = Program::new(after.as_ref().unwrap_or(declarations), constants);
    span.exit();

    // Validate: what follows takes checked modules only. Rules on single instructions are asked of
    // the module as it was given, since that is the one that people know.
    let span = info_span!("validate").entered();
    observer.begin(Stage::Validate);
    let (checked, warnings) = Checked::of(&inlined, &program, options.validation)
        .map_err(|refused| problems.and(refused))?;
    problems.add(warnings);
    problems.edited = inlined.edited();
    let through;
    let origin = match (inlined.edited(), source.split) {
        (Some(edited), Some((_, split))) => {
            through = edited.origin.through(split);
            Some(&through)
        }
        (Some(edited), None) => Some(&edited.origin),
        (None, split) => split.map(|(_, origin)| origin),
    };
    let work = Work {
        checked,
        options,
        origin,
        guards: Guards::default(),
        touched: source.touched,
    };
    span.exit();

    // Plan: choose what each pair becomes. Planning needs the size of the
    // workgroup and how much of its memory is taken.
    let span = info_span!("plan").entered();
    observer.begin(Stage::Plan);
    let mut found = Diagnostics::new();
    let kernels = work.kernels(&mut found);
    let sites = match options.weighing() {
        Weighing::ByPlan => options.sites(source.given()),
        Weighing::ByCode | Weighing::Done => Ok(choose::Sites::default()),
    };
    let sites = sites.map_err(|refused| problems.and(refused))?;
    let chosen = options.chosen.as_ref();
    found.extend(
        chosen
            .map_or(&sites.doubts, |chosen| &chosen.doubts)
            .clone(),
    );
    let (mut plans, mut written, mut weighed) = (Vec::new(), Vec::new(), Vec::new());
    let mut moves = Vec::new();
    for kernel in &kernels {
        let pairs = work.written(kernel, &problems);
        let sum = work.weigh(kernel, &pairs, &sites, source.given().module, &mut found);
        plans.push(planned(kernel, &pairs, sum.as_ref(), options, &mut found));
        written.push(pairs);
        weighed.push(sum);
        moves.push(work.moves(kernel, source.moves, &problems));
    }
    show(observer, Artefact::Plan, || {
        plan_text(&plans, None, &weighed, &moves).into_bytes()
    });
    problems.take(found)?;
    span.exit();
    let prepared = Prepared {
        work,
        problems,
        kernels,
        plans,
        written,
        weighed,
        moves,
    };
    then(prepared, observer)
}

/// The plan of one entry point whose pairs were `written` so, by what was chosen for them.
fn planned(
    kernel: &Kernel<'_>,
    written: &[Written],
    weighed: Option<&Weighed>,
    options: &Options,
    found: &mut Diagnostics,
) -> EntryPlan {
    let is_full = |written: &Written| {
        let barrier = written.word().and_then(|word| weighed?.at(word));
        let mut words = written.words.iter();
        barrier.is_some_and(|barrier| !barrier.split)
            || words.any(|word| options.full_barriers.contains(word))
    };
    let pairs = kernel.pairing.pairs.iter().zip(written);
    let full = pairs.filter(|(_, written)| is_full(written));
    let full = full.flat_map(|(pair, _)| &pair.arrives);
    let full: BTreeSet<SiteId> = full.copied().collect();
    let sites = kernel.pairing.sites.iter();
    let full = sites.filter(|site| full.contains(&site.id));
    let full = full.map(|site| site.offset).collect();
    let mut plan = splitbar_plan::plan(kernel, options.plan(full), found);
    choose::explain_plan(&mut plan, written, weighed);
    plan
}

/// What was found so far, located in the module that the user gave.
pub(crate) struct Problems<'p> {
    original: &'p Declarations<'p>,
    /// Once something was inlined, problems name instructions of that module; users know only their
    /// own.
    edited: Option<&'p Edited>,
    /// As well when barriers were split before.
    split: Option<&'p Origin>,
    found: Diagnostics,
}

impl<'p> Problems<'p> {
    /// For `source`, with what was found when it was read.
    fn of(source: Source<'p>) -> Self {
        let (original, split) = match source.split {
            Some((given, origin)) => (given, Some(origin)),
            None => (source.declarations, None),
        };
        Problems {
            original,
            edited: None,
            split,
            found: source.found.clone(),
        }
    }

    /// Adds problems, and stops here if one of them is an error.
    pub(crate) fn take(&mut self, found: Diagnostics) -> Result<(), Failure> {
        self.add(found);
        if self.found.has_errors() {
            Err(self.take_all().into())
        } else {
            Ok(())
        }
    }

    /// The failure that `refused` makes together with what was found before.
    pub(crate) fn and(&mut self, refused: Diagnostics) -> Failure {
        self.add(refused);
        self.take_all().into()
    }

    /// Everything that was found, sorted.
    pub(crate) fn take_all(&mut self) -> Diagnostics {
        std::mem::take(&mut self.found).sorted()
    }

    /// The word of the user's module that word `offset` of the one that is planned comes from.
    pub(crate) fn original_word(&self, offset: WordOffset) -> Option<WordOffset> {
        let word = match self.edited {
            Some(edited) => edited.origin.of(offset)?,
            None => offset,
        };
        match self.split {
            Some(origin) => origin.of(word),
            None => Some(word),
        }
    }

    fn add(&mut self, mut found: Diagnostics) {
        for diagnostic in found.iter_mut() {
            let is_other = self.edited.is_some() || self.split.is_some();
            if let (true, Some(word)) = (is_other, diagnostic.location.word) {
                // Whoever found it may have located it in the inlined module; all of that is told
                // anew.
                *diagnostic.location = Location {
                    word: self.original_word(word),
                    ..Location::default()
                };
            }
        }
        self.original.locate_all(&mut found);
        self.found.extend(found);
    }
}

/// The module that is planned and lowered (the one with split barriers and inlined functions, if
/// there is one), and how.
pub(crate) struct Work<'w> {
    pub(crate) checked: Checked<'w>,
    pub(crate) options: &'w Options,
    /// Where the module came from, if it is not the one that was given.
    pub(crate) origin: Option<&'w Origin>,
    /// What keeps code from faults of LLVM.
    pub(crate) guards: Guards,
    /// As [`Source::touched`].
    touched: &'w BTreeMap<Id, Uses>,
}

impl<'w> Work<'w> {
    /// The pairs of `kernel`, as the given module has them, in their order.
    fn written(&self, kernel: &Kernel<'_>, problems: &Problems<'_>) -> Vec<Written> {
        let module = self.checked.declarations().module;
        let offsets: BTreeMap<SiteId, WordOffset> = kernel
            .pairing
            .sites
            .iter()
            .map(|site| (site.id, site.offset))
            .collect();
        let word = |site: &SiteId| problems.original_word(*offsets.get(site)?);
        let pairs = kernel.pairing.pairs.iter();
        pairs
            .map(|pair| Written {
                words: pair
                    .arrives
                    .iter()
                    .chain(&pair.waits)
                    .filter_map(word)
                    .collect(),
                operations: pair.operations(module).try_into().unwrap_or(u32::MAX),
            })
            .collect()
    }

    /// What became of the barriers of `kernel`.
    fn moves(&self, kernel: &Kernel<'_>, all: &[Moved], problems: &Problems<'_>) -> Vec<Moved> {
        let sites = kernel.pairing.sites.iter();
        let words = sites.filter_map(|site| problems.original_word(site.offset));
        let words: BTreeSet<WordOffset> = words.collect();
        let is_of_kernel = |one: &&Moved| one.words.iter().any(|word| words.contains(word));
        all.iter().filter(is_of_kernel).cloned().collect()
    }

    /// What was chosen for `kernel` before, or is chosen now by the plan; `given` is the module
    /// that people know.
    fn weigh(
        &self,
        kernel: &Kernel<'_>,
        written: &[Written],
        sites: &choose::Sites,
        given: &Module<'_>,
        found: &mut Diagnostics,
    ) -> Option<Weighed> {
        let options = self.options;
        if let Some(chosen) = &options.chosen {
            let entry: &str = kernel.entry.name.as_ref();
            return chosen.entries.get(entry).cloned();
        }
        if options.weighing() != Weighing::ByPlan {
            return None;
        }
        // What is wrong with it the plan that comes of the choice says once more.
        let plan = splitbar_plan::plan(
            kernel,
            options.plan(BTreeSet::new()),
            &mut Diagnostics::new(),
        );
        if let Err(foreign) = sites.check(&plan) {
            found.push(foreign);
        }
        let known = (sites, options);
        let kind = |word| choose::kind(given, word);
        let barriers = choose::barriers(&plan, written, None, known, kind);
        Some(Weighed::of(Default::default(), barriers))
    }

    /// The entry points that are compiled.
    fn kernels(&self, diagnostics: &mut Diagnostics) -> Vec<Kernel<'w>> {
        let program = self.checked.program();
        let wanted = Wanted {
            workgroup_size: self.options.workgroup_size,
            promote_async_copies: self.options.promote_async_copies,
        };
        let mut kernels = Vec::new();
        for entry in self.entries(diagnostics) {
            let target = self.options.target;
            match Kernel::of(program, entry, target, wanted, diagnostics) {
                Ok(mut kernel) => {
                    self.keep_arguments(&mut kernel);
                    kernels.push(kernel);
                }
                Err(bug) => diagnostics.push(bug),
            }
        }
        kernels
    }

    /// Lets `kernel` touch all that its arguments come from in the given module: passes may leave
    /// uses out, and whoever launches the kernel knows the given module.
    fn keep_arguments(&self, kernel: &mut Kernel<'_>) {
        let Some(given) = self.touched.get(&kernel.entry.function) else {
            return;
        };
        let declarations = self.checked.declarations();
        let is_argument = |id: &Id| {
            declarations.variable(*id).is_some_and(|variable| {
                matches!(
                    variable.class,
                    StorageClass::StorageBuffer
                        | StorageClass::Uniform
                        | StorageClass::UniformConstant
                        | StorageClass::PushConstant
                        | StorageClass::Input
                )
            })
        };
        let arguments =
            |ids: &BTreeSet<Id>| -> Vec<Id> { ids.iter().copied().filter(is_argument).collect() };
        let own = &mut kernel.reached.own;
        own.variables.extend(arguments(&given.variables));
        own.lengths.extend(arguments(&given.lengths));
        own.prints |= given.prints;
    }

    /// The entry points to compile: all, or those of the name that was asked for. A module may hold
    /// the other stages of a pipeline beside its kernels; they are left out with a note, and
    /// refused later where there is nothing else.
    fn entries(&self, diagnostics: &mut Diagnostics) -> Vec<&'w EntryPoint<'w>> {
        let all = &self.checked.declarations().entry_points;
        let mut chosen: Vec<_> = all
            .iter()
            .filter(|entry| {
                self.options
                    .entry
                    .as_ref()
                    .is_none_or(|name| *name == entry.name)
            })
            .collect();
        if all.is_empty() {
            diagnostics.push(no_entry_point());
        } else if let (Some(name), true) = (&self.options.entry, chosen.is_empty()) {
            let names: Vec<String> = all
                .iter()
                .map(|entry| format!("`{}`", entry.name))
                .collect();
            diagnostics.push(
                Diagnostic::error(
                    Code::UnknownEntryPoint,
                    format!("no entry point is called `{name}`"),
                )
                .help(format!("the module has {}", names.join(", "))),
            );
        }
        if chosen.iter().any(|entry| entry.is_compute()) {
            chosen.retain(|entry| {
                if !entry.is_compute() {
                    diagnostics.push(
                        Diagnostic::note(
                            Code::UnsupportedExecutionModel,
                            format!(
                                "the entry point `{}` is not a kernel; it is left out",
                                entry.name
                            ),
                        )
                        .at_word(entry.inst.offset),
                    );
                }
                entry.is_compute()
            });
        }
        chosen
    }
}

/// What is said of a module without entry points.
pub(crate) fn no_entry_point() -> Diagnostic {
    Diagnostic::error(Code::NoEntryPoint, "the module has no entry point")
        .help("link it with the module that has one, then lower the result")
}

pub(crate) fn show(
    observer: &mut dyn Observer,
    artefact: Artefact,
    bytes: impl FnOnce() -> Vec<u8>,
) {
    if observer.wants_artefacts() {
        observer.produced(artefact, &bytes());
    }
}

/// One instruction on a line, its word offset in front.
fn disassembly(module: &Module<'_>, declarations: &Declarations<'_>) -> String {
    module
        .instructions()
        .map(|inst| format!("{:>8}  {}\n", inst.offset, declarations.disassemble(inst)))
        .collect()
}

/// What to do about a bug of ours.
pub(crate) const REPORT: &str = concat!(
    "this is a bug in splitbar ",
    env!("CARGO_PKG_VERSION"),
    ": please report it with the module and the command line"
);

fn bug(options: &Options, payload: &(dyn std::any::Any + Send)) -> Diagnostic {
    let words = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it left no message");
    Diagnostic::error(
        Code::Internal,
        format!("a panic while compiling for {}", options.target.name),
    )
    .because(words)
    .help(REPORT)
}
