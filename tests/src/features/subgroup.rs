//! Subgroups: votes, ballots, shuffles, quads, rotation, and reductions in every form, with all
//! lanes and with some.

use super::by_subgroup::{SCOPE, feature, truth};
use super::collectives::{self, FLOAT, INTEGER, LOGICAL, Row, combine_all};
use super::feature::Feature;
use super::launch::INVOCATIONS;
use super::ty::{Bool, F16, F32, F64, INTEGERS, Scalar, Ty, U32};
use super::want::Want::{self, Any, Bits};
use super::want::float_or_bits;

fn votes(all: &mut Vec<Feature>) {
    let flag = Ty::from(Bool);
    let vote = |op: &str, needs, body: &str, host: fn(&[Row]) -> bool| {
        // Mostly the same in all lanes, or no vote is ever unanimous.
        let rows = (0..INVOCATIONS)
            .map(|at| vec![u64::from(at / 64 % 2 == 0 || at == 77)])
            .collect();
        feature(op, &[flag], flag, body, move |rows| {
            vec![truth(host(rows)); rows.len()]
        })
        .needing(&[needs])
        .with_inputs(rows)
    };
    let each: fn(&[Row]) -> bool = |rows| rows.iter().all(|r| r[0] != 0);
    let some: fn(&[Row]) -> bool = |rows| rows.iter().any(|r| r[0] != 0);
    let same: fn(&[Row]) -> bool = |rows| rows.iter().all(|r| r[0] == rows[0][0]);
    all.push(vote(
        "OpGroupNonUniformAll",
        "GroupNonUniformVote",
        "$r = OpGroupNonUniformAll %bool SUB $a",
        each,
    ));
    all.push(vote(
        "OpGroupNonUniformAny",
        "GroupNonUniformVote",
        "$r = OpGroupNonUniformAny %bool SUB $a",
        some,
    ));
    all.push(vote(
        "OpGroupNonUniformAllEqual",
        "GroupNonUniformVote",
        "$r = OpGroupNonUniformAllEqual %bool SUB $a",
        same,
    ));
    all.push(vote(
        "OpSubgroupAllKHR",
        "SubgroupVoteKHR",
        "$r = OpSubgroupAllKHR %bool $a",
        each,
    ));
    all.push(vote(
        "OpSubgroupAnyKHR",
        "SubgroupVoteKHR",
        "$r = OpSubgroupAnyKHR %bool $a",
        some,
    ));
    all.push(vote(
        "OpSubgroupAllEqualKHR",
        "SubgroupVoteKHR",
        "$r = OpSubgroupAllEqualKHR %bool $a",
        same,
    ));
    for s in [U32, F32] {
        let body = "$r = OpGroupNonUniformAllEqual %bool SUB $a";
        let equal = feature(
            "OpGroupNonUniformAllEqual",
            &[s.into()],
            flag,
            body,
            |rows| vec![truth(rows.iter().all(|r| r[0] == rows[0][0])); rows.len()],
        );
        let rows = (0..INVOCATIONS)
            .map(|at| vec![s.bits_of(if at < 128 || at == 130 { 2.5 } else { 3.5 }) & s.mask()])
            .collect();
        all.push(equal.needing(&["GroupNonUniformVote"]).with_inputs(rows));
    }
    let quad = |op: &str, host: fn(&[Row]) -> bool| {
        feature(
            op,
            &[flag],
            flag,
            &format!("$r = {op} %bool $a"),
            move |rows| {
                rows.chunks(4)
                    .flat_map(|quad| vec![truth(host(quad)); 4])
                    .collect()
            },
        )
        .needing(&["QuadControlKHR"])
    };
    all.push(quad("OpGroupNonUniformQuadAllKHR", each));
    all.push(quad("OpGroupNonUniformQuadAnyKHR", some));
    all.push(feature(
        "OpGroupNonUniformElect",
        &[Bool.into()],
        flag,
        "$r = OpGroupNonUniformElect %bool SUB",
        |rows| (0..rows.len()).map(|lane| truth(lane == 0)).collect(),
    ));
}

/// The words of a ballot.
fn ballot(rows: &[Row]) -> u64 {
    rows.iter()
        .enumerate()
        .fold(0, |set, (lane, row)| set | u64::from(row[0] != 0) << lane)
}

