//! Floating-point instructions (PTX ISA, "Floating Point Instructions", "Half Precision Floating
//! Point Instructions").
//!
//! Approximate functions (`.approx`, `.full`) are computed in double precision and rounded: inside
//! of the error that PTX allows them.

use super::mode::{Arguments, Mode};
use super::round::{Rounding, add_odd, nan, narrow, to_odd, widen};
use crate::directed::{Format, Step, compute};
use crate::ptx::types::Class;

/// The value of an operand; subnormal numbers of single precision are zeros where they are flushed.
pub(crate) fn value(m: &Mode, bits: u64) -> f64 {
    let value = widen(m.kind.class, bits);
    if m.flush && value.abs() < f64::from(f32::MIN_POSITIVE) {
        0f64.copysign(value)
    } else {
        value
    }
}

/// The bits of a result.
fn result(m: &Mode, exact: f64) -> u64 {
    finish(m, narrow(m.kind.class, exact, m.rounding))
}

/// What a step gives in a direction in which the host does not round.
fn directed(m: &Mode, step: Step, operands: [f64; 3]) -> Option<u64> {
    let format = match m.kind.class {
        _ if m.rounding == Rounding::Nearest => return None,
        Class::Half => Format::Half,
        Class::Brain => Format::Brain,
        Class::Single => Format::Single,
        Class::Double => Format::Double,
        Class::Bits | Class::Unsigned | Class::Signed => return None,
    };
    let operands = operands.map(|value| narrow(m.kind.class, value, Rounding::Nearest));
    let bits = compute(step, format, m.rounding, operands);
    let is_nan = widen(m.kind.class, bits).is_nan();
    Some(finish(m, if is_nan { nan(m.kind.class) } else { bits }))
}

/// Flushes and clamps.
fn finish(m: &Mode, bits: u64) -> u64 {
    let mut bits = bits;
    if m.flush || m.saturate || m.relu {
        let rounded = widen(m.kind.class, bits);
        if m.flush && rounded.abs() < f64::from(f32::MIN_POSITIVE) {
            bits = narrow(m.kind.class, 0f64.copysign(rounded), Rounding::Zero);
        }
        if m.saturate {
            // A NaN becomes 0.
            bits = narrow(
                m.kind.class,
                if rounded > 0.0 { rounded.min(1.0) } else { 0.0 },
                Rounding::Zero,
            );
        }
        if m.relu && rounded < 0.0 {
            bits = 0;
        }
    }
    bits
}

/// `a + b`
pub(crate) fn add(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    sum(m, value(m, a), value(m, b))
}

fn sum(m: &Mode, a: f64, b: f64) -> u64 {
    directed(m, Step::Add, [a, b, 0.0]).unwrap_or_else(|| {
        result(
            m,
            if m.kind.class == Class::Double {
                a + b
            } else {
                add_odd(a, b)
            },
        )
    })
}

/// `a - b`
pub(crate) fn sub(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    sum(m, value(m, a), -value(m, b))
}

/// Calls [`Mode::each`]. The first operands, as many as [`Mode::table`] says, have the narrower
/// type [`Mode::other`] and are widened first.
pub(crate) fn mixed(m: &Mode, operands: Arguments) -> u64 {
    let mut operands = operands;
    for operand in operands.iter_mut().take(m.table.into()) {
        // Every number of 16 bits is one of 32.
        *operand = narrow(
            m.kind.class,
            widen(m.other.class, *operand),
            Rounding::Nearest,
        );
    }
    (m.each)(m, operands)
}

/// `a * b`
pub(crate) fn mul(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    let (a, b) = (value(m, a), value(m, b));
    // Exact for all narrower formats.
    directed(m, Step::Multiply, [a, b, 0.0]).unwrap_or_else(|| result(m, a * b))
}

/// `a * b + c`, rounded once.
pub(crate) fn fma(m: &Mode, [a, b, c, _]: Arguments) -> u64 {
    let (a, b, c) = (value(m, a), value(m, b), value(m, c));
    directed(m, Step::MultiplyAdd, [a, b, c]).unwrap_or_else(|| {
        result(
            m,
            if m.kind.class == Class::Double {
                a.mul_add(b, c)
            } else {
                add_odd(a * b, c)
            },
        )
    })
}

/// `a / b`
pub(crate) fn div(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    let (a, b) = (value(m, a), value(m, b));
    if let Some(bits) = directed(m, Step::Divide, [a, b, 0.0]) {
        return bits;
    }
    let quotient = a / b;
    if m.kind.class == Class::Double {
        return result(m, quotient);
    }
    // The remainder's sign says on which side of the quotient the exact one lies.
    let remainder = (-quotient).mul_add(b, a);
    let error = if b < 0.0 { -remainder } else { remainder };
    result(m, to_odd(quotient, error))
}

