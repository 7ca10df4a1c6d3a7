//! Values for specialization constants as people write them: `ID=VALUE`.
//!
//! The text alone does not say what bits it means: `1` is another word for an integer than for a
//! float. So reading has two steps, the text ([`Setting`]) and, once the module is known, the bits
//! ([`resolve`]).

use serde::{Deserialize, Serialize};
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::{Declarations, FloatFormat, Id, Module, SpecValues, Type};
use std::collections::BTreeMap;
use std::str::FromStr;

/// A value as it is written.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Literal {
    /// `true` or `false`.
    Bool(bool),
    /// Decimal digits, perhaps with a sign.
    Integer(i128),
    /// `0x` and hexadecimal digits: the bits themselves, whatever the type.
    Bits(u64),
    /// A number with a point or an exponent, `inf` or `nan`.
    Float(f64),
}

/// `ID=VALUE`: a value for the specialization constants decorated with `SpecId ID`.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The SpecId.
    pub id: u32,
    /// The value.
    pub value: Literal,
}

impl FromStr for Literal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "true" => return Ok(Literal::Bool(true)),
            "false" => return Ok(Literal::Bool(false)),
            _ => {} // a number, or an error
        }
        if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            return u64::from_str_radix(digits, 16)
                .map(Literal::Bits)
                .map_err(|error| {
                    format!("{text:?} is not a hexadecimal number of at most 64 bits: {error}")
                });
        }
        if let Ok(number) = text.parse::<i128>() {
            return Ok(Literal::Integer(number));
        }
        text.parse::<f64>()
            .map(Literal::Float)
            .map_err(|_| format!("{text:?} is not a number, true or false"))
    }
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (id, value) = text
            .split_once('=')
            .ok_or_else(|| format!("{text:?} is not ID=VALUE, for example 3=64"))?;
        let id = id.parse().map_err(|_| {
            format!("{id:?} is not a SpecId, a number such as the 3 of `layout(constant_id = 3)`")
        })?;
        Ok(Setting {
            id,
            value: value.parse()?,
        })
    }
}

/// The bits of each setting, by the type of the constant that has its SpecId. A SpecId that the
/// module does not have is passed on as it is: the module's reader reports it. Of two settings of
/// one id the later counts.
///
/// # Errors
/// `BadSpecValue` for every setting whose value does not fit.
pub fn resolve(
    declarations: &Declarations<'_>,
    settings: &[Setting],
) -> Result<SpecValues, Diagnostics> {
    let types = spec_types(declarations);
    let mut values = SpecValues::default();
    let mut misfits = Diagnostics::new();
    for setting in settings {
        let ty = types.get(&setting.id).and_then(|ty| declarations.ty(*ty));
        match bits(setting.value, ty) {
            Ok(bits) => {
                values.0.insert(setting.id, bits);
            }
            Err(why) => misfits.push(Diagnostic::error(
                Code::BadSpecValue,
                format!("specialization constant {}: {why}", setting.id),
            )),
        }
    }
    if misfits.is_empty() {
        Ok(values)
    } else {
        Err(misfits)
    }
}

/// As [`resolve`], for the module in `bytes`. What is wrong with the module itself is for those to
/// report that read it for more.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_for(bytes: &[u8], settings: &[Setting]) -> Result<SpecValues, Diagnostics> {
    if settings.is_empty() {
        return Ok(SpecValues::default());
    }
    match Module::parse(bytes) {
        Ok(module) => resolve(
            &Declarations::new(&module, &mut Diagnostics::new()),
            settings,
        ),
        Err(_) => Ok(SpecValues::default()),
    }
}

/// The type of the constant with each SpecId.
fn spec_types(declarations: &Declarations<'_>) -> BTreeMap<u32, Id> {
    let mut types = BTreeMap::new();
    for inst in declarations.module.instructions() {
        let is_scalar = matches!(
            inst.op(),
            Some(
                spirv::Op::SpecConstant
                    | spirv::Op::SpecConstantTrue
                    | spirv::Op::SpecConstantFalse
            )
        );
        if is_scalar
            && let (Some(result), Some(ty)) = (inst.result(), inst.result_type())
            && let Some(id) = declarations.decoration(result, spirv::Decoration::SpecId)
        {
            types.insert(id, ty);
        }
    }
    types
}

