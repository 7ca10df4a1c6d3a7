//! A path through the states as text: the operations, their results, and the state of each thread
//! at the end.

use super::machine::Machine;
use super::program::System;
use super::program::{Op, Value, Word};
use super::state::flag;
use super::verdict::Verdict;
use std::fmt;

/// One operation of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The thread, as the system numbers it.
    pub thread: usize,
    /// The operation and its result.
    pub text: String,
    /// The origin of the operation, if its program has one.
    pub origin: Option<String>,
}

/// A way from the launch to where something goes wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The operations, in order.
    pub lines: Vec<Line>,
    /// The next operations of the threads that have not ended.
    pub next: Vec<Line>,
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |line: &Line| line.text.len();
        let lines = || self.lines.iter().chain(&self.next);
        let width = if lines().any(|line| line.origin.is_some()) {
            lines().map(width).max().unwrap_or(0)
        } else {
            0
        };
        let show = |f: &mut fmt::Formatter<'_>, line: &Line| {
            let Line {
                thread,
                text,
                origin,
            } = line;
            match origin {
                Some(origin) => writeln!(f, "  wave {thread}: {text:width$}  ; {origin}"),
                None => writeln!(f, "  wave {thread}: {text}"),
            }
        };
        for line in &self.lines {
            show(f, line)?;
        }
        if !self.next.is_empty() {
            writeln!(f, "then")?;
        }
        for line in &self.next {
            show(f, line)?;
        }
        Ok(())
    }
}

/// A walk along a trace.
pub(super) struct Walk<'w> {
    system: &'w System,
    machine: &'w Machine,
    /// By place in the state: the thread that stands there.
    names: Vec<usize>,
    trace: Trace,
    /// The operation that failed, if one did, was told already.
    failed: Option<usize>,
}

