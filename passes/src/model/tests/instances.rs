//! The barriers of the hardware as instances of the model: cluster, named and NULL barriers, and
//! what each of their rules forbids.

use crate::model::{
    Axiom, Object, Op, Program, Scope, Sequence, System, Thread, Value, Verdict, explore,
};

fn arrive(object: u8) -> Op {
    Op::Arrive {
        object: object.into(),
        expected: None,
    }
}

fn wait(object: u8) -> Op {
    Op::Wait(object.into())
}

fn verdict(objects: Vec<Object>, programs: Vec<Vec<Op>>) -> Verdict {
    let threads = u8::try_from(programs.len()).unwrap();
    let system = System::of_workgroup(objects, vec![], threads, |n| {
        programs[usize::from(n)].iter().cloned().collect()
    });
    explore(&system).verdict
}

/// Two workgroups of two waves; `arrives` says which waves of a workgroup arrive on the cluster
/// barrier once the workgroup's own is complete.
fn cluster(arrives: impl Fn(u8) -> bool) -> Verdict {
    let all = Sequence(0);
    let thread = |workgroup: u8, wave: u8| {
        let mut program = Program::new();
        for _ in 0..2 {
            program.extend([Op::Arrived(all), arrive(workgroup), wait(workgroup)]);
            if arrives(wave) {
                program.push(arrive(2));
            }
            program.extend([wait(2), Op::Waited(all)]);
        }
        Thread { workgroup, program }
    };
    let own = |workgroup| Object::workgroup(2).in_scope(Scope::Workgroup(workgroup));
    explore(&System {
        objects: vec![own(0), own(1), Object::cluster(2)],
        words: vec![],
        threads: vec![thread(0, 0), thread(0, 1), thread(1, 0), thread(1, 1)],
    })
    .verdict
}

#[test]
fn one_wave_of_each_workgroup_arrives_for_the_cluster() {
    assert_eq!(cluster(|wave| wave == 0), Verdict::Proved);
    assert_ne!(cluster(|_| true), Verdict::Proved);
}

#[test]
fn a_barrier_of_another_workgroup_is_out_of_reach() {
    let objects = vec![Object::workgroup(1).in_scope(Scope::Workgroup(1))];
    assert_eq!(
        verdict(objects, vec![vec![arrive(0)]]),
        Verdict::Undefined {
            axiom: Axiom::ObjectInScope,
            thread: 0
        }
    );
}

/// A producer and a consumer on a named barrier; the consumer joins, the producer need not.
#[test]
fn a_producer_and_a_consumer_meet_on_a_named_barrier() {
    let objects = || vec![Object::workgroup(2), Object::named(1)];
    let init = Op::Init {
        object: 1.into(),
        count: 1,
    };
    let producer = vec![
        init.clone(),
        arrive(0),
        wait(0),
        arrive(0),
        wait(0),
        arrive(1),
    ];
    let consumer = vec![
        arrive(0),
        wait(0),
        Op::Join(1.into()),
        arrive(0),
        wait(0),
        wait(1),
    ];
    assert_eq!(
        verdict(objects(), vec![producer, consumer]),
        Verdict::Proved
    );
    // Without the barrier behind the join, the producer may have arrived before it.
    let producer = vec![init, arrive(0), wait(0), arrive(1)];
    let consumer = vec![arrive(0), wait(0), Op::Join(1.into()), wait(1)];
    assert_eq!(
        verdict(objects(), vec![producer, consumer]),
        Verdict::Deadlock { waiting: vec![1] }
    );
}

#[test]
fn joining_null_leaves_a_named_barrier() {
    let objects = || {
        let named = Object {
            initial: Some(1),
            ..Object::named(1)
        };
        vec![Object::null(), named]
    };
    let join = |object: u8| Op::Join(object.into());
    let of_null = vec![join(0), arrive(0), wait(0), Op::Drop(0.into())];
    assert_eq!(verdict(objects(), vec![of_null]), Verdict::Proved);
    let left = vec![join(1), join(0), arrive(1), wait(1)];
    assert_eq!(
        verdict(objects(), vec![left]),
        Verdict::Undefined {
            axiom: Axiom::JoinNotLost,
            thread: 0
        }
    );
    let back = vec![join(1), join(0), join(1), arrive(1), wait(1)];
    assert_eq!(verdict(objects(), vec![back]), Verdict::Proved);
}

#[test]
fn a_dropped_barrier_counts_one_less() {
    let objects = vec![Object {
        initial: Some(2),
        ..Object::named(1)
    }];
    let join = Op::Join(0.into());
    let stays = vec![join.clone(), arrive(0), wait(0), arrive(0), wait(0)];
    let leaves = vec![join, arrive(0), wait(0), Op::Drop(0.into())];
    assert_eq!(verdict(objects, vec![stays, leaves]), Verdict::Proved);
}

#[test]
fn an_arrive_may_raise_the_count_but_not_to_what_has_arrived() {
    let counted = |expected| Op::Arrive {
        object: 0.into(),
        expected: Some(expected),
    };
    let objects = || vec![Object::cta(1, 3)];
    assert_eq!(
        verdict(objects(), vec![vec![counted(2), wait(0)]; 2]),
        Verdict::Proved
    );
    assert!(matches!(
        verdict(objects(), vec![vec![arrive(0)], vec![counted(1)]]),
        Verdict::Undefined {
            axiom: Axiom::ExpectedAboveArrived,
            thread: 1
        }
    ));
}

#[test]
fn what_is_too_large_is_said() {
    let threads = |n: u8| System::of_workgroup(vec![], vec![], n, |_| Program::new());
    for (system, why) in [
        (threads(0), "no thread"),
        (threads(17), "17 threads"),
        (
            System::of_workgroup(vec![], vec![], 1, |_| {
                let mut program = Program::new();
                let label = program.label();
                program.push(Op::Goto(label));
                program
            }),
            "a label is not bound",
        ),
        (
            System::of_workgroup(vec![], vec![], 1, |_| {
                let mut program = Program::new();
                let label = program.label();
                program.bind(label).push(Op::Goto(label));
                program
            }),
            "does not end",
        ),
    ] {
        match explore(&system).verdict {
            Verdict::Limit(text) => assert!(text.contains(why), "{text}"),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn loops_need_no_end() {
    // Two waves meet for ever: finitely many states, and none of them stuck.
    let system = System::of_workgroup(vec![Object::cta(0, 2)], vec![], 2, |_| {
        let mut program = Program::new();
        let label = program.label();
        program.bind(label);
        program.extend([
            Op::Arrived(Sequence(0)),
            arrive(0),
            wait(0),
            Op::Waited(Sequence(0)),
        ]);
        program.push(Op::Goto(label));
        program
    });
    let report = explore(&system);
    assert_eq!(report.verdict, Verdict::Proved);
    assert!(report.states < 20, "{report}");
}

#[test]
fn waves_choose_alike() {
    // Both ways meet at one barrier, in different numbers; each wave takes the same.
    let system = System::of_workgroup(vec![Object::cta(0, 3)], vec![], 3, |_| {
        let mut program = Program::new();
        let (once, twice) = (program.label(), program.label());
        program.push(Op::Choose(vec![once, twice]));
        program.bind(twice).extend([arrive(0), wait(0)]);
        program.bind(once).extend([arrive(0), wait(0)]);
        program
    });
    assert_eq!(explore(&system).verdict, Verdict::Proved);
    assert_eq!(Value::from(3).constant(), Some(3));
}
