//! Float arithmetic: rounded to nearest, with NaN, infinities and denormals.

use super::feature::Feature;
use super::ty::{F16, F32, F64, FLOATS, Scalar, Ty};
use super::want::Want::{self, Bits, Near};
use super::want::{Limit, float};

/// An operation whose result in double precision rounds to the right 16-bit or 32-bit float (their
/// significands have less than half the bits).
type Two = fn(f64, f64) -> f64;

const TWO: [(&str, Two); 3] = [
    ("OpFAdd", |a, b| a + b),
    ("OpFSub", |a, b| a - b),
    ("OpFMul", |a, b| a * b),
];

/// Vulkan: 2.5 ULP for a divisor in [2^-126, 2^126] (halves: [2^-14, 2^14]), whose reciprocal is a
/// normal number too.
fn divided(s: Scalar, a: f64, b: f64) -> Want {
    let least = s.least_normal();
    if s != F64 && b.is_finite() && b != 0.0 && !(least..=1.0 / least).contains(&b.abs()) {
        return Want::Any;
    }
    divided_anywhere(s, a, b)
}

/// OpenCL: 2.5 ULP, whatever the divisor is.
fn divided_anywhere(s: Scalar, a: f64, b: f64) -> Want {
    let quotient = a / b;
    if quotient.is_nan() || quotient.is_infinite() || quotient == 0.0 {
        float(s, quotient)
    } else {
        Near(quotient, Limit::Ulp(2.5))
    }
}

/// `a - b * trunc(a / b)`, exactly.
fn remainder(s: Scalar, a: f64, b: f64) -> Want {
    let rest = a % b;
    if rest.is_nan() {
        Want::Nan
    } else {
        // The sign of a zero is that of `a`.
        Bits(s.bits_of(rest))
    }
}

/// The remainder with the sign of `b`; a sum, so rounded.
fn modulo(s: Scalar, a: f64, b: f64) -> Want {
    let rest = a % b;
    if rest.is_nan() || b.is_infinite() {
        return Want::Any;
    }
    if rest == 0.0 {
        // Of either sign.
        return Want::OneOf(vec![s.bits_of(0.0), s.bits_of(-0.0)]);
    }
    if (rest < 0.0) != (b < 0.0) {
        Near(rest + b, Limit::Ulp(0.5))
    } else {
        Bits(s.bits_of(rest))
    }
}

/// All of them at all widths.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    for s in FLOATS {
        let ty = Ty::from(s);
        let two = |op: &str, host: fn(Scalar, f64, f64) -> Want| {
            Feature::simple(op, &[ty, ty], ty, move |row| {
                host(s, s.float(row[0]), s.float(row[1]))
            })
        };
        for (op, host) in TWO {
            all.push(Feature::simple(op, &[ty, ty], ty, move |row| {
                float(s, host(s.float(row[0]), s.float(row[1])))
            }));
        }
        let mut division = two("OpFDiv", divided);
        division.requirement = "2.5 ULP for divisors in [2^-126, 2^126] (16 bits: [2^-14, 2^14])";
        all.push(division);
        all.push(two("OpFRem", remainder));
        all.push(two("OpFMod", modulo));
        all.push(Feature::simple("OpFNegate", &[ty], ty, move |row| {
            let bits = row[0] ^ 1 << (s.bits() - 1);
            if s.float(row[0]).is_nan() {
                Want::Nan
            } else {
                Bits(bits)
            }
        }));
    }
    for s in [F16, F32] {
        let ty = Ty::vector(s, 4);
        for (op, host) in TWO {
            let body = format!("$r = {op} %{} $a $b", ty.name());
            all.push(Feature::new(op, &[ty, ty], &[ty], &body, move |row| {
                (0..4)
                    .map(|i| float(s, host(s.float(row[i]), s.float(row[4 + i]))))
                    .collect()
            }));
        }
    }
    all
}

/// Quotients of OpenCL kernels, where doubles and halves are rounded; a subnormal quotient of
/// doubles is rounded twice.
pub(super) fn kernel_features() -> Vec<Feature> {
    let rows = FLOATS.map(|s| {
        let ty = Ty::from(s);
        let mut feature = Feature::simple("OpFDiv", &[ty, ty], ty, move |row| {
            let (a, b) = (s.float(row[0]), s.float(row[1]));
            let quotient = a / b;
            match s {
                F16 => float(s, quotient),
                F64 if quotient.is_normal() || quotient == 0.0 => float(s, quotient),
                F64 if quotient.is_finite() => Near(quotient, Limit::Ulp(1.0)),
                _ => divided_anywhere(s, a, b),
            }
        });
        feature.requirement = if s == F32 { "2.5 ULP" } else { "" };
        feature
    });
    rows.into()
}
