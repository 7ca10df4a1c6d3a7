//! Conversions (SPIR-V 1.6, section 3.52.11).
//!
//! Floating-point to integer truncates toward zero unless FPRoundingMode says otherwise; a value
//! that does not fit gives some value (`undefined.rs`), or is clamped (NaN to 0) under
//! SaturatedConversion. Integer to floating-point and floating-point to narrower floating-point
//! round to nearest even unless FPRoundingMode says otherwise.

use super::casts::{
    clamp_resize, directed, float_to_float, quantize, saturating_to_int, significand_bits,
};
use super::function::FunctionEmitter;
use super::slots::Pointer;
use super::small_float::{self, SmallFloat};
use super::types::Kind;
use super::{Handled, Result, matrix};
use crate::ffi::{Opcode, RealPredicate, Ty, Value};
use spirv::{Decoration, FPRoundingMode, Op};
use splitbar_passes::module::{Id, Inst};

/// Lowers the conversion instructions.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    let value = match op {
        Op::ConvertFToU => float_to_int(e, inst, false)?,
        Op::ConvertFToS => float_to_int(e, inst, true)?,
        Op::ConvertUToF => int_to_float(e, inst, false)?,
        Op::ConvertSToF => int_to_float(e, inst, true)?,
        Op::UConvert => resize(e, inst, false)?,
        Op::SConvert => resize(e, inst, true)?,
        Op::SatConvertSToU => saturate(e, inst, true)?,
        Op::SatConvertUToS => saturate(e, inst, false)?,
        Op::FConvert => {
            let to = e.result_ty(inst)?;
            match result_small_float(e, inst)? {
                Some(format) => {
                    let x = number(e, inst)?;
                    to_small_float(e, inst, format, x)?
                }
                None => {
                    let x = number(e, inst)?;
                    float_to_float(e.b, x, to, rounding(e, inst))?
                }
            }
        }
        Op::QuantizeToF16 => quantize(e.b, e.operand(inst, 0)?)?,
        Op::ConvertFToBF16INTEL => to_bfloat_bits(e, inst)?,
        Op::RoundFToTF32INTEL => to_tf32(e, inst)?,
        Op::ConvertBF16ToFINTEL => from_bfloat_bits(e, inst)?,
        Op::Bitcast => return bitcast(e, inst),
        _ => return Ok(Handled::No),
    };
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}

/// What is converted. The elements of a cooperative matrix go to where the result has them.
fn source<'c>(e: &mut FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let value = e.operand(inst, 0)?;
    matrix::as_result(e, inst, value)
}

/// The same, of a floating-point number: those of at most 8 bits in 32.
fn number<'c>(e: &mut FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let value = source(e, inst)?;
    match e.small_float(e.type_of(inst.id(0)?)?)? {
        Some(format) => small_float::decode(e.b, format, value),
        None => Ok(value),
    }
}

/// The format of the result, if its numbers are floats of at most 8 bits.
fn result_small_float(
    e: &FunctionEmitter<'_, '_, '_>,
    inst: Inst<'_>,
) -> Result<Option<SmallFloat>> {
    e.small_float(e.result_type(inst)?)
}

/// To floats of at most 8 bits, rounded to the nearest.
fn to_small_float<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    format: SmallFloat,
    x: Value<'c>,
) -> Result<Value<'c>> {
    if !matches!(rounding(e, inst), None | Some(FPRoundingMode::RTE)) {
        return Err(e.unsupported(inst, "a directed rounding to floats of 8 bits"));
    }
    let saturated = e
        .decoration(
            inst,
            Decoration::SaturatedToLargestFloat8NormalConversionEXT,
        )
        .is_some();
    small_float::encode(e.b, format, x, saturated)
}

/// The FPRoundingMode decoration of the result.
fn rounding(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Option<FPRoundingMode> {
    FPRoundingMode::from_u32(e.decoration(inst, Decoration::FPRoundingMode)?)
}

fn resize<'c>(
    e: &mut FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    signed: bool,
) -> Result<Value<'c>> {
    let (x, to) = (source(e, inst)?, e.result_ty(inst)?);
    if e.decoration(inst, Decoration::SaturatedConversion)
        .is_some()
    {
        return clamp_resize(e.b, x, to, signed, signed);
    }
    e.b.int_resize(x, to, signed)
}

/// OpSatConvertSToU and OpSatConvertUToS.
fn saturate<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    from_signed: bool,
) -> Result<Value<'c>> {
    clamp_resize(
        e.b,
        e.operand(inst, 0)?,
        e.result_ty(inst)?,
        from_signed,
        !from_signed,
    )
}