fn ballots(all: &mut Vec<Feature>) {
    let (flag, word) = (Ty::from(Bool), Ty::from(U32));
    let words = Ty::vector(U32, 4);
    for (op, body) in [
        (
            "OpGroupNonUniformBallot",
            "$r = OpGroupNonUniformBallot %u32v4 SUB $a",
        ),
        ("OpSubgroupBallotKHR", "$r = OpSubgroupBallotKHR %u32v4 $a"),
    ] {
        let whole = Feature::new(op, &[flag], &[words], &body.replace("SUB", SCOPE), |_| {
            Vec::new()
        });
        all.push(
            whole
                .needing(&["GroupNonUniformBallot", "SubgroupBallotKHR"])
                .collectively(|launch, rows| {
                    let sets = rows
                        .chunks(launch.subgroup)
                        .map(|rows| (ballot(rows), rows.len()));
                    let words =
                        |set: u64| vec![Bits(set & 0xffff_ffff), Bits(set >> 32), Bits(0), Bits(0)];
                    sets.flat_map(|(set, count)| vec![words(set); count])
                        .collect()
                }),
        );
    }
    let of =
        |op: &str, extra: &[Ty], result: Ty, rest: &str, host: fn(u64, usize, &Row) -> Want| {
            let body = format!(
                "$x = OpGroupNonUniformBallot %u32v4 SUB $a\n$r = {op} %{} SUB {rest}",
                result.name()
            );
            let mut params = vec![flag];
            params.extend(extra);
            feature(op, &params, result, &body, move |rows| {
                let set = ballot(rows);
                rows.iter()
                    .enumerate()
                    .map(|(lane, row)| host(set, lane, row))
                    .collect()
            })
            .needing(&["GroupNonUniformBallot"])
        };
    all.push(of(
        "OpGroupNonUniformInverseBallot",
        &[],
        flag,
        "$x",
        |set, lane, _| truth(set >> lane & 1 == 1),
    ));
    let extract = of(
        "OpGroupNonUniformBallotBitExtract",
        &[word],
        flag,
        "$x $b",
        |set, _, row| truth(set >> row[1] & 1 == 1),
    );
    let rows = (0..INVOCATIONS as u64)
        .map(|at| vec![at * 7 / 3 % 2, at * 5 % 32])
        .collect();
    all.push(extract.with_inputs(rows));
    let count = "OpGroupNonUniformBallotBitCount";
    all.push(
        of(count, &[], word, "Reduce $x", |set, _, _| {
            Bits(u64::from(set.count_ones()))
        })
        .called("Reduce"),
    );
    all.push(
        of(count, &[], word, "InclusiveScan $x", |set, lane, _| {
            Bits(u64::from((set << (63 - lane)).count_ones()))
        })
        .called("InclusiveScan"),
    );
    all.push(
        of(count, &[], word, "ExclusiveScan $x", |set, lane, _| {
            Bits(u64::from((set & ((1 << lane) - 1)).count_ones()))
        })
        .called("ExclusiveScan"),
    );
    all.push(of(
        "OpGroupNonUniformBallotFindLSB",
        &[],
        word,
        "$x",
        |set, _, _| {
            if set == 0 {
                Any
            } else {
                Bits(u64::from(set.trailing_zeros()))
            }
        },
    ));
    all.push(of(
        "OpGroupNonUniformBallotFindMSB",
        &[],
        word,
        "$x",
        |set, _, _| {
            if set == 0 {
                Any
            } else {
                Bits(u64::from(63 - set.leading_zeros()))
            }
        },
    ));
}

/// A lane's value from another lane; `None` is undefined.
type From = fn(usize, u64, usize) -> Option<usize>;

