//! The format strings of OpenCL C's printf, taken apart (OpenCL C 3.0, 6.15.14 "printf": C99's,
//! without `*`, `n`, `L` and wide characters, with vectors).
//!
//! Accepted beside the specification are C's `ll`, `j`, `z` and `t`, which are 64 bits here, and a
//! vector without a length modifier, whose components then have the 32 bits of `hl`.

use super::{Argument, Shape};

/// The greatest width and precision (C99 requires at least 4095 characters from one conversion,
/// 7.19.6.1).
pub const MOST_CHARACTERS: u32 = 4095;

/// A format string: literal text and conversions of arguments, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// The parts.
    pub pieces: Vec<Piece>,
}

/// A part of a format string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Printed as it stands.
    Text(Vec<u8>),
    /// The next argument.
    Conversion(Conversion),
}

/// A conversion of a format.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// `-`, `+`, space, `#` and `0`.
    pub flags: Flags,
    /// The least characters.
    pub width: u32,
    /// The precision; a period without a number is 0.
    pub precision: Option<u32>,
    /// Components of a vector; 1 for a scalar.
    pub lanes: u32,
    /// Bits of an integer that count: 8, 16, 32 or 64. Floats have their argument's.
    pub bits: u32,
    /// The style.
    pub style: Style,
    /// In capitals: `X`, `F`, `E`, `G`, `A`.
    pub upper: bool,
}

/// The flags of a conversion.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `-`: at the left of the field.
    pub left: bool,
    /// `+`: a sign before positive numbers, too.
    pub plus: bool,
    /// A space where a sign could be.
    pub space: bool,
    /// `#`: the alternative form.
    pub alternative: bool,
    /// `0`: leading zeros fill the field.
    pub zero: bool,
}

/// The style of a conversion.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Style {
    /// `d`, `i`.
    Signed,
    /// `u`.
    Unsigned,
    /// `o`.
    Octal,
    /// `x`, `X`.
    Hexadecimal,
    /// `f`, `F`.
    Fixed,
    /// `e`, `E`.
    Exponent,
    /// `g`, `G`.
    Shorter,
    /// `a`, `A`.
    HexadecimalFloat,
    /// `c`.
    Character,
    /// `s`.
    String,
    /// `p`.
    Pointer,
}

impl Conversion {
    /// The argument that the conversion takes. A float's bits are those of the value that is given:
    /// 64, or 32 for all others.
    pub fn argument(&self, float_bits: u32) -> Argument {
        let (shape, bits) = match self.style {
            Style::Signed | Style::Unsigned | Style::Octal | Style::Hexadecimal => {
                (Shape::Integer, self.bits.max(32))
            }
            Style::Character => (Shape::Integer, 32),
            Style::Fixed | Style::Exponent | Style::Shorter | Style::HexadecimalFloat => {
                (Shape::Float, if float_bits == 64 { 64 } else { 32 })
            }
            Style::String => (Shape::String, 32),
            Style::Pointer => (Shape::Pointer, 64),
        };
        Argument {
            shape,
            bits,
            lanes: self.lanes,
        }
    }

    /// Returns true if the integer that it prints has a sign.
    pub fn is_signed(&self) -> bool {
        self.style == Style::Signed
    }
}

/// Why a format string cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The conversion, as it is written.
    pub conversion: String,
    /// The problem, as a clause after its name.
    pub why: &'static str,
}

impl Format {
    /// Takes a format string apart.
    ///
    /// # Errors
    /// The first conversion that OpenCL C does not have.
    pub fn parse(text: &[u8]) -> Result<Format, Problem> {
        let mut pieces = Vec::new();
        let mut plain = Vec::new();
        let mut rest = text;
        while let Some((first, after)) = rest.split_first() {
            match (first, after.first()) {
                (b'%', Some(b'%')) => {
                    plain.push(b'%');
                    rest = after.get(1..).unwrap_or_default();
                }
                (b'%', _) => {
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    let mut reader = Reader { rest: after };
                    let conversion = reader.conversion().map_err(|why| {
                        let length = rest.len() - reader.rest.len();
                        let written = rest.get(..length).unwrap_or(rest);
                        Problem {
                            conversion: String::from_utf8_lossy(written).into_owned(),
                            why,
                        }
                    })?;
                    pieces.push(Piece::Conversion(conversion));
                    rest = reader.rest;
                }
                _ => {
                    plain.push(*first);
                    rest = after;
                }
            }
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Format { pieces })
    }

