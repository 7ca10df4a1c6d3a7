//! Conversions (SPIR-V 1.6, section 3.52.11).
//!
//! Floating-point to integer truncates toward zero unless FPRoundingMode says otherwise; a value
//! that does not fit is undefined in SPIR-V and poison here, or clamped (NaN to 0) under
//! SaturatedConversion. Integer to floating-point and floating-point to narrower floating-point
//! round to nearest even; the other rounding modes are exact: of a float the neighbour is chosen by
//! comparing the result with the operand, of an integer by cutting its bits.

use super::build::Build;
use super::compare::magnitude;
use super::float8::{self, Float8};
use super::function::{FunctionEmitter, Pointer};
use super::types::Kind;
use super::{Handled, Result, matrix};
use crate::ffi::{IntPredicate, Opcode, RealPredicate, Ty, Value};
use spirv::{Decoration, FPRoundingMode, Op};
use splitbar_passes::module::Inst;

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
            match result_float8(e, inst)? {
                Some(format) => to_float8(e, inst, format, number(e, inst)?)?,
                None => float_to_float(e.b, number(e, inst)?, to, rounding(e, inst))?,
            }
        }
        Op::QuantizeToF16 => quantize(e.b, e.operand(inst, 0)?)?,
        Op::ConvertFToBF16INTEL => to_bfloat_bits(e, inst)?,
        Op::ConvertBF16ToFINTEL => from_bfloat_bits(e, inst)?,
        Op::Bitcast => return bitcast(e, inst),
        _ => return Ok(Handled::No),
    };
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}

/// What is converted. The elements of a cooperative matrix go to where the result has them.
fn source<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    matrix::as_result(e, inst, e.operand(inst, 0)?)
}

/// The same, of a floating-point number: those of 8 bits in 32.
fn number<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let value = source(e, inst)?;
    match e.float8(e.type_of(inst.id(0)?)?)? {
        Some(format) => float8::decode(e.b, format, value),
        None => Ok(value),
    }
}

/// The format of the result, if its numbers are floats of 8 bits.
fn result_float8(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<Option<Float8>> {
    e.float8(e.result_type(inst)?)
}

/// To floats of 8 bits, rounded to the nearest.
fn to_float8<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    format: Float8,
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
    float8::encode(e.b, format, x, saturated)
}

/// The FPRoundingMode decoration of the result.
fn rounding(e: &FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Option<FPRoundingMode> {
    FPRoundingMode::from_u32(e.decoration(inst, Decoration::FPRoundingMode)?)
}

fn resize<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>, signed: bool) -> Result<Value<'c>> {
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

/// To an integer of another width or signedness, clamped to what the result can hold.
pub(crate) fn clamp_resize<'c>(
    b: &Build<'c>,
    x: Value<'c>,
    to: Ty<'c>,
    from_signed: bool,
    to_signed: bool,
) -> Result<Value<'c>> {
    let from = x.ty();
    let (f, t) = (from.scalar_bits(), to.scalar_bits());
    let largest = if to_signed {
        (1u64 << (t - 1)) - 1
    } else {
        u64::MAX >> (64 - t)
    };
    let largest_from = if from_signed {
        (1u64 << (f - 1)) - 1
    } else {
        u64::MAX >> (64 - f)
    };
    let mut x = x;
    if from_signed {
        let smallest = if to_signed { -(1i128 << (t - 1)) } else { 0 };
        if smallest > -(1i128 << (f - 1)) {
            x = b.intrinsic("llvm.smax", &[from], &[x, b.int(from, smallest as u64)?])?;
        }
    }
    if largest < largest_from {
        x = b.intrinsic(
            if from_signed {
                "llvm.smin"
            } else {
                "llvm.umin"
            },
            &[from],
            &[x, b.int(from, largest)?],
        )?;
    }
    b.int_resize(x, to, from_signed)
}

fn float_to_int<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
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

