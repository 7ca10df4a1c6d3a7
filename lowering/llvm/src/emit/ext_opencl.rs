//! OpenCL.std (version 1.00). The full profile's precision (see [`super::math`]), except for
//! `native_` and `half_`, which take what the hardware gives.

use super::EXT_ARGS;
use super::build::Build;
use super::function::FunctionEmitter;
use super::math::{self, Binary, Precision, Unary};
use super::numeric::{self, call1, call2, call3};
use super::{Handled, Result, ext_opencl_integer, ext_opencl_memory, ext_opencl_printf};
use crate::ffi::{IntPredicate, Opcode, RealPredicate, Value};
use spirv::OpenclStd100Op as Cl;
use splitbar_passes::module::Inst;

/// Lowers the extended instruction `number`.
pub(crate) fn emit(
    e: &mut FunctionEmitter<'_, '_, '_>,
    inst: Inst<'_>,
    number: u32,
) -> Result<Handled> {
    let Some(op) = Cl::from_u32(number) else {
        return Ok(Handled::No);
    };
    if op == Cl::printf {
        return ext_opencl_printf::emit(e, inst);
    }
    if let Handled::Yes = ext_opencl_memory::emit(e, op, inst)? {
        return Ok(Handled::Yes);
    }
    let args = e.operands(inst, EXT_ARGS)?;
    let value = match args.as_slice() {
        [x] => one(e, op, inst, *x)?,
        [x, y] => two(e, op, *x, *y)?,
        [x, y, z] => three(e, op, *x, *y, *z)?,
        _ => None,
    };
    let value = match value {
        Some(value) => Some(value),
        None => ext_opencl_integer::emit(e, op, inst, &args)?,
    };
    let Some(value) = value else {
        return Ok(Handled::No);
    };
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}

/// The function of one argument that the library or the hardware computes, and how well.
fn elementary(op: Cl) -> Option<(Unary, Precision)> {
    use Precision::{Exact, Fast};
    Some(match op {
        Cl::acos => (Unary::Acos, Exact),
        Cl::acosh => (Unary::Acosh, Exact),
        Cl::asin => (Unary::Asin, Exact),
        Cl::asinh => (Unary::Asinh, Exact),
        Cl::atan => (Unary::Atan, Exact),
        Cl::atanh => (Unary::Atanh, Exact),
        Cl::cbrt => (Unary::Cbrt, Exact),
        Cl::cos => (Unary::Cos, Exact),
        Cl::cosh => (Unary::Cosh, Exact),
        Cl::erf => (Unary::Erf, Exact),
        Cl::erfc => (Unary::Erfc, Exact),
        Cl::exp => (Unary::Exp, Exact),
        Cl::exp2 => (Unary::Exp2, Exact),
        Cl::exp10 => (Unary::Exp10, Exact),
        Cl::expm1 => (Unary::Expm1, Exact),
        Cl::lgamma => (Unary::Lgamma, Exact),
        Cl::log => (Unary::Log, Exact),
        Cl::log2 => (Unary::Log2, Exact),
        Cl::log10 => (Unary::Log10, Exact),
        Cl::log1p => (Unary::Log1p, Exact),
        Cl::sin => (Unary::Sin, Exact),
        Cl::sinh => (Unary::Sinh, Exact),
        Cl::tan => (Unary::Tan, Exact),
        Cl::tanh => (Unary::Tanh, Exact),
        Cl::tgamma => (Unary::Tgamma, Exact),
        // OpenCL asks 8192 ULP of the half_ functions, within [-2^16, 2^16] for the circular ones:
        // more than the hardware's sine keeps.
        Cl::half_cos => (Unary::Cos, Exact),
        Cl::half_sin => (Unary::Sin, Exact),
        Cl::half_tan => (Unary::Tan, Exact),
        Cl::half_exp | Cl::native_exp => (Unary::Exp, Fast),
        Cl::half_exp2 | Cl::native_exp2 => (Unary::Exp2, Fast),
        Cl::half_exp10 | Cl::native_exp10 => (Unary::Exp10, Fast),
        Cl::half_log => (Unary::Log, Exact),
        Cl::half_log2 => (Unary::Log2, Exact),
        Cl::half_log10 => (Unary::Log10, Exact),
        Cl::native_cos => (Unary::Cos, Fast),
        Cl::native_sin => (Unary::Sin, Fast),
        Cl::native_tan => (Unary::Tan, Fast),
        Cl::native_log => (Unary::Log, Fast),
        Cl::native_log2 => (Unary::Log2, Fast),
        Cl::native_log10 => (Unary::Log10, Fast),
        _ => return None,
    })
}

