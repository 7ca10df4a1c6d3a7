//! A timeline as trace events, the JSON that Perfetto and Chrome read. Source: "Trace Event
//! Format", Google, the JSON object format.

use super::{Mark, Slice, SliceKind, Timeline, Track};
use serde::Serialize;
use splitbar_sim::CodeLocation;
use std::collections::BTreeSet;

/// The unit of times. One is one microsecond of the format.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Cycles of the unit that runs the waves.
    Cycles,
    /// Steps of the machine: instructions of all waves together.
    Steps,
}

impl Unit {
    /// The word for one.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Cycles => "cycle",
            Unit::Steps => "step",
        }
    }
}

/// The position in the source of a word of the module, as text.
type SourceOf<'o> = &'o dyn Fn(u32) -> Option<String>;

/// The run that a timeline is of.
#[derive(Copy, Clone)]
pub struct Origin<'o> {
    /// The unit of its times.
    pub unit: Unit,
    /// The unit that runs the waves: the name of the process.
    pub process: &'o str,
    /// The GPU.
    pub target: &'o str,
    /// The schedule, if it ran under one.
    pub schedule: Option<&'o str>,
    /// The position in the source of a word of the module, if there is one.
    pub source: &'o dyn Fn(u32) -> Option<String>,
}

/// The file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'t> {
    display_time_unit: &'static str,
    other_data: OtherData<'t>,
    trace_events: Vec<Event<'t>>,
}

#[derive(Serialize)]
struct OtherData<'t> {
    producer: &'static str,
    unit: &'static str,
    /// The meaning of a microsecond of the format.
    one_microsecond_is: &'static str,
    target: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<&'t str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_off_at: Option<u64>,
}

/// An event. All are of one process.
#[derive(Default, Serialize)]
struct Event<'t> {
    ph: &'static str,
    pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    tid: Option<u32>,
    ts: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<u64>,
    name: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u32>,
    /// Where a flow ends: at the slice that encloses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    /// How far an instant event reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Args<'t>>,
}

/// The arguments of an event.
#[derive(Serialize)]
#[serde(untagged)]
enum Args<'t> {
    Name {
        name: String,
    },
    Order {
        sort_index: u32,
    },
    Count {
        count: u32,
    },
    Finding {
        code: String,
        summary: &'static str,
        /// `at`, or `against` for the other access.
        role: &'static str,
        instruction: String,
        address: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        word: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<String>,
    },
    Slice {
        #[serde(skip_serializing_if = "Option::is_none")]
        instructions: Option<u32>,
        instruction: &'t str,
        address: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        word: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<String>,
    },
}

/// The process of all events.
const PROCESS: u32 = 1;

/// The thread of a track, and of its windows that cross others.
fn thread(track: u32, slice: SliceKind) -> u32 {
    1 + 2 * track + u32::from(slice == SliceKind::CrossingWindow)
}

