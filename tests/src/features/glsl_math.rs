//! GLSL.std.450: functions with an error bound. The bounds of 32-bit and 16-bit floats are from
//! Vulkan's appendix "Precision and Operation of SPIR-V Instructions". If the appendix lets a
//! function inherit the error of a formula, the bound here is smaller, because the library is used.

use super::edges::between;
use super::feature::Feature;
use super::ty::{F16, F32, F64, Scalar, Ty, power_of_two};
use super::want::Limit::{self, Absolute, Ulp};
use super::want::Want::{Any, Near};

/// A function of one argument.
struct One {
    name: &'static str,
    host: fn(f64) -> f64,
    /// The range of the samples.
    range: (f64, f64),
    /// The bound, by width, argument and exact result.
    limit: fn(Scalar, f64, f64) -> Limit,
    requirement: &'static str,
}

/// Both widths have the same bound.
macro_rules! ulp {
    ($bound:expr) => {
        |_, _, _| Ulp($bound)
    };
}

/// `bound` in 32 bits, `half` in 16.
fn by_width(s: Scalar, single: Limit, half: Limit) -> Limit {
    if s == F16 { half } else { single }
}

fn logarithm(s: Scalar, x: f64, _: f64) -> Limit {
    if (0.5..=2.0).contains(&x) {
        by_width(s, Absolute(power_of_two(-21)), Absolute(power_of_two(-7)))
    } else {
        Ulp(3.0)
    }
}

fn exponential(s: Scalar, x: f64, _: f64) -> Limit {
    by_width(s, Ulp(3.0 + 2.0 * x.abs()), Ulp(1.0 + 2.0 * x.abs()))
}

fn circular(s: Scalar, _: f64, _: f64) -> Limit {
    by_width(s, Absolute(power_of_two(-11)), Absolute(power_of_two(-7)))
}

/// The quotient of a sine and a cosine with their errors.
fn tangent(s: Scalar, x: f64, y: f64) -> Limit {
    let error = if s == F16 {
        power_of_two(-7)
    } else {
        power_of_two(-11)
    };
    Absolute(error * (1.0 + y.abs()) / (x.cos().abs() - error))
}

const PI: f64 = std::f64::consts::PI;

#[rustfmt::skip] // a table
const ONE: [One; 20] = [
    One { name: "Sin", host: f64::sin, range: (-PI, PI), limit: circular, requirement: "2^-11 absolute (16 bits: 2^-7) in [-pi, pi]" },
    One { name: "Cos", host: f64::cos, range: (-PI, PI), limit: circular, requirement: "2^-11 absolute (16 bits: 2^-7) in [-pi, pi]" },
    One { name: "Tan", host: f64::tan, range: (-1.4, 1.4), limit: tangent, requirement: "as sin / cos" },
    One { name: "Asin", host: f64::asin, range: (-1.0, 1.0), limit: ulp!(4.0), requirement: "as atan2(x, sqrt(1 - x * x))" },
    One { name: "Acos", host: f64::acos, range: (-1.0, 1.0), limit: ulp!(4.0), requirement: "as atan2(sqrt(1 - x * x), x)" },
    One { name: "Atan", host: f64::atan, range: (-64.0, 64.0), limit: ulp!(5.0), requirement: "4096 ULP (16 bits: 5 ULP)" },
    One { name: "Sinh", host: f64::sinh, range: (-8.0, 8.0), limit: ulp!(4.0), requirement: "as (exp(x) - exp(-x)) / 2" },
    One { name: "Cosh", host: f64::cosh, range: (-8.0, 8.0), limit: ulp!(4.0), requirement: "as (exp(x) + exp(-x)) / 2" },
    One { name: "Tanh", host: f64::tanh, range: (-4.0, 4.0), limit: ulp!(5.0), requirement: "as sinh(x) / cosh(x)" },
    One { name: "Asinh", host: f64::asinh, range: (-64.0, 64.0), limit: ulp!(4.0), requirement: "as log(x + sqrt(x * x + 1))" },
    One { name: "Acosh", host: f64::acosh, range: (1.0, 64.0), limit: ulp!(4.0), requirement: "as log(x + sqrt(x * x - 1))" },
    One { name: "Atanh", host: f64::atanh, range: (-0.99, 0.99), limit: ulp!(5.0), requirement: "as log((1 + x) / (1 - x)) / 2" },
    One { name: "Exp", host: f64::exp, range: (-20.0, 20.0), limit: exponential, requirement: "3 + 2 |x| ULP (16 bits: 1 + 2 |x|)" },
    One { name: "Exp2", host: f64::exp2, range: (-30.0, 30.0), limit: exponential, requirement: "3 + 2 |x| ULP (16 bits: 1 + 2 |x|)" },
    One { name: "Log", host: f64::ln, range: (0.001, 9.0), limit: logarithm, requirement: "3 ULP, in [0.5, 2] 2^-21 absolute (16 bits: 2^-7)" },
    One { name: "Log2", host: f64::log2, range: (0.001, 9.0), limit: logarithm, requirement: "3 ULP, in [0.5, 2] 2^-21 absolute (16 bits: 2^-7)" },
    One { name: "Sqrt", host: f64::sqrt, range: (0.0, 1000.0), limit: ulp!(1.0), requirement: "as 1 / inversesqrt(x)" },
    One { name: "InverseSqrt", host: |x| 1.0 / x.sqrt(), range: (0.001, 1000.0), limit: ulp!(2.0), requirement: "2 ULP" },
    One { name: "Radians", host: |x| x * (PI / 180.0), range: (-720.0, 720.0), limit: ulp!(2.0), requirement: "as x * pi / 180" },
    One { name: "Degrees", host: |x| x * (180.0 / PI), range: (-16.0, 16.0), limit: ulp!(2.0), requirement: "as x * 180 / pi" },
];

