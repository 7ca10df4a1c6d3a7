//! Whether the loops of a module are pipelined, where the options leave that open.
//!
//! The module is compiled with its loops pipelined and without. They are pipelined if an entry
//! point is expected to take fewer cycles with that, and none is expected to take more.

use super::expected::Expected;
use super::output::Output;
use super::request::Request;
use super::select::Expect;
use super::source::{Source, SourceSlots};
use super::split::pipelining;
use crate::failure::Failure;
use crate::options::{Options, PipelineLoops};
use splitbar_passes::pipeline::{Settings, rewrite};
use splitbar_passes::transform::registry::PIPELINE_BARRIER_LOOPS;

/// What is decided about loops.
pub(super) struct Decided {
    /// The options, with an answer.
    pub(super) options: Options,
    /// Why it is this one.
    pub(super) why: String,
}

/// Decides about the loops of a module; `None` where the options say what becomes of them.
/// `compile` compiles the module by other options.
///
/// # Errors
/// What keeps the module from being compiled as it is.
pub(super) fn decide(
    request: Request<'_>,
    expect: Expect,
    compile: impl Fn(Request<'_>) -> Result<Output, Failure>,
) -> Result<Option<Decided>, Failure> {
    if request.options.pipeline_loops != PipelineLoops::Auto {
        return Ok(None);
    }
    let with = |pipeline_loops| Options {
        pipeline_loops,
        ..request.options.clone()
    };
    let decided = |pipeline_loops, why: &str| Decided {
        options: with(pipeline_loops),
        why: why.to_owned(),
    };
    let (never, two) = (PipelineLoops::Never, PipelineLoops::TwoBuffers);
    if !has_loops(request.with(&with(two))) {
        let why = "no loop can be pipelined";
        return Ok(Some(decided(never, why)));
    }
    let output = |pipeline_loops| {
        let options = Options {
            measure: true,
            ..with(pipeline_loops)
        };
        compile(request.with(&options))
    };
    let given = output(never)?;
    let Ok(pipelined) = output(two) else {
        let why = "with its loops pipelined the module cannot be compiled";
        return Ok(Some(decided(never, why)));
    };
    Ok(Some(match gain(&pipelined, &given, expect) {
        Ok(why) => decided(two, &format!("pipelined, {why}")),
        Err(why) => decided(never, &format!("not pipelined, {why}")),
    }))
}

/// Whether the pass finds a loop. Of a module that it refuses, the compilation says what is wrong.
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
fn gain(pipelined: &Output, given: &Output, expect: Expect) -> Result<String, String> {
    let mut gain = Err("nothing depends on it".to_owned());
    for index in 0..pipelined.entries().len() {
        let (own, other) = (expect(pipelined, index), expect(given, index));
        let beats = |one: &Expected, other| one.beats_version(other, "as it is");
        match beats(&own, &other) {
            Ok(why) => gain = Ok(why),
            Err(why) if beats(&other, &own).is_ok() => return Err(why),
            Err(why) => gain = gain.or(Err(why)),
        }
    }
    gain
}
