//! Imports that no module of the program has: functions of SYCL's device library, of C, and
//! instructions that were called as functions.
//!
//! Complex functions are held against formulas of another kind than those that are lowered, with
//! special values of ISO C, Annex G.

use super::feature::Feature;
use super::launch::INVOCATIONS;
use super::ty::{F16, F32, F64, Scalar, Ty, U8, U16, U32, U64};
use super::want::Limit::{Absolute, Ulp};
use super::want::Want::{self, Any, Bits, Near};
use super::want::float;
use std::f64::consts::{FRAC_PI_2, PI};

/// A complex number of the host.
type C = (f64, f64);

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// The parts of a call of an import.
struct Import<'t> {
    /// The name by which it is imported.
    name: &'t str,
    /// The result type.
    result: &'t str,
    /// The types of the parameters.
    params: &'t [&'t str],
}

impl Import<'_> {
    /// A function type, a declaration `$import`, and its linkage.
    fn declare(&self, feature: Feature) -> Feature {
        let (result, params) = (self.result, self.params.join("__"));
        let mut text = format!("$import = OpFunction %{result} None %fn__{result}__{params}\n");
        let mut decorate = format!(
            "OpDecorate $import LinkageAttributes \"{}\" Import\n",
            self.name
        );
        for (index, param) in self.params.iter().enumerate() {
            text.push_str(&format!("$i{index} = OpFunctionParameter %{param}\n"));
            if param.starts_with("p_Function_s") {
                decorate.push_str(&format!("OpDecorate $i{index} FuncParamAttr ByVal\n"));
            }
        }
        text.push_str("OpFunctionEnd\n");
        feature
            .with_imports(text)
            .decorated(decorate)
            .needing(&["Linkage", "GenericPointer"])
    }
}

