//! The 8-bit floats of OCP (SPV_EXT_float8): values are their bits, `i8`, and everything is
//! computed in 32 bits, which hold every one of them.
//!
//! Source of the formats: "FP8 Formats for Deep Learning" (arXiv 2209.05433). E5M2 is the upper
//! half of a binary16; E4M3 has no infinity, one pattern that is NaN, and bias 7.

use super::Result;
use super::build::Build;
use super::function::FunctionEmitter;
use super::types::{Kind, Scalar};
use crate::ffi::{IntPredicate, RealPredicate, Ty, Value};
use splitbar_passes::module::{FloatFormat, Id};

/// A format of 8 bits.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Float8 {
    E4M3,
    E5M2,
}

impl Float8 {
    /// The format of numbers of this type, if it has 8 bits.
    pub(crate) fn of(scalar: Scalar) -> Option<Float8> {
        match scalar {
            Scalar::Float { format, .. } => match format {
                FloatFormat::Float8E4M3 => Some(Float8::E4M3),
                FloatFormat::Float8E5M2 => Some(Float8::E5M2),
                FloatFormat::Ieee | FloatFormat::BFloat16 => None,
            },
            Scalar::Bool | Scalar::Int { .. } => None,
        }
    }

    /// Bits of the significand that are written down.
    fn mantissa(self) -> u32 {
        match self {
            Float8::E4M3 => 3,
            Float8::E5M2 => 2,
        }
    }

    /// The exponent of the least normal number.
    fn least_exponent(self) -> i32 {
        match self {
            Float8::E4M3 => -6,
            Float8::E5M2 => -14,
        }
    }

    /// The bits of the greatest finite number, of what a greater one becomes, and of NaN.
    fn limits(self) -> [u64; 3] {
        match self {
            Float8::E4M3 => [0x7e, 0x7f, 0x7f],
            Float8::E5M2 => [0x7b, 0x7c, 0x7f],
        }
    }
}

impl FunctionEmitter<'_, '_, '_> {
    /// The format of the numbers that a value of type `ty` is made of, if they have 8 bits.
    pub(super) fn float8(&self, ty: Id) -> Result<Option<Float8>> {
        Ok(match self.kind(ty)? {
            Kind::Plain(shape) => Float8::of(shape.scalar),
            Kind::Cooperative(matrix) => Float8::of(matrix.component),
            _ => None,
        })
    }
}

/// The numbers as `float`: exact.
pub(crate) fn decode<'c>(b: &Build<'c>, format: Float8, x: Value<'c>) -> Result<Value<'c>> {
    let lanes = x.ty().lanes();
    let float = b.float_type(32).vector(lanes);
    match format {
        Float8::E5M2 => {
            let (bits, half) = (b.int_type(16), b.float_type(16).vector(lanes));
            let bits = bits.vector(lanes);
            let wide = b.shl(b.int_resize(x, bits, false)?, b.int(bits, 8)?)?;
            b.float_resize(b.bitcast(wide, half)?, float)
        }
        Float8::E4M3 => {
            // As a float, whose exponent has the bias 127, the number is 2^-120 of itself.
            let bits = b.int_type(32).vector(lanes);
            let wide = b.int_resize(x, bits, false)?;
            let sign = b.shl(b.and(wide, b.int(bits, 0x80)?)?, b.int(bits, 24)?)?;
            let magnitude = b.and(wide, b.int(bits, 0x7f)?)?;
            let scaled = b.or(b.shl(magnitude, b.int(bits, 20)?)?, sign)?;
            let scaled = b.bitcast(scaled, float)?;
            let scale = b.float(float, 2f64.powi(120))?;
            let number = exactly(b, || b.fmul(scaled, scale))?;
            let is_nan = b.icmp(IntPredicate::LLVMIntEQ, magnitude, b.int(bits, 0x7f)?)?;
            b.select(is_nan, b.float(float, f64::NAN)?, number)
        }
    }
}