    /// The conversions, in order.
    pub fn conversions(&self) -> impl Iterator<Item = &Conversion> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Conversion(conversion) => Some(conversion),
        })
    }
}

struct Reader<'t> {
    rest: &'t [u8],
}

impl Reader<'_> {
    /// Takes `text` off the front, if it stands there.
    fn take(&mut self, text: &[u8]) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn number(&mut self) -> Result<Option<u32>, &'static str> {
        let digits = self.rest.iter().take_while(|c| c.is_ascii_digit()).count();
        let (number, rest) = self.rest.split_at_checked(digits).unwrap_or_default();
        self.rest = rest;
        let add = |n: u32, c: &u8| n.checked_mul(10)?.checked_add(u32::from(c - b'0'));
        match number.iter().try_fold(0, add) {
            Some(n) if n <= MOST_CHARACTERS => Ok((digits > 0).then_some(n)),
            _ => Err("has more than 4095 characters"),
        }
    }

    fn flags(&mut self) -> Flags {
        let mut flags = Flags::default();
        loop {
            let flag = match self.rest.first() {
                Some(b'-') => &mut flags.left,
                Some(b'+') => &mut flags.plus,
                Some(b' ') => &mut flags.space,
                Some(b'#') => &mut flags.alternative,
                Some(b'0') => &mut flags.zero,
                _ => return flags,
            };
            *flag = true;
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
    }

    /// What follows the percent sign.
    fn conversion(&mut self) -> Result<Conversion, &'static str> {
        const NO_ASTERISK: &str =
            "takes its width or precision from an argument, which OpenCL C does not have";
        let flags = self.flags();
        if self.take(b"*") {
            return Err(NO_ASTERISK);
        }
        let width = self.number()?.unwrap_or(0);
        let mut precision = None;
        if self.take(b".") {
            if self.take(b"*") {
                return Err(NO_ASTERISK);
            }
            precision = Some(self.number()?.unwrap_or(0));
        }
        let mut lanes = 1;
        if self.take(b"v") {
            lanes = self.number()?.unwrap_or(0);
            if ![2, 3, 4, 8, 16].contains(&lanes) {
                return Err("has a vector of a size that OpenCL C does not have");
            }
        }
        let length = self.length();
        let (specifier, rest) = self.rest.split_first().ok_or("has no end")?;
        self.rest = rest;
        let style = match specifier {
            b'd' | b'i' => Style::Signed,
            b'u' => Style::Unsigned,
            b'o' => Style::Octal,
            b'x' | b'X' => Style::Hexadecimal,
            b'f' | b'F' => Style::Fixed,
            b'e' | b'E' => Style::Exponent,
            b'g' | b'G' => Style::Shorter,
            b'a' | b'A' => Style::HexadecimalFloat,
            b'c' => Style::Character,
            b's' => Style::String,
            b'p' => Style::Pointer,
            b'n' => return Err("writes through a pointer, which OpenCL C does not have"),
            _ => return Err("is not a conversion of OpenCL C"),
        };
        let alone = matches!(style, Style::Character | Style::String | Style::Pointer);
        if alone && (length != Length::None || lanes != 1) {
            return Err("has a vector or a length modifier, and c, s and p have none in OpenCL C");
        }
        if length == Length::Component && lanes == 1 {
            return Err("has the length modifier hl, which is for vectors");
        }
        Ok(Conversion {
            flags,
            width,
            precision,
            lanes,
            bits: match length {
                Length::Char => 8,
                Length::Short => 16,
                Length::None | Length::Component => 32,
                Length::Long => 64,
            },
            style,
            upper: specifier.is_ascii_uppercase(),
        })
    }

    fn length(&mut self) -> Length {
        const LENGTHS: [(&[u8], Length); 8] = [
            (b"hh", Length::Char),
            (b"hl", Length::Component),
            (b"h", Length::Short),
            (b"ll", Length::Long),
            (b"l", Length::Long),
            (b"j", Length::Long),
            (b"z", Length::Long),
            (b"t", Length::Long),
        ];
        let found = LENGTHS.iter().find(|(text, _)| self.take(text));
        found.map_or(Length::None, |(_, length)| *length)
    }
}

