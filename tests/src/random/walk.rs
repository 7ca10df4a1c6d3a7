//! Chooses the collective operations of the invocations of a random program, without races.

use super::order::{Known, flaw, memory};
use super::reshape::reshape;
use super::share::*;
use super::sizes::{SHARED, SLOTS};
use super::statement::{self, FUNCTIONS, MAIN, statement, statements, variable};
use super::tree::{Combine, Dialect, Function, Last, Program, Top};
use fastrand::Rng;

/// A program of this seed.
pub fn program(seed: u64) -> Program {
    let mut rng = Rng::with_seed(seed);
    let functions = (0..FUNCTIONS)
        .map(|callable| Function {
            body: statements(
                &mut rng,
                statement::Surroundings {
                    depth: 1,
                    callable,
                    in_function: true,
                    ..MAIN
                },
            ),
            result: variable(&mut rng),
        })
        .collect();
    let dialect = *pick(
        &mut rng,
        &[
            Dialect::Glsl,
            Dialect::Glsl,
            Dialect::Glsl,
            Dialect::Universal,
            Dialect::VulkanAccess,
            Dialect::VulkanBarrier,
        ],
    );
    // Multiples of 32, so that lanes whose numbers differ in the lowest five bits are there.
    let size = *pick(&mut rng, &[64, 64, 96, 128, 128, 128, 160, 192, 256]);
    let mut walk = Walk {
        state: Known::new(dialect),
        dialect,
        size,
        busy: [false; SLOTS],
        apart: *pick(&mut rng, &[1, 2, 4]),
        rng,
    };
    let mut tops = Vec::new();
    walk.body(4, Around::default(), &mut tops);
    // One exchange at least.
    walk.exchange(Around::default(), &mut tops);
    let ends = walk.end(&mut tops);
    let mut rng = walk.rng;
    let last = (!ends && rng.u8(..4) == 0).then(|| Last {
        from: variable(&mut rng),
        by_one: dialect == Dialect::Glsl && rng.bool(),
    });
    let mut program = Program {
        size: size as usize,
        dialect,
        counts: std::array::from_fn(|_| rng.u32(1..4)),
        tops,
        last,
        functions,
    };
    reshape(&mut program, &mut rng);
    assert_eq!(flaw(&program), None, "seed {seed}:\n{}", program.outline());
    program
}

fn pick<'a, T>(rng: &mut Rng, from: &'a [T]) -> &'a T {
    &from[rng.usize(..from.len())]
}

/// The surroundings of a place.
#[derive(Copy, Clone, Default)]
struct Around {
    /// Loops, branches and windows.
    depth: u32,
}

impl Around {
    fn inside(self) -> Around {
        Around {
            depth: self.depth + 1,
        }
    }
}

struct Walk {
    /// The knowledge at this place.
    state: Known,
    dialect: Dialect,
    /// Invocations of a workgroup.
    size: u32,
    /// Slots that an exchange around this place uses.
    busy: [bool; SLOTS],
    /// The share of fences on separate memory barriers, in fifths.
    apart: u8,
    rng: Rng,
}

impl Walk {
    fn chance(&mut self, of: u8, to: u8) -> bool {
        self.rng.u8(..to) < of
    }

    fn emit(&mut self, top: Top, to: &mut Vec<Top>) {
        self.state.pass(&top);
        to.push(top);
    }

    /// Emits an access if it races with nothing.
    fn access(&mut self, top: Top, to: &mut Vec<Top>) -> bool {
        let allowed = self.state.allows(&top);
        if allowed {
            self.emit(top, to);
        }
        allowed
    }

    fn body(&mut self, count: usize, around: Around, to: &mut Vec<Top>) {
        for _ in 0..count {
            match self.rng.u8(..20) {
                0..6 => self.exchange(around, to),
                6 => self.gather(around, to),
                7 => {
                    let fence = self.noise();
                    self.emit(Top::Fence(fence), to);
                }
                8 => {
                    let fence = self.any_fence(ACQUIRE_RELEASE);
                    let execution = self.execution();
                    let fence = if self.rng.bool() {
                        fence
                    } else {
                        Fence::RELAXED
                    };
                    self.emit(Top::Barrier(execution, fence), to);
                }
                9 if around.depth < 2 => self.repeat(around, to),
                10 if around.depth < 2 => self.by_group(around, to),
                11 => self.uniform(to),
                _ => self.own(to),
            }
        }
    }

