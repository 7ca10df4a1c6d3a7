//! Rounding a double-precision number to a narrower format, in all the modes of PTX.
//!
//! Arithmetic in a narrower format is done in double precision with the last bit made odd when
//! anything was lost ("round to odd"), and rounded once. With at least two bits more than twice the
//! narrower significand that gives the correctly rounded result in every mode (Boldo and Melquiond,
//! "Emulation of FMA and correctly rounded sums", IEEE Transactions on Computers 57, 2008).

use super::bits::mask;
pub(crate) use crate::directed::Rounding;
use crate::ptx::types::Class;

impl Rounding {
    /// The modifiers that round to a floating-point number, and those that round to an integer.
    pub(crate) const NAMES: &[(&str, Rounding)] = &[
        ("rn", Rounding::Nearest),
        ("rz", Rounding::Zero),
        ("rm", Rounding::Down),
        ("rp", Rounding::Up),
        ("rna", Rounding::NearestAway),
    ];
    /// The modifiers that round to an integral value.
    pub(crate) const INTEGRAL: &[(&str, Rounding)] = &[
        ("rni", Rounding::Nearest),
        ("rzi", Rounding::Zero),
        ("rmi", Rounding::Down),
        ("rpi", Rounding::Up),
    ];

    /// To an integral value.
    pub(crate) fn integral(self, value: f64) -> f64 {
        match self {
            Rounding::Nearest => value.round_ties_even(),
            Rounding::Zero => value.trunc(),
            Rounding::Down => value.floor(),
            Rounding::Up => value.ceil(),
            Rounding::NearestAway => value.round(),
        }
    }
}

/// Bits of the exponent and of the stored significand.
fn format(class: Class) -> (u32, u32) {
    match class {
        Class::Half => (5, 10),
        Class::Brain => (8, 7),
        Class::Single => (8, 23),
        Class::Double | Class::Bits | Class::Unsigned | Class::Signed => (11, 52),
    }
}

/// The bits of a NaN as the arithmetic of each format gives it (PTX ISA, "Floating Point
/// Instructions": a NaN of single precision is 0x7fffffff).
pub(crate) fn nan(class: Class) -> u64 {
    match class {
        Class::Half | Class::Brain => 0x7fff,
        Class::Single => 0x7fff_ffff,
        Class::Double | Class::Bits | Class::Unsigned | Class::Signed => 0x7ff8_0000_0000_0000,
    }
}

/// The value of a number of this format; exact.
pub(crate) fn widen(class: Class, bits: u64) -> f64 {
    match class {
        Class::Single => f32::from_bits(bits as u32).into(),
        Class::Brain => f32::from_bits((bits as u32) << 16).into(),
        Class::Half => {
            let (exponent, fraction) = (bits >> 10 & 31, bits & 0x3ff);
            let magnitude = match exponent {
                0 => fraction as f64 * 2f64.powi(-24),
                31 if fraction == 0 => f64::INFINITY,
                31 => f64::NAN,
                _ => (1024 + fraction) as f64 * 2f64.powi(exponent as i32 - 25),
            };
            if bits >> 15 & 1 == 1 {
                -magnitude
            } else {
                magnitude
            }
        }
        Class::Double | Class::Bits | Class::Unsigned | Class::Signed => f64::from_bits(bits),
    }
}

/// Rounds to a format and gives its bits. A double-precision number stays as it is.
pub(crate) fn narrow(class: Class, value: f64, rounding: Rounding) -> u64 {
    if value.is_nan() {
        return nan(class);
    }
    match (class, rounding) {
        (Class::Single, Rounding::Nearest) => return (value as f32).to_bits().into(),
        (Class::Double | Class::Bits | Class::Unsigned | Class::Signed, _) => {
            return value.to_bits();
        }
        _ => {} // what Rust has no type or no rounding for
    }
    let (exponent_bits, significand_bits) = format(class);
    let negative = value.is_sign_negative();
    let sign = u64::from(negative) << (exponent_bits + significand_bits);
    let infinity = mask(exponent_bits) << significand_bits;
    if value.is_infinite() {
        return sign | infinity;
    }
    let bits = value.to_bits();
    let stored = (bits >> 52 & 0x7ff) as i32;
    if stored == 0 {
        // Zero, or so small that it counts as the least trace above zero in every narrower format.
        return sign | u64::from(value != 0.0 && up(rounding, negative, false, false, true));
    }
    let exponent = stored - 1023;
    let significand = bits & mask(52) | 1 << 52;
    let least = 2 - (1 << (exponent_bits - 1));
    // How many low bits go; more for a subnormal result.
    let lost = 52 - significand_bits as i32 + (least - exponent).max(0);
    let lost = lost.min(54) as u32;
    let kept = significand >> lost;
    let half = significand >> (lost - 1) & 1 == 1;
    let rest = significand & mask(lost - 1) != 0;
    let kept = kept + u64::from(up(rounding, negative, kept & 1 == 1, half, rest));
    // The hidden bit carries into the exponent, in a subnormal number that becomes normal too.
    let biased = if exponent < least {
        0
    } else {
        (exponent - least) as u64
    };
    let magnitude = (biased << significand_bits) + kept;
    if magnitude >= infinity {
        let stays_finite = match rounding {
            Rounding::Nearest | Rounding::NearestAway => false,
            Rounding::Zero => true,
            Rounding::Down => !negative,
            Rounding::Up => negative,
        };
        return sign | if stays_finite { infinity - 1 } else { infinity };
    }
    sign | magnitude
}

/// Returns true if a magnitude grows: by what is lost (`half` its first bit, `rest` whether any
/// other is set) and whether the kept part is odd.
fn up(rounding: Rounding, negative: bool, odd: bool, half: bool, rest: bool) -> bool {
    match rounding {
        Rounding::Nearest => half && (rest || odd),
        Rounding::NearestAway => half,
        Rounding::Zero => false,
        Rounding::Down => negative && (half || rest),
        Rounding::Up => !negative && (half || rest),
    }
}

/// `rounded`, which is a result in the nearest rounding, with its last bit made odd where `error`
/// (exact minus rounded) is not zero.
pub(crate) fn to_odd(rounded: f64, error: f64) -> f64 {
    if error == 0.0 || !rounded.is_finite() || !error.is_finite() || rounded.to_bits() & 1 == 1 {
        return rounded;
    }
    let away = (error > 0.0) == (rounded > 0.0);
    let bits = rounded.to_bits();
    if rounded == 0.0 {
        return rounded;
    }
    f64::from_bits(if away { bits + 1 } else { bits - 1 })
}

/// `a + b`, the last bit odd if anything was lost.
pub(crate) fn add_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let b_part = sum - a;
    to_odd(sum, (a - (sum - b_part)) + (b - b_part))
}
