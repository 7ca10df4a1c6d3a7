//! The stage before planning: a module, with its barriers split or not, to checked kernels. No
//! LLVM.

use super::fates::Fates;
use super::motion::BarrierMotion;
use super::problems::Problems;
use super::slot::fill;
use super::source::Source;
use super::split::{Split, SplitModule, explained};
use crate::failure::Failure;
use crate::options::Options;
use crate::stage::{Artefact, Observer, Stage, show};
use spirv::StorageClass;
use splitbar_layout::{Kernel, KernelOptions};
use splitbar_passes::analysis::pairing::{Pair, Site, SiteId, SiteKind};
use splitbar_passes::analysis::program::Program;
use splitbar_passes::analysis::uses::{Reached, Uses};
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::{Constants, Declarations, EntryPoint, Id, Module, Scope, WordOffset};
use splitbar_passes::transform::SourceMap;
use splitbar_passes::validate::{Checked, Inlined};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use tracing::info_span;

/// The storage that a [`Prepared`] borrows from.
#[derive(Default)]
pub(crate) struct PreparedSlots<'w> {
    split: OnceCell<Rc<SplitModule>>,
    split_declarations: OnceCell<Declarations<'w>>,
    split_constants: OnceCell<Constants>,
    inlined: OnceCell<Inlined<'w>>,
    inlined_declarations: OnceCell<Declarations<'w>>,
    program: OnceCell<Program<'w>>,
    source_map: OnceCell<SourceMap>,
}

/// The kernels of a module that was checked.
pub(crate) struct Prepared<'w> {
    /// The module that is planned and lowered: the one with split barriers and inlined functions,
    /// if there is one.
    pub(crate) module: Checked<'w>,
    /// The module that people know.
    pub(crate) given: &'w Module<'w>,
    /// Where the module came from, if it is not the one that was given.
    pub(crate) source_map: Option<&'w SourceMap>,
    /// The entry points that are compiled, in the module's order.
    pub(crate) kernels: Vec<PreparedKernel<'w>>,
    /// What became of the given module's barriers in the version that was looked at first.
    pub(crate) fates: Rc<Fates>,
    /// The problems so far.
    pub(crate) problems: Problems<'w>,
}

/// An entry point, ready to be planned.
pub(crate) struct PreparedKernel<'w> {
    /// The kernel.
    pub(crate) kernel: Kernel<'w>,
    /// Its pairs, as the given module has them, in their order.
    pub(crate) source_pairs: Vec<SourcePair>,
    /// The instructions of the given module that its barrier instructions came from, in the order
    /// of its sites.
    pub(crate) source_sites: Vec<Option<WordOffset>>,
    /// The results of splitting its barriers.
    pub(crate) motions: Vec<BarrierMotion>,
    /// Its barriers of the subgroup that the given module has as barriers of the workgroup, by
    /// their words in the module that is planned.
    pub(crate) narrowed: BTreeSet<WordOffset>,
}

/// A pair as the given module has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SourcePair {
    /// Words of the instructions that its arrives and waits came from, the first arrive's first.
    pub(crate) words: Vec<WordOffset>,
    /// Words of the instructions that those of its window came from.
    pub(crate) window: Vec<WordOffset>,
    /// Instructions of its window that compute, read or write.
    pub(crate) operations: u32,
}

impl SourcePair {
    /// The word that names the pair.
    pub(crate) fn word(&self) -> Option<WordOffset> {
        self.words.first().copied()
    }
}

/// A module on its way to [`Checked`]: the one that was read, or what splitting made of it.
struct Unchecked<'w> {
    declarations: &'w Declarations<'w>,
    constants: &'w Constants,
    source_map: Option<&'w SourceMap>,
    motions: &'w [BarrierMotion],
    /// The barriers that became barriers of the subgroup, by their words in the given module.
    narrowed: Option<&'w BTreeSet<WordOffset>>,
    /// The variables that the entry points of the given module use, by their functions, if it was
    /// split.
    touched: BTreeMap<Id, Uses>,
}