    /// A statement in which no other subgroup takes part.
    fn own(&mut self, to: &mut Vec<Top>) {
        let rng = &mut self.rng;
        to.push(match rng.u8(..10) {
            0 => Top::Reduce {
                with: *pick(rng, &[Combine::Add, Combine::Xor, Combine::Max]),
                scan: rng.bool(),
                to: variable(rng),
                from: variable(rng),
            },
            1 => Top::ShuffleXor {
                to: variable(rng),
                from: variable(rng),
                mask: rng.u32(1..32),
            },
            2 => Top::Broadcast {
                to: variable(rng),
                from: variable(rng),
                lane: rng.u32(0..32),
            },
            3 => Top::Count {
                to: variable(rng),
                from: variable(rng),
                bit: rng.u32(0..32),
                before: rng.bool(),
            },
            _ => Top::Local(statement(rng, MAIN)),
        });
    }

    fn execution(&mut self) -> Scope {
        if self.chance(1, 4) {
            Scope::Subgroup
        } else {
            Scope::Workgroup
        }
    }

    fn repeat(&mut self, around: Around, to: &mut Vec<Top>) {
        let before = self.state;
        self.state = before.again();
        let mut body = Vec::new();
        self.body(3, around.inside(), &mut body);
        let of = if self.rng.bool() {
            Of::Number(self.rng.u32(1..4))
        } else {
            Of::Push(self.rng.usize(..4))
        };
        let unroll = *pick(&mut self.rng, &[None, None, Some(true), Some(false)]);
        let count = Count {
            of,
            less: 0,
            unroll,
        };
        to.push(Top::Repeat(count, body));
        // The body began with less than is known here, so it may run as often as it likes.
        self.state = before.again();
    }

    fn by_group(&mut self, around: Around, to: &mut Vec<Top>) {
        let before = self.state;
        let [mut even, mut odd] = [Vec::new(), Vec::new()];
        self.body(2, around.inside(), &mut even);
        let after = std::mem::replace(&mut self.state, before);
        self.body(2, around.inside(), &mut odd);
        to.push(Top::ByGroup(even, odd));
        // Bodies close what they open.
        self.state = self.state.and(&after).unwrap_or_else(|| before.again());
    }

    /// All invocations read one element.
    fn uniform(&mut self, to: &mut Vec<Top>) {
        let (slot, at) = (self.rng.usize(..SLOTS), self.rng.u32(..self.size));
        let variable = variable(&mut self.rng);
        let access = self.marks();
        let take = Top::Take {
            slot,
            index: Index::At(at),
            to: variable,
            when: When::Always,
            access,
        };
        self.access(take, to);
    }

    /// Slots that no exchange around this place uses: one of workgroup memory, one that is a
    /// buffer, or both.
    fn slots(&mut self) -> Vec<usize> {
        let free = |busy: &[bool; SLOTS], buffers: bool| -> Vec<usize> {
            (0..SLOTS)
                .filter(|slot| (*slot >= SHARED) == buffers && !busy[*slot])
                .collect()
        };
        let kinds = KINDS[self.rng.usize(..KINDS.len())];
        let mut slots = Vec::new();
        for buffers in kinds {
            let mut choice = free(&self.busy, *buffers);
            choice.retain(|slot| !slots.contains(slot));
            if !choice.is_empty() {
                slots.push(*pick(&mut self.rng, &choice));
            }
        }
        slots
    }

    fn marks(&mut self) -> Access {
        Access {
            volatile: self.chance(1, 16),
            scope: self.scope(Scope::Workgroup),
        }
    }

    /// Some elements for all invocations, each of which another invocation may access too.
    fn index(&mut self, scope: Scope) -> Index {
        if scope == Scope::Subgroup {
            return Index::Xor(self.rng.u32(1..32));
        }
        match self.rng.u8(..8) {
            0 => Index::Xor(self.rng.u32(1..32)),
            1 => Index::By(variable(&mut self.rng)),
            2 => Index::At(self.rng.u32(..self.size)),
            3 => Index::Own,
            _ => Index::Shift(self.rng.u32(1..self.size)),
        }
    }

    fn when(&mut self) -> When {
        if self.chance(1, 6) {
            When::Bit(variable(&mut self.rng), self.rng.u32(..32))
        } else {
            When::Always
        }
    }