/// `$r = import($a, $b, ...)`.
fn plain(
    name: &str,
    params: &[Ty],
    result: Ty,
    host: impl Fn(&[u64]) -> Want + Send + Sync + 'static,
) -> Feature {
    let names: Vec<String> = params.iter().map(|ty| ty.name()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let arguments = ["$a", "$b", "$c", "$d"].iter().take(params.len());
    let arguments: Vec<&str> = arguments.copied().collect();
    let to = result.name();
    let body = format!(
        "$r = OpFunctionCall %{to} $import {} ; {name}",
        arguments.join(" ")
    );
    let op = format!("device library {name}");
    let feature = Feature::new(&op, params, &[result], &body, move |row| vec![host(row)]);
    let import = Import {
        name,
        result: &to,
        params: &names,
    };
    import.declare(feature)
}

/// A complex function, and the maximum error of its results, relative to their magnitude.
struct Complex {
    name: &'static str,
    host: fn(C) -> C,
    /// Parts of the numbers lie in between its negative and itself.
    reach: f64,
    /// Relative to the magnitude of the result, in units of the width.
    ulp: f64,
    /// Arguments with known results; NaN: any sign.
    special: &'static [(C, C)],
}

/// The expected parts: near to a magnitude for numbers, exact for the others. If the sign of a zero
/// is not specified, both zeros are accepted.
fn parts(s: Scalar, (x, y): C, ulp: f64) -> Vec<Want> {
    let size = x.hypot(y);
    let step = super::ty::power_of_two(1 - s.precision());
    let limit = Absolute(ulp * step * size + 4.0 * s.least_normal());
    let part = |value: f64| match value {
        v if v.is_nan() => Want::Nan,
        v if v.is_infinite() => float(s, v),
        // Beside an infinity or a NaN the other part is exact.
        v if !size.is_finite() => Near(v, Ulp(8.0)),
        v => Near(v, limit),
    };
    vec![part(x), part(y)]
}

/// Rows of two operands: `special` first, then numbers up to `reach` in all directions and sizes.
fn rows(s: Scalar, special: &[(C, C)], reach: f64) -> Vec<Vec<u64>> {
    let mut rng = fastrand::Rng::with_seed(11);
    let mut rows: Vec<Vec<u64>> = special
        .iter()
        .map(|((x, y), _)| vec![s.bits_of(*x), s.bits_of(*y)])
        .collect();
    while rows.len() < INVOCATIONS {
        let mut part = || {
            let small = rng.u8(0..4) == 0;
            let size = if small {
                (-10.0 * rng.f64()).exp2()
            } else {
                1.0
            };
            let value = reach * size * rng.f64();
            s.bits_of(if rng.bool() { value } else { -value })
        };
        rows.push(vec![part(), part()]);
    }
    rows.truncate(INVOCATIONS);
    rows
}

/// A complex function: with 64-bit floats its operands and its result are passed through pointers,
/// as in clang's ABI; with 32-bit floats by value.
fn complex(function: &Complex, s: Scalar) -> Feature {
    let name = match s {
        F32 => format!("__devicelib_{}f", function.name),
        _ => format!("__devicelib_{}", function.name),
    };
    let own = s.name();
    let pair = format!("s_{own}_{own}");
    let (special, host, ulp) = (function.special, function.host, function.ulp);
    let rows = rows(s, special, function.reach);
    let answer = move |row: &[u64]| {
        let (x, y) = (s.float(row[0]), s.float(row[1]));
        let same = |a: f64, b: f64| {
            a == b && a.is_sign_negative() == b.is_sign_negative() || a.is_nan() && b.is_nan()
        };
        let known = special
            .iter()
            .find(|((a, b), _)| same(*a, x) && same(*b, y));
        parts(
            s,
            known.map_or_else(|| host((x, y)), |(_, result)| *result),
            ulp,
        )
    };
    let split = format!(
        "$r = OpCompositeExtract %{own} $w 0\n$s = OpCompositeExtract %{own} $w 1 ; {name}"
    );
    let op = format!("device library {name}");
    let (params, results) = ([s.into(), s.into()], [s.into(), s.into()]);
    if s == F32 {
        let body = format!(
            "$z = OpCompositeConstruct %{pair} $a $b\n$w = OpFunctionCall %{pair} $import $z\n{split}"
        );
        let feature = Feature::new(&op, &params, &results, &body, answer).with_inputs(rows);
        let import = Import {
            name: &name,
            result: &pair,
            params: &[&pair],
        };
        return import.declare(feature);
    }
    let body = format!(
        "$z = OpCompositeConstruct %{pair} $a $b\nOpStore $arg $z Aligned 8\n\
         $out = OpPtrCastToGeneric %p_Generic_{pair} $res\n\
         $n = OpFunctionCall %void $import $out $arg\n$w = OpLoad %{pair} $res Aligned 8\n{split}"
    );
    let variables = format!(
        "$arg = OpVariable %p_Function_{pair} Function\n$res = OpVariable %p_Function_{pair} Function\n"
    );
    let feature = Feature::new(&op, &params, &results, &body, answer)
        .with_inputs(rows)
        .with_variables(variables);
    let import = Import {
        name: &name,
        result: "void",
        params: &[&format!("p_Generic_{pair}"), &format!("p_Function_{pair}")],
    };
    import.declare(feature)
}

fn mul((a, b): C, (c, d): C) -> C {
    (a * c - b * d, a * d + b * c)
}

fn log((x, y): C) -> C {
    (x.hypot(y).ln(), y.atan2(x))
}

fn exp((x, y): C) -> C {
    (x.exp() * y.cos(), x.exp() * y.sin())
}

/// By the half angle.
fn sqrt((x, y): C) -> C {
    let (r, angle) = (x.hypot(y).sqrt(), y.atan2(x) / 2.0);
    (r * angle.cos(), r * angle.sin())
}

fn sinh((x, y): C) -> C {
    (x.sinh() * y.cos(), x.cosh() * y.sin())
}

fn cosh((x, y): C) -> C {
    (x.cosh() * y.cos(), x.sinh() * y.sin())
}

fn quotient((a, b): C, (c, d): C) -> C {
    let square = c * c + d * d;
    ((a * c + b * d) / square, (b * c - a * d) / square)
}

fn tanh(z: C) -> C {
    quotient(sinh(z), cosh(z))
}

/// `-i f(i z)`.
fn turned((x, y): C, f: fn(C) -> C) -> C {
    let (re, im) = f((-y, x));
    (im, -re)
}

/// `log(z + sqrt(z + 1) sqrt(z - 1))`, in the half-plane without cancellation.
fn acosh((x, y): C) -> C {
    if x < 0.0 {
        let (re, im) = acosh((-x, -y));
        return (re, im + PI.copysign(y));
    }
    let (p, q) = (sqrt((x + 1.0, y)), sqrt((x - 1.0, y)));
    let root = mul(p, q);
    log((x + root.0, y + root.1))
}

fn acos(z: C) -> C {
    let (re, im) = acosh(z);
    (im.abs(), -re.copysign(z.1))
}

fn asin(z: C) -> C {
    let (re, im) = acos(z);
    (FRAC_PI_2 - re, -im)
}

/// `(log(1 + z) - log(1 - z)) / 2`.
fn atanh((x, y): C) -> C {
    let (p, q) = (log((1.0 + x, y)), log((1.0 - x, -y)));
    ((p.0 - q.0) / 2.0, (p.1 - q.1) / 2.0)
}

#[rustfmt::skip] // a table
const FUNCTIONS: &[Complex] = &[
    Complex { name: "cexp", host: exp, reach: 20.0, ulp: 8.0, special: &[
        ((0.0, 0.0), (1.0, 0.0)), ((-0.0, -0.0), (1.0, -0.0)), ((1.0, INF), (NAN, NAN)),
        ((INF, 0.0), (INF, 0.0)), ((-INF, 2.0), (-0.0, 0.0)), ((INF, 2.0), (-INF, INF)),
        ((-INF, INF), (0.0, 0.0)), ((INF, INF), (INF, NAN)), ((-INF, NAN), (0.0, 0.0)),
        ((INF, NAN), (INF, NAN)), ((NAN, 0.0), (NAN, 0.0)), ((NAN, 1.0), (NAN, NAN)),
    ] },
    Complex { name: "clog", host: log, reach: 100.0, ulp: 8.0, special: &[
        ((-0.0, 0.0), (-INF, PI)), ((0.0, 0.0), (-INF, 0.0)), ((3.0, INF), (INF, FRAC_PI_2)),
        ((-INF, 1.0), (INF, PI)), ((INF, 1.0), (INF, 0.0)), ((-INF, INF), (INF, 0.75 * PI)),
        ((INF, INF), (INF, 0.25 * PI)), ((INF, NAN), (INF, NAN)), ((NAN, INF), (INF, NAN)), ((NAN, 1.0), (NAN, NAN)),
    ] },
    Complex { name: "csqrt", host: sqrt, reach: 100.0, ulp: 8.0, special: &[
        ((0.0, 0.0), (0.0, 0.0)), ((-0.0, -0.0), (0.0, -0.0)), ((-4.0, 0.0), (0.0, 2.0)), ((-4.0, -0.0), (0.0, -2.0)),
        ((3.0, 4.0), (2.0, 1.0)), ((1.0, INF), (INF, INF)), ((NAN, -INF), (INF, -INF)), ((-INF, 1.0), (0.0, INF)),
        ((INF, -1.0), (INF, -0.0)), ((-INF, NAN), (NAN, INF)), ((INF, NAN), (INF, NAN)), ((NAN, 1.0), (NAN, NAN)),
    ] },
    Complex { name: "csinh", host: sinh, reach: 20.0, ulp: 8.0, special: &[
        ((0.0, 0.0), (0.0, 0.0)), ((0.0, INF), (0.0, NAN)), ((1.0, INF), (NAN, NAN)), ((INF, 0.0), (INF, 0.0)),
        ((INF, 1.0), (INF, INF)), ((INF, INF), (INF, NAN)), ((NAN, 0.0), (NAN, 0.0)), ((NAN, NAN), (NAN, NAN)),
    ] },
    Complex { name: "ccosh", host: cosh, reach: 20.0, ulp: 8.0, special: &[
        ((0.0, 0.0), (1.0, 0.0)), ((0.0, INF), (NAN, 0.0)), ((1.0, INF), (NAN, NAN)), ((INF, 0.0), (INF, 0.0)),
        ((-INF, 0.0), (INF, -0.0)), ((INF, 1.0), (INF, INF)), ((INF, INF), (INF, NAN)), ((NAN, 0.0), (NAN, 0.0)),
    ] },
    Complex { name: "ctanh", host: tanh, reach: 8.0, ulp: 32.0, special: &[
        ((0.0, 0.0), (0.0, 0.0)), ((INF, 1.0), (1.0, 0.0)), ((-INF, 1.0), (-1.0, 0.0)), ((INF, INF), (1.0, 0.0)),
        ((1.0, INF), (NAN, NAN)), ((NAN, 0.0), (NAN, 0.0)), ((300.0, 1.0), (1.0, 0.0)),
    ] },
    Complex { name: "csin", host: |z| turned(z, sinh), reach: 20.0, ulp: 8.0, special: &[((0.0, 0.0), (0.0, 0.0)), ((0.0, INF), (0.0, INF))] },
    Complex { name: "ccos", host: |(x, y)| cosh((-y, x)), reach: 20.0, ulp: 8.0, special: &[((0.0, 0.0), (1.0, -0.0)), ((0.0, INF), (INF, 0.0))] },
    Complex { name: "ctan", host: |z| turned(z, tanh), reach: 8.0, ulp: 32.0, special: &[((0.0, 0.0), (0.0, 0.0)), ((1.0, INF), (0.0, 1.0))] },
    Complex { name: "cacos", host: acos, reach: 20.0, ulp: 16.0, special: &[
        ((0.0, 0.0), (FRAC_PI_2, -0.0)), ((1.0, 0.0), (0.0, -0.0)), ((-2.0, 0.0), (PI, -1.3169578969248167)),
        ((2.0, -0.0), (0.0, 1.3169578969248167)), ((0.0, NAN), (FRAC_PI_2, NAN)), ((1.0, INF), (FRAC_PI_2, -INF)),
        ((-INF, 1.0), (PI, -INF)), ((INF, 1.0), (0.0, -INF)), ((-INF, INF), (0.75 * PI, -INF)), ((INF, INF), (0.25 * PI, -INF)),
        ((NAN, INF), (NAN, -INF)), ((NAN, 1.0), (NAN, NAN)), ((1e30, 1e30), (0.25 * PI, -70.11727356066129)),
    ] },
    Complex { name: "casin", host: asin, reach: 20.0, ulp: 16.0, special: &[
        ((0.0, 0.0), (0.0, 0.0)), ((1.0, 0.0), (FRAC_PI_2, 0.0)), ((2.0, 0.0), (FRAC_PI_2, 1.3169578969248167)),
        ((2.0, -0.0), (FRAC_PI_2, -1.3169578969248167)), ((1.0, INF), (0.0, INF)), ((INF, 1.0), (FRAC_PI_2, INF)),
    ] },
    Complex { name: "catan", host: |z| turned(z, atanh), reach: 20.0, ulp: 16.0, special: &[((0.0, 0.0), (0.0, 0.0)), ((INF, 0.0), (FRAC_PI_2, 0.0))] },
    Complex { name: "cacosh", host: acosh, reach: 20.0, ulp: 16.0, special: &[
        ((0.0, 0.0), (0.0, FRAC_PI_2)), ((-2.0, 0.0), (1.3169578969248167, PI)), ((1.0, INF), (INF, FRAC_PI_2)), ((-INF, 1.0), (INF, PI)),
    ] },
    Complex { name: "casinh", host: |z| turned(z, asin), reach: 20.0, ulp: 16.0, special: &[((0.0, 0.0), (0.0, 0.0)), ((1.0, INF), (INF, FRAC_PI_2)), ((INF, INF), (INF, 0.25 * PI))] },
    Complex { name: "catanh", host: atanh, reach: 20.0, ulp: 16.0, special: &[
        ((0.0, 0.0), (0.0, 0.0)), ((1.0, 0.0), (INF, 0.0)), ((0.0, NAN), (0.0, NAN)), ((1.0, INF), (0.0, FRAC_PI_2)),
        ((INF, 1.0), (0.0, FRAC_PI_2)), ((INF, NAN), (0.0, NAN)), ((NAN, INF), (0.0, FRAC_PI_2)), ((1e30, 1e30), (5e-31, FRAC_PI_2)),
    ] },
    Complex { name: "cproj", host: |z| z, reach: 100.0, ulp: 0.0, special: &[((INF, -1.0), (INF, -0.0)), ((NAN, -INF), (INF, -0.0)), ((NAN, 1.0), (NAN, 1.0))] },
];

/// The operators of C, whose parts are four parameters and whose result is returned through a
/// pointer.
fn operator(
    name: &str,
    s: Scalar,
    host: fn(C, C) -> C,
    special: &'static [([f64; 4], C)],
) -> Feature {
    let own = s.name();
    let pair = format!("s_{own}_{own}");
    let align = s.bits() / 8;
    let body = format!(
        "$out = OpPtrCastToGeneric %p_Generic_{pair} $res\n\
         $n = OpFunctionCall %void $import $out $a $b $c $d\n$w = OpLoad %{pair} $res Aligned {align}\n\
         $r = OpCompositeExtract %{own} $w 0\n$s = OpCompositeExtract %{own} $w 1 ; {name}"
    );
    let mut rng = fastrand::Rng::with_seed(5);
    let mut inputs: Vec<Vec<u64>> = special
        .iter()
        .map(|(row, _)| row.iter().map(|v| s.bits_of(*v)).collect())
        .collect();
    while inputs.len() < INVOCATIONS {
        let mut part = || s.bits_of((rng.f64() - 0.5) * super::ty::power_of_two(rng.i32(-20..20)));
        inputs.push(vec![part(), part(), part(), part()]);
    }
    let answer = move |row: &[u64]| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| s.float(row[at]));
        let known = special.iter().find(|(known, _)| {
            known
                .iter()
                .zip(row)
                .all(|(value, bits)| s.bits_of(*value) == *bits)
        });
        let (x, y) = known.map_or_else(|| host((a, b), (c, d)), |(_, result)| *result);
        // Products may cancel: each part is as near as they are.
        parts(s, (x, y), 8.0)
    };
    let op = format!("device library {name}");
    let params = [s.into(); 4];
    let feature = Feature::new(&op, &params, &[s.into(), s.into()], &body, answer)
        .with_inputs(inputs)
        .with_variables(format!("$res = OpVariable %p_Function_{pair} Function\n"));
    let import = Import {
        name,
        result: "void",
        params: &[&format!("p_Generic_{pair}"), own, own, own, own],
    };
    import.declare(feature)
}

