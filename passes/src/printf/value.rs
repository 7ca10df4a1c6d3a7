//! One value as text, as C's printf writes it (C99, 7.19.6.1) in the C locale. Floats are rounded
//! exactly, to the nearest and of two to the even.

use super::format::{Conversion, Style};

/// Digits behind the point where the format does not say how many.
const USUAL_DIGITS: usize = 6;
/// Hexadecimal digits of the fraction of a double.
const FRACTION_DIGITS: u32 = 13;

/// Writes an integer of 64 bits, extended with its sign for the conversions that have one.
pub(super) fn integer(out: &mut Vec<u8>, conversion: &Conversion, bits: u64) {
    let signed = bits as i64;
    let (magnitude, prefix) = match conversion.style {
        Style::Signed => (signed.unsigned_abs(), sign(conversion, signed < 0)),
        _ => (bits, ""),
    };
    let mut digits = match conversion.style {
        Style::Octal => format!("{magnitude:o}"),
        Style::Hexadecimal if conversion.upper => format!("{magnitude:X}"),
        Style::Hexadecimal => format!("{magnitude:x}"),
        _ => magnitude.to_string(),
    };
    let least = conversion.precision.map_or(1, |digits| digits as usize);
    if least == 0 && magnitude == 0 {
        digits.clear();
    }
    let mut prefix = prefix.to_owned();
    let mut leading = least.saturating_sub(digits.len());
    if conversion.flags.alternative {
        match conversion.style {
            // The precision grows as far as it takes for the first digit to be 0.
            Style::Octal if leading == 0 && !digits.starts_with('0') => leading = 1,
            Style::Hexadecimal if magnitude != 0 => {
                prefix.push_str(if conversion.upper { "0X" } else { "0x" });
            }
            _ => {}
        }
    }
    digits.insert_str(0, &"0".repeat(leading));
    let zeros = conversion.flags.zero && conversion.precision.is_none();
    field(out, conversion, &prefix, digits.as_bytes(), zeros);
}

/// Writes the character of a byte.
pub(super) fn character(out: &mut Vec<u8>, conversion: &Conversion, byte: u8) {
    field(out, conversion, "", &[byte], false);
}

/// Writes a string, or as much of it as the precision says.
pub(super) fn string(out: &mut Vec<u8>, conversion: &Conversion, text: &[u8]) {
    let most = conversion
        .precision
        .map_or(text.len(), |most| most as usize);
    let text = text.get(..most).unwrap_or(text);
    field(out, conversion, "", text, false);
}

/// Writes an address: hexadecimal digits behind `0x`.
pub(super) fn pointer(out: &mut Vec<u8>, conversion: &Conversion, address: u64) {
    field(
        out,
        conversion,
        "",
        format!("{address:#x}").as_bytes(),
        false,
    );
}

/// Writes a double.
pub(super) fn float(out: &mut Vec<u8>, conversion: &Conversion, value: f64) {
    let mut prefix = sign(conversion, value.is_sign_negative()).to_owned();
    let size = value.abs();
    let digits = conversion.precision.map_or(USUAL_DIGITS, |p| p as usize);
    let mut text = match conversion.style {
        _ if value.is_nan() => "nan".to_owned(),
        _ if value.is_infinite() => "inf".to_owned(),
        Style::HexadecimalFloat => {
            prefix.push_str("0x");
            hexadecimal(conversion, size)
        }
        Style::Exponent => exponent(conversion, size, digits),
        Style::Shorter => shorter(conversion, size, digits.max(1)),
        _ => pointed(conversion, format!("{size:.digits$}"), digits),
    };
    if conversion.upper {
        text.make_ascii_uppercase();
        prefix.make_ascii_uppercase();
    }
    let zeros = conversion.flags.zero && value.is_finite();
    field(out, conversion, &prefix, text.as_bytes(), zeros);
}

fn sign(conversion: &Conversion, negative: bool) -> &'static str {
    match (negative, conversion.flags.plus, conversion.flags.space) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        (false, false, false) => "",
    }
}

/// A number without digits behind the point keeps the point in the alternative form.
fn pointed(conversion: &Conversion, mut number: String, digits: usize) -> String {
    if digits == 0 && conversion.flags.alternative {
        number.push('.');
    }
    number
}