/// The functions that have doubles too.
const DOUBLE: [&str; 2] = ["Sqrt", "InverseSqrt"];

fn one(row: &'static One, s: Scalar) -> Feature {
    let name = format!("GLSL.std.450 {}", row.name);
    let mut feature = Feature::simple(&name, &[s.into()], s.into(), move |bits| {
        let x = s.float(bits[0]);
        let exact = (row.host)(x);
        if exact.is_nan() {
            // The rounding of the operand took it out of the range.
            return Any;
        }
        // The reference for doubles is itself rounded.
        match (row.limit)(s, x, exact) {
            Ulp(limit) if s == F64 => Near(exact, Ulp(limit + 1.0)),
            limit => Near(exact, limit),
        }
    });
    feature.requirement = row.requirement;
    feature.with_inputs(between(3, &[(s, row.range.0, row.range.1)]))
}

/// `exp2(y * log2(x))`, each with its error.
fn power_limit(s: Scalar, x: f64, y: f64) -> Limit {
    let log = x.log2();
    let log_error = match logarithm(s, x, log) {
        Ulp(limit) => limit * s.ulp(log),
        Absolute(limit) => limit,
    };
    let z = y * log;
    let z_error = y.abs() * log_error + s.ulp(z);
    let relative = z_error * std::f64::consts::LN_2 * power_of_two(s.precision());
    match exponential(s, z, 0.0) {
        Ulp(limit) => Ulp(limit + relative),
        limit => limit,
    }
}

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    for row in &ONE {
        for s in [F16, F32] {
            all.push(one(row, s));
        }
        if DOUBLE.contains(&row.name) {
            all.push(one(row, F64));
        }
    }
    for s in [F16, F32] {
        let ty = Ty::from(s);
        let mut atan = Feature::simple("GLSL.std.450 Atan2", &[ty, ty], ty, move |row| {
            Near(s.float(row[0]).atan2(s.float(row[1])), Ulp(5.0))
        });
        atan.requirement = "4096 ULP (16 bits: 5 ULP)";
        all.push(atan.with_inputs(between(4, &[(s, -8.0, 8.0), (s, -8.0, 8.0)])));
        let mut pow = Feature::simple("GLSL.std.450 Pow", &[ty, ty], ty, move |row| {
            let (x, y) = (s.float(row[0]), s.float(row[1]));
            Near(x.powf(y), power_limit(s, x, y))
        });
        pow.requirement = "as exp2(y * log2(x))";
        all.push(pow.with_inputs(between(5, &[(s, 0.01, 8.0), (s, -4.0, 4.0)])));
    }
    all
}
