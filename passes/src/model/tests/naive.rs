//! The model once more, as plainly as can be: no packing, no merged steps, no symmetry, no
//! independent steps. What the explorer is held against.

use crate::model::{Axiom, Op, Program, System, Value};
use std::collections::BTreeSet;

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Seat {
    joined: bool,
    lost: bool,
    arrived: bool,
    complete: u8,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Thread {
    pc: usize,
    registers: [u8; 4],
    chosen: usize,
    seats: Vec<Seat>,
    arrives: u8,
    waits: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MachineState {
    expected: Vec<Option<u8>>,
    arrived: Vec<u8>,
    parity: Vec<u8>,
    words: Vec<u8>,
    choices: Vec<usize>,
    threads: Vec<Thread>,
}

/// Every verdict that some interleaving comes to, by name.
pub(super) fn verdicts(system: &System) -> BTreeSet<&'static str> {
    let seats = |_| Thread {
        seats: system
            .objects
            .iter()
            .map(|object| Seat {
                joined: object.joined,
                ..Seat::default()
            })
            .collect(),
        ..Thread::default()
    };
    let start = MachineState {
        expected: system.objects.iter().map(|object| object.initial).collect(),
        arrived: vec![0; system.objects.len()],
        parity: vec![0; system.objects.len()],
        words: system.words.iter().map(|(_, value)| *value).collect(),
        choices: vec![],
        threads: system.threads.iter().map(seats).collect(),
    };
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::from([start.clone()]);
    let mut work = vec![start];
    while let Some(state) = work.pop() {
        let mut moved = false;
        for thread in 0..system.threads.len() {
            for next in steps(system, &state, thread) {
                moved = true;
                match next {
                    Ok(next) => {
                        if seen.insert(next.clone()) {
                            work.push(next);
                        }
                    }
                    Err(name) => {
                        found.insert(name);
                    }
                }
            }
        }
        if !moved {
            let ended = (0..system.threads.len()).all(|thread| has_ended(system, &state, thread));
            let mut objects = system.objects.iter().zip(&state.arrived);
            let left_over = objects.any(|(object, arrived)| object.complete_at_end && *arrived > 0);
            found.insert(match (ended, left_over) {
                (false, _) => "deadlock",
                (true, true) => Axiom::CompleteAtEnd.name(),
                (true, false) => "proved",
            });
        }
    }
    found
}

fn end(program: &Program) -> usize {
    program.ops.len()
}

fn leaves(system: &System) -> Vec<usize> {
    let objects = system.objects.iter().enumerate();
    objects
        .filter(|(_, object)| object.dropped_at_end)
        .map(|(index, _)| index)
        .collect()
}

fn has_ended(system: &System, state: &MachineState, thread: usize) -> bool {
    state.threads[thread].pc == end(&system.threads[thread].program) + leaves(system).len()
}

type Next = Result<MachineState, &'static str>;

/// The states that one operation of `thread` leads to; none when it is blocked.
fn steps(system: &System, state: &MachineState, thread: usize) -> Vec<Next> {
    let program = &system.threads[thread].program;
    let pc = state.threads[thread].pc;
    let mut next = state.clone();
    next.threads[thread].pc += 1;
    let value = |value: Value| {
        let register = state.threads[thread].registers[usize::from(value.register.0)];
        value.base.wrapping_add(value.factor.wrapping_mul(register))
    };
    let object = |object: Value| usize::from(value(object));
    let target = |label: &crate::model::Label| program.labels[usize::from(label.0)].unwrap();
    let go = |when: bool, next: MachineState| if when { vec![Ok(next)] } else { vec![] };
    let undefined = |axiom: Axiom| vec![Err(axiom.name())];
    let Some(op) = program.ops.get(pc) else {
        let Some(object) = leaves(system).get(pc - end(program)).copied() else {
            return vec![];
        };
        return if state.threads[thread].seats[object].joined {
            drop(next, thread, object)
        } else {
            vec![Ok(next)]
        };
    };
    if op
        .names()
        .object
        .is_some_and(|value| object(value) >= system.objects.len())
    {
        return undefined(Axiom::Initialised);
    }
    match op {
        Op::Init {
            object: which,
            count,
        } => {
            let which = object(*which);
            (
                next.expected[which],
                next.arrived[which],
                next.parity[which],
            ) = (Some(*count), 0, 0);
            for thread in &mut next.threads {
                thread.seats[which].arrived = false;
            }
            vec![Ok(next)]
        }
        Op::Join(which) => {
            let which = object(*which);
            if state.expected[which].is_none() {
                return undefined(Axiom::Initialised);
            }
            let seats = &mut next.threads[thread].seats;
            for (other, of) in system.objects.iter().enumerate() {
                if system.objects[which].exclusive && of.exclusive && seats[other].joined {
                    seats[other] = Seat {
                        lost: true,
                        arrived: seats[other].arrived,
                        ..Seat::default()
                    };
                }
            }
            seats[which] = Seat {
                joined: true,
                arrived: seats[which].arrived,
                ..Seat::default()
            };
            vec![Ok(next)]
        }
        Op::Drop(which) => drop(next, thread, object(*which)),
        Op::Arrive {
            object: which,
            expected,
        } => {
            let which = object(*which);
            if state.expected[which].is_none() {
                return undefined(Axiom::FirstIsInit);
            }
            if let Some(expected) = expected {
                if *expected <= state.arrived[which] {
                    return undefined(Axiom::ExpectedAboveArrived);
                }
                next.expected[which] = Some(*expected);
            }
            let seat = &mut next.threads[thread].seats[which];
            (seat.complete, seat.arrived) = (0, true);
            next.arrived[which] += 1;
            complete(&mut next, which);
            vec![Ok(next)]
        }
        Op::ArriveFirst(which, first) => {
            let which = object(*which);
            if state.expected[which].is_none() {
                return undefined(Axiom::FirstIsInit);
            }
            let (thread, register) = (&mut next.threads[thread], usize::from(first.0));
            thread.registers[register] = u8::from(state.arrived[which] == 0);
            (thread.seats[which].complete, thread.seats[which].arrived) = (0, true);
            next.arrived[which] += 1;
            complete(&mut next, which);
            vec![Ok(next)]
        }
        Op::Wait(which) => {
            let which = object(*which);
            if state.expected[which].is_none() {
                return undefined(Axiom::Initialised);
            }
            let seat = &state.threads[thread].seats[which];
            if !seat.joined {
                return undefined(if seat.lost {
                    Axiom::JoinNotLost
                } else {
                    Axiom::JoinedBeforeWait
                });
            }
            let left = |left| {
                let mut next = next.clone();
                next.threads[thread].seats[which].complete = left;
                Ok(next)
            };
            (0..seat.complete).map(left).collect()
        }
        Op::WaitParity {
            object: which,
            parity,
        } => {
            let which = object(*which);
            if state.expected[which].is_none() {
                return undefined(Axiom::Initialised);
            }
            go(state.parity[which] != value(*parity) & 1, next)
        }
        Op::Store(word, number) => {
            next.words[usize::from(word.0)] = value(*number);
            vec![Ok(next)]
        }
        Op::Add {
            word,
            value: number,
            old,
        } => {
            let word = usize::from(word.0);
            if let Some(old) = old {
                next.threads[thread].registers[usize::from(old.0)] = state.words[word];
            }
            next.words[word] = state.words[word].wrapping_add(value(*number));
            vec![Ok(next)]
        }
        Op::AwaitReached(word, number) => {
            let past = state.words[usize::from(word.0)].wrapping_sub(value(*number));
            go(past < 128, next)
        }
        Op::AwaitEqual(word, number) => {
            go(state.words[usize::from(word.0)] == value(*number), next)
        }
        Op::Set(register, number) => {
            next.threads[thread].registers[usize::from(register.0)] = value(*number);
            vec![Ok(next)]
        }
        Op::Subtract(register, other) => {
            let other = state.threads[thread].registers[usize::from(other.0)];
            let register = &mut next.threads[thread].registers[usize::from(register.0)];
            *register = register.wrapping_sub(other);
            vec![Ok(next)]
        }
        Op::Goto(label) => {
            next.threads[thread].pc = target(label);
            vec![Ok(next)]
        }
        Op::IfEqual(register, number, label) => {
            if state.threads[thread].registers[usize::from(register.0)] == *number {
                next.threads[thread].pc = target(label);
            }
            vec![Ok(next)]
        }
        Op::Choose(labels) => {
            let n = state.threads[thread].chosen;
            next.threads[thread].chosen += 1;
            let take = |choice: usize| {
                let mut next = next.clone();
                if n == next.choices.len() {
                    next.choices.push(choice);
                }
                if let Some(label) = labels.get(choice) {
                    next.threads[thread].pc = target(label);
                }
                Ok(next)
            };
            match state.choices.get(n) {
                Some(choice) => vec![take(*choice)],
                None => (0..labels.len()).map(take).collect(),
            }
        }
        Op::Arrived(_) => {
            next.threads[thread].arrives += 1;
            vec![Ok(next)]
        }
        Op::Waited(_) => {
            next.threads[thread].waits += 1;
            let waits = next.threads[thread].waits;
            if next.threads.iter().any(|other| other.arrives < waits) {
                return vec![Err("early")];
            }
            vec![Ok(next)]
        }
    }
}

fn drop(mut next: MachineState, thread: usize, object: usize) -> Vec<Next> {
    let seat = &next.threads[thread].seats[object];
    let Some(expected) = next.expected[object] else {
        return vec![Err(Axiom::FirstIsInit.name())];
    };
    let axiom = if !seat.joined && seat.lost {
        Axiom::JoinNotLost
    } else if !seat.joined {
        Axiom::JoinedBeforeDrop
    } else if seat.arrived {
        Axiom::CompleteBeforeDrop
    } else if expected == 0 {
        Axiom::ExpectedNotNegative
    } else {
        next.expected[object] = Some(expected - 1);
        next.threads[thread].seats[object] = Seat::default();
        complete(&mut next, object);
        return vec![Ok(next)];
    };
    vec![Err(axiom.name())]
}

fn complete(state: &mut MachineState, object: usize) {
    if state.expected[object] != Some(state.arrived[object]) {
        return;
    }
    state.arrived[object] = 0;
    state.parity[object] ^= 1;
    for thread in &mut state.threads {
        let seat = &mut thread.seats[object];
        seat.arrived = false;
        if seat.joined {
            seat.complete = 3.min(seat.complete + 1);
        }
    }
}
