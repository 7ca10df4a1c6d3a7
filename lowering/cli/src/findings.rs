//! The findings of `splitbar sim` under all schedules, each once, as text and for programs.

use super::places::Places;
use super::problem::Problem;
use super::report;
use serde::Serialize;
use splitbar::Target;
use splitbar::simulate::machine::{CodeLocation, Finding, FindingKind, Lane, Schedule, Site};
use splitbar_passes::diagnostic::json::Place;
use splitbar_passes::printf::Printed;
use std::collections::BTreeMap;
use std::path::Path;

/// The run of one schedule.
pub(super) struct Ran {
    pub schedule: Schedule,
    pub findings: Vec<Finding>,
    pub notes: Vec<Finding>,
    /// The text that the kernel printed, if it prints.
    pub printed: Option<Printed>,
}

/// The findings and notes of all schedules, each pair of places once.
pub(super) struct Findings<'r> {
    ran: &'r [Ran],
    findings: Vec<Seen<'r>>,
    notes: Vec<Seen<'r>>,
    places: Places,
}

/// A finding, and the indices of the schedules that showed it.
struct Seen<'r> {
    finding: &'r Finding,
    schedules: Vec<u32>,
}

impl<'r> Findings<'r> {
    /// Those of the runs `ran`, of code that was made of `module`.
    pub(super) fn new(ran: &'r [Ran], module: Option<&[u8]>) -> Findings<'r> {
        let findings = distinct(ran.iter().map(|ran| &*ran.findings));
        let notes = distinct(ran.iter().map(|ran| &*ran.notes));
        let all = findings.iter().chain(&notes).map(|seen| seen.finding);
        let places = Places::of(module, words_of(all));
        Findings {
            ran,
            findings,
            notes,
            places,
        }
    }

    /// The findings and notes, and a line with their number; `steps` are the instructions of waves
    /// and of lanes in the last schedule.
    pub(super) fn text(&self, steps: (u64, u64)) -> String {
        let mut lines = String::new();
        for Seen { finding, schedules } in self.findings.iter().chain(&self.notes) {
            let first = schedules.first().and_then(|at| self.ran.get(*at as usize));
            let first = first.map_or_else(String::new, |ran| ran.schedule.to_string());
            let role = if finding.kind.is_note() { "note: " } else { "" };
            let finding = finding.text(&|word| self.places.text(word));
            lines.push_str(&format!(
                "{role}{finding}\n  seen under {} of {} schedules, first: {first}\n\n",
                schedules.len(),
                self.ran.len()
            ));
        }
        let and_notes = match self.notes.len() {
            0 => String::new(),
            1 => " and 1 note".to_owned(),
            count => format!(" and {count} notes"),
        };
        let (waves, lanes) = steps;
        lines.push_str(&format!(
            "{} findings{and_notes} under {} schedules; {waves} wave instructions and \
             {lanes} lane instructions in the last one\n",
            self.findings.len(),
            self.ran.len()
        ));
        lines
    }

    /// One object.
    pub(super) fn json(&self, target: &'static Target) -> Vec<u8> {
        let all = Object {
            target: target.name,
            schedules: self.ran.iter().map(Scheduled::from).collect(),
            findings: self.found(&self.findings),
            notes: self.found(&self.notes),
        };
        // Serialising plain structs has no way to fail: no maps, no foreign impls.
        let mut text = serde_json::to_vec_pretty(&all).unwrap_or_default();
        text.push(b'\n');
        text
    }

    fn found<'s>(&'s self, seen: &'s [Seen<'r>]) -> Vec<Found<'s>> {
        seen.iter()
            .map(|one| Found::new(one.finding, &one.schedules, &self.places))
            .collect()
    }

    /// The list of findings and notes in the file `input`.
    pub(super) fn problems(&self, input: &Path, target: &'static Target) -> Vec<Problem> {
        let file = report::name(input);
        let place = |word| self.places.location(word);
        self.findings
            .iter()
            .chain(&self.notes)
            .map(|Seen { finding, schedules }| {
                Problem::of_finding(finding, &file, target.name, schedules, place)
            })
            .collect()
    }
}

