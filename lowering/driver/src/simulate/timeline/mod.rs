//! A timeline of a run: what each wave did when.
//!
//! ```text
//! code, barriers of the module --> Code: the barrier of each instruction --+
//! run --> Observed: issues, arrivals, passes, in time ---------------------+--> Recorder --> Timeline --> trace events
//! ```
//!
//! A wave has one track. Its slices are on two levels: spans of barriers (the arrive, the window,
//! the wait) and, nested in them or between them, what the wave did in each cycle. The number of
//! slices, completions and samples is limited: a timeline that reaches the limit says where it is
//! cut off.

mod code;
mod picture;
mod recorder;
mod spans;
mod trace_events;

pub(super) use code::{Code, barrier_words};
pub(super) use recorder::Recorder;
pub use trace_events::{Origin, Unit as TimelineUnit};

use crate::compile::Entry;
use code::Kind;
use splitbar_passes::analysis::pairing::SiteKind;
use splitbar_sim::{CodeLocation, FindingKind, WaveId};
use std::collections::BTreeMap;

/// A request to record a run.
#[derive(Clone, Debug)]
pub(super) struct Recording {
    /// The barriers of the module that the code came from; `None` where it came from none.
    pub words: Option<BTreeMap<u32, Kind>>,
}

impl Recording {
    /// Of code that came from `module`, or from no module.
    pub(super) fn new(module: Option<&[u8]>) -> Recording {
        Recording {
            words: module.map(barrier_words),
        }
    }

    /// Of the code of `entry`, whose barriers may come from instructions that are none: passes
    /// split barriers and pipeline loops.
    pub(super) fn of_entry(entry: &Entry) -> Recording {
        let sites = entry.plan.sites.iter().zip(&entry.source_sites);
        let words = sites.filter_map(|(site, word)| {
            let kind = match site.kind {
                SiteKind::Arrive => Kind::Arrive,
                SiteKind::Wait => Kind::Wait,
                SiteKind::ControlBarrier => Kind::Full,
                SiteKind::MemoryBarrier => return None,
            };
            Some((word.as_ref()?.get(), kind))
        });
        Recording {
            words: Some(words.collect()),
        }
    }
}

/// The most slices, completions and samples that a timeline keeps.
pub const MOST_EVENTS: usize = 1 << 19;

/// The doings of each wave of a run. Times are in cycles of the unit, or in steps of the machine
/// where a schedule chooses who goes on.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Timeline {
    /// The waves, in the order in which they began.
    pub tracks: Vec<Track>,
    /// The slices of the waves: by track, then by time, and those that contain others first.
    pub slices: Vec<Slice>,
    /// The waves that completed a phase for which another wave waited.
    pub completions: Vec<Completion>,
    /// The number of outstanding loads, with the times of its changes.
    pub loads: Vec<(u64, u32)>,
    /// The number of resident waves, with the times of its changes.
    pub waves: Vec<(u64, u32)>,
    /// The places of findings. A timeline of steps ends with the first one that is not a note.
    pub marks: Vec<Mark>,
    /// The time from which on nothing is recorded, because the timeline is full.
    pub cut_off: Option<u64>,
    /// The instructions of the code.
    pub places: Vec<CodeLocation>,
}

/// A wave.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Track {
    /// The wave.
    pub wave: WaveId,
    /// When it began.
    pub began: u64,
    /// When it ended, or the recording.
    pub ended: u64,
}

/// A part of the time of one wave.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slice {
    /// The wave, by its place in [`Timeline::tracks`].
    pub track: u32,
    /// Its first cycle.
    pub from: u64,
    /// The first cycle after it; later than `from`.
    pub until: u64,
    /// The kind of the slice.
    pub kind: SliceKind,
    /// The instruction, by its place in [`Timeline::places`]: the first one that is issued; for a
    /// wave that waits the one that it waits with.
    pub pc: u32,
    /// Instructions that are issued in it.
    pub instructions: u32,
}

/// The doing of a wave for a time.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SliceKind {
    /// From the end of an arrive to the start of its wait.
    Window,
    /// A window that ends while another goes on that began in it, so that the two do not nest.
    CrossingWindow,
    /// The instructions of an arrive.
    Arrive,
    /// The instructions of a wait, and the time that the wave waits there.
    Wait,
    /// A full barrier: an arrive and a wait in one.
    Full,
    /// It issues, or waits some cycles for a result of its own or for a unit.
    Issue,
    /// It waits for memory.
    Memory,
    /// It waits for others at a barrier.
    Stalled,
    /// It sleeps.
    Sleep,
}

impl SliceKind {
    /// Returns true for spans of barriers, which contain the others.
    pub fn is_span(self) -> bool {
        match self {
            SliceKind::Window
            | SliceKind::CrossingWindow
            | SliceKind::Arrive
            | SliceKind::Wait
            | SliceKind::Full => true,
            SliceKind::Issue | SliceKind::Memory | SliceKind::Stalled | SliceKind::Sleep => false,
        }
    }

    /// The name that people read.
    pub fn name(self) -> &'static str {
        match self {
            SliceKind::Window | SliceKind::CrossingWindow => "window",
            SliceKind::Arrive => "arrive",
            SliceKind::Wait => "wait",
            SliceKind::Full => "full barrier",
            SliceKind::Issue => "issue",
            SliceKind::Memory => "memory",
            SliceKind::Stalled => "waiting at a barrier",
            SliceKind::Sleep => "sleep",
        }
    }
}

/// A place where a problem was found.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mark {
    /// The problem.
    pub kind: FindingKind,
    /// The track, and the time.
    pub at: (u32, u64),
    /// The instruction.
    pub pc: u32,
    /// The track, the time and the instruction of the other access, where two are involved and the
    /// timeline has it.
    pub against: Option<(u32, u64, u32)>,
}

/// The last arrival of a phase, and a wave that goes on because of it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completion {
    /// The track of the wave that arrived last, and the cycle in which it did, which lies in its
    /// arrive or full barrier.
    pub from: (u32, u64),
    /// The track of a wave that waited for it, and a cycle of its wait or full barrier.
    pub to: (u32, u64),
}
