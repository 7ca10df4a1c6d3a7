//! Vectors, matrices and composites: building, taking apart, products.

use super::edges::between;
use super::feature::Feature;
use super::ty::{Bool, F16, F32, F64, FLOATS, INTEGERS, Scalar, Ty, U32};
use super::want::Limit::Absolute;
use super::want::Want::{Bits, Near};
use super::want::float_or_bits;

/// A snippet whose result components are operand components: `from` lists them.
fn moved(op: &str, params: &[Ty], result: Ty, body: &str, from: Vec<usize>) -> Feature {
    Feature::new(op, params, &[result], body, move |row| {
        from.iter()
            .map(|at| float_or_bits(result.scalar, row[*at]))
            .collect()
    })
}

fn shuffles(all: &mut Vec<Feature>) {
    for s in INTEGERS.into_iter().chain(FLOATS).chain([Bool]) {
        let v = |lanes| Ty::vector(s, lanes);
        let name = s.name();
        let shuffle = |a: usize, b: usize, picks: &[usize]| {
            let list: Vec<String> = picks.iter().map(usize::to_string).collect();
            let body = format!(
                "$r = OpVectorShuffle %{name}v{} $a $b {}",
                picks.len(),
                list.join(" ")
            );
            moved(
                "OpVectorShuffle",
                &[v(a), v(b)],
                v(picks.len()),
                &body,
                picks.to_vec(),
            )
            .called(&format!("{name}v{a}.{name}v{b}.{}", list.join("")))
        };
        all.push(shuffle(4, 4, &[7, 0, 5, 2]));
        all.push(shuffle(2, 3, &[4, 4, 1]));
        all.push(shuffle(3, 2, &[3, 0]));
        all.push(moved(
            "OpCompositeConstruct",
            &[v(2), s.into()],
            v(3),
            &format!("$r = OpCompositeConstruct %{name}v3 $b $a"),
            vec![2, 0, 1],
        ));
        all.push(moved(
            "OpCompositeInsert",
            &[v(4), s.into()],
            v(4),
            &format!("$r = OpCompositeInsert %{name}v4 $b $a 2"),
            vec![0, 1, 4, 3],
        ));
        all.push(moved(
            "OpCompositeExtract",
            &[v(4)],
            s.into(),
            &format!("$r = OpCompositeExtract %{name} $a 3"),
            vec![3],
        ));
        all.push(moved(
            "OpCopyObject",
            &[v(3)],
            v(3),
            &format!("$r = OpCopyObject %{name}v3 $a"),
            vec![0, 1, 2],
        ));
        if s == Bool {
            continue;
        }
        let index = |mut rows: Vec<Vec<u64>>, lanes: usize| -> Vec<Vec<u64>> {
            for (at, row) in rows.iter_mut().enumerate() {
                row.push((at * 7 / 3 % lanes) as u64);
            }
            rows
        };
        for lanes in [2, 3, 4] {
            let dynamic = Feature::new(
                "OpVectorExtractDynamic",
                &[v(lanes), U32.into()],
                &[s.into()],
                &format!("$r = OpVectorExtractDynamic %{name} $a $b"),
                move |row| vec![float_or_bits(s, row[row[lanes] as usize])],
            );
            all.push(dynamic.with_inputs(index(super::edges::rows(71, &[v(lanes)]), lanes)));
            let dynamic = Feature::new(
                "OpVectorInsertDynamic",
                &[v(lanes), s.into(), U32.into()],
                &[v(lanes)],
                &format!("$r = OpVectorInsertDynamic %{name}v{lanes} $a $b $c"),
                move |row| {
                    (0..lanes)
                        .map(|at| {
                            float_or_bits(
                                s,
                                if at as u64 == row[lanes + 1] {
                                    row[lanes]
                                } else {
                                    row[at]
                                },
                            )
                        })
                        .collect()
                },
            );
            all.push(
                dynamic.with_inputs(index(super::edges::rows(72, &[v(lanes), s.into()]), lanes)),
            );
        }
    }
    let (f, u) = (Ty::from(F32), Ty::from(U32));
    let nested = "$x = OpCompositeConstruct %f32a3 $a $b $a\n$y = OpCompositeConstruct %s_u32_f32a3 $c $x\n\
                  $z = OpCompositeInsert %s_u32_f32a3 $b $y 1 2\n$r = OpCompositeExtract %f32 $z 1 2\n$s = OpCompositeExtract %u32 $z 0\n$t = OpCompositeExtract %f32 $z 1 0";
    all.push(
        Feature::new("OpCompositeInsert", &[f, f, u], &[f, u, f], nested, |row| {
            vec![
                float_or_bits(F32, row[1]),
                Bits(row[2]),
                float_or_bits(F32, row[0]),
            ]
        })
        .called("nested"),
    );
    // The same members under another identity.
    let mut logical = Feature::new(
        "OpCopyLogical",
        &[f, u],
        &[f, u],
        "$x = OpCompositeConstruct $one $a $b\n$y = OpCopyLogical $two $x\n$r = OpCompositeExtract %f32 $y 0\n$s = OpCompositeExtract %u32 $y 1",
        |row| vec![float_or_bits(F32, row[0]), Bits(row[1])],
    );
    logical.globals = "$one = OpTypeStruct %f32 %u32\n$two = OpTypeStruct %f32 %u32\n".to_owned();
    logical.decorate = "OpMemberDecorate $one 0 Offset 0\nOpMemberDecorate $one 1 Offset 4\nOpMemberDecorate $two 0 Offset 8\nOpMemberDecorate $two 1 Offset 32\n".to_owned();
    all.push(logical);
}