/// The bits of `value` for a constant of type `ty`; `None` stands for a constant that is not there.
fn bits(value: Literal, ty: Option<&Type>) -> Result<u64, String> {
    match ty {
        Some(Type::Bool) => match value {
            Literal::Bool(value) => Ok(u64::from(value)),
            Literal::Integer(0) | Literal::Bits(0) => Ok(0),
            Literal::Integer(1) | Literal::Bits(1) => Ok(1),
            Literal::Integer(_) | Literal::Bits(_) | Literal::Float(_) => {
                Err("it is a Boolean: use true or false".to_owned())
            }
        },
        Some(Type::Int { width, .. }) => integer_bits(value, *width),
        Some(Type::Float { width, format }) => match value {
            Literal::Bits(bits) => fits(bits, *width),
            Literal::Float(value) => float_bits(value, *width, *format),
            #[expect(
                clippy::cast_precision_loss,
                reason = "the nearest number is what is asked for"
            )]
            Literal::Integer(value) => float_bits(value as f64, *width, *format),
            Literal::Bool(_) => Err("it is a floating-point number".to_owned()),
        },
        // No scalar has another type; a constant that is not there takes whatever is said.
        _ => match value {
            Literal::Bool(value) => Ok(u64::from(value)),
            Literal::Float(value) => Ok(value.to_bits()),
            Literal::Bits(_) | Literal::Integer(_) => integer_bits(value, 64),
        },
    }
}

fn integer_bits(value: Literal, width: u32) -> Result<u64, String> {
    match value {
        Literal::Bits(bits) => fits(bits, width),
        Literal::Integer(value) => {
            let width = width.clamp(1, 64);
            let (least, most) = (-(1i128 << (width - 1)), (1i128 << width) - 1);
            if (least..=most).contains(&value) {
                let mask = u64::MAX >> (64 - width);
                // Two's complement in the constant's width, as the range just checked allows.
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "the low bits are what is asked for"
                )]
                Ok(value as u64 & mask)
            } else {
                Err(format!("{value} is not a {width}-bit integer"))
            }
        }
        Literal::Float(value) => Err(format!("it is an integer; {value} is not")),
        Literal::Bool(_) => Err("it is an integer; true and false are for Booleans".to_owned()),
    }
}

fn fits(bits: u64, width: u32) -> Result<u64, String> {
    if width >= 64 || bits >> width == 0 {
        Ok(bits)
    } else {
        Err(format!("{bits:#x} has more than {width} bits"))
    }
}

fn float_bits(value: f64, width: u32, format: FloatFormat) -> Result<u64, String> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounding to the constant's type is what is asked for"
    )]
    let single = value as f32;
    match (format, width) {
        (FloatFormat::Ieee, 64) => Ok(value.to_bits()),
        (FloatFormat::Ieee, 32) => Ok(u64::from(single.to_bits())),
        (FloatFormat::Ieee, 16) => Ok(round_to(value, 5, 10)),
        (FloatFormat::BFloat16, 16) => Ok(round_to(value, 8, 7)),
        _ => Err(format!(
            "a {width}-bit float of this format cannot be written in decimal: use its bits in hexadecimal"
        )),
    }
}

