//! Memory instructions at run time: addresses when they are issued, bytes when they take effect, registers when they are waited for.

use super::inst::{Action, File, Memories, Memory, Registers};
use super::operand::{Half, Kind, Operand, sgpr};
use super::sync::{class, counter};
use super::table::memory::{Extend, Update};
use super::wave::{PRIVATE_APERTURE, SHARED_APERTURE, Wave};
use crate::clock::Order;
use crate::finding::FindingKind;
use crate::machine::{Access, At, Context, Scope};
use crate::memory::{Pending, Space};
use crate::queue::{InClass, Rules};
use crate::schedule::Completion;

/// An issued memory operation.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub pc: u32,
    memories: Memories,
    action: Action,
    bytes: u8,
    extend: Extend,
    places: u8,
    /// Lanes that take part.
    lanes: u64,
    device: bool,
    /// Where each lane's bytes are, for each place.
    addresses: [[u64; 64]; 2],
    /// Shared addresses of a copy.
    shared: [u64; 64],
    /// What is stored, and what was loaded: registers one after the other.
    data: Vec<[u32; 64]>,
    dst: Option<Registers>,
}

impl Default for Operation {
    fn default() -> Operation {
        Operation {
            pc: 0,
            memories: Memories::Global,
            action: Action::Hint,
            bytes: 0,
            extend: Extend::Zero,
            places: 1,
            lanes: 0,
            device: false,
            addresses: [[0; 64]; 2],
            shared: [0; 64],
            data: Vec::new(),
            dst: None,
        }
    }
}

/// Paths on which a wave's operations take effect in order: see [`Rules::path`].
mod path {
    pub const VECTOR: u8 = 0;
    pub const SHARED: u8 = 1;
    pub const COPY: u8 = 2;
}

/// Lanes of a mask.
fn each(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < 64).then_some(lane as usize)
    })
}

impl Wave {
    /// Issues a memory instruction.
    pub(super) fn issue(
        &mut self,
        memory: &Memory,
        pc: u32,
        ordered_vmem: bool,
        cx: &mut Context<'_>,
    ) {
        let mut operation = self.spare.pop().unwrap_or_default();
        operation.pc = pc;
        operation.memories = memory.memories;
        operation.action = memory.action;
        operation.bytes = memory.bytes;
        operation.extend = memory.extend;
        operation.places = memory.places;
        operation.device = memory.device;
        operation.lanes = match memory.memories {
            Memories::Scalar | Memories::ScalarBuffer => 1,
            _ => self.exec(),
        };
        self.addresses(memory, &mut operation, pc, cx);
        operation.data.clear();
        let per_place = usize::from(memory.bytes.div_ceil(4));
        for data in memory.data.iter().flatten() {
            let first = match data.kind {
                Kind::Vgpr(first) => first,
                _ => {
                    operation
                        .data
                        .push([self.scalar(data, super::bits::Ty::B32) as u32; 64]);
                    continue;
                }
            };
            operation
                .data
                .extend((0..per_place as u16).map(|n| self.v(first + n)));
        }
        operation.dst = memory.dst.and_then(|dst| {
            let (file, first) = match dst.kind {
                Kind::Vgpr(first) => (File::Vector, first),
                Kind::Sgpr(first) => (File::Scalar, first),
                _ => return None,
            };
            Some(Registers {
                file,
                first,
                count: u16::from(memory.bytes.div_ceil(4)) * u16::from(memory.places),
                half: memory.extend.half(),
            })
        });
        let copies = matches!(memory.action, Action::ToShared);
        if copies {
            let by = Pending { wave: cx.wave, pc };
            for lane in each(operation.lanes) {
                cx.group
                    .shared
                    .mark(operation.shared[lane] as usize, memory.bytes.into(), by);
            }
        }
        let id = self.queue.next_id();
        if let Some(registers) = operation.dst {
            self.set_pending(registers, id);
        }
        let rules = Rules {
            counters: memory.counters,
            class: memory.class,
            order: match memory.class {
                class::SCALAR | class::FLAT => InClass::Unordered,
                _ => InClass::Ordered,
            },
            path: match memory.memories {
                Memories::Scalar | Memories::ScalarBuffer => None,
                Memories::Shared => Some(path::SHARED),
                _ if copies || memory.counters == counter::ASYNC => Some(path::COPY),
                Memories::Global | Memories::Flat | Memories::Private | Memories::Buffer => {
                    Some(path::VECTOR)
                }
            },
        };
        self.queue.issue(rules, operation);
        let at_once = cx.completion == Completion::Early
            || (ordered_vmem && rules.path == Some(path::VECTOR));
        if at_once {
            let (queue, mut effects) = self.effects();
            queue.perform_one(
                |n| n.saturating_sub(1),
                |operation| effects.perform(operation, cx),
            );
        }
    }