    /// Stores, a barrier of some form, loads.
    fn exchange(&mut self, around: Around, to: &mut Vec<Top>) {
        let slots = self.slots();
        let scope = if self.chance(1, 6) {
            Scope::Subgroup
        } else {
            Scope::Workgroup
        };
        for slot in &slots {
            self.busy[*slot] = true;
        }
        self.settle(&slots, scope, around, to);
        for slot in &slots {
            self.put(*slot, scope, to);
            if self.chance(1, 3) {
                // An early release of what has been written so far.
                let fence = self.any_fence(RELEASE);
                self.emit(Top::Fence(fence), to);
            }
            if self.chance(1, 4) {
                self.own(to);
            }
        }
        self.barrier(&slots, scope, around, to);
        for slot in &slots {
            for _ in 0..self.rng.usize(1..3) {
                self.take(*slot, scope, to);
            }
        }
        if slots.len() == 2 && self.chance(1, 4) {
            let access = self.marks();
            let index = self.index(scope);
            let copy = Top::Copy {
                to: slots[0],
                from: slots[1],
                index,
                access,
            };
            self.access(copy, to);
        }
        for slot in &slots {
            self.busy[*slot] = false;
        }
        if self.chance(1, 3) {
            // Nobody writes again before all have read.
            self.barrier(&slots, scope, around, to);
        }
    }

    fn put(&mut self, slot: usize, scope: Scope, to: &mut Vec<Top>) {
        let from = variable(&mut self.rng);
        let access = self.marks();
        let filled = self.state.is_filled(slot);
        let (index, when) = match self.rng.u8(..8) {
            0 if scope == Scope::Workgroup => {
                (Index::Shift(self.rng.u32(1..self.size)), When::Always)
            }
            1 if filled => (Index::Own, self.when()),
            2 if filled && scope == Scope::Workgroup => (
                Index::At(self.rng.u32(..self.size)),
                When::Only(self.rng.u32(..self.size)),
            ),
            3 => (Index::Xor(self.rng.u32(1..32)), When::Always),
            _ => (Index::Own, When::Always),
        };
        let put = |index, when| Top::Put {
            slot,
            index,
            from,
            when,
            access,
        };
        if !self.access(put(index, when), to) {
            self.access(put(Index::Own, When::Always), to);
        }
    }

    fn take(&mut self, slot: usize, scope: Scope, to: &mut Vec<Top>) {
        let index = self.index(scope);
        let take = Top::Take {
            slot,
            index,
            to: variable(&mut self.rng),
            when: self.when(),
            access: self.marks(),
        };
        self.access(take, to);
    }

    /// Atomic operations of all invocations, a barrier, loads.
    fn gather(&mut self, around: Around, to: &mut Vec<Top>) {
        let mut slots = self.slots();
        slots.truncate(1);
        let Some(slot) = slots.first().copied() else {
            return;
        };
        self.busy[slot] = true;
        self.settle(&slots, Scope::Workgroup, around, to);
        self.put(slot, Scope::Workgroup, to);
        self.barrier(&slots, Scope::Workgroup, around, to);
        let what = *pick(
            &mut self.rng,
            &[
                Atomic::Add,
                Atomic::Add,
                Atomic::Xor,
                Atomic::Or,
                Atomic::Max,
            ],
        );
        for _ in 0..self.rng.usize(1..3) {
            let index = match self.rng.u8(..3) {
                0 => Index::At(self.rng.u32(..self.size)),
                1 => Index::By(variable(&mut self.rng)),
                _ => Index::Shift(self.rng.u32(..self.size)),
            };
            let fence = match self.rng.u8(..3) {
                0 => {
                    let order = *pick(&mut self.rng, &[ACQUIRE, RELEASE, ACQUIRE_RELEASE]);
                    self.any_fence(order)
                }
                _ => Fence {
                    scope: self.scope(Scope::Workgroup),
                    bits: 0,
                },
            };
            let fence = Fence {
                scope: fence.scope.max(Scope::Workgroup),
                bits: fence.bits,
            };
            let atomic = Top::Atomic {
                slot,
                index,
                from: variable(&mut self.rng),
                what,
                fence,
            };
            self.access(atomic, to);
            if self.chance(1, 3) {
                self.own(to);
            }
        }
        self.barrier(&slots, Scope::Workgroup, around, to);
        self.take(slot, Scope::Workgroup, to);
        self.busy[slot] = false;
    }

