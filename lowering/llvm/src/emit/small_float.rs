//! The floats of at most 8 bits: of OCP's 8-bit formats (SPV_EXT_float8), and of its microscaling
//! formats (SPV_EXT_ocp_microscaling_types). Values are their bits in an `i8`, the upper ones of
//! narrower formats 0, and everything is computed in 32 bits, which hold every one of them.
//!
//! Sources of the formats: "FP8 Formats for Deep Learning" (arXiv 2209.05433), and "OCP
//! Microscaling Formats (MX) Specification" 1.0, section 5.3. E5M2 is the upper half of a binary16;
//! E4M3 has no infinity, one pattern that is NaN, and bias 7. E2M3, E3M2 and E2M1 have neither
//! infinity nor NaN: what is too large becomes the greatest number, and so does a NaN, whose
//! conversion nobody defines. E8M0 is a power of two or NaN, without a sign and without zero;
//! MXINT8 a multiple of 1/64.
//!
//! Where a target has instructions for the first two, [`super::float8`] takes them.

use super::Result;
use super::build::Build;
use super::float8::{self, Format};
use super::function::FunctionEmitter;
use super::types::{Kind, Scalar};
use crate::ffi::{IntPredicate, Opcode, RealPredicate, Ty, Value};
use splitbar_passes::module::{FloatFormat, Id};

/// A format of at most 8 bits.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum SmallFloat {
    E4M3,
    E5M2,
    E2M3,
    E3M2,
    E2M1,
    E8M0,
    MxInt8,
}

impl SmallFloat {
    /// The format of numbers of this type, if it is one of these.
    pub(crate) fn from_scalar(scalar: Scalar) -> Option<SmallFloat> {
        match scalar {
            Scalar::Float { format, .. } => match format {
                FloatFormat::Float8E4M3 => Some(SmallFloat::E4M3),
                FloatFormat::Float8E5M2 => Some(SmallFloat::E5M2),
                FloatFormat::Float6E2M3 => Some(SmallFloat::E2M3),
                FloatFormat::Float6E3M2 => Some(SmallFloat::E3M2),
                FloatFormat::Float4E2M1 => Some(SmallFloat::E2M1),
                FloatFormat::Float8E8M0 => Some(SmallFloat::E8M0),
                FloatFormat::MxInt8 => Some(SmallFloat::MxInt8),
                FloatFormat::Ieee | FloatFormat::BFloat16 => None,
            },
            Scalar::Bool | Scalar::Int { .. } => None,
        }
    }

    /// The same of OCP's 8-bit formats, which GPUs convert.
    fn ocp(self) -> Option<&'static Format> {
        match self {
            SmallFloat::E4M3 => Some(&float8::E4M3),
            SmallFloat::E5M2 => Some(&float8::E5M2),
            SmallFloat::E2M3
            | SmallFloat::E3M2
            | SmallFloat::E2M1
            | SmallFloat::E8M0
            | SmallFloat::MxInt8 => None,
        }
    }

    /// Bits of the significand that are written down, of formats with a sign and an exponent.
    fn mantissa(self) -> u32 {
        match self {
            SmallFloat::E4M3 | SmallFloat::E2M3 => 3,
            SmallFloat::E5M2 | SmallFloat::E3M2 => 2,
            SmallFloat::E2M1 => 1,
            SmallFloat::E8M0 | SmallFloat::MxInt8 => 0,
        }
    }

    /// The exponent of the least normal number.
    fn least_exponent(self) -> i32 {
        match self {
            SmallFloat::E4M3 => -6,
            SmallFloat::E5M2 => -14,
            SmallFloat::E3M2 => -2,
            SmallFloat::E2M3 | SmallFloat::E2M1 => 0,
            SmallFloat::E8M0 | SmallFloat::MxInt8 => -127,
        }
    }

    /// The place of the sign.
    fn sign(self) -> u64 {
        match self {
            SmallFloat::E2M3 | SmallFloat::E3M2 => 5,
            SmallFloat::E2M1 => 3,
            SmallFloat::E4M3 | SmallFloat::E5M2 | SmallFloat::E8M0 | SmallFloat::MxInt8 => 7,
        }
    }

    /// The bits of the greatest finite number, of what a greater one becomes, and of NaN.
    fn limits(self) -> [u64; 3] {
        match self {
            SmallFloat::E4M3 => [0x7e, 0x7f, 0x7f],
            SmallFloat::E5M2 => [0x7b, 0x7c, 0x7f],
            SmallFloat::E2M3 | SmallFloat::E3M2 => [0x1f; 3],
            SmallFloat::E2M1 => [0x7; 3],
            SmallFloat::E8M0 | SmallFloat::MxInt8 => [0xff; 3],
        }
    }
}

impl FunctionEmitter<'_, '_, '_> {
    /// The format of the numbers that a value of type `ty` is made of, if they have at most 8 bits.
    pub(super) fn small_float(&self, ty: Id) -> Result<Option<SmallFloat>> {
        Ok(match self.kind(ty)? {
            Kind::ScalarOrVector(shape) => SmallFloat::from_scalar(shape.scalar),
            Kind::Cooperative(matrix) => SmallFloat::from_scalar(matrix.component),
            _ => None,
        })
    }
}

