//! One interleaving of a system, chosen by a seed: what the explorer looks at all of.

use super::execution::{Event, EventId, Execution, Operation, Trail};
use super::machine::{Fault, Machine, Step};
use super::program::{Op, System};
use super::state::seat;
use super::verdict::Verdict;

/// The most steps of a sample; more than any program without a loop has.
const MOST_STEPS: usize = 1 << 17;

/// The end of one interleaving, and its barrier operations.
#[derive(Clone, Debug)]
pub struct Sample {
    /// [`Verdict::Proved`] is only about this interleaving: it ended correctly.
    pub verdict: Verdict,
    /// The execution. Waits by parity are waits in it.
    pub execution: Execution,
}

/// Runs `system` along the interleaving that `seed` chooses.
pub fn sample(system: &System, seed: u64) -> Sample {
    let mut execution = Execution {
        objects: system.objects.clone(),
        threads: system
            .threads
            .iter()
            .map(|thread| Trail {
                workgroup: thread.workgroup,
                events: Vec::new(),
            })
            .collect(),
        orders: vec![Vec::new(); system.objects.len()],
    };
    let verdict = match Machine::new(system) {
        Ok(machine) => run(&machine, seed, &mut execution),
        Err(why) => Verdict::Limit(why),
    };
    Sample { verdict, execution }
}

fn run(machine: &Machine, seed: u64, execution: &mut Execution) -> Verdict {
    let mut random = Random(seed);
    let mut units = vec![0u64; machine.layout.units()];
    let state: &mut [u8] = bytemuck::cast_slice_mut(&mut units);
    let failed = |fault, thread| match fault {
        Fault::Undefined(axiom) => Verdict::Undefined { axiom, thread },
        Fault::Early(sequence, missing) => Verdict::Early {
            sequence,
            thread,
            missing,
        },
        Fault::Limit(why) => Verdict::Limit(why.to_owned()),
    };
    if let Err(fault) = machine.launch(state) {
        return failed(fault, 0);
    }
    let mut next = state.to_vec();
    for _ in 0..MOST_STEPS {
        // From a random thread on, the first that can go.
        let first = random.below(machine.threads());
        let mut went = false;
        for thread in (0..machine.threads()).map(|n| (first + n) % machine.threads()) {
            next.copy_from_slice(state);
            let mut done = Vec::new();
            let before = &*state;
            let mut log = |pc: usize, after: &[u8]| {
                done.extend(event(machine, thread, pc, before, after));
            };
            let mut result = machine.step(&mut next, thread, 0, &mut log);
            if let Ok(Step::Done { ways }) = result
                && let way @ 1.. = random.below(ways.into())
            {
                done.clear();
                next.copy_from_slice(state);
                let way = u8::try_from(way).unwrap_or(0);
                result = machine.step(&mut next, thread, way, &mut |pc, after| {
                    done.extend(event(machine, thread, pc, before, after));
                });
            }
            match result {
                Ok(Step::Blocked) => continue,
                Ok(Step::Done { .. }) => {}
                Err(fault) => return failed(fault, thread),
            }
            for event in done {
                record(execution, thread, event);
            }
            state.copy_from_slice(&next);
            went = true;
            break;
        }
        if !went {
            let waiting: Vec<usize> = (0..machine.threads())
                .filter(|thread| !machine.has_ended(state, *thread))
                .collect();
            return match machine.broken_at_end(state) {
                _ if !waiting.is_empty() => Verdict::Deadlock { waiting },
                Some(axiom) => Verdict::Undefined { axiom, thread: 0 },
                None => Verdict::Proved,
            };
        }
    }
    Verdict::Limit(format!("more than {MOST_STEPS} steps"))
}

fn record(execution: &mut Execution, thread: usize, event: Event) {
    let Some(trail) = execution.threads.get_mut(thread) else {
        debug_assert!(false, "no thread {thread}");
        return;
    };
    let id = EventId {
        thread,
        index: trail.events.len(),
    };
    trail.events.push(event);
    if let (true, Some(order)) = (
        event.operation.is_modification(),
        execution.orders.get_mut(event.object),
    ) {
        order.push(id);
    }
}

/// The barrier operation at `pc`, if it is one, between two states.
fn event(
    machine: &Machine,
    thread: usize,
    pc: usize,
    before: &[u8],
    after: &[u8],
) -> Option<Event> {
    let code = machine.code(thread);
    let Some(op) = code.ops.get(pc) else {
        // The end of a thread drops what it is joined to.
        let object = code.leaving(pc)?;
        let is_joined = before[machine.layout.seat(thread, object)] & seat::JOINED != 0;
        return is_joined.then_some(Event {
            object,
            operation: Operation::Drop,
        });
    };
    let operation = match op {
        Op::Init { count, .. } => Operation::Init(u32::from(*count)),
        Op::Join(_) => Operation::Join,
        Op::Drop(_) => Operation::Drop,
        Op::Arrive { expected, .. } => Operation::Arrive(expected.map(u32::from)),
        Op::ArriveFirst(..) => Operation::Arrive(None),
        Op::Wait(_) | Op::WaitParity { .. } => Operation::Wait,
        Op::Store(..)
        | Op::Add { .. }
        | Op::AwaitReached(..)
        | Op::AwaitEqual(..)
        | Op::Set(..)
        | Op::Subtract(..)
        | Op::Goto(_)
        | Op::IfEqual(..)
        | Op::Choose(_)
        | Op::Arrived(_)
        | Op::Waited(_) => return None,
    };
    let object = machine.value(after, thread, op.names().object?);
    Some(Event {
        object: object.into(),
        operation,
    })
}

/// SplitMix64: the same numbers from the same seed, everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed % bound.max(1) as u64) as usize
    }
}