#[rustfmt::skip] // a table
const PRODUCTS: &[([f64; 4], C)] = &[
    ([INF, NAN, 1.0, 1.0], (INF, INF)), ([INF, INF, INF, INF], (NAN, INF)),
    ([INF, 0.0, 0.0, 0.0], (NAN, NAN)), ([1.0, 2.0, INF, NAN], (INF, INF)),
];

#[rustfmt::skip] // a table
const QUOTIENTS: &[([f64; 4], C)] = &[
    ([1.0, 2.0, 0.0, 0.0], (INF, INF)), ([1.0, 2.0, -0.0, 0.0], (-INF, -INF)), ([INF, 1.0, 1.0, 0.0], (INF, NAN)),
    ([INF, INF, 1.0, 1.0], (INF, NAN)), ([1.0, 1.0, INF, INF], (0.0, 0.0)), ([0.0, 0.0, 0.0, 0.0], (NAN, NAN)),
];

/// `$r = import($a, $b, &$s)`: the second result is returned through a pointer.
fn with_pointer(
    name: &'static str,
    params: &[Ty],
    results: [Ty; 2],
    host: impl Fn(&[u64]) -> Vec<Want> + Send + Sync + 'static,
) -> Feature {
    let [result, other] = results.map(|ty| ty.name());
    let pointer = format!("p_Generic_{other}");
    let arguments = ["$a", "$b"].iter().take(params.len());
    let arguments: Vec<&str> = arguments.copied().collect();
    let align = results[1].scalar.bits() / 8;
    let body = format!(
        "$out = OpPtrCastToGeneric %{pointer} $place\n\
         $r = OpFunctionCall %{result} $import {} $out\n$s = OpLoad %{other} $place Aligned {align} ; {name}",
        arguments.join(" ")
    );
    let op = format!("device library {name}");
    let feature = Feature::new(&op, params, &results, &body, host).with_variables(format!(
        "$place = OpVariable %p_Function_{other} Function\n"
    ));
    let mut names: Vec<String> = params.iter().map(|ty| ty.name()).collect();
    names.push(pointer);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let import = Import {
        name,
        result: &result,
        params: &names,
    };
    import.declare(feature)
}

