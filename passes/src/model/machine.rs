//! The effect of one step of one thread on a state.
//!
//! A step is one operation on what threads share, with the private ones around it. That is the
//! first reduction, and it is sound: a private operation commutes with all steps of other threads.
//! The ghosts are placed to show an early return whenever there is one: the begin of an arrive is
//! put off until its thread's next shared operation (whoever returns before then, returns early all
//! the more), the end of a wait follows its last shared operation at once.

use super::axiom::Axiom;
use super::code::{Code, MOST, OBJECTS, resolve};
use super::object::Object;
use super::program::{Op, Sequence, System, Value};
use super::state::{Layout, flag, seat};

/// The most private operations between two shared ones: more are a loop that never ends.
const PRIVATE: usize = 1 << 12;

/// Why a thread cannot go on, though nothing blocks it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The behaviour is undefined.
    Undefined(Axiom),
    /// A wait has returned and this thread has not arrived.
    Early(Sequence, usize),
    /// The model does not reach so far.
    Limit(&'static str),
}

/// What a step came to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The thread has ended, or waits.
    Blocked,
    /// It went on; there are so many ways to, and this was one.
    Done { ways: u8 },
}

/// A system, ready to run.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub objects: Vec<Object>,
    words: Vec<u8>,
    pub codes: Vec<Code>,
    /// By thread: its code.
    pub code_of: Vec<usize>,
    pub layout: Layout,
    /// For each object, whether waits by phase, drops, and waits by parity use it. Values that are
    /// never read are dropped, so that states merge.
    pub waited: Vec<bool>,
    pub dropped: Vec<bool>,
    pub parity: Vec<bool>,
}

/// What private operations do when an arrive begins.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Arrives {
    Begin,
    StopBefore,
}

impl Machine {
    /// # Errors
    /// What of the system is beyond the model's limits, or not well formed.
    pub(super) fn new(system: &System) -> Result<Machine, String> {
        let most = |what: &str, count: usize| {
            (count <= MOST)
                .then_some(count)
                .ok_or_else(|| format!("{count} {what}: the model takes {MOST}"))
        };
        let threads = most("threads", system.threads.len())?;
        if threads == 0 {
            return Err("no thread".to_owned());
        }
        if system.objects.len() > OBJECTS {
            return Err(format!(
                "{} objects: the model takes {OBJECTS}",
                system.objects.len()
            ));
        }
        let words = most("shared words", system.words.len())?;
        let all = || system.threads.iter().flat_map(|thread| &thread.program.ops);
        let count = |last: Option<u8>| last.map_or(0, |last| usize::from(last) + 1);
        let registers = most("registers", count(all().map(last_register).max()))?;
        let last_sequence = all().filter_map(|op| op.names().sequence).max();
        let sequences = most("sequences", count(last_sequence.map(|sequence| sequence.0)))?;
        let mut codes: Vec<Code> = Vec::new();
        let mut code_of = Vec::new();
        for thread in &system.threads {
            let code = resolve(&thread.program, thread.workgroup, &system.objects, words)?;
            let known = codes.iter().position(|known| *known == code);
            code_of.push(known.unwrap_or(codes.len()));
            if known.is_none() {
                codes.push(code);
            }
        }
        let uses = |which: fn(&Op) -> Option<Value>| {
            let mut used = vec![false; system.objects.len()];
            for value in all().filter_map(which) {
                match value.constant() {
                    Some(object) => used
                        .iter_mut()
                        .skip(object.into())
                        .take(1)
                        .for_each(|used| *used = true),
                    None => used.fill(true),
                }
            }
            used
        };
        let mut dropped = uses(|op| {
            if let Op::Drop(object) = op {
                Some(*object)
            } else {
                None
            }
        });
        for (used, object) in dropped.iter_mut().zip(&system.objects) {
            *used |= object.dropped_at_end;
        }
        Ok(Machine {
            waited: uses(|op| {
                if let Op::Wait(object) = op {
                    Some(*object)
                } else {
                    None
                }
            }),
            parity: uses(|op| {
                if let Op::WaitParity { object, .. } = op {
                    Some(*object)
                } else {
                    None
                }
            }),
            dropped,
            layout: Layout::new(
                system.objects.len(),
                words,
                threads,
                registers,
                sequences,
                all().any(|op| matches!(op, Op::Choose(_))),
            ),
            objects: system.objects.clone(),
            words: system.words.iter().map(|(_, value)| *value).collect(),
            codes,
            code_of,
        })
    }