/// `value` rounded to nearest, ties to even, into sign, `exponent` bits and `mantissa` bits (IEEE
/// 754 interchange layout; narrower than f64).
fn round_to(value: f64, exponent: u32, mantissa: u32) -> u64 {
    let bits = value.to_bits();
    let sign = (bits >> 63) << (exponent + mantissa);
    let infinity = ((1u64 << exponent) - 1) << mantissa;
    if value.is_nan() {
        return sign | infinity | 1 << (mantissa - 1);
    }
    let magnitude = bits & !(1 << 63);
    if magnitude == 0 {
        return sign;
    }
    let bias = (1i64 << (exponent - 1)) - 1;
    // Subnormal doubles are far below everything that the narrow formats can hold, and round to
    // zero with the exponent taken at face value.
    let unbiased = (magnitude >> 52).cast_signed() - 1023;
    let significand = (magnitude & ((1 << 52) - 1)) | 1 << 52;
    if unbiased > bias {
        return sign | infinity;
    }
    // How many low bits of the 53-bit significand are dropped: more below the smallest normal
    // number.
    let below_normal = (1 - bias - unbiased).max(0);
    let dropped = i64::from(52 - mantissa) + below_normal;
    if dropped > 54 {
        return sign;
    }
    let kept = significand >> dropped;
    let rest = significand & ((1u64 << dropped) - 1);
    let half = 1u64 << (dropped - 1);
    let round_up = rest > half || (rest == half && kept & 1 == 1);
    // The leading one of `kept` adds one to the exponent field of a normal number; a carry out of
    // the rounding does the same. Below normal numbers the field is 0.
    let field = u64::try_from(unbiased + bias - 1).unwrap_or(0);
    sign | ((field << mantissa) + kept + u64::from(round_up)).min(infinity)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const U32: Type = Type::Int {
        width: 32,
        signed: false,
    };
    const I8: Type = Type::Int {
        width: 8,
        signed: true,
    };
    const F32: Type = Type::Float {
        width: 32,
        format: FloatFormat::Ieee,
    };
    const F16: Type = Type::Float {
        width: 16,
        format: FloatFormat::Ieee,
    };
    const BF16: Type = Type::Float {
        width: 16,
        format: FloatFormat::BFloat16,
    };

    fn value_bits(text: &str, ty: &Type) -> Result<u64, String> {
        bits(text.parse().unwrap(), Some(ty))
    }

    #[test]
    fn settings_as_written() {
        assert_eq!(
            "3=-64".parse(),
            Ok(Setting {
                id: 3,
                value: Literal::Integer(-64)
            })
        );
        assert_eq!(
            "0=0xff".parse(),
            Ok(Setting {
                id: 0,
                value: Literal::Bits(255)
            })
        );
        assert_eq!(
            "1=1e3".parse(),
            Ok(Setting {
                id: 1,
                value: Literal::Float(1000.0)
            })
        );
        assert_eq!(
            "1=false".parse(),
            Ok(Setting {
                id: 1,
                value: Literal::Bool(false)
            })
        );
        for wrong in [
            "3",
            "=3",
            "x=3",
            "3=",
            "3=abc",
            "3=0x",
            "3=0x1ffffffffffffffff",
            "-1=3",
        ] {
            assert!(wrong.parse::<Setting>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_take_the_type_of_the_constant() {
        assert_eq!(value_bits("1", &U32), Ok(1));
        assert_eq!(value_bits("-1", &U32), Ok(0xffff_ffff));
        assert_eq!(value_bits("-128", &I8), Ok(0x80));
        assert_eq!(value_bits("1", &F32), Ok(0x3f80_0000));
        assert_eq!(value_bits("0x3f800000", &F32), Ok(0x3f80_0000));
        assert_eq!(value_bits("1.5", &F32), Ok(0x3fc0_0000));
        assert_eq!(value_bits("true", &Type::Bool), Ok(1));
        for (text, ty) in [
            ("256", &I8),
            ("-129", &I8),
            ("1.5", &U32),
            ("true", &U32),
            ("2", &Type::Bool),
            ("0x100000000", &F32),
            ("4294967296", &U32),
        ] {
            assert!(value_bits(text, ty).is_err(), "{text}");
        }
    }

    #[test]
    fn half_precision_rounds_to_nearest_even() {
        let half = |value: f64| float_bits(value, 16, FloatFormat::Ieee).unwrap();
        assert_eq!(half(1.0), 0x3c00);
        assert_eq!(half(-2.0), 0xc000);
        assert_eq!(half(65504.0), 0x7bff);
        assert_eq!(half(65519.99), 0x7bff);
        assert_eq!(half(65520.0), 0x7c00);
        assert_eq!(half(f64::INFINITY), 0x7c00);
        assert_eq!(half(f64::NAN) & 0x7fff, 0x7e00);
        assert_eq!(half(2f64.powi(-24)), 0x0001);
        assert_eq!(half(2f64.powi(-25)), 0x0000);
        assert_eq!(half(1.5 * 2f64.powi(-25)), 0x0001);
        assert_eq!(half(2f64.powi(-14)), 0x0400);
        assert_eq!(half(2f64.powi(-14) - 2f64.powi(-26)), 0x0400);
        assert_eq!(half(1.0 + 2f64.powi(-11)), 0x3c00);
        assert_eq!(half(1.0 + 3.0 * 2f64.powi(-11)), 0x3c02);
        assert_eq!(half(5e-324), 0);
        assert_eq!(value_bits("1.0", &BF16), Ok(0x3f80));
        assert_eq!(value_bits("0.1", &F16), Ok(0x2e66));
    }
}