impl Timeline {
    /// The timeline of a `run` as JSON of trace events: one process with one thread for each wave;
    /// barriers that are completed are flows, outstanding loads and resident waves are counters.
    pub fn trace_events(&self, run: &Origin<'_>) -> Vec<u8> {
        let Origin {
            unit,
            process,
            target,
            schedule,
            source,
        } = *run;
        let mut events = vec![named("process_name", None, process.to_owned())];
        let crossing = self.slices.iter();
        let crossing = crossing.filter(|slice| slice.kind == SliceKind::CrossingWindow);
        let crossing: BTreeSet<u32> = crossing.map(|slice| slice.track).collect();
        for (track, index) in self.tracks.iter().zip(0..) {
            name_thread(&mut events, track, index, crossing.contains(&index));
        }
        let none = CodeLocation::default();
        for slice in &self.slices {
            let place = self.places.get(slice.pc as usize).unwrap_or(&none);
            events.push(shown(slice, place, source));
        }
        for (completion, id) in self.completions.iter().zip(1..) {
            let ends = [("s", completion.from), ("f", completion.to)];
            events.extend(ends.map(|(ph, (track, ts))| Event {
                ph,
                pid: PROCESS,
                tid: Some(thread(track, SliceKind::Wait)),
                ts,
                name: "completes",
                cat: Some("barrier"),
                id: Some(id),
                bp: (ph == "f").then_some("e"),
                ..Event::default()
            }));
        }
        let first = self.completions.len() as u32 + 1;
        for (mark, id) in self.marks.iter().zip(first..) {
            events.extend(self.marked(mark, id, source));
        }
        let counters = [
            ("outstanding loads", &self.loads),
            ("resident waves", &self.waves),
        ];
        for (name, samples) in counters {
            events.extend(samples.iter().map(|(ts, count)| Event {
                ph: "C",
                pid: PROCESS,
                ts: *ts,
                name,
                args: Some(Args::Count { count: *count }),
                ..Event::default()
            }));
        }
        if let Some(ts) = self.cut_off {
            events.push(Event {
                ph: "i",
                pid: PROCESS,
                ts,
                name: "cut off here: the timeline is full",
                s: Some("g"),
                ..Event::default()
            });
        }
        let document = Document {
            display_time_unit: "ns",
            other_data: OtherData {
                producer: "splitbar",
                unit: unit.name(),
                one_microsecond_is: match unit {
                    Unit::Cycles => "one cycle",
                    Unit::Steps => "one step",
                },
                target,
                schedule,
                cut_off_at: self.cut_off,
            },
            trace_events: events,
        };
        // Serialising plain structs has no way to fail: no maps, no foreign impls.
        let mut text = serde_json::to_vec(&document).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

impl Timeline {
    /// Events of a finding: an instant at the wave that it is about, one at the other access, and a
    /// flow with the number `id` from there.
    fn marked(&self, mark: &Mark, id: u32, source: SourceOf<'_>) -> Vec<Event<'_>> {
        let none = CodeLocation::default();
        let instruction = |pc: u32| self.places.get(pc as usize).unwrap_or(&none).clone();
        let (track, ts) = mark.at;
        let on = |track: u32, ts: u64, ph: &'static str| Event {
            ph,
            pid: PROCESS,
            tid: Some(thread(track, SliceKind::Issue)),
            ts,
            cat: Some("finding"),
            ..Event::default()
        };
        let found = |pc: u32, role: &'static str| Args::Finding {
            code: mark.kind.to_string(),
            summary: mark.kind.summary(),
            role,
            instruction: instruction(pc).text.trim().to_owned(),
            address: instruction(pc).address,
            word: instruction(pc).word,
            source: instruction(pc).word.and_then(source),
        };
        let mut events = vec![Event {
            name: "finding",
            s: Some("t"),
            args: Some(found(mark.pc, "at")),
            ..on(track, ts, "i")
        }];
        if let Some((other, since, pc)) = mark.against {
            events.push(Event {
                name: "finding: against",
                s: Some("t"),
                args: Some(found(pc, "against")),
                ..on(other, since, "i")
            });
            let ends = [("s", other, since), ("f", track, ts)];
            events.extend(ends.map(|(ph, track, ts)| Event {
                name: "conflicts",
                id: Some(id),
                bp: (ph == "f").then_some("e"),
                ..on(track, ts, ph)
            }));
        }
        events
    }
}

/// Names the thread of a wave, and the one of its windows that cross others, if it has any.
fn name_thread(events: &mut Vec<Event<'_>>, track: &Track, index: u32, crosses: bool) {
    let name = format!("workgroup {} wave {}", track.wave.group, track.wave.wave);
    let mut threads = vec![(SliceKind::Wait, name.clone())];
    if crosses {
        threads.push((
            SliceKind::CrossingWindow,
            format!("{name}, windows that cross"),
        ));
    }
    for (kind, name) in threads {
        let tid = thread(index, kind);
        events.push(named("thread_name", Some(tid), name));
        events.push(Event {
            args: Some(Args::Order { sort_index: tid }),
            ..metadata("thread_sort_index", Some(tid))
        });
    }
}

fn metadata<'t>(name: &'t str, tid: Option<u32>) -> Event<'t> {
    Event {
        ph: "M",
        pid: PROCESS,
        tid,
        name,
        ..Event::default()
    }
}

fn named<'t>(what: &'t str, tid: Option<u32>, name: String) -> Event<'t> {
    Event {
        args: Some(Args::Name { name }),
        ..metadata(what, tid)
    }
}

fn shown<'t>(slice: &Slice, place: &'t CodeLocation, source: SourceOf<'_>) -> Event<'t> {
    Event {
        ph: "X",
        pid: PROCESS,
        tid: Some(thread(slice.track, slice.kind)),
        ts: slice.from,
        dur: Some(slice.until - slice.from),
        name: slice.kind.name(),
        cat: Some(if slice.kind.is_span() {
            "barrier"
        } else {
            "wave"
        }),
        args: Some(Args::Slice {
            instructions: (slice.instructions > 0).then_some(slice.instructions),
            instruction: place.text.trim(),
            address: place.address,
            word: place.word,
            source: place.word.and_then(source),
        }),
        ..Event::default()
    }
}