    /// Returns true if no other thread has taken fewer choices than `thread`.
    pub(super) fn is_last_to_choose(&self, state: &[u8], thread: usize) -> bool {
        state[self.layout.taken(thread)] == 0
    }

    pub(super) fn threads(&self) -> usize {
        self.code_of.len()
    }

    pub(super) fn code(&self, thread: usize) -> &Code {
        &self.codes[self.code_of[thread]]
    }

    /// The operation that a thread is at; `None` once only its end is left.
    pub(super) fn op(&self, state: &[u8], thread: usize) -> Option<&Op> {
        self.code(thread).ops.get(self.layout.pc(state, thread))
    }

    pub(super) fn has_ended(&self, state: &[u8], thread: usize) -> bool {
        self.layout.pc(state, thread) == self.code(thread).end()
    }

    /// The rule that is broken when all threads have ended in `state`, if one is.
    pub(super) fn broken_at_end(&self, state: &[u8]) -> Option<Axiom> {
        let mut objects = self.objects.iter().enumerate();
        objects
            .any(|(index, object)| object.complete_at_end && state[self.layout.arrived(index)] > 0)
            .then_some(Axiom::CompleteAtEnd)
    }

    /// The state at launch, in `state`, which has [`Layout::units`] units of eight bytes.
    pub(super) fn launch(&self, state: &mut [u8]) -> Result<(), Fault> {
        let layout = &self.layout;
        state.fill(0);
        for (index, object) in self.objects.iter().enumerate() {
            if let Some(expected) = object.initial {
                state[layout.expected(index)] = expected;
                state[layout.flags(index)] = flag::INITIALISED;
            }
            for thread in 0..self.threads() {
                if object.joined && object.scope.holds(self.code(thread).workgroup) {
                    state[layout.seat(thread, index)] = seat::JOINED;
                }
            }
        }
        for (index, value) in self.words.iter().enumerate() {
            state[layout.word(index)] = *value;
        }
        for thread in 0..self.threads() {
            self.private(state, thread, Arrives::StopBefore, &mut |_, _| {})?;
        }
        Ok(())
    }

    /// Does a step of `thread`, the `way`-th of its ways; `log` is told of each operation, after it
    /// was done.
    pub(super) fn step(
        &self,
        state: &mut [u8],
        thread: usize,
        way: u8,
        log: &mut impl FnMut(usize, &[u8]),
    ) -> Result<Step, Fault> {
        let before = self.layout.pc(state, thread);
        self.private(state, thread, Arrives::Begin, log)?;
        let pc = self.layout.pc(state, thread);
        if pc != before && self.has_ended(state, thread) {
            return Ok(Step::Done { ways: 1 });
        }
        let code = self.code(thread);
        let mut next = pc + 1;
        let ways = match code.ops.get(pc) {
            None => {
                let Some(object) = code.leaving(pc) else {
                    return Ok(Step::Blocked);
                };
                if state[self.layout.seat(thread, object)] & seat::JOINED != 0 {
                    self.drop(state, thread, object)?;
                }
                1
            }
            Some(Op::Choose(labels)) => {
                let (ways, alternative) = self.choose(state, thread, way, labels.len())?;
                next = labels
                    .get(alternative)
                    .map_or(next, |label| code.target(*label));
                ways
            }
            Some(op) => match self.shared(state, thread, way, op)? {
                Step::Blocked => return Ok(Step::Blocked),
                Step::Done { ways } => ways,
            },
        };
        self.layout.set_pc(state, thread, next);
        log(pc, state);
        self.private(state, thread, Arrives::StopBefore, log)?;
        Ok(Step::Done { ways })
    }

    /// Private operations up to the next shared one, as far as they go without a fault.
    pub(super) fn skip_private(&self, state: &mut [u8], thread: usize) {
        // Whoever asks wants to know where the thread is stuck, not what else is wrong.
        let _ = self.private(state, thread, Arrives::Begin, &mut |_, _| {});
    }