fn float_to_int<'c>(
    e: &mut FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    signed: bool,
) -> Result<Value<'c>> {
    let (mut x, to) = (number(e, inst)?, e.result_ty(inst)?);
    let b = e.b;
    let toward = match rounding(e, inst) {
        None | Some(FPRoundingMode::RTZ) => None,
        Some(FPRoundingMode::RTE) => Some("llvm.roundeven"),
        Some(FPRoundingMode::RTP) => Some("llvm.ceil"),
        Some(FPRoundingMode::RTN) => Some("llvm.floor"),
    };
    if let Some(name) = toward {
        x = b.intrinsic(name, &[x.ty()], &[x])?;
    }
    if e.decoration(inst, Decoration::SaturatedConversion)
        .is_some()
    {
        return saturating_to_int(b, x, to, signed);
    }
    b.cast(
        if signed {
            Opcode::LLVMFPToSI
        } else {
            Opcode::LLVMFPToUI
        },
        x,
        to,
    )
}

fn int_to_float<'c>(
    e: &mut FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    signed: bool,
) -> Result<Value<'c>> {
    let (x, to) = (source(e, inst)?, e.result_ty(inst)?);
    let cast = if signed {
        Opcode::LLVMSIToFP
    } else {
        Opcode::LLVMUIToFP
    };
    if let Some(format) = result_small_float(e, inst)? {
        // Whatever a double does not hold of an integer lies far beyond the format.
        let double = e.b.float_type(64).vector(x.ty().lanes());
        return to_small_float(e, inst, format, e.b.cast(cast, x, double)?);
    }
    match rounding(e, inst) {
        Some(mode @ (FPRoundingMode::RTZ | FPRoundingMode::RTP | FPRoundingMode::RTN))
            if x.ty().scalar_bits() - u32::from(signed) > significand_bits(e.b, to) =>
        {
            directed(e.b, x, to, signed, mode)
        }
        _ => e.b.cast(cast, x, to),
    }
}

/// OpConvertFToBF16INTEL: the bfloat as a 16-bit integer.
fn to_bfloat_bits<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let (x, to) = (e.operand(inst, 0)?, e.result_ty(inst)?);
    let brain =
        e.b.float_resize(x, e.b.bfloat_type().vector(x.ty().lanes()))?;
    e.b.bitcast(brain, to)
}

/// OpRoundFToTF32INTEL: a float whose significand has 10 bits, the nearest, the even one of two. A
/// carry out of the significand goes to the exponent, where the greatest becomes an infinity.
fn to_tf32<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    /// Bits that are dropped.
    const DROPPED: u64 = 13;
    let (x, b) = (e.operand(inst, 0)?, e.b);
    let int = b.int_type(32).vector(x.ty().lanes());
    let bits = b.bitcast(x, int)?;
    let odd = b.and(b.lshr(bits, b.int(int, DROPPED)?)?, b.int(int, 1)?)?;
    let half = b.int(int, (1 << (DROPPED - 1)) - 1)?;
    let sum = b.add(bits, b.add(odd, half)?)?;
    let rounded = b.and(sum, b.int(int, !((1u64 << DROPPED) - 1) & 0xffff_ffff)?)?;
    let is_nan = b.fcmp(RealPredicate::LLVMRealUNO, x, x)?;
    b.select(is_nan, x, b.bitcast(rounded, x.ty())?)
}

/// OpConvertBF16ToFINTEL: from the bfloat's bits in a 16-bit integer.
fn from_bfloat_bits<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let (x, to) = (e.operand(inst, 0)?, e.result_ty(inst)?);
    let brain = e.b.bitcast(x, e.b.bfloat_type().vector(x.ty().lanes()))?;
    e.b.float_resize(brain, to)
}

