//! Conversions between all pairs of types, saturating ones, rounding modes, bit casts.

use super::feature::Feature;
use super::ty::{F16, F32, F64, FLOATS, INTEGERS, Scalar, Ty, U8, U16, U32, U64};
use super::want::Want::{self, Any, Bits};
use super::want::float;
use std::cmp::Ordering;

fn pair(from: Scalar, to: Scalar) -> String {
    format!("{}.{}", from.name(), to.name())
}

fn convert(
    op: &str,
    from: Scalar,
    to: Scalar,
    host: impl Fn(u64) -> Want + Send + Sync + 'static,
) -> Feature {
    Feature::simple(op, &[from.into()], to.into(), move |row| host(row[0])).called(&pair(from, to))
}

/// `value` without its fraction, if an integer with these bounds holds it.
fn whole(value: f64, low: f64, high: f64) -> Option<f64> {
    let whole = value.trunc();
    // The upper bound is a power of two, which is not held any more.
    (whole >= low && whole < high).then_some(whole)
}

fn bounds(s: Scalar, signed: bool) -> (f64, f64) {
    let n = s.bits() as i32;
    if signed {
        (
            -super::ty::power_of_two(n - 1),
            super::ty::power_of_two(n - 1),
        )
    } else {
        (0.0, super::ty::power_of_two(n))
    }
}

/// A float as an integer; the result is undefined if the integer cannot represent it.
fn to_integer(value: f64, to: Scalar, signed: bool) -> Want {
    let (low, high) = bounds(to, signed);
    whole(value, low, high).map_or(Any, |whole| Bits(integer(whole, to, signed)))
}

/// The same, clamped; a NaN is 0.
fn to_integer_clamped(value: f64, to: Scalar, signed: bool) -> Want {
    let (low, high) = bounds(to, signed);
    let most = to.mask() >> u32::from(signed);
    Bits(match whole(value, low, high) {
        Some(whole) => integer(whole, to, signed),
        None if value.is_nan() => 0,
        None if value > 0.0 => most,
        None => integer(low, to, signed),
    })
}

fn integer(value: f64, to: Scalar, signed: bool) -> u64 {
    let bits = if signed {
        value as i64 as u64
    } else {
        value as u64
    };
    bits & to.mask()
}

/// An integer to a float, rounded once.
fn from_integer(bits: u64, from: Scalar, to: Scalar, signed: bool) -> Want {
    Bits(nearest(value(bits, from, signed), to))
}

fn value(bits: u64, from: Scalar, signed: bool) -> i128 {
    if signed {
        i128::from(from.signed(bits))
    } else {
        i128::from(bits)
    }
}

fn nearest(value: i128, to: Scalar) -> u64 {
    match to {
        // 53 bits hold all that is not beyond the halves.
        F16 => to.bits_of(value as f64),
        F32 => u64::from((value as f32).to_bits()),
        _ => (value as f64).to_bits(),
    }
}

/// Whether a number that lies thus to the integer, whose sign is known, is on the wrong side of it.
type Wrong = fn(Ordering, bool) -> bool;

/// The directions of `FPRoundingMode`, for integers.
const OF_INTEGERS: [(&str, Wrong); 4] = [
    ("RTE", |_, _| false),
    ("RTZ", |near, negative| {
        near == if negative {
            Ordering::Less
        } else {
            Ordering::Greater
        }
    }),
    ("RTP", |near, _| near == Ordering::Less),
    ("RTN", |near, _| near == Ordering::Greater),
];

/// The nearest float, or its neighbour on the other side of the integer.
fn integer_directed(value: i128, to: Scalar, wrong: Wrong) -> Want {
    let near = nearest(value, to);
    let order = match to.float(near) {
        float if float.is_infinite() => float.total_cmp(&0.0),
        float => (float as i128).cmp(&value),
    };
    let outside = order == value.cmp(&0);
    Bits(match (wrong(order, value < 0), outside) {
        (false, _) => near,
        (true, true) => near - 1,
        (true, false) => near + 1,
    })
}