    /// Lets one outstanding operation take effect.
    pub(super) fn perform_one(&mut self, cx: &mut Context<'_>) {
        let chosen = cx.rng.usize(..);
        let (queue, mut effects) = self.effects();
        queue.perform_one(
            |n| chosen % n.max(1),
            |operation| effects.perform(operation, cx),
        );
    }

    /// Waits until at most `left` operations are in the counter.
    pub(super) fn wait(&mut self, counter: u8, left: u32, cx: &mut Context<'_>) {
        if self.queue.is_empty() {
            return;
        }
        for bit in (0..8).map(|b| 1 << b).filter(|b| counter & b != 0) {
            self.queue.wait(bit, left);
        }
        let mut done = Vec::new();
        {
            let (queue, mut effects) = self.effects();
            queue.settle(
                |operation| effects.perform(operation, cx),
                |id, operation| done.push((id, operation)),
            );
        }
        for (id, operation) in done {
            self.retire(id, &operation, cx);
            if self.spare.len() < 16 {
                self.spare.push(operation);
            }
        }
    }

    /// The queue and what operations of it may change, apart.
    fn effects(&mut self) -> (&mut crate::queue::Queue<Box<Operation>>, Effects<'_>) {
        (
            &mut self.queue,
            Effects {
                private: &mut self.private,
                private_bytes: self.private_bytes,
            },
        )
    }

    /// Writes what was loaded, and unmarks the registers.
    fn retire(&mut self, id: u32, operation: &Operation, cx: &mut Context<'_>) {
        if matches!(operation.action, Action::ToShared) {
            let by = Pending {
                wave: cx.wave,
                pc: operation.pc,
            };
            for lane in each(operation.lanes) {
                cx.group
                    .shared
                    .unmark(operation.shared[lane] as usize, operation.bytes.into(), by);
            }
        }
        let Some(registers) = operation.dst else {
            return;
        };
        let Registers { first, count, .. } = registers;
        match registers.file {
            File::Scalar => {
                for (index, value) in (first..).zip(&operation.data).take(count.into()) {
                    self.set_s(index, value[0]);
                }
            }
            File::Vector => {
                for (index, values) in (usize::from(first)..)
                    .zip(&operation.data)
                    .take(count.into())
                {
                    let Some(register) = self.vgpr.get_mut(index) else {
                        continue;
                    };
                    for lane in each(operation.lanes) {
                        register[lane] = operation.extend.merge(register[lane], values[lane]);
                    }
                }
            }
        }
        self.clear_pending(registers, id);
    }

