//! GLSL.std.450: functions whose results are exact, integers, packing, and geometry.

use super::edges::between;
use super::feature::Feature;
use super::float_rules::{self, larger, smaller};
use super::ty::{F16, F32, F64, FLOATS, INTEGERS, Scalar, Ty, U32};
use super::want::Limit::{Absolute, Ulp};
use super::want::Want::{self, Any, Bits, Near};
use super::want::float;

fn name(op: &str) -> String {
    format!("GLSL.std.450 {op}")
}

type OfFloat = fn(Scalar, f64) -> Want;

#[rustfmt::skip] // a table
const EXACT: [(&str, OfFloat); 8] = [
    // Halves either way.
    ("Round", |s, x| if x.fract().abs() == 0.5 { Want::OneOf(vec![s.bits_of(x.round()), s.bits_of(x.round_ties_even())]) } else { float(s, x.round()) }),
    ("RoundEven", |s, x| float(s, x.round_ties_even())),
    ("Trunc", |s, x| float(s, x.trunc())),
    ("Floor", |s, x| float(s, x.floor())),
    ("Ceil", |s, x| float(s, x.ceil())),
    ("FAbs", |s, x| float(s, x.abs())),
    ("FSign", |s, x| if x.is_nan() { Any } else if x == 0.0 { Want::OneOf(vec![s.bits_of(0.0), s.bits_of(-0.0)]) } else { float(s, x.signum()) }),
    ("Fract", |_, x| if x.is_finite() { Near(x - x.floor(), Ulp(0.5)) } else { Any }),
];

type OfIntegers = fn(Scalar, u64, u64) -> bool;

/// Minimum and maximum: whether the first operand is the result.
#[rustfmt::skip] // a table
const EXTREMES: [(&str, OfIntegers); 4] = [
    ("UMin", |_, a, b| a <= b),
    ("UMax", |_, a, b| a >= b),
    ("SMin", |s, a, b| s.signed(a) <= s.signed(b)),
    ("SMax", |s, a, b| s.signed(a) >= s.signed(b)),
];

/// `x` in `[low, high]`.
fn clamp(op: &str, s: Scalar, signed: bool) -> Feature {
    let ty = Ty::from(s);
    let key = move |v: u64| {
        if signed {
            s.signed(v) as i128
        } else {
            i128::from(v)
        }
    };
    Feature::simple(&name(op), &[ty, ty, ty], ty, move |row| {
        let (x, low, high) = (key(row[0]), key(row[1]), key(row[2]));
        if low > high {
            Any
        } else {
            Bits(x.clamp(low, high) as u64 & s.mask())
        }
    })
}

fn integers(all: &mut Vec<Feature>) {
    for s in INTEGERS {
        let ty = Ty::from(s);
        for (op, host) in EXTREMES {
            all.push(Feature::simple(&name(op), &[ty, ty], ty, move |row| {
                Bits(if host(s, row[0], row[1]) {
                    row[0]
                } else {
                    row[1]
                })
            }));
        }
        all.push(clamp("UClamp", s, false));
        all.push(clamp("SClamp", s, true));
        all.push(Feature::simple(&name("SAbs"), &[ty], ty, move |row| {
            Bits(s.signed(row[0]).wrapping_abs() as u64 & s.mask())
        }));
        all.push(Feature::simple(&name("SSign"), &[ty], ty, move |row| {
            Bits(s.signed(row[0]).signum() as u64 & s.mask())
        }));
    }
    // Of 32 bits only.
    let ty = Ty::from(U32);
    let find = |op: &str, host: fn(u32) -> Option<u32>| {
        Feature::simple(&name(op), &[ty], ty, move |row| {
            Bits(u64::from(host(row[0] as u32).unwrap_or(u32::MAX)))
        })
    };
    let highest = |v: u32| 31u32.checked_sub(v.leading_zeros());
    all.push(find("FindILsb", |v| (v != 0).then(|| v.trailing_zeros())));
    all.push(find("FindUMsb", highest));
    all.push(find("FindSMsb", |v| {
        31u32.checked_sub(if v >> 31 == 1 { !v } else { v }.leading_zeros())
    }));
}

