//! The checker: each rule can be broken, and executions that were valid are not when something is
//! changed.

use crate::model::catalogue::{self, Known};
use crate::model::protocol::Usage;
use crate::model::{
    Axiom, Event, EventId, Execution, Object, Operation, Scope, Trail, Verdict, Violation, check,
    sample,
};

/// An operation and its object: `I2:0` (init to 2), `J:0`, `D:0`, `A:0`, `A3:0` (sets the count to
/// 3), `W:0`.
fn event(text: &str) -> Event {
    let (operation, object) = text.split_once(':').unwrap();
    let number = operation[1..].parse().ok();
    let operation = match &operation[..1] {
        "I" => Operation::Init(number.unwrap()),
        "J" => Operation::Join,
        "D" => Operation::Drop,
        "A" => Operation::Arrive(number),
        "W" => Operation::Wait,
        other => panic!("{other}"),
    };
    Event {
        object: object.parse().unwrap(),
        operation,
    }
}

/// Threads' operations in the order in which they are executed: `thread.operation`. The
/// modification orders are the same.
fn execution(objects: &[Object], threads: usize, text: &str) -> Execution {
    let mut execution = Execution {
        objects: objects.to_vec(),
        threads: vec![Trail::default(); threads],
        orders: vec![vec![]; objects.len()],
    };
    for item in text.split_whitespace() {
        let (thread, operation) = item.split_once('.').unwrap();
        let thread: usize = thread.parse().unwrap();
        let event = event(operation);
        let index = execution.threads[thread].events.len();
        execution.threads[thread].events.push(event);
        if event.operation.is_modification()
            && let Some(order) = execution.orders.get_mut(event.object)
        {
            order.push(EventId { thread, index });
        }
    }
    execution
}

fn broken(execution: &Execution) -> Vec<Axiom> {
    let mut axioms: Vec<Axiom> = match check(execution) {
        Ok(_) => vec![],
        Err(violations) => violations.iter().map(|violation| violation.axiom).collect(),
    };
    axioms.dedup();
    axioms
}

#[test]
fn every_rule_can_be_broken() {
    let two = [Object::workgroup(2)];
    let named = [Object::named(1), Object::named(2), Object::workgroup(2)];
    let cases: Vec<(Axiom, Execution)> = vec![
        (
            Axiom::ObjectInScope,
            execution(
                &[Object::workgroup(1).in_scope(Scope::Workgroup(1))],
                1,
                "0.A:0 0.W:0",
            ),
        ),
        (
            Axiom::ExpectedAboveArrived,
            execution(&two, 2, "0.A:0 1.A1:0 0.W:0 1.W:0"),
        ),
        (Axiom::FirstIsInit, execution(&named, 1, "0.A:0")),
        (Axiom::Initialised, execution(&named, 1, "0.J:0")),
        (Axiom::Initialised, execution(&two, 1, "0.J:5")),
        (
            Axiom::JoinedBeforeDrop,
            execution(&named, 1, "0.I2:0 0.D:0"),
        ),
        (
            Axiom::ExpectedNotNegative,
            execution(&named, 1, "0.I1:0 0.J:0 0.D:0 0.J:0 0.D:0"),
        ),
        (
            Axiom::CompleteBeforeDrop,
            execution(&two, 2, "0.A:0 0.D:0 1.W:0"),
        ),
        (
            Axiom::JoinedBeforeWait,
            execution(&named, 1, "0.I1:0 0.A:0 0.W:0"),
        ),
        (
            Axiom::JoinNotLost,
            execution(&named, 1, "0.I1:0 0.I1:1 0.J:0 0.J:1 0.A:0 0.W:0"),
        ),
        (
            Axiom::JoinedBeforeParticipant,
            execution(&named, 2, "0.I1:0 0.A:0 1.J:0 1.W:0"),
        ),
        (Axiom::WaitCompletes, execution(&two, 2, "0.A:0 0.W:0")),
        (
            Axiom::PhasesSeparate,
            execution(&two, 2, "0.A:0 1.A:0 0.A:0 1.A:0 0.W:0 0.W:0 1.W:0 1.W:0"),
        ),
        (
            Axiom::CompleteAtEnd,
            execution(&[Object::cta(1, 2)], 2, "0.A:0 1.A:0 0.A:0"),
        ),
    ];
    for (axiom, execution) in &cases {
        let broken = broken(execution);
        // A second arrive before the first wait leaves the last wait without a phase: the same
        // mistake by another name.
        let also = *axiom == Axiom::PhasesSeparate && broken.contains(&Axiom::WaitCompletes);
        assert!(broken.contains(axiom) || also, "{axiom}: {broken:?}");
    }
}

