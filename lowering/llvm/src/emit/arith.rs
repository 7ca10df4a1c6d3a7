//! Integer and floating-point arithmetic (SPIR-V 1.6, section 3.52.13).
//!
//! Integers wrap. A division by zero, and the one signed quotient that does not fit, give some
//! value (`undefined.rs`). Remainders: `SRem` and `FRem` take the sign of the dividend, `SMod`
//! and `FMod` that of the divisor; all four are exact. Floating-point operations round to nearest
//! even; which of them may be contracted is the emitter's choice per instruction
//! (`Build::fast_math`).

use super::build::Build;
use super::compare::magnitude;
use super::function::FunctionEmitter;
use super::math::{self, Binary, Precision};
use super::{Handled, Result, undefined};
use crate::ffi::{IntPredicate, Opcode, RealPredicate, Value};
use spirv::Op;
use splitbar_passes::module::Inst;
use splitbar_plan::target::Arch;

/// Lowers the arithmetic instructions on scalars and vectors.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    let value = match op {
        Op::IAdd => binary(e, inst, Opcode::LLVMAdd)?,
        Op::ISub => binary(e, inst, Opcode::LLVMSub)?,
        Op::IMul => binary(e, inst, Opcode::LLVMMul)?,
        Op::UDiv => divide(e, inst, Opcode::LLVMUDiv)?,
        Op::SDiv => divide(e, inst, Opcode::LLVMSDiv)?,
        Op::UMod => divide(e, inst, Opcode::LLVMURem)?,
        Op::SRem => divide(e, inst, Opcode::LLVMSRem)?,
        Op::FAdd => binary(e, inst, Opcode::LLVMFAdd)?,
        Op::FSub => binary(e, inst, Opcode::LLVMFSub)?,
        Op::FMul => binary(e, inst, Opcode::LLVMFMul)?,
        Op::FDiv => e.b.fdiv(e.operand(inst, 0)?, e.operand(inst, 1)?)?,
        Op::FRem => {
            let (x, y) = (e.operand(inst, 0)?, e.operand(inst, 1)?);
            float_remainder(e, x, y)?
        }
        Op::SMod => {
            let (x, y) = (e.operand(inst, 0)?, undefined::divisor(e, inst)?);
            signed_modulus(e.b, x, y)?
        }
        Op::FMod => {
            let (x, y) = (e.operand(inst, 0)?, e.operand(inst, 1)?);
            float_modulus(e, x, y)?
        }
        Op::SNegate => e.b.neg(e.operand(inst, 0)?)?,
        Op::FNegate => e.b.fneg(e.operand(inst, 0)?)?,
        Op::FmaKHR => {
            let x = e.operand(inst, 0)?;
            let (y, z) = (e.operand(inst, 1)?, e.operand(inst, 2)?);
            e.b.intrinsic("llvm.fma", &[x.ty()], &[x, y, z])?
        }
        Op::IMul32x16INTEL => half_product(e, inst, true)?,
        Op::UMul32x16INTEL => half_product(e, inst, false)?,
        // An identity that nothing is reassociated across, with fast-math flags on both sides.
        Op::ArithmeticFenceEXT => {
            let x = e.operand(inst, 0)?;
            e.b.intrinsic("llvm.arithmetic.fence", &[x.ty()], &[x])?
        }
        Op::IAddSatINTEL => saturated(e, inst, "llvm.sadd.sat")?,
        Op::UAddSatINTEL => saturated(e, inst, "llvm.uadd.sat")?,
        Op::ISubSatINTEL => saturated(e, inst, "llvm.ssub.sat")?,
        Op::USubSatINTEL => saturated(e, inst, "llvm.usub.sat")?,
        Op::AbsISubINTEL => distance(e, inst, "llvm.smax", "llvm.smin")?,
        Op::AbsUSubINTEL => distance(e, inst, "llvm.umax", "llvm.umin")?,
        Op::IAverageINTEL
        | Op::UAverageINTEL
        | Op::IAverageRoundedINTEL
        | Op::UAverageRoundedINTEL => average(e, op, inst)?,
        Op::IAddCarry | Op::ISubBorrow => return carry(e, op, inst),
        Op::UMulExtended | Op::SMulExtended => return extended_product(e, op, inst),
        _ => return Ok(Handled::No),
    };
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}