/// Checks `source`, whose barriers were `split` or not, and finds its kernels.
///
/// # Errors
/// The rules that are broken. What is wrong with single kernels stands in
/// [`Prepared::problems`]: planning adds to it.
pub(crate) fn prepare<'w>(
    slots: &'w PreparedSlots<'w>,
    source: &Source<'w>,
    split: Split,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Prepared<'w>, Failure> {
    let unchecked = match split.module {
        Some(split) => {
            show(observer, Artefact::Split, || split.edited.module.to_bytes());
            declare_split(slots, source, split, options)?
        }
        None => Unchecked {
            declarations: source.declarations,
            constants: source.constants,
            source_map: None,
            motions: &[],
            narrowed: None,
            touched: BTreeMap::new(),
        },
    };
    let mut problems = source.problems();
    problems.map_by(unchecked.source_map);

    // Inline: from here on every barrier stands in an entry point's own function, so one function's
    // paths are all there is to know.
    let span = info_span!("inline").entered();
    observer.begin(Stage::Inline);
    let (declarations, constants) = (unchecked.declarations, unchecked.constants);
    let inlined = Inlined::new(declarations).map_err(|refused| {
        let mut found = Diagnostics::new();
        let rules = options.validation;
        rules.check_alone(declarations, constants, &mut found);
        if !found.has_errors() {
            found.extend(refused);
        }
        problems.and(found)
    })?;
    let inlined = fill(&slots.inlined, inlined);
    let declarations = match inlined.edited() {
        Some(edited) => {
            show(observer, Artefact::Inlined, || edited.module.to_bytes());
            let declarations = Declarations::of_made(&edited.module, "inlining");
            let declarations = declarations.map_err(|found| problems.and(found))?;
            fill(&slots.inlined_declarations, declarations)
        }
        None => declarations,
    };
    drop(span);

    // Pair: which barriers belong together is asked by rules and by the plan.
    let span = info_span!("pair").entered();
    let program = fill(&slots.program, Program::new(declarations, constants));
    drop(span);

    // Validate: what follows takes checked modules only. Rules on single instructions are asked of
    // the module before inlining.
    let span = info_span!("validate").entered();
    observer.begin(Stage::Validate);
    let (module, warnings) = Checked::validate(inlined, program, options.validation)
        .map_err(|refused| problems.and(refused))?;
    problems.add(warnings);
    let source_map = match (inlined.edited(), unchecked.source_map) {
        (Some(edited), Some(split)) => {
            Some(fill(&slots.source_map, edited.source_map.through(split)))
        }
        (Some(edited), None) => Some(&edited.source_map),
        (None, split) => split,
    };
    problems.map_by(source_map);
    let mut found = Diagnostics::new();
    let kernels = kernels(module, &unchecked.touched, options, &mut found)
        .into_iter()
        .map(|kernel| PreparedKernel {
            source_pairs: source_pairs(module, &kernel, &problems),
            source_sites: {
                let sites = kernel.pairing.sites.iter();
                sites
                    .map(|site| problems.source_word(site.offset))
                    .collect()
            },
            motions: motions(&kernel, unchecked.motions, &problems),
            narrowed: narrowed(&kernel, unchecked.narrowed, &problems),
            kernel,
        })
        .collect();
    problems.add(found);
    drop(span);
    Ok(Prepared {
        module,
        given: source.module(),
        source_map,
        kernels,
        fates: split.fates,
        problems,
    })
}

/// Declares what splitting made of `source`.
///
/// # Errors
/// Why the module cannot be read: bugs, but for what its rules say.
fn declare_split<'w>(
    slots: &'w PreparedSlots<'w>,
    source: &Source<'w>,
    split: Rc<SplitModule>,
    options: &Options,
) -> Result<Unchecked<'w>, Failure> {
    let split = fill(&slots.split, split);
    let mut problems = source.problems();
    let mut failed = |found| problems.and(explained(source, options, found));
    let declarations =
        Declarations::of_made(&split.edited.module, "splitting").map_err(&mut failed)?;
    let declarations = fill(&slots.split_declarations, declarations);
    let mut found = Diagnostics::new();
    let constants = declarations.specialized(&options.spec, options.workgroup_size, &mut found);
    if found.has_errors() {
        found.push(Diagnostic::bug(
            "splitting gave constants that cannot be evaluated",
        ));
        return Err(failed(found));
    }
    let constants = fill(&slots.split_constants, constants);
    let touched = touched(source.declarations, source.constants)
        .map_err(|found| problems.and(found.into()))?;
    Ok(Unchecked {
        declarations,
        constants,
        source_map: Some(&split.edited.source_map),
        motions: &split.motions,
        narrowed: Some(&split.narrowed),
        touched,
    })
}

/// The variables that each entry point uses, by its function.
///
/// # Errors
/// Those of [`Reached::analyze`].
fn touched(
    declarations: &Declarations<'_>,
    constants: &Constants,
) -> Result<BTreeMap<Id, Uses>, Diagnostic> {
    let mut touched = BTreeMap::new();
    for entry in &declarations.entry_points {
        let reached = Reached::analyze(declarations, constants, entry)?;
        touched.insert(entry.function, reached.own);
    }
    Ok(touched)
}

