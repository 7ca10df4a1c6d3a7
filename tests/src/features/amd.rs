//! SPV_AMD_shader_ballot, SPV_AMD_gcn_shader and SPV_AMD_shader_trinary_minmax.

use super::collectives::{self, FLOAT, INTEGER, Row, combine_all};
use super::feature::Feature;
use super::launch::INVOCATIONS;
use super::ty::{F16, F32, Scalar, Ty, U16, U32, U64};
use super::want::Limit::{Absolute, Ulp};
use super::want::Want::{self, Any, Bits, Near};
use super::{by_subgroup, extensions};

fn lanes(all: &mut Vec<Feature>) {
    let word = Ty::from(U32);
    let swizzle = |name: &str, components: &str, from: fn(usize) -> usize| {
        let lanes = components.split_whitespace().count();
        let body = format!(
            "$v = OpCompositeConstruct %u32v{lanes} {components}\n$r = OpExtInst %u32 %amd_ballot {name} $a $v"
        );
        let op = format!("SPV_AMD_shader_ballot {name}");
        by_subgroup::feature(&op, &[word], word, &body, move |rows| {
            (0..rows.len())
                .map(|lane| Bits(rows[from(lane)][0]))
                .collect()
        })
    };
    all.push(swizzle(
        "SwizzleInvocationsAMD",
        "%u32_2 %u32_0 %u32_3 %u32_3",
        |lane| lane & !3 | [2, 0, 3, 3][lane & 3],
    ));
    all.push(swizzle(
        "SwizzleInvocationsMaskedAMD",
        "%u32_27 %u32_4 %u32_3",
        |lane| lane & !31 | (lane & 27 | 4) ^ 3,
    ));
    all.push(by_subgroup::feature(
        "SPV_AMD_shader_ballot WriteInvocationAMD",
        &[word, word],
        word,
        "$r = OpExtInst %u32 %amd_ballot WriteInvocationAMD $a $b %u32_5",
        |rows| {
            let lanes = rows.iter().enumerate();
            lanes
                .map(|(lane, row)| Bits(row[usize::from(lane == 5)]))
                .collect()
        },
    ));
    all.push(by_subgroup::feature(
        "SPV_AMD_shader_ballot MbcntAMD",
        &[U64.into()],
        word,
        "$r = OpExtInst %u32 %amd_ballot MbcntAMD $a",
        |rows| {
            let lanes = rows.iter().enumerate();
            lanes
                .map(|(lane, row)| Bits(u64::from((row[0] & ((1 << lane) - 1)).count_ones())))
                .collect()
        },
    ));
}

/// The operations that the extension has instructions for.
const GROUP: [&str; 8] = [
    "IAdd", "FAdd", "FMin", "UMin", "SMin", "FMax", "UMax", "SMax",
];

fn groups(all: &mut Vec<Feature>) {
    let rows = INTEGER.iter().map(|row| (row, U32));
    for (row, s) in rows.chain(FLOAT.iter().map(|row| (row, F32))) {
        if !GROUP.contains(&row.0) {
            continue;
        }
        for form in ["Reduce", "InclusiveScan", "ExclusiveScan"] {
            let op = format!("OpGroup{}NonUniformAMD", row.0);
            let body = format!("$r = {op} %{} %u32_3 {form} $a", s.name());
            let host = move |rows: &[Row]| {
                let values: Vec<u64> = rows.iter().map(|r| r[0]).collect();
                let part = |lane: usize| match form {
                    "Reduce" => &values[..],
                    "InclusiveScan" => &values[..=lane],
                    _ => &values[..lane],
                };
                (0..values.len())
                    .map(|lane| combine_all(*row, s, part(lane)))
                    .collect()
            };
            all.push(
                by_subgroup::feature(&op, &[s.into()], s.into(), &body, host)
                    .called(&format!("{}.{form}", s.name()))
                    .needing(&["Groups"])
                    .with_inputs(collectives::operands(s)),
            );
        }
    }
}

