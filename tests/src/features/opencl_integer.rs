//! OpenCL.std: integer functions, selections, shuffles, geometry.

use super::edges::between;
use super::feature::Feature;
use super::ty::{F16, F32, F64, FLOATS, INTEGERS, Scalar, Ty, U8, U16, U32, U64};
use super::want::Limit::Absolute;
use super::want::Want::{self, Any, Bits, Near};

fn name(op: &str) -> String {
    format!("OpenCL.std {op}")
}

/// The value of an integer operand, signed or not.
fn value(s: Scalar, bits: u64, signed: bool) -> i128 {
    if signed {
        i128::from(s.signed(bits))
    } else {
        i128::from(bits)
    }
}

fn low(s: Scalar, value: i128) -> Want {
    Bits(value as u64 & s.mask())
}

fn saturate(s: Scalar, value: i128, signed: bool) -> Want {
    let (least, most) = if signed {
        (-(1i128 << (s.bits() - 1)), (1i128 << (s.bits() - 1)) - 1)
    } else {
        (0, i128::from(s.mask()))
    };
    low(s, value.clamp(least, most))
}

type OfTwo = fn(Scalar, i128, i128, bool) -> Want;

/// Functions with a signed and an unsigned form.
#[rustfmt::skip] // a table
const TWO: [(&str, OfTwo); 8] = [
    ("abs_diff", |s, a, b, _| low(s, (a - b).abs())),
    ("add_sat", |s, a, b, signed| saturate(s, a + b, signed)),
    ("sub_sat", |s, a, b, signed| saturate(s, a - b, signed)),
    ("hadd", |s, a, b, _| low(s, (a + b) >> 1)),
    ("rhadd", |s, a, b, _| low(s, (a + b + 1) >> 1)),
    ("max", |s, a, b, _| low(s, a.max(b))),
    ("min", |s, a, b, _| low(s, a.min(b))),
    ("mul_hi", |s, a, b, _| low(s, a.wrapping_mul(b) >> s.bits())),
];

type OfThree = fn(Scalar, i128, i128, i128, bool) -> Want;

#[rustfmt::skip] // a table
const THREE: [(&str, OfThree); 3] = [
    ("clamp", |s, x, least, most, _| if least > most { Any } else { low(s, x.clamp(least, most)) }),
    ("mad_hi", |s, a, b, c, _| low(s, (a.wrapping_mul(b) >> s.bits()) + c)),
    ("mad_sat", |s, a, b, c, signed| match a.checked_mul(b).and_then(|p| p.checked_add(c)) {
        Some(sum) => saturate(s, sum, signed),
        // Only products of 64 bits without sign leave 127 bits.
        None => Bits(s.mask()),
    }),
];

fn integers(all: &mut Vec<Feature>) {
    for s in INTEGERS {
        let ty = Ty::from(s);
        for (prefix, signed) in [("s_", true), ("u_", false)] {
            for (op, host) in TWO {
                let op = name(&format!("{prefix}{op}"));
                all.push(Feature::simple(&op, &[ty, ty], ty, move |row| {
                    host(
                        s,
                        value(s, row[0], signed),
                        value(s, row[1], signed),
                        signed,
                    )
                }));
            }
            for (op, host) in THREE {
                let op = name(&format!("{prefix}{op}"));
                all.push(Feature::simple(&op, &[ty, ty, ty], ty, move |row| {
                    let [a, b, c] = [row[0], row[1], row[2]].map(|v| value(s, v, signed));
                    host(s, a, b, c, signed)
                }));
            }
            all.push(Feature::simple(
                &name(&format!("{prefix}abs")),
                &[ty],
                ty,
                move |row| low(s, value(s, row[0], signed).abs()),
            ));
        }
        type One = fn(Scalar, u64) -> u32;
        let counts: [(&str, One); 3] = [
            ("clz", |s, v| v.leading_zeros() - (64 - s.bits())),
            ("ctz", |s, v| v.trailing_zeros().min(s.bits())),
            ("popcount", |_, v| v.count_ones()),
        ];
        for (op, host) in counts {
            all.push(Feature::simple(&name(op), &[ty], ty, move |row| {
                Bits(u64::from(host(s, row[0])))
            }));
        }
        all.push(Feature::simple(
            &name("rotate"),
            &[ty, ty],
            ty,
            move |row| {
                let n = (row[1] % u64::from(s.bits())) as u32;
                low(
                    s,
                    (i128::from(row[0]) << n) | i128::from(row[0]) >> (s.bits() - n),
                )
            },
        ));
    }
    for (narrow, wide) in [(U8, U16), (U16, U32), (U32, U64)] {
        for (op, low) in [("s_upsample", narrow), ("u_upsample", narrow)] {
            let feature = Feature::simple(
                &name(op),
                &[narrow.into(), low.into()],
                wide.into(),
                move |row| Bits(row[0] << narrow.bits() | row[1]),
            );
            all.push(feature.called(wide.name()));
        }
    }
    let ty = Ty::from(U32);
    for (prefix, signed) in [("s_", true), ("u_", false)] {
        // Operands of 24 bits.
        let narrow = move |v: u64| {
            if signed {
                i128::from((v as i32) << 8 >> 8)
            } else {
                i128::from(v & 0xff_ffff)
            }
        };
        let rows = |count: usize| -> Vec<Vec<u64>> {
            let mut rows = super::edges::rows(41, &vec![ty; count]);
            for row in &mut rows {
                for v in row.iter_mut().take(2) {
                    *v = narrow(*v) as u64 & U32.mask();
                }
            }
            rows
        };
        let mul = Feature::simple(
            &name(&format!("{prefix}mul24")),
            &[ty, ty],
            ty,
            move |row| low(U32, narrow(row[0]) * narrow(row[1])),
        );
        all.push(mul.with_inputs(rows(2)));
        let mad = Feature::simple(
            &name(&format!("{prefix}mad24")),
            &[ty, ty, ty],
            ty,
            move |row| low(U32, narrow(row[0]) * narrow(row[1]) + i128::from(row[2])),
        );
        all.push(mad.with_inputs(rows(3)));
    }
}

