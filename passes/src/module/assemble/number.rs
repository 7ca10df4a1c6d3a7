//! Numbers as text: integers in decimal and hexadecimal, floating-point numbers in decimal and in
//! C's hexadecimal notation.

/// An integer of at most `width` bits as its two's complement in 64 bits; `None` if it is no
/// integer or does not fit.
pub(super) fn integer(text: &str, width: u32) -> Option<u64> {
    let (negative, digits) = sign(text);
    let magnitude = match digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        Some(hex) if !hex.starts_with('+') => u64::from_str_radix(hex, 16).ok()?,
        None if digits.starts_with(|c: char| c.is_ascii_digit()) => digits.parse().ok()?,
        _ => return None, // no digits
    };
    let most = match (negative, width) {
        (false, 64..) => u64::MAX,
        (false, width) => (1 << width) - 1,
        (true, width) => 1 << (width.clamp(1, 64) - 1),
    };
    (magnitude <= most).then(|| {
        if negative {
            magnitude.wrapping_neg()
        } else {
            magnitude
        }
    })
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    }
}

/// The bits of a floating-point number of 16, 32 or 64 bits in IEEE 754.
pub(super) fn float(text: &str, width: u32) -> Option<u64> {
    let (negative, digits) = sign(text);
    if digits.starts_with("0x") || digits.starts_with("0X") {
        let (exponent_bits, fraction_bits) = layout(width)?;
        let magnitude = hexadecimal(digits.get(2..)?, exponent_bits, fraction_bits)?;
        return Some(magnitude | u64::from(negative) << (width - 1));
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    match width {
        16 => Some(u64::from(half(text.parse().ok()?))),
        32 => Some(u64::from(text.parse::<f32>().ok()?.to_bits())),
        64 => Some(text.parse::<f64>().ok()?.to_bits()),
        _ => None, // no decimal notation
    }
}

/// Bits of exponent and fraction.
fn layout(width: u32) -> Option<(u32, u32)> {
    match width {
        16 => Some((5, 10)),
        32 => Some((8, 23)),
        64 => Some((11, 52)),
        _ => None, // not of IEEE 754
    }
}

/// `1.8p-2` as bits. The exponent one above the largest stands for infinity and NaN, as the
/// disassembler of SPIRV-Tools writes them. What needs rounding is refused.
fn hexadecimal(text: &str, exponent_bits: u32, fraction_bits: u32) -> Option<u64> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{part}");
    let value = u64::from_str_radix(digits.trim_start_matches('0'), 16)
        .or_else(|_| {
            if digits.trim_start_matches('0').is_empty() {
                Ok(0)
            } else {
                Err(())
            }
        })
        .ok()?;
    if value == 0 {
        return Some(0);
    }
    let top = 63 - value.leading_zeros();
    let exponent: i64 = exponent.parse().ok()?;
    // The value is 1.fraction * 2^scale.
    let scale = exponent.checked_add(i64::from(top) - 4 * i64::try_from(part.len()).ok()?)?;
    let bias = (1i64 << (exponent_bits - 1)) - 1;
    let biased = scale.checked_add(bias)?;
    if biased > 2 * bias + 1 {
        return None;
    }
    // Subnormal numbers keep their leading one, and have it further down.
    let below = if biased > 0 { 0 } else { 1 - biased };
    let shift = i64::from(fraction_bits) - i64::from(top) - below;
    let fraction = if shift >= 0 {
        value << shift.min(63)
    } else {
        let cut = u32::try_from(-shift).ok().filter(|cut| *cut < 64)?;
        (value >> cut << cut == value).then_some(value >> cut)?
    };
    let fraction = if biased > 0 {
        fraction & !(1 << fraction_bits)
    } else {
        fraction
    };
    Some(u64::try_from(biased.max(0)).ok()? << fraction_bits | fraction)
}

/// The nearest half, ties to even.
fn half(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let value = value.abs();
    if value >= 65520.0 {
        return sign | 0x7c00;
    }
    // The step between halves around the value; a power of two, so that the division is exact.
    let exponent = if value < 2f64.powi(-14) {
        -14
    } else {
        i32::try_from(value.to_bits() >> 52).unwrap_or(0) - 1023
    };
    let steps = (value / 2f64.powi(exponent - 10)).round_ties_even();
    // Steps from 2^10 on carry into the exponent by themselves.
    let number = f64::from(exponent + 14) * 1024.0 + steps;
    sign | number as u16 // below 0x7c00, as the value is below 65520
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_to_even() {
        for (value, bits) in [
            (0.0, 0),
            (1.0, 0x3c00),
            (65504.0, 0x7bff),
            (65519.0, 0x7bff),
            (65520.0, 0x7c00),
            (2f64.powi(-24), 1),
            (2f64.powi(-25), 0),
            (2049.0, 0x6800),
            (-1.5, 0xbe00),
        ] {
            assert_eq!(half(value), bits, "{value}");
        }
    }

    #[test]
    fn hexadecimal_floats_are_exact() {
        assert_eq!(
            float("0x1.921fb6p+1", 32),
            Some(u64::from(std::f32::consts::PI.to_bits()))
        );
        assert_eq!(float("0x1p-149", 32), Some(1));
        assert_eq!(float("0x1.8p+128", 32), Some(0x7fc0_0000));
        assert_eq!(float("0x1p-1074", 64), Some(1));
        assert_eq!(float("0x1.0000001p+0", 32), None, "it needs rounding");
        assert_eq!(float("nan", 32), None);
    }

    #[test]
    fn integers_fit_their_width() {
        assert_eq!(integer("0xffffffff", 32), Some(0xffff_ffff));
        assert_eq!(integer("4294967296", 32), None);
        assert_eq!(integer("-2147483648", 32), Some(i64::from(i32::MIN) as u64));
        assert_eq!(integer("-2147483649", 32), None);
        assert_eq!(integer("+1", 32), None);
        assert_eq!(integer("", 32), None);
    }
}
