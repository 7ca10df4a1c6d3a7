//! Scalar instructions: rows of the tables, constants of 16 bits, and what saves EXEC.

use super::super::inst::{Op, Scalar};
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

/// Whether `s_setreg hwreg(MODE, offset, size), value` sets the rounding of floats, which are the four lowest bits, to anything but nearest. The value in a register is not
/// known, and counts as another one.
pub(super) fn rounds_otherwise(parts: &Parts<'_>) -> bool {
    let fields = parts
        .rest
        .strip_prefix("hwreg(")
        .and_then(|rest| rest.split_once(')'));
    let Some((fields, value)) = fields.filter(|(fields, _)| fields.contains("MODE")) else {
        return false;
    };
    let offset = fields
        .split(',')
        .nth(1)
        .map_or(Some(0), |text| number(text.trim()));
    match (offset, number(value.trim_start_matches(',').trim())) {
        (Some(0), Some(value)) => value & 15 != 0,
        (Some(1..=3), Some(value)) => value & 7 != 0,
        (Some(4..), _) => false,
        _ => true,
    }
}

/// `hwreg(NAME, offset, size)`: what reading it gives. Everything is 0 here: the first wave slot of an idle machine.
pub(super) fn hardware_register(_text: &str) -> u32 {
    0
}
