//! `splitbar sim --timing`: an estimate of how long the launch would take, for people and programs.

use super::findings::Found;
use super::places::Places;
use serde::Serialize;
use splitbar::Target;
use splitbar::simulate::estimate::{BarrierTime, Estimate, ResidentSource};
use splitbar_passes::diagnostic::json::Place;

/// The estimate as JSON has it.
#[derive(Serialize)]
struct Shown<'e> {
    target: &'static str,
    estimate: &'e Estimate,
    barriers: Vec<ShownBarrier<'e>>,
    /// The findings of the simulator in the run.
    findings: Vec<Found<'e>>,
}

/// A barrier and its place.
#[derive(Serialize)]
struct ShownBarrier<'e> {
    #[serde(flatten)]
    time: &'e BarrierTime,
    place: Option<Place<'e>>,
}

/// The estimate as JSON.
pub(super) fn json(
    estimate: &Estimate,
    barriers: &[BarrierTime],
    places: &Places,
    target: &Target,
) -> Vec<u8> {
    let barriers = barriers.iter().map(|time| ShownBarrier {
        time,
        place: places.json(time.word),
    });
    let shown = Shown {
        target: target.name,
        estimate,
        barriers: barriers.collect(),
        findings: estimate
            .findings
            .iter()
            .map(|finding| Found::new(finding, &[], places))
            .collect(),
    };
    // Serialising plain structs has no way to fail: no maps, no foreign impls.
    let mut text = serde_json::to_vec_pretty(&shown).unwrap_or_default();
    text.push(b'\n');
    text
}

/// The range of an estimate that has one.
pub(super) fn range(estimate: &Estimate) -> String {
    match estimate.range {
        Some([least, most]) => {
            format!(" ({least} to {most}: the figures of the GPU are estimates)")
        }
        None => String::new(),
    }
}

/// How it is known how many workgroups are resident at once.
pub(super) fn resident(estimate: &Estimate) -> String {
    let limiter = estimate.limiter.as_deref().unwrap_or("--resident");
    match estimate.resident_source {
        ResidentSource::Requested => "set by --resident".to_owned(),
        ResidentSource::Estimated => format!("estimated maximum, limited by {limiter}"),
        _ => format!("the maximum, limited by {limiter}"),
    }
}

/// The name of the part of a GPU that an estimate is about.
pub(super) fn unit(target: &Target) -> &'static str {
    match (target.nvptx(), target.default_wave_size()) {
        (Some(_), _) => "multiprocessor",
        (None, 32) => "WGP",
        (None, _) => "compute unit",
    }
}

/// The estimate as text.
pub(super) fn text(
    estimate: &Estimate,
    barriers: &[BarrierTime],
    places: &Places,
    target: &Target,
) -> String {
    let unit = unit(target);
    let [near, far, memory] = estimate.lines;
    let mut text = format!(
        "estimate: {} cycles{} for {} workgroups of {} waves on one {unit} of {}, {} resident ({})\n\
         {} wave instructions, {:.1} % of the issue slots; cache lines loaded: {near} from its own cache, {far} from the shared one, {memory} from memory\n",
        estimate.cycles,
        range(estimate),
        estimate.workgroups,
        estimate.waves,
        target.name,
        estimate.resident,
        resident(estimate),
        estimate.issued,
        100.0 * estimate.utilisation,
    );
    if !barriers.is_empty() {
        text.push_str("\ncycles at the barriers, summed over all waves:\n");
        text.push_str(&format!(
            "{:>8} {:>10} {:>12} {:>12}  barrier\n",
            "word", "issued", "cycles", "stalled"
        ));
    }
    for barrier in barriers {
        let word = barrier.word.map_or("-".to_owned(), |word| word.to_string());
        text.push_str(&format!(
            "{word:>8} {:>10} {:>12} {:>12}  {}\n",
            barrier.issued, barrier.cycles, barrier.stalled, barrier.what
        ));
        if let Some(place) = barrier.word.and_then(|word| places.source(word)) {
            text.push_str(&format!("{:>48}{place}\n", ""));
        }
    }
    text
}
