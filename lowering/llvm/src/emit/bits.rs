//! Bit instructions (SPIR-V 1.6, section 3.52.13): shifts, bitwise logic, bit fields, counting.
//!
//! A shift by the width or more gives some value (`undefined.rs`). Offsets and counts of bit fields
//! are run-time values; a count of 0 is defined (insert: the base, extract: 0), and so is a field
//! as wide as the type.

use super::build::Build;
use super::function::FunctionEmitter;
use super::{Handled, Result, undefined};
use crate::ffi::{IntPredicate, Opcode, Ty, Value};
use spirv::Op;
use splitbar_passes::module::Inst;

/// Lowers the bit instructions.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    let b = e.b;
    let value = match op {
        Op::ShiftLeftLogical => shift(e, inst, Opcode::LLVMShl)?,
        Op::ShiftRightLogical => shift(e, inst, Opcode::LLVMLShr)?,
        Op::ShiftRightArithmetic => shift(e, inst, Opcode::LLVMAShr)?,
        Op::BitwiseAnd => b.and(e.operand(inst, 0)?, e.operand(inst, 1)?)?,
        Op::BitwiseOr => b.or(e.operand(inst, 0)?, e.operand(inst, 1)?)?,
        Op::BitwiseXor => b.xor(e.operand(inst, 0)?, e.operand(inst, 1)?)?,
        Op::Not => b.not(e.operand(inst, 0)?)?,
        Op::BitReverse => {
            let x = e.operand(inst, 0)?;
            b.intrinsic("llvm.bitreverse", &[x.ty()], &[x])?
        }
        Op::BitCount => {
            let x = e.operand(inst, 0)?;
            let count = b.intrinsic("llvm.ctpop", &[x.ty()], &[x])?;
            b.int_resize(count, e.result_ty(inst)?, false)?
        }
        Op::UCountLeadingZerosINTEL => zeros(e, inst, "llvm.ctlz")?,
        Op::UCountTrailingZerosINTEL => zeros(e, inst, "llvm.cttz")?,
        Op::BitwiseFunctionINTEL => function_of_three(e, inst)?,
        Op::BitFieldInsert => insert(e, inst)?,
        Op::BitFieldSExtract => extract(e, inst, true)?,
        Op::BitFieldUExtract => extract(e, inst, false)?,
        _ => return Ok(Handled::No),
    };
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}

/// Any function of the bits of three operands (SPV_INTEL_ternary_bitwise_function): bit `a + 2 b +
/// 4 c` of the table is its value. As a sum of products (its algebraic normal form), which LLVM and
/// ptxas make one instruction of where there is one.
fn function_of_three<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    /// Values of the function.
    const VALUES: u32 = 8;
    let b = e.b;
    let operands = [
        e.operand(inst, 0)?,
        e.operand(inst, 1)?,
        e.operand(inst, 2)?,
    ];
    let Some(table) = e.constant_u32(inst.id(3)?) else {
        return Err(e.unsupported(inst, "a function that is not a constant"));
    };
    let ty = e.result_ty(inst)?;
    let mut sum: Option<Value<'c>> = None;
    for product in 0..VALUES {
        // Whether the product of these operands is in the form: the sum of the values below it.
        let below = (0..VALUES).filter(|value| value & product == *value);
        let is_in = below.filter(|value| table >> value & 1 == 1).count() % 2 == 1;
        if !is_in {
            continue;
        }
        let mut factor = b.not(ty.zero())?;
        for (at, operand) in operands.into_iter().enumerate() {
            if product >> at & 1 == 1 {
                factor = b.and(factor, operand)?;
            }
        }
        sum = Some(match sum {
            Some(sum) => b.xor(sum, factor)?,
            None => factor,
        });
    }
    Ok(sum.unwrap_or(ty.zero()))
}

/// Zeros at one end; of 0, the width.
fn zeros<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    name: &'static str,
) -> Result<Value<'c>> {
    let x = e.operand(inst, 0)?;
    e.b.intrinsic(name, &[x.ty()], &[x, e.b.bool(false)])
}

