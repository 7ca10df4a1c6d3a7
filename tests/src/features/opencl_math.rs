//! OpenCL.std: mathematical functions, with the bounds of the OpenCL C specification, section
//! "Relative Error as ULPs" (full profile, and cl_khr_fp16), and with the special cases of C.

use super::edges;
use super::feature::Feature;
use super::float_rules::{self, either};
use super::ty::{F16, F32, F64, FLOATS, Scalar, Ty, U32};
use super::want::Limit::{Absolute, Ulp};
use super::want::Want::{self, Any, Bits, Near};
use super::want::float;

const PI: f64 = std::f64::consts::PI;

/// Bounds in ULP for 16, 32 and 64 bits; 0 is exact.
type Bounds = [f64; 3];

fn bound(s: Scalar, bounds: Bounds) -> f64 {
    match s {
        F16 => bounds[0],
        F32 => bounds[1],
        _ => bounds[2],
    }
}

/// The exact result within its bound. References for doubles are rounded themselves, which counts
/// for one ULP more.
fn near(s: Scalar, exact: f64, bounds: Bounds) -> Want {
    match bound(s, bounds) {
        0.0 => float(s, exact),
        ulp if s == F64 => Near(exact, Ulp(ulp + 1.0)),
        ulp => Near(exact, Ulp(ulp)),
    }
}

/// A function of one argument, sampled at the edges and between `range`.
struct One {
    name: &'static str,
    host: fn(f64) -> f64,
    range: (f64, f64),
    bounds: Bounds,
}

const fn one(name: &'static str, host: fn(f64) -> f64, range: (f64, f64), bounds: Bounds) -> One {
    One {
        name,
        host,
        range,
        bounds,
    }
}

/// `sin(pi * x)`; the argument is reduced exactly.
fn sin_pi(x: f64) -> f64 {
    let r = x - 2.0 * (x / 2.0).round_ties_even();
    match r.abs() {
        a if a > 0.75 => ((1.0 - a) * PI).sin().copysign(r),
        a if a > 0.25 => ((0.5 - a) * PI).cos().copysign(r),
        _ => (r * PI).sin(),
    }
}

/// Of numbers below 1 libm's is no NaN, and std's overflows early.
fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

fn cos_pi(x: f64) -> f64 {
    let a = (x - 2.0 * (x / 2.0).round_ties_even()).abs();
    match a {
        a if a > 0.75 => -((1.0 - a) * PI).cos(),
        a if a > 0.25 => ((0.5 - a) * PI).sin(),
        a => (a * PI).cos(),
    }
}