/// A length modifier.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Length {
    None,
    Char,
    Short,
    /// `hl`.
    Component,
    Long,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use pretty_assertions::assert_eq;

    fn conversion(text: &str) -> Conversion {
        let format = Format::parse(text.as_bytes()).unwrap();
        let [Piece::Conversion(conversion)] = format.pieces[..] else {
            panic!("{text} has other parts")
        };
        conversion
    }

    #[test]
    fn text_and_conversions_alternate() {
        let format = Format::parse(b"100%% of %d, %s\n").unwrap();
        let text = |text: &str| Piece::Text(text.into());
        assert_eq!(
            format.pieces,
            [
                text("100% of "),
                Piece::Conversion(conversion("%d")),
                text(", "),
                Piece::Conversion(conversion("%s")),
                text("\n"),
            ]
        );
        assert_eq!(Format::parse(b"").unwrap().pieces, []);
    }

    #[test]
    fn every_part_of_a_conversion_is_read() {
        let all = conversion("%-+ #012.7v4hlG");
        let flags = Flags {
            left: true,
            plus: true,
            space: true,
            alternative: true,
            zero: true,
        };
        assert_eq!(
            all,
            Conversion {
                flags,
                width: 12,
                precision: Some(7),
                lanes: 4,
                bits: 32,
                style: Style::Shorter,
                upper: true,
            }
        );
        assert_eq!(conversion("%.f").precision, Some(0));
        assert_eq!(conversion("%hhd").bits, 8);
        assert_eq!(conversion("%v16hx").bits, 16);
        for long in ["%ld", "%lld", "%zu", "%jd", "%tx"] {
            assert_eq!(conversion(long).bits, 64, "{long}");
        }
    }

    #[test]
    fn arguments_have_the_width_of_their_conversion() {
        let argument = |text, bits| conversion(text).argument(bits).to_string();
        assert_eq!(argument("%d", 32), "i32");
        assert_eq!(argument("%hhd", 32), "i32");
        assert_eq!(argument("%lu", 32), "i64");
        assert_eq!(argument("%f", 64), "f64");
        assert_eq!(argument("%f", 32), "f32");
        assert_eq!(argument("%v3hf", 16), "f32x3");
        assert_eq!(argument("%v8lx", 32), "i64x8");
        assert_eq!(argument("%c", 32), "i32");
        assert_eq!(argument("%s", 32), "string");
        assert_eq!(argument("%p", 32), "pointer");
    }

    #[test]
    fn what_opencl_c_does_not_have_is_named() {
        for (text, conversion, why) in [
            ("a%n", "%n", "pointer"),
            ("%*d", "%*", "argument"),
            ("%.*f", "%.*", "argument"),
            ("%ls", "%ls", "length"),
            ("%hld", "%hld", "vectors"),
            ("%v5d", "%v5", "size"),
            ("%Lf", "%L", "not a conversion"),
            ("%D", "%D", "not a conversion"),
            ("%", "%", "no end"),
            ("%5", "%5", "no end"),
            ("%4096d", "%4096", "4095"),
            ("%99999999999d", "%99999999999", "4095"),
        ] {
            let problem = Format::parse(text.as_bytes()).unwrap_err();
            assert_eq!(problem.conversion, conversion, "{text}");
            assert!(problem.why.contains(why), "{text}: {}", problem.why);
        }
    }
}
