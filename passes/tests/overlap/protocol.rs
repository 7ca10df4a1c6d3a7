//! The barriers of a pipelined loop in the execution model: all interleavings of two and three
//! waves, with two to four buffers and 0 to 6 iterations.
//!
//! A store to a buffer begins when all waves have read what it held, and the work of an iteration
//! when all have stored what it reads.

use splitbar_passes::model::{Object, Op, Program, Sequence, System, Verdict, explore};

/// All waves have stored the data of an iteration.
const STORED: Sequence = Sequence(0);
/// All waves have read it.
const READ: Sequence = Sequence(1);
/// A barrier after the loop.
const AFTER: Sequence = Sequence(2);

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    /// The next store goes to the buffer that is read.
    WrongBuffer,
    /// The second iteration has no barrier.
    NoBarrier,
    /// The wait is after the work.
    LateWait,
    /// No wait after the loop.
    NoTail,
}

/// The program of a wave.
fn wave(buffers: u8, trips: u8, mistake: Mistake) -> Program {
    let mut program = Program::new();
    let arrive = || Op::Arrive {
        object: 0.into(),
        expected: None,
    };
    let wait = || Op::Wait(0.into());
    let has_barrier = |iteration| mistake != Mistake::NoBarrier || iteration != 1;
    let reused = buffers - u8::from(mistake == Mistake::WrongBuffer);
    let store = |program: &mut Program, iteration: u8| {
        if iteration >= reused {
            program.push(Op::Waited(READ));
        }
        program.push(Op::Arrived(STORED));
    };
    for iteration in 0..trips.min(buffers - 1) {
        store(&mut program, iteration);
    }
    program.push(arrive());
    for iteration in 0..trips {
        let is_late = mistake == Mistake::LateWait;
        if has_barrier(iteration) && !is_late {
            program.push(wait());
        }
        program.push(Op::Waited(STORED)).push(Op::Arrived(READ));
        if has_barrier(iteration) && is_late {
            program.push(wait());
        }
        let ahead = iteration + buffers - 1;
        if ahead < trips {
            store(&mut program, ahead);
        }
        if has_barrier(iteration) {
            program.push(arrive());
        }
    }
    if mistake != Mistake::NoTail {
        program.push(wait());
    }
    program.extend([Op::Arrived(AFTER), arrive(), wait(), Op::Waited(AFTER)]);
    program
}

fn verdict(waves: u8, buffers: u8, trips: u8, mistake: Mistake) -> Verdict {
    let objects = vec![Object::workgroup(waves)];
    let wave = wave(buffers, trips, mistake);
    explore(&System::of_workgroup(objects, vec![], waves, |_| {
        wave.clone()
    }))
    .verdict
}

#[test]
fn every_number_of_buffers_is_ordered() {
    for (waves, buffers) in [(2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (3, 4)] {
        for trips in 0..=6 {
            let verdict = verdict(waves, buffers, trips, Mistake::None);
            let of = format!("{waves} waves, {buffers} buffers, {trips} iterations");
            assert!(verdict == Verdict::Proved, "{of}: {verdict:?}");
        }
    }
}

#[test]
fn mistakes_are_refuted() {
    let mistakes = [
        Mistake::WrongBuffer,
        Mistake::NoBarrier,
        Mistake::LateWait,
        Mistake::NoTail,
    ];
    for (waves, buffers) in [(2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (3, 4)] {
        for mistake in mistakes {
            let verdict = verdict(waves, buffers, 6, mistake);
            let of = format!("{waves} waves, {buffers} buffers, {mistake:?}");
            assert!(verdict.is_refutation(), "{of}: {verdict:?}");
        }
    }
}
