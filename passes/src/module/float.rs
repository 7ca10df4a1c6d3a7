//! Floating-point numbers of every format, by way of `f64`: all values of the narrower formats are
//! values of `f64`.

use super::FloatFormat;

/// Where the fields of a format lie.
struct Layout {
    exponent_bits: u32,
    mantissa_bits: u32,
    /// Has infinities and many NaNs, as IEEE 754; else there is no infinity.
    ieee: bool,
    /// Without infinities: whether the pattern of all ones is NaN. Where it is not, there is none.
    one_nan: bool,
}

fn layout(width: u32, format: FloatFormat) -> Option<Layout> {
    let (exponent_bits, mantissa_bits, ieee) = match (format, width) {
        (FloatFormat::Ieee, 16) => (5, 10, true),
        (FloatFormat::Ieee, 32) => (8, 23, true),
        (FloatFormat::BFloat16, _) => (8, 7, true),
        (FloatFormat::Float8E4M3, _) => (4, 3, false),
        (FloatFormat::Float8E5M2, _) => (5, 2, true),
        (FloatFormat::Float6E2M3, _) => (2, 3, false),
        (FloatFormat::Float6E3M2, _) => (3, 2, false),
        (FloatFormat::Float4E2M1, _) => (2, 1, false),
        // f64 itself, or without these fields.
        (FloatFormat::Ieee | FloatFormat::Float8E8M0 | FloatFormat::MxInt8, _) => return None,
    };
    Some(Layout {
        exponent_bits,
        mantissa_bits,
        ieee,
        one_nan: format == FloatFormat::Float8E4M3,
    })
}

/// 2 to the power of `exponent`, from -1022 to 1023.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + i64::from(exponent)) as u64) << 52)
}

/// The value of `bits`.
pub(super) fn decode(bits: u64, width: u32, format: FloatFormat) -> f64 {
    let Some(Layout {
        exponent_bits,
        mantissa_bits,
        ieee,
        one_nan,
    }) = layout(width, format)
    else {
        return match format {
            FloatFormat::Float8E8M0 if bits & 0xff == 0xff => f64::NAN,
            FloatFormat::Float8E8M0 => power_of_two((bits & 0xff) as i32 - 127),
            FloatFormat::MxInt8 => f64::from(bits as u8 as i8) / 64.0,
            _ => f64::from_bits(bits),
        };
    };
    let mantissa = bits & ((1 << mantissa_bits) - 1);
    let top = (1u64 << exponent_bits) - 1;
    let exponent = bits >> mantissa_bits & top;
    let negative = bits >> (mantissa_bits + exponent_bits) & 1 == 1;
    let bias = (1i32 << (exponent_bits - 1)) - 1;
    let magnitude = if ieee && exponent == top {
        if mantissa == 0 {
            f64::INFINITY
        } else {
            f64::NAN
        }
    } else if one_nan && exponent == top && mantissa == (1 << mantissa_bits) - 1 {
        f64::NAN
    } else {
        let (significand, scale) = if exponent == 0 {
            (mantissa, 1 - bias)
        } else {
            (mantissa | 1 << mantissa_bits, exponent as i32 - bias)
        };
        significand as f64 * power_of_two(scale - mantissa_bits as i32)
    };
    if negative { -magnitude } else { magnitude }
}