#[rustfmt::skip] // a table
const ONE: [One; 40] = [
    one("acos", f64::acos, (-1.0, 1.0), [2.0, 4.0, 4.0]),
    one("acosh", acosh, (1.0, 100.0), [2.0, 4.0, 4.0]),
    one("acospi", |x| x.acos() / PI, (-1.0, 1.0), [2.0, 5.0, 5.0]),
    one("asin", f64::asin, (-1.0, 1.0), [2.0, 4.0, 4.0]),
    one("asinh", libm::asinh, (-100.0, 100.0), [2.0, 4.0, 4.0]),
    one("asinpi", |x| x.asin() / PI, (-1.0, 1.0), [2.0, 5.0, 5.0]),
    one("atan", f64::atan, (-100.0, 100.0), [2.0, 5.0, 5.0]),
    one("atanh", libm::atanh, (-1.0, 1.0), [2.0, 5.0, 5.0]),
    one("atanpi", |x| x.atan() / PI, (-100.0, 100.0), [2.0, 5.0, 5.0]),
    one("cbrt", f64::cbrt, (-1000.0, 1000.0), [2.0, 2.0, 2.0]),
    one("ceil", f64::ceil, (-100.0, 100.0), [0.0; 3]),
    one("cos", f64::cos, (-100.0, 100.0), [2.0, 4.0, 4.0]),
    one("cosh", f64::cosh, (-20.0, 20.0), [2.0, 4.0, 4.0]),
    one("cospi", cos_pi, (-20.0, 20.0), [2.0, 4.0, 4.0]),
    one("erfc", libm::erfc, (-4.0, 4.0), [4.0, 16.0, 16.0]),
    one("erf", libm::erf, (-4.0, 4.0), [4.0, 16.0, 16.0]),
    one("exp", f64::exp, (-20.0, 20.0), [2.0, 3.0, 3.0]),
    one("exp2", f64::exp2, (-20.0, 20.0), [2.0, 3.0, 3.0]),
    one("exp10", libm::exp10, (-10.0, 10.0), [2.0, 3.0, 3.0]),
    one("expm1", f64::exp_m1, (-4.0, 4.0), [2.0, 3.0, 3.0]),
    one("fabs", f64::abs, (-4.0, 4.0), [0.0; 3]),
    one("floor", f64::floor, (-100.0, 100.0), [0.0; 3]),
    one("log", f64::ln, (0.0, 100.0), [2.0, 3.0, 3.0]),
    one("log2", f64::log2, (0.0, 100.0), [2.0, 3.0, 3.0]),
    one("log10", f64::log10, (0.0, 100.0), [2.0, 3.0, 3.0]),
    one("log1p", f64::ln_1p, (-0.9, 4.0), [2.0, 2.0, 2.0]),
    one("rint", f64::round_ties_even, (-10.0, 10.0), [0.0; 3]),
    one("round", f64::round, (-10.0, 10.0), [0.0; 3]),
    one("rsqrt", |x| 1.0 / x.sqrt(), (0.0, 100.0), [1.0, 2.0, 2.0]),
    one("sin", f64::sin, (-100.0, 100.0), [2.0, 4.0, 4.0]),
    one("sinh", f64::sinh, (-20.0, 20.0), [2.0, 4.0, 4.0]),
    one("sinpi", sin_pi, (-20.0, 20.0), [2.0, 4.0, 4.0]),
    one("sqrt", f64::sqrt, (0.0, 100.0), [0.0, 3.0, 0.0]),
    one("tan", f64::tan, (-100.0, 100.0), [2.0, 5.0, 5.0]),
    one("tanh", f64::tanh, (-4.0, 4.0), [2.0, 5.0, 5.0]),
    one("tanpi", |x| sin_pi(x) / cos_pi(x), (-20.0, 20.0), [2.0, 6.0, 6.0]),
    one("tgamma", libm::tgamma, (-5.0, 20.0), [4.0, 16.0, 16.0]),
    one("trunc", f64::trunc, (-100.0, 100.0), [0.0; 3]),
    one("degrees", |x| x * (180.0 / PI), (-10.0, 10.0), [2.0; 3]),
    one("radians", |x| x * (PI / 180.0), (-900.0, 900.0), [2.0; 3]),
];

