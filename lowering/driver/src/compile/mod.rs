//! One compilation, as a line of stages: each takes what the one before it made, and knows nothing
//! of those behind it.
//!
//! ```text
//! Request -> Source -> SplitModule -> Prepared -> Candidate -> Code -> Facts -> Output
//!            source.rs  split.rs      prepare.rs  plan.rs      lower.rs measure.rs output.rs
//! ```
//!
//! Where the options leave it open which barriers are split, `select.rs` stands above the line: it
//! has the stages from splitting on make one version of the module after the other, compares their
//! facts, and says which one is taken.

mod annotations;
mod build;
mod control_flow;
mod cost_model;
mod entry;
mod expected;
mod fates;
mod lower;
mod measure;
mod motion;
mod narrow;
mod normalize;
mod output;
mod pipelining;
mod places;
mod plan;
mod plan_text;
mod prepare;
mod problems;
mod profile_sites;
mod reasons;
mod recorder;
mod reflect;
mod request;
mod select;
mod slot;
mod source;
mod split;
mod strategies;
mod unsplit;
mod versions;
mod weighing;

#[cfg(test)]
pub(crate) use cost_model::BarrierFacts;
pub use cost_model::{Barrier, BarrierKind, SplitDecisions, Version};
pub(crate) use cost_model::{Known, barriers};
pub use entry::Entry;
pub(crate) use expected::{By, expected_times};
pub use expected::{Expected, ExpectedCycles};
pub(crate) use lower::{lowered_plans, translate};
pub use motion::BarrierMotion;
pub use output::Output;
pub(crate) use pipelining::can_be_pipelined;
pub use places::PlanPlaces;
pub(crate) use plan::{Candidate, Chosen, plan};
pub(crate) use plan_text::{Splitting, plan_text};
pub(crate) use prepare::{Prepared, PreparedSlots, no_entry_point, prepare};
pub(crate) use profile_sites::ProfileSites;
pub use reasons::Reasons;
#[cfg(not(feature = "llvm"))]
pub(crate) use reflect::json as reflection;
pub(crate) use request::Request;
pub(crate) use source::{Source, SourceSlots};
pub(crate) use split::Split;
pub use unsplit::UnsplitBarrier;

use crate::failure::Failure;
use crate::options::Options;
use crate::stage::Observer;
use build::build;
use recorder::{Artefacts, Recorder};
use select::{Expect, SelectedModule, select};
use slot::fill;
use split::{KeepFull, split};
use std::cell::OnceCell;
use std::rc::Rc;
use versions::Compiled;
use weighing::Weighing;

/// The storage that the stages of one compilation borrow from.
#[derive(Default)]
pub(crate) struct Slots<'w> {
    source: SourceSlots<'w>,
    first: PreparedSlots<'w>,
    first_prepared: OnceCell<Prepared<'w>>,
    decided: OnceCell<Options>,
    selected: PreparedSlots<'w>,
    selected_prepared: OnceCell<Prepared<'w>>,
}

/// Compiles a module. Versions of it are compared by what `expect` says of them.
///
/// # Errors
/// Everything that is wrong with it, or that the target or this build cannot do.
pub(crate) fn compile(
    request: Request<'_>,
    expect: Expect,
    observer: &mut dyn Observer,
) -> Result<Output, Failure> {
    let mut observer = Recorder::new(observer, true);
    let version = decide_version(request, expect, &mut observer)?;
    let Some(options) = &version.options else {
        observer.show(Artefacts::new());
        return compile_decided(request, expect, &mut observer);
    };
    let measures = request.options.measure;
    // Otherwise code that is measured is not the same.
    let is_output = measures || Weighing::from_options(options) == Weighing::ByCode;
    let mut output = match version.compiled.filter(|_| is_output) {
        Some((mut output, artefacts)) => {
            observer.show(artefacts);
            if !measures {
                let entries = output.entries_mut();
                entries.iter_mut().for_each(Entry::forget_measurements);
            }
            output
        }
        None => {
            observer.show(Artefacts::new());
            compile_decided(request.with(options), expect, &mut observer)?
        }
    };
    output.reasons = version.reasons;
    Ok(output)
}

/// What was decided before the barriers of a module are looked at one by one.
#[derive(Default)]
struct DecidedVersion {
    /// The options with the answers; `None` if they left nothing open.
    options: Option<Options>,
    reasons: Reasons,
    /// The version that was compiled to decide, if one was.
    compiled: Option<Compiled>,
}

