//! High bits of the numbers of vector registers.
//!
//! An instruction of gfx12.5 has the low eight bits of each number; the others are as
//! `s_set_vgpr_msb` left them: two bits for each source, and two for the destination. LLVM's
//! disassembler does not add them when it is asked for one instruction at a time.
//!
//! LLVM's tables (`getVGPRLoweringOperandTables`) say which operand of an instruction counts as
//! which: the address of an access is the first source, and what it stores the second; a buffer
//! access has its data where others have their destination.

use super::super::inst::{Action, Memories, Memory};
use super::super::number::number;
use super::super::operand::{Kind, Operand};
use super::super::text::{Line, Parts};

/// What is added to the numbers of the registers of three sources and the destination.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct HighBits {
    sources: [u16; 3],
    destination: u16,
}

impl HighBits {
    /// As an instruction leaves them.
    pub(in super::super) fn behind(self, line: &Line) -> HighBits {
        match line.text.split_once(char::is_whitespace) {
            Some(("s_set_vgpr_msb", mode)) => {
                let mode = number(mode.trim()).unwrap_or(0) as u16; // the assembler's form
                let bits = |slot: u16| (mode >> (2 * slot) & 3) << 8;
                HighBits {
                    sources: [bits(0), bits(1), bits(2)],
                    destination: bits(3),
                }
            }
            // Another function begins.
            None if line.text == "s_endpgm" => HighBits::default(),
            _ => self,
        }
    }

    /// Adds them to the operands of a vector instruction.
    pub(super) fn add_to_vector(self, parts: &mut Parts<'_>) {
        if self == HighBits::default() || !parts.mnemonic.starts_with("v_") {
            return;
        }
        let has_destination = !parts.mnemonic.starts_with("v_cmpx_");
        let gives_mask = has_destination
            && (parts.mnemonic.contains("_co_")
                || parts.mnemonic.starts_with("v_div_scale_")
                || parts.mnemonic.starts_with("v_mad_u64_u32")
                || parts.mnemonic.starts_with("v_mad_i64_i32"));
        let mut operands = parts.operands.iter_mut();
        if has_destination && let Some(destination) = operands.next() {
            add(destination, self.destination);
        }
        let sources = operands.skip(usize::from(gives_mask));
        for (source, bits) in sources.zip(self.sources) {
            add(source, bits);
        }
    }

    /// Adds them to the operands of an access.
    pub(super) fn add_to_memory(self, memory: &mut Memory) {
        let [first, second, third] = self.sources;
        let data = match memory.memories {
            Memories::Shared => [second, third],
            Memories::Buffer | Memories::Image => [self.destination; 2],
            Memories::Global
            | Memories::Flat
            | Memories::Private
            | Memories::Scalar
            | Memories::ScalarBuffer => [second; 2],
        };
        let lds = match memory.action {
            Action::FromShared => second,
            _ => self.destination,
        };
        let [data0, data1] = &mut memory.data;
        let operands = [
            (&mut memory.dst, self.destination),
            (&mut memory.vaddr, first),
            (data0, data[0]),
            (data1, data[1]),
            (&mut memory.lds, lds),
        ];
        for (operand, bits) in operands {
            if let Some(operand) = operand {
                add(operand, bits);
            }
        }
    }
}

fn add(operand: &mut Operand, bits: u16) {
    if let Kind::Vgpr(number) = &mut operand.kind {
        *number += bits;
    }
}