    /// Private operations up to the next shared one, or up to the next begin of an arrive.
    fn private(
        &self,
        state: &mut [u8],
        thread: usize,
        arrives: Arrives,
        log: &mut impl FnMut(usize, &[u8]),
    ) -> Result<(), Fault> {
        let layout = &self.layout;
        let code = self.code(thread);
        for _ in 0..PRIVATE {
            let pc = layout.pc(state, thread);
            let Some(op) = code.ops.get(pc) else {
                return Ok(());
            };
            let mut next = pc + 1;
            match op {
                Op::Set(register, value) => {
                    state[layout.register(thread, register.0)] = self.value(state, thread, *value);
                }
                Op::Subtract(register, other) => {
                    let other = state[layout.register(thread, other.0)];
                    let register = &mut state[layout.register(thread, register.0)];
                    *register = register.wrapping_sub(other);
                }
                Op::Goto(label) => next = code.target(*label),
                Op::IfEqual(register, value, label) => {
                    if state[layout.register(thread, register.0)] == *value {
                        next = code.target(*label);
                    }
                }
                Op::Arrived(_) if arrives == Arrives::StopBefore => return Ok(()),
                Op::Arrived(sequence) => {
                    let at = layout.arrives(thread, sequence.0);
                    state[at] = state[at].wrapping_add(1);
                }
                Op::Waited(sequence) => self.waited(state, thread, *sequence)?,
                Op::Init { .. }
                | Op::Join(_)
                | Op::Drop(_)
                | Op::Arrive { .. }
                | Op::ArriveFirst(..)
                | Op::Wait(_)
                | Op::WaitParity { .. }
                | Op::Store(..)
                | Op::Add { .. }
                | Op::AwaitReached(..)
                | Op::AwaitEqual(..)
                | Op::Choose(_) => return Ok(()),
            }
            layout.set_pc(state, thread, next);
            log(pc, state);
        }
        Err(Fault::Limit(
            "a loop that touches nothing shared does not end",
        ))
    }

    /// The promise of a split barrier: who returns from the n-th wait, returns after everybody's
    /// n-th arrive.
    fn waited(&self, state: &mut [u8], thread: usize, sequence: Sequence) -> Result<(), Fault> {
        let at = self.layout.waits(thread, sequence.0);
        state[at] = state[at].wrapping_add(1);
        let late = (0..self.threads()).find(|other| {
            let arrives = state[self.layout.arrives(*other, sequence.0)];
            arrives.wrapping_sub(state[at]).cast_signed() < 0
        });
        match late {
            Some(late) => Err(Fault::Early(sequence, late)),
            None => {
                self.settle(state, sequence);
                Ok(())
            }
        }
    }

    /// Only differences of the ghosts' counts matter: the least wait becomes zero.
    fn settle(&self, state: &mut [u8], sequence: Sequence) {
        let layout = &self.layout;
        let waits = |thread| layout.waits(thread, sequence.0);
        let least = (0..self.threads())
            .map(|thread| state[waits(thread)])
            .min()
            .unwrap_or(0);
        if least > 0 {
            for thread in 0..self.threads() {
                state[waits(thread)] -= least;
                let arrives = &mut state[layout.arrives(thread, sequence.0)];
                *arrives = arrives.wrapping_sub(least);
            }
        }
    }

    /// What a value comes to for `thread`.
    pub(super) fn value(&self, state: &[u8], thread: usize, value: Value) -> u8 {
        let register = state[self.layout.register(thread, value.register.0)];
        value.base.wrapping_add(value.factor.wrapping_mul(register))
    }

    /// The object that `value` names, if there is one and the thread may reach it.
    fn object(&self, state: &[u8], thread: usize, value: Value) -> Result<usize, Fault> {
        let index = usize::from(self.value(state, thread, value));
        let object = self
            .objects
            .get(index)
            .ok_or(Fault::Undefined(Axiom::Initialised))?;
        if object.scope.holds(self.code(thread).workgroup) {
            Ok(index)
        } else {
            Err(Fault::Undefined(Axiom::ObjectInScope))
        }
    }

