//! Numeric functions that GLSL.std.450 and OpenCL.std share: rounding, signs, splitting, geometry,
//! integer extremes.

use super::Result;
use super::build::Build;
use super::compare::magnitude;
use super::linear::dot;
use super::math::{Precision, inverse_sqrt};
use crate::ffi::{IntPredicate, RealPredicate, Value};

/// An intrinsic of one argument, overloaded by its type.
pub(crate) fn call1<'c>(b: &Build<'c>, name: &'static str, x: Value<'c>) -> Result<Value<'c>> {
    b.intrinsic(name, &[x.ty()], &[x])
}

/// An intrinsic of two arguments of one type, overloaded by it.
pub(crate) fn call2<'c>(
    b: &Build<'c>,
    name: &'static str,
    x: Value<'c>,
    y: Value<'c>,
) -> Result<Value<'c>> {
    b.intrinsic(name, &[x.ty()], &[x, y])
}

/// An intrinsic of three arguments of one type, overloaded by it.
pub(crate) fn call3<'c>(
    b: &Build<'c>,
    name: &'static str,
    x: Value<'c>,
    y: Value<'c>,
    z: Value<'c>,
) -> Result<Value<'c>> {
    b.intrinsic(name, &[x.ty()], &[x, y, z])
}

/// -1, 0 or 1 with the sign of a float; a zero keeps its sign, a NaN gives `nan`.
pub(crate) fn float_sign<'c>(b: &Build<'c>, x: Value<'c>, nan: f64) -> Result<Value<'c>> {
    let ty = x.ty();
    let unit = call2(b, "llvm.copysign", b.float(ty, 1.0)?, x)?;
    let zero = b.fcmp(RealPredicate::LLVMRealOEQ, x, b.float(ty, 0.0)?)?;
    let sign = b.select(zero, x, unit)?;
    let is_nan = b.fcmp(RealPredicate::LLVMRealUNO, x, x)?;
    b.select(is_nan, b.float(ty, nan)?, sign)
}

/// -1, 0 or 1 with the sign of an integer.
pub(crate) fn int_sign<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
    let ty = x.ty();
    let upper = call2(b, "llvm.smin", x, b.int(ty, 1)?)?;
    call2(b, "llvm.smax", upper, b.int(ty, u64::MAX)?)
}

/// `|x|` of a signed integer; the smallest one stays.
pub(crate) fn int_abs<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
    b.intrinsic("llvm.abs", &[x.ty()], &[x, b.bool(false)])
}

/// `x - floor(x)`.
pub(crate) fn fract<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
    b.fsub(x, call1(b, "llvm.floor", x)?)
}

/// The fractional and the whole part, both with the sign of `x`; of an infinity 0 and the infinity.
pub(crate) fn modf<'c>(b: &Build<'c>, x: Value<'c>) -> Result<(Value<'c>, Value<'c>)> {
    let ty = x.ty();
    let whole = call1(b, "llvm.trunc", x)?;
    let infinite = b.fcmp(
        RealPredicate::LLVMRealOEQ,
        magnitude(b, x)?,
        b.float(ty, f64::INFINITY)?,
    )?;
    let rest = b.select(infinite, b.float(ty, 0.0)?, b.fsub(x, whole)?)?;
    Ok((call2(b, "llvm.copysign", rest, x)?, whole))
}

/// Significand in [0.5, 1) and exponent (`i32`), lane by lane.
pub(crate) fn frexp<'c>(b: &Build<'c>, x: Value<'c>) -> Result<(Value<'c>, Value<'c>)> {
    let word = b.int_type(32);
    let (mut significands, mut exponents) = (Vec::new(), Vec::new());
    for lane in 0..x.ty().lanes() {
        let scalar = b.lane(x, lane)?;
        let pair = b.intrinsic("llvm.frexp", &[scalar.ty(), word], &[scalar])?;
        significands.push(b.member(pair, 0)?);
        exponents.push(b.member(pair, 1)?);
    }
    Ok((b.vector(&significands)?, b.vector(&exponents)?))
}