fn selections(all: &mut Vec<Feature>) {
    for s in INTEGERS.into_iter().chain(FLOATS) {
        let ty = Ty::from(s);
        // A NaN that passes through a float operation may lose its payload, so floats are random.
        let feature = Feature::simple(&name("bitselect"), &[ty, ty, ty], ty, move |row| {
            let bits = row[0] & !row[2] | row[1] & row[2];
            if s.is_float() && s.float(bits).is_nan() {
                Want::Nan
            } else {
                Bits(bits)
            }
        });
        all.push(feature);
        let mask = Ty::from(s.integer());
        all.push(
            Feature::simple(&name("select"), &[ty, ty, mask], ty, |row| {
                Bits(if row[2] != 0 { row[1] } else { row[0] })
            })
            .called(s.name()),
        );
        let (vector, mask) = (Ty::vector(s, 4), Ty::vector(s.integer(), 4));
        let body = format!("$r = OpExtInst %{} %cl select $a $b $c", vector.name());
        all.push(Feature::new(
            &name("select"),
            &[vector, vector, mask],
            &[vector],
            &body,
            move |row| {
                (0..4)
                    .map(|i| {
                        Bits(if row[8 + i] >> (s.bits() - 1) == 1 {
                            row[4 + i]
                        } else {
                            row[i]
                        })
                    })
                    .collect()
            },
        ));
    }
    for s in [U8, U16, U32, U64, F32] {
        let (two, four, mask) = (Ty::vector(s, 2), Ty::vector(s, 4), s.integer());
        let body = format!("$r = OpExtInst %{} %cl shuffle $a $b", two.name());
        all.push(Feature::new(
            &name("shuffle"),
            &[four, Ty::vector(mask, 2)],
            &[two],
            &body,
            |row| {
                (0..2)
                    .map(|i| Bits(row[(row[4 + i] & 3) as usize]))
                    .collect()
            },
        ));
        let body = format!("$r = OpExtInst %{} %cl shuffle2 $a $b $c", four.name());
        all.push(Feature::new(
            &name("shuffle2"),
            &[two, two, Ty::vector(mask, 4)],
            &[four],
            &body,
            |row| {
                (0..4)
                    .map(|i| Bits(row[(row[4 + i] & 3) as usize]))
                    .collect()
            },
        ));
    }
}

/// A function of vectors, with an absolute error that depends on the size of its result.
fn geometric(
    op: &'static str,
    s: Scalar,
    lanes: usize,
    vectors: usize,
    to_scalar: bool,
    host: fn(&[f64], &[f64]) -> Vec<f64>,
) -> Feature {
    let vector = Ty::vector(s, lanes);
    let result = if to_scalar { s.into() } else { vector };
    let operands = if vectors == 1 { "$a" } else { "$a $b" };
    let body = format!("$r = OpExtInst %{} %cl {op} {operands}", result.name());
    let mut feature = Feature::new(
        &name(op),
        &vec![vector; vectors],
        &[result],
        &body,
        move |row| {
            let values: Vec<f64> = row.iter().map(|v| s.float(*v)).collect();
            let (a, b) = values.split_at(lanes);
            let results = host(a, b);
            let size = results.iter().fold(1.0f64, |m, v| m.max(v.abs()));
            let error = if op.starts_with("fast") { 8192.0 } else { 16.0 };
            results
                .into_iter()
                .map(|v| Near(v, Absolute(error * s.ulp(size))))
                .collect()
        },
    );
    feature.requirement = if op.starts_with("fast") {
        "8192 ULP"
    } else {
        "as its formula"
    };
    feature.with_inputs(between(42, &vec![(s, -2.0, 2.0); lanes * vectors]))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn distance(a: &[f64], b: &[f64]) -> Vec<f64> {
    let d: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    vec![dot(&d, &d).sqrt()]
}

fn normal(a: &[f64]) -> Vec<f64> {
    let length = dot(a, a).sqrt();
    a.iter().map(|x| x / length).collect()
}

fn cross(a: &[f64], b: &[f64]) -> Vec<f64> {
    vec![
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn geometry(all: &mut Vec<Feature>) {
    for s in [F16, F32, F64] {
        for lanes in [2, 3, 4] {
            all.push(geometric("length", s, lanes, 1, true, |a, _| {
                vec![dot(a, a).sqrt()]
            }));
            all.push(geometric("distance", s, lanes, 2, true, distance));
            all.push(geometric("normalize", s, lanes, 1, false, |a, _| normal(a)));
        }
        all.push(geometric("cross", s, 3, 2, false, cross));
        all.push(geometric("cross", s, 4, 2, false, |a, b| {
            let mut all = cross(a, b);
            all.push(0.0);
            all
        }));
    }
    all.push(geometric("fast_length", F32, 3, 1, true, |a, _| {
        vec![dot(a, a).sqrt()]
    }));
    all.push(geometric("fast_distance", F32, 3, 2, true, distance));
    all.push(geometric("fast_normalize", F32, 3, 1, false, |a, _| {
        normal(a)
    }));
}

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    integers(&mut all);
    selections(&mut all);
    geometry(&mut all);
    all
}
