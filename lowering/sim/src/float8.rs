//! The 8-bit floats of OCP ("OCP 8-bit Floating Point Specification" 1.0): their numbers, and the
//! codes of numbers.

/// A format.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Float8 {
    /// Four bits of exponent; no infinity, one NaN of each sign.
    E4M3,
    /// Five bits of exponent: the upper half of a binary16.
    E5M2,
}

/// The code of a NaN, but for its sign; of E5M2 one of three.
pub(crate) const NAN: u8 = 0x7f;

impl Float8 {
    /// Bits of the significand that are written down.
    fn mantissa(self) -> u32 {
        match self {
            Float8::E4M3 => 3,
            Float8::E5M2 => 2,
        }
    }

    /// The exponent of the least normal number.
    fn least_exponent(self) -> i32 {
        match self {
            Float8::E4M3 => -6,
            Float8::E5M2 => -14,
        }
    }

    /// The code of the greatest finite number; the next one is NaN in E4M3, infinity in E5M2.
    fn greatest(self) -> u8 {
        match self {
            Float8::E4M3 => 0x7e,
            Float8::E5M2 => 0x7b,
        }
    }

    /// The number that a code means.
    pub(crate) fn number(self, code: u8) -> f64 {
        let mantissa = self.mantissa();
        let (sign, code) = (code >> 7, code & 0x7f);
        let magnitude = if code > self.greatest() {
            match self {
                Float8::E5M2 if code == self.greatest() + 1 => f64::INFINITY,
                Float8::E5M2 | Float8::E4M3 => f64::NAN,
            }
        } else {
            let (field, part) = (code >> mantissa, code & ((1 << mantissa) - 1));
            let hidden = if field == 0 { 0 } else { 1 << mantissa };
            let exponent = self.least_exponent() + i32::from(field.max(1)) - 1;
            f64::from(part + hidden) * 2f64.powi(exponent - mantissa as i32)
        };
        if sign == 1 { -magnitude } else { magnitude }
    }

    /// The code of the nearest number, of two the even one. What is too large becomes the greatest
    /// number if `saturated`, else the code behind it. A NaN is [`NAN`], without a sign.
    pub(crate) fn code(self, number: f64, saturated: bool) -> u8 {
        if number.is_nan() {
            return NAN;
        }
        let sign = u8::from(number.is_sign_negative()) << 7;
        let (mantissa, least) = (self.mantissa() as i32, self.least_exponent());
        let exponent = (number.to_bits() >> 52 & 0x7ff) as i32 - 1023;
        let exponent = exponent.clamp(least, 1000);
        // The hidden bit counts as one in the field of the exponent, and a carry as another.
        let units = (number.abs() * 2f64.powi(mantissa - exponent)).round_ties_even();
        let code = f64::from((exponent - least) << mantissa) + units;
        let greatest = self.greatest();
        sign | match code <= f64::from(greatest) {
            true => code as u8,
            false if saturated => greatest,
            false => greatest + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn every_number_comes_back() {
        for format in [Float8::E4M3, Float8::E5M2] {
            for code in 0..=u8::MAX {
                let number = format.number(code);
                if number.is_nan() {
                    assert_eq!(format.code(number, true), NAN);
                } else if number.is_finite() {
                    assert_eq!(format.code(number, true), code, "{number} of {format:?}");
                } else {
                    assert_eq!(format.code(number, false), code);
                    assert_eq!(format.code(number, true), code - 1);
                }
            }
        }
    }

    #[test]
    fn an_e5m2_is_half_of_a_binary16() {
        for code in 0..=u8::MAX {
            let half = f16::from_bits(u16::from(code) << 8).to_f64();
            let number = Float8::E5M2.number(code);
            assert!(half == number || half.is_nan() && number.is_nan());
        }
    }

    #[test]
    fn the_nearest_is_taken_and_of_two_the_even_one() {
        for (format, number, code) in [
            (Float8::E4M3, 464.0, 0x7e),
            (Float8::E4M3, 464.1, 0x7f),
            (Float8::E5M2, 61439.0, 0x7b),
            (Float8::E5M2, -61440.0, 0xfc),
            (Float8::E4M3, 17.0, 0x58),
            (Float8::E4M3, 19.0, 0x5a),
            (Float8::E4M3, 2f64.powi(-10), 0),
            (Float8::E4M3, 1.5 * 2f64.powi(-9), 2),
            (Float8::E4M3, -1e-300, 0x80),
            (Float8::E5M2, 1.1 * 2f64.powi(-17), 1),
        ] {
            assert_eq!(format.code(number, false), code, "{number} of {format:?}");
        }
    }
}