    /// Computes the addresses of all lanes.
    fn addresses(&self, memory: &Memory, operation: &mut Operation, pc: u32, cx: &mut Context<'_>) {
        let vector = |operand: &Option<Operand>| match operand.map(|o| o.kind) {
            Some(Kind::Vgpr(index)) => self.v(index),
            _ => [0; 64],
        };
        let wide = |operand: &Option<Operand>| match operand.map(|o| o.kind) {
            Some(Kind::Vgpr(index)) => (self.v(index), self.v(index + 1)),
            _ => ([0; 64], [0; 64]),
        };
        let scalar = |operand: &Option<Operand>| {
            operand.map_or(0, |o| self.scalar(&o, super::bits::Ty::B32))
        };
        let has = |operand: &Option<Operand>| {
            operand.is_some_and(|o| o.kind != Kind::Off && o.kind != Kind::Sgpr(sgpr::NULL))
        };
        let [first, second] = memory.offsets;
        for lane in each(operation.lanes) {
            let address = match memory.memories {
                Memories::Shared => vector(&memory.vaddr)[lane].into(),
                Memories::Global | Memories::Flat => {
                    if has(&memory.saddr) {
                        let base = memory
                            .saddr
                            .map_or(0, |s| self.scalar(&s, super::bits::Ty::B64));
                        let offset = vector(&memory.vaddr)[lane];
                        if memory.scaled {
                            base.wrapping_add_signed(
                                i64::from(offset as i32) * i64::from(memory.bytes),
                            )
                        } else {
                            base.wrapping_add(offset.into())
                        }
                    } else {
                        let (low, high) = wide(&memory.vaddr);
                        u64::from(low[lane]) | u64::from(high[lane]) << 32
                    }
                }
                Memories::Private => {
                    let scale = if memory.scaled {
                        u64::from(memory.bytes)
                    } else {
                        1
                    };
                    let vaddr = if has(&memory.vaddr) {
                        u64::from(vector(&memory.vaddr)[lane]) * scale
                    } else {
                        0
                    };
                    let saddr = if has(&memory.saddr) {
                        scalar(&memory.saddr)
                    } else {
                        0
                    };
                    (vaddr + saddr) & 0xffff_ffff
                }
                Memories::Scalar => {
                    let base = memory
                        .saddr
                        .map_or(0, |s| self.scalar(&s, super::bits::Ty::B64));
                    base.wrapping_add(scalar(&memory.soffset)) & !3
                }
                Memories::Buffer | Memories::ScalarBuffer => {
                    match self.buffer(memory, lane, pc, cx) {
                        Some(address) => address,
                        None => {
                            operation.lanes &= !(1 << lane);
                            0
                        }
                    }
                }
            };
            let places =
                match memory.memories {
                    // LDS addresses wrap at 32 bits.
                    Memories::Shared => [first, second]
                        .map(|offset| address.wrapping_add_signed(offset) & 0xffff_ffff),
                    Memories::Private => [first, second]
                        .map(|offset| address.wrapping_add_signed(offset) & 0xffff_ffff),
                    _ => [first, second].map(|offset| address.wrapping_add_signed(offset)),
                };
            for (slot, place) in operation.addresses.iter_mut().zip(places) {
                slot[lane] = place;
            }
            if matches!(memory.action, Action::ToShared | Action::FromShared) {
                operation.shared[lane] = match &memory.lds {
                    Some(_) => {
                        u64::from(vector(&memory.lds)[lane]).wrapping_add_signed(first)
                            & 0xffff_ffff
                    }
                    // M0 names the wave's place; every lane has a dword, or its own size if that is more.
                    None => {
                        (u64::from(self.s(sgpr::M0) & 0xffff).wrapping_add_signed(first))
                            + lane as u64 * u64::from(memory.bytes.max(4))
                    }
                };
            }
        }
    }