/// A saturating intrinsic of both operands.
fn saturated<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    name: &'static str,
) -> Result<Value<'c>> {
    let (x, y) = (e.operand(inst, 0)?, e.operand(inst, 1)?);
    e.b.intrinsic(name, &[x.ty()], &[x, y])
}

/// The product with the lower 16 bits of the second operand, extended with or without sign
/// (SPV_INTEL_shader_integer_functions2).
fn half_product<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    signed: bool,
) -> Result<Value<'c>> {
    let b = e.b;
    let (x, y) = (e.operand(inst, 0)?, e.operand(inst, 1)?);
    let half = b.int_type(16).vector(y.ty().lanes());
    let low = b.int_resize(b.int_resize(y, half, signed)?, y.ty(), signed)?;
    b.mul(x, low)
}

/// The larger operand without the smaller one.
fn distance<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    larger: &'static str,
    smaller: &'static str,
) -> Result<Value<'c>> {
    e.b.sub(saturated(e, inst, larger)?, saturated(e, inst, smaller)?)
}

/// Half of the sum, which itself may not fit: rounded down, or up in the Rounded forms
/// (SPV_INTEL_shader_integer_functions2).
fn average<'c>(e: &FunctionEmitter<'_, 'c, '_>, op: Op, inst: Inst<'_>) -> Result<Value<'c>> {
    let b = e.b;
    let (x, y) = (e.operand(inst, 0)?, e.operand(inst, 1)?);
    let (differing, one) = (b.xor(x, y)?, b.int(x.ty(), 1)?);
    let half = if matches!(op, Op::IAverageINTEL | Op::IAverageRoundedINTEL) {
        b.ashr(differing, one)?
    } else {
        b.lshr(differing, one)?
    };
    if matches!(op, Op::IAverageINTEL | Op::UAverageINTEL) {
        b.add(b.and(x, y)?, half)
    } else {
        b.sub(b.or(x, y)?, half)
    }
}

fn binary<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    opcode: Opcode,
) -> Result<Value<'c>> {
    e.b.binary(opcode, e.operand(inst, 0)?, e.operand(inst, 1)?)
}

/// A quotient or a remainder of integers.
fn divide<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    opcode: Opcode,
) -> Result<Value<'c>> {
    e.b.binary(opcode, e.operand(inst, 0)?, undefined::divisor(e, inst)?)
}

/// Remainder with the sign of the dividend, exact. LLVM has no lowering of a bfloat remainder, and
/// `float` holds every bfloat and its remainder exactly. On NVPTX LLVM writes out
/// `x - trunc(x / y) * y`, which loses all digits of a large quotient: there the library's
/// remainder to the nearest multiple is brought to the right side, which is exact as well.
pub(crate) fn float_remainder<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    x: Value<'c>,
    y: Value<'c>,
) -> Result<Value<'c>> {
    let b = e.b;
    let ty = x.ty();
    if matches!(e.module.target.arch, Arch::Nvptx(_)) {
        let (size_x, size_y) = (magnitude(b, x)?, magnitude(b, y)?);
        let nearest = math::binary(e, Binary::Remainder, Precision::Exact, size_x, size_y)?;
        let negative = b.fcmp(RealPredicate::LLVMRealOLT, nearest, b.float(ty, 0.0)?)?;
        let rest = b.select(negative, b.fadd(nearest, size_y)?, nearest)?;
        return b.intrinsic("llvm.copysign", &[ty], &[rest, x]);
    }
    if ty.element_if_vector() != b.bfloat_type() {
        return b.binary(Opcode::LLVMFRem, x, y);
    }
    let wide = b.float_type(32).vector(ty.lanes());
    let r = b.binary(
        Opcode::LLVMFRem,
        b.float_resize(x, wide)?,
        b.float_resize(y, wide)?,
    )?;
    b.float_resize(r, ty)
}

