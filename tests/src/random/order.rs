//! The order that the barriers of a random program establish: checks that every access to a slot
//! comes after those that it conflicts with.
//!
//! Vulkan's rule: a release before (or on) the arrive of one invocation synchronizes with an
//! acquire on (or after) the wait of another, where both cover the memory and their scopes include
//! both invocations. So the accesses of a slot climb four steps (released, arrived, met, acquired),
//! and an access that conflicts with them may come when they are at the top. Each step is taken by
//! all invocations, since all execute the same.

use super::share::{Access, Atomic, BUFFER, Fence, Index, MAKE_AVAILABLE, MAKE_VISIBLE};
use super::share::{Reach, SHARED_MEMORY, Scope, When};
use super::sizes::{SHARED, SLOTS};
use super::tree::{Dialect, Program, Top};

/// Scopes of execution that barriers have; pairs of both may be open at the same time.
const EXECUTION: [Scope; 2] = [Scope::Subgroup, Scope::Workgroup];

/// The progress towards an order of the earlier accesses before the later ones, among the
/// invocations of one scope.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Progress {
    /// A release came after them.
    released: bool,
    /// After that, an arrive of a pair of each execution scope, which is still open.
    arrived: [bool; 2],
    /// After that, its wait, or a full barrier.
    met: bool,
    /// After that, an acquire.
    acquired: bool,
}

impl Progress {
    const DONE: Progress = Progress {
        released: true,
        arrived: [false; 2],
        met: true,
        acquired: true,
    };

    fn and(self, other: Progress) -> Progress {
        Progress {
            released: self.released && other.released,
            arrived: [0, 1].map(|at| self.arrived[at] && other.arrived[at]),
            met: self.met && other.met,
            acquired: self.acquired && other.acquired,
        }
    }
}

/// The reads, or the writes, of one slot.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Accesses {
    /// Among the invocations of a subgroup, and of the workgroup.
    progress: [Progress; 2],
    /// The invocations among which accesses conflict that are not ordered for all yet.
    reach: Reach,
    /// If all of those are atomic operations of one kind.
    atomic: Option<Atomic>,
}

impl Accesses {
    const NONE: Accesses = Accesses {
        progress: [Progress::DONE; 2],
        reach: Reach::Own,
        atomic: None,
    };

    /// Returns true if an access of this reach is ordered after all of them.
    fn before(&self, reach: Reach) -> bool {
        match reach.max(self.reach) {
            Reach::Own => true,
            Reach::Subgroup => self.progress[0].acquired,
            Reach::Workgroup => self.progress[1].acquired,
        }
    }

    fn add(&mut self, reach: Reach, atomic: Option<Atomic>) {
        let settled = self.progress[1].acquired;
        *self = Accesses {
            progress: [Progress::default(); 2],
            reach: if settled {
                reach
            } else {
                self.reach.max(reach)
            },
            atomic: atomic.filter(|_| settled || self.atomic == atomic),
        };
    }

    fn and(self, other: Accesses) -> Accesses {
        Accesses {
            progress: [0, 1].map(|at| self.progress[at].and(other.progress[at])),
            reach: self.reach.max(other.reach),
            atomic: self.atomic.filter(|_| self.atomic == other.atomic),
        }
    }
}

/// The knowledge about a slot.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Slot {
    writes: Accesses,
    reads: Accesses,
    /// Every element has a value.
    filled: bool,
}

/// The knowledge at one place of a program.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    dialect: Dialect,
    slots: [Slot; SLOTS],
    /// True if a pair is open, for each execution scope.
    open: [bool; 2],
}

impl Known {
    /// At the beginning: nothing was accessed, and only buffers have values.
    pub(crate) fn new(dialect: Dialect) -> Known {
        let slot = |slot| Slot {
            writes: Accesses::NONE,
            reads: Accesses::NONE,
            filled: slot >= SHARED,
        };
        Known {
            dialect,
            slots: std::array::from_fn(slot),
            open: [false; 2],
        }
    }

    /// The knowledge at the beginning of a loop's body, for any body that leaves no pair open:
    /// earlier accesses count as unordered.
    pub(crate) fn again(&self) -> Known {
        let mut state = *self;
        for slot in &mut state.slots {
            for accesses in [&mut slot.writes, &mut slot.reads] {
                *accesses = Accesses {
                    progress: [Progress::default(); 2],
                    reach: Reach::Workgroup,
                    atomic: None,
                };
            }
        }
        state
    }