#[rustfmt::skip] // a table
const SHUFFLES: [(&str, &str, &str, From); 14] = [
    ("OpGroupNonUniformShuffle", "", "SUB $a $b", |_, n, size| Some(n as usize % size)),
    ("OpGroupNonUniformShuffleXor", "", "SUB $a %u32_5", |lane, _, _| Some(lane ^ 5)),
    ("OpGroupNonUniformShuffleUp", "", "SUB $a %u32_3", |lane, _, _| lane.checked_sub(3)),
    ("OpGroupNonUniformShuffleDown", "", "SUB $a %u32_9", |lane, _, size| Some(lane + 9).filter(|l| *l < size)),
    ("OpGroupNonUniformBroadcast", "", "SUB $a %u32_17", |_, _, size| Some(17).filter(|l| *l < size)),
    ("OpGroupNonUniformBroadcast", ".6", "SUB $a %u32_6", |_, _, _| Some(6)),
    ("OpGroupNonUniformBroadcastFirst", "", "SUB $a", |_, _, _| Some(0)),
    ("OpGroupNonUniformQuadBroadcast", "", "SUB $a %u32_2", |lane, _, _| Some(lane & !3 | 2)),
    ("OpGroupNonUniformQuadSwap", ".0", "SUB $a %u32_0", |lane, _, _| Some(lane ^ 1)),
    ("OpGroupNonUniformQuadSwap", ".1", "SUB $a %u32_1", |lane, _, _| Some(lane ^ 2)),
    ("OpGroupNonUniformQuadSwap", ".2", "SUB $a %u32_2", |lane, _, _| Some(lane ^ 3)),
    ("OpGroupNonUniformRotateKHR", ".8", "SUB $a %u32_3 %u32_8", |lane, _, _| Some(lane & !7 | (lane + 3) & 7)),
    ("OpSubgroupReadInvocationKHR", "", "$a %u32_11", |_, _, size| Some(11).filter(|l| *l < size)),
    ("OpSubgroupReadInvocationKHR", ".7", "$a %u32_7", |_, _, _| Some(7)),
];

fn shuffles(all: &mut Vec<Feature>) {
    for s in INTEGERS.into_iter().chain([F16, F32, F64]) {
        let (ty, word) = (Ty::from(s), Ty::from(U32));
        for (op, suffix, rest, from) in SHUFFLES {
            let body = format!("$r = {op} %{} {rest}", s.name());
            let shuffle = feature(op, &[ty, word], ty, &body, move |rows| {
                let lanes = rows.iter().enumerate();
                lanes
                    .map(|(lane, row)| {
                        from(lane, row[1], rows.len())
                            .map_or(Any, |from| float_or_bits(s, rows[from][0]))
                    })
                    .collect()
            });
            // Lanes that a subgroup of either size has.
            let mut inputs = super::edges::rows(51, &[ty]);
            for (at, row) in inputs.iter_mut().enumerate() {
                row.push((at * 11 + 3) as u64 % 32);
            }
            all.push(
                shuffle
                    .called(&format!("{}{suffix}", s.name()))
                    .with_inputs(inputs)
                    .needing(&[
                        "GroupNonUniformShuffle",
                        "GroupNonUniformShuffleRelative",
                        "GroupNonUniformBallot",
                        "GroupNonUniformQuad",
                        "GroupNonUniformRotateKHR",
                        "SubgroupBallotKHR",
                    ]),
            );
        }
    }
}

/// Rotation inside of clusters of every size, and of the whole subgroup.
fn rotations(all: &mut Vec<Feature>) {
    for s in [U32, F32] {
        let word = s.name();
        for (cluster, by) in [(1, 1), (2, 1), (4, 3), (8, 3), (16, 5), (32, 17), (0, 9)] {
            let size = if cluster == 0 {
                String::new()
            } else {
                format!(" %u32_{cluster}")
            };
            let body = format!("$r = OpGroupNonUniformRotateKHR %{word} SUB $a %u32_{by}{size}");
            let op = "OpGroupNonUniformRotateKHR";
            let rotate = feature(op, &[s.into()], s.into(), &body, move |rows| {
                let size = if cluster == 0 {
                    rows.len()
                } else {
                    cluster.min(rows.len())
                };
                let from = |lane: usize| lane / size * size + (lane + by) % size;
                let lanes = 0..rows.len();
                lanes
                    .map(|lane| float_or_bits(s, rows[from(lane)][0]))
                    .collect()
            });
            let name = format!("{word}.cluster{cluster}");
            all.push(rotate.called(&name).needing(&["GroupNonUniformRotateKHR"]));
        }
    }
}

/// The range of a subgroup's lanes that a lane's result depends on.
type Part = fn(usize, usize) -> std::ops::Range<usize>;

#[rustfmt::skip] // a table
const FORMS: [(&str, &str, Part); 9] = [
    ("Reduce", "", |_, size| 0..size),
    ("InclusiveScan", "", |lane, _| 0..lane + 1),
    ("ExclusiveScan", "", |lane, _| 0..lane),
    ("ClusteredReduce", "1", |lane, _| lane..lane + 1),
    ("ClusteredReduce", "2", |lane, _| lane & !1..(lane & !1) + 2),
    ("ClusteredReduce", "8", |lane, _| lane & !7..(lane & !7) + 8),
    ("ClusteredReduce", "16", |lane, _| lane & !15..(lane & !15) + 16),
    ("ClusteredReduce", "4", |lane, _| lane & !3..(lane & !3) + 4),
    ("ClusteredReduce", "32", |lane, _| lane & !31..(lane & !31) + 32),
];

