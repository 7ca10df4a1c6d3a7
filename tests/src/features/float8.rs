//! Conversions of the 16-bit and 8-bit floats that have an encoding of their own: bfloat16, and
//! E4M3 and E5M2 of OCP.

use super::Feature;
use super::ty::{F16, F32, F64, Scalar, Ty, U8, U16, U32, power_of_two};
use super::want::Want::{self, Bits, OneOf};
use super::want::float;
use half::bf16;

/// A format of 8 bits.
#[derive(Copy, Clone)]
struct Format {
    name: &'static str,
    mantissa: u32,
    bias: i32,
    /// The code of the greatest finite number; the next one is infinity, or the first NaN.
    greatest: u64,
    infinite: bool,
}

const E4M3: Format = Format {
    name: "e4m3",
    mantissa: 3,
    bias: 7,
    greatest: 0x7e,
    infinite: false,
};

const E5M2: Format = Format {
    name: "e5m2",
    mantissa: 2,
    bias: 15,
    greatest: 0x7b,
    infinite: true,
};

impl Format {
    /// What a positive code means, also that beyond the greatest.
    fn magnitude(self, code: u64) -> f64 {
        let exponent = (code >> self.mantissa) as i32;
        let fraction = (code & ((1 << self.mantissa) - 1)) as f64 / f64::from(1 << self.mantissa);
        if exponent == 0 {
            fraction * power_of_two(1 - self.bias)
        } else {
            (1.0 + fraction) * power_of_two(exponent - self.bias)
        }
    }

    fn value(self, code: u64) -> f64 {
        let sign = if code & 0x80 == 0 { 1.0 } else { -1.0 };
        let code = code & 0x7f;
        if code <= self.greatest {
            sign * self.magnitude(code)
        } else if self.infinite && code == self.greatest + 1 {
            sign * f64::INFINITY
        } else {
            f64::NAN
        }
    }

    /// The code of the nearest number, of two the even one.
    fn code(self, value: f64, saturated: bool) -> Want {
        if value.is_nan() {
            let first = self.greatest + 1 + u64::from(self.infinite);
            return OneOf((first..=0x7f).flat_map(|c| [c, c | 0x80]).collect());
        }
        let sign = u64::from(value.is_sign_negative()) << 7;
        let distance = |code: u64| (self.magnitude(code) - value.abs()).abs();
        let nearest = (0..=self.greatest + 1)
            .min_by(|a, b| {
                let order = distance(*a).total_cmp(&distance(*b));
                order.then((a % 2).cmp(&(b % 2)))
            })
            .unwrap_or(0);
        let beyond = value.is_infinite() || nearest > self.greatest;
        match beyond {
            true if saturated => Bits(self.greatest | sign),
            true if self.infinite => Bits((self.greatest + 1) | sign),
            true => OneOf(vec![0x7f, 0xff]),
            false => Bits(nearest | sign),
        }
    }
}

/// From a format to a float: all codes.
fn widened(format: Format, to: Scalar) -> Feature {
    let body = format!(
        "$x = OpBitcast %{0} $a\n$r = OpFConvert %{1} $x",
        format.name,
        to.name()
    );
    let feature = Feature::new(
        "OpFConvert",
        &[U8.into()],
        &[to.into()],
        &body,
        move |row| vec![float(to, format.value(row[0]))],
    );
    feature
        .called(&format!("{}.{}", format.name, to.name()))
        .with_inputs((0..256).map(|code| vec![code]).collect())
}

/// From a float to a format: every number of it, the middle between it and the next, and what is
/// just to both sides of that.
fn narrowed(from: Scalar, format: Format, saturated: bool) -> Feature {
    let four = |scalar| Ty::vector(scalar, 4);
    let body = format!(
        "$x = OpFConvert %{}v4 $a\n$r = OpBitcast %u8v4 $x",
        format.name
    );
    let step = if from == F64 {
        power_of_two(-40)
    } else {
        power_of_two(1 - from.precision())
    };
    let inputs = (0..256u64)
        .map(|code| {
            let sign = if code & 0x80 == 0 { 1.0 } else { -1.0 };
            let code = code & 0x7f;
            let values = if code > format.greatest {
                [f64::INFINITY, f64::NAN, 60000.0, format.magnitude(1) / 4.0]
            } else {
                let (this, next) = (format.magnitude(code), format.magnitude(code + 1));
                let middle = this.midpoint(next);
                [this, middle, middle * (1.0 + step), middle * (1.0 - step)]
            };
            values.iter().map(|v| from.bits_of(sign * v)).collect()
        })
        .collect();
    let host = move |row: &[u64]| {
        row.iter()
            .map(|bits| format.code(from.float(*bits), saturated))
            .collect()
    };
    let mut feature = Feature::new("OpFConvert", &[four(from)], &[four(U8)], &body, host);
    let mut name = format!("{}.{}", from.name(), format.name);
    if saturated {
        feature.decorate = "OpDecorate $x SaturatedToLargestFloat8NormalConversionEXT\n".to_owned();
        name.push_str(".saturated");
    }
    feature.called(&name).with_inputs(inputs)
}

/// To and from integers.
fn integers(format: Format) -> [Feature; 2] {
    let body = format!(
        "$x = OpConvertSToF %{} $a\n$r = OpBitcast %u8 $x",
        format.name
    );
    let from = Feature::new(
        "OpConvertSToF",
        &[U32.into()],
        &[U8.into()],
        &body,
        move |row| vec![format.code(f64::from(row[0] as u32 as i32), false)],
    );
    let body = format!(
        "$x = OpBitcast %{} $a\n$r = OpConvertFToS %u32 $x",
        format.name
    );
    let to = Feature::new(
        "OpConvertFToS",
        &[U8.into()],
        &[U32.into()],
        &body,
        move |row| {
            let value = format.value(row[0]);
            vec![if value.is_finite() {
                Bits(u64::from(value as i32 as u32))
            } else {
                Want::Any
            }]
        },
    );
    let codes = (0..256).map(|code| vec![code]).collect();
    [
        from.called(&format!("u32.{}", format.name)),
        to.called(&format!("{}.u32", format.name))
            .with_inputs(codes),
    ]
}

/// The features of this family.
pub(super) fn features() -> Vec<Feature> {
    let mut features = Vec::new();
    for format in [E4M3, E5M2] {
        for scalar in [F16, F32, F64] {
            features.push(widened(format, scalar));
            features.push(narrowed(scalar, format, false));
            features.push(narrowed(scalar, format, true));
        }
        features.extend(integers(format));
    }
    let body = "$x = OpFConvert %bf16 $a\n$r = OpBitcast %u16 $x";
    let narrow = Feature::new("OpFConvert", &[F32.into()], &[U16.into()], body, |row| {
        let value = bf16::from_f32(f32::from_bits(row[0] as u32));
        let nans = (0x7f81..=0x7fff).flat_map(|c| [c, c | 0x8000]).collect();
        vec![if value.is_nan() {
            OneOf(nans)
        } else {
            Bits(value.to_bits().into())
        }]
    });
    features.push(narrow.called("f32.bf16"));
    let body = "$x = OpBitcast %bf16 $a\n$r = OpFConvert %f32 $x";
    let widen = Feature::new("OpFConvert", &[U16.into()], &[F32.into()], body, |row| {
        vec![float(F32, bf16::from_bits(row[0] as u16).to_f64())]
    });
    features.push(widen.called("bf16.f32"));
    features
}
