//! The choice whether the loops of a module are pipelined, where the options leave it open.
//!
//! The module is compiled as it is and with its loops pipelined, with one buffer, with two, and
//! with asynchronous copies where the target has instructions for that. With three buffers it is
//! compiled once more, if their memory leaves as many workgroups resident: with the loads further
//! ahead if loads that run ahead have gained, and with loads and stores before the work if not.
//!
//! A pipelined version is taken if an entry point is expected to take fewer cycles with it, and
//! none is expected to take more; of several such versions the one that takes the fewest.

use super::expected::By;
use super::output::Output;
use super::recorder::Recorder;
use super::request::Request;
use super::select::Expect;
use super::source::{Source, SourceSlots};
use super::split::pipelining;
use super::versions::{Decided, Versions, compiled};
use crate::failure::Failure;
use crate::options::{Options, PipelineLoops};
use crate::stage::Observer;
use splitbar_passes::pipeline::{Settings, rewrite};
use splitbar_passes::transform::registry::PIPELINE_BARRIER_LOOPS;
use splitbar_plan::copies_to_workgroup_memory;

/// What reasons call the version without pipelined loops.
const AS_IT_IS: &str = "as it is";

/// Decides about the loops of a module; `None` where the options say what becomes of them.
/// `compile` compiles the module by other options, and `observer` holds back what it shows.
///
/// # Errors
/// The problems of the module as it is.
pub(super) fn decide(
    request: Request<'_>,
    expect: Expect,
    observer: &mut Recorder<'_>,
    compile: impl Fn(Request<'_>, &mut dyn Observer) -> Result<Output, Failure>,
) -> Result<Option<Decided>, Failure> {
    if request.options.pipeline_loops != PipelineLoops::Auto {
        return Ok(None);
    }
    let with = |pipeline_loops| Options {
        pipeline_loops,
        ..request.options.clone()
    };
    let decided = |pipeline_loops, why: &str, compiled| Decided {
        options: with(pipeline_loops),
        why: why.to_owned(),
        compiled,
    };
    let never = PipelineLoops::Never;
    let forms = forms(request.bytes, request.options);
    if forms.is_empty() {
        let why = "no loop can be pipelined";
        return Ok(Some(decided(never, why, None)));
    }
    let mut version = |pipeline_loops| compiled(request, with(pipeline_loops), observer, &compile);
    let mut versions = Versions::new(never, version(never)?, expect);
    let (deeper, forms): (Vec<_>, Vec<_>) = forms.into_iter().partition(|form| has_three(*form));
    for form in forms {
        if let Ok(version) = version(form) {
            versions.push(form, version);
        }
    }
    if versions.len() == 1 {
        let why = "the module cannot be compiled with pipelined loops";
        let (_, given) = versions.take(0);
        return Ok(Some(decided(never, why, Some(given))));
    }
    let by = By::from_options(request.options);
    let wanted = match versions.choose(by, AS_IT_IS) {
        (0, _) => PipelineLoops::ThreeBuffersStage,
        _ => PipelineLoops::ThreeBuffers,
    };
    if deeper.contains(&wanted)
        && fits_as_often(request.options, &versions)
        && let Ok(version) = version(wanted)
    {
        versions.push(wanted, version);
    }
    let (chosen, why) = versions.choose(by, AS_IT_IS);
    let (form, compiled) = versions.take(chosen);
    let why = match form {
        PipelineLoops::OneBuffer => format!("pipelined with 1 buffer, {why}"),
        PipelineLoops::TwoBuffers => format!("pipelined with 2 buffers, {why}"),
        PipelineLoops::TwoBuffersAlwaysStored => {
            format!("pipelined with 2 buffers that are always stored to, {why}")
        }
        PipelineLoops::TwoBuffersAsync => {
            format!("pipelined with 2 buffers and asynchronous copies, {why}")
        }
        PipelineLoops::ThreeBuffers => format!("pipelined with 3 buffers, {why}"),
        PipelineLoops::ThreeBuffersStage => {
            format!("pipelined with 3 buffers and the stage ahead, {why}")
        }
        PipelineLoops::FourBuffers => format!("pipelined with 4 buffers, {why}"),
        PipelineLoops::Never | PipelineLoops::Auto => format!("not pipelined, {why}"),
    };
    Ok(Some(decided(form, &why, Some(compiled))))
}

/// Returns true if the arrays get three buffers.
fn has_three(form: PipelineLoops) -> bool {
    matches!(
        form,
        PipelineLoops::ThreeBuffers | PipelineLoops::ThreeBuffersStage
    )
}

/// Returns true if as many workgroups are resident with the workgroup memory that three buffers
/// take, or as many as the launch has. Two buffers show how much one takes.
fn fits_as_often(options: &Options, versions: &Versions<PipelineLoops>) -> bool {
    let entries = |wanted| {
        let found = versions.find(|form| *form == wanted);
        found.map(Output::entries)
    };
    let given = entries(PipelineLoops::Never);
    let (Some(given), Some(two)) = (given, entries(PipelineLoops::TwoBuffers)) else {
        return false;
    };
    let most = options.deciding_launch().and_then(|launch| launch.resident);
    given.iter().zip(two).all(|(given, two)| {
        let [one, both] = [given, two].map(|entry| entry.abi.shared_memory_bytes);
        if one >= both {
            return true; // none of its loops has more buffers
        }
        let all = both.saturating_add(both - one);
        let resident = |bytes| given.workgroups_with(bytes, options.target);
        let (Some(now), Some(then)) = (resident(one), resident(all)) else {
            return false;
        };
        then >= most.map_or(now, |most| now.min(most))
    })
}

/// Returns true if a loop of the module can be pipelined, in whatever way.
pub(crate) fn can_be_pipelined(bytes: &[u8], options: &Options) -> bool {
    !forms(bytes, options).is_empty()
}

/// The ways to pipeline the loops of a module that make different modules of it, none if the pass
/// finds no loop. Of a module that it refuses, the compilation says what is wrong.
fn forms(bytes: &[u8], options: &Options) -> Vec<PipelineLoops> {
    let (spec, size) = (&options.spec, options.workgroup_size);
    let slots = SourceSlots::default();
    let Ok(source) = Source::read(&slots, bytes, spec, size, &mut ()) else {
        return Vec::new();
    };
    let mut found: Vec<(PipelineLoops, Vec<u8>)> = Vec::new();
    // Asynchronous copies make the same module as the first one of loops that do more than copy.
    let forms = [
        PipelineLoops::TwoBuffers,
        PipelineLoops::TwoBuffersAlwaysStored,
        PipelineLoops::OneBuffer,
        PipelineLoops::TwoBuffersAsync,
        PipelineLoops::ThreeBuffers,
        PipelineLoops::ThreeBuffersStage,
    ];
    let has_copies = copies_to_workgroup_memory(options.target);
    for form in forms {
        if form == PipelineLoops::TwoBuffersAsync && !has_copies {
            continue;
        }
        let steps = pipelining(&Options {
            pipeline_loops: form,
            ..options.clone()
        });
        let settings = Settings::default();
        let Ok(done) = rewrite(source.declarations, &steps, settings, &mut |_, _| ()) else {
            continue;
        };
        let name = PIPELINE_BARRIER_LOOPS.name;
        let is_changed = done.ran.iter().any(|ran| ran.name == name && ran.changed);
        if let Some(made) = done.edited.filter(|_| is_changed) {
            let bytes = made.module.to_bytes();
            if found.iter().all(|(_, other)| *other != bytes) {
                found.push((form, bytes));
            }
        }
    }
    found.into_iter().map(|(form, _)| form).collect()
}
