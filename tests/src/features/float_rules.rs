//! Rules of floats that both extended instruction sets share: extremes, splitting, scaling, fused
//! products.

use super::ty::{F16, F32, Scalar, U32, power_of_two};
use super::want::Want::{self, Any, Bits, OneOf};
use super::want::float;

/// The smaller of two; the other of a NaN; of two zeros either.
pub(super) fn smaller(s: Scalar, x: f64, y: f64) -> Want {
    if x == 0.0 && y == 0.0 {
        return either(s, x, y);
    }
    float(s, x.min(y))
}

/// The larger of two, as [`smaller`].
pub(super) fn larger(s: Scalar, x: f64, y: f64) -> Want {
    if x == 0.0 && y == 0.0 {
        return either(s, x, y);
    }
    float(s, x.max(y))
}

/// One of both.
pub(super) fn either(s: Scalar, x: f64, y: f64) -> Want {
    OneOf(vec![s.bits_of(x), s.bits_of(y)])
}

/// `x` in `[low, high]`; undefined without such a range.
pub(super) fn clamp(s: Scalar, x: f64, low: f64, high: f64) -> Want {
    if x.is_nan() || low.is_nan() || high.is_nan() || low > high {
        return Any;
    }
    let value = x.clamp(low, high);
    if value == 0.0 {
        return either(s, 0.0, -0.0);
    }
    float(s, value)
}

/// `a * b + c`, rounded once.
pub(super) fn fma(s: Scalar, [a, b, c]: [u64; 3]) -> Want {
    match s {
        F16 => {
            // The product is exact in 53 bits, and the sum of three halves is but for what rounds
            // the same way: the error of one more rounding to 53 bits moves no tie of 11.
            float(s, exact_sum(s.float(a) * s.float(b), s.float(c)))
        }
        F32 => {
            let single = |bits: u64| f32::from_bits(bits as u32);
            float(s, f64::from(single(a).mul_add(single(b), single(c))))
        }
        _ => float(s, s.float(a).mul_add(s.float(b), s.float(c))),
    }
}

/// `x + y` rounded to odd, so that it can be rounded again to fewer bits.
fn exact_sum(x: f64, y: f64) -> f64 {
    let sum = x + y;
    let rounded = sum - x;
    let error = (x - (sum - rounded)) + (y - rounded);
    if !sum.is_finite() || error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away {
        sum.to_bits() + 1
    } else {
        sum.to_bits() - 1
    })
}

/// `x * 2^n`, rounded once.
pub(super) fn ldexp(s: Scalar, x: f64, n: i32) -> Want {
    if s.bits() == 64 || !x.is_finite() || x == 0.0 {
        return float(s, libm::ldexp(x, n));
    }
    // Doubles hold it exactly as long as the exponent is within reach.
    float(s, x * power_of_two(n.clamp(-900, 900)))
}

/// Fraction and whole part, both with the sign of `x`.
pub(super) fn modf(s: Scalar, x: f64) -> Vec<Want> {
    if x.is_nan() {
        return vec![Want::Nan, Want::Nan];
    }
    let rest = if x.is_infinite() { 0.0 } else { x - x.trunc() };
    vec![float(s, rest.copysign(x)), float(s, x.trunc())]
}

/// Significand in [0.5, 1) and exponent; undefined of what is not finite.
pub(super) fn frexp(s: Scalar, x: f64) -> Vec<Want> {
    if !x.is_finite() {
        return vec![Any, Any];
    }
    let (significand, exponent) = libm::frexp(x);
    vec![
        float(s, significand),
        Bits(exponent as i64 as u64 & U32.mask()),
    ]
}