/// Functions for which OpenCL requires 8192 ULP within bounds, or nothing. Only 32-bit floats have
/// them. The native ones must be within 2^-10.
#[rustfmt::skip] // a table
const ROUGH: [One; 24] = [
    one("half_cos", f64::cos, (-100.0, 100.0), [0.0, 8192.0, 0.0]),
    one("half_exp", f64::exp, (-20.0, 20.0), [0.0, 8192.0, 0.0]),
    one("half_exp2", f64::exp2, (-20.0, 20.0), [0.0, 8192.0, 0.0]),
    one("half_exp10", libm::exp10, (-10.0, 10.0), [0.0, 8192.0, 0.0]),
    one("half_log", f64::ln, (0.01, 100.0), [0.0, 8192.0, 0.0]),
    one("half_log2", f64::log2, (0.01, 100.0), [0.0, 8192.0, 0.0]),
    one("half_log10", f64::log10, (0.01, 100.0), [0.0, 8192.0, 0.0]),
    one("half_recip", |x| 1.0 / x, (0.01, 100.0), [0.0, 8192.0, 0.0]),
    one("half_rsqrt", |x| 1.0 / x.sqrt(), (0.01, 100.0), [0.0, 8192.0, 0.0]),
    one("half_sin", f64::sin, (-100.0, 100.0), [0.0, 8192.0, 0.0]),
    one("half_sqrt", f64::sqrt, (0.0, 100.0), [0.0, 8192.0, 0.0]),
    one("half_tan", f64::tan, (-100.0, 100.0), [0.0, 8192.0, 0.0]),
    one("native_cos", f64::cos, (-3.0, 3.0), [0.0, 8192.0, 0.0]),
    one("native_exp", f64::exp, (-20.0, 20.0), [0.0, 8192.0, 0.0]),
    one("native_exp2", f64::exp2, (-20.0, 20.0), [0.0, 8192.0, 0.0]),
    one("native_exp10", libm::exp10, (-10.0, 10.0), [0.0, 8192.0, 0.0]),
    one("native_log", f64::ln, (0.01, 0.9), [0.0, 8192.0, 0.0]),
    one("native_log2", f64::log2, (0.01, 0.9), [0.0, 8192.0, 0.0]),
    one("native_log10", f64::log10, (0.01, 0.9), [0.0, 8192.0, 0.0]),
    one("native_recip", |x| 1.0 / x, (0.01, 100.0), [0.0, 8192.0, 0.0]),
    one("native_rsqrt", |x| 1.0 / x.sqrt(), (0.01, 100.0), [0.0, 8192.0, 0.0]),
    one("native_sin", f64::sin, (-3.0, 3.0), [0.0, 8192.0, 0.0]),
    one("native_sqrt", f64::sqrt, (0.0, 100.0), [0.0, 8192.0, 0.0]),
    one("native_tan", f64::tan, (-1.4, 1.4), [0.0, 8192.0, 0.0]),
];

type OfTwo = fn(Scalar, f64, f64) -> Want;

const POWER: Bounds = [4.0, 16.0, 16.0];

#[rustfmt::skip] // a table
const TWO: [(&str, OfTwo, &str); 16] = [
    ("atan2", |s, x, y| near(s, x.atan2(y), [2.0, 6.0, 6.0]), "6 ULP (16 bits: 2)"),
    ("atan2pi", |s, x, y| near(s, x.atan2(y) / PI, [2.0, 6.0, 6.0]), "6 ULP (16 bits: 2)"),
    ("copysign", |s, x, y| if x.is_nan() { Want::Nan } else { Bits(s.bits_of(x.copysign(y))) }, ""),
    ("fdim", |s, x, y| if x <= y { Bits(0) } else { float(s, x - y) }, ""),
    ("fmax", float_rules::larger, ""),
    ("fmin", float_rules::smaller, ""),
    ("fmax_common", |s, x, y| if x.is_finite() && y.is_finite() { float_rules::larger(s, x, y) } else { Any }, ""),
    ("fmin_common", |s, x, y| if x.is_finite() && y.is_finite() { float_rules::smaller(s, x, y) } else { Any }, ""),
    ("fmod", |s, x, y| float(s, x % y), ""),
    ("hypot", |s, x, y| near(s, x.hypot(y), [2.0, 4.0, 4.0]), "4 ULP (16 bits: 2)"),
    ("maxmag", |s, x, y| magnitude(s, x, y, f64::gt, float_rules::larger), ""),
    ("minmag", |s, x, y| magnitude(s, x, y, f64::lt, float_rules::smaller), ""),
    ("nextafter", next_after, ""),
    ("pow", |s, x, y| near(s, x.powf(y), POWER), "16 ULP (16 bits: 4)"),
    ("powr", |s, x, y| near(s, powr(x, y), POWER), "16 ULP (16 bits: 4)"),
    ("remainder", |s, x, y| float(s, libm::remainder(x, y)), ""),
];