    /// The address of a lane by a buffer descriptor; `None` when the descriptor's bounds let the access do nothing.
    fn buffer(&self, memory: &Memory, lane: usize, pc: u32, cx: &mut Context<'_>) -> Option<u64> {
        let Some(Kind::Sgpr(first)) = memory.saddr.map(|s| s.kind) else {
            return None;
        };
        let word = |n: u16| self.s(first + n);
        let soffset = memory
            .soffset
            .map_or(0, |o| self.scalar(&o, super::bits::Ty::B32))
            & 0xffff_ffff;
        if memory.memories == Memories::ScalarBuffer {
            let base = u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32;
            return Some(base + soffset);
        }
        let (index, offset) = match (
            memory.index_enabled,
            memory.offset_enabled,
            memory.vaddr.map(|v| v.kind),
        ) {
            (true, true, Some(Kind::Vgpr(v))) => (self.v(v)[lane], self.v(v + 1)[lane]),
            (true, false, Some(Kind::Vgpr(v))) => (self.v(v)[lane], 0),
            (false, true, Some(Kind::Vgpr(v))) => (0, self.v(v)[lane]),
            _ => (0, 0),
        };
        // The descriptor that the loader makes for private memory swizzles: lanes lie side by side, and the scalar offset counts for all lanes.
        if word(3) == PRIVATE_DESCRIPTOR {
            return Some(
                (PRIVATE_APERTURE << 32) + u64::from(offset) + soffset / u64::from(self.size),
            );
        }
        let base = u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32;
        let stride = u64::from(word(1) >> 16 & 0x3fff);
        if word(1) >> 30 != 0 {
            cx.report(FindingKind::UnsupportedInstruction, pc, None, || {
                "a buffer descriptor that swizzles".to_owned()
            });
            return None;
        }
        let records = u64::from(word(2));
        let inside = u64::from(offset).wrapping_add_signed(memory.offsets[0]);
        let outside = if stride == 0 {
            inside + u64::from(memory.bytes) > records
        } else {
            u64::from(index) >= records
        };
        // Beyond the bounds, loads give 0 and stores do nothing: that is defined.
        (!outside).then(|| base + soffset + stride * u64::from(index) + u64::from(offset))
    }
}

/// The last word of the descriptor for private memory.
pub(super) const PRIVATE_DESCRIPTOR: u32 = 0x00e8_0000;

/// What operations may change besides shared things.
struct Effects<'w> {
    private: &'w mut [u8],
    private_bytes: u32,
}