/// `1 / a`
pub(crate) fn rcp(m: &Mode, [a, ..]: Arguments) -> u64 {
    let one = narrow(m.kind.class, 1.0, Rounding::Nearest);
    div(m, [one, a, 0, 0])
}

/// The square root.
pub(crate) fn sqrt(m: &Mode, [a, ..]: Arguments) -> u64 {
    let a = value(m, a);
    if let Some(bits) = directed(m, Step::Root, [a, 0.0, 0.0]) {
        return bits;
    }
    let root = a.sqrt();
    if m.kind.class == Class::Double {
        return result(m, root);
    }
    result(m, to_odd(root, (-root).mul_add(root, a)))
}

/// `1 / sqrt(a)`
pub(crate) fn rsqrt(m: &Mode, [a, ..]: Arguments) -> u64 {
    result(m, 1.0 / value(m, a).sqrt())
}

/// `2^a`
pub(crate) fn ex2(m: &Mode, [a, ..]: Arguments) -> u64 {
    result(m, value(m, a).exp2())
}

/// The logarithm to base 2.
pub(crate) fn lg2(m: &Mode, [a, ..]: Arguments) -> u64 {
    result(m, value(m, a).log2())
}

/// The sine.
pub(crate) fn sin(m: &Mode, [a, ..]: Arguments) -> u64 {
    result(m, value(m, a).sin())
}

/// The cosine.
pub(crate) fn cos(m: &Mode, [a, ..]: Arguments) -> u64 {
    result(m, value(m, a).cos())
}

/// The hyperbolic tangent.
pub(crate) fn tanh(m: &Mode, [a, ..]: Arguments) -> u64 {
    result(m, value(m, a).tanh())
}

fn sign_bit(m: &Mode) -> u64 {
    1 << (m.bits() - 1)
}

/// `|a|`: the sign goes, a NaN stays as it is.
pub(crate) fn abs(m: &Mode, [a, ..]: Arguments) -> u64 {
    flushed(m, m.low(a) & !sign_bit(m))
}

/// `-a`
pub(crate) fn neg(m: &Mode, [a, ..]: Arguments) -> u64 {
    flushed(m, m.low(a) ^ sign_bit(m))
}

fn flushed(m: &Mode, bits: u64) -> u64 {
    let tiny = m.flush && widen(m.kind.class, bits).abs() < f64::from(f32::MIN_POSITIVE);
    if tiny { bits & sign_bit(m) } else { bits }
}

/// `b` with the sign of `a`.
pub(crate) fn copysign(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    m.low(b) & !sign_bit(m) | a & sign_bit(m)
}

/// The smaller one; -0 is smaller than +0, and a NaN gives way to a number unless the mode says
/// otherwise.
pub(crate) fn min(m: &Mode, arguments: Arguments) -> u64 {
    extreme(m, arguments, |a, b| {
        a < b || (a == b && a.is_sign_negative())
    })
}

/// The greater one.
pub(crate) fn max(m: &Mode, arguments: Arguments) -> u64 {
    extreme(m, arguments, |a, b| {
        a > b || (a == b && b.is_sign_negative())
    })
}

fn extreme(m: &Mode, [a, b, ..]: Arguments, first: impl Fn(f64, f64) -> bool) -> u64 {
    let sign = (a ^ b) & sign_bit(m);
    let (a, b) = if m.xorsign {
        (m.low(a) & !sign_bit(m), m.low(b) & !sign_bit(m))
    } else {
        (a, b)
    };
    let (x, y) = (value(m, a), value(m, b));
    let chosen = match (x.is_nan(), y.is_nan()) {
        (true, true) => return nan(m.kind.class),
        (true, false) | (false, true) if m.nan => return nan(m.kind.class),
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            if first(x, y) {
                a
            } else {
                b
            }
        }
    };
    let chosen = flushed(m, m.low(chosen));
    if m.xorsign {
        chosen | sign
    } else {
        result(m, widen(m.kind.class, chosen))
    }
}

/// What `testp` asks, in the order of [`Mode::table`].
pub(crate) const TESTS: [&str; 6] = [
    "finite",
    "infinite",
    "number",
    "notanumber",
    "normal",
    "subnormal",
];

/// `testp`: 1 or 0.
pub(crate) fn testp(m: &Mode, [a, ..]: Arguments) -> u64 {
    let a = widen(m.kind.class, m.low(a));
    let least = match m.kind.class {
        Class::Double => f64::MIN_POSITIVE,
        _ => f32::MIN_POSITIVE.into(),
    };
    u64::from(match m.table {
        0 => a.is_finite(),
        1 => a.is_infinite(),
        2 => !a.is_nan(),
        3 => a.is_nan(),
        4 => a.is_finite() && a.abs() >= least,
        _ => a != 0.0 && a.abs() < least,
    })
}