fn magnitude(s: Scalar, x: f64, y: f64, wins: fn(&f64, &f64) -> bool, tie: OfTwo) -> Want {
    if wins(&x.abs(), &y.abs()) {
        float(s, x)
    } else if wins(&y.abs(), &x.abs()) {
        float(s, y)
    } else {
        tie(s, x, y)
    }
}

/// OpenCL C: powr(x, y) is exp(y * log(x)), of x >= 0 only.
fn powr(x: f64, y: f64) -> f64 {
    let no_limit = (x == 0.0 || x.is_infinite()) && y == 0.0 || x == 1.0 && y.is_infinite();
    if x < 0.0 || x.is_nan() || y.is_nan() || no_limit {
        f64::NAN
    } else {
        x.abs().powf(y)
    }
}

fn next_after(s: Scalar, x: f64, y: f64) -> Want {
    if x.is_nan() || y.is_nan() {
        return Want::Nan;
    }
    if x == y {
        return either(s, x, y);
    }
    let sign = 1 << (s.bits() - 1);
    let bits = s.bits_of(x);
    Bits(if x == 0.0 {
        1 | if y < 0.0 { sign } else { 0 }
    } else if (x < y) == (x > 0.0) {
        bits + 1
    } else {
        bits - 1
    })
}

fn name(op: &str) -> String {
    format!("OpenCL.std {op}")
}

/// The edges of all parameters first, then numbers of the ranges.
fn sampled(seed: u64, params: &[Ty], ranges: &[(Scalar, f64, f64)]) -> Vec<Vec<u64>> {
    let mut rows = edges::rows(seed, params);
    let keep = if params.len() == 1 {
        16
    } else {
        rows.len() / 2
    };
    for (row, other) in rows.iter_mut().zip(edges::between(seed, ranges)).skip(keep) {
        *row = other;
    }
    rows
}

fn ones(all: &mut Vec<Feature>) {
    for row in &ONE {
        for s in FLOATS {
            let ty = Ty::from(s);
            let mut feature = Feature::simple(&name(row.name), &[ty], ty, move |bits| {
                near(s, (row.host)(s.float(bits[0])), row.bounds)
            });
            feature.requirement = match row.bounds {
                [h, f, d] if h == 0.0 && f == 0.0 && d == 0.0 => "",
                [0.0, 3.0, 0.0] => "3 ULP (16 and 64 bits: rounded)",
                [h, f, _] if h == f => "2 ULP",
                [1.0, 2.0, _] => "2 ULP (16 bits: 1)",
                [2.0, 3.0, _] => "3 ULP (16 bits: 2)",
                [2.0, 4.0, _] => "4 ULP (16 bits: 2)",
                [2.0, 5.0, _] => "5 ULP (16 bits: 2)",
                [2.0, 6.0, _] => "6 ULP (16 bits: 2)",
                _ => "16 ULP (16 bits: 4)",
            };
            all.push(feature.with_inputs(sampled(21, &[ty], &[(s, row.range.0, row.range.1)])));
        }
    }
    for row in &ROUGH {
        let ty = Ty::from(F32);
        let mut feature = Feature::simple(&name(row.name), &[ty], ty, move |bits| {
            let exact = (row.host)(F32.float(bits[0]));
            if row.name.starts_with("native_") && exact.abs() < 0.125 {
                Near(exact, Absolute(1.0 / 1024.0))
            } else {
                Near(exact, Ulp(row.bounds[1]))
            }
        });
        feature.requirement = if row.name.starts_with("half") {
            "8192 ULP"
        } else {
            "none; 2^-10 is tested"
        };
        all.push(feature.with_inputs(edges::between(22, &[(F32, row.range.0, row.range.1)])));
    }
}