/// The bits of `value`, rounded to the nearest, ties to even; what is too large becomes infinity,
/// or NaN where there is none, or the greatest number where there is none of both.
pub(super) fn encode(value: f64, width: u32, format: FloatFormat) -> u64 {
    let Some(Layout {
        exponent_bits,
        mantissa_bits,
        ieee,
        one_nan,
    }) = layout(width, format)
    else {
        return match format {
            FloatFormat::Float8E8M0 => encode_power(value),
            FloatFormat::MxInt8 => {
                let parts = (value * 64.0).round_ties_even().clamp(-128.0, 127.0);
                u64::from(parts as i8 as u8)
            }
            _ => value.to_bits(),
        };
    };
    let sign = u64::from(value.is_sign_negative()) << (mantissa_bits + exponent_bits);
    let infinity = ((1u64 << exponent_bits) - 1) << mantissa_bits;
    let all_ones = infinity | ((1 << mantissa_bits) - 1);
    let nan = if ieee {
        infinity | 1 << (mantissa_bits - 1)
    } else {
        all_ones
    };
    if value.is_nan() {
        return sign | nan;
    }
    let largest = match (ieee, one_nan) {
        (true, _) => infinity - 1,
        (false, true) => all_ones - 1,
        (false, false) => all_ones,
    };
    // All ones are the greatest number where nothing is NaN.
    let too_large = if ieee { infinity } else { nan };
    if value.is_infinite() {
        return sign | too_large;
    }
    let bits = value.abs().to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    if exponent == -1023 {
        return sign; // zero, or smaller than half of every format's least value
    }
    let significand = bits & ((1 << 52) - 1) | 1 << 52;
    let least = 2 - (1i32 << (exponent_bits - 1));
    let dropped = 52 - mantissa_bits + (least - exponent).max(0) as u32;
    if dropped > 54 {
        return sign;
    }
    let kept = significand >> dropped;
    let rest = significand & ((1 << dropped) - 1);
    let half = 1u64 << (dropped - 1);
    let rounded = kept + u64::from(rest > half || rest == half && kept & 1 == 1);
    // The significand's leading 1 adds the last unit to the exponent field, and so does a carry out
    // of the rounding.
    let magnitude = ((exponent - least).max(0) as u64) * (1 << mantissa_bits) + rounded;
    sign | if magnitude > largest {
        too_large
    } else {
        magnitude
    }
}

/// The nearest power of two, of two the one with the even exponent field; NaN for what is not
/// positive or too large. Zero is the least one.
fn encode_power(value: f64) -> u64 {
    /// The field of NaN.
    const NAN: i64 = 0xff;
    if value == 0.0 {
        return 0;
    }
    if value.is_nan() || value < 0.0 {
        return NAN as u64;
    }
    let bits = value.to_bits() as i64;
    let field = (bits >> 52) - 1023 + 127;
    let rest = bits & ((1 << 52) - 1);
    let half = 1i64 << 51;
    let up = rest > half || rest == half && field & 1 == 1;
    (field + i64::from(up)).clamp(0, NAN) as u64
}

/// An integer as a floating-point number's bits, rounded once.
pub(super) fn from_integer(magnitude: u64, negative: bool, width: u32, format: FloatFormat) -> u64 {
    let nearest = if width == 64 {
        magnitude as f64
    } else {
        // Rounding to odd keeps what the second rounding needs to know.
        let low = 0x7ff;
        let odd = if magnitude < 1 << 53 {
            magnitude
        } else {
            magnitude & !low | if magnitude & low == 0 { 0 } else { low + 1 }
        };
        odd as f64
    };
    encode(if negative { -nearest } else { nearest }, width, format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_narrow_value_comes_back() {
        let formats = [
            (16, FloatFormat::Ieee),
            (16, FloatFormat::BFloat16),
            (8, FloatFormat::Float8E4M3),
            (8, FloatFormat::Float8E5M2),
        ];
        for (width, format) in formats {
            for bits in 0..1u64 << width {
                let value = decode(bits, width, format);
                if value.is_nan() {
                    assert!(decode(encode(value, width, format), width, format).is_nan());
                } else {
                    assert_eq!(
                        encode(value, width, format),
                        bits,
                        "{bits:#x} of {format:?} is {value}"
                    );
                }
            }
        }
    }

    #[test]
    fn rounding_agrees_with_the_hardware() {
        let mut x = 0x0123_4567_89ab_cdefu64;
        for _ in 0..100_000 {
            x = x
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let value = f64::from_bits(x);
            let expected = value as f32;
            if !expected.is_nan() {
                assert_eq!(
                    encode(value, 32, FloatFormat::Ieee),
                    u64::from(expected.to_bits()),
                    "{value}"
                );
            }
            assert_eq!(
                from_integer(x, false, 32, FloatFormat::Ieee),
                u64::from((x as f32).to_bits()),
                "{x}"
            );
            let narrow = f32::from_bits((x >> 32) as u32);
            if !narrow.is_nan() {
                assert_eq!(decode(x >> 32, 32, FloatFormat::Ieee), f64::from(narrow));
            }
        }
    }

    #[test]
    fn what_is_too_large_is_infinite_or_no_number() {
        assert_eq!(encode(65520.0, 16, FloatFormat::Ieee), 0x7c00);
        assert_eq!(encode(65519.9, 16, FloatFormat::Ieee), 0x7bff);
        assert_eq!(encode(-1e9, 8, FloatFormat::Float8E4M3), 0xff);
        assert_eq!(encode(448.0, 8, FloatFormat::Float8E4M3), 0x7e);
    }
}
