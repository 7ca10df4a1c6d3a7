//! Comparisons of integers, floats and Booleans, logic, tests of floats, selection.

use super::feature::Feature;
use super::ty::{Bool, FLOATS, INTEGERS, Scalar, Ty};
use super::want::Want::{self, Bits};

fn truth(value: bool) -> Want {
    Bits(u64::from(value))
}

type OfIntegers = fn(Scalar, u64, u64) -> bool;

const INTEGER: [(&str, OfIntegers); 10] = [
    ("OpIEqual", |_, a, b| a == b),
    ("OpINotEqual", |_, a, b| a != b),
    ("OpUGreaterThan", |_, a, b| a > b),
    ("OpUGreaterThanEqual", |_, a, b| a >= b),
    ("OpULessThan", |_, a, b| a < b),
    ("OpULessThanEqual", |_, a, b| a <= b),
    ("OpSGreaterThan", |s, a, b| s.signed(a) > s.signed(b)),
    ("OpSGreaterThanEqual", |s, a, b| s.signed(a) >= s.signed(b)),
    ("OpSLessThan", |s, a, b| s.signed(a) < s.signed(b)),
    ("OpSLessThanEqual", |s, a, b| s.signed(a) <= s.signed(b)),
];

type OfFloats = fn(f64, f64) -> bool;

const FLOAT: [(&str, OfFloats); 12] = [
    ("OpFOrdEqual", |a, b| a == b),
    ("OpFUnordEqual", |a, b| a == b || unordered(a, b)),
    ("OpFOrdNotEqual", |a, b| a != b && !unordered(a, b)),
    ("OpFUnordNotEqual", |a, b| a != b),
    ("OpFOrdLessThan", |a, b| a < b),
    ("OpFUnordLessThan", |a, b| a < b || unordered(a, b)),
    ("OpFOrdGreaterThan", |a, b| a > b),
    ("OpFUnordGreaterThan", |a, b| a > b || unordered(a, b)),
    ("OpFOrdLessThanEqual", |a, b| a <= b),
    ("OpFUnordLessThanEqual", |a, b| a <= b || unordered(a, b)),
    ("OpFOrdGreaterThanEqual", |a, b| a >= b),
    ("OpFUnordGreaterThanEqual", |a, b| a >= b || unordered(a, b)),
];

/// Comparisons that only kernels have.
const KERNEL_FLOAT: [(&str, OfFloats); 3] = [
    ("OpLessOrGreater", |a, b| a != b && !unordered(a, b)),
    ("OpOrdered", |a, b| !unordered(a, b)),
    ("OpUnordered", unordered),
];

type OfFloat = fn(Scalar, f64) -> bool;

const KERNEL_TESTS: [(&str, OfFloat); 3] = [
    ("OpIsFinite", |_, a| a.is_finite()),
    ("OpIsNormal", |s, a| {
        a.is_finite() && a.abs() >= s.least_normal()
    }),
    ("OpSignBitSet", |_, a| a.is_sign_negative()),
];

const TESTS: [(&str, OfFloat); 2] = [
    ("OpIsNan", |_, a| a.is_nan()),
    ("OpIsInf", |_, a| a.is_infinite()),
];

type Logic = fn(bool, bool) -> bool;

const LOGIC: [(&str, Logic); 4] = [
    ("OpLogicalEqual", |a, b| a == b),
    ("OpLogicalNotEqual", |a, b| a != b),
    ("OpLogicalAnd", |a, b| a && b),
    ("OpLogicalOr", |a, b| a || b),
];

fn unordered(a: f64, b: f64) -> bool {
    a.is_nan() || b.is_nan()
}

fn of_floats(op: &str, s: Scalar, host: OfFloats) -> Feature {
    let ty = Ty::from(s);
    Feature::simple(op, &[ty, ty], Bool.into(), move |row| {
        truth(host(s.float(row[0]), s.float(row[1])))
    })
}

/// Vectors are compared component by component.
fn vector(
    op: &str,
    s: Scalar,
    lanes: usize,
    host: impl Fn(u64, u64) -> bool + Send + Sync + 'static,
) -> Feature {
    let (ty, result) = (Ty::vector(s, lanes), Ty::vector(Bool, lanes));
    let body = format!("$r = {op} %{} $a $b", result.name());
    Feature::new(op, &[ty, ty], &[result], &body, move |row| {
        let (a, b) = row.split_at(lanes);
        a.iter().zip(b).map(|(a, b)| truth(host(*a, *b))).collect()
    })
}

/// Of shaders.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    for s in INTEGERS {
        let ty = Ty::from(s);
        for (op, host) in INTEGER {
            all.push(Feature::simple(op, &[ty, ty], Bool.into(), move |row| {
                truth(host(s, row[0], row[1]))
            }));
            if s.bits() == 32 {
                all.push(vector(op, s, 3, move |a, b| host(s, a, b)));
            }
        }
    }
    for s in FLOATS {
        for (op, host) in FLOAT {
            all.push(of_floats(op, s, host));
            if s.bits() == 32 {
                all.push(vector(op, s, 4, move |a, b| host(s.float(a), s.float(b))));
            }
        }
        for (op, host) in TESTS {
            all.push(test(op, s, host));
        }
    }
    let flag = Ty::from(Bool);
    for (op, host) in LOGIC {
        all.push(Feature::simple(op, &[flag, flag], flag, move |row| {
            truth(host(row[0] != 0, row[1] != 0))
        }));
        all.push(vector(op, Bool, 2, move |a, b| host(a != 0, b != 0)));
    }
    all.push(Feature::simple("OpLogicalNot", &[flag], flag, |row| {
        truth(row[0] == 0)
    }));
    for lanes in 2..=4 {
        let ty = Ty::vector(Bool, lanes);
        all.push(Feature::simple("OpAny", &[ty], flag, |row| {
            truth(row.iter().any(|v| *v != 0))
        }));
        all.push(Feature::simple("OpAll", &[ty], flag, |row| {
            truth(row.iter().all(|v| *v != 0))
        }));
    }
    for s in INTEGERS.into_iter().chain(FLOATS).chain([Bool]) {
        let ty = Ty::from(s);
        let feature = Feature::simple("OpSelect", &[flag, ty, ty], ty, |row| {
            Bits(if row[0] != 0 { row[1] } else { row[2] })
        });
        all.push(feature.called(s.name()));
    }
    let (flags, values) = (Ty::vector(Bool, 3), Ty::vector(super::ty::U32, 3));
    all.push(
        Feature::new(
            "OpSelect",
            &[flags, values, values],
            &[values],
            "$r = OpSelect %u32v3 $a $b $c",
            |row| {
                (0..3)
                    .map(|i| Bits(if row[i] != 0 { row[3 + i] } else { row[6 + i] }))
                    .collect()
            },
        )
        .called("u32v3"),
    );
    all
}

fn test(op: &str, s: Scalar, host: OfFloat) -> Feature {
    Feature::simple(op, &[s.into()], Bool.into(), move |row| {
        truth(host(s, s.float(row[0])))
    })
}

/// Of kernels.
pub(super) fn kernel_features() -> Vec<Feature> {
    let mut all = Vec::new();
    for s in FLOATS {
        for (op, host) in KERNEL_FLOAT {
            all.push(of_floats(op, s, host));
        }
        for (op, host) in KERNEL_TESTS {
            all.push(test(op, s, host));
        }
    }
    all
}