fn twos(all: &mut Vec<Feature>) {
    for s in FLOATS {
        let ty = Ty::from(s);
        for (op, host, requirement) in TWO {
            let mut feature = Feature::simple(&name(op), &[ty, ty], ty, move |row| {
                host(s, s.float(row[0]), s.float(row[1]))
            });
            feature.requirement = requirement;
            all.push(feature.with_inputs(sampled(23, &[ty, ty], &[(s, 0.0, 8.0), (s, -8.0, 8.0)])));
        }
        let word = Ty::from(U32);
        type Powers = fn(f64, i32) -> f64;
        let powers: [(&str, Powers, Bounds); 2] =
            [("pown", |x, n| x.powi(n), POWER), ("rootn", root, POWER)];
        for (op, host, bounds) in powers {
            let mut feature = Feature::simple(&name(op), &[ty, word], ty, move |row| {
                near(s, host(s.float(row[0]), row[1] as i32), bounds)
            });
            feature.requirement = "16 ULP (16 bits: 4)";
            let mut rows = edges::rows(24, &[ty]);
            for (at, row) in rows.iter_mut().enumerate() {
                row.push(u64::from((at as i32 / 16 % 16 - 6) as u32));
            }
            all.push(feature.with_inputs(rows));
        }
        let ldexp = Feature::simple(&name("ldexp"), &[ty, word], ty, move |row| {
            float_rules::ldexp(s, s.float(row[0]), row[1] as i32)
        });
        all.push(ldexp);
        for op in ["fma", "mad"] {
            let mut feature = Feature::simple(&name(op), &[ty, ty, ty], ty, move |row| {
                let exact = float_rules::fma(s, [row[0], row[1], row[2]]);
                if op == "fma" {
                    exact
                } else {
                    mad(s, row, exact)
                }
            });
            feature.requirement = if op == "fma" {
                ""
            } else {
                "any; fused or not is tested"
            };
            all.push(feature);
        }
        all.push(Feature::simple(
            &name("fclamp"),
            &[ty, ty, ty],
            ty,
            move |row| float_rules::clamp(s, s.float(row[0]), s.float(row[1]), s.float(row[2])),
        ));
        let mut mix = Feature::simple(&name("mix"), &[ty, ty, ty], ty, move |row| {
            let (x, y, a) = (s.float(row[0]), s.float(row[1]), s.float(row[2]));
            Near(x + (y - x) * a, Absolute(2.0 * s.ulp(x.abs().max(y.abs()))))
        });
        mix.requirement = "as x + (y - x) * a";
        all.push(mix.with_inputs(edges::between(
            25,
            &[(s, -4.0, 4.0), (s, -4.0, 4.0), (s, 0.0, 1.0)],
        )));
        all.push(Feature::simple(&name("step"), &[ty, ty], ty, move |row| {
            let (edge, x) = (s.float(row[0]), s.float(row[1]));
            if edge.is_nan() || x.is_nan() {
                Any
            } else {
                float(s, f64::from(u8::from(x >= edge)))
            }
        }));
        let mut smooth = Feature::simple(&name("smoothstep"), &[ty, ty, ty], ty, move |row| {
            let (low, high, x) = (s.float(row[0]), s.float(row[1]), s.float(row[2]));
            let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
            Near(t * t * (3.0 - 2.0 * t), Absolute(8.0 * s.ulp(1.0)))
        });
        smooth.requirement = "as t * t * (3 - 2 * t)";
        all.push(smooth.with_inputs(edges::between(
            26,
            &[(s, -1.0, 0.0), (s, 0.5, 2.0), (s, -2.0, 3.0)],
        )));
        all.push(Feature::simple(&name("sign"), &[ty], ty, move |row| {
            let x = s.float(row[0]);
            Bits(s.bits_of(if x.is_nan() {
                0.0
            } else if x == 0.0 {
                x
            } else {
                x.signum()
            }))
        }));
        others(all, s);
    }
    let ty = Ty::from(F32);
    let powr: [(&str, OfTwo, (f64, f64)); 4] = [
        (
            "half_powr",
            |_, x, y| Near(x.powf(y), Ulp(8192.0)),
            (-4.0, 4.0),
        ),
        (
            "native_powr",
            |_, x, y| Near(x.powf(y), Ulp(8192.0)),
            (-4.0, 4.0),
        ),
        (
            "half_divide",
            |_, x, y| Near(x / y, Ulp(8192.0)),
            (0.5, 4.0),
        ),
        (
            "native_divide",
            |_, x, y| Near(x / y, Ulp(8192.0)),
            (0.5, 4.0),
        ),
    ];
    for (op, host, (low, high)) in powr {
        let mut feature = Feature::simple(&name(op), &[ty, ty], ty, move |row| {
            host(F32, F32.float(row[0]), F32.float(row[1]))
        });
        feature.requirement = if op.starts_with("half") {
            "8192 ULP"
        } else {
            "none; 2^-10 is tested"
        };
        all.push(feature.with_inputs(edges::between(27, &[(F32, 0.1, 4.0), (F32, low, high)])));
    }
}