    /// The knowledge where two paths merge; `None` if a pair is open on only one of them.
    pub(crate) fn and(&self, other: &Known) -> Option<Known> {
        let slot = |at: usize| {
            let (a, b) = (self.slots[at], other.slots[at]);
            Slot {
                writes: a.writes.and(b.writes),
                reads: a.reads.and(b.reads),
                filled: a.filled && b.filled,
            }
        };
        (self.open == other.open).then(|| Known {
            dialect: self.dialect,
            slots: std::array::from_fn(slot),
            open: self.open,
        })
    }

    /// Returns true if a pair of this execution scope is open.
    pub(crate) fn is_open(&self, execution: Scope) -> bool {
        (0..2).any(|at| EXECUTION[at] == execution && self.open[at])
    }

    /// Returns true if every element of the slot has a value.
    pub(crate) fn is_filled(&self, slot: usize) -> bool {
        self.slots[slot].filled
    }

    /// Returns true if this access provably races with none before it, and reads only initialised
    /// elements.
    pub(crate) fn allows(&self, top: &Top) -> bool {
        match top {
            Top::Put {
                slot, index, when, ..
            } => {
                let single = matches!(when, When::Only(_));
                (index.is_permutation() || single) && self.may_write(*slot, reach(*index, *when))
            }
            Top::Take {
                slot, index, when, ..
            } => self.may_read(*slot, reach(*index, *when)),
            Top::Copy {
                to, from, index, ..
            } => {
                to != from && self.may_write(*to, Reach::Own) && self.may_read(*from, index.reach())
            }
            Top::Atomic { slot, what, .. } => {
                let Slot {
                    writes,
                    reads,
                    filled,
                } = self.slots[*slot];
                let free = writes.before(Reach::Workgroup) || writes.atomic == Some(*what);
                filled && free && reads.before(Reach::Workgroup)
            }
            Top::Arrive(execution, _) => !self.is_open(*execution),
            Top::Wait(execution, _) => self.is_open(*execution),
            _ => true,
        }
    }

    fn may_write(&self, slot: usize, reach: Reach) -> bool {
        let Slot { writes, reads, .. } = self.slots[slot];
        writes.before(reach) && reads.before(reach)
    }

    fn may_read(&self, slot: usize, reach: Reach) -> bool {
        let Slot { writes, filled, .. } = self.slots[slot];
        filled && writes.before(reach)
    }

    /// After an instruction; groups of them are for [`check`].
    pub(crate) fn pass(&mut self, top: &Top) {
        match top {
            Top::Put {
                slot, index, when, ..
            } => {
                let all = *when == When::Always && index.is_permutation();
                let slot = &mut self.slots[*slot];
                slot.writes.add(reach(*index, *when), None);
                slot.filled |= all;
            }
            Top::Take {
                slot, index, when, ..
            } => {
                self.slots[*slot].reads.add(reach(*index, *when), None);
            }
            Top::Copy {
                to, from, index, ..
            } => {
                self.slots[*from].reads.add(index.reach(), None);
                self.slots[*to].writes.add(Reach::Own, None);
                self.slots[*to].filled = true;
            }
            Top::Atomic { slot, what, .. } => {
                self.slots[*slot].writes.add(Reach::Workgroup, Some(*what));
            }
            Top::Fence(fence) => {
                self.release(*fence);
                self.acquire(*fence);
            }
            Top::Barrier(execution, fence) => {
                self.release(*fence);
                self.each(|progress, scope, _| {
                    progress.met |= progress.released && *execution >= scope;
                });
                self.acquire(*fence);
            }
            Top::Arrive(execution, fence) => {
                self.release(*fence);
                let pair = pair(*execution);
                self.each(|progress, scope, _| {
                    progress.arrived[pair] |= progress.released && *execution >= scope;
                });
                self.open[pair] = true;
            }
            Top::Wait(execution, fence) => {
                let pair = pair(*execution);
                self.each(|progress, _, _| {
                    progress.met |= std::mem::take(&mut progress.arrived[pair]);
                });
                self.open[pair] = false;
                self.acquire(*fence);
            }
            _ => {}
        }
    }

    /// `change` for the progress of all accesses, with its scope and the memory's bit of semantics.
    fn each(&mut self, change: impl Fn(&mut Progress, Scope, u32)) {
        for (at, slot) in self.slots.iter_mut().enumerate() {
            for accesses in [&mut slot.writes, &mut slot.reads] {
                for (progress, scope) in accesses.progress.iter_mut().zip(EXECUTION) {
                    change(progress, scope, memory(at));
                }
            }
        }
    }

