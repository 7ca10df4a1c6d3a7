//! Makes a timeline of what a run tells, as it happens.

use super::code::{Code, Role};
use super::spans::{Arrival, Closed, Run, Spans, Window};
use super::{Completion, MOST_EVENTS, Mark, Slice, SliceKind, Timeline, Track};
use splitbar_sim::barrier::Name;
use splitbar_sim::{Cause, FindingKind, Observed, Observer, WaveId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Listens to a run, and has its timeline.
#[derive(Debug)]
pub(crate) struct Recorder {
    code: Code,
    timeline: Timeline,
    waves: BTreeMap<WaveId, Wave>,
    groups: BTreeMap<u32, Group>,
    /// When loads that are outstanding are over.
    loads: BinaryHeap<Reverse<u64>>,
    /// Time between two instructions of which nothing else is known is time of the wave: it is not
    /// where others take steps.
    fills_gaps: bool,
    now: u64,
    /// When each wave issued each instruction last, where findings are marked; of so many as a
    /// timeline has events.
    last_issues: BTreeMap<(WaveId, u32), u64>,
    /// The run is over as far as the timeline goes: a finding was made.
    is_over: bool,
}

/// A wave that runs.
#[derive(Debug, Default)]
struct Wave {
    track: u32,
    /// When its last instruction let it go on.
    free: u64,
    /// Why it did not issue since.
    held: Vec<(u64, u64, Cause)>,
    /// Its slice that is not over.
    state: Option<Slice>,
    spans: Spans,
    /// Phases that it has passed of barriers that the machine does not know.
    phases: usize,
    /// It waits for others.
    is_blocked: bool,
}

/// A workgroup.
#[derive(Debug, Default)]
struct Group {
    waves: u32,
    /// Who completed the last phase of each barrier.
    completed: BTreeMap<Name, Arrival>,
    /// The last arrival of each phase of barriers that the machine does not know.
    last: Vec<Arrival>,
}

impl Recorder {
    /// Nothing yet of a run of `code`. `fills_gaps`: its times are cycles, in which a wave does
    /// something else than to let others take steps.
    pub(crate) fn new(code: Code, fills_gaps: bool) -> Recorder {
        Recorder {
            code,
            timeline: Timeline::default(),
            waves: BTreeMap::new(),
            groups: BTreeMap::new(),
            loads: BinaryHeap::new(),
            fills_gaps,
            now: 0,
            last_issues: BTreeMap::new(),
            is_over: false,
        }
    }

    /// The timeline of the run, which is over.
    pub(crate) fn finish(mut self) -> Timeline {
        let waves = std::mem::take(&mut self.waves);
        for (_, mut wave) in waves {
            self.break_off(&mut wave);
        }
        self.settle_loads(u64::MAX);
        let mut timeline = self.timeline;
        timeline.slices.sort_by_key(|slice| {
            let length = slice.until - slice.from;
            (slice.track, slice.from, Reverse(length), slice.kind)
        });
        timeline.places = self.code.places;
        keep_whole(&mut timeline);
        timeline
    }

    /// Returns true if something of time `now` may still be recorded.
    fn has_room(&mut self) -> bool {
        let timeline = &self.timeline;
        let kept = timeline.slices.len()
            + timeline.completions.len()
            + timeline.loads.len()
            + timeline.waves.len();
        if kept >= MOST_EVENTS && timeline.cut_off.is_none() {
            self.timeline.cut_off = Some(self.now);
        }
        self.timeline.cut_off.is_none()
    }

    fn keep(&mut self, slice: Slice) {
        if slice.until > slice.from && self.has_room() {
            self.timeline.slices.push(slice);
        }
    }

    /// Takes a sample of what `list` counts.
    fn sample(&mut self, list: fn(&mut Timeline) -> &mut Vec<(u64, u32)>, at: u64, count: u32) {
        if !self.has_room() {
            return;
        }
        let samples = list(&mut self.timeline);
        match samples.last_mut() {
            Some(last) if last.0 == at => last.1 = count,
            _ => samples.push((at, count)),
        }
    }

    /// Loads are over until `at`.
    fn settle_loads(&mut self, at: u64) {
        while let Some(Reverse(over)) = self.loads.peek().copied()
            && over <= at
        {
            self.loads.pop();
            let count = self.loads.len() as u32;
            self.sample(|timeline| &mut timeline.loads, over, count);
        }
    }

    /// The wave is in a state for a time, which goes on if it is in it already.
    fn state(&mut self, wave: &mut Wave, kind: SliceKind, from: u64, until: u64, pc: u32) {
        if until <= from {
            return;
        }
        let issues = |slice: &Slice| slice.kind == SliceKind::Issue && kind == SliceKind::Issue;
        match &mut wave.state {
            Some(open) if open.until == from && (open.kind == kind || issues(open)) => {
                open.until = until;
            }
            _ => {
                self.flush(wave);
                wave.state = Some(Slice {
                    track: wave.track,
                    from,
                    until,
                    kind,
                    pc,
                    instructions: 0,
                });
            }
        }
    }

    /// Ends the slice of the wave.
    fn flush(&mut self, wave: &mut Wave) {
        if let Some(slice) = wave.state.take() {
            self.keep(slice);
        }
    }

    /// The slice of the wave since its last instruction, until instruction `pc` at `at`.
    fn gap(&mut self, wave: &mut Wave, at: u64, pc: u32, released: bool) {
        let mut from = wave.free;
        let rest = if released {
            Some(SliceKind::Stalled)
        } else {
            self.fills_gaps.then_some(SliceKind::Issue)
        };
        for (start, end, cause) in std::mem::take(&mut wave.held) {
            let (start, end) = (start.max(from), end.min(at));
            if end <= start {
                continue;
            }
            if let Some(rest) = rest {
                self.state(wave, rest, from, start, pc);
            }
            self.state(wave, state_of(cause), start, end, pc);
            from = end;
        }
        if let Some(rest) = rest {
            self.state(wave, rest, from, at, pc);
        }
        wave.free = wave.free.max(at);
    }

    /// Instruction `pc` of the wave does something at `at`: it belongs to the open run, or that is
    /// over, and perhaps another one begins.
    fn enter(&mut self, id: WaveId, wave: &mut Wave, pc: u32, at: u64) {
        let role = self.code.role(pc);
        if let Some(run) = &mut wave.spans.open {
            if self.code.is_neutral(pc) || run.takes(role, pc, at) {
                return;
            }
            self.close(id, wave);
        }
        if let Some(role) = role {
            self.begin(wave, role, pc, at);
        }
    }

    fn begin(&mut self, wave: &mut Wave, role: Role, pc: u32, at: u64) {
        self.flush(wave);
        let from = if self.fills_gaps {
            wave.free.min(at)
        } else {
            at
        };
        wave.spans.begin(role, pc, from, at);
    }

    /// The open run is over.
    fn close(&mut self, id: WaveId, wave: &mut Wave) {
        let Some((run, closed)) = wave.spans.close() else {
            return;
        };
        self.flush(wave);
        match closed {
            Closed::Part => {}
            Closed::Arrive => self.span(wave, SliceKind::Arrive, &run),
            Closed::MaybeArrive => {
                let arrival = (wave.track, run.until.saturating_sub(1));
                let last = &mut self.groups.entry(id.group).or_default().last;
                match last.get_mut(wave.phases) {
                    Some(last) if last.1 <= arrival.1 => *last = arrival,
                    Some(_) => {}
                    None => last.push(arrival),
                }
            }
            Closed::Full => {
                self.span(wave, SliceKind::Full, &run);
                self.completed(wave, &run, run.passed.and_then(|(_, by)| by));
            }
            Closed::Wait { window, crosses } => {
                let by = match run.passed {
                    Some((_, by)) => by,
                    None => {
                        let last = self.groups.get(&id.group);
                        let last = last.and_then(|group| group.last.get(wave.phases));
                        wave.phases += 1;
                        last.copied()
                    }
                };
                if let Some(window) = window {
                    self.window(wave, &window, run.from, crosses);
                }
                self.span(wave, SliceKind::Wait, &run);
                self.completed(wave, &run, by);
            }
        }
    }

    fn window(&mut self, wave: &Wave, window: &Window, until: u64, crosses: bool) {
        if !window.shown {
            self.span(wave, SliceKind::Arrive, &window.arrive);
        }
        self.keep(Slice {
            track: wave.track,
            from: window.arrive.until,
            until,
            kind: if crosses {
                SliceKind::CrossingWindow
            } else {
                SliceKind::Window
            },
            pc: window.arrive.pc,
            instructions: 0,
        });
    }

    fn span(&mut self, wave: &Wave, kind: SliceKind, run: &Run) {
        self.keep(Slice {
            track: wave.track,
            from: run.from,
            until: run.until,
            kind,
            pc: run.pc,
            instructions: run.instructions,
        });
    }

    /// The wave goes on after `run` because of an arrival, unless that was its own.
    fn completed(&mut self, wave: &Wave, run: &Run, by: Option<Arrival>) {
        let Some(from) = by.filter(|by| by.0 != wave.track) else {
            return;
        };
        if self.has_room() {
            let to = (wave.track, run.until.saturating_sub(1).max(from.1));
            self.timeline.completions.push(Completion { from, to });
        }
    }

    fn issued(&mut self, id: WaveId, wave: &mut Wave, at: u64, what: Issue) {
        let Issue {
            pc,
            issued,
            free,
            cause,
            released,
        } = what;
        if released && let Some(run) = &mut wave.spans.open {
            // The wait that is over now was its own.
            run.until = run.until.max(at);
            self.gap(wave, at, pc, true);
        }
        self.enter(id, wave, pc, at);
        wave.is_blocked = false;
        if !self.fills_gaps {
            self.note_issue(id, pc, at);
        }
        self.gap(wave, at, pc, released);
        self.state(wave, SliceKind::Issue, at, issued, pc);
        if let Some(state) = &mut wave.state {
            state.instructions += 1;
        }
        self.state(wave, state_of(cause), issued, free, pc);
        wave.free = free.max(at);
        if let Some(run) = &mut wave.spans.open {
            run.until = wave.free;
            run.instructions += 1;
        }
    }

    /// The recording is over while the wave goes on: what it does ends now. There is always room
    /// for that.
    fn break_off(&mut self, wave: &mut Wave) {
        let now = self.now + 1;
        let mut last = wave.free.max(wave.state.map_or(0, |state| state.until));
        if wave.is_blocked && now > last {
            let pc = wave.spans.open.as_ref().map_or(0, |run| run.pc);
            let free = wave.free;
            self.state(wave, SliceKind::Stalled, free, now, pc);
            last = now;
        }
        let mut ends: Vec<Slice> = wave.state.take().into_iter().collect();
        let mut until = last;
        if let Some(run) = wave.spans.open.take() {
            until = run.from;
            ends.push(Slice {
                track: wave.track,
                from: run.from,
                until: last,
                kind: run.kind_so_far(wave.is_blocked),
                pc: run.pc,
                instructions: run.instructions,
            });
        }
        ends.extend(wave.spans.named_windows().map(|arrive| Slice {
            track: wave.track,
            from: arrive.until,
            until,
            kind: SliceKind::Window,
            pc: arrive.pc,
            instructions: 0,
        }));
        let kept = ends.into_iter().filter(|slice| slice.until > slice.from);
        self.timeline.slices.extend(kept);
        if let Some(track) = self.timeline.tracks.get_mut(wave.track as usize) {
            track.ended = last.max(track.began);
        }
    }

    /// Takes note of when a wave issued an instruction last.
    fn note_issue(&mut self, id: WaveId, pc: u32, at: u64) {
        let has_room = self.last_issues.len() < MOST_EVENTS;
        match self.last_issues.get_mut(&(id, pc)) {
            Some(last) => *last = at,
            None if has_room => {
                self.last_issues.insert((id, pc), at);
            }
            None => {}
        }
    }

    /// The run finds a problem, at which the timeline ends if it is one.
    fn found(
        &mut self,
        id: WaveId,
        at: u64,
        kind: FindingKind,
        pc: u32,
        other: Option<(WaveId, u32)>,
    ) {
        if self.fills_gaps {
            return; // its estimate says it
        }
        let tracks = &self.timeline.tracks;
        let track = |id: WaveId| {
            let track = tracks.iter().position(|track| track.wave == id);
            track.map(|track| track as u32)
        };
        let against = other.and_then(|(id, pc)| {
            let since = *self.last_issues.get(&(id, pc))?;
            Some((track(id)?, since, pc))
        });
        let Some(track) = track(id) else {
            return; // it is of the launch, not of a wave
        };
        self.timeline.marks.push(Mark {
            kind,
            at: (track, at),
            pc,
            against,
        });
        self.is_over = !kind.is_note();
    }

    /// The wave does nothing more.
    fn end(&mut self, wave: &mut Wave) {
        self.flush(wave);
        if let Some(track) = self.timeline.tracks.get_mut(wave.track as usize) {
            track.ended = self.now.max(wave.free);
        }
    }
}

/// Keeps the completions whose ends are spans: where a timeline is broken off, some are not.
fn keep_whole(timeline: &mut Timeline) {
    let spans: Vec<&Slice> = (timeline.slices.iter())
        .filter(|slice| slice.kind.is_span() && slice.kind != SliceKind::Window)
        .collect();
    let is_kept = |(track, at): Arrival| {
        let next = spans.partition_point(|span| (span.track, span.from) <= (track, at));
        let span = next.checked_sub(1).and_then(|last| spans.get(last));
        span.is_some_and(|span| span.track == track && at < span.until)
    };
    let kept = (timeline.completions.iter().copied())
        .filter(|completion| is_kept(completion.from) && is_kept(completion.to))
        .collect();
    timeline.completions = kept;
}

/// An instruction that is issued, as it is told.
struct Issue {
    pc: u32,
    issued: u64,
    free: u64,
    cause: Cause,
    released: bool,
}

/// The doing of a wave that does not issue.
fn state_of(cause: Cause) -> SliceKind {
    match cause {
        Cause::Memory => SliceKind::Memory,
        Cause::Result | Cause::Unit => SliceKind::Issue,
        Cause::Barrier => SliceKind::Stalled,
        Cause::Sleep => SliceKind::Sleep,
    }
}

impl Observer for Recorder {
    fn restart(&mut self) {
        *self = Recorder::new(std::mem::take(&mut self.code), self.fills_gaps);
    }

    fn observe(&mut self, id: WaveId, at: u64, what: Observed) {
        if self.timeline.cut_off.is_some() || self.is_over {
            return;
        }
        self.now = self.now.max(at);
        self.settle_loads(at);
        if what == Observed::Began {
            let track = self.timeline.tracks.len() as u32;
            self.timeline.tracks.push(Track {
                wave: id,
                began: at,
                ended: at,
            });
            let wave = Wave {
                track,
                free: at,
                ..Wave::default()
            };
            self.waves.insert(id, wave);
            self.groups.entry(id.group).or_default().waves += 1;
            let count = self.waves.len() as u32;
            self.sample(|timeline| &mut timeline.waves, at, count);
            return;
        }
        if let Observed::Found { kind, pc, other } = what {
            self.found(id, at, kind, pc, other);
            return;
        }
        let Some(mut wave) = self.waves.remove(&id) else {
            return; // it began when the timeline was full
        };
        let mut ended = false;
        match what {
            Observed::Began | Observed::Found { .. } => {}
            Observed::Held { until, cause } => wave.held.push((at, until, cause)),
            Observed::Blocked { pc } => {
                wave.is_blocked = true;
                if let Some(pc) = pc {
                    self.enter(id, &mut wave, pc, at);
                }
            }
            Observed::Arrived {
                name: Name::Wave(..),
                ..
            }
            | Observed::Passed {
                name: Name::Wave(..),
                ..
            } => {}
            Observed::Arrived {
                pc,
                name,
                completes,
            } => {
                self.enter(id, &mut wave, pc, at);
                if let Some(run) = &mut wave.spans.open {
                    run.arrived = Some(name);
                }
                if completes {
                    let group = self.groups.entry(id.group).or_default();
                    group.completed.insert(name, (wave.track, at));
                }
            }
            Observed::Passed { pc, name } => {
                if let Some(pc) = pc {
                    self.enter(id, &mut wave, pc, at);
                }
                let group = self.groups.get(&id.group);
                let by = group.and_then(|group| group.completed.get(&name).copied());
                if let Some(run) = &mut wave.spans.open {
                    run.passed = Some((name, by));
                }
            }
            Observed::Issued {
                pc,
                issued,
                free,
                cause,
                released,
            } => {
                let what = Issue {
                    pc,
                    issued,
                    free,
                    cause,
                    released,
                };
                self.issued(id, &mut wave, at, what);
            }
            Observed::Loads { until } => {
                self.loads.push(Reverse(until));
                let count = self.loads.len() as u32;
                self.sample(|timeline| &mut timeline.loads, at, count);
            }
            Observed::Ended => {
                self.close(id, &mut wave);
                self.end(&mut wave);
                ended = true;
            }
        }
        if !ended {
            self.waves.insert(id, wave);
            return;
        }
        if let Some(group) = self.groups.get_mut(&id.group) {
            group.waves = group.waves.saturating_sub(1);
            if group.waves == 0 {
                self.groups.remove(&id.group);
            }
        }
        let count = self.waves.len() as u32;
        self.sample(|timeline| &mut timeline.waves, at, count);
    }
}