impl<'w> Walk<'w> {
    pub(super) fn new(system: &'w System, machine: &'w Machine) -> Walk<'w> {
        Walk {
            system,
            machine,
            names: (0..machine.threads()).collect(),
            trace: Trace::default(),
            failed: None,
        }
    }

    /// Two threads change places in the state.
    pub(super) fn swap(&mut self, one: usize, two: usize) {
        self.names.swap(one, two);
    }

    pub(super) fn name(&self, place: usize) -> usize {
        self.names.get(place).copied().unwrap_or(place)
    }

    /// Does a step and tells it. A step that fails is told as far as it got, with the operation
    /// that failed last.
    pub(super) fn step(&mut self, state: &mut [u8], how: Move) {
        let place = usize::from(how.thread);
        let (machine, mut done) = (self.machine, Vec::new());
        let result = machine.step(state, place, how.way, &mut |pc, after: &[u8]| {
            done.push((pc, self.describe(place, pc, after, Tense::Done)));
        });
        let failed = machine.layout.pc(state, place);
        if result.is_err() {
            done.push((failed, self.describe(place, failed, state, Tense::Next)));
            self.failed = Some(place);
        }
        for (pc, text) in done {
            if let Some(text) = text {
                self.trace.lines.push(self.line(place, pc, text));
            }
        }
    }

    /// The trace, with what comes next. Where everybody waits, what they wait for is behind the
    /// begin of an arrive.
    pub(super) fn finish(mut self, state: &mut [u8], verdict: &Verdict) -> Trace {
        if matches!(verdict, Verdict::Deadlock { .. }) {
            for place in 0..self.machine.threads() {
                self.machine.skip_private(state, place);
            }
        }
        let state = &*state;
        let mut next: Vec<Line> = (0..self.machine.threads())
            .filter(|place| Some(*place) != self.failed && !self.machine.has_ended(state, *place))
            .filter_map(|place| {
                let pc = self.machine.layout.pc(state, place);
                let text = self.describe(place, pc, state, Tense::Next)?;
                Some(self.line(place, pc, text))
            })
            .collect();
        next.sort_by_key(|line| line.thread);
        self.trace.next = next;
        self.trace
    }

    fn line(&self, place: usize, pc: usize, text: String) -> Line {
        let thread = self.name(place);
        let program = self
            .system
            .threads
            .get(thread)
            .map(|thread| &thread.program);
        let origin = program.and_then(|program| {
            let origin = (*program.origin.get(pc)?)?;
            program.origins.get(usize::from(origin)).cloned()
        });
        Line {
            thread,
            text,
            origin,
        }
    }

    /// What the operation at `pc` does, or did; `None` for operations that tell nothing.
    fn describe(&self, place: usize, pc: usize, state: &[u8], tense: Tense) -> Option<String> {
        let machine = self.machine;
        let layout = &machine.layout;
        let number = |value: Value| machine.value(state, place, value);
        let object = |value: Value| {
            let index = usize::from(number(value));
            machine
                .objects
                .get(index)
                .map_or_else(|| format!("object {index}"), |object| object.name.clone())
        };
        let word = |word: Word| {
            self.system
                .words
                .get(usize::from(word.0))
                .map_or("word", |(name, _)| name.as_str())
        };
        let now = |word: Word| state[layout.word(usize::from(word.0))];
        let counts = |value: Value| {
            let index = usize::from(number(value));
            if index >= machine.objects.len() || state[layout.flags(index)] & flag::INITIALISED == 0
            {
                return String::new();
            }
            let (arrived, expected) = (state[layout.arrived(index)], state[layout.expected(index)]);
            match tense {
                Tense::Done if arrived == 0 => ", which completes".to_owned(),
                Tense::Done | Tense::Next => format!(" ({arrived} of {expected} have arrived)"),
            }
        };
        let Some(op) = machine.code(place).ops.get(pc) else {
            let object = machine.objects.get(machine.code(place).leaving(pc)?)?;
            return Some(format!("ends, which drops {object}"));
        };
        // One table: a sentence for each operation.
        Some(match op {
            Op::Init {
                object: which,
                count,
            } => format!("inits {} to {count}", object(*which)),
            Op::Join(which) => format!("joins {}", object(*which)),
            Op::Drop(which) => format!("drops {}", object(*which)),
            Op::Arrive {
                object: which,
                expected: None,
            } => {
                format!("arrives on {}{}", object(*which), counts(*which))
            }
            Op::Arrive {
                object: which,
                expected: Some(expected),
            } => {
                format!(
                    "sets the count of {} to {expected} and arrives{}",
                    object(*which),
                    counts(*which)
                )
            }
            Op::ArriveFirst(which, _) => {
                format!(
                    "arrives on {}{} and asks whether it is the first",
                    object(*which),
                    counts(*which)
                )
            }
            Op::Wait(which) => match tense {
                Tense::Done => format!("returns from its wait on {}", object(*which)),
                Tense::Next => format!("waits on {}{}", object(*which), counts(*which)),
            },
            Op::WaitParity {
                object: which,
                parity,
            } => {
                let parity = number(*parity) & 1;
                match tense {
                    Tense::Done => format!(
                        "finds the phase of parity {parity} of {} complete",
                        object(*which)
                    ),
                    Tense::Next => format!(
                        "waits for the phase of parity {parity} of {}{}",
                        object(*which),
                        counts(*which)
                    ),
                }
            }
            Op::Store(which, value) => format!("stores {} to {}", number(*value), word(*which)),
            Op::Add {
                word: which,
                value,
                old: _,
            } => match tense {
                Tense::Done => format!(
                    "adds {} to {}, now {}",
                    number(*value),
                    word(*which),
                    now(*which)
                ),
                Tense::Next => format!("adds {} to {}", number(*value), word(*which)),
            },
            Op::AwaitReached(which, value) | Op::AwaitEqual(which, value) => {
                let (name, wanted, now) = (word(*which), number(*value), now(*which));
                match tense {
                    Tense::Done => format!("sees {name} at {now}"),
                    Tense::Next => format!("spins until {name}, now {now}, reaches {wanted}"),
                }
            }
            Op::Arrived(_) => match tense {
                Tense::Done => "begins its arrive".to_owned(),
                Tense::Next => "has still to begin its arrive".to_owned(),
            },
            Op::Waited(_) => "returns from the wait".to_owned(),
            Op::Set(..) | Op::Subtract(..) | Op::Goto(_) | Op::IfEqual(..) | Op::Choose(_) => {
                return None;
            }
        })
    }
}

/// Whether an operation is behind or ahead.
#[derive(Copy, Clone)]
enum Tense {
    Done,
    Next,
}

/// How a state was first reached.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Move {
    pub(super) parent: u32,
    pub thread: u8,
    pub way: u8,
}