fn reductions(all: &mut Vec<Feature>) {
    let tables = INTEGER.iter().flat_map(|row| INTEGERS.map(|s| (row, s)));
    let floats = FLOAT
        .iter()
        .flat_map(|row| [F16, F32, F64].map(|s| (row, s)));
    let flags = LOGICAL.iter().map(|row| (row, Bool));
    for (row, s) in tables.chain(floats).chain(flags) {
        for (form, cluster, part) in FORMS {
            // These go the way of the other sizes; one type of each kind is enough.
            if ["2", "8", "16"].contains(&cluster) && ![U32, F32, Bool].contains(&s) {
                continue;
            }
            let op = format!("OpGroupNonUniform{}", row.0);
            let ty = Ty::from(s);
            let last = if cluster.is_empty() {
                String::new()
            } else {
                format!(" %u32_{cluster}")
            };
            let body = format!("$r = {op} %{} SUB {form} $a{last}", s.name());
            let host = move |rows: &[Row]| {
                let values: Vec<u64> = rows.iter().map(|r| r[0]).collect();
                (0..values.len())
                    .map(|lane| {
                        let part = part(lane, values.len());
                        combine_all(*row, s, &values[part.start..part.end.min(values.len())])
                    })
                    .collect()
            };
            all.push(
                feature(&op, &[ty], ty, &body, host)
                    .called(&format!("{}.{form}{cluster}", s.name()))
                    .needing(&["GroupNonUniformArithmetic", "GroupNonUniformClustered"])
                    .with_inputs(collectives::operands(s)),
            );
        }
        all.push(divergent(row, s, "InclusiveScan"));
        all.push(divergent(row, s, "Reduce"));
    }
}

/// Only the lanes whose flag is set reduce.
fn divergent(row: &'static collectives::Operation, s: Scalar, form: &'static str) -> Feature {
    let (op, ty, name) = (format!("OpGroupNonUniform{}", row.0), Ty::from(s), s.name());
    let zero = if s == Bool {
        "%false".to_owned()
    } else {
        format!("%{name}_0")
    };
    let body = format!(
        "OpStore $v {zero}\nOpSelectionMerge $m None\nOpBranchConditional $b $t $m\n$t = OpLabel\n\
         $x = {op} %{name} SUB {form} $a\nOpStore $v $x\nOpBranch $m\n$m = OpLabel\n$r = OpLoad %{name} $v"
    );
    let mut feature = feature(&op, &[ty, Bool.into()], ty, &body, move |rows| {
        let takes = |r: &&Row| r[1] != 0;
        let whole: Vec<u64> = rows.iter().filter(takes).map(|r| r[0]).collect();
        let mut taken = Vec::new();
        rows.iter()
            .map(|r| {
                if !takes(&r) {
                    return Bits(0);
                }
                taken.push(r[0]);
                let of = if form == "Reduce" { &whole } else { &taken };
                combine_all(*row, s, of)
            })
            .collect()
    });
    feature.variables = format!("$v = OpVariable %p_Function_{name} Function\n");
    let mut inputs = collectives::operands(s);
    for (at, row) in inputs.iter_mut().enumerate() {
        row.push(u64::from(at * 7 / 4 % 3 != 0));
    }
    feature
        .called(&format!("{name}.{form}.divergent"))
        .needing(&["GroupNonUniformArithmetic"])
        .with_inputs(inputs)
}

/// Returns true if a lane of the same set (first) contributes to the result of a lane (second).
type Takes = fn(usize, usize) -> bool;