/// The numbers as `float`: exact.
pub(crate) fn decode<'c>(b: &Build<'c>, format: SmallFloat, x: Value<'c>) -> Result<Value<'c>> {
    let lanes = x.ty().lanes();
    let float = b.float_type(32).vector(lanes);
    let word = b.int_type(32).vector(lanes);
    if let Some(ocp) = format.ocp()
        && let Some(numbers) = float8::decode(b, ocp, x)?
    {
        return Ok(numbers);
    }
    match format {
        SmallFloat::E5M2 => {
            let (bits, half) = (b.int_type(16), b.float_type(16).vector(lanes));
            let bits = bits.vector(lanes);
            let wide = b.shl(b.int_resize(x, bits, false)?, b.int(bits, 8)?)?;
            b.float_resize(b.bitcast(wide, half)?, float)
        }
        SmallFloat::MxInt8 => {
            let number = b.cast(Opcode::LLVMSIToFP, x, float)?;
            b.exactly(|| b.fmul(number, b.float(float, 1.0 / 64.0)?))
        }
        SmallFloat::E8M0 => {
            let wide = b.int_resize(x, word, false)?;
            // The exponent of a float; of the least number, which is subnormal, half of the next.
            let exponent = b.shl(wide, b.int(word, 23)?)?;
            let none = b.icmp(IntPredicate::LLVMIntEQ, wide, word.zero())?;
            let bits = b.select(none, b.int(word, 1 << 22)?, exponent)?;
            let is_nan = b.icmp(IntPredicate::LLVMIntEQ, wide, b.int(word, 0xff)?)?;
            let bits = b.select(is_nan, b.int(word, 0x7fc0_0000)?, bits)?;
            b.bitcast(bits, float)
        }
        SmallFloat::E4M3 | SmallFloat::E2M3 | SmallFloat::E3M2 | SmallFloat::E2M1 => {
            // As a float, whose exponent has the bias 127, the number is 2^(bias - 127) of itself.
            let wide = b.int_resize(x, word, false)?;
            let sign = b.and(wide, b.int(word, 1 << format.sign())?)?;
            let sign = b.shl(sign, b.int(word, 31 - format.sign())?)?;
            let all = (1u64 << format.sign()) - 1;
            let magnitude = b.and(wide, b.int(word, all)?)?;
            let up = u64::from(23 - format.mantissa());
            let scaled = b.or(b.shl(magnitude, b.int(word, up)?)?, sign)?;
            let scaled = b.bitcast(scaled, float)?;
            let scale = b.float(float, 2f64.powi(126 + format.least_exponent()))?;
            let number = b.exactly(|| b.fmul(scaled, scale))?;
            if format != SmallFloat::E4M3 {
                return Ok(number);
            }
            let is_nan = b.icmp(IntPredicate::LLVMIntEQ, magnitude, b.int(word, all)?)?;
            b.select(is_nan, b.float(float, f64::NAN)?, number)
        }
    }
}

/// The nearest power of two, of two the one with the even exponent; NaN for what is not positive or
/// too large, the least one for zero.
fn encode_power<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
    let lanes = x.ty().lanes();
    let (float, word) = (x.ty(), b.int_type(32).vector(lanes));
    let bits = b.bitcast(x, word)?;
    let odd = b.and(b.lshr(bits, b.int(word, 23)?)?, b.int(word, 1)?)?;
    let half = b.add(odd, b.int(word, (1 << 22) - 1)?)?;
    let code = b.lshr(b.add(bits, half)?, b.int(word, 23)?)?;
    // The field of subnormal floats is 0, half of what follows them is 2^-127: up to 2^-127 * 1.5
    // the least power is the nearest one.
    let small = b.float(float, 1.5 * 2f64.powi(-127))?;
    let is_small = b.fcmp(RealPredicate::LLVMRealOLE, x, small)?;
    let code = b.select(is_small, word.zero(), code)?;
    let least = b.float(float, 2f64.powi(-126))?;
    let is_least = b.fcmp(RealPredicate::LLVMRealOLT, x, least)?;
    let between = b.and(is_least, b.not(is_small)?)?;
    let code = b.select(between, b.int(word, 1)?, code)?;
    let good = b.fcmp(RealPredicate::LLVMRealOGE, x, b.float(float, 0.0)?)?;
    let code = b.select(good, code, b.int(word, 0xff)?)?;
    b.int_resize(code, b.int_type(8).vector(lanes), false)
}

/// The nearest multiple of 1/64, of two the even one; the ends of the range for what lies beyond,
/// and 0 for NaN.
fn encode_fixed<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
    let scaled = b.exactly(|| b.fmul(x, b.float(x.ty(), 64.0)?))?;
    let nearest = b.intrinsic("llvm.roundeven", &[x.ty()], &[scaled])?;
    let to = b.int_type(8).vector(x.ty().lanes());
    super::casts::saturating_to_int(b, nearest, to, true)
}

/// The nearest numbers of the format, of two the even one. What is too large becomes the greatest
/// finite number if `saturated`, else infinity, or NaN where there is none.
pub(crate) fn encode<'c>(
    b: &Build<'c>,
    format: SmallFloat,
    x: Value<'c>,
    saturated: bool,
) -> Result<Value<'c>> {
    let halves = x.ty().element_if_vector() == b.float_type(16);
    let x = if halves { x } else { narrowed(b, x)? };
    if let Some(ocp) = format.ocp()
        && let Some(codes) = float8::encode(b, ocp, x, saturated)?
    {
        return Ok(codes);
    }
    let x = narrowed(b, x)?;
    match format {
        SmallFloat::E8M0 => return encode_power(b, x),
        SmallFloat::MxInt8 => return encode_fixed(b, x),
        _ => {} // of the others, all of which have a sign and an exponent
    }
    let lanes = x.ty().lanes();
    let (float, int) = (x.ty(), b.int_type(32).vector(lanes));
    let dropped = 23 - format.mantissa();
    let bits = b.bitcast(x, int)?;
    let sign = b.lshr(bits, b.int(int, 31 - format.sign())?)?;
    let sign = b.and(sign, b.int(int, 1 << format.sign())?)?;
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
    let sum = b.exactly(|| b.fadd(positive, large))?;
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
