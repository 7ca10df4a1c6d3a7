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
    /// The arrive is before the stores of its iteration.
    EarlyArrive,
    /// No wait after the loop.
    NoTail,
}

/// A loop whose window contains the work.
#[derive(Copy, Clone, Debug)]
struct Enclosing {
    buffers: u8,
    /// Iterations that the stores are ahead.
    distance: u8,
    /// The stores follow the work; otherwise they precede it.
    is_in_parts: bool,
    /// The wait follows the stores; otherwise it precedes them.
    encloses_stores: bool,
    /// What the model refutes in this form.
    mistakes: &'static [Mistake],
}

const ENCLOSING: [Enclosing; 4] = [
    Enclosing {
        buffers: 3,
        distance: 2,
        is_in_parts: true,
        encloses_stores: false,
        mistakes: &[Mistake::LateWait, Mistake::EarlyArrive],
    },
    Enclosing {
        buffers: 4,
        distance: 2,
        is_in_parts: true,
        encloses_stores: true,
        mistakes: &[Mistake::EarlyArrive],
    },
    Enclosing {
        buffers: 3,
        distance: 1,
        is_in_parts: false,
        encloses_stores: false,
        mistakes: &[Mistake::LateWait, Mistake::EarlyArrive],
    },
    Enclosing {
        buffers: 4,
        distance: 2,
        is_in_parts: false,
        encloses_stores: false,
        mistakes: &[Mistake::LateWait],
    },
];

impl Enclosing {
    /// The program of a wave.
    fn wave(self, trips: u8, mistake: Mistake) -> Program {
        let mut program = Program::new();
        let arrive = Op::Arrive {
            object: 0.into(),
            expected: None,
        };
        let wait = Op::Wait(0.into());
        let reused = self.buffers - u8::from(mistake == Mistake::WrongBuffer);
        let mut read = 0;
        let mut store = |iteration: u8| {
            let mut ops = Vec::new();
            if iteration < trips {
                if iteration >= reused {
                    ops.push(Op::Waited(READ));
                    read += 1;
                }
                ops.push(Op::Arrived(STORED));
            }
            ops
        };
        program.extend(store(0));
        program.push(arrive.clone());
        for iteration in 1..self.distance {
            program.extend(store(iteration));
        }
        program.push(wait.clone());
        if self.is_in_parts {
            program.push(arrive.clone());
        }
        for iteration in 0..trips {
            let stores = store(iteration + self.distance);
            let work = vec![Op::Waited(STORED), Op::Arrived(READ)];
            let has_barrier = mistake != Mistake::NoBarrier || iteration != 1;
            let half = |op: &Op| {
                if has_barrier {
                    vec![op.clone()]
                } else {
                    vec![]
                }
            };
            let [arrive, wait] = [half(&arrive), half(&wait)];
            let is_late = mistake == Mistake::LateWait;
            let is_early = mistake == Mistake::EarlyArrive;
            let order = match (self.is_in_parts, self.encloses_stores || is_late) {
                (true, _) if is_early => [work, wait, arrive, stores],
                (true, true) => [work, stores, wait, arrive],
                (true, false) => [work, wait, stores, arrive],
                (false, _) if is_early => [arrive, stores, work, wait],
                // The wait of the iteration before.
                (false, true) if iteration > 0 => [stores, wait, arrive, work],
                (false, true) => [stores, arrive, work, vec![]],
                (false, false) => [stores, arrive, work, wait],
            };
            program.extend(order.into_iter().flatten());
        }
        let is_open = self.is_in_parts || mistake == Mistake::LateWait && trips > 0;
        if mistake != Mistake::NoTail {
            if is_open {
                program.push(wait.clone());
            }
            if !self.is_in_parts {
                program.extend([arrive.clone(), wait.clone()]);
            }
        }
        // What follows the loop may store where it has read.
        program.extend((read..trips).map(|_| Op::Waited(READ)));
        program.extend([Op::Arrived(AFTER), arrive, wait, Op::Waited(AFTER)]);
        program
    }

    fn verdict(self, waves: u8, trips: u8, mistake: Mistake) -> Verdict {
        let objects = vec![Object::workgroup(waves)];
        let wave = self.wave(trips, mistake);
        explore(&System::of_workgroup(objects, vec![], waves, |_| {
            wave.clone()
        }))
        .verdict
    }
}

#[test]
fn windows_may_contain_the_work() {
    for form in ENCLOSING {
        for waves in [2, 3] {
            for trips in 0..=6 {
                let verdict = form.verdict(waves, trips, Mistake::None);
                let of = format!("{waves} waves, {form:?}, {trips} iterations");
                assert!(verdict == Verdict::Proved, "{of}: {verdict:?}");
            }
        }
    }
}

#[test]
fn mistakes_around_the_work_are_refuted() {
    let always = [Mistake::WrongBuffer, Mistake::NoBarrier, Mistake::NoTail];
    for form in ENCLOSING {
        for waves in [2, 3] {
            for mistake in always.iter().chain(form.mistakes) {
                let verdict = form.verdict(waves, 6, *mistake);
                let of = format!("{waves} waves, {form:?}, {mistake:?}");
                assert!(verdict.is_refutation(), "{of}: {verdict:?}");
            }
        }
    }
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