fn near(s: Scalar, value: f64, ulp: f64) -> Want {
    Near(value, Ulp(ulp + f64::from(u8::from(s == F64))))
}

/// Functions of real numbers, one of each shape. Their results are tested with OpenCL.std.
fn reals(all: &mut Vec<Feature>) {
    let (f, d) = (Ty::from(F32), Ty::from(F64));
    let (int, long) = (Ty::from(U32), Ty::from(U64));
    for (name, s) in [
        ("__devicelib_sinf", F32),
        ("sinf", F32),
        ("__devicelib_sin", F64),
    ] {
        all.push(plain(name, &[s.into()], s.into(), move |row| {
            let x = s.float(row[0]);
            if x.abs() > 1e4 {
                Any
            } else {
                near(s, x.sin(), 4.0)
            }
        }));
    }
    all.push(plain("__devicelib_erf", &[d], d, |row| {
        near(F64, libm::erf(F64.float(row[0])), 16.0)
    }));
    all.push(plain("__devicelib_erff", &[f], f, |row| {
        near(F32, libm::erf(F32.float(row[0])), 16.0)
    }));
    all.push(plain("__imf_fmaxf", &[f, f], f, |row| {
        let (x, y) = (F32.float(row[0]), F32.float(row[1]));
        if x == y { Any } else { float(F32, x.max(y)) }
    }));
    all.push(plain(
        "__devicelib_imf_fabsf16",
        &[Ty::from(F16)],
        Ty::from(F16),
        |row| float(F16, F16.float(row[0]).abs()),
    ));
    all.push(plain("__devicelib_scalbnf", &[f, int], f, |row| {
        let n = row[1] as u32 as i32;
        let (x, exact) = (
            F32.float(row[0]),
            libm::ldexp(F32.float(row[0]), n.clamp(-400, 400)),
        );
        if x.is_nan() {
            Want::Nan
        } else {
            near(F32, exact, 0.5)
        }
    }));
    all.push(plain("__devicelib_ilogbf", &[f], int, |row| {
        match F32.float(row[0]) {
            x if x == 0.0 || !x.is_finite() => Any,
            x => Bits(u64::from(libm::ilogb(x) as u32)),
        }
    }));
    all.push(with_pointer("__devicelib_frexp", &[d], [d, int], |row| {
        let x = F64.float(row[0]);
        let (fraction, exponent) = libm::frexp(x);
        let known = if x.is_finite() {
            Bits(u64::from(exponent as u32))
        } else {
            Any
        };
        vec![float(F64, fraction), known]
    }));
    all.push(with_pointer("__devicelib_modff", &[f], [f, f], |row| {
        let x = F32.float(row[0]);
        if !x.is_finite() {
            return vec![Any, float(F32, x)];
        }
        vec![float(F32, x.fract().copysign(x)), float(F32, x.trunc())]
    }));
    all.push(plain("__devicelib_abs", &[int], int, |row| {
        Bits(u64::from((row[0] as u32 as i32).unsigned_abs()))
    }));
    all.push(plain("__devicelib_llabs", &[long], long, |row| {
        Bits((row[0] as i64).unsigned_abs())
    }));
}