/// The value at place `rank` of three in order.
fn ranked(s: Scalar, signed: bool, rank: usize, row: &[u64]) -> Want {
    if s.is_float() {
        let mut values = [s.float(row[0]), s.float(row[1]), s.float(row[2])];
        if values.iter().any(|value| value.is_nan()) {
            return Any;
        }
        values.sort_by(f64::total_cmp);
        return if values[rank].is_finite() {
            Near(values[rank], Ulp(0.0))
        } else {
            Bits(s.bits_of(values[rank]))
        };
    }
    let mut values = [row[0], row[1], row[2]];
    values.sort_by_key(|value| {
        if signed {
            i128::from(s.signed(*value))
        } else {
            i128::from(*value)
        }
    });
    Bits(values[rank])
}

fn trinary(all: &mut Vec<Feature>) {
    for (rank, order) in ["Min", "Mid", "Max"].into_iter().enumerate() {
        for (kind, scalars) in [("F", [F16, F32]), ("U", [U16, U32]), ("S", [U16, U32])] {
            for s in scalars {
                let ty = Ty::from(s);
                let name = format!("{kind}{order}3AMD");
                all.push(Feature::new(
                    &format!("SPV_AMD_shader_trinary_minmax {name}"),
                    &[ty, ty, ty],
                    &[ty],
                    &format!("$r = OpExtInst %{} %amd_minmax {name} $a $b $c", s.name()),
                    move |row| vec![ranked(s, kind == "S", rank, row)],
                ));
            }
        }
    }
}

/// The face of a direction, and the place on it (Vulkan, Cube Map Face Selection).
fn face(row: &[u64]) -> (f64, [f64; 2]) {
    let [x, y, z] = [F32.float(row[0]), F32.float(row[1]), F32.float(row[2])];
    let (number, s, t, major) = if z.abs() >= x.abs().max(y.abs()) {
        if z < 0.0 {
            (5.0, -x, -y, -z)
        } else {
            (4.0, x, -y, z)
        }
    } else if y.abs() >= x.abs() {
        if y < 0.0 {
            (3.0, x, -z, -y)
        } else {
            (2.0, x, z, y)
        }
    } else if x < 0.0 {
        (1.0, z, -y, -x)
    } else {
        (0.0, -z, -y, x)
    };
    (number, [s, t].map(|along| along / major / 2.0 + 0.5))
}

fn gcn(all: &mut Vec<Feature>) {
    let direction = Ty::vector(F32, 3);
    // All orders of sizes and all signs, equals among them.
    let rows: Vec<Vec<u64>> = (0..INVOCATIONS)
        .map(|at| {
            let component = |step: usize| {
                let size = [1.0, 2.5, 0.75, 1.0][at / step % 4];
                F32.bits_of(if (at * 5 / step).is_multiple_of(2) {
                    size
                } else {
                    -size
                })
            };
            vec![component(1), component(3), component(7)]
        })
        .collect();
    let mut cube = |name: &str, result: Ty, host: fn(&[u64]) -> Vec<Want>| {
        all.push(
            Feature::new(
                &format!("SPV_AMD_gcn_shader {name}"),
                &[direction],
                &[result],
                &format!("$r = OpExtInst %{} %amd_gcn {name} $a", result.name()),
                host,
            )
            .with_inputs(rows.clone()),
        );
    };
    cube("CubeFaceIndexAMD", F32.into(), |row| {
        vec![Bits(F32.bits_of(face(row).0))]
    });
    cube("CubeFaceCoordAMD", Ty::vector(F32, 2), |row| {
        face(row).1.map(|at| Near(at, Absolute(1e-6))).to_vec()
    });
    all.push(extensions::clock(
        "SPV_AMD_gcn_shader TimeAMD",
        U64.into(),
        "OpExtInst %u64 %amd_gcn TimeAMD",
    ));
}

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    lanes(&mut all);
    groups(&mut all);
    trinary(&mut all);
    gcn(&mut all);
    all
}
