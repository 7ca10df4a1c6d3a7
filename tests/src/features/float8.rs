//! Conversions of the floats that have an encoding of their own: bfloat16, E4M3 and E5M2 of OCP,
//! and its microscaling formats.

use super::feature::Feature;
use super::launch::INVOCATIONS;
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
    /// The value of a positive code, even above the maximum.
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

/// The number of values that are converted together, and the name of such a type.
type Lanes = (usize, &'static str);
const ONE: Lanes = (1, "");
const THREE: Lanes = (3, "v3");
const FOUR: Lanes = (4, "v4");

/// `lanes` numbers of a type.
fn of_lanes(scalar: Scalar, (lanes, _): Lanes) -> Ty {
    match lanes {
        1 => scalar.into(),
        _ => Ty::vector(scalar, lanes),
    }
}

/// From a format to a float: all codes, in each lane.
fn widened(format: Format, to: Scalar, lanes: Lanes) -> Feature {
    let (count, suffix) = lanes;
    let body = format!(
        "$x = OpBitcast %{0}{suffix} $a\n$r = OpFConvert %{1}{suffix} $x",
        format.name,
        to.name()
    );
    let feature = Feature::new(
        "OpFConvert",
        &[of_lanes(U8, lanes)],
        &[of_lanes(to, lanes)],
        &body,
        move |row| {
            let numbers = row.iter().map(|code| format.value(*code));
            numbers.map(|number| float(to, number)).collect()
        },
    );
    let inputs =
        (0..256).map(move |code| (0..count as u64).map(move |lane| (code + 67 * lane) & 0xff));
    feature
        .called(&format!("{}.{}{suffix}", format.name, to.name()))
        .with_inputs(inputs.map(Iterator::collect).collect())
}

/// From a float to a format: every number of it, the middle between it and the next, and what is
/// just to both sides of that; of fewer lanes than four the first of these, in turn.
fn narrowed(from: Scalar, format: Format, saturated: bool, lanes: Lanes) -> Feature {
    let (count, suffix) = lanes;
    let body = format!(
        "$x = OpFConvert %{}{suffix} $a\n$r = OpBitcast %u8{suffix} $x",
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
            let turned = (0..count).map(|lane| values[(lane + code as usize) % 4]);
            turned.map(|v| from.bits_of(sign * v)).collect()
        })
        .collect();
    let host = move |row: &[u64]| {
        row.iter()
            .map(|bits| format.code(from.float(*bits), saturated))
            .collect()
    };
    let types = [of_lanes(from, lanes), of_lanes(U8, lanes)];
    let [params, results] = types.each_ref().map(std::slice::from_ref);
    let mut feature = Feature::new("OpFConvert", params, results, &body, host);
    let mut name = format!("{}.{}{suffix}", from.name(), format.name);
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

/// A format of the microscaling types: its name, its bits, what a code means, and the code of a
/// number.
struct Micro {
    name: &'static str,
    bits: u32,
    value: fn(u64) -> f64,
    code: fn(f64) -> Want,
}

/// A number with these bits of exponent and mantissa, and no NaN.
fn plain(code: u64, exponent: u32, mantissa: u32) -> f64 {
    let sign = code >> (exponent + mantissa) & 1;
    let field = code >> mantissa & ((1 << exponent) - 1);
    let part = (code & ((1 << mantissa) - 1)) as f64 / f64::from(1 << mantissa);
    let bias = (1 << (exponent - 1)) - 1;
    let size = match field {
        0 => part * power_of_two(1 - bias),
        field => (1.0 + part) * power_of_two(field as i32 - bias),
    };
    if sign == 1 { -size } else { size }
}

/// The nearest of the codes, of two the even one; beyond the greatest that one.
fn nearest(x: f64, exponent: u32, mantissa: u32) -> Want {
    if x.is_nan() {
        return Want::Any;
    }
    let codes = 1u64 << (exponent + mantissa);
    let distance = |code: &u64| (plain(*code, exponent, mantissa) - x.abs().min(1e9)).abs();
    let best = (0..codes).min_by(|a, b| {
        let order = distance(a).total_cmp(&distance(b));
        order.then((a % 2).cmp(&(b % 2)))
    });
    let sign = if x.is_sign_negative() { codes } else { 0 };
    best.map_or(Want::Any, |code| Bits(code | sign))
}

fn power(code: u64) -> f64 {
    if code == 255 {
        f64::NAN
    } else {
        power_of_two(code as i32 - 127)
    }
}

fn power_code(x: f64) -> Want {
    if x.is_nan() || x < 0.0 || x >= 1.5 * power_of_two(127) {
        return Bits(255);
    }
    let distance = |code: &u64| (power(*code) - x).abs();
    let best = (0..255u64).min_by(|a, b| {
        let order = distance(a).total_cmp(&distance(b));
        order.then((a % 2).cmp(&(b % 2)))
    });
    best.map_or(Want::Any, Bits)
}

const MICRO: [Micro; 5] = [
    Micro {
        name: "e2m3",
        bits: 6,
        value: |code| plain(code, 2, 3),
        code: |x| nearest(x, 2, 3),
    },
    Micro {
        name: "e3m2",
        bits: 6,
        value: |code| plain(code, 3, 2),
        code: |x| nearest(x, 3, 2),
    },
    Micro {
        name: "e2m1",
        bits: 4,
        value: |code| plain(code, 2, 1),
        code: |x| nearest(x, 2, 1),
    },
    Micro {
        name: "e8m0",
        bits: 8,
        value: power,
        code: power_code,
    },
    Micro {
        name: "mxint8",
        bits: 8,
        value: |code| f64::from(code as u8 as i8) / 64.0,
        code: |x| match x {
            x if x.is_nan() => Want::Any,
            x => {
                let parts = (x * 64.0).round_ties_even().clamp(-128.0, 127.0);
                Bits(u64::from(parts as i8 as u8))
            }
        },
    },
];

/// From and to floats; two numbers out of the middle of a word, and eight through a vector.
fn micro(format: &'static Micro, all: &mut Vec<Feature>) {
    let (name, bits) = (format.name, format.bits);
    let codes = 1u64 << bits;
    for to in [F16, F32, F64] {
        if name == "e8m0" && to == F16 {
            continue; // few of its numbers are halves
        }
        let body = format!(
            "$x = OpBitcastExtractEXT %{name} $a %u32_0\n$r = OpFConvert %{} $x",
            to.name()
        );
        let feature = Feature::new(
            "OpFConvert",
            &[U16.into()],
            &[to.into()],
            &body,
            move |row| vec![float(to, (format.value)(row[0] & (codes - 1)))],
        );
        all.push(feature.called(&format!("{name}.{}", to.name())));
    }
    for from in [F32, F64] {
        let body = format!(
            "$v = OpCompositeConstruct %{}v4 $a $a $a $a\n$x = OpFConvert %{name}v4 $v\n\
             $w = OpBitcast %{} $x\n$r = OpUConvert %u32 $w",
            from.name(),
            if bits == 4 { "u16" } else { "u32" }
        );
        // Four of 6 bits are 24, which no integer of OpenCL has: three bytes.
        let body = match bits {
            6 => body
                .replace("OpBitcast %u32 $x", "OpBitcast %u8v3 $x")
                .replace(
                    "$r = OpUConvert %u32 $w",
                    "$w0 = OpCompositeExtract %u8 $w 0\n$r = OpUConvert %u32 $w0",
                ),
            8 => body.replace(
                "$r = OpUConvert %u32 $w",
                "$r = OpBitwiseAnd %u32 $w %u32_255",
            ),
            _ => body,
        };
        let inputs = (0..INVOCATIONS as u64).map(|row| {
            let code = (row / 2) & (codes - 1);
            let (this, next) = (
                (format.value)(code),
                (format.value)((code + 1) & (codes - 1)),
            );
            let value = match (row % 2, row) {
                (_, 0) => f64::NAN,
                (_, 2) => f64::INFINITY,
                (_, 4) => 1000.0,
                (_, 6) => -1000.0,
                (0, _) => this,
                _ => this.midpoint(next),
            };
            vec![from.bits_of(value)]
        });
        let feature = Feature::new(
            "OpFConvert",
            &[from.into()],
            &[U32.into()],
            &body,
            move |row| {
                let Bits(code) = (format.code)(from.float(row[0])) else {
                    return vec![Want::Any];
                };
                let four = (0..4).fold(0, |all, at| all | code << (at * bits));
                vec![Bits(match bits {
                    4 => four,
                    _ => four & 0xff,
                })]
            },
        );
        let feature = feature.with_inputs(inputs.collect());
        all.push(feature.called(&format!("{}.{name}", from.name())));
    }
    // Fields of a word at any offset, and back: the bits are the same.
    let body = format!(
        "$at = OpBitwiseAnd %u32 $b %u32_15\n$x = OpBitcastExtractEXT %{name} $a $at\n\
         $v = OpCompositeConstruct %{name}v4 $x $x $x $x\n$f = OpFConvert %f32v4 $v\n\
         $r = OpCompositeExtract %f32 $f 3"
    );
    let words = [U32.into(), U32.into()];
    let feature = Feature::new(
        "OpBitcastExtractEXT",
        &words,
        &[F32.into()],
        &body,
        move |row| {
            let code = row[0] >> (row[1] & 15) & (codes - 1);
            vec![float(F32, (format.value)(code))]
        },
    );
    all.push(feature.called(name));
}

/// The features of this family.
pub(super) fn features() -> Vec<Feature> {
    let mut features = Vec::new();
    for format in [E4M3, E5M2] {
        for scalar in [F16, F32, F64] {
            for lanes in [ONE, THREE, FOUR] {
                features.push(widened(format, scalar, lanes));
                for saturated in [false, true] {
                    features.push(narrowed(scalar, format, saturated, lanes));
                }
            }
        }
        features.extend(integers(format));
    }
    for format in &MICRO {
        micro(format, &mut features);
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