fn bits_of(value: i32) -> Want {
    Bits(u64::from(value as u32))
}

/// Functions of integers, conversions, and functions of more than one instruction.
fn scalars(all: &mut Vec<Feature>) {
    let (f, d) = (Ty::from(F32), Ty::from(F64));
    let (int, long) = (Ty::from(U32), Ty::from(U64));
    all.push(plain("__imf_invf", &[f], f, |row| {
        near(F32, 1.0 / F32.float(row[0]), 2.5)
    }));
    all.push(plain("__imf_saturatef", &[f], f, |row| {
        let x = F32.float(row[0]);
        if x == 0.0 {
            Any
        } else {
            float(F32, if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) })
        }
    }));
    all.push(plain("__devicelib_imf_sad", &[int, int, int], int, |row| {
        let distance = i64::from(row[0] as i32).abs_diff(i64::from(row[1] as i32));
        Bits(distance.wrapping_add(row[2]) & 0xffff_ffff)
    }));
    all.push(plain(
        "__devicelib_imf_usad",
        &[int, int, int],
        int,
        |row| Bits(row[0].abs_diff(row[1]).wrapping_add(row[2]) & 0xffff_ffff),
    ));
    all.push(plain("__imf_ffs", &[int], int, |row| match row[0] as u32 {
        0 => Bits(0),
        x => Bits(u64::from(x.trailing_zeros() + 1)),
    }));
    all.push(plain("__imf_ffsll", &[long], int, |row| match row[0] {
        0 => Bits(0),
        x => Bits(u64::from(x.trailing_zeros() + 1)),
    }));
    all.push(plain("__imf_clzll", &[long], int, |row| {
        Bits(row[0].leading_zeros().into())
    }));
    all.push(plain("__imf_popcll", &[long], int, |row| {
        Bits(row[0].count_ones().into())
    }));
    all.push(plain("__imf_brev", &[int], int, |row| {
        Bits(u64::from((row[0] as u32).reverse_bits()))
    }));
    all.push(plain("__imf_mulhi", &[int, int], int, |row| {
        let product = i64::from(row[0] as i32) * i64::from(row[1] as i32);
        Bits((product >> 32) as u64 & 0xffff_ffff)
    }));
    all.push(plain("__imf_float_as_int", &[f], int, |row| {
        if F32.float(row[0]).is_nan() {
            Any
        } else {
            Bits(row[0])
        }
    }));
    type Round = fn(f64) -> f64;
    let modes: [(&str, Round); 4] = [
        ("rn", f64::round_ties_even),
        ("rz", f64::trunc),
        ("ru", f64::ceil),
        ("rd", f64::floor),
    ];
    for (mode, round) in modes {
        let name = format!("__imf_float2int_{mode}");
        all.push(plain(&name, &[f], int, move |row| {
            let x = round(F32.float(row[0]));
            if x.abs() < 2e9 {
                bits_of(x as i32)
            } else {
                Any
            }
        }));
        let name = format!("__imf_double2ull_{mode}");
        all.push(plain(&name, &[d], long, move |row| {
            let x = round(F64.float(row[0]));
            if (0.0..1e19).contains(&x) {
                Bits(x as u64)
            } else {
                Any
            }
        }));
        let name = format!("__imf_int2double_{mode}");
        all.push(plain(&name, &[int], d, |row| {
            float(F64, f64::from(row[0] as i32))
        }));
    }
    all.push(plain("llvm.usub.sat.i32", &[int, int], int, |row| {
        Bits((row[0]).saturating_sub(row[1]))
    }));
}