/// OpBitcast among numbers, among pointers, and between the two.
fn bitcast(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<Handled> {
    let b = e.b;
    let operand = inst.id(0)?;
    let (from, to) = (e.type_of(operand)?, e.result_type(inst)?);
    let from_pointer = matches!(e.kind(from)?, Kind::Pointer { .. });
    let target = match e.kind(to)? {
        Kind::Pointer { class, pointee } => Some((*class, *pointee)),
        _ => None,
    };
    match target {
        Some((class, pointee)) => {
            let (address, align) = if from_pointer {
                let pointer = e.pointer(operand)?;
                (pointer.address, pointer.align)
            } else {
                let word = b.int_type(64);
                let bits = b.bitcast(e.value(operand)?, word)?;
                (b.cast(Opcode::LLVMIntToPtr, bits, e.ty(to)?)?, 1)
            };
            // The new pointee's alignment is no promise: front ends whose own pointers have no
            // pointee cast to vectors, and say at each access how far it is aligned.
            e.bind_pointer(
                inst,
                Pointer {
                    address,
                    pointee,
                    class,
                    align,
                    matrix: None,
                    qualifiers: Default::default(),
                },
            )?;
        }
        None if from_pointer => {
            let bits = b.cast(Opcode::LLVMPtrToInt, e.value(operand)?, b.int_type(64))?;
            e.bind(inst, b.bitcast(bits, e.ty(to)?)?)?;
        }
        None => {
            let x = source(e, inst)?;
            let value = match (narrow(e, from)?, narrow(e, to)?) {
                (None, None) => b.bitcast(x, e.ty(to)?)?,
                (from, into) => repacked(e, x, from, e.ty(to)?, into)?,
            };
            e.bind(inst, value)?;
        }
    }
    Ok(Handled::Yes)
}

/// The width of the numbers of `ty` where they have less than the 8 bits that hold each of them.
fn narrow(e: &FunctionEmitter<'_, '_, '_>, ty: Id) -> Result<Option<u32>> {
    Ok(match e.kind(ty)? {
        Kind::ScalarOrVector(shape) if SmallFloat::from_scalar(shape.scalar).is_some() => {
            Some(shape.scalar.bits()).filter(|bits| *bits < 8)
        }
        _ => None,
    })
}

/// Bits as another type, where numbers of less than 8 bits follow each other without gaps on one
/// side or on both: the widths of those, if they are such.
fn repacked<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    x: Value<'c>,
    from: Option<u32>,
    to: Ty<'c>,
    into: Option<u32>,
) -> Result<Value<'c>> {
    let b = e.b;
    let total = x.ty().lanes() * from.unwrap_or(x.ty().scalar_bits());
    if total != to.lanes() * into.unwrap_or(to.scalar_bits()) {
        return Err(b.mismatch("a bitcast to another number of bits"));
    }
    let word = b.int_type(total);
    let bits = match from {
        None => b.bitcast(x, word)?,
        Some(width) => {
            let mut bits = word.zero();
            for lane in 0..x.ty().lanes() {
                let part = b.int_resize(b.lane(x, lane)?, word, false)?;
                bits = b.or(bits, b.shl(part, b.int(word, u64::from(lane * width))?)?)?;
            }
            bits
        }
    };
    let Some(width) = into else {
        return b.bitcast(bits, to);
    };
    let mut lanes = Vec::new();
    for lane in 0..to.lanes() {
        let down = b.lshr(bits, b.int(word, u64::from(lane * width))?)?;
        lanes.push(masked(e, down, width)?);
    }
    b.vector(&lanes)
}

/// The lowest `width` bits of an integer, in 8.
fn masked<'c>(e: &FunctionEmitter<'_, 'c, '_>, x: Value<'c>, width: u32) -> Result<Value<'c>> {
    let byte = e.b.int_type(8).vector(x.ty().lanes());
    let low = e.b.int_resize(x, byte, false)?;
    e.b.and(low, e.b.int(byte, (1 << width) - 1)?)
}

/// Lowers OpBitcastExtractEXT: bits of each component, from an offset on, as another type.
pub(crate) fn bitcast_extract(
    e: &mut FunctionEmitter<'_, '_, '_>,
    inst: Inst<'_>,
) -> Result<Handled> {
    let b = e.b;
    let base = e.operand(inst, 0)?;
    let (lanes, ty) = (base.ty().lanes(), e.result_type(inst)?);
    let to = e.ty(ty)?;
    if narrow(e, e.type_of(inst.id(0)?)?)?.is_some() || lanes != to.lanes() {
        return Err(e.mismatch(inst, "the elements of its base are not those of its result"));
    }
    let own = b.int_type(base.ty().scalar_bits()).vector(lanes);
    let bits = b.bitcast(base, own)?;
    let offset = b.int_resize(e.operand(inst, 1)?, own.element_if_vector(), false)?;
    let down = b.lshr(bits, b.splat(offset, lanes)?)?;
    let value = match narrow(e, ty)? {
        Some(width) => masked(e, down, width)?,
        None => {
            let part = b.int_type(to.scalar_bits()).vector(lanes);
            b.bitcast(b.int_resize(down, part, false)?, to)?
        }
    };
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}
