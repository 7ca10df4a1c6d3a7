//! The barrier spans of one wave: which of its instructions are one arrive, one wait, one full
//! barrier, and which wait ends which window.
//!
//! Instructions of one barrier that follow each other are a *run*. What the machine does in it
//! says what it is: it arrives, it passes, or both. Strategies that count in plain memory do
//! neither in the machine's eyes; there the module's own instruction decides, and an arrive counts
//! only once its wait has come.

use super::SliceKind;
use super::code::{Kind, Role};
use splitbar_sim::barrier::Name;

/// The track and the cycle of an arrival.
pub(super) type Arrival = (u32, u64);

/// Instructions of one barrier that a wave has issued, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub role: Role,
    pub from: u64,
    pub until: u64,
    /// The first instruction.
    pub pc: u32,
    pub instructions: u32,
    pub arrived: Option<Name>,
    /// The barrier that the wave went on after, and who completed the phase.
    pub passed: Option<(Name, Option<Arrival>)>,
    /// The instructions that were issued.
    pcs: Vec<u32>,
    /// The last step, which may be told of in several parts.
    step: (u32, u64),
}

impl Run {
    pub(super) fn new(role: Role, pc: u32, from: u64, at: u64) -> Run {
        Run {
            role,
            from,
            until: from,
            pc,
            instructions: 0,
            arrived: None,
            passed: None,
            pcs: vec![pc],
            step: (pc, at),
        }
    }

    /// Returns true if instruction `pc`, at time `at`, belongs to the run; if so, it does from now
    /// on. A barrier that was passed and comes to the same instruction again is executed again.
    pub(super) fn takes(&mut self, role: Option<Role>, pc: u32, at: u64) -> bool {
        if role != Some(self.role) {
            return false;
        }
        let seen = self.pcs.contains(&pc);
        if self.step != (pc, at) && seen && self.passed.is_some() {
            return false;
        }
        self.step = (pc, at);
        if !seen {
            self.pcs.push(pc);
        }
        true
    }
}

impl Run {
    /// The kind of a run that is broken off.
    pub(super) fn kind_so_far(&self, is_blocked: bool) -> SliceKind {
        let arrived = self.arrived.is_some() || self.role.kind == Kind::Full;
        if self.passed.is_none() && !is_blocked && (arrived || self.role.kind == Kind::Arrive) {
            SliceKind::Arrive
        } else if arrived {
            SliceKind::Full
        } else {
            SliceKind::Wait
        }
    }
}

/// An arrive whose wait is still to come.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub arrive: Run,
    /// True if the slice of the arrive is part of the timeline already.
    pub shown: bool,
}

impl Window {
    fn name(&self) -> Option<Name> {
        self.arrive.arrived
    }
}

/// The kind of a run.
#[derive(Debug)]
pub(super) enum Closed {
    /// An arrive.
    Arrive,
    /// An arrive, as far as the module says: it counts when its wait comes.
    MaybeArrive,
    /// A wait, with the window that it ends; `crosses` where another one goes on.
    Wait {
        window: Option<Window>,
        crosses: bool,
    },
    /// A full barrier.
    Full,
    /// Fences, or a poll that found nothing.
    Part,
}

/// The spans of one wave.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans {
    pub open: Option<Run>,
    windows: Vec<Window>,
    /// Where polls of a wait began that have found nothing so far.
    polls: Option<(Role, u64, u32)>,
}

impl Spans {
    /// The arrives at barriers of the machine whose waits are still to come, the oldest first.
    pub(super) fn named_windows(&self) -> impl Iterator<Item = &Run> {
        let windows = self.windows.iter().map(|window| &window.arrive);
        windows.filter(|arrive| arrive.arrived.is_some())
    }

    /// Begins a run of `role` with instruction `pc`.
    pub(super) fn begin(&mut self, role: Role, pc: u32, from: u64, at: u64) {
        let mut run = Run::new(role, pc, from, at);
        if let Some((polled, since, instructions)) = self.polls.take()
            && polled == role
        {
            run.from = since;
            run.instructions = instructions;
        }
        self.open = Some(run);
    }

    /// Ends the open run, and says what it was.
    pub(super) fn close(&mut self) -> Option<(Run, Closed)> {
        let run = self.open.take()?;
        let closed = match (run.arrived, run.passed) {
            (_, Some((name, _))) => {
                self.windows.retain(|window| window.name().is_some());
                if run.arrived.is_some() {
                    Closed::Full
                } else {
                    let named = |window: &Window| window.name() == Some(name);
                    let at = self.windows.iter().rposition(named);
                    self.wait(at)
                }
            }
            (Some(name), None) => {
                // One that was not waited for is void.
                self.windows
                    .retain(|window| window.name().is_some_and(|of| of != name));
                self.windows.push(Window {
                    arrive: run.clone(),
                    shown: true,
                });
                Closed::Arrive
            }
            (None, None) => match run.role.kind {
                Kind::Arrive => {
                    self.windows.retain(|window| window.name().is_some());
                    self.windows.push(Window {
                        arrive: run.clone(),
                        shown: false,
                    });
                    Closed::MaybeArrive
                }
                Kind::Wait => {
                    let nameless = |window: &Window| window.name().is_none();
                    match self.windows.iter().rposition(nameless) {
                        Some(at) => self.wait(Some(at)),
                        None => {
                            self.polls = Some((run.role, run.from, run.instructions));
                            Closed::Part
                        }
                    }
                }
                Kind::Full => Closed::Part,
            },
        };
        Some((run, closed))
    }

    fn wait(&mut self, at: Option<usize>) -> Closed {
        let crosses = at.is_some_and(|at| at + 1 < self.windows.len());
        Closed::Wait {
            window: at.map(|at| self.windows.remove(at)),
            crosses,
        }
    }
}