/// An integer to another width, clamped to the target's range.
fn clamped(value: i128, to: Scalar, signed: bool) -> Want {
    let (low, high) = if signed {
        (-(1i128 << (to.bits() - 1)), (1i128 << (to.bits() - 1)) - 1)
    } else {
        (0, i128::from(to.mask()))
    };
    Bits(value.clamp(low, high) as u64 & to.mask())
}

/// A value rounded to a type.
pub(super) type Round = fn(Scalar, f64) -> f64;

/// The directions of `FPRoundingMode`.
pub(super) const ROUNDING: [(&str, Round); 4] = [
    ("RTE", |s, v| s.float(s.bits_of(v))),
    ("RTZ", |s, v| directed(s, v, |near, v| near.abs() > v.abs())),
    ("RTP", |s, v| directed(s, v, |near, v| near < v)),
    ("RTN", |s, v| directed(s, v, |near, v| near > v)),
];

/// The nearest number, or its neighbour on the other side if `wrong` returns true.
fn directed(s: Scalar, value: f64, wrong: fn(f64, f64) -> bool) -> f64 {
    let near = s.float(s.bits_of(value));
    if value.is_nan() || value.is_infinite() || !wrong(near, value) {
        return near;
    }
    let bits = s.bits_of(value);
    let magnitude = bits & (s.mask() >> 1);
    let sign = bits & !(s.mask() >> 1);
    // The neighbour lies towards `value`.
    let next = if near.abs() > value.abs() {
        sign | (magnitude - 1)
    } else if magnitude == 0 {
        s.bits_of(0.0f64.copysign(value)) + 1
    } else {
        sign | (magnitude + 1)
    };
    s.float(next)
}

/// Of shaders.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    for from in INTEGERS {
        for to in INTEGERS.into_iter().filter(|to| *to != from) {
            all.push(convert("OpUConvert", from, to, move |v| {
                Bits(v & to.mask())
            }));
            all.push(convert("OpSConvert", from, to, move |v| {
                Bits(from.signed(v) as u64 & to.mask())
            }));
        }
        for to in FLOATS {
            all.push(convert("OpConvertUToF", from, to, move |v| {
                from_integer(v, from, to, false)
            }));
            all.push(convert("OpConvertSToF", from, to, move |v| {
                from_integer(v, from, to, true)
            }));
        }
    }
    for from in FLOATS {
        for to in INTEGERS {
            all.push(convert("OpConvertFToU", from, to, move |v| {
                to_integer(from.float(v), to, false)
            }));
            all.push(convert("OpConvertFToS", from, to, move |v| {
                to_integer(from.float(v), to, true)
            }));
        }
        for to in FLOATS.into_iter().filter(|to| *to != from) {
            all.push(convert("OpFConvert", from, to, move |v| {
                float(to, from.float(v))
            }));
            if to.bits() < from.bits() {
                for (mode, round) in &ROUNDING[..2] {
                    all.push(rounded(mode, from, to, *round));
                }
            }
        }
    }
    // The sign of a product that is zero outlives the rounding, which AMD's GPUs do in one
    // instruction with it.
    for lanes in [1, 2] {
        let (wide, half) = match lanes {
            1 => (Ty::from(F32), Ty::from(F16)),
            _ => (Ty::vector(F32, lanes), Ty::vector(F16, lanes)),
        };
        let body = format!(
            "$x = OpFMul %{0} $a $b\n$r = OpFConvert %{1} $x",
            wide.name(),
            half.name()
        );
        let product = Feature::new("OpFConvert", &[wide, wide], &[half], &body, move |row| {
            let (a, b) = row.split_at(row.len() / 2);
            let products = a
                .iter()
                .zip(b)
                .map(|(a, b)| F32.bits_of(F32.float(*a) * F32.float(*b)));
            products
                .map(|product| float(F16, F32.float(product)))
                .collect()
        });
        all.push(product.called(&format!("product.{}", wide.name())));
    }
    all.push(convert("OpQuantizeToF16", F32, F32, |v| {
        let value = F32.float(v);
        let half = F16.float(F16.bits_of(value));
        // Denormal halves become zero; of either sign for either, says the specification of the
        // sign only that it is kept.
        if half.abs() < F16.least_normal() {
            Bits(F32.bits_of(0.0f64.copysign(value)))
        } else {
            float(F32, half)
        }
    }));
    for (from, to) in [
        (U16, F16),
        (F16, U16),
        (U32, F32),
        (F32, U32),
        (U64, F64),
        (F64, U64),
    ] {
        all.push(convert("OpBitcast", from, to, Bits));
    }
    for (from, lanes, to) in [
        (U8, 4, U32),
        (U16, 2, U32),
        (F16, 2, U32),
        (U32, 2, U64),
        (F32, 2, F64),
        (U16, 4, F64),
    ] {
        let (vector, scalar) = (Ty::vector(from, lanes), Ty::from(to));
        let bits = from.bits();
        let pack = Feature::simple("OpBitcast", &[vector], scalar, move |row| {
            Bits(row.iter().rev().fold(0, |word, v| word << bits | v))
        });
        all.push(pack.called(&format!("{}.{}", vector.name(), to.name())));
        let body = format!("$r = OpBitcast %{} $a", vector.name());
        let unpack = Feature::new("OpBitcast", &[scalar], &[vector], &body, move |row| {
            (0..lanes as u32)
                .map(|i| Bits(row[0] >> (i * bits) & from.mask()))
                .collect()
        });
        all.push(unpack.called(&format!("{}.{}", to.name(), vector.name())));
    }
    all
}

