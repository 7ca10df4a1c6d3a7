//! Memory operations when they take effect: bytes go between registers and memories.

use super::apertures::{PRIVATE_APERTURE, SHARED_APERTURE};
use super::inst::{Action, Memories};
use super::masks::each;
use super::operand::Half;
use super::operation::Operation;
use super::table::memory::{Extend, Update};
use crate::context::{Access, At, Context};
use crate::finding::FindingKind;
use crate::lane::{Lane, runs};
use crate::memory::{Pending, Space};
use crate::race::Sharing;
use crate::uses::{Label, NONE};
use std::collections::BTreeMap;
use std::ops::Range;

/// What operations may change besides shared things.
pub(super) struct Effects<'w> {
    pub private: &'w mut [u8],
    pub private_bytes: u32,
    pub private_labels: &'w mut BTreeMap<usize, Label>,
}

impl Effects<'_> {
    pub(super) fn perform(&mut self, operation: &mut Operation, cx: &mut Context<'_>) {
        match operation.action {
            Action::Load if operation.texels.is_some() => operation.load_texels(cx),
            Action::Store if operation.texels.is_some() => operation.store_texels(cx),
            Action::Load => self.load(operation, cx),
            Action::Store => self.store(operation, cx),
            Action::Atomic { update, returns } => self.atomic(operation, update, returns, cx),
            Action::ToShared | Action::FromShared => self.copy(operation, cx),
            Action::Pull | Action::Push | Action::Swizzle => exchange(operation),
            // Its data came when it was issued.
            Action::Size | Action::Time | Action::Hint => {}
        }
    }

    fn load(&mut self, operation: &mut Operation, cx: &mut Context<'_>) {
        let bytes = usize::from(operation.bytes);
        let per_place = bytes.div_ceil(4);
        operation.data.clear();
        operation
            .data
            .resize(per_place * usize::from(operation.places), [0; 64]);
        operation.labels.clear();
        let access = operation.access;
        for place in 0..usize::from(operation.places).min(2) {
            for lane in each(operation.lanes & !operation.beyond) {
                let at = At {
                    pc: operation.pc,
                    lane,
                };
                let mut buffer = [0u8; 64];
                let mut labels = [NONE; 64];
                let address = operation.addresses[place][lane];
                for run in runs(operation.used.into(), per_place as u32) {
                    let first = run.start as usize * 4;
                    let Some(into) = buffer.get_mut(first..bytes.min(run.end as usize * 4)) else {
                        debug_assert!(false, "{bytes} bytes are more than a lane loads");
                        continue;
                    };
                    let address = address.wrapping_add(first as u64);
                    let of = labels.get_mut(first..).unwrap_or(&mut []); // it is as long
                    self.read(operation.memories, address, into, at, access, of, cx);
                }
                operation.label(place, lane, &labels, cx);
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
        let access = operation.access;
        if access.sharing == Sharing::Plain {
            same_place(operation, cx);
        }
        for place in 0..usize::from(operation.places).min(2) {
            for lane in each(operation.lanes & !operation.beyond) {
                let at = At {
                    pc: operation.pc,
                    lane,
                };
                let buffer = operation.stored(place, lane);
                let Some(from) = buffer.get(..bytes) else {
                    debug_assert!(false, "{bytes} bytes are more than a lane stores");
                    continue;
                };
                let address = operation.addresses[place][lane];
                let labels = operation.stored_labels(place, lane);
                let labels = labels.as_ref().map_or(&[][..], |labels| &labels[..bytes]);
                match resolve(operation.memories, address) {
                    Resolved::Memory(space, address) => {
                        cx.store(space, address, from, at, access, labels);
                    }
                    Resolved::Private(offset) => match self.private(lane, offset, bytes) {
                        Some(range) => {
                            if let Some(to) = self.private.get_mut(range.clone()) {
                                to.copy_from_slice(from);
                            }
                            if cx.uses.follows() {
                                for (n, place) in range.enumerate() {
                                    match labels.get(n).copied().unwrap_or(NONE) {
                                        NONE => self.private_labels.remove(&place),
                                        label => self.private_labels.insert(place, label),
                                    };
                                }
                            }
                        }
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
        let value = |first: usize, lane: Lane| -> u64 {
            let word = |n: usize| data.get(n).map_or(0, |r| u64::from(r[lane]));
            if wide {
                word(first) | word(first + 1) << 32
            } else {
                word(first)
            }
        };
        let mut results = vec![[0; 64]; registers];
        let access = operation.access;
        for lane in each(operation.lanes & !operation.beyond) {
            let at = At {
                pc: operation.pc,
                lane,
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

    /// Between global and shared memory.
    fn copy(&mut self, operation: &mut Operation, cx: &mut Context<'_>) {
        let (bytes, shared_bytes) = (
            usize::from(operation.bytes),
            usize::from(operation.shared_bytes),
        );
        let by = Pending {
            wave: cx.wave,
            pc: operation.pc,
        };
        let to_shared = matches!(operation.action, Action::ToShared);
        for lane in each(operation.lanes) {
            let at = At {
                pc: operation.pc,
                lane,
            };
            let (global, shared) = (operation.addresses[0][lane], operation.shared[lane]);
            let beyond = operation.beyond >> lane & 1 == 1;
            let mut buffer = [0u8; 16];
            if to_shared {
                if let Some(part) = buffer.get_mut(..bytes)
                    && !beyond
                {
                    let access = operation.access;
                    cx.read(Space::Global, global, part, at, access);
                }
                if let ([first, ..], true) = (buffer.as_chunks_mut::<4>().0, bytes < 4) {
                    let word = operation.extend.extend(u32::from_le_bytes(*first), bytes);
                    *first = word.to_le_bytes();
                }
                let Some(part) = buffer.get(..shared_bytes) else {
                    debug_assert!(false, "{shared_bytes} bytes are more than a lane copies");
                    continue;
                };
                // Its own mark is not a conflict.
                cx.group.shared.unmark(shared as usize, shared_bytes, by);
                cx.write(Space::Shared, shared, part, at, Access::PLAIN);
                cx.group.shared.mark(shared as usize, shared_bytes, by);
            } else if let Some(part) = buffer.get_mut(..bytes) {
                cx.read(Space::Shared, shared, part, at, Access::PLAIN);
                let access = operation.access;
                cx.write(Space::Global, global, part, at, access);
            }
        }
    }

    #[allow(clippy::too_many_arguments)] // one access in one place
    fn read(
        &mut self,
        memories: Memories,
        address: u64,
        into: &mut [u8],
        at: At,
        access: Access,
        labels: &mut [Label],
        cx: &mut Context<'_>,
    ) {
        match resolve(memories, address) {
            Resolved::Memory(space, address) => {
                cx.load(space, address, into, at, access, labels);
            }
            Resolved::Private(offset) => match self.private(at.lane, offset, into.len()) {
                Some(range) => {
                    for (place, label) in range.clone().zip(labels) {
                        *label = self.private_labels.get(&place).copied().unwrap_or(NONE);
                    }
                    if let Some(from) = self.private.get(range) {
                        into.copy_from_slice(from);
                    }
                }
                None => outside(at.pc, at.lane, offset, cx),
            },
        }
    }

    /// Where private bytes of a lane are.
    fn private(&self, lane: Lane, offset: u64, bytes: usize) -> Option<Range<usize>> {
        let end = offset.checked_add(bytes as u64)?;
        if end > u64::from(self.private_bytes) {
            return None;
        }
        let first = lane.index() * self.private_bytes as usize + offset as usize;
        Some(first..first + bytes)
    }
}

impl Operation {
    /// Takes the labels of the bytes that a lane has loaded at a place.
    fn label(&mut self, place: usize, lane: Lane, bytes: &[Label; 64], cx: &mut Context<'_>) {
        if bytes.iter().all(|label| *label == NONE) {
            return;
        }
        let size = usize::from(self.bytes);
        let per_place = size.div_ceil(4);
        let count = per_place * usize::from(self.places);
        self.labels.resize(count, [[NONE; 4]; 64]);
        // The sign of a narrow value goes on above it.
        let signed = matches!(
            self.extend,
            Extend::Sign | Extend::LowSign | Extend::HighSign
        );
        let mut bytes = *bytes;
        if let (true, Some(last)) = (signed && size < 4, bytes.get(size - 1).copied()) {
            bytes
                .iter_mut()
                .take(4)
                .skip(size)
                .for_each(|byte| *byte = last);
        }
        let registers = self
            .labels
            .iter_mut()
            .skip(place * per_place)
            .take(per_place);
        for (register, labels) in registers.zip(bytes.as_chunks::<4>().0) {
            for (to, label) in register[lane].iter_mut().zip(labels) {
                *to = cx.uses.join(*label, NONE);
            }
        }
    }

    /// The labels of what a lane stores at a place.
    fn stored_labels(&self, place: usize, lane: Lane) -> Option<[Label; 64]> {
        if self.labels.is_empty() {
            return None;
        }
        let per_place = usize::from(self.bytes).div_ceil(4);
        let mut bytes = [NONE; 64];
        let registers = self.labels.iter().skip(place * per_place).take(per_place);
        for (register, to) in registers.zip(bytes.as_chunks_mut::<4>().0) {
            let [a, b, c, d] = register[lane];
            *to = match self.extend {
                Extend::HighZero | Extend::HighSign => [c, d, NONE, NONE],
                Extend::Zero | Extend::Sign | Extend::LowZero | Extend::LowSign => [a, b, c, d],
            };
        }
        Some(bytes)
    }

    /// What a lane stores at a place: the first [`Operation::bytes`] of these.
    fn stored(&self, place: usize, lane: Lane) -> [u8; 64] {
        let per_place = usize::from(self.bytes).div_ceil(4);
        let mut buffer = [0u8; 64];
        let registers = self.data.iter().skip(place * per_place).take(per_place);
        for (register, word) in registers.zip(buffer.as_chunks_mut::<4>().0) {
            let value = match self.extend {
                Extend::HighZero | Extend::HighSign => register[lane] >> 16,
                Extend::Zero | Extend::Sign | Extend::LowZero | Extend::LowSign => register[lane],
            };
            *word = value.to_le_bytes();
        }
        buffer
    }
}

/// Two lanes of one store that write different values to one byte: which of them stays is not
/// defined, so in the source two invocations race. Where the values are the same, compilers store a
/// uniform value from all lanes.
fn same_place(operation: &Operation, cx: &mut Context<'_>) {
    let bytes = u64::from(operation.bytes);
    let lanes = operation.lanes & !operation.beyond;
    for (place, addresses) in (0..operation.places.min(2)).zip(&operation.addresses) {
        let place = usize::from(place);
        let apart = |a: Lane, b: Lane| addresses[a].saturating_add(bytes) <= addresses[b];
        let next = each(lanes).skip(1);
        // Nearly always every lane stores behind the one before it.
        if each(lanes).zip(next).all(|(a, b)| apart(a, b)) {
            continue;
        }
        let mut order: Vec<Lane> = each(lanes).collect();
        order.sort_by_key(|lane| addresses[*lane]);
        for (&a, &b) in order.iter().zip(order.iter().skip(1)) {
            let (Resolved::Memory(space, at), false) =
                (resolve(operation.memories, addresses[b]), apart(a, b))
            else {
                continue; // apart, or not in memory
            };
            let shift = (addresses[b] - addresses[a]) as usize;
            let (first, second) = (operation.stored(place, a), operation.stored(place, b));
            let common = (bytes as usize).saturating_sub(shift);
            if first.get(shift..shift + common) == second.get(..common) {
                continue;
            }
            let kind = match space {
                Space::Global => FindingKind::GlobalRace,
                Space::Shared => FindingKind::SharedRace,
            };
            let site = |lane: Lane| cx.site(operation.pc, Some(lane));
            let (one, other) = (site(b), site(a));
            cx.findings.report(kind, one, Some(other), || {
                format!("lanes {a} and {b} of one store write different values at {at:#x}")
            });
            return;
        }
    }
}

fn outside(pc: u32, lane: Lane, offset: u64, cx: &mut Context<'_>) {
    cx.report(FindingKind::OutOfBounds, pc, Some(lane), || {
        format!("private memory at {offset:#x}")
    });
}

enum Resolved {
    Memory(Space, u64),
    Private(u64),
}

/// Where flat addresses of private memory say whose it is, in their upper 32 bits (gfx12.5; LLVM
/// AMDGPUUsage, "Address Spaces": globally addressable scratch). Lanes reach their own memory here.
const LANE_OF_PRIVATE: u64 = 0x1f << 20;

/// Which memory an address means.
fn resolve(memories: Memories, address: u64) -> Resolved {
    match memories {
        Memories::Shared => Resolved::Memory(Space::Shared, address),
        Memories::Private => Resolved::Private(address),
        Memories::Global | Memories::Image | Memories::Scalar | Memories::ScalarBuffer => {
            Resolved::Memory(Space::Global, address)
        }
        Memories::Flat | Memories::Buffer => match address >> 32 & !LANE_OF_PRIVATE {
            SHARED_APERTURE => Resolved::Memory(Space::Shared, address & 0xffff_ffff),
            PRIVATE_APERTURE => Resolved::Private(address & 0xffff_ffff),
            _ => Resolved::Memory(Space::Global, address),
        },
    }
}

/// `ds_bpermute_b32`, `ds_permute_b32`, `ds_swizzle_b32`: data goes between lanes and never reaches
/// LDS.
fn exchange(operation: &mut Operation) {
    let lanes = operation.lanes;
    let data = operation.data.first().copied().unwrap_or([0; 64]);
    let mut result = [0; 64];
    match operation.action {
        Action::Pull => {
            for lane in each(lanes) {
                let from = named(operation, lane);
                result[lane] = if lanes >> from & 1 == 1 {
                    data[from]
                } else {
                    0
                };
            }
        }
        Action::Push => {
            for lane in each(lanes) {
                result[named(operation, lane)] = data[lane];
            }
        }
        Action::Swizzle => {
            for lane in each(lanes) {
                let from = swizzled(operation.addresses[0][lane] as u32, lane);
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
        | Action::Size
        | Action::Time
        | Action::Hint => {}
    }
    operation.data.clear();
    operation.data.push(result);
}

/// The lane that the address of a lane names, with a dword for each.
fn named(operation: &Operation, lane: Lane) -> Lane {
    Lane::new((operation.addresses[0][lane] >> 2 & 63) as u32)
}

/// The lane that a lane reads by the pattern of `ds_swizzle_b32`: four lanes by a table, or masks
/// over groups of 32, or 32 lanes turned (ISA of gfx9 and later, "DS_SWIZZLE_B32": bit 10 is the
/// direction, bits 9 to 5 are the distance, and the low bits are those of the lane that stay).
fn swizzled(pattern: u32, lane: Lane) -> Lane {
    let lane = lane.number();
    if pattern & 0xe000 == 0xc000 {
        let (keep, by) = (pattern & 31, pattern >> 5 & 31);
        let turned = if pattern >> 10 & 1 == 1 {
            lane.wrapping_sub(by)
        } else {
            lane + by
        };
        return Lane::new((lane & 32) | (lane & keep) | (turned & 31 & !keep));
    }
    if pattern & 0x8000 != 0 {
        return Lane::new((lane & !3) + (pattern >> (2 * (lane & 3)) & 3));
    }
    let (and, or, xor) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
    Lane::new((lane & 32) + (((lane & 31 & and) | or) ^ xor))
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
    pub(super) fn merge(self, old: u32, loaded: u32) -> u32 {
        match self {
            Extend::Zero | Extend::Sign => loaded,
            Extend::LowZero | Extend::LowSign => (old & 0xffff_0000) | (loaded & 0xffff),
            Extend::HighZero | Extend::HighSign => (old & 0xffff) | loaded << 16,
        }
    }
}