/// Remainder with the sign of the divisor: a remainder of the other sign is one divisor away.
fn signed_modulus<'c>(b: &Build<'c>, x: Value<'c>, y: Value<'c>) -> Result<Value<'c>> {
    let zero = x.ty().zero();
    let r = b.binary(Opcode::LLVMSRem, x, y)?;
    let signs_differ = b.icmp(IntPredicate::LLVMIntSLT, b.xor(r, y)?, zero)?;
    let not_zero = b.icmp(IntPredicate::LLVMIntNE, r, zero)?;
    b.select(b.and(signs_differ, not_zero)?, b.add(r, y)?, r)
}

/// As [`signed_modulus`], for floating-point numbers.
fn float_modulus<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    x: Value<'c>,
    y: Value<'c>,
) -> Result<Value<'c>> {
    let b = e.b;
    let zero = b.float(x.ty(), 0.0)?;
    let r = float_remainder(e, x, y)?;
    let r_negative = b.fcmp(RealPredicate::LLVMRealOLT, r, zero)?;
    let y_negative = b.fcmp(RealPredicate::LLVMRealOLT, y, zero)?;
    let not_zero = b.fcmp(RealPredicate::LLVMRealONE, r, zero)?;
    let other = b.and(b.xor(r_negative, y_negative)?, not_zero)?;
    b.select(other, b.fadd(r, y)?, r)
}

/// `{ low word of the sum or difference, carry or borrow as 0 or 1 }`.
fn carry(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    let (x, y) = (e.operand(inst, 0)?, e.operand(inst, 1)?);
    let b = e.b;
    let (low, out) = if op == Op::IAddCarry {
        let sum = b.add(x, y)?;
        (sum, b.icmp(IntPredicate::LLVMIntULT, sum, x)?)
    } else {
        (b.sub(x, y)?, b.icmp(IntPredicate::LLVMIntULT, x, y)?)
    };
    let out = b.int_resize(out, x.ty(), false)?;
    bind_pair(e, inst, low, out)
}

/// `{ low half, high half }` of a product of twice the width.
fn extended_product(
    e: &mut FunctionEmitter<'_, '_, '_>,
    op: Op,
    inst: Inst<'_>,
) -> Result<Handled> {
    let (x, y) = (e.operand(inst, 0)?, e.operand(inst, 1)?);
    let low = e.b.mul(x, y)?;
    let high = product_high(e.b, x, y, op == Op::SMulExtended)?;
    bind_pair(e, inst, low, high)
}

/// The upper half of the double-width product.
pub(crate) fn product_high<'c>(
    b: &Build<'c>,
    x: Value<'c>,
    y: Value<'c>,
    signed: bool,
) -> Result<Value<'c>> {
    let ty = x.ty();
    let bits = ty.scalar_bits();
    let wide = b.int_type(bits * 2).vector(ty.lanes());
    let product = b.mul(
        b.int_resize(x, wide, signed)?,
        b.int_resize(y, wide, signed)?,
    )?;
    let shift = b.int(wide, u64::from(bits))?;
    b.int_resize(b.lshr(product, shift)?, ty, false)
}

/// Binds a structure of two members.
pub(crate) fn bind_pair<'c>(
    e: &mut FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    first: Value<'c>,
    second: Value<'c>,
) -> Result<Handled> {
    let result = e.result_ty(inst)?.poison();
    let result = e.b.with_member(result, first, 0)?;
    let result = e.b.with_member(result, second, 1)?;
    e.bind(inst, result)?;
    Ok(Handled::Yes)
}
