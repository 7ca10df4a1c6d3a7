//! Scalar instructions: rows of the tables, and constants of 16 bits.

use super::super::inst::{Op, Scalar};
use super::super::operand::{Kind, Operand};
use super::super::table::compare;
use super::super::text::Parts;
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
