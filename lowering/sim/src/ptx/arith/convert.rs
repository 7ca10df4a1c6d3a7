//! `cvt`: between integers, between floating-point formats, and across (PTX ISA, "Data Movement and
//! Conversion Instructions: cvt").

use super::bits::{mask, sign_extend};
use super::float::value;
use super::mode::{Arguments, Mode};
use super::round::{Rounding, narrow, to_odd, widen};
use crate::float8::Float8;
use crate::ptx::types::Class;

/// Integer to integer. The result is extended to 64 bits by its sign; what the destination cannot
/// hold is cut off where it is written.
pub(crate) fn integer(m: &Mode, [a, ..]: Arguments) -> u64 {
    let from = m.other;
    let number: i128 = if from.is_signed() {
        sign_extend(a, from.element).into()
    } else {
        (a & mask(from.element)).into()
    };
    let to = m.kind;
    let number = if m.saturate {
        let span = 1i128 << to.element;
        let (least, most) = if to.is_signed() {
            (-span / 2, span / 2 - 1)
        } else {
            (0, span - 1)
        };
        number.clamp(least, most)
    } else {
        number
    };
    extended(m, number as u64)
}

fn extended(m: &Mode, bits: u64) -> u64 {
    if m.kind.is_signed() {
        sign_extend(bits, m.kind.element) as u64
    } else {
        m.low(bits)
    }
}

/// Floating point to integer: rounded to an integral value, then clamped. A NaN gives 0; from or to
/// 64 bits, the highest bit alone.
pub(crate) fn to_integer(m: &Mode, [a, ..]: Arguments) -> u64 {
    let source = Mode {
        kind: m.other,
        ..*m
    };
    let number = m.rounding.integral(value(&source, a));
    let to = m.kind;
    if number.is_nan() {
        let wide = m.other.class == Class::Double || to.element == 64;
        return if wide {
            extended(m, 1 << (to.element - 1))
        } else {
            0
        };
    }
    let span = 1i128 << to.element;
    let (least, most) = if to.is_signed() {
        (-span / 2, span / 2 - 1)
    } else {
        (0, span - 1)
    };
    extended(m, (number as i128).clamp(least, most) as u64)
}

/// Integer to floating point.
pub(crate) fn from_integer(m: &Mode, [a, ..]: Arguments) -> u64 {
    let from = m.other;
    let number: i128 = if from.is_signed() {
        sign_extend(a, from.element).into()
    } else {
        (a & mask(from.element)).into()
    };
    let rounded = number as f64;
    let error = (number - rounded as i128) as f64;
    if m.kind.class != Class::Double {
        return narrow(m.kind.class, to_odd(rounded, error), m.rounding);
    }
    let step = |up: bool| {
        if up {
            rounded.next_up()
        } else {
            rounded.next_down()
        }
    };
    let directed = match m.rounding {
        Rounding::Nearest | Rounding::NearestAway => rounded,
        Rounding::Down if error < 0.0 => step(false),
        Rounding::Up if error > 0.0 => step(true),
        Rounding::Zero if error != 0.0 && (error < 0.0) == (rounded > 0.0) => step(rounded < 0.0),
        Rounding::Down | Rounding::Up | Rounding::Zero => rounded,
    };
    directed.to_bits()
}

/// Floating point to floating point; with a table of 1, rounded to an integral value.
pub(crate) fn float(m: &Mode, [a, ..]: Arguments) -> u64 {
    let single = Class::Single;
    let source = Mode {
        kind: m.other,
        flush: m.flush && m.other.class == single,
        ..*m
    };
    let mut number = value(&source, a);
    if m.table == 1 {
        number = m.rounding.integral(number);
    }
    if m.saturate {
        number = if number > 0.0 { number.min(1.0) } else { 0.0 };
    }
    if m.relu && number < 0.0 {
        number = 0.0;
    }
    let bits = narrow(m.kind.class, number, m.rounding);
    let tiny = m.flush
        && m.kind.class == single
        && widen(single, bits).abs() < f64::from(f32::MIN_POSITIVE);
    if tiny { bits & 1 << 31 } else { bits }
}

/// Two numbers to a packed pair: `a` becomes the upper half, `b` the lower.
pub(crate) fn pack(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    float(m, [a, 0, 0, 0]) << m.bits() | float(m, [b, 0, 0, 0])
}

/// The format of 8 bits that the mode's table names.
fn float8(m: &Mode) -> Float8 {
    match m.table {
        0 => Float8::E4M3,
        _ => Float8::E5M2,
    }
}

/// A number as one of 8 bits, saturated (`.satfinite`, which is mandatory).
fn narrowed8(m: &Mode, number: f64) -> u64 {
    let number = if m.relu && number < 0.0 { 0.0 } else { number };
    float8(m).code(number, true).into()
}

/// Two single-precision numbers to 8-bit ones: `a` becomes the upper byte, `b` the lower.
pub(crate) fn to_float8(m: &Mode, [a, b, ..]: Arguments) -> u64 {
    let narrow = |bits| narrowed8(m, widen(Class::Single, bits));
    narrow(a) << 8 | narrow(b)
}

/// A pair of halves to one of 8-bit numbers.
pub(crate) fn halves_to_float8(m: &Mode, [a, ..]: Arguments) -> u64 {
    let narrow = |bits| narrowed8(m, widen(Class::Half, bits));
    narrow(a >> 16 & 0xffff) << 8 | narrow(a & 0xffff)
}

/// A pair of 8-bit numbers to one of halves, which have all of them.
pub(crate) fn from_float8(m: &Mode, [a, ..]: Arguments) -> u64 {
    let wide = |code: u64| {
        let number = float8(m).number(code as u8);
        let number = if m.relu && number < 0.0 { 0.0 } else { number };
        narrow(Class::Half, number, Rounding::Nearest)
    };
    wide(a >> 8) << 16 | wide(a & 0xff)
}
