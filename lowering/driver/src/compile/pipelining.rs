//! The choice whether the loops of a module are pipelined, where the options leave it open.
//!
//! The module is compiled as it is and with its loops pipelined, with one buffer, with two, and
//! with asynchronous copies where the target has instructions for that. A pipelined version is
//! taken if an entry point is expected to take fewer cycles with it, and none is expected to take
//! more; of several such versions the one that takes the fewest.

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
use splitbar_plan::copies_to_workgroup_memory;

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
    let never = PipelineLoops::Never;
    let forms = forms(request, with);
    if forms.is_empty() {
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
    let mut versions = vec![(never, version(never)?)];
    for form in forms {
        versions.extend(version(form).ok().map(|version| (form, version)));
    }
    if versions.len() == 1 {
        let why = "the module cannot be compiled with pipelined loops";
        let given = versions.pop().map(|(_, given)| given);
        return Ok(Some(decided(never, why, given)));
    }
    let by = By::from_options(request.options);
    let outputs: Vec<&Output> = versions.iter().map(|(_, (output, _))| output).collect();
    let (chosen, why) = choose(&outputs, expect, by);
    let (form, compiled) = versions.swap_remove(chosen);
    let why = match form {
        PipelineLoops::OneBuffer => format!("pipelined with 1 buffer, {why}"),
        PipelineLoops::TwoBuffers => format!("pipelined with 2 buffers, {why}"),
        PipelineLoops::TwoBuffersAlwaysStored => {
            format!("pipelined with 2 buffers that are always stored to, {why}")
        }
        PipelineLoops::TwoBuffersAsync => {
            format!("pipelined with 2 buffers and asynchronous copies, {why}")
        }
        PipelineLoops::Never | PipelineLoops::Auto => format!("not pipelined, {why}"),
    };
    Ok(Some(decided(form, &why, Some(compiled))))
}

/// The ways to pipeline the loops of a module that make different modules of it, none if the pass
/// finds no loop. Of a module that it refuses, the compilation says what is wrong.
fn forms(request: Request<'_>, with: impl Fn(PipelineLoops) -> Options) -> Vec<PipelineLoops> {
    let options = request.options;
    let (spec, size) = (&options.spec, options.workgroup_size);
    let slots = SourceSlots::default();
    let Ok(source) = Source::read(&slots, request.bytes, spec, size, &mut ()) else {
        return Vec::new();
    };
    let mut found: Vec<(PipelineLoops, Vec<u8>)> = Vec::new();
    // The last one makes the same module as the first one of loops that do more than copy.
    let forms = [
        PipelineLoops::TwoBuffers,
        PipelineLoops::TwoBuffersAlwaysStored,
        PipelineLoops::OneBuffer,
        PipelineLoops::TwoBuffersAsync,
    ];
    let has_copies = copies_to_workgroup_memory(options.target);
    for form in forms {
        if form == PipelineLoops::TwoBuffersAsync && !has_copies {
            continue;
        }
        let steps = pipelining(&with(form));
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

/// The version that is taken of a module as it is, the first one, and pipelined, the others: its
/// index, and why.
fn choose(versions: &[&Output], expect: Expect, by: By<'_>) -> (usize, String) {
    let entries = versions.first().map_or(0, |given| given.entries().len());
    let times: Vec<Vec<Expected>> = (0..entries)
        .map(|index| expected_times(versions, by, |one, by| expect(one, index, by)))
        .collect();
    let of = |version: usize| -> Vec<[&Expected; 2]> {
        let pairs = times
            .iter()
            .map(|entry| [entry.get(version), entry.first()]);
        pairs
            .filter_map(|[own, given]| Some([own?, given?]))
            .collect()
    };
    let mut forms: Vec<(usize, f64, Result<String, String>)> = (1..versions.len())
        .map(|version| {
            let times = of(version);
            (version, time_of_given(&times), gain(&times))
        })
        .collect();
    // The fastest of those that gain, else the fastest.
    forms.sort_by(|(_, one, gain), (_, other, others)| {
        let is_worse = gain.is_err().cmp(&others.is_err());
        is_worse.then(one.total_cmp(other))
    });
    match forms.into_iter().next() {
        Some((version, _, Ok(why))) => (version, why),
        Some((_, _, Err(why))) => (0, why),
        None => (0, String::new()),
    }
}

/// The product of the times of entry points over those of the same ones as they are.
fn time_of_given(times: &[[&Expected; 2]]) -> f64 {
    let ratios = times.iter().filter_map(|[own, given]| own.over(given));
    ratios.product()
}

/// Why a pipelined version is taken, of the times of its entry points and of the same ones as they
/// are.
///
/// # Errors
/// Why it is not.
fn gain(times: &[[&Expected; 2]]) -> Result<String, String> {
    let mut gain = Err("nothing depends on it".to_owned());
    for [own, given] in times {
        let beats = |one: &Expected, other| one.beats_version(other, "as it is");
        match beats(own, given) {
            Ok(why) => gain = Ok(why),
            Err(why) if beats(given, own).is_ok() => return Err(why),
            Err(why) => gain = gain.or(Err(why)),
        }
    }
    gain
}
