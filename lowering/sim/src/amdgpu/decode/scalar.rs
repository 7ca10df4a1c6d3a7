//! Scalar instructions: rows of the tables, constants of 16 bits, and what saves EXEC.

use super::super::inst::{HardwareRegister, Op, Scalar};
use super::super::operand::{Kind, Operand};
use super::super::table::{compare, scalar};
use super::super::text::{Parts, number};
use super::{Decoder, Shape, nowhere};

impl Decoder<'_> {
    pub(super) fn scalar(&self, parts: &Parts<'_>) -> Option<Op> {
        let operands = parts.operands.as_slice();
        let test;
        let (name, constant) = match parts.mnemonic {
            // A 16-bit constant, sign-extended but for unsigned comparisons.
            "s_movk_i32" => ("s_mov_b32", true),
            "s_cmovk_i32" => ("s_cmov_b32", true),
            "s_addk_i32" | "s_addk_co_i32" => ("s_add_i32", true),
            "s_mulk_i32" => ("s_mul_i32", true),
            name => match name.strip_prefix("s_cmpk_") {
                Some(rest) => {
                    test = format!("s_cmp_{rest}");
                    (test.as_str(), true)
                }
                None => (name, false),
            },
        };
        let (shape, row) = match self.rows.get(name) {
            Some(found) => *found,
            None => (
                Shape::ScalarTest,
                compare::find(name.strip_prefix("s_cmp_")?)?,
            ),
        };
        let signed = constant && !name.ends_with("_u32");
        let constant = |operand: Operand| match operand.kind {
            Kind::Literal(bits) if signed => Operand::new(Kind::Integer((bits as i16).into()), 0),
            Kind::Integer(bits) if signed => Operand::new(Kind::Integer((bits as i16).into()), 0),
            _ => operand,
        };
        let (dst, sources) = match shape {
            Shape::ScalarTest => (nowhere(), operands),
            Shape::Scalar => (*operands.first()?, operands.get(1..)?),
            Shape::Value(_) if name.starts_with("v_s_") => return None,
            Shape::Value(_) | Shape::Carry | Shape::Select | Shape::Fmas => return None,
        };
        let mut src = [Operand::new(Kind::Integer(0), 0); 3];
        for (slot, source) in src.iter_mut().zip(sources) {
            *slot = constant(*source);
        }
        if sources.iter().any(|s| s.kind == Kind::Other) {
            return None;
        }
        // `s_addk`, `s_cmov`, `s_fmac`: the destination is a source too.
        let wanted = row.src.len();
        if sources.len() + 1 == wanted {
            let old = src.get_mut(sources.len())?;
            *old = dst;
        } else if sources.len() != wanted {
            return None;
        }
        Some(Op::Scalar(Box::new(Scalar { row, dst, src })))
    }
}

pub(super) fn save_exec(name: &str, operands: &[Operand]) -> Option<Op> {
    let (stem, registers) = match (name.strip_suffix("_b32"), name.strip_suffix("_b64")) {
        (Some(stem), _) => (stem, 1),
        (_, Some(stem)) => (stem, 2),
        (None, None) => return None,
    };
    let stem = stem.strip_prefix("s_")?;
    let (stem, wrexec) = match (stem.strip_suffix("_saveexec"), stem.strip_suffix("_wrexec")) {
        (Some(stem), _) => (stem, false),
        (_, Some(stem)) => (stem, true),
        (None, None) => return None,
    };
    let (_, compute) = scalar::SAVE_EXEC.iter().find(|(name, _)| *name == stem)?;
    Some(Op::SaveExec {
        compute: *compute,
        dst: *operands.first()?,
        src: *operands.get(1)?,
        registers,
        wrexec,
    })
}

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
