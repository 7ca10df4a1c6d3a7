//! The choice whether the loops of a module are pipelined, where the options leave it open.
//!
//! The module is compiled with its loops pipelined and without. They are pipelined if an entry
//! point is expected to take fewer cycles with that, and none is expected to take more.

use super::expected::{By, Expected, expected_times};
use super::output::Output;
use super::recorder::{Artefacts, Recorder};
use super::request::Request;
use super::select::Expect;
use super::source::{Source, SourceSlots};
use super::split::pipelining;
use crate::failure::Failure;
use crate::options::{Options, PipelineLoops};
use crate::stage::Observer;
use splitbar_passes::pipeline::{Settings, rewrite};
use splitbar_passes::transform::registry::PIPELINE_BARRIER_LOOPS;

/// The decision about the loops of a module.
pub(super) struct Decided {
    /// The options, with an answer.
    pub(super) options: Options,
    /// Why it is this one.
    pub(super) why: String,
    /// The version that was compiled to decide, measured, with the artefacts of its stages; `None`
    /// where nothing was compiled.
    pub(super) compiled: Option<(Output, Artefacts)>,
}

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
    let (never, two) = (PipelineLoops::Never, PipelineLoops::TwoBuffers);
    if !has_loops(request.with(&with(two))) {
        let why = "no loop can be pipelined";
        return Ok(Some(decided(never, why, None)));
    }
    let mut version = |pipeline_loops| {
        let options = Options {
            measure: true,
            ..with(pipeline_loops)
        };
        let output = compile(request.with(&options), observer);
        let artefacts = observer.take();
        Ok::<_, Failure>((output?, artefacts))
    };
    let given = version(never)?;
    let Ok(pipelined) = version(two) else {
        let why = "with its loops pipelined the module cannot be compiled";
        return Ok(Some(decided(never, why, Some(given))));
    };
    let by = By::from_options(request.options);
    Ok(Some(match gain(&pipelined.0, &given.0, expect, by) {
        Ok(why) => decided(two, &format!("pipelined, {why}"), Some(pipelined)),
        Err(why) => decided(never, &format!("not pipelined, {why}"), Some(given)),
    }))
}

/// Returns true if the pass finds a loop. Of a module that it refuses, the compilation says what is
/// wrong.
fn has_loops(request: Request<'_>) -> bool {
    let options = request.options;
    let (spec, size) = (&options.spec, options.workgroup_size);
    let slots = SourceSlots::default();
    let Ok(source) = Source::read(&slots, request.bytes, spec, size, &mut ()) else {
        return false;
    };
    let steps = pipelining(options);
    let rewritten = rewrite(
        source.declarations,
        &steps,
        Settings::default(),
        &mut |_, _| (),
    );
    let name = PIPELINE_BARRIER_LOOPS.name;
    rewritten.is_ok_and(|done| done.ran.iter().any(|ran| ran.name == name && ran.changed))
}

/// Why the pipelined version is taken.
///
/// # Errors
/// Why it is not.
fn gain(pipelined: &Output, given: &Output, expect: Expect, by: By<'_>) -> Result<String, String> {
    let mut gain = Err("nothing depends on it".to_owned());
    for index in 0..pipelined.entries().len() {
        let versions = [pipelined, given];
        let found = expected_times(&versions, by, |one, by| expect(one, index, by));
        let [own, other] = found.as_slice() else {
            continue; // of two versions
        };
        let beats = |one: &Expected, other| one.beats_version(other, "as it is");
        match beats(own, other) {
            Ok(why) => gain = Ok(why),
            Err(why) if beats(other, own).is_ok() => return Err(why),
            Err(why) => gain = gain.or(Err(why)),
        }
    }
    gain
}