fn rounded(mode: &str, from: Scalar, to: Scalar, round: Round) -> Feature {
    let feature = convert("OpFConvert", from, to, move |v| {
        float(to, round(to, from.float(v)))
    });
    in_mode(mode, feature)
}

fn in_mode(mode: &str, mut feature: Feature) -> Feature {
    feature.variant = format!("{}.{mode}", feature.variant);
    feature.decorate = format!("OpDecorate $r FPRoundingMode {mode}\n");
    feature
}

/// Of kernels: clamping conversions and all directions of rounding.
pub(super) fn kernel_features() -> Vec<Feature> {
    let mut all = Vec::new();
    for from in FLOATS {
        for to in INTEGERS {
            for (op, signed) in [("OpConvertFToU", false), ("OpConvertFToS", true)] {
                let mut feature = convert(op, from, to, move |v| {
                    to_integer_clamped(from.float(v), to, signed)
                });
                feature.variant.push_str(".sat");
                feature.decorate = "OpDecorate $r SaturatedConversion\n".to_owned();
                all.push(feature);
            }
        }
        for to in FLOATS.into_iter().filter(|to| to.bits() < from.bits()) {
            for (mode, round) in ROUNDING {
                all.push(rounded(mode, from, to, round));
            }
        }
    }
    for (to, from) in [
        (F16, U16),
        (F16, U32),
        (F16, U64),
        (F32, U32),
        (F32, U64),
        (F64, U64),
    ] {
        for (op, signed) in [("OpConvertUToF", false), ("OpConvertSToF", true)] {
            for (mode, wrong) in OF_INTEGERS {
                let feature = convert(op, from, to, move |v| {
                    integer_directed(value(v, from, signed), to, wrong)
                });
                all.push(in_mode(mode, feature));
            }
        }
    }
    for from in INTEGERS {
        for to in INTEGERS {
            if from == to {
                continue;
            }
            all.push(convert("OpSatConvertSToU", from, to, move |v| {
                clamped(i128::from(from.signed(v)), to, false)
            }));
            all.push(convert("OpSatConvertUToS", from, to, move |v| {
                clamped(i128::from(v), to, true)
            }));
        }
    }
    all
}
