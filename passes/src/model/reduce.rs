//! Finds interleavings that do not have to be explored.
//!
//! Three reductions. Steps (see [`super::machine`]) keep private operations together. Threads that
//! run the same code are interchangeable: nothing shared names a thread, so a state stands for all
//! that differ from it by a permutation of such threads ([`Symmetry`]). And of the threads that can
//! go on, one alone is enough if its step is independent of whatever the others can still do
//! ([`Footprints`]), a persistent set of one: whichever steps of others come first, they lead to
//! the same place in either order, and neither can block the other or lead it astray. A step that
//! begins an arrive is never such a one, since a wait that returns before it would be missed; a
//! step that ends a wait may be, since later it could only look better. A step that goes backwards
//! in its program is none either, so that no cycle puts the other threads off for ever.

use super::code::{MOST, OBJECTS};
use super::machine::Machine;
use super::program::{Op, Value};

/// A set of objects and words, one bit each.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Resources {
    modified: u64,
    observed: u64,
}

impl Resources {
    fn from_op(op: &Op) -> Resources {
        let names = op.names();
        let objects = names
            .object
            .map_or(0, |value: Value| match value.constant() {
                Some(object) if usize::from(object) < OBJECTS => 1 << object,
                Some(_) | None => (1 << OBJECTS) - 1,
            });
        let word = names
            .word
            .map_or(0, |word| 1 << (OBJECTS + usize::from(word.0)));
        match op {
            Op::Init { .. }
            | Op::Drop(_)
            | Op::Arrive { .. }
            | Op::ArriveFirst(..)
            | Op::Store(..)
            | Op::Add { .. } => Resources {
                modified: objects | word,
                observed: objects | word,
            },
            // A wait and a join change the thread's own place at the object, which only
            // modifications by others touch.
            Op::Join(_)
            | Op::Wait(_)
            | Op::WaitParity { .. }
            | Op::AwaitReached(..)
            | Op::AwaitEqual(..) => Resources {
                modified: 0,
                observed: objects | word,
            },
            // Who chooses first makes no difference: all alternatives are looked at.
            Op::Choose(_)
            | Op::Set(..)
            | Op::Subtract(..)
            | Op::Goto(_)
            | Op::IfEqual(..)
            | Op::Arrived(_)
            | Op::Waited(_) => Resources::default(),
        }
    }

    fn or(self, other: Resources) -> Resources {
        Resources {
            modified: self.modified | other.modified,
            observed: self.observed | other.observed,
        }
    }

    fn meets(self, other: Resources) -> bool {
        self.modified & other.observed != 0 || self.observed & other.modified != 0
    }
}

const _: () = assert!(OBJECTS + MOST <= 64, "resources are bits of one word");

/// What each step touches, and what a thread can still touch from a place of its program on.
#[derive(Clone, Debug)]
pub(super) struct Footprints {
    /// By code and program counter: the operation itself, and all that can follow it, itself among
    /// them.
    of: Vec<Vec<(Resources, Resources)>>,
}

impl Footprints {
    pub(super) fn analyze(machine: &Machine) -> Footprints {
        Footprints {
            of: machine
                .codes
                .iter()
                .map(|code| {
                    let mut prints: Vec<(Resources, Resources)> = Vec::new();
                    for op in &code.ops {
                        prints.push((Resources::from_op(op), Resources::from_op(op)));
                    }
                    for object in code.leaves() {
                        let drop = Resources::from_op(&Op::Drop(object.into()));
                        prints.push((drop, drop));
                    }
                    prints.push(Default::default());
                    // Backwards, again until nothing changes: programs may jump back.
                    let mut changed = true;
                    while changed {
                        changed = false;
                        for pc in (0..prints.len() - 1).rev() {
                            let later = code
                                .successors(pc)
                                .fold(prints[pc].0, |all, next| all.or(prints[next].1));
                            changed |= later != prints[pc].1;
                            prints[pc].1 = later;
                        }
                    }
                    prints
                })
                .collect(),
        }
    }

    /// Returns true if the step that `thread` is at is independent of everything that the other
    /// threads can still do.
    pub(super) fn is_independent(&self, machine: &Machine, state: &[u8], thread: usize) -> bool {
        let print =
            |thread: usize| self.of[machine.code_of[thread]][machine.layout.pc(state, thread)];
        let may = match machine.op(state, thread) {
            Some(Op::Arrived(_)) => false,
            // Not sooner than it has to: the choices that others have not taken yet are remembered.
            Some(Op::Choose(_)) => machine.is_last_to_choose(state, thread),
            Some(_) | None => true,
        };
        if !may {
            return false;
        }
        let (own, _) = print(thread);
        (0..machine.threads()).all(|other| other == thread || !own.meets(print(other).1))
    }
}

/// The threads that are interchangeable.
#[derive(Clone, Debug)]
pub(super) struct Symmetry {
    /// Pairs of neighbours in the order of threads that run the same code.
    neighbours: Vec<(usize, usize)>,
}

impl Symmetry {
    pub(super) fn analyze(machine: &Machine) -> Symmetry {
        let next = |thread: usize| {
            (thread + 1..machine.threads())
                .find(|other| machine.code_of[*other] == machine.code_of[thread])
        };
        Symmetry {
            neighbours: (0..machine.threads())
                .filter_map(|thread| Some((thread, next(thread)?)))
                .collect(),
        }
    }

    /// Sorts the blocks of interchangeable threads. `swapped` is told of each exchange.
    pub(super) fn sort(
        &self,
        machine: &Machine,
        state: &mut [u8],
        mut swapped: impl FnMut(usize, usize),
    ) {
        let layout = &machine.layout;
        let mut again = !self.neighbours.is_empty();
        while again {
            again = false;
            for (first, second) in &self.neighbours {
                let (low, high) = (layout.base(*first), layout.base(*second));
                let (head, tail) = state.split_at_mut(high);
                let (one, two) = (
                    &mut head[low..low + layout.thread],
                    &mut tail[..layout.thread],
                );
                if *one > *two {
                    one.swap_with_slice(two);
                    swapped(*first, *second);
                    again = true;
                }
            }
        }
    }
}