/// Decides about the loops of a module, and about its strategy, where the options leave that open.
fn decide_version(
    request: Request<'_>,
    expect: Expect,
    observer: &mut Recorder<'_>,
) -> Result<DecidedVersion, Failure> {
    let compile = |request: Request<'_>, observer: &mut dyn Observer| {
        compile_decided(request, expect, observer)
    };
    let mut version = DecidedVersion::default();
    if let Some(decided) = pipelining::decide(request, expect, observer, compile)? {
        version.options = Some(decided.options);
        version.reasons.loops = Some(decided.why);
        version.compiled = decided.compiled;
    }
    let request = match &version.options {
        Some(options) => request.with(options),
        None => request,
    };
    let compiled = &mut version.compiled;
    if let Some(decided) = strategies::decide(request, compiled, expect, observer, compile)? {
        version.options = Some(decided.options);
        version.reasons.strategy = Some(decided.why);
        version.compiled = decided.compiled;
    }
    Ok(version)
}

/// As [`compile`], where the options say what becomes of loops.
fn compile_decided(
    request: Request<'_>,
    expect: Expect,
    observer: &mut dyn Observer,
) -> Result<Output, Failure> {
    let slots = Slots::default();
    let options = request.options;
    let source = read(&slots.source, request, observer)?;
    let sites = profile_sites(&source, options)?;
    let mut observer = Recorder::new(
        observer,
        Weighing::from_options(options) == Weighing::ByCode,
    );
    let first = prepare_first(&slots, &source, options, &mut observer)?;
    let selected = select(&source, first, &sites, request, expect, &mut observer)?;
    if let Some(output) = selected.output {
        return output.accept();
    }
    let chosen = Chosen {
        decisions: selected.decisions.as_ref(),
        untouched: None,
        is_trial: false,
    };
    let candidate = plan(first, chosen, &sites, options, &mut observer)?;
    build(candidate, request, &mut observer)?.accept()
}

/// The version of a module that [`compile`] lowers, before that.
///
/// # Errors
/// As [`compile`], but for what only the lowering of bodies refuses.
pub(crate) fn candidate<'w>(
    slots: &'w Slots<'w>,
    request: Request<'w>,
    expect: Expect,
    observer: &mut dyn Observer,
) -> Result<Candidate<'w, 'w>, Failure> {
    let version = decide_version(request, expect, &mut Recorder::new(&mut (), true))?;
    let request = match version.options {
        Some(options) => request.with(fill(&slots.decided, options)),
        None => request,
    };
    let options = request.options;
    let source = read(&slots.source, request, observer)?;
    let sites = profile_sites(&source, options)?;
    let mut observer = Recorder::new(
        observer,
        Weighing::from_options(options) == Weighing::ByCode,
    );
    let first = prepare_first(slots, &source, options, &mut observer)?;
    let selected = select(&source, first, &sites, request, expect, &mut observer)?;
    let prepared = match selected.module {
        SelectedModule::First => first,
        SelectedModule::Other(module) => {
            let split = Split {
                module,
                fates: Rc::clone(&first.fates),
            };
            let prepared = prepare(&slots.selected, &source, split, options, &mut observer)?;
            fill(&slots.selected_prepared, prepared)
        }
    };
    let chosen = Chosen {
        decisions: selected.decisions.as_ref(),
        untouched: selected.untouched.as_deref(),
        is_trial: false,
    };
    let candidate = plan(prepared, chosen, &sites, options, &mut observer)?;
    Ok(Candidate {
        reasons: version.reasons,
        ..candidate
    })
}

/// Bytes to a module that is declared.
fn read<'w>(
    slots: &'w SourceSlots<'w>,
    request: Request<'w>,
    observer: &mut dyn Observer,
) -> Result<Source<'w>, Failure> {
    let (spec, size) = (&request.options.spec, request.options.workgroup_size);
    let source = Source::read(slots, request.bytes, spec, size, observer)?;
    Ok(Source {
        is_skeleton: request.is_ir,
        ..source
    })
}

/// The measurements of the profile, if barriers are weighed.
fn profile_sites(source: &Source<'_>, options: &Options) -> Result<ProfileSites, Failure> {
    if Weighing::from_options(options) == Weighing::Done {
        return Ok(ProfileSites::default());
    }
    ProfileSites::read(options, source)
}

/// The kernels of the first version that is looked at, and of the only one where nothing is
/// compiled to decide.
fn prepare_first<'w>(
    slots: &'w Slots<'w>,
    source: &Source<'w>,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<&'w Prepared<'w>, Failure> {
    let split = split(source, &KeepFull::at_first(options), options, observer)?;
    let prepared = prepare(&slots.first, source, split, options, observer)?;
    Ok(fill(&slots.first_prepared, prepared))
}
