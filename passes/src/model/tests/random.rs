//! Random programs: the explorer agrees with the plain model, with and without its reductions; and
//! what ends well passes the checker.

use super::naive;
use crate::model::{
    Axiom, Object, Op, Options, Program, Register, Sequence, System, Value, Verdict, Violation,
    Word, check, explore_with, sample,
};
use proptest::prelude::*;

/// A piece of a program: operations, or a branch around operations.
#[derive(Clone, Debug)]
enum Piece {
    Ops(Vec<Op>),
    When(u8, Vec<Op>),
    Either(Vec<Op>, Vec<Op>),
}

const R: Register = Register(0);
const S: Sequence = Sequence(0);

/// Barriers of each kind, and one that nobody has initialised.
fn objects(threads: u8) -> Vec<Object> {
    vec![
        Object::cta(1, threads),
        Object::workgroup(threads),
        Object {
            initial: Some(threads),
            ..Object::named(1)
        },
        Object::named(2),
    ]
}

fn arrive(object: u8) -> Op {
    Op::Arrive {
        object: object.into(),
        expected: None,
    }
}

/// What protocols are made of, so that not every program breaks at once.
fn ops() -> impl Strategy<Value = Vec<Op>> {
    let any_object = 0..4u8;
    prop_oneof![
        6 => (0..2u8).prop_map(|o| vec![Op::Arrived(S), arrive(o), Op::Wait(o.into()), Op::Waited(S)]),
        4 => (0..2u8).prop_map(|o| vec![Op::Arrived(S), arrive(o)]),
        4 => (0..2u8).prop_map(|o| vec![Op::Wait(o.into()), Op::Waited(S)]),
        2 => (2..4u8).prop_map(|o| vec![Op::Join(o.into())]),
        2 => Just(vec![Op::Join(2.into()), arrive(2), Op::Wait(2.into())]),
        1 => (2..4u8).prop_map(|o| vec![Op::Drop(o.into())]),
        1 => any_object.clone().prop_map(|o| vec![arrive(o)]),
        1 => any_object.clone().prop_map(|o| vec![Op::ArriveFirst(o.into(), R)]),
        1 => any_object.prop_map(|o| vec![Op::Wait(o.into())]),
        1 => (1..3u8).prop_map(|count| vec![Op::Init { object: 3.into(), count }]),
        1 => (1..3u8).prop_map(|expected| vec![Op::Arrive { object: 3.into(), expected: Some(expected) }]),
        1 => (0..2u8).prop_map(|parity| vec![Op::WaitParity { object: 0.into(), parity: parity.into() }]),
        2 => Just(vec![Op::Add { word: Word(0), value: 1.into(), old: Some(R) }]),
        2 => (0..3u8).prop_map(|n| vec![Op::AwaitReached(Word(0), n.into())]),
        1 => (0..3u8).prop_map(|n| vec![Op::AwaitEqual(Word(0), n.into())]),
        1 => Just(vec![Op::Set(R, Value::affine(1, -1, R))]),
        1 => Just(vec![Op::Store(Word(0), R.into())]),
    ]
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        8 => ops().prop_map(Piece::Ops),
        1 => (0..2u8, ops()).prop_map(|(value, ops)| Piece::When(value, ops)),
        1 => (ops(), ops()).prop_map(|(one, two)| Piece::Either(one, two)),
    ]
}

fn program(pieces: Vec<Piece>) -> Program {
    let mut program = Program::new();
    for piece in pieces {
        match piece {
            Piece::Ops(ops) => {
                program.extend(ops);
            }
            Piece::When(value, ops) => {
                program.when(R, value, |program| {
                    program.extend(ops);
                });
            }
            Piece::Either(one, two) => {
                let (first, second, after) = (program.label(), program.label(), program.label());
                program.push(Op::Choose(vec![first, second]));
                program.bind(first).extend(one).push(Op::Goto(after));
                program.bind(second).extend(two).bind(after);
            }
        }
    }
    program
}

/// Two or three threads; half of the systems have one program for all of them.
fn system() -> impl Strategy<Value = System> {
    let one = || prop::collection::vec(piece(), 1..4).prop_map(program);
    let same = (one(), 2..4u8).prop_map(|(program, threads)| vec![program; threads.into()]);
    let different = prop::collection::vec(one(), 2..4);
    prop_oneof![same, different].prop_map(|programs| {
        let threads = u8::try_from(programs.len()).unwrap();
        let words = vec![("word".to_owned(), 0)];
        System::of_workgroup(objects(threads), words, threads, |n| {
            programs[usize::from(n)].clone()
        })
    })
}

fn name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Undefined { axiom, .. } => axiom.name(),
        other => other.name(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn reductions_change_no_verdict(system in system()) {
        let all = naive::verdicts(&system);
        for reduce in [true, false] {
            let report = explore_with(&system, Options { reduce, ..Options::default() });
            let found = name(&report.verdict);
            if found == "proved" {
                prop_assert!(all.len() == 1, "reduce {reduce}: {found}, but {all:?}");
            }
            prop_assert!(all.contains(found), "reduce {reduce}: {found}, but {all:?}");
            prop_assert_eq!(report.trace.is_some(), found != "proved");
        }
    }

    #[test]
    fn what_ends_well_passes_the_checker(system in system(), seed: u64) {
        let sample = sample(&system, seed);
        let all = naive::verdicts(&system);
        prop_assert!(all.contains(name(&sample.verdict)), "{} is not among {all:?}", sample.verdict);
        let parity = |op: &Op| matches!(op, Op::WaitParity { .. });
        let has_parity = system.threads.iter().any(|thread| thread.program.ops.iter().any(parity));
        if sample.verdict == Verdict::Proved && !has_parity {
            // A rule is about what executes before what, not about what happened to come first: an
            // execution that ends well may break one that another interleaving of the system breaks
            // for all to see. A join that is too late blocks there.
            let shows = |violation: &Violation| match violation.axiom {
                Axiom::JoinedBeforeParticipant => all.contains("deadlock"),
                // The explorer is content when the barrier has completed by the time of the drop.
                Axiom::CompleteBeforeDrop => true,
                axiom => all.contains(axiom.name()),
            };
            if let Err(violations) = check(&sample.execution) {
                prop_assert!(violations.iter().all(shows), "{violations:?}, but {all:?}\n{:#?}", sample.execution);
            }
        }
    }
}