#[test]
fn orders_are_checked() {
    let objects = [Object::workgroup(2)];
    let valid = execution(
        &objects,
        2,
        "0.A:0 1.A:0 0.W:0 1.W:0 0.A:0 1.A:0 0.W:0 1.W:0",
    );
    assert_eq!(broken(&valid), []);
    let order = |order: &[(usize, usize)]| {
        let mut changed = valid.clone();
        let ids = order.iter().map(|(thread, index)| EventId {
            thread: *thread,
            index: *index,
        });
        changed.orders[0] = ids.collect();
        broken(&changed)
    };
    assert_eq!(order(&[(0, 0), (1, 0), (0, 2)]), [Axiom::StrictTotalOrder]);
    assert_eq!(
        order(&[(0, 2), (1, 0), (0, 0), (1, 2)]),
        [Axiom::ThreadOrderKept]
    );
    // Thread 0 arrives twice before thread 1: its first wait would come before its own second
    // arrive, on which it depends.
    assert_eq!(
        order(&[(0, 0), (0, 2), (1, 0), (1, 2)]),
        [Axiom::WaitCompletes]
    );
}

#[test]
fn a_phase_of_another_wait_in_between_is_seen() {
    // Thread 1 tells thread 0, by way of object 1, that it has begun the second phase of object 0,
    // before thread 0 waits for the first.
    let objects = [Object::workgroup(1), Object::cta(1, 1)];
    let text = "1.A:0 1.W:0 1.A:0 1.W:0 1.A:1 0.W:1 0.W:0 0.W:0";
    assert_eq!(
        broken(&execution(&objects, 2, text)),
        [Axiom::PhasesSeparate]
    );
    // Without the second wait, the first may take the second phase.
    let text = "1.A:0 1.W:0 1.A:0 1.W:0 1.A:1 0.W:1 0.W:0";
    assert_eq!(broken(&execution(&objects, 2, text)), []);
}

#[test]
fn relations_can_be_asked() {
    let objects = [Object::workgroup(2)];
    let relations = check(&execution(&objects, 2, "0.A:0 1.A:0 0.W:0 1.W:0")).unwrap();
    let id = |thread, index| EventId { thread, index };
    assert!(relations.participates_in(id(1, 0), id(0, 1)));
    assert!(!relations.participates_in(id(0, 1), id(1, 1)));
    assert!(relations.executes_before(id(1, 0), id(0, 1)));
    assert!(!relations.executes_before(id(0, 1), id(1, 0)));
    assert!(!relations.executes_before(id(0, 0), id(1, 0)));
}

/// The protocols that have objects alone, one use each that is right.
const RIGHT: &[(Known, Usage)] = &[
    (catalogue::FUSED_AT_WAIT, Usage::Repeated),
    (catalogue::SIGNAL_WAIT, Usage::Repeated),
    (catalogue::NAMED_OBJECT, Usage::FullBarrierInside),
    (catalogue::CLUSTER_OF_ONE, Usage::FullBarrierBetween),
    (catalogue::WARP_NAMED_DOUBLE, Usage::Repeated),
    (catalogue::MBARRIER, Usage::Repeated),
];

/// The execution without one event.
fn without(execution: &Execution, gone: EventId) -> Execution {
    let mut changed = execution.clone();
    changed.threads[gone.thread].events.remove(gone.index);
    for order in &mut changed.orders {
        order.retain(|id| *id != gone);
        for id in order.iter_mut() {
            if id.thread == gone.thread && id.index > gone.index {
                id.index -= 1;
            }
        }
    }
    changed
}

#[test]
fn valid_executions_are_not_when_something_is_changed() {
    for (known, usage) in RIGHT {
        for seed in 0..4 {
            let sample = sample(&usage.system(known, 3, 3), seed);
            assert_eq!(sample.verdict, Verdict::Proved, "{}", known.name);
            let execution = sample.execution;
            assert_eq!(check(&execution).map(|_| ()), Ok(()), "{}", known.name);
            for (id, event) in execution.events() {
                let needed = match event.operation {
                    Operation::Init(_) | Operation::Join | Operation::Arrive(_) => true,
                    // Nobody has to wait, and the end of a thread may be left out.
                    Operation::Wait | Operation::Drop => false,
                };
                let changed = check(&without(&execution, id));
                assert!(
                    !needed || changed.is_err(),
                    "{} without {event:?} of thread {}",
                    known.name,
                    id.thread
                );
            }
            for object in 0..execution.orders.len() {
                let mut changed = execution.clone();
                changed.orders[object].reverse();
                let order = &changed.orders[object];
                let repeats = order.iter().any(|one| {
                    let same = order.iter().filter(|other| other.thread == one.thread);
                    same.count() > 1
                });
                assert!(
                    !repeats || check(&changed).is_err(),
                    "{} reversed",
                    known.name
                );
            }
        }
    }
}

#[test]
fn violations_say_where() {
    let violations = check(&execution(&[Object::workgroup(2)], 2, "0.A:0 0.W:0")).unwrap_err();
    let [Violation { axiom, event }] = violations[..] else {
        panic!("{violations:?}");
    };
    assert_eq!(
        (axiom, event.thread, event.index),
        (Axiom::WaitCompletes, 0, 1)
    );
    assert_eq!(
        violations[0].to_string(),
        "operation 1 of thread 0 breaks WaitCompletes: every wait completes"
    );
}