/// `x * 2^n`, lane by lane; a scalar exponent counts for all lanes.
pub(crate) fn ldexp<'c>(b: &Build<'c>, x: Value<'c>, n: Value<'c>) -> Result<Value<'c>> {
    let lanes = x.ty().lanes();
    let n = if n.ty().lanes() == lanes {
        n
    } else {
        b.splat(n, lanes)?
    };
    let word = b.int_type(32).vector(lanes);
    let n = if n.ty().scalar_bits() > 32 {
        super::casts::clamp_resize(b, n, word, true, true)?
    } else {
        b.int_resize(n, word, true)?
    };
    b.each_lane(&[x, n], |[x, n]| {
        if x.ty().scalar_bits() >= 32 {
            return b.intrinsic("llvm.ldexp", &[x.ty(), n.ty()], &[*x, *n]);
        }
        // What LLVM 23 writes out for halves on NVPTX is wrong for large negative exponents. A
        // `float` holds every result but those that round to 0.
        let single = b.float_type(32);
        let wide = b.intrinsic(
            "llvm.ldexp",
            &[single, n.ty()],
            &[b.float_resize(*x, single)?, *n],
        )?;
        b.float_resize(wide, x.ty())
    })
}

/// `x + (y - x) * a` in the form `x * (1 - a) + y * a`.
pub(crate) fn mix<'c>(
    b: &Build<'c>,
    x: Value<'c>,
    y: Value<'c>,
    a: Value<'c>,
) -> Result<Value<'c>> {
    let rest = b.fsub(b.float(a.ty(), 1.0)?, a)?;
    b.fadd(b.fmul(x, rest)?, b.fmul(y, a)?)
}

/// 0 below the edge, else 1.
pub(crate) fn step<'c>(b: &Build<'c>, edge: Value<'c>, x: Value<'c>) -> Result<Value<'c>> {
    let below = b.fcmp(RealPredicate::LLVMRealOLT, x, edge)?;
    b.select(below, b.float(x.ty(), 0.0)?, b.float(x.ty(), 1.0)?)
}

/// Hermite interpolation between two edges.
pub(crate) fn smoothstep<'c>(
    b: &Build<'c>,
    low: Value<'c>,
    high: Value<'c>,
    x: Value<'c>,
) -> Result<Value<'c>> {
    let ty = x.ty();
    let position = b.fdiv(b.fsub(x, low)?, b.fsub(high, low)?)?;
    let t = super::math::clamp(b, position, b.float(ty, 0.0)?, b.float(ty, 1.0)?)?;
    let slope = b.fsub(b.float(ty, 3.0)?, b.fmul(b.float(ty, 2.0)?, t)?)?;
    b.fmul(b.fmul(t, t)?, slope)
}

/// The Euclidean length of a vector, the magnitude of a scalar.
pub(crate) fn length<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
    if !x.ty().is_vector() {
        return magnitude(b, x);
    }
    b.sqrt(dot(b, x, x)?)
}

/// The vector of length 1 in the same direction; of a scalar its sign.
pub(crate) fn normalize<'c>(
    b: &Build<'c>,
    x: Value<'c>,
    precision: Precision,
) -> Result<Value<'c>> {
    if !x.ty().is_vector() {
        return call2(b, "llvm.copysign", b.float(x.ty(), 1.0)?, x);
    }
    let scale = inverse_sqrt(b, dot(b, x, x)?, precision)?;
    b.fmul(x, b.splat(scale, x.ty().lanes())?)
}

/// The cross product of the first three components; a fourth is 0.
pub(crate) fn cross<'c>(b: &Build<'c>, x: Value<'c>, y: Value<'c>) -> Result<Value<'c>> {
    let mut lanes = Vec::with_capacity(4);
    for (i, j) in [(1, 2), (2, 0), (0, 1)] {
        let plus = b.fmul(b.lane(x, i)?, b.lane(y, j)?)?;
        let minus = b.fmul(b.lane(x, j)?, b.lane(y, i)?)?;
        lanes.push(b.fsub(plus, minus)?);
    }
    if x.ty().lanes() == 4 {
        lanes.push(b.float(x.ty().element(), 0.0)?);
    }
    b.vector(&lanes)
}

/// `|x - y|` as an unsigned integer.
pub(crate) fn abs_diff<'c>(
    b: &Build<'c>,
    x: Value<'c>,
    y: Value<'c>,
    signed: bool,
) -> Result<Value<'c>> {
    let greater = b.icmp(
        if signed {
            IntPredicate::LLVMIntSGT
        } else {
            IntPredicate::LLVMIntUGT
        },
        x,
        y,
    )?;
    b.select(greater, b.sub(x, y)?, b.sub(y, x)?)
}