fn floats(all: &mut Vec<Feature>) {
    for s in FLOATS {
        let ty = Ty::from(s);
        for (op, host) in EXACT {
            all.push(Feature::simple(&name(op), &[ty], ty, move |row| {
                host(s, s.float(row[0]))
            }));
        }
        for (op, host) in [
            ("FMin", smaller as fn(Scalar, f64, f64) -> Want),
            ("FMax", larger),
            ("NMin", smaller),
            ("NMax", larger),
        ] {
            let lenient = op.starts_with('F');
            all.push(Feature::simple(&name(op), &[ty, ty], ty, move |row| {
                let (x, y) = (s.float(row[0]), s.float(row[1]));
                if lenient && (x.is_nan() || y.is_nan()) {
                    Any
                } else {
                    host(s, x, y)
                }
            }));
        }
        for op in ["FClamp", "NClamp"] {
            all.push(Feature::simple(&name(op), &[ty, ty, ty], ty, move |row| {
                float_rules::clamp(s, s.float(row[0]), s.float(row[1]), s.float(row[2]))
            }));
        }
        all.push(Feature::simple(
            &name("Fma"),
            &[ty, ty, ty],
            ty,
            move |row| float_rules::fma(s, [row[0], row[1], row[2]]),
        ));
        let mut mix = Feature::simple(&name("FMix"), &[ty, ty, ty], ty, move |row| {
            let (x, y, a) = (s.float(row[0]), s.float(row[1]), s.float(row[2]));
            let error = s.ulp(x.abs().max(y.abs())) * 2.0;
            Near(x * (1.0 - a) + y * a, Absolute(error))
        });
        mix.requirement = "as x * (1 - a) + y * a";
        all.push(mix.with_inputs(between(6, &[(s, -4.0, 4.0), (s, -4.0, 4.0), (s, 0.0, 1.0)])));
        all.push(Feature::simple(&name("Step"), &[ty, ty], ty, move |row| {
            let (edge, x) = (s.float(row[0]), s.float(row[1]));
            if edge.is_nan() || x.is_nan() {
                Any
            } else {
                float(s, f64::from(x >= edge))
            }
        }));
        let mut smooth = Feature::simple(&name("SmoothStep"), &[ty, ty, ty], ty, move |row| {
            let (low, high, x) = (s.float(row[0]), s.float(row[1]), s.float(row[2]));
            let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
            Near(t * t * (3.0 - 2.0 * t), Absolute(8.0 * s.ulp(1.0)))
        });
        smooth.requirement = "as t * t * (3 - 2 * t)";
        all.push(smooth.with_inputs(between(7, &[(s, -1.0, 0.0), (s, 0.5, 2.0), (s, -2.0, 3.0)])));
        let word = Ty::from(U32);
        let ldexp = Feature::simple(&name("Ldexp"), &[ty, word], ty, move |row| {
            float_rules::ldexp(s, s.float(row[0]), row[1] as i32)
        });
        let mut rows = super::edges::rows(8, &[ty]);
        for (at, row) in rows.iter_mut().enumerate() {
            row.push(u64::from((at as i32 % 61 - 30) as u32));
        }
        all.push(ldexp.with_inputs(rows));
        split(all, s);
    }
}

/// The functions with two results, as a structure and with a pointer.
fn split(all: &mut Vec<Feature>, s: Scalar) {
    let (ty, f) = (Ty::from(s), s.name());
    let modf = move |row: &[u64]| float_rules::modf(s, s.float(row[0]));
    let frexp = move |row: &[u64]| float_rules::frexp(s, s.float(row[0]));
    let members = |op: &str, second: &str| {
        format!(
            "$x = OpExtInst %s_{f}_{second} %glsl {op} $a\n$r = OpCompositeExtract %{f} $x 0\n$s = OpCompositeExtract %{second} $x 1"
        )
    };
    let pointed = |op: &str, second: &str| {
        format!("$r = OpExtInst %{f} %glsl {op} $a $v\n$s = OpLoad %{second} $v")
    };
    let variable = |second: &str| format!("$v = OpVariable %p_Function_{second} Function\n");
    let word = Ty::from(U32);
    all.push(Feature::new(
        &name("ModfStruct"),
        &[ty],
        &[ty, ty],
        &members("ModfStruct", f),
        modf,
    ));
    let mut feature = Feature::new(&name("Modf"), &[ty], &[ty, ty], &pointed("Modf", f), modf);
    feature.variables = variable(f);
    all.push(feature);
    all.push(Feature::new(
        &name("FrexpStruct"),
        &[ty],
        &[ty, word],
        &members("FrexpStruct", "u32"),
        frexp,
    ));
    let mut feature = Feature::new(
        &name("Frexp"),
        &[ty],
        &[ty, word],
        &pointed("Frexp", "u32"),
        frexp,
    );
    feature.variables = variable("u32");
    all.push(feature);
}