/// Clamped to the integer type; NaN gives 0.
///
/// LLVM 23 selects the saturating intrinsic wrongly on AMDGPU where a type is narrow: an infinite
/// half becomes the limit of 32 bits in a result of 64, and the lower limit of a 16-bit result
/// loses its sign. So the operand is a `float` at least, and the result has 32 bits at least before
/// it is clamped again.
pub(crate) fn saturating_to_int<'c>(
    b: &Build<'c>,
    x: Value<'c>,
    to: Ty<'c>,
    signed: bool,
) -> Result<Value<'c>> {
    let x = if x.ty().scalar_bits() < 32 {
        b.float_resize(x, b.float_type(32).vector(x.ty().lanes()))?
    } else {
        x
    };
    let wide = b.int_type(to.scalar_bits().max(32)).vector(to.lanes());
    let name = if signed {
        "llvm.fptosi.sat"
    } else {
        "llvm.fptoui.sat"
    };
    let value = b.intrinsic(name, &[wide, x.ty()], &[x])?;
    if wide == to {
        return Ok(value);
    }
    clamp_resize(b, value, to, signed, signed)
}

fn int_to_float<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    signed: bool,
) -> Result<Value<'c>> {
    let (x, to) = (source(e, inst)?, e.result_ty(inst)?);
    let cast = if signed {
        Opcode::LLVMSIToFP
    } else {
        Opcode::LLVMUIToFP
    };
    if let Some(format) = result_float8(e, inst)? {
        // Whatever a double does not hold of an integer lies far beyond the format.
        let double = e.b.float_type(64).vector(x.ty().lanes());
        return to_float8(e, inst, format, e.b.cast(cast, x, double)?);
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

/// From an integer that has more bits than the significand, rounded toward zero or to one side.
///
/// The magnitude is cut to as many bits as the significand has, which converts exactly; the next
/// magnitude is the next number of the same bits.
fn directed<'c>(
    b: &Build<'c>,
    x: Value<'c>,
    to: Ty<'c>,
    signed: bool,
    mode: FPRoundingMode,
) -> Result<Value<'c>> {
    let ty = x.ty();
    let negative = if signed {
        b.icmp(IntPredicate::LLVMIntSLT, x, ty.zero())?
    } else {
        b.int_type(1).vector(ty.lanes()).zero()
    };
    let magnitude = b.select(negative, b.neg(x)?, x)?;
    // A 16-bit float ends below the largest integers: what lies beyond stays beyond its largest
    // number.
    let significand = significand_bits(b, to);
    let (kept, beyond) = if to.scalar_bits() == 16 && significand == 11 {
        let largest = b.int(ty, 65504)?;
        let beyond = b.icmp(IntPredicate::LLVMIntUGT, magnitude, largest)?;
        (b.select(beyond, largest, magnitude)?, beyond)
    } else {
        (magnitude, b.int_type(1).vector(ty.lanes()).zero())
    };
    let no = b.bool(false);
    let leading = b.intrinsic("llvm.ctlz", &[ty], &[kept, no])?;
    let width = b.int(ty, u64::from(ty.scalar_bits() - significand))?;
    let dropped = b.intrinsic("llvm.usub.sat", &[ty], &[width, leading])?;
    let cut = b.shl(b.lshr(kept, dropped)?, dropped)?;
    let inexact = b.or(b.icmp(IntPredicate::LLVMIntNE, cut, magnitude)?, beyond)?;
    let away = match mode {
        FPRoundingMode::RTP => b.and(inexact, b.not(negative)?)?,
        FPRoundingMode::RTN => b.and(inexact, negative)?,
        FPRoundingMode::RTE | FPRoundingMode::RTZ => b.int_type(1).vector(ty.lanes()).zero(),
    };
    let bits = b.int_type(to.scalar_bits()).vector(to.lanes());
    let float = b.bitcast(b.cast(Opcode::LLVMUIToFP, cut, to)?, bits)?;
    let stepped = b.select(away, b.add(float, b.int(bits, 1)?)?, float)?;
    let sign = b.int(bits, 1 << (to.scalar_bits() - 1))?;
    b.bitcast(b.select(negative, b.or(stepped, sign)?, stepped)?, to)
}

/// Bits of the significand, the hidden one included.
fn significand_bits<'c>(b: &Build<'c>, ty: Ty<'c>) -> u32 {
    match (ty.element_if_vector() == b.bfloat_type(), ty.scalar_bits()) {
        (true, _) => 8,
        (false, 16) => 11,
        (false, 32) => 24,
        (false, _) => 53,
    }
}