impl Effects<'_> {
    fn perform(&mut self, operation: &mut Operation, cx: &mut Context<'_>) {
        match operation.action {
            Action::Load => self.load(operation, cx),
            Action::Store => self.store(operation, cx),
            Action::Atomic { update, returns } => self.atomic(operation, update, returns, cx),
            Action::ToShared | Action::FromShared => self.copy(operation, cx),
            Action::Pull | Action::Push | Action::Swizzle => exchange(operation),
            Action::Hint => {}
        }
    }

    fn load(&mut self, operation: &mut Operation, cx: &mut Context<'_>) {
        let bytes = usize::from(operation.bytes);
        let per_place = bytes.div_ceil(4);
        operation.data.clear();
        operation
            .data
            .resize(per_place * usize::from(operation.places), [0; 64]);
        let access = Access::UNKNOWN;
        for place in 0..usize::from(operation.places).min(2) {
            for lane in each(operation.lanes) {
                let at = At {
                    pc: operation.pc,
                    lane: lane as u8,
                };
                let mut buffer = [0u8; 64];
                let Some(into) = buffer.get_mut(..bytes) else {
                    continue;
                };
                self.read(
                    operation.memories,
                    operation.addresses[place][lane],
                    into,
                    at,
                    access,
                    cx,
                );
                for (register, word) in operation
                    .data
                    .iter_mut()
                    .skip(place * per_place)
                    .zip(buffer.as_chunks::<4>().0)
                    .take(per_place)
                {
                    register[lane] = operation.extend.extend(u32::from_le_bytes(*word), bytes);
                }
            }
        }
    }

    fn store(&mut self, operation: &mut Operation, cx: &mut Context<'_>) {
        let bytes = usize::from(operation.bytes);
        let per_place = bytes.div_ceil(4);
        let access = if operation.device {
            Access::atomic(Order::Release, Scope::Device)
        } else {
            Access::PLAIN
        };
        for place in 0..usize::from(operation.places).min(2) {
            for lane in each(operation.lanes) {
                let at = At {
                    pc: operation.pc,
                    lane: lane as u8,
                };
                let mut buffer = [0u8; 64];
                for (register, word) in operation
                    .data
                    .iter()
                    .skip(place * per_place)
                    .zip(buffer.as_chunks_mut::<4>().0)
                    .take(per_place)
                {
                    let value = match operation.extend {
                        Extend::HighZero | Extend::HighSign => register[lane] >> 16,
                        Extend::Zero | Extend::Sign | Extend::LowZero | Extend::LowSign => {
                            register[lane]
                        }
                    };
                    *word = value.to_le_bytes();
                }
                let Some(from) = buffer.get(..bytes) else {
                    continue;
                };
                let address = operation.addresses[place][lane];
                match resolve(operation.memories, address) {
                    Resolved::Memory(space, address) => {
                        cx.write(space, address, from, at, access);
                    }
                    Resolved::Private(offset) => match self.private(lane, offset, bytes) {
                        Some(to) => to.copy_from_slice(from),
                        None => outside(operation.pc, lane, offset, cx),
                    },
                }
            }
        }
    }

    fn atomic(
        &mut self,
        operation: &mut Operation,
        update: Update,
        returns: bool,
        cx: &mut Context<'_>,
    ) {
        let registers = usize::from(operation.bytes / 4);
        let wide = registers == 2;
        let data = std::mem::take(&mut operation.data);
        let value = |first: usize, lane: usize| -> u64 {
            let word = |n: usize| data.get(n).map_or(0, |r| u64::from(r[lane]));
            if wide {
                word(first) | word(first + 1) << 32
            } else {
                word(first)
            }
        };
        let mut results = vec![[0; 64]; registers];
        let scope = if operation.memories == Memories::Shared {
            Scope::Workgroup
        } else {
            Scope::Device
        };
        // Machine code orders an atomic by the waits and cache operations around it; it is taken as both.
        let access = Access::atomic(Order::AcquireRelease, scope);
        for lane in each(operation.lanes) {
            let at = At {
                pc: operation.pc,
                lane: lane as u8,
            };
            let (new, expected) = (value(0, lane), value(registers, lane));
            let old = match resolve(operation.memories, operation.addresses[0][lane]) {
                Resolved::Memory(space, address) => {
                    cx.update(space, address, operation.bytes.into(), at, access, |old| {
                        update(old, new, expected)
                    })
                }
                Resolved::Private(offset) => {
                    outside(operation.pc, lane, offset, cx);
                    0
                }
            };
            for (n, register) in results.iter_mut().enumerate() {
                register[lane] = (old >> (32 * n)) as u32;
            }
        }
        operation.data = if returns { results } else { Vec::new() };
    }

    fn copy(&mut self, operation: &mut Operation, cx: &mut Context<'_>) {
        let bytes = usize::from(operation.bytes);
        let by = Pending {
            wave: cx.wave,
            pc: operation.pc,
        };
        let to_shared = matches!(operation.action, Action::ToShared);
        for lane in each(operation.lanes) {
            let at = At {
                pc: operation.pc,
                lane: lane as u8,
            };
            let mut buffer = [0u8; 16];
            let Some(part) = buffer.get_mut(..bytes) else {
                continue;
            };
            let (global, shared) = (operation.addresses[0][lane], operation.shared[lane]);
            if to_shared {
                // A lane is masked off by the address -1.
                if shared == 0xffff_ffff {
                    continue;
                }
                cx.read(Space::Global, global, part, at, Access::UNKNOWN);
                // Its own mark is not a conflict.
                cx.group.shared.unmark(shared as usize, bytes, by);
                cx.write(Space::Shared, shared, part, at, Access::PLAIN);
                cx.group.shared.mark(shared as usize, bytes, by);
            } else {
                cx.read(Space::Shared, shared, part, at, Access::PLAIN);
                cx.write(Space::Global, global, part, at, Access::PLAIN);
            }
        }
    }

    fn read(
        &mut self,
        memories: Memories,
        address: u64,
        into: &mut [u8],
        at: At,
        access: Access,
        cx: &mut Context<'_>,
    ) {
        match resolve(memories, address) {
            Resolved::Memory(space, address) => {
                cx.read(space, address, into, at, access);
            }
            Resolved::Private(offset) => match self.private(at.lane.into(), offset, into.len()) {
                Some(from) => into.copy_from_slice(from),
                None => outside(at.pc, at.lane.into(), offset, cx),
            },
        }
    }

    /// Private bytes of a lane.
    fn private(&mut self, lane: usize, offset: u64, bytes: usize) -> Option<&mut [u8]> {
        let end = offset.checked_add(bytes as u64)?;
        if end > u64::from(self.private_bytes) {
            return None;
        }
        let first = lane * self.private_bytes as usize + offset as usize;
        self.private.get_mut(first..first + bytes)
    }
}

