//! Scalar instructions that read or set hardware registers.

use super::super::inst::{HardwareRegister, Op};
use super::super::number::number;
use super::super::text::Parts;

/// `s_setreg hwreg(NAME, offset, size), value`. Of the modes, the rounding counts; denormals and
/// exceptions are as compilers ask for.
pub(super) fn set_register(parts: &Parts<'_>) -> Option<Op> {
    let [_, value] = parts.operands.as_slice() else {
        return None;
    };
    let (register, _) = parts.rest.split_once("),")?;
    let (name, first, bits) = fields(register)?;
    if name.contains("GPR_IDX") {
        return None;
    }
    if !MODE.contains(&name) || first >= 4 {
        return Some(Op::Nothing);
    }
    Some(Op::SetRounding {
        first,
        bits: bits.min(4 - first),
        value: *value,
    })
}

/// Names of the MODE register.
const MODE: [&str; 2] = ["HW_REG_MODE", "HW_REG_WAVE_MODE"];

/// The registers with the time: their names, where in it they begin, and how many bits of it they
/// hold. Source: LLVM, the lowering of `llvm.readcyclecounter` for gfx11 and gfx12.
const CLOCKS: [(&str, u8, u8); 3] = [
    ("HW_REG_SHADER_CYCLES", 0, 20),
    ("HW_REG_SHADER_CYCLES_LO", 0, 32),
    ("HW_REG_SHADER_CYCLES_HI", 32, 32),
];

/// `hwreg(NAME, offset, size)` behind a register: what reading it gives.
pub(super) fn hardware_register(text: &str) -> Option<HardwareRegister> {
    let (name, offset, size) = fields(text.strip_suffix(')')?)?;
    // Of no bits at all the mask is empty.
    let mask = |bits: u8| u32::MAX.checked_shr(32 - u32::from(bits)).unwrap_or(0);
    if MODE.contains(&name) {
        return Some(HardwareRegister::Mode {
            shift: offset,
            mask: mask(size),
        });
    }
    Some(match CLOCKS.iter().find(|(clock, ..)| *clock == name) {
        Some((_, first, bits)) => HardwareRegister::Time {
            shift: first + offset,
            mask: mask(bits.saturating_sub(offset).min(size)),
        },
        None => HardwareRegister::Zero,
    })
}

/// Name, offset and size behind `hwreg(`, the bracket's end cut off; all 32 bits where offset and
/// size are left out.
fn fields(text: &str) -> Option<(&str, u8, u8)> {
    let (_, fields) = text.split_once("hwreg(")?;
    let mut fields = fields.split(',').map(str::trim);
    let name = fields.next()?;
    let mut field = |otherwise, most: i64| match fields.next() {
        Some(text) => number(text)
            .filter(|n| (0..=most).contains(n))
            .map(|n| n as u8),
        None => Some(otherwise),
    };
    let (offset, size) = (field(0, 31)?, field(32, 32)?);
    Some((name, offset, size))
}