    /// Adds what is needed so that these slots may be written.
    fn settle(&mut self, slots: &[usize], scope: Scope, around: Around, to: &mut Vec<Top>) {
        let index = if scope == Scope::Subgroup {
            Index::Xor(1)
        } else {
            Index::Shift(1)
        };
        let unsettled: Vec<usize> = slots
            .iter()
            .copied()
            .filter(|slot| {
                let put = Top::Put {
                    slot: *slot,
                    index,
                    from: 0,
                    when: When::Always,
                    access: PLAIN,
                };
                !self.state.allows(&put)
            })
            .collect();
        if !unsettled.is_empty() {
            self.barrier(&unsettled, Scope::Workgroup, around, to);
        }
    }

    /// The end of the program: sometimes an arrive without a wait, sometimes workgroups that end
    /// with it. Returns true if some do.
    fn end(&mut self, to: &mut Vec<Top>) -> bool {
        if !self.chance(1, 5) {
            return false;
        }
        let fence = self.fence(
            RELEASE,
            BUFFER | SHARED_MEMORY,
            Scope::Workgroup,
            FenceCarrier::Arrive,
        );
        self.emit(Top::Arrive(Scope::Workgroup, fence), to);
        let early = self.rng.bool();
        if early {
            self.own(to);
            to.push(Top::EndOdd);
            self.own(to);
            if self.rng.bool() {
                let fence = self.fence(ACQUIRE, BUFFER, Scope::Workgroup, FenceCarrier::Wait);
                self.emit(Top::Wait(Scope::Workgroup, fence), to);
            }
        }
        early
    }

    /// Orders all accesses of these slots before those that come after, among the invocations of
    /// `scope`: a full barrier or a pair with work in its window. Its orders stand on it or on
    /// memory barriers beside it, for one memory or for both.
    fn barrier(&mut self, slots: &[usize], scope: Scope, around: Around, to: &mut Vec<Top>) {
        let classes = slots.iter().fold(0, |all, slot| all | memory(*slot));
        let split = around.depth < 3 && !self.state.is_open(scope) && self.chance(2, 3);
        // A barrier of the workgroup does for a subgroup.
        let execution = if scope == Scope::Subgroup && !split && self.chance(1, 3) {
            Scope::Workgroup
        } else {
            scope
        };
        let [on_release, beside_release] = self.distribute(classes);
        self.beside(RELEASE, beside_release, scope, to);
        if split {
            let fence = self.carried(RELEASE, on_release, scope, FenceCarrier::Arrive);
            self.emit(Top::Arrive(execution, fence), to);
            let count = self.rng.usize(..4);
            self.body(count, around.inside(), to);
            let [on_acquire, beside_acquire] = self.distribute(classes);
            let fence = self.carried(ACQUIRE, on_acquire, scope, FenceCarrier::Wait);
            self.emit(Top::Wait(execution, fence), to);
            self.beside(ACQUIRE, beside_acquire, scope, to);
        } else {
            let [on_acquire, beside_acquire] = self.distribute(classes);
            let order = match (on_release, on_acquire) {
                (0, _) => ACQUIRE,
                (_, 0) => RELEASE,
                _ => ACQUIRE_RELEASE,
            };
            let fence = self.carried(order, on_release | on_acquire, scope, FenceCarrier::Barrier);
            self.emit(Top::Barrier(execution, fence), to);
            self.beside(ACQUIRE, beside_acquire, scope, to);
        }
    }

    /// The storage classes of the barrier itself, and those of memory barriers next to it.
    fn distribute(&mut self, classes: u32) -> [u32; 2] {
        let mut beside = 0;
        for class in [BUFFER, SHARED_MEMORY] {
            if classes & class != 0 && self.chance(self.apart, 5) {
                beside |= class;
            }
        }
        // Both may have some.
        let on = if self.chance(1, 8) {
            classes
        } else {
            classes & !beside
        };
        [on, beside]
    }