    fn release(&mut self, fence: Fence) {
        let available = self.dialect != Dialect::VulkanBarrier || fence.bits & MAKE_AVAILABLE != 0;
        if fence.releases() && available {
            self.each(|progress, scope, memory| {
                progress.released |= fence.scope >= scope && fence.bits & memory != 0;
            });
        }
    }

    fn acquire(&mut self, fence: Fence) {
        let visible = self.dialect != Dialect::VulkanBarrier || fence.bits & MAKE_VISIBLE != 0;
        if fence.acquires() && visible {
            self.each(|progress, scope, memory| {
                progress.acquired |=
                    progress.met && fence.scope >= scope && fence.bits & memory != 0;
            });
        }
    }
}

fn pair(execution: Scope) -> usize {
    usize::from(execution >= Scope::Workgroup)
}

/// An invocation that accesses elements for all, or elements that are not its own, conflicts with
/// all others.
fn reach(index: Index, when: When) -> Reach {
    match when {
        When::Only(_) => Reach::Workgroup,
        When::Always | When::Bit(..) => index.reach(),
    }
}

/// The bit of memory semantics of a slot's memory.
pub(crate) fn memory(slot: usize) -> u32 {
    if slot < SHARED { SHARED_MEMORY } else { BUFFER }
}

/// The reason why the result of a program is not defined; `None` if it is free of races.
pub fn flaw(program: &Program) -> Option<String> {
    let mut state = Known::new(program.dialect);
    check(&mut state, &program.tops).err()
}

/// Checks `tops`. Returns true if all workgroups reach the end.
fn check(state: &mut Known, tops: &[Top]) -> Result<(), String> {
    for top in tops {
        match top {
            Top::ByGroup(even, odd) => {
                let mut other = *state;
                check(state, even)?;
                check(&mut other, odd)?;
                *state = state.and(&other).ok_or("a pair is open on one way only")?;
            }
            Top::Repeat(_, body) => loop {
                let mut end = *state;
                check(&mut end, body)?;
                let both = state.and(&end).ok_or("a pair is open on one way only")?;
                if both == *state {
                    break;
                }
                *state = both;
            },
            Top::Inline(body) => check(state, body)?,
            top if !state.allows(top) => return Err(format!("{top:?} comes too early")),
            top => {
                if let Top::Put { access, .. } | Top::Take { access, .. } = top {
                    marks(state, *access)?;
                }
                state.pass(top);
            }
        }
    }
    Ok(())
}