/// An instruction on floats whose results are sums of products.
fn product(
    op: &str,
    s: Scalar,
    params: &[Ty],
    result: Ty,
    operands: &str,
    host: impl Fn(&[f64]) -> Vec<f64> + Send + Sync + 'static,
) -> Feature {
    let body = format!("$r = {op} %{} {operands}", result.name());
    let mut feature = Feature::new(op, params, &[result], &body, move |row| {
        let values: Vec<f64> = row.iter().map(|v| s.float(*v)).collect();
        host(&values)
            .into_iter()
            .map(|v| Near(v, Absolute(32.0 * s.ulp(4.0))))
            .collect()
    });
    feature.requirement = "as a sum of products";
    let names: Vec<String> = params.iter().map(|ty| ty.name()).collect();
    let count = params.iter().map(|ty| ty.components()).sum();
    feature
        .called(&names.join("."))
        .with_inputs(between(73, &vec![(s, -2.0, 2.0); count]))
}

fn products(all: &mut Vec<Feature>) {
    for s in [F16, F32, F64] {
        for n in [2, 3, 4] {
            let v = Ty::vector(s, n);
            all.push(product("OpDot", s, &[v, v], s.into(), "$a $b", move |x| {
                vec![(0..n).map(|i| x[i] * x[n + i]).sum()]
            }));
            all.push(product(
                "OpVectorTimesScalar",
                s,
                &[v, s.into()],
                v,
                "$a $b",
                move |x| (0..n).map(|i| x[i] * x[n]).collect(),
            ));
            for m in [2, 3, 4] {
                // m columns of n rows.
                let matrix = Ty::matrix(s, m, n);
                let (row, column) = (Ty::vector(s, m), Ty::vector(s, n));
                all.push(product(
                    "OpMatrixTimesScalar",
                    s,
                    &[matrix, s.into()],
                    matrix,
                    "$a $b",
                    move |x| (0..m * n).map(|i| x[i] * x[m * n]).collect(),
                ));
                all.push(product(
                    "OpMatrixTimesVector",
                    s,
                    &[matrix, row],
                    column,
                    "$a $b",
                    move |x| {
                        (0..n)
                            .map(|r| (0..m).map(|c| x[c * n + r] * x[m * n + c]).sum())
                            .collect()
                    },
                ));
                all.push(product(
                    "OpVectorTimesMatrix",
                    s,
                    &[column, matrix],
                    row,
                    "$a $b",
                    move |x| {
                        (0..m)
                            .map(|c| (0..n).map(|r| x[r] * x[n + c * n + r]).sum())
                            .collect()
                    },
                ));
                all.push(product(
                    "OpOuterProduct",
                    s,
                    &[column, row],
                    matrix,
                    "$a $b",
                    move |x| (0..m * n).map(|i| x[i % n] * x[n + i / n]).collect(),
                ));
                let across = Ty::matrix(s, n, m);
                all.push(moved(
                    "OpTranspose",
                    &[matrix],
                    across,
                    &format!("$r = OpTranspose %{} $a", across.name()),
                    (0..m * n).map(|i| i % m * n + i / m).collect(),
                ));
            }
            // n columns of 3 rows times 2 columns of n rows.
            let (left, right) = (Ty::matrix(s, n, 3), Ty::matrix(s, 2, n));
            all.push(product(
                "OpMatrixTimesMatrix",
                s,
                &[left, right],
                Ty::matrix(s, 2, 3),
                "$a $b",
                move |x| {
                    (0..6)
                        .map(|i| {
                            (0..n)
                                .map(|k| x[k * 3 + i % 3] * x[3 * n + i / 3 * n + k])
                                .sum()
                        })
                        .collect()
                },
            ));
        }
    }
}

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    shuffles(&mut all);
    products(&mut all);
    all
}