/// `f(x)` scaled by `1/pi`.
fn per_pi<'c>(b: &Build<'c>, value: Value<'c>) -> Result<Value<'c>> {
    b.fmul(value, b.float(value.ty(), std::f64::consts::FRAC_1_PI)?)
}

fn one<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    op: Cl,
    inst: Inst<'_>,
    x: Value<'c>,
) -> Result<Option<Value<'c>>> {
    let b = e.b;
    if let Some((f, precision)) = elementary(op) {
        return math::unary(e, f, precision, x).map(Some);
    }
    Ok(Some(match op {
        Cl::acospi => per_pi(b, math::unary(e, Unary::Acos, Precision::Exact, x)?)?,
        Cl::asinpi => per_pi(b, math::unary(e, Unary::Asin, Precision::Exact, x)?)?,
        Cl::atanpi => per_pi(b, math::unary(e, Unary::Atan, Precision::Exact, x)?)?,
        Cl::sinpi => math::sin_pi(e, x)?,
        Cl::cospi => math::cos_pi(e, x)?,
        Cl::tanpi => b.binary(Opcode::LLVMFDiv, math::sin_pi(e, x)?, math::cos_pi(e, x)?)?,
        Cl::ceil => call1(b, "llvm.ceil", x)?,
        Cl::fabs => call1(b, "llvm.fabs", x)?,
        Cl::floor => call1(b, "llvm.floor", x)?,
        Cl::rint => call1(b, "llvm.roundeven", x)?,
        Cl::round => call1(b, "llvm.round", x)?,
        Cl::trunc => call1(b, "llvm.trunc", x)?,
        Cl::sqrt | Cl::half_sqrt | Cl::native_sqrt => b.sqrt(x)?,
        Cl::rsqrt | Cl::half_rsqrt => math::inverse_sqrt(b, x, Precision::Exact)?,
        Cl::native_rsqrt => math::inverse_sqrt(b, x, Precision::Fast)?,
        Cl::half_recip | Cl::native_recip => b.fdiv(b.float(x.ty(), 1.0)?, x)?,
        Cl::degrees => b.fmul(x, b.float(x.ty(), 180.0 / std::f64::consts::PI)?)?,
        Cl::radians => b.fmul(x, b.float(x.ty(), std::f64::consts::PI / 180.0)?)?,
        Cl::sign => numeric::float_sign(b, x, 0.0)?,
        Cl::length | Cl::fast_length => numeric::length(b, x)?,
        Cl::normalize => numeric::normalize(b, x, Precision::Exact)?,
        Cl::fast_normalize => numeric::normalize(b, x, Precision::Fast)?,
        Cl::logb => logb(b, x)?,
        Cl::ilogb => ilogb(b, x)?,
        Cl::nan => nan(b, x, e.result_ty(inst)?)?,
        _ => return Ok(None),
    }))
}

fn two<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    op: Cl,
    x: Value<'c>,
    y: Value<'c>,
) -> Result<Option<Value<'c>>> {
    let b = e.b;
    Ok(Some(match op {
        Cl::atan2 => math::binary(e, Binary::Atan2, Precision::Exact, x, y)?,
        Cl::atan2pi => per_pi(b, math::binary(e, Binary::Atan2, Precision::Exact, x, y)?)?,
        Cl::hypot => math::binary(e, Binary::Hypot, Precision::Exact, x, y)?,
        Cl::nextafter => math::binary(e, Binary::Nextafter, Precision::Exact, x, y)?,
        Cl::remainder => math::binary(e, Binary::Remainder, Precision::Exact, x, y)?,
        Cl::pow => math::binary(e, Binary::Pow, Precision::Exact, x, y)?,
        Cl::powr | Cl::half_powr => powr(e, x, y, Precision::Exact)?,
        Cl::native_powr => math::binary(e, Binary::Pow, Precision::Fast, x, y)?,
        Cl::pown => pown(e, x, y)?,
        Cl::rootn => rootn(e, x, y)?,
        Cl::fmod => super::arith::float_remainder(e, x, y)?,
        Cl::copysign => call2(b, "llvm.copysign", x, y)?,
        Cl::fmin | Cl::fmin_common => call2(b, "llvm.minnum", x, same_lanes(b, y, x)?)?,
        Cl::fmax | Cl::fmax_common => call2(b, "llvm.maxnum", x, same_lanes(b, y, x)?)?,
        Cl::fdim => {
            let below = b.fcmp(RealPredicate::LLVMRealOLE, x, y)?;
            b.select(below, b.float(x.ty(), 0.0)?, b.fsub(x, y)?)?
        }
        Cl::maxmag => extreme_magnitude(b, x, y, RealPredicate::LLVMRealOGT, "llvm.maxnum")?,
        Cl::minmag => extreme_magnitude(b, x, y, RealPredicate::LLVMRealOLT, "llvm.minnum")?,
        Cl::ldexp => numeric::ldexp(b, x, y)?,
        Cl::half_divide | Cl::native_divide => b.fdiv(x, y)?,
        Cl::step => numeric::step(b, same_lanes(b, x, y)?, y)?,
        Cl::cross => numeric::cross(b, x, y)?,
        Cl::distance | Cl::fast_distance => numeric::length(b, b.fsub(x, y)?)?,
        _ => return Ok(None),
    }))
}