/// `a * b + c`, fused or not.
fn mad(s: Scalar, row: &[u64], fused: Want) -> Want {
    let product = s.float(s.bits_of(s.float(row[0]) * s.float(row[1])));
    match (fused, float(s, product + s.float(row[2]))) {
        (Bits(a), Bits(b)) => Want::OneOf(vec![a, b]),
        (Want::Nan, Want::Nan) => Want::Nan,
        _ => Any,
    }
}

/// `x^(1/n)`, C's special cases included.
fn root(x: f64, n: i32) -> f64 {
    let odd = n % 2 != 0;
    if n == 0 || x.is_nan() || x < 0.0 && !odd {
        return f64::NAN;
    }
    // (m * 2^r)^(1/n) * 2^q with x = m * 2^(q * n + r): the rounding of 1/n counts for little.
    let (m, e) = if x.is_finite() {
        libm::frexp(x.abs())
    } else {
        (x.abs(), 0)
    };
    let (q, r) = (e / n, e % n);
    let size = libm::ldexp(libm::ldexp(m, r).powf(1.0 / f64::from(n)), q);
    if odd { size.copysign(x) } else { size }
}

/// Functions with a second result, and those between floats and integers.
fn others(all: &mut Vec<Feature>, s: Scalar) {
    let (ty, word, f) = (Ty::from(s), Ty::from(U32), s.name());
    type Split = fn(Scalar, f64) -> Vec<Want>;
    let pointed = |op: &str, second: Scalar, operands: usize, host: Split| {
        let second_name = second.name();
        let body = format!(
            "$r = OpExtInst %{f} %cl {op} $a $v\n$s = OpLoad %{second_name} $v Aligned {}",
            second.bits() / 8
        );
        let mut feature = Feature::new(
            &name(op),
            &vec![ty; operands],
            &[ty, second.into()],
            &body,
            move |row| host(s, s.float(row[0])),
        );
        feature.variables = format!("$v = OpVariable %p_Function_{second_name} Function\n");
        feature
    };
    all.push(pointed("modf", s, 1, float_rules::modf));
    all.push(pointed("frexp", U32, 1, float_rules::frexp));
    all.push(pointed("fract", s, 1, |s, x| {
        if x.is_nan() {
            return vec![Want::Nan, Want::Nan];
        }
        let below_one = 1.0 - super::ty::power_of_two(-s.precision());
        let rest = if x.is_infinite() {
            0.0
        } else {
            (x - x.floor()).min(below_one)
        };
        let rest = if rest == 0.0 {
            either(s, 0.0, -0.0)
        } else {
            Bits(s.bits_of(rest.min(below_one)).min(s.bits_of(below_one)))
        };
        vec![rest, float(s, x.floor())]
    }));
    let mut sincos = pointed("sincos", s, 1, |s, x| {
        vec![
            near(s, x.sin(), [2.0, 4.0, 4.0]),
            near(s, x.cos(), [2.0, 4.0, 4.0]),
        ]
    });
    sincos.requirement = "4 ULP (16 bits: 2)";
    all.push(sincos.with_inputs(sampled(28, &[ty], &[(s, -100.0, 100.0)])));
    let mut gamma = pointed("lgamma_r", U32, 1, |s, x| {
        let (value, sign) = libm::lgamma_r(x);
        let pole = x <= 0.0 && x == x.floor() || x.is_nan();
        vec![
            near_gamma(s, x, value),
            if pole {
                Any
            } else {
                Bits(u64::from(sign as u32))
            },
        ]
    });
    gamma.requirement = "none; 32 ULP away from zeros is tested";
    all.push(gamma.with_inputs(sampled(29, &[ty], &[(s, -5.0, 20.0)])));
    let mut gamma = Feature::simple(&name("lgamma"), &[ty], ty, move |row| {
        let x = s.float(row[0]);
        near_gamma(s, x, libm::lgamma(x))
    });
    gamma.requirement = "none; 32 ULP away from zeros is tested";
    all.push(gamma.with_inputs(sampled(30, &[ty], &[(s, -5.0, 20.0)])));
    all.push(Feature::simple(&name("logb"), &[ty], ty, move |row| {
        let x = s.float(row[0]);
        float(
            s,
            match x {
                x if x.is_nan() => x,
                x if x.is_infinite() => f64::INFINITY,
                0.0 => f64::NEG_INFINITY,
                x => f64::from(super::ty::exponent(x)),
            },
        )
    }));
    all.push(Feature::simple(&name("ilogb"), &[ty], word, move |row| {
        let x = s.float(row[0]);
        let value = match x {
            x if x.is_infinite() => i32::MAX,
            // FP_ILOGBNAN may be the smallest or the largest.
            x if x.is_nan() => return Want::OneOf(vec![0x8000_0000, 0x7fff_ffff]),
            0.0 => i32::MIN,
            x => super::ty::exponent(x),
        };
        Bits(u64::from(value as u32))
    }));
    let bits = Ty::from(s.integer());
    let nan = Feature::simple(&name("nan"), &[bits], ty, move |_| Want::Nan);
    all.push(nan.called(f));
    let body = format!("$r = OpExtInst %{f} %cl remquo $a $b $v\n$s = OpLoad %u32 $v Aligned 4");
    let mut remquo = Feature::new(&name("remquo"), &[ty, ty], &[ty, word], &body, move |row| {
        let (x, y) = (s.float(row[0]), s.float(row[1]));
        let (rest, quotient) = libm::remquo(x, y);
        // The sign and at least seven bits of the quotient: the host's has as many.
        let quotient = if rest.is_nan() {
            Any
        } else {
            low_bits(quotient)
        };
        vec![float(s, rest), quotient]
    });
    remquo.variables = "$v = OpVariable %p_Function_u32 Function\n".to_owned();
    all.push(remquo.with_inputs(edges::between(31, &[(s, -100.0, 100.0), (s, 1.0, 8.0)])));
}

/// Seven bits of a quotient with its sign.
fn low_bits(quotient: i32) -> Want {
    let low = (quotient.unsigned_abs() & 0x7f) as i32 * quotient.signum();
    Bits(u64::from(low as u32))
}

fn near_gamma(s: Scalar, x: f64, exact: f64) -> Want {
    if exact.is_nan() || exact.is_infinite() && x.is_finite() {
        // A pole, or an overflow.
        return near(s, exact, [4.0; 3]);
    }
    if exact.abs() < 0.25 {
        Near(exact, Absolute(32.0 * s.ulp(1.0)))
    } else {
        Near(exact, Ulp(32.0))
    }
}

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    ones(&mut all);
    twos(&mut all);
    all
}