/// Lanes with the same two low bits of the first operand are a set.
fn partitions(all: &mut Vec<Feature>) {
    let keys = |rows: &[Row]| rows.iter().map(|r| r[0] & 3).collect::<Vec<_>>();
    let low = "$k = OpBitwiseAnd %u32 $a %u32_3\n$p = OpGroupNonUniformPartitionEXT %u32v4 $k\n";
    let needs = ["GroupNonUniformPartitionedEXT", "GroupNonUniformArithmetic"];
    let ballot = feature(
        "OpGroupNonUniformPartitionEXT",
        &[U32.into()],
        U32.into(),
        &format!("{low}$r = OpCompositeExtract %u32 $p 0"),
        move |rows| {
            let keys = keys(rows);
            let words = keys.iter().map(|key| set_bits(keys.iter().take(32), *key));
            words.map(Bits).collect()
        },
    );
    all.push(ballot.needing(&needs));
    let forms: [(&str, Takes); 3] = [
        ("PartitionedReduceEXT", |_, _| true),
        ("PartitionedInclusiveScanEXT", |other, lane| other <= lane),
        ("PartitionedExclusiveScanEXT", |other, lane| other < lane),
    ];
    for (form, takes) in forms {
        let sum = feature(
            "OpGroupNonUniformIAdd",
            &[U32.into(), U32.into()],
            U32.into(),
            &format!("{low}$r = OpGroupNonUniformIAdd %u32 SUB {form} $b $p"),
            move |rows| {
                let keys = keys(rows);
                let of = |lane: usize| {
                    (0..rows.len())
                        .filter(|other| keys[*other] == keys[lane] && takes(*other, lane))
                        .fold(0u32, |sum, other| sum.wrapping_add(rows[other][1] as u32))
                };
                (0..rows.len()).map(|lane| Bits(of(lane).into())).collect()
            },
        );
        all.push(sum.needing(&needs).called(form));
    }
}

/// The keys that are equal to this one, as bits.
fn set_bits<'k>(keys: impl Iterator<Item = &'k u64>, key: u64) -> u64 {
    let set = keys.enumerate().filter(|(_, other)| **other == key);
    set.fold(0, |bits, (lane, _)| bits | 1 << lane)
}

/// The two lanes of a quad that a derivative subtracts: the value of the right or lower one minus
/// that of the other.
type Pair = fn(usize) -> (usize, usize);

#[rustfmt::skip] // a table
const DERIVATIVES: [(&str, Pair); 6] = [
    ("DPdxFine", |lane| (lane | 1, lane & !1)),
    ("DPdxCoarse", |lane| (lane & !3 | 1, lane & !3)),
    ("DPdyFine", |lane| (lane | 2, lane & !2)),
    ("DPdyCoarse", |lane| (lane & !3 | 2, lane & !3)),
    // Either of the two; these are the fine ones.
    ("DPdx", |lane| (lane | 1, lane & !1)),
    ("DPdy", |lane| (lane | 2, lane & !2)),
];

/// The derivative in a lane.
type Derivative = Box<dyn Fn(&[Row], usize) -> f64 + Send + Sync>;

fn derivatives(all: &mut Vec<Feature>) {
    let difference = |rows: &[Row], (plus, minus): (usize, usize)| {
        F32.float(rows[plus][0]) - F32.float(rows[minus][0])
    };
    let mut derivative = |op: &str, host: Derivative| {
        let body = format!("$r = Op{op} %f32 $a");
        let host = move |rows: &[Row]| {
            let exact = |lane| match F32.bits_of(host(rows, lane)) {
                0 | 0x8000_0000 => Want::OneOf(vec![0, 0x8000_0000]),
                bits => Bits(bits),
            };
            (0..rows.len()).map(exact).collect()
        };
        all.push(
            feature(&format!("Op{op}"), &[F32.into()], F32.into(), &body, host)
                .needing(&["ComputeDerivativeGroupLinearKHR"])
                .with_inputs(collectives::operands(F32)),
        );
    };
    for (op, pair) in DERIVATIVES {
        derivative(op, Box::new(move |rows, lane| difference(rows, pair(lane))));
    }
    for (op, x, y) in [
        ("Fwidth", 0, 2),
        ("FwidthFine", 0, 2),
        ("FwidthCoarse", 1, 3),
    ] {
        let [x, y] = [DERIVATIVES[x].1, DERIVATIVES[y].1];
        let host = move |rows: &[Row], lane| {
            difference(rows, x(lane)).abs() + difference(rows, y(lane)).abs()
        };
        derivative(op, Box::new(host));
    }
}

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    votes(&mut all);
    ballots(&mut all);
    shuffles(&mut all);
    reductions(&mut all);
    rotations(&mut all);
    partitions(&mut all);
    super::subgroup_partial::features(&mut all);
    derivatives(&mut all);
    all
}