fn three<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    op: Cl,
    x: Value<'c>,
    y: Value<'c>,
    z: Value<'c>,
) -> Result<Option<Value<'c>>> {
    let b = e.b;
    Ok(Some(match op {
        Cl::fma => call3(b, "llvm.fma", x, y, z)?,
        Cl::mad => call3(b, "llvm.fmuladd", x, y, z)?,
        Cl::fclamp => math::clamp(b, x, same_lanes(b, y, x)?, same_lanes(b, z, x)?)?,
        Cl::mix => {
            let a = same_lanes(b, z, x)?;
            b.fadd(x, b.fmul(b.fsub(y, x)?, a)?)?
        }
        Cl::smoothstep => numeric::smoothstep(b, same_lanes(b, x, z)?, same_lanes(b, y, z)?, z)?,
        _ => return Ok(None),
    }))
}

/// A scalar operand beside a vector counts for all lanes.
fn same_lanes<'c>(b: &Build<'c>, scalar: Value<'c>, like: Value<'c>) -> Result<Value<'c>> {
    if scalar.ty().lanes() == like.ty().lanes() {
        Ok(scalar)
    } else {
        b.splat(scalar, like.ty().lanes())
    }
}

/// The operand of larger (or smaller) magnitude; of equal ones the larger (smaller) value.
fn extreme_magnitude<'c>(
    b: &Build<'c>,
    x: Value<'c>,
    y: Value<'c>,
    wins: RealPredicate,
    tie: &'static str,
) -> Result<Value<'c>> {
    let (mx, my) = (
        super::compare::magnitude(b, x)?,
        super::compare::magnitude(b, y)?,
    );
    let (x_wins, y_wins) = (b.fcmp(wins, mx, my)?, b.fcmp(wins, my, mx)?);
    b.select(x_wins, x, b.select(y_wins, y, call2(b, tie, x, y)?)?)
}

/// The exponent as a float: of 0 -infinity, of an infinity +infinity, of a NaN that NaN.
fn logb<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
    let ty = x.ty();
    let (_, exponent) = numeric::frexp(b, x)?;
    let exponent = b.sub(exponent, b.int(exponent.ty(), 1)?)?;
    let number = b.cast(Opcode::LLVMSIToFP, exponent, ty)?;
    let size = super::compare::magnitude(b, x)?;
    let infinity = b.float(ty, f64::INFINITY)?;
    let finite = b.fcmp(RealPredicate::LLVMRealOLT, size, infinity)?;
    let number = b.select(finite, number, size)?;
    let zero = b.fcmp(RealPredicate::LLVMRealOEQ, x, b.float(ty, 0.0)?)?;
    b.select(zero, b.float(ty, f64::NEG_INFINITY)?, number)
}

/// The exponent as an integer: of 0 and NaN the smallest, of an infinity the largest integer.
fn ilogb<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
    let ty = x.ty();
    let (_, exponent) = numeric::frexp(b, x)?;
    let word = exponent.ty();
    let exponent = b.sub(exponent, b.int(word, 1)?)?;
    let infinite = b.fcmp(
        RealPredicate::LLVMRealOEQ,
        super::compare::magnitude(b, x)?,
        b.float(ty, f64::INFINITY)?,
    )?;
    let exponent = b.select(infinite, b.int(word, 0x7fff_ffff)?, exponent)?;
    // Zero or NaN: not different from zero in the ordered sense.
    let number = b.fcmp(RealPredicate::LLVMRealONE, x, b.float(ty, 0.0)?)?;
    b.select(number, exponent, b.int(word, 0x8000_0000)?)
}

/// A quiet NaN with the operand's bits as payload.
fn nan<'c>(b: &Build<'c>, bits: Value<'c>, ty: crate::ffi::Ty<'c>) -> Result<Value<'c>> {
    let quiet = match ty.scalar_bits() {
        16 => 0x7e00,
        32 => 0x7fc0_0000,
        _ => 0x7ff8_0000_0000_0000,
    };
    b.bitcast(b.or(bits, b.int(bits.ty(), quiet)?)?, ty)
}