    /// Memory barriers for `classes`, one or one each, sometimes with something between them.
    fn beside(&mut self, order: u32, classes: u32, scope: Scope, to: &mut Vec<Top>) {
        let mut parts: Vec<u32> = [BUFFER, SHARED_MEMORY]
            .into_iter()
            .filter(|class| classes & class != 0)
            .collect();
        if parts.len() == 2 {
            match self.rng.u8(..4) {
                0 => parts = vec![classes],
                1 => parts.reverse(),
                _ => {}
            }
        }
        if self.chance(1, 6) {
            let fence = self.noise();
            self.emit(Top::Fence(fence), to);
        }
        for part in parts {
            let fence = self.fence(order, part, scope, FenceCarrier::Memory);
            self.emit(Top::Fence(fence), to);
            if self.chance(1, 12) {
                self.own(to);
            }
            if self.chance(1, 8) {
                let fence = self.noise();
                self.emit(Top::Fence(fence), to);
            }
        }
    }

    /// The semantics that a control barrier has.
    fn carried(&mut self, order: u32, classes: u32, scope: Scope, place: FenceCarrier) -> Fence {
        if classes == 0 {
            Fence {
                scope: self.scope(Scope::Workgroup),
                bits: 0,
            }
        } else {
            self.fence(order, classes, scope, place)
        }
    }

    /// A scope that has at least this one in it.
    fn scope(&mut self, least: Scope) -> Scope {
        let scope = match self.rng.u8(..8) {
            0 | 1 => Scope::Device,
            2 if self.dialect.has_vulkan_model() => Scope::QueueFamily,
            3 => Scope::Workgroup,
            _ => least,
        };
        scope.max(least)
    }

    /// A fence of at least this order, these classes and this scope.
    fn fence(&mut self, order: u32, classes: u32, scope: Scope, place: FenceCarrier) -> Fence {
        let loose = self.dialect == Dialect::Universal;
        let stronger = self.chance(1, 4);
        let order = match place {
            FenceCarrier::Memory | FenceCarrier::Barrier if stronger && loose => {
                SEQUENTIALLY_CONSISTENT
            }
            FenceCarrier::Memory | FenceCarrier::Barrier if stronger => ACQUIRE_RELEASE,
            FenceCarrier::Arrive | FenceCarrier::Wait if stronger && loose => {
                *pick(&mut self.rng, &[ACQUIRE_RELEASE, SEQUENTIALLY_CONSISTENT])
            }
            _ => order,
        };
        let mut bits = order | classes;
        if self.chance(1, 5) {
            bits |= *pick(
                &mut self.rng,
                &[BUFFER, SHARED_MEMORY, 0x80, 0x200, 0x400, 0x800],
            );
        }
        let scope = self.scope(scope);
        self.finish(Fence { scope, bits })
    }

    /// A memory barrier of any kind.
    fn noise(&mut self) -> Fence {
        let order = *pick(&mut self.rng, &[ACQUIRE, RELEASE, ACQUIRE_RELEASE]);
        self.any_fence(order)
    }

    /// A fence of this order, of any scope and any memory.
    fn any_fence(&mut self, order: u32) -> Fence {
        let classes = *pick(
            &mut self.rng,
            &[BUFFER, SHARED_MEMORY, BUFFER | SHARED_MEMORY, 0x800, 0x940],
        );
        let scope = if self.dialect == Dialect::Universal && self.chance(1, 6) {
            Scope::Invocation
        } else if self.chance(1, 4) {
            Scope::Subgroup
        } else {
            self.scope(Scope::Workgroup)
        };
        self.finish(Fence {
            scope,
            bits: order | classes,
        })
    }

    /// With the bits that Vulkan's memory model needs, or may have.
    fn finish(&mut self, mut fence: Fence) -> Fence {
        let needed = self.dialect == Dialect::VulkanBarrier;
        if self.dialect.has_vulkan_model() {
            if fence.releases() && (needed || self.chance(1, 4)) {
                fence.bits |= MAKE_AVAILABLE;
            }
            if fence.acquires() && (needed || self.chance(1, 4)) {
                fence.bits |= MAKE_VISIBLE;
            }
        }
        fence
    }
}

/// The memories of the slots of an exchange: true for a buffer.
const KINDS: [&[bool]; 5] = [
    &[false],
    &[true],
    &[false, true],
    &[false, true],
    &[true, true],
];

const PLAIN: Access = Access {
    volatile: false,
    scope: Scope::Workgroup,
};

/// The instruction that a fence belongs to.
#[derive(Copy, Clone, PartialEq, Eq)]
enum FenceCarrier {
    Memory,
    Barrier,
    Arrive,
    Wait,
}