/// Base and shift amount may differ in width: the amount is brought to the base's. One that is too
/// large for it is out of range either way, and gives some value.
fn shift<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>, opcode: Opcode) -> Result<Value<'c>> {
    let (base, amount) = (e.operand(inst, 0)?, e.operand(inst, 1)?);
    let b = e.b;
    let to = base.ty();
    if e.may_be_undefined(inst) {
        let amount = b.int_resize(amount, to, false)?;
        return undefined::shift(e, opcode, base, amount);
    }
    b.binary(opcode, base, b.int_resize(amount, to, false)?)
}

/// A scalar offset or count operand, in every lane of `ty`.
fn field_operand<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    index: usize,
    ty: Ty<'c>,
) -> Result<Value<'c>> {
    let scalar =
        e.b.int_resize(e.operand(inst, index)?, ty.element_if_vector(), false)?;
    e.b.splat(scalar, ty.lanes())
}

/// The lowest `count` bits set; `count` from 0 to the width.
fn low_mask<'c>(b: &Build<'c>, count: Value<'c>) -> Result<Value<'c>> {
    let ty = count.ty();
    let width = b.int(ty, u64::from(ty.scalar_bits()))?;
    let ones = b.int(ty, u64::MAX)?;
    // count 0 would shift by the width: the select drops that poison.
    let mask = b.lshr(ones, b.sub(width, count)?)?;
    let none = b.icmp(IntPredicate::LLVMIntEQ, count, ty.zero())?;
    b.select(none, ty.zero(), mask)
}

fn insert<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let (base, field) = (e.operand(inst, 0)?, e.operand(inst, 1)?);
    let b = e.b;
    let ty = base.ty();
    let (offset, count) = (
        field_operand(e, inst, 2, ty)?,
        field_operand(e, inst, 3, ty)?,
    );
    let mask = b.shl(low_mask(b, count)?, offset)?;
    let merged = b.or(
        b.and(base, b.not(mask)?)?,
        b.and(b.shl(field, offset)?, mask)?,
    )?;
    // With count 0 the offset may be the width, which is no shift.
    let none = b.icmp(IntPredicate::LLVMIntEQ, count, ty.zero())?;
    b.select(none, base, merged)
}

fn extract<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>, signed: bool) -> Result<Value<'c>> {
    let base = e.operand(inst, 0)?;
    let b = e.b;
    let ty = base.ty();
    let (offset, count) = (
        field_operand(e, inst, 1, ty)?,
        field_operand(e, inst, 2, ty)?,
    );
    let field = if signed {
        let width = b.int(ty, u64::from(ty.scalar_bits()))?;
        let room = b.sub(width, count)?;
        b.ashr(b.shl(base, b.sub(room, offset)?)?, room)?
    } else {
        b.and(b.lshr(base, offset)?, low_mask(b, count)?)?
    };
    let none = b.icmp(IntPredicate::LLVMIntEQ, count, ty.zero())?;
    b.select(none, ty.zero(), field)
}

/// Index of the lowest set bit, all ones (-1) for 0: FindILsb of GLSL.
pub(crate) fn lowest_set_bit<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
    let ty = x.ty();
    let count = b.intrinsic("llvm.cttz", &[ty], &[x, b.bool(false)])?;
    let none = b.icmp(IntPredicate::LLVMIntEQ, x, ty.zero())?;
    b.select(none, b.int(ty, u64::MAX)?, count)
}

/// Index of the highest set bit, all ones (-1) for 0: FindUMsb of GLSL.
pub(crate) fn highest_set_bit<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
    let ty = x.ty();
    let leading = b.intrinsic("llvm.ctlz", &[ty], &[x, b.bool(false)])?;
    // Width - 1 - leading zeros; for 0 that is -1 already.
    b.sub(b.int(ty, u64::from(ty.scalar_bits()) - 1)?, leading)
}
