//! Addresses of memory instructions: what each lane's registers, the offsets and a buffer's
//! descriptor say.

use super::apertures::PRIVATE_APERTURE;
use super::bits::Ty;
use super::inst::{Action, Memories, Memory};
use super::masks::each;
use super::operand::{Kind, Operand, sgpr};
use super::operation::Operation;
use super::wave::Wave;
use crate::context::Context;
use crate::finding::FindingKind;
use crate::lane::Lane;

/// The last word of the descriptor for private memory.
pub(super) const PRIVATE_DESCRIPTOR: u32 = 0x00e8_0000;

/// The places of an access: its address with the offsets of the instruction.
fn places(memory: &Memory, address: u64) -> [u64; 2] {
    let within = |offset: i64| address.wrapping_add_signed(offset) & 0xffff_ffff;
    match memory.memories {
        // LDS addresses wrap at 32 bits.
        Memories::Shared | Memories::Private => memory.offsets.map(within),
        // Private memory by a descriptor has offsets of 32 bits, which LLVM lets wrap from gfx9 on,
        // where their sum is not checked against the range
        // (`GCNSubtarget::privateMemoryResourceIsRangeChecked`).
        Memories::Buffer if address >> 32 == PRIVATE_APERTURE => memory
            .offsets
            .map(|offset| PRIVATE_APERTURE << 32 | within(offset)),
        _ => memory
            .offsets
            .map(|offset| address.wrapping_add_signed(offset)),
    }
}

impl Wave {
    /// Computes the addresses of all lanes.
    pub(super) fn addresses(
        &self,
        memory: &Memory,
        operation: &mut Operation,
        pc: u32,
        cx: &mut Context<'_>,
    ) {
        // Copies that M0 places write whole dwords.
        operation.shared_bytes = match memory.lds {
            Some(_) => memory.bytes,
            None => memory.bytes.max(4),
        };
        if let Some(components) = memory.components {
            operation.texels = self.buffer_format(memory, pc, cx).map(|f| (components, f));
        }
        for lane in each(operation.lanes) {
            let address = self.base_address(memory, lane, pc, cx).unwrap_or_else(|| {
                operation.beyond |= 1u64 << lane;
                0
            });
            let places = places(memory, address);
            for (slot, place) in operation.addresses.iter_mut().zip(places) {
                slot[lane] = if memory.halves {
                    (place & 0x7f) | (u64::from(lane.number()) & 32) << 2
                } else {
                    place
                };
            }
            if matches!(memory.action, Action::ToShared | Action::FromShared) {
                match self.shared_address(memory, lane, cx) {
                    Some(address) => operation.shared[lane] = address,
                    None => operation.lanes &= !(1u64 << lane),
                }
            }
        }
    }

    /// The vector register of an operand, or zeros.
    fn vector(&self, operand: &Option<Operand>) -> [u32; 64] {
        match operand.map(|o| o.kind) {
            Some(Kind::Vgpr(index)) => self.v(index),
            _ => [0; 64],
        }
    }

    /// The address of a lane without the offsets of the instruction; `None` where the bounds of a
    /// buffer let the access do nothing.
    fn base_address(
        &self,
        memory: &Memory,
        lane: Lane,
        pc: u32,
        cx: &mut Context<'_>,
    ) -> Option<u64> {
        let scalar = |operand: &Option<Operand>| operand.map_or(0, |o| self.scalar(&o, Ty::B32));
        let has = |operand: &Option<Operand>| {
            operand.is_some_and(|o| o.kind != Kind::Off && o.kind != Kind::Sgpr(sgpr::NULL))
        };
        // Bytes of what a register counts that is added to an address.
        let scale = if memory.scaled {
            u64::from(memory.bytes)
        } else {
            1
        };
        Some(match memory.memories {
            Memories::Shared => self.vector(&memory.vaddr)[lane].into(),
            Memories::Global | Memories::Flat if has(&memory.saddr) => {
                let base = memory.saddr.map_or(0, |s| self.scalar(&s, Ty::B64));
                let offset = self.vector(&memory.vaddr)[lane];
                if memory.scaled {
                    base.wrapping_add_signed(i64::from(offset as i32) * i64::from(memory.bytes))
                } else {
                    base.wrapping_add(offset.into())
                }
            }
            Memories::Global | Memories::Flat => match memory.vaddr.map(|o| o.kind) {
                Some(Kind::Vgpr(index)) => {
                    u64::from(self.v(index)[lane]) | u64::from(self.v(index + 1)[lane]) << 32
                }
                _ => 0,
            },
            Memories::Private => {
                let vaddr = if has(&memory.vaddr) {
                    u64::from(self.vector(&memory.vaddr)[lane]) * scale
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
                let base = memory.saddr.map_or(0, |s| self.scalar(&s, Ty::B64));
                let at = base.wrapping_add(scalar(&memory.soffset).wrapping_mul(scale));
                // Words are aligned, and bytes and halves of a word as they are.
                at & !(u64::from(memory.bytes.clamp(1, 4)) - 1)
            }
            // Images have coordinates.
            Memories::Image => 0,
            Memories::Buffer | Memories::ScalarBuffer => {
                return self.buffer(memory, lane, pc, cx);
            }
        })
    }

    /// The address in LDS of the other side of a lane's copy; `None` for a lane that is masked off.
    fn shared_address(&self, memory: &Memory, lane: Lane, cx: &Context<'_>) -> Option<u64> {
        let [first, _] = memory.offsets;
        if memory.lds.is_some() {
            let address = self.vector(&memory.lds)[lane];
            // A lane is masked off by the address -1.
            return (address != u32::MAX)
                .then(|| u64::from(address).wrapping_add_signed(first) & 0xffff_ffff);
        }
        // The bits of M0 that count: 16, or as many as a larger memory needs (gfx950).
        let m0 = match cx.group.shared.len() {
            0..=0x1_0000 => 0xffff,
            _ => 0x3_ffff,
        };
        // M0 names the wave's place, where every lane has a dword, or four for more (LLVM, "AMDGPU
        // DMA Operations").
        let stride = if memory.bytes > 4 { 16 } else { 4 };
        Some(
            u64::from(self.s(sgpr::M0) & m0).wrapping_add_signed(first)
                + u64::from(lane.number()) * stride,
        )
    }

    /// The address of a lane by a buffer descriptor; `None` when the descriptor's bounds let the
    /// access do nothing.
    fn buffer(&self, memory: &Memory, lane: Lane, pc: u32, cx: &mut Context<'_>) -> Option<u64> {
        let Some(Kind::Sgpr(first)) = memory.saddr.map(|s| s.kind) else {
            return None;
        };
        let word = |n: u16| self.s(first + n);
        let soffset = memory.soffset.map_or(0, |o| self.scalar(&o, Ty::B32)) & 0xffff_ffff;
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
        // The descriptor that the loader makes for private memory swizzles: lanes lie side by side,
        // and the scalar offset counts for all lanes.
        if word(3) == PRIVATE_DESCRIPTOR {
            let within = u64::from(offset) + soffset / u64::from(self.size);
            return Some(PRIVATE_APERTURE << 32 | within & 0xffff_ffff);
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