    /// One shared operation.
    fn shared(&self, state: &mut [u8], thread: usize, way: u8, op: &Op) -> Result<Step, Fault> {
        let layout = &self.layout;
        let blocked_unless = |go: bool| {
            if go {
                Step::Done { ways: 1 }
            } else {
                Step::Blocked
            }
        };
        match op {
            Op::Init { object, count } => {
                let object = self.object(state, thread, *object)?;
                self.init(state, object, *count);
            }
            Op::Join(object) => {
                let object = self.object(state, thread, *object)?;
                self.join(state, thread, object)?;
            }
            Op::Drop(object) => {
                let object = self.object(state, thread, *object)?;
                self.drop(state, thread, object)?;
            }
            Op::Arrive { object, expected } => {
                let object = self.object(state, thread, *object)?;
                self.arrive(state, thread, object, *expected)?;
            }
            Op::ArriveFirst(object, first) => {
                let object = self.object(state, thread, *object)?;
                let nobody = state[layout.arrived(object)] == 0;
                state[layout.register(thread, first.0)] = nobody.into();
                self.arrive(state, thread, object, None)?;
            }
            Op::Wait(object) => {
                let object = self.object(state, thread, *object)?;
                return self.wait(state, thread, object, way);
            }
            Op::WaitParity { object, parity } => {
                let parity = self.value(state, thread, *parity);
                let object = self.object(state, thread, *object)?;
                return Ok(blocked_unless(self.is_complete(state, object, parity)?));
            }
            Op::Store(word, value) => {
                state[layout.word(word.0.into())] = self.value(state, thread, *value);
            }
            Op::Add { word, value, old } => {
                let value = self.value(state, thread, *value);
                let at = layout.word(word.0.into());
                if let Some(register) = old {
                    state[layout.register(thread, register.0)] = state[at];
                }
                state[at] = state[at].wrapping_add(value);
            }
            Op::AwaitReached(word, value) => {
                let now = state[layout.word(word.0.into())];
                let past = now.wrapping_sub(self.value(state, thread, *value));
                return Ok(blocked_unless(past.cast_signed() >= 0));
            }
            Op::AwaitEqual(word, value) => {
                let now = state[layout.word(word.0.into())];
                return Ok(blocked_unless(now == self.value(state, thread, *value)));
            }
            Op::Choose(_)
            | Op::Set(..)
            | Op::Subtract(..)
            | Op::Goto(_)
            | Op::IfEqual(..)
            | Op::Arrived(_)
            | Op::Waited(_) => {}
        }
        Ok(Step::Done { ways: 1 })
    }

    /// A uniform choice of `alternatives`: how many ways there are, and the alternative that the
    /// `way`-th takes.
    fn choose(
        &self,
        state: &mut [u8],
        thread: usize,
        way: u8,
        alternatives: usize,
    ) -> Result<(u8, usize), Fault> {
        let layout = &self.layout;
        let taken = usize::from(state[layout.taken(thread)]);
        let made = usize::from(state[layout.made()]);
        let decided = taken < made;
        if !decided {
            if made == layout.ahead {
                return Err(Fault::Limit(
                    "one thread is too many choices ahead of another",
                ));
            }
            state[layout.choice(made)] = way;
            state[layout.made()] += 1;
        }
        let alternative = usize::from(state[layout.choice(taken)]);
        state[layout.taken(thread)] += 1;
        self.forget_choices(state);
        let ways = if decided {
            1
        } else {
            u8::try_from(alternatives).unwrap_or(u8::MAX)
        };
        Ok((ways, alternative))
    }

    /// Forgets the choices that every thread has taken. A thread that has ended takes no more.
    fn forget_choices(&self, state: &mut [u8]) {
        let layout = &self.layout;
        while state[layout.made()] > 0
            && (0..self.threads())
                .all(|thread| state[layout.taken(thread)] > 0 || self.has_ended(state, thread))
        {
            for n in 1..layout.ahead {
                state[layout.choice(n - 1)] = state[layout.choice(n)];
            }
            state[layout.choice(layout.ahead - 1)] = 0;
            state[layout.made()] -= 1;
            for thread in 0..self.threads() {
                let taken = &mut state[layout.taken(thread)];
                *taken = taken.saturating_sub(1);
            }
        }
    }
}

/// The highest register that an operation names.
fn last_register(op: &Op) -> u8 {
    let names = op.names();
    let of_values = [names.object, names.value]
        .into_iter()
        .flatten()
        .map(|value| value.register);
    of_values
        .chain(names.register)
        .map(|register| register.0)
        .max()
        .unwrap_or(0)
}