/// The words of the instructions of findings.
pub(super) fn words_of<'f>(
    findings: impl IntoIterator<Item = &'f Finding>,
) -> impl Iterator<Item = u32> {
    findings.into_iter().flat_map(|finding| {
        let other = finding.other.as_ref().and_then(|(_, place)| place.word);
        finding.place.word.into_iter().chain(other)
    })
}

/// The findings of all schedules, each pair of places once in the order in which they were seen.
fn distinct<'r>(runs: impl Iterator<Item = &'r [Finding]>) -> Vec<Seen<'r>> {
    let mut all: Vec<Seen<'r>> = Vec::new();
    let mut known: BTreeMap<(FindingKind, u32, Option<u32>), usize> = BTreeMap::new();
    for (findings, index) in runs.zip(0..) {
        for finding in findings {
            let at = *known.entry(finding.key()).or_insert(all.len());
            match all.get_mut(at) {
                Some(seen) if seen.schedules.last() == Some(&index) => {}
                Some(seen) => seen.schedules.push(index),
                None => all.push(Seen {
                    finding,
                    schedules: vec![index],
                }),
            }
        }
    }
    all
}

/// The output of `sim --format json`.
#[derive(Serialize)]
struct Object<'p> {
    target: &'static str,
    /// In the order in which they ran; findings name them by their index.
    schedules: Vec<Scheduled>,
    findings: Vec<Found<'p>>,
    notes: Vec<Found<'p>>,
}

/// One schedule.
#[derive(Serialize)]
struct Scheduled {
    schedule: String,
    seed: u64,
    /// Not there for kernels that do not print.
    #[serde(skip_serializing_if = "Option::is_none")]
    printed: Option<Text>,
}

impl From<&Ran> for Scheduled {
    fn from(ran: &Ran) -> Scheduled {
        Scheduled {
            schedule: ran.schedule.to_string(),
            seed: ran.schedule.seed,
            printed: ran.printed.as_ref().map(|printed| Text {
                text: String::from_utf8_lossy(&printed.text).into_owned(),
                missed: printed.missed,
                damaged: printed.damaged,
            }),
        }
    }
}

/// The text that a kernel printed. Bytes that are no UTF-8 are replaced.
#[derive(Serialize)]
struct Text {
    text: String,
    /// Bytes of records without room.
    missed: u64,
    /// Where the buffer is damaged.
    damaged: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct Found<'p> {
    code: String,
    kind: &'static str,
    message: String,
    at: Where<'p>,
    against: Option<Where<'p>>,
    /// The schedules that showed it; not there for an estimate, which has none.
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    schedules: &'p [u32],
}

#[derive(Serialize)]
struct Where<'p> {
    address: u64,
    instruction: String,
    word: Option<u32>,
    workgroup: u32,
    wave: u16,
    lane: Option<u32>,
    /// The place of the SPIR-V instruction.
    place: Option<Place<'p>>,
}

impl<'p> Found<'p> {
    /// A finding that `schedules` showed.
    pub(super) fn new(finding: &Finding, schedules: &'p [u32], places: &'p Places) -> Found<'p> {
        let other = finding.other.as_ref();
        Found {
            code: finding.kind.to_string(),
            kind: finding.kind.summary(),
            message: finding.message.clone(),
            at: Where::new(&finding.site, &finding.place, places),
            against: other.map(|(site, place)| Where::new(site, place, places)),
            schedules,
        }
    }
}

impl<'p> Where<'p> {
    fn new(site: &Site, place: &CodeLocation, places: &'p Places) -> Where<'p> {
        Where {
            address: place.address,
            instruction: place.text.clone(),
            word: place.word,
            workgroup: site.group,
            wave: site.wave,
            lane: site.lane.map(Lane::number),
            place: places.json(place.word),
        }
    }
}