/// `div` and `lldiv`: a structure of two integers.
fn divisions(all: &mut Vec<Feature>) {
    for (name, s) in [("__devicelib_div", U32), ("__devicelib_lldiv", U64)] {
        let own = s.name();
        let pair = format!("s_{own}_{own}");
        let body = format!(
            "$w = OpFunctionCall %{pair} $import $a $b\n\
             $r = OpCompositeExtract %{own} $w 0\n$s = OpCompositeExtract %{own} $w 1 ; {name}"
        );
        let op = format!("device library {name}");
        let ty = Ty::from(s);
        let feature = Feature::new(&op, &[ty, ty], &[ty, ty], &body, move |row| {
            let (x, y) = (s.signed(row[0]), s.signed(row[1]));
            let least = s.signed(1 << (s.bits() - 1));
            if y == 0 || x == least && y == -1 {
                return vec![Any, Any];
            }
            vec![
                Bits((x / y) as u64 & s.mask()),
                Bits((x % y) as u64 & s.mask()),
            ]
        });
        let import = Import {
            name,
            result: &pair,
            params: &[own, own],
        };
        all.push(import.declare(feature));
    }
}

/// bfloat16: by value, through a pointer, and four through pointers.
fn brains(all: &mut Vec<Feature>) {
    let (f, word) = (Ty::from(F32), Ty::from(U16));
    all.push(plain(
        "__devicelib_ConvertFToBF16INTEL",
        &[f],
        word,
        |row| super::extensions::brain(F32.float(row[0])),
    ));
    let name = "__devicelib_ConvertBF16ToFINTEL";
    let body = format!(
        "OpStore $place $a Aligned 2\n$p = OpPtrCastToGeneric %p_Generic_u16 $place\n\
         $r = OpFunctionCall %f32 $import $p ; {name}"
    );
    let op = format!("device library {name}");
    let feature = Feature::new(&op, &[word], &[f], &body, |row| {
        vec![super::want::float_or_bits(F32, row[0] << 16)]
    });
    let feature = feature.with_variables("$place = OpVariable %p_Function_u16 Function\n");
    let import = Import {
        name,
        result: "f32",
        params: &["p_Generic_u16"],
    };
    all.push(import.declare(feature));
}

