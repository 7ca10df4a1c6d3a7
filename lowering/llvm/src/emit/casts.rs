//! Numbers of one type as numbers of another: clamped, and rounded in every mode.
//!
//! Rounding other than to nearest even is exact: of a float the neighbour is chosen by comparing
//! the result with the operand, of an integer by cutting its bits.

use super::Result;
use super::build::Build;
use super::compare::magnitude;
use crate::ffi::{IntPredicate, Opcode, RealPredicate, Ty, Value};
use spirv::FPRoundingMode;

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

/// From an integer that has more bits than the significand, rounded toward zero or to one side.
///
/// The magnitude is cut to as many bits as the significand has, which converts exactly; the next
/// magnitude is the next number of the same bits.
pub(crate) fn directed<'c>(
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
pub(crate) fn significand_bits<'c>(b: &Build<'c>, ty: Ty<'c>) -> u32 {
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
pub(crate) fn quantize<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
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