fn outside(pc: u32, lane: usize, offset: u64, cx: &mut Context<'_>) {
    cx.report(FindingKind::OutOfBounds, pc, Some(lane as u8), || {
        format!("private memory at {offset:#x}")
    });
}

enum Resolved {
    Memory(Space, u64),
    Private(u64),
}

/// Which memory an address means.
fn resolve(memories: Memories, address: u64) -> Resolved {
    match memories {
        Memories::Shared => Resolved::Memory(Space::Shared, address),
        Memories::Private => Resolved::Private(address),
        Memories::Global | Memories::Scalar | Memories::ScalarBuffer => {
            Resolved::Memory(Space::Global, address)
        }
        Memories::Flat | Memories::Buffer => match address >> 32 {
            SHARED_APERTURE => Resolved::Memory(Space::Shared, address & 0xffff_ffff),
            PRIVATE_APERTURE => Resolved::Private(address & 0xffff_ffff),
            _ => Resolved::Memory(Space::Global, address),
        },
    }
}

/// `ds_bpermute_b32`, `ds_permute_b32`, `ds_swizzle_b32`: data goes between lanes and never reaches LDS.
fn exchange(operation: &mut Operation) {
    let lanes = operation.lanes;
    let data = operation.data.first().copied().unwrap_or([0; 64]);
    let mut result = [0; 64];
    match operation.action {
        Action::Pull => {
            for lane in each(lanes) {
                let from = (operation.addresses[0][lane] >> 2 & 63) as usize;
                result[lane] = if lanes >> from & 1 == 1 {
                    data[from]
                } else {
                    0
                };
            }
        }
        Action::Push => {
            for lane in each(lanes) {
                result[(operation.addresses[0][lane] >> 2 & 63) as usize] = data[lane];
            }
        }
        Action::Swizzle => {
            for lane in each(lanes) {
                let from = swizzled(operation.addresses[0][lane] as u32, lane as u32) as usize;
                result[lane] = if lanes >> from & 1 == 1 {
                    data[from]
                } else {
                    0
                };
            }
        }
        Action::Load
        | Action::Store
        | Action::Atomic { .. }
        | Action::ToShared
        | Action::FromShared
        | Action::Hint => {}
    }
    operation.data.clear();
    operation.data.push(result);
}

/// The lane that a lane reads by the pattern of `ds_swizzle_b32`: four lanes by a table, or masks over groups of 32.
fn swizzled(pattern: u32, lane: u32) -> u32 {
    if pattern & 0x8000 != 0 {
        return (lane & !3) + (pattern >> (2 * (lane & 3)) & 3);
    }
    let (and, or, xor) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
    (lane & 32) + (((lane & 31 & and) | or) ^ xor)
}

impl Extend {
    /// A loaded word of `bytes` bytes.
    fn extend(self, word: u32, bytes: usize) -> u32 {
        let signed = matches!(self, Extend::Sign | Extend::LowSign | Extend::HighSign);
        match (bytes, signed) {
            (1, true) => i32::from(word as u8 as i8) as u32,
            (2, true) => i32::from(word as u16 as i16) as u32,
            _ => word,
        }
    }

    /// The half of a register that is loaded, if it is not all of it.
    pub(super) fn half(self) -> Half {
        match self {
            Extend::Zero | Extend::Sign => Half::Whole,
            Extend::LowZero | Extend::LowSign => Half::Low,
            Extend::HighZero | Extend::HighSign => Half::High,
        }
    }

    /// What becomes of the register.
    fn merge(self, old: u32, loaded: u32) -> u32 {
        match self {
            Extend::Zero | Extend::Sign => loaded,
            Extend::LowZero | Extend::LowSign => (old & 0xffff_0000) | (loaded & 0xffff),
            Extend::HighZero | Extend::HighSign => (old & 0xffff) | loaded << 16,
        }
    }
}