/// The mantissa with `digits` behind the point, and the exponent of ten.
fn scientific(size: f64, digits: usize) -> (String, i32) {
    let text = format!("{size:.digits$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa.to_owned(), exponent.parse().unwrap_or(0)),
        None => (text, 0),
    }
}

/// `d.ddde+dd`: at least two digits of the exponent.
fn exponent(conversion: &Conversion, size: f64, digits: usize) -> String {
    let (mantissa, exponent) = scientific(size, digits);
    let mantissa = pointed(conversion, mantissa, digits);
    format!("{mantissa}e{exponent:+03}")
}

/// As many significant digits as the precision says, in the style that is shorter, without zeros at
/// the end but in the alternative form.
fn shorter(conversion: &Conversion, size: f64, significant: usize) -> String {
    let (mantissa, exponent) = scientific(size, significant - 1);
    let fixed = (-4..significant as i32).contains(&exponent);
    let (number, tail) = if fixed {
        let behind = (significant as i32 - 1 - exponent) as usize;
        let number = pointed(conversion, format!("{size:.behind$}"), behind);
        (number, String::new())
    } else {
        let number = pointed(conversion, mantissa, significant - 1);
        (number, format!("e{exponent:+03}"))
    };
    let number = if conversion.flags.alternative || !number.contains('.') {
        number.as_str()
    } else {
        number.trim_end_matches('0').trim_end_matches('.')
    };
    format!("{number}{tail}")
}

/// `h.hhhp+d` without its `0x`: the first digit is 1, or 0 for 0 and the numbers below the least
/// normal one.
fn hexadecimal(conversion: &Conversion, size: f64) -> String {
    let bits = size.to_bits();
    let (biased, fraction) = (bits >> 52, bits & ((1 << 52) - 1));
    let exponent = match (biased, fraction) {
        (0, 0) => 0,
        (0, _) => -1022,
        _ => biased as i64 - 1023,
    };
    let mut mantissa = fraction | u64::from(biased != 0) << 52;
    let digits = match conversion.precision {
        Some(digits) => {
            let dropped = 4 * FRACTION_DIGITS.saturating_sub(digits);
            mantissa = round_off(mantissa, dropped);
            digits as usize
        }
        None => (FRACTION_DIGITS - fraction.trailing_zeros().min(52) / 4) as usize,
    };
    let (first, rest) = (mantissa >> 52, mantissa & ((1 << 52) - 1));
    let all = format!("{rest:013x}");
    let behind = format!("{:0<digits$}", all.get(..digits).unwrap_or(&all));
    let point = if digits > 0 || conversion.flags.alternative {
        "."
    } else {
        ""
    };
    format!("{first}{point}{behind}p{exponent:+}")
}

/// The mantissa with its low `dropped` bits (at most 52) rounded away: they become 0.
fn round_off(mantissa: u64, dropped: u32) -> u64 {
    if dropped == 0 {
        return mantissa;
    }
    let unit = 1u64 << dropped;
    let low = mantissa & (unit - 1);
    let kept = mantissa - low;
    let odd = kept & unit != 0;
    if low > unit / 2 || (low == unit / 2 && odd) {
        kept + unit
    } else {
        kept
    }
}

/// Fills the field: spaces before or behind, or zeros between the prefix and the rest.
fn field(out: &mut Vec<u8>, conversion: &Conversion, prefix: &str, body: &[u8], zeros: bool) {
    let length = prefix.len() + body.len();
    let missing = (conversion.width as usize).saturating_sub(length);
    let fill = |out: &mut Vec<u8>, byte| out.extend(std::iter::repeat_n(byte, missing));
    let left = conversion.flags.left;
    if !left && !zeros {
        fill(out, b' ');
    }
    out.extend_from_slice(prefix.as_bytes());
    if !left && zeros {
        fill(out, b'0');
    }
    out.extend_from_slice(body);
    if left {
        fill(out, b' ');
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::printf::Format;

    fn only(text: &str) -> Conversion {
        *Format::parse(text.as_bytes())
            .unwrap()
            .conversions()
            .next()
            .unwrap()
    }

    fn printed(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn addresses_are_hexadecimal() {
        let text = |format, address| printed(|out| pointer(out, &only(format), address));
        assert_eq!(text("%p", 0), "0x0");
        assert_eq!(text("%8p|", 0xabc), "   0xabc");
    }
}