/// A component as a normalized integer; of halves either neighbour.
fn packing(all: &mut Vec<Feature>) {
    for (op, lanes, bits, signed) in [
        ("PackSnorm4x8", 4usize, 8u32, true),
        ("PackUnorm4x8", 4, 8, false),
        ("PackSnorm2x16", 2, 16, true),
        ("PackUnorm2x16", 2, 16, false),
    ] {
        let (low, scale) = if signed {
            (-1.0, f64::from((1u32 << (bits - 1)) - 1))
        } else {
            (0.0, f64::from((1u32 << bits) - 1))
        };
        let mask = (1u64 << bits) - 1;
        let vector = Ty::vector(F32, lanes);
        let pack = Feature::simple(&name(op), &[vector], U32.into(), move |row| {
            if row.iter().any(|v| F32.float(*v).is_nan()) {
                return Any;
            }
            // In single precision, as the formula is.
            let component = |v: &u64| {
                let clamped = F32.float(*v).clamp(low, 1.0) as f32;
                (clamped * scale as f32).round_ties_even() as i64
            };
            Bits(
                row.iter()
                    .rev()
                    .fold(0, |word, v| word << bits | component(v) as u64 & mask),
            )
        });
        let mut rows = between(9, &vec![(F32, -1.25, 1.25); lanes]);
        for (row, edges) in rows
            .iter_mut()
            .zip(super::edges::rows(9, &[vector]))
            .take(64)
        {
            *row = edges;
        }
        all.push(pack.with_inputs(rows));
        let unpack = format!("Un{}{}", op[..1].to_lowercase(), &op[1..]);
        let body = format!("$r = OpExtInst %{} %glsl {unpack} $a", vector.name());
        let mut feature = Feature::new(
            &name(&unpack),
            &[U32.into()],
            &[vector],
            &body,
            move |row| {
                (0..lanes as u32)
                    .map(|i| {
                        let part = row[0] >> (i * bits) & mask;
                        let value = if signed {
                            (part as i64) << (64 - bits) >> (64 - bits)
                        } else {
                            part as i64
                        };
                        Near((value as f64 / scale).max(low), Ulp(2.5))
                    })
                    .collect()
            },
        );
        feature.requirement = "as a division: 2.5 ULP";
        all.push(feature);
    }
    let pair = Ty::vector(F32, 2);
    all.push(Feature::simple(
        &name("PackHalf2x16"),
        &[pair],
        U32.into(),
        |row| {
            let [low, high] = [row[0], row[1]].map(|v| F32.float(v));
            if low.is_nan() || high.is_nan() {
                return Any;
            }
            Bits(F16.bits_of(low) | F16.bits_of(high) << 16)
        },
    ));
    all.push(Feature::new(
        &name("UnpackHalf2x16"),
        &[U32.into()],
        &[pair],
        "$r = OpExtInst %f32v2 %glsl UnpackHalf2x16 $a",
        |row| {
            [row[0] & 0xffff, row[0] >> 16]
                .map(|v| float(F32, F16.float(v)))
                .to_vec()
        },
    ));
    let words = Ty::vector(U32, 2);
    all.push(Feature::simple(
        &name("PackDouble2x32"),
        &[words],
        F64.into(),
        |row| Bits(row[0] | row[1] << 32),
    ));
    all.push(Feature::new(
        &name("UnpackDouble2x32"),
        &[F64.into()],
        &[words],
        "$r = OpExtInst %u32v2 %glsl UnpackDouble2x32 $a",
        |row| vec![Bits(row[0] & 0xffff_ffff), Bits(row[0] >> 32)],
    ));
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A function of vectors of `lanes` whose result is a scalar or such a vector, with an absolute
/// error that the size of its terms gives.
fn geometric(
    op: &str,
    s: Scalar,
    lanes: usize,
    vectors: usize,
    scalars: &[(f64, f64)],
    to_scalar: bool,
    host: fn(&[&[f64]]) -> Vec<f64>,
) -> Feature {
    let vector = Ty::vector(s, lanes);
    let mut params = vec![vector; vectors];
    params.extend(scalars.iter().map(|_| Ty::from(s)));
    let result = if to_scalar { s.into() } else { vector };
    let mut body = format!("$r = OpExtInst %{} %glsl {op}", result.name());
    for operand in ["$a", "$b", "$c"].iter().take(params.len()) {
        body.push(' ');
        body.push_str(operand);
    }
    let mut feature = Feature::new(&name(op), &params, &[result], &body, move |row| {
        let values: Vec<f64> = row.iter().map(|v| s.float(*v)).collect();
        let parts: Vec<&[f64]> = values.chunks(lanes).collect();
        let results = host(&parts);
        let size = results.iter().fold(1.0f64, |m, v| m.max(v.abs()));
        results
            .into_iter()
            .map(|v| Near(v, Absolute(64.0 * s.ulp(size))))
            .collect()
    });
    let mut ranges = vec![(s, -2.0, 2.0); lanes * vectors];
    ranges.extend(scalars.iter().map(|(low, high)| (s, *low, *high)));
    feature.requirement = "as its formula";
    feature.with_inputs(between(10, &ranges))
}

fn geometry(all: &mut Vec<Feature>) {
    for s in [F16, F32, F64] {
        for lanes in [2, 3, 4] {
            all.push(geometric("Length", s, lanes, 1, &[], true, |v| {
                vec![dot(v[0], v[0]).sqrt()]
            }));
            all.push(geometric("Distance", s, lanes, 2, &[], true, |v| {
                let d: Vec<f64> = v[0].iter().zip(v[1]).map(|(a, b)| a - b).collect();
                vec![dot(&d, &d).sqrt()]
            }));
            all.push(geometric("Normalize", s, lanes, 1, &[], false, |v| {
                let length = dot(v[0], v[0]).sqrt();
                v[0].iter().map(|x| x / length).collect()
            }));
            all.push(geometric("Reflect", s, lanes, 2, &[], false, |v| {
                let twice = 2.0 * dot(v[1], v[0]);
                v[0].iter().zip(v[1]).map(|(i, n)| i - twice * n).collect()
            }));
        }
        all.push(geometric("Cross", s, 3, 2, &[], false, |v| {
            let (a, b) = (v[0], v[1]);
            vec![
                a[1] * b[2] - a[2] * b[1],
                a[2] * b[0] - a[0] * b[2],
                a[0] * b[1] - a[1] * b[0],
            ]
        }));
        all.push(face_forward(s));
        all.push(refract(s));
    }
}

/// Operands whose sign decides are kept away from 0.
fn face_forward(s: Scalar) -> Feature {
    let ty = Ty::vector(s, 3);
    let body = format!("$r = OpExtInst %{} %glsl FaceForward $a $b $c", ty.name());
    let feature = Feature::new(
        &name("FaceForward"),
        &[ty, ty, ty],
        &[ty],
        &body,
        move |row| {
            let values: Vec<f64> = row.iter().map(|v| s.float(*v)).collect();
            let (n, i, reference) = (&values[..3], &values[3..6], &values[6..]);
            let product = dot(reference, i);
            n.iter()
                .map(|n| match product {
                    p if p.abs() < 0.1 => Any,
                    p if p < 0.0 => float(s, *n),
                    _ => float(s, -n),
                })
                .collect()
        },
    );
    feature.with_inputs(between(12, &[(s, -2.0, 2.0); 9]))
}

fn refract(s: Scalar) -> Feature {
    let ty = Ty::vector(s, 3);
    let body = format!("$r = OpExtInst %{} %glsl Refract $a $b $c", ty.name());
    let mut feature = Feature::new(
        &name("Refract"),
        &[ty, ty, s.into()],
        &[ty],
        &body,
        move |row| {
            let values: Vec<f64> = row.iter().map(|v| s.float(*v)).collect();
            let (i, n, eta) = (&values[..3], &values[3..6], values[6]);
            let d = dot(n, i);
            let k = 1.0 - eta * eta * (1.0 - d * d);
            (0..3)
                .map(|at| {
                    // Where the root is of nearly 0 its error has no bound.
                    if k.abs() < 0.1 {
                        Any
                    } else if k < 0.0 {
                        Near(0.0, Absolute(0.0))
                    } else {
                        Near(
                            eta * i[at] - (eta * d + k.sqrt()) * n[at],
                            Absolute(128.0 * s.ulp(1.0)),
                        )
                    }
                })
                .collect()
        },
    );
    feature.requirement = "as its formula";
    feature.with_inputs(between(
        13,
        &[
            (s, -1.0, 1.0),
            (s, -1.0, 1.0),
            (s, -1.0, 1.0),
            (s, -0.5, 0.5),
            (s, -0.5, 0.5),
            (s, 0.5, 1.0),
            (s, 0.2, 1.2),
        ],
    ))
}

/// The determinant by elimination, in double precision.
fn determinant(n: usize, m: &[f64]) -> f64 {
    if n == 1 {
        return m[0];
    }
    (0..n)
        .map(|column| {
            let rest: Vec<f64> = (0..n)
                .filter(|c| *c != column)
                .flat_map(|c| (1..n).map(move |r| m[c * n + r]))
                .collect();
            let sign = if column % 2 == 0 { 1.0 } else { -1.0 };
            sign * m[column * n] * determinant(n - 1, &rest)
        })
        .sum()
}

fn matrices(all: &mut Vec<Feature>) {
    for s in FLOATS {
        // Narrow ones are computed in f32, and rounded once.
        let slack = if s == F16 { 2.0 } else { 256.0 };
        for n in [2, 3, 4] {
            let ty = Ty::matrix(s, n, n);
            let mut feature = Feature::simple(&name("Determinant"), &[ty], s.into(), move |row| {
                let m: Vec<f64> = row.iter().map(|v| s.float(*v)).collect();
                Near(determinant(n, &m), Absolute(slack * s.ulp(1.0)))
            });
            feature.requirement = "as its formula";
            all.push(feature.with_inputs(between(14, &vec![(s, -1.0, 1.0); n * n])));
            let body = format!("$r = OpExtInst %{} %glsl MatrixInverse $a", ty.name());
            let mut feature =
                Feature::new(&name("MatrixInverse"), &[ty], &[ty], &body, move |row| {
                    let m: Vec<f64> = row.iter().map(|v| s.float(*v)).collect();
                    let whole = determinant(n, &m);
                    (0..n * n)
                        .map(|at| {
                            let (column, line) = (at / n, at % n);
                            let rest: Vec<f64> = (0..n)
                                .filter(|c| *c != line)
                                .flat_map(|c| (0..n).filter(|r| *r != column).map(move |r| (c, r)))
                                .map(|(c, r)| m[c * n + r])
                                .collect();
                            let sign = if (column + line) % 2 == 0 { 1.0 } else { -1.0 };
                            Near(
                                sign * determinant(n - 1, &rest) / whole,
                                Absolute(slack * s.ulp(1.0)),
                            )
                        })
                        .collect()
                });
            feature.requirement = "as its formula";
            // A dominant diagonal keeps it away from the singular ones.
            let ranges: Vec<_> = (0..n * n)
                .map(|at| {
                    if at % (n + 1) == 0 {
                        (s, 2.0, 4.0)
                    } else {
                        (s, -0.5, 0.5)
                    }
                })
                .collect();
            all.push(feature.with_inputs(between(15, &ranges)));
        }
    }
}

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    integers(&mut all);
    floats(&mut all);
    packing(&mut all);
    geometry(&mut all);
    matrices(&mut all);
    all
}