/// The pairs of `kernel`, as the given module has them.
fn source_pairs(
    module: Checked<'_>,
    kernel: &Kernel<'_>,
    problems: &Problems<'_>,
) -> Vec<SourcePair> {
    let module = module.declarations().module;
    let word = |id: &SiteId| problems.source_word(kernel.pairing.site(*id)?.offset);
    let pairs = kernel.pairing.pairs.iter();
    pairs
        .map(|pair| SourcePair {
            words: pair
                .arrives
                .iter()
                .chain(&pair.waits)
                .filter_map(word)
                .collect(),
            window: window(pair, problems),
            operations: pair.operations(module).try_into().unwrap_or(u32::MAX),
        })
        .collect()
}

/// The words of the given module in the window of `pair`.
fn window(pair: &Pair, problems: &Problems<'_>) -> Vec<WordOffset> {
    let words = pair.window.iter();
    let words = words.filter_map(|word| problems.source_word(*word));
    words.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The results of splitting the barriers of `kernel`, from `all`.
fn motions(
    kernel: &Kernel<'_>,
    all: &[BarrierMotion],
    problems: &Problems<'_>,
) -> Vec<BarrierMotion> {
    let sites = kernel.pairing.sites.iter();
    let words = sites.filter_map(|site| problems.source_word(site.offset));
    let words: BTreeSet<WordOffset> = words.collect();
    let is_of_kernel = |one: &&BarrierMotion| one.words.iter().any(|word| words.contains(word));
    all.iter().filter(is_of_kernel).cloned().collect()
}

/// The barriers of the subgroup of `kernel` that came from those at `words` of the given module.
fn narrowed(
    kernel: &Kernel<'_>,
    words: Option<&BTreeSet<WordOffset>>,
    problems: &Problems<'_>,
) -> BTreeSet<WordOffset> {
    let Some(words) = words.filter(|words| !words.is_empty()) else {
        return BTreeSet::new();
    };
    let is_narrowed = |site: &&Site| {
        let given = problems.source_word(site.offset);
        site.kind == SiteKind::ControlBarrier
            && site.execution == Some(Scope::Subgroup)
            && given.is_some_and(|word| words.contains(&word))
    };
    let sites = kernel.pairing.sites.iter().filter(is_narrowed);
    sites.map(|site| site.offset).collect()
}

/// The entry points that are compiled.
fn kernels<'w>(
    module: Checked<'w>,
    touched: &BTreeMap<Id, Uses>,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Vec<Kernel<'w>> {
    let wanted = KernelOptions {
        workgroup_size: options.workgroup_size,
        promote_async_copies: options.promotes_async_copies(),
        narrowing: options.narrowing(),
    };
    let mut kernels = Vec::new();
    for entry in entries(module.declarations(), options, diagnostics) {
        match Kernel::analyze(module.program(), entry, options.target, wanted, diagnostics) {
            Ok(mut kernel) => {
                keep_arguments(module.declarations(), touched, &mut kernel);
                kernels.push(kernel);
            }
            Err(bug) => diagnostics.push(bug),
        }
    }
    kernels
}

/// Lets `kernel` touch all that its arguments come from in the given module: passes may leave
/// uses out, and whoever launches the kernel knows the given module.
fn keep_arguments(
    declarations: &Declarations<'_>,
    touched: &BTreeMap<Id, Uses>,
    kernel: &mut Kernel<'_>,
) {
    let Some(given) = touched.get(&kernel.entry.function) else {
        return;
    };
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
fn entries<'w>(
    declarations: &'w Declarations<'w>,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Vec<&'w EntryPoint<'w>> {
    let all = &declarations.entry_points;
    let mut chosen: Vec<_> = all
        .iter()
        .filter(|entry| {
            options
                .entry
                .as_ref()
                .is_none_or(|name| *name == entry.name)
        })
        .collect();
    if all.is_empty() {
        diagnostics.push(no_entry_point());
    } else if let (Some(name), true) = (&options.entry, chosen.is_empty()) {
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
                            "the entry point `{}` is not a compute kernel, and is not compiled",
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

/// The diagnostic for a module without entry points.
pub(crate) fn no_entry_point() -> Diagnostic {
    Diagnostic::error(Code::NoEntryPoint, "the module has no entry point")
        .help("link it with the module that has one, then lower the result")
}