/// memcpy, memset and memcmp of a part of eight bytes; the last operand is the size.
fn bytes(all: &mut Vec<Feature>) {
    let (long, count) = (Ty::from(U64), Ty::from(U64));
    let sizes = |mut feature: Feature| {
        for row in &mut feature.inputs {
            row[2] %= 9;
        }
        feature
    };
    let pointers = "$x = OpBitcast %p_Function_u8 $one\n$y = OpBitcast %p_Function_u8 $other\n\
                    $p = OpPtrCastToGeneric %p_Generic_u8 $x\n$q = OpPtrCastToGeneric %p_Generic_u8 $y\n";
    let fill = "OpStore $one $a Aligned 8\nOpStore $other $b Aligned 8\n";
    let variables = "$one = OpVariable %p_Function_u64 Function\n$other = OpVariable %p_Function_u64 Function\n";
    let mask = |size: u64| {
        if size == 8 {
            u64::MAX
        } else {
            (1 << (8 * size)) - 1
        }
    };
    type Host = Box<dyn Fn(&[u64]) -> Want + Send + Sync>;
    let feature = |name: &str, call: &str, result: Ty, host: Host| {
        let body = format!("{fill}{pointers}{call} ; {name}");
        let op = format!("device library {name}");
        Feature::new(&op, &[long, long, count], &[result], &body, move |row| {
            vec![host(row)]
        })
        .with_variables(variables)
    };
    let copy = feature(
        "__devicelib_memcpy",
        "$d = OpFunctionCall %p_Generic_u8 $import $p $q $c\n$r = OpLoad %u64 $one Aligned 8",
        long,
        Box::new(move |row| Bits(row[0] & !mask(row[2]) | row[1] & mask(row[2]))),
    );
    let import = Import {
        name: "__devicelib_memcpy",
        result: "p_Generic_u8",
        params: &["p_Generic_u8", "p_Generic_u8", "u64"],
    };
    all.push(sizes(import.declare(copy)));
    let set = feature(
        "__devicelib_memset",
        "$v = OpUConvert %u32 $b\n$d = OpFunctionCall %p_Generic_u8 $import $p $v $c\n$r = OpLoad %u64 $one Aligned 8",
        long,
        Box::new(move |row| {
            let byte = (row[1] & 0xff) * 0x0101_0101_0101_0101;
            Bits(row[0] & !mask(row[2]) | byte & mask(row[2]))
        }),
    );
    let import = Import {
        name: "__devicelib_memset",
        result: "p_Generic_u8",
        params: &["p_Generic_u8", "u32", "u64"],
    };
    all.push(sizes(import.declare(set)));
    let compare = feature(
        "__devicelib_memcmp",
        "$r = OpFunctionCall %u32 $import $p $q $c",
        Ty::from(U32),
        Box::new(|row| {
            let (x, y) = (row[0].to_le_bytes(), row[1].to_le_bytes());
            let mut pairs = x.iter().zip(&y).take(row[2] as usize);
            let first = pairs.find(|(x, y)| x != y);
            bits_of(first.map_or(0, |(x, y)| i32::from(*x) - i32::from(*y)))
        }),
    );
    let import = Import {
        name: "__devicelib_memcmp",
        result: "u32",
        params: &["p_Generic_u8", "p_Generic_u8", "u64"],
    };
    all.push(sizes(import.declare(compare)));
}

