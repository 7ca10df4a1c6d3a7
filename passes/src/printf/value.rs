//! One value as text, as C's printf writes it (C99, 7.19.6.1) in the C locale. Floats are rounded exactly, to the nearest and of two to the even.

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

/// As many significant digits as the precision says, in the style that is shorter, without zeros at the end but in the alternative form.
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

/// `h.hhhp+d` without its `0x`: the first digit is 1, or 0 for 0 and the numbers below the least normal one.
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
    use std::process::Command;

    const INTEGERS: [u64; 9] = [
        0,
        1,
        7,
        42,
        0x7fff_ffff,
        0xffff_ffff_8000_0000,
        u64::MAX,
        i64::MAX as u64,
        i64::MIN as u64,
    ];

    const FLOATS: [f64; 28] = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        0.5,
        2.5,
        0.25,
        0.125,
        9.5,
        99.5,
        0.1,
        1.0 / 3.0,
        123_456.789,
        999_999.5,
        9_999_995.0,
        0.000_123_456,
        0.000_099_999_95,
        1e15,
        1e17,
        1e100,
        1.797_693_134_862_315_7e308,
        2.225_073_858_507_201_4e-308,
        5e-324,
        6.103_515_625e-5,
        1.999_999_999,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];

    /// Those that become a power of ten with few digits.
    const GROWING: [f64; 5] = [9.5, 99.5, 999_999.5, 9_999_995.0, 0.000_099_999_95];

    /// Flags, widths and precisions before a conversion.
    fn forms() -> Vec<String> {
        let mut forms = Vec::new();
        for flags in ["", "-", "+", " ", "#", "0", "#0", "-#"] {
            for size in ["", "12", "25", ".", ".1", ".3", ".17", "14.2"] {
                forms.push(format!("%{flags}{size}"));
            }
        }
        forms
    }

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

    /// Lines of C, and what they are to print.
    fn cases() -> (String, Vec<(String, String)>) {
        let (mut program, mut wanted) = (String::new(), Vec::new());
        let mut case = |format: String, argument: String, text: String| {
            program.push_str(&format!("printf(\"{format}\\n\", {argument});\n"));
            wanted.push((format!("{format} of {argument}"), text));
        };
        for form in forms() {
            for letter in ["d", "u", "o", "x", "X"] {
                let format = format!("{form}l{letter}");
                for bits in INTEGERS {
                    let text = printed(|out| integer(out, &only(&format), bits));
                    case(format.clone(), format!("(long){bits:#x}ul"), text);
                }
            }
            for letter in ["f", "F", "e", "E", "g", "G", "a", "A"] {
                let format = format!("{form}{letter}");
                for value in FLOATS {
                    // Where rounding adds a digit, glibc loses the zeros that `#` keeps.
                    if letter.eq_ignore_ascii_case("g")
                        && form.contains('#')
                        && GROWING.contains(&value)
                    {
                        continue;
                    }
                    let text = printed(|out| float(out, &only(&format), value));
                    case(
                        format.clone(),
                        format!("of({:#x}ul)", value.to_bits()),
                        text,
                    );
                }
            }
        }
        for form in ["%", "%5", "%-5", "%.2", "%7.0", "%-7.20"] {
            let format = format!("{form}s");
            let text = printed(|out| string(out, &only(&format), b"wave"));
            case(format, "\"wave\"".to_owned(), text);
        }
        for format in ["%c", "%4c", "%-4c"] {
            let text = printed(|out| character(out, &only(format), b'w'));
            case(format.to_owned(), "'w'".to_owned(), text);
        }
        (program, wanted)
    }

    /// Beside the C library of the machine, where a compiler is installed.
    #[test]
    fn values_are_printed_as_c_prints_them() {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("p.c"), folder.path().join("p"));
        let (lines, wanted) = cases();
        let of =
            "static double of(unsigned long bits) { double d; memcpy(&d, &bits, 8); return d; }";
        let text = format!(
            "#include <stdio.h>\n#include <string.h>\n{of}\nint main(void) {{\n{lines}return 0;\n}}\n"
        );
        std::fs::write(&source, text).unwrap();
        let compiled = Command::new("cc")
            .args(["-O0", "-w", "-o"])
            .args([&program, &source])
            .status();
        if !compiled.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no C compiler");
            return;
        }
        let output = Command::new(&program).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let mut lines = printed.lines();
        for (what, text) in &wanted {
            assert_eq!(lines.next(), Some(text.as_str()), "{what}");
        }
        assert_eq!(lines.next(), None);
    }

    #[test]
    fn addresses_are_hexadecimal() {
        let text = |format, address| printed(|out| pointer(out, &only(format), address));
        assert_eq!(text("%p", 0), "0x0");
        assert_eq!(text("%8p|", 0xabc), "   0xabc");
    }
}