/// Checks that accesses which make available or visible do so for the whole workgroup.
fn marks(state: &Known, access: Access) -> Result<(), String> {
    if state.dialect == Dialect::VulkanAccess && access.scope < Scope::Workgroup {
        return Err("an access is marked for too few".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::share::Count;
    use super::super::share::Of;
    use super::*;

    const ACCESS: Access = Access {
        volatile: false,
        scope: Scope::Workgroup,
    };
    const WORKGROUP: Scope = Scope::Workgroup;

    fn put(slot: usize) -> Top {
        Top::Put {
            slot,
            index: Index::Own,
            from: 0,
            when: When::Always,
            access: ACCESS,
        }
    }

    fn take(slot: usize, index: Index) -> Top {
        Top::Take {
            slot,
            index,
            to: 0,
            when: When::Always,
            access: ACCESS,
        }
    }

    fn with(scope: Scope, bits: u32) -> Fence {
        Fence { scope, bits }
    }

    fn is_right(dialect: Dialect, tops: Vec<Top>) -> bool {
        check(&mut Known::new(dialect), &tops).is_ok()
    }

    /// A store to slot 0 (workgroup memory) and one to slot 3 (a buffer), `between`, loads of both.
    fn exchange(dialect: Dialect, between: Vec<Top>) -> [bool; 2] {
        [0, 3].map(|slot| {
            let mut tops = vec![put(slot)];
            tops.extend(between.clone());
            tops.push(take(slot, Index::Shift(1)));
            is_right(dialect, tops)
        })
    }

    #[test]
    fn fences_order_the_memory_that_both_sides_name() {
        let arrive = |bits| Top::Arrive(WORKGROUP, with(WORKGROUP, bits));
        let wait = |bits| Top::Wait(WORKGROUP, with(WORKGROUP, bits));
        let fence = |bits| Top::Fence(with(WORKGROUP, bits));
        let barrier = |bits| Top::Barrier(WORKGROUP, with(WORKGROUP, bits));
        for (between, right) in [
            (vec![], [false, false]),
            (vec![arrive(0x104), wait(0x102)], [true, false]),
            (vec![arrive(0x144), wait(0x142)], [true, true]),
            (vec![arrive(0x144), wait(0x42)], [false, true]),
            (vec![arrive(0x104), wait(0x42)], [false, false]),
            // Memory barriers beside a relaxed pair, and on the wrong sides of it.
            (
                vec![fence(0x44), arrive(0), wait(0), fence(0x42)],
                [false, true],
            ),
            (
                vec![fence(0x44), fence(0x108), arrive(0), wait(0), fence(0x142)],
                [true, true],
            ),
            (vec![arrive(0), fence(0x148), wait(0x142)], [false, false]),
            (
                vec![fence(0x148), arrive(0), fence(0x142), wait(0)],
                [false, false],
            ),
            (vec![fence(0x44), barrier(0x108), fence(0x42)], [true, true]),
            (vec![barrier(0x108), fence(0x148)], [true, false]),
            // A full barrier inside of a pair orders what it names; the arrive is no release for
            // it.
            (vec![arrive(0x44), barrier(0x108), wait(0x42)], [true, true]),
            (vec![arrive(0x44), barrier(0x108), wait(0)], [true, false]),
            (
                vec![arrive(0x104), barrier(0), fence(0x102), wait(0)],
                [true, false],
            ),
        ] {
            assert_eq!(
                exchange(Dialect::Glsl, between.clone()),
                right,
                "{between:?}"
            );
        }
    }

    #[test]
    fn scopes_and_marks_count() {
        let pair = |execution, scope, release, acquire| {
            vec![
                Top::Arrive(execution, with(scope, release)),
                Top::Wait(execution, with(scope, acquire)),
            ]
        };
        let right = |dialect, between| exchange(dialect, between);
        let (glsl, vulkan) = (Dialect::Glsl, Dialect::VulkanBarrier);
        let device = pair(WORKGROUP, Scope::Device, 0x144, 0x142);
        assert_eq!(right(glsl, device), [true; 2]);
        let subgroup = pair(WORKGROUP, Scope::Subgroup, 0x144, 0x142);
        assert_eq!(right(glsl, subgroup), [false; 2]);
        let small = pair(Scope::Subgroup, WORKGROUP, 0x144, 0x142);
        assert_eq!(right(glsl, small.clone()), [false; 2]);
        let mut near = vec![put(0)];
        near.extend(small);
        near.push(take(0, Index::Xor(3)));
        assert!(is_right(glsl, near));
        assert_eq!(
            right(vulkan, pair(WORKGROUP, WORKGROUP, 0x144, 0x142)),
            [false; 2]
        );
        assert_eq!(
            right(vulkan, pair(WORKGROUP, WORKGROUP, 0x2144, 0x4142)),
            [true; 2]
        );
    }

    #[test]
    fn nobody_writes_before_all_have_read() {
        let both = Top::Barrier(WORKGROUP, with(WORKGROUP, 0x148));
        let once = vec![put(0), both.clone(), take(0, Index::Shift(1))];
        let count = Count {
            of: Of::Number(2),
            less: 0,
            unroll: None,
        };
        assert!(is_right(Dialect::Glsl, once.clone()));
        assert!(!is_right(
            Dialect::Glsl,
            vec![Top::Repeat(count, once.clone())]
        ));
        let mut again = once;
        again.push(both);
        assert!(is_right(Dialect::Glsl, vec![Top::Repeat(count, again)]));
    }

    #[test]
    fn loads_before_any_store_and_pairs_that_do_not_match_are_found() {
        assert!(!is_right(Dialect::Glsl, vec![take(0, Index::Own)]));
        assert!(is_right(Dialect::Glsl, vec![take(3, Index::Shift(1))]));
        let arrive = Top::Arrive(WORKGROUP, Fence::RELAXED);
        let wait = Top::Wait(WORKGROUP, Fence::RELAXED);
        assert!(!is_right(Dialect::Glsl, vec![wait.clone()]));
        assert!(!is_right(
            Dialect::Glsl,
            vec![arrive.clone(), arrive.clone()]
        ));
        let one = Top::ByGroup(vec![arrive.clone()], vec![]);
        assert!(!is_right(Dialect::Glsl, vec![one, wait.clone()]));
        let both = Top::ByGroup(vec![arrive.clone()], vec![arrive]);
        assert!(is_right(Dialect::Glsl, vec![both, wait]));
    }
}
