//! Comparisons, logic and selection (SPIR-V 1.6, section 3.52.15).
//!
//! Ordered comparisons are false and unordered ones true when an operand is a NaN. The tests for
//! NaN and infinity look at the value with comparisons that carry no fast-math flags, so they mean
//! what they say also where the arithmetic around them may assume finite numbers.

use super::build::Build;
use super::function::FunctionEmitter;
use super::slots::Pointer;
use super::types::Kind;
use super::{Handled, Result};
use crate::ffi::{IntPredicate, RealPredicate, Value};
use spirv::Op;
use splitbar_passes::module::Inst;

/// How a comparison is made.
enum Comparison {
    Int(IntPredicate),
    Float(RealPredicate),
}

/// The comparison that an opcode stands for.
fn comparison(op: Op) -> Option<Comparison> {
    use Comparison::{Float, Int};
    Some(match op {
        Op::IEqual | Op::LogicalEqual => Int(IntPredicate::LLVMIntEQ),
        Op::INotEqual | Op::LogicalNotEqual => Int(IntPredicate::LLVMIntNE),
        Op::UGreaterThan => Int(IntPredicate::LLVMIntUGT),
        Op::SGreaterThan => Int(IntPredicate::LLVMIntSGT),
        Op::UGreaterThanEqual => Int(IntPredicate::LLVMIntUGE),
        Op::SGreaterThanEqual => Int(IntPredicate::LLVMIntSGE),
        Op::ULessThan => Int(IntPredicate::LLVMIntULT),
        Op::SLessThan => Int(IntPredicate::LLVMIntSLT),
        Op::ULessThanEqual => Int(IntPredicate::LLVMIntULE),
        Op::SLessThanEqual => Int(IntPredicate::LLVMIntSLE),
        Op::FOrdEqual => Float(RealPredicate::LLVMRealOEQ),
        Op::FUnordEqual => Float(RealPredicate::LLVMRealUEQ),
        Op::FOrdNotEqual | Op::LessOrGreater => Float(RealPredicate::LLVMRealONE),
        Op::FUnordNotEqual => Float(RealPredicate::LLVMRealUNE),
        Op::FOrdLessThan => Float(RealPredicate::LLVMRealOLT),
        Op::FUnordLessThan => Float(RealPredicate::LLVMRealULT),
        Op::FOrdGreaterThan => Float(RealPredicate::LLVMRealOGT),
        Op::FUnordGreaterThan => Float(RealPredicate::LLVMRealUGT),
        Op::FOrdLessThanEqual => Float(RealPredicate::LLVMRealOLE),
        Op::FUnordLessThanEqual => Float(RealPredicate::LLVMRealULE),
        Op::FOrdGreaterThanEqual => Float(RealPredicate::LLVMRealOGE),
        Op::FUnordGreaterThanEqual => Float(RealPredicate::LLVMRealUGE),
        Op::Ordered => Float(RealPredicate::LLVMRealORD),
        Op::Unordered => Float(RealPredicate::LLVMRealUNO),
        _ => return None,
    })
}

/// Lowers comparisons, logical instructions and OpSelect.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    let b = e.b;
    if let Some(comparison) = comparison(op) {
        let (x, y) = (e.operand(inst, 0)?, e.operand(inst, 1)?);
        let value = match comparison {
            Comparison::Int(predicate) => b.icmp(predicate, x, y)?,
            Comparison::Float(predicate) => b.fcmp(predicate, x, y)?,
        };
        e.bind(inst, value)?;
        return Ok(Handled::Yes);
    }
    let x = e.operand(inst, 0)?;
    let value = match op {
        Op::LogicalAnd => b.and(x, e.operand(inst, 1)?)?,
        Op::LogicalOr => b.or(x, e.operand(inst, 1)?)?,
        Op::LogicalNot => b.not(x)?,
        Op::Any => fold_lanes(b, x, Build::or)?,
        Op::All => fold_lanes(b, x, Build::and)?,
        Op::IsNan => is_nan(b, x)?,
        Op::IsInf => b.fcmp(
            RealPredicate::LLVMRealOEQ,
            magnitude(b, x)?,
            b.float(x.ty(), f64::INFINITY)?,
        )?,
        Op::IsFinite => b.fcmp(
            RealPredicate::LLVMRealOLT,
            magnitude(b, x)?,
            b.float(x.ty(), f64::INFINITY)?,
        )?,
        Op::IsNormal => is_normal(b, x)?,
        Op::SignBitSet => sign_bit(b, x)?,
        Op::Select => return select(e, inst),
        _ => return Ok(Handled::No),
    };
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}

/// All lanes combined by `f`, lowest first.
fn fold_lanes<'c>(
    b: &Build<'c>,
    vector: Value<'c>,
    f: fn(&Build<'c>, Value<'c>, Value<'c>) -> Result<Value<'c>>,
) -> Result<Value<'c>> {
    let mut result = b.lane(vector, 0)?;
    for lane in 1..vector.ty().lanes() {
        result = f(b, result, b.lane(vector, lane)?)?;
    }
    Ok(result)
}

/// `x` without its sign.
pub(crate) fn magnitude<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
    b.intrinsic("llvm.fabs", &[x.ty()], &[x])
}

/// Whether `x` is a NaN.
pub(crate) fn is_nan<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
    b.fcmp(RealPredicate::LLVMRealUNO, x, x)
}

/// Neither zero, subnormal, infinite nor NaN.
fn is_normal<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
    let ty = x.ty();
    let smallest = match (ty.element_if_vector() == b.bfloat_type(), ty.scalar_bits()) {
        (false, 16) => 2f64.powi(-14),
        (_, 64) => f64::MIN_POSITIVE,
        _ => f64::from(f32::MIN_POSITIVE),
    };
    let size = magnitude(b, x)?;
    let large_enough = b.fcmp(RealPredicate::LLVMRealOGE, size, b.float(ty, smallest)?)?;
    let finite = b.fcmp(
        RealPredicate::LLVMRealOLT,
        size,
        b.float(ty, f64::INFINITY)?,
    )?;
    b.and(large_enough, finite)
}

/// The sign bit, that of a NaN or zero too.
fn sign_bit<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
    let bits = b.int_type(x.ty().scalar_bits()).vector(x.ty().lanes());
    let x = b.bitcast(x, bits)?;
    b.icmp(IntPredicate::LLVMIntSLT, x, bits.zero())
}

/// OpSelect: of scalars and vectors by component, of composites and pointers as a whole.
fn select(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<Handled> {
    let condition = e.operand(inst, 0)?;
    let ty = e.result_type(inst)?;
    if let Kind::Pointer { .. } = e.kind(ty)? {
        let (yes, no) = (e.pointer(inst.id(1)?)?, e.pointer(inst.id(2)?)?);
        let address = e.b.select(condition, yes.address, no.address)?;
        e.bind_pointer(
            inst,
            Pointer {
                address,
                align: yes.align.min(no.align),
                ..yes
            },
        )?;
    } else {
        let value =
            e.b.select(condition, e.operand(inst, 1)?, e.operand(inst, 2)?)?;
        e.bind(inst, value)?;
    }
    Ok(Handled::Yes)
}