/// The nearest numbers of the format, of two the even one. What is too large becomes the greatest
/// finite number if `saturated`, else infinity, or NaN where there is none.
pub(crate) fn encode<'c>(
    b: &Build<'c>,
    format: Float8,
    x: Value<'c>,
    saturated: bool,
) -> Result<Value<'c>> {
    let x = narrowed(b, x)?;
    let lanes = x.ty().lanes();
    let (float, int) = (x.ty(), b.int_type(32).vector(lanes));
    let dropped = 23 - format.mantissa();
    let bits = b.bitcast(x, int)?;
    let sign = b.and(b.lshr(bits, b.int(int, 24)?)?, b.int(int, 0x80)?)?;
    let magnitude = b.and(bits, b.int(int, 0x7fff_ffff)?)?;

    // Normal numbers: half of the last unit, less one if the number before it is even, carries into
    // it.
    let odd = b.and(
        b.lshr(magnitude, b.int(int, dropped.into())?)?,
        b.int(int, 1)?,
    )?;
    let carry = b.add(odd, b.int(int, (1 << (dropped - 1)) - 1)?)?;
    let rounded = b.lshr(b.add(magnitude, carry)?, b.int(int, dropped.into())?)?;
    let bias = (126 + format.least_exponent()) as u64;
    let normal = b.sub(rounded, b.int(int, bias << format.mantissa())?)?;

    // Subnormal ones: the sum with a number whose last unit is theirs is rounded to it.
    let unit = format.least_exponent() - format.mantissa() as i32;
    let large = b.float(float, 2f64.powi(unit + 23))?;
    let positive = b.bitcast(magnitude, float)?;
    let sum = exactly(b, || b.fadd(positive, large))?;
    let subnormal = b.sub(b.bitcast(sum, int)?, b.bitcast(large, int)?)?;

    let least = b.int(int, u64::from(2f32.powi(format.least_exponent()).to_bits()))?;
    let is_normal = b.icmp(IntPredicate::LLVMIntUGE, magnitude, least)?;
    let code = b.select(is_normal, normal, subnormal)?;
    let [greatest, beyond, nan] = format.limits();
    let beyond = if saturated { greatest } else { beyond };
    let is_beyond = b.icmp(IntPredicate::LLVMIntUGT, code, b.int(int, greatest)?)?;
    let code = b.select(is_beyond, b.int(int, beyond)?, code)?;
    let infinity = b.int(int, f32::INFINITY.to_bits().into())?;
    let is_nan = b.icmp(IntPredicate::LLVMIntUGT, magnitude, infinity)?;
    let code = b.select(is_nan, b.int(int, nan)?, code)?;
    b.int_resize(b.or(code, sign)?, b.int_type(8).vector(lanes), false)
}

/// What `write` writes, without fast-math flags: the sums and products here are exact, or rounded
/// as they stand.
fn exactly<'c>(b: &Build<'c>, write: impl FnOnce() -> Result<Value<'c>>) -> Result<Value<'c>> {
    let before = b.fast_math.replace(0);
    let value = write();
    b.fast_math.set(before);
    value
}

/// As `float`. A `double` is rounded to odd: then the second rounding gives what one alone would
/// have given.
fn narrowed<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
    let lanes = x.ty().lanes();
    let float: Ty<'c> = b.float_type(32).vector(lanes);
    if x.ty().scalar_bits() < 64 {
        return b.float_resize(x, float);
    }
    let int = b.int_type(32).vector(lanes);
    let nearest = b.float_resize(x, float)?;
    let back = b.float_resize(nearest, x.ty())?;
    let inexact = b.fcmp(RealPredicate::LLVMRealONE, back, x)?;
    let magnitude = |value| super::compare::magnitude(b, value);
    let too_large = b.fcmp(RealPredicate::LLVMRealOGT, magnitude(back)?, magnitude(x)?)?;
    let bits = b.bitcast(nearest, int)?;
    let cut = b.sub(bits, b.int_resize(too_large, int, false)?)?;
    b.bitcast(b.or(cut, b.int_resize(inexact, int, false)?)?, float)
}