/// Between floating-point types of any width and format.
pub(crate) fn float_to_float<'c>(
    b: &Build<'c>,
    x: Value<'c>,
    to: Ty<'c>,
    mode: Option<FPRoundingMode>,
) -> Result<Value<'c>> {
    let from = x.ty();
    if from == to {
        return Ok(x);
    }
    if from.scalar_bits() == 16 && to.scalar_bits() == 16 {
        // half and bfloat: float holds both exactly, so this rounds once.
        let wide = b.float_resize(x, b.float_type(32).vector(from.lanes()))?;
        return float_to_float(b, wide, to, mode);
    }
    let nearest = b.float_resize(x, to)?;
    let mode = match mode {
        None | Some(FPRoundingMode::RTE) => return Ok(nearest),
        Some(_) if to.scalar_bits() > from.scalar_bits() => return Ok(nearest),
        Some(mode) => mode,
    };
    // The nearest value is the one asked for, or its neighbour on the other side of x. Stepping the
    // bits steps the magnitude, across infinity too.
    let back = b.float_resize(nearest, from)?;
    let bits = b.int_type(to.scalar_bits()).vector(to.lanes());
    let nearest_bits = b.bitcast(nearest, bits)?;
    let one = b.int(bits, 1)?;
    let (larger, smaller) = (b.add(nearest_bits, one)?, b.sub(nearest_bits, one)?);
    let negative = b.icmp(IntPredicate::LLVMIntSLT, nearest_bits, bits.zero())?;
    let sign = b.int(bits, 1 << (to.scalar_bits() - 1))?;
    let is_zero = b.icmp(
        IntPredicate::LLVMIntEQ,
        b.and(nearest_bits, b.not(sign)?)?,
        bits.zero(),
    )?;
    let stepped = match mode {
        FPRoundingMode::RTE => nearest_bits,
        FPRoundingMode::RTZ => {
            let too_large = b.fcmp(
                RealPredicate::LLVMRealOGT,
                magnitude(b, back)?,
                magnitude(b, x)?,
            )?;
            b.select(too_large, smaller, nearest_bits)?
        }
        FPRoundingMode::RTP => {
            let too_small = b.fcmp(RealPredicate::LLVMRealOLT, back, x)?;
            let up = b.select(is_zero, one, b.select(negative, smaller, larger)?)?;
            b.select(too_small, up, nearest_bits)?
        }
        FPRoundingMode::RTN => {
            let too_large = b.fcmp(RealPredicate::LLVMRealOGT, back, x)?;
            let down = b.select(
                is_zero,
                b.or(sign, one)?,
                b.select(negative, larger, smaller)?,
            )?;
            b.select(too_large, down, nearest_bits)?
        }
    };
    b.bitcast(stepped, to)
}

/// OpQuantizeToF16: what a half can hold of a float. Halves that are subnormal become zero of the
/// same sign, as Vulkan allows and DirectX asks for.
fn quantize<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
    let ty = x.ty();
    let half = b.float_type(16).vector(ty.lanes());
    let rounded = b.float_resize(b.float_resize(x, half)?, ty)?;
    let tiny = b.fcmp(
        RealPredicate::LLVMRealOLT,
        magnitude(b, rounded)?,
        b.float(ty, 2f64.powi(-14))?,
    )?;
    let zero = b.intrinsic("llvm.copysign", &[ty], &[b.float(ty, 0.0)?, x])?;
    b.select(tiny, zero, rounded)
}

/// OpConvertFToBF16INTEL: the bfloat as a 16-bit integer.
fn to_bfloat_bits<'c>(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>) -> Result<Value<'c>> {
    let (x, to) = (e.operand(inst, 0)?, e.result_ty(inst)?);
    let brain =
        e.b.float_resize(x, e.b.bfloat_type().vector(x.ty().lanes()))?;
    e.b.bitcast(brain, to)
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
            let value = b.bitcast(source(e, inst)?, e.ty(to)?)?;
            e.bind(inst, value)?;
        }
    }
    Ok(Handled::Yes)
}