/// `x^y` for x >= 0: a negative base gives NaN, and so do the cases that have no limit.
fn powr<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    x: Value<'c>,
    y: Value<'c>,
    precision: Precision,
) -> Result<Value<'c>> {
    let b = e.b;
    let ty = x.ty();
    let power = math::binary(e, Binary::Pow, precision, x, y)?;
    let (zero, one, infinity) = (
        b.float(ty, 0.0)?,
        b.float(ty, 1.0)?,
        b.float(ty, f64::INFINITY)?,
    );
    let size_x = super::compare::magnitude(b, x)?;
    let size_y = super::compare::magnitude(b, y)?;
    let negative = b.fcmp(RealPredicate::LLVMRealOLT, x, zero)?;
    let either_nan = b.fcmp(RealPredicate::LLVMRealUNO, x, y)?;
    let x_edge = b.or(
        b.fcmp(RealPredicate::LLVMRealOEQ, x, zero)?,
        b.fcmp(RealPredicate::LLVMRealOEQ, size_x, infinity)?,
    )?;
    let no_limit_x = b.and(x_edge, b.fcmp(RealPredicate::LLVMRealOEQ, y, zero)?)?;
    let no_limit_y = b.and(
        b.fcmp(RealPredicate::LLVMRealOEQ, x, one)?,
        b.fcmp(RealPredicate::LLVMRealOEQ, size_y, infinity)?,
    )?;
    let undefined = b.or(b.or(negative, either_nan)?, b.or(no_limit_x, no_limit_y)?)?;
    // Minus zero counts as zero: the sign of a power of it goes.
    let positive = super::compare::magnitude(b, power)?;
    b.select(undefined, b.float(ty, f64::NAN)?, positive)
}

/// `x^n` for an integer n; 32-bit and narrower numbers in double precision, which holds every n.
fn pown<'c>(e: &FunctionEmitter<'_, 'c, '_>, x: Value<'c>, n: Value<'c>) -> Result<Value<'c>> {
    let b = e.b;
    b.each_lane(&[x, n], |[x, n]| {
        let double = b.float_type(64);
        let exponent = b.cast(Opcode::LLVMSIToFP, *n, double)?;
        let power = math::binary(
            e,
            Binary::Pow,
            Precision::Exact,
            b.float_resize(*x, double)?,
            exponent,
        )?;
        b.float_resize(power, x.ty())
    })
}

/// `x^(1/n)` in double precision. With `x = m * 2^(q * n + r)` it is `(m * 2^r)^(1/n) * 2^q`: so
/// the rounding of `1/n` counts for little, whatever the exponent of `x`.
fn rootn<'c>(e: &FunctionEmitter<'_, 'c, '_>, x: Value<'c>, n: Value<'c>) -> Result<Value<'c>> {
    let b = e.b;
    b.each_lane(&[x, n], |[x, n]| {
        let double = b.float_type(64);
        let wide = b.float_resize(*x, double)?;
        let zero = b.float(double, 0.0)?;
        let size = super::compare::magnitude(b, wide)?;
        let zeroth = b.icmp(IntPredicate::LLVMIntEQ, *n, n.ty().zero())?;
        let divisor = b.select(zeroth, b.int(n.ty(), 1)?, *n)?;

        let (significand, exponent) = numeric::frexp(b, size)?;
        // LLVM leaves the exponent of what is not finite open.
        let finite = b.fcmp(
            RealPredicate::LLVMRealOLT,
            size,
            b.float(double, f64::INFINITY)?,
        )?;
        let exponent = b.select(finite, exponent, exponent.ty().zero())?;
        let divisor = b.int_resize(divisor, exponent.ty(), true)?;
        let scale = b.binary(Opcode::LLVMSDiv, exponent, divisor)?;
        let rest = b.sub(exponent, b.mul(scale, divisor)?)?;
        let power = b.fdiv(
            b.float(double, 1.0)?,
            b.cast(Opcode::LLVMSIToFP, divisor, double)?,
        )?;
        let base = numeric::ldexp(b, significand, rest)?;
        let root = math::binary(e, Binary::Pow, Precision::Exact, base, power)?;
        let root = numeric::ldexp(b, root, scale)?;

        let odd = b.int_resize(*n, b.int_type(1), false)?;
        // Odd roots keep the sign (of zero too); even roots of negative numbers and zeroth roots
        // are NaN.
        let signed = b.select(odd, call2(b, "llvm.copysign", root, wide)?, root)?;
        let negative = b.fcmp(RealPredicate::LLVMRealOLT, wide, zero)?;
        let undefined = b.or(b.and(negative, b.not(odd)?)?, zeroth)?;
        b.float_resize(
            b.select(undefined, b.float(double, f64::NAN)?, signed)?,
            x.ty(),
        )
    })
}