/// Instructions that were called as functions.
fn instructions(all: &mut Vec<Feature>) {
    let (f, int) = (Ty::from(F32), Ty::from(U32));
    all.push(plain("_Z16__spirv_ocl_fminff", &[f, f], f, |row| {
        let (x, y) = (F32.float(row[0]), F32.float(row[1]));
        if x == y { Any } else { float(F32, x.min(y)) }
    }));
    all.push(plain("__spirv_ocl_u_min", &[int, int], int, |row| {
        Bits(row[0].min(row[1]))
    }));
    all.push(plain("_Z18__spirv_BitReversej", &[int], int, |row| {
        Bits(u64::from((row[0] as u32).reverse_bits()))
    }));
    // A test gives an integer: 1 of one number, -1 of a part of a vector.
    all.push(plain("_Z13__spirv_IsNanf", &[f], int, |row| {
        Bits(u64::from(F32.float(row[0]).is_nan()))
    }));
    let vector = Ty::vector(F32, 2);
    let body = "$r = OpFunctionCall %u8v2 $import $a ; _Z13__spirv_IsInfDv2_f";
    let feature = Feature::new(
        "device library _Z13__spirv_IsInfDv2_f",
        &[vector],
        &[Ty::vector(U8, 2)],
        body,
        |row| {
            let one = |bits: &u64| {
                Bits(if F32.float(*bits).is_infinite() {
                    0xff
                } else {
                    0
                })
            };
            row.iter().map(one).collect()
        },
    );
    let import = Import {
        name: "_Z13__spirv_IsInfDv2_f",
        result: "u8v2",
        params: &["f32v2"],
    };
    all.push(import.declare(feature));
    all.push(plain(
        "_Z32__spirv_ConvertFToS_Rint_sat_rtef",
        &[f],
        int,
        |row| {
            let x = F32.float(row[0]);
            bits_of(if x.is_nan() {
                0
            } else {
                x.round_ties_even() as i32
            })
        },
    ));
}

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    for s in [F32, F64] {
        all.extend(FUNCTIONS.iter().map(|function| complex(function, s)));
    }
    all.push(operator("__devicelib___muldc3", F64, mul, PRODUCTS));
    all.push(operator("__mulsc3", F32, mul, PRODUCTS));
    all.push(operator("__divdc3", F64, quotient, QUOTIENTS));
    all.push(operator("__devicelib___divsc3", F32, quotient, QUOTIENTS));
    reals(&mut all);
    scalars(&mut all);
    divisions(&mut all);
    brains(&mut all);
    bytes(&mut all);
    instructions(&mut all);
    all
}
