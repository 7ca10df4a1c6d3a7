//! `splitbar sim --trace`: what each wave did when, as trace events or as a picture.

use super::places::Places;
use super::{estimate, write};
use splitbar::Target;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::timeline::{Origin, Timeline, TimelineUnit};
use std::path::Path;

/// Writes a timeline on `target` to a file: of a run under `schedule`, or of an estimate. `module`
/// is the module that the code was compiled from, if there is one. A file whose name ends in `.svg`
/// gets a picture.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(
    file: &Path,
    timeline: &Timeline,
    target: &Target,
    schedule: Option<Schedule>,
    module: Option<&[u8]>,
) -> Result<(), String> {
    let process = format!("{} {}", target.name, estimate::unit(target));
    let schedule = schedule.map(|schedule| schedule.to_string());
    let unit = match schedule {
        Some(_) => TimelineUnit::Steps,
        None => TimelineUnit::Cycles,
    };
    let words = timeline.places.iter().filter_map(|place| place.word);
    let places = Places::of(module, words);
    let run = Origin {
        unit,
        process: &process,
        target: target.name,
        schedule: schedule.as_deref(),
        source: &|word| places.source(word),
    };
    let is_picture = file.extension().is_some_and(|kind| kind == "svg");
    let bytes = if is_picture {
        timeline.svg(&run).into_bytes()
    } else {
        timeline.trace_events(&run)
    };
    write::to_file(file, &bytes)?;
    if let Some(at) = timeline.cut_off {
        let name = unit.name();
        write::note(&format!("the trace is full: it is cut off at {name} {at}"));
    }
    Ok(())
}
