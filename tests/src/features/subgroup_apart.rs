//! Built-ins of subgroups, and subgroups of one workgroup that diverge. If a wave is several
//! subgroups, they diverge inside it.

use super::collectives::Row;
use super::feature::Feature;
use super::launch::{Launch, WORKGROUP};
use super::ty::{Ty, U32};
use super::want::Want::{self, Bits};

/// The value of a built-in in lane `lane` of subgroup `id` of a workgroup, by the subgroup size.
type BuiltIn = fn(lane: usize, id: usize, size: usize) -> u64;

fn all(size: usize) -> u64 {
    u64::MAX >> (64 - size)
}

#[rustfmt::skip] // a table
const WORDS: [(&str, BuiltIn); 4] = [
    ("SubgroupId", |_, id, _| id as u64),
    ("NumSubgroups", |_, _, size| (WORKGROUP / size) as u64),
    ("SubgroupSize", |_, _, size| size as u64),
    ("SubgroupLocalInvocationId", |lane, _, _| lane as u64),
];

#[rustfmt::skip] // a table
const MASKS: [(&str, BuiltIn); 5] = [
    ("SubgroupEqMask", |lane, _, _| 1 << lane),
    ("SubgroupLtMask", |lane, _, _| (1 << lane) - 1),
    ("SubgroupLeMask", |lane, _, _| (2u64 << lane).wrapping_sub(1)),
    ("SubgroupGeMask", |lane, _, size| all(size) & !((1 << lane) - 1)),
    ("SubgroupGtMask", |lane, _, size| all(size) & !((1u64 << lane) - 1) & !(1 << lane)),
];

/// The place of a row: its lane, and the number of its subgroup in the workgroup.
fn place(at: usize, launch: Launch) -> (usize, usize) {
    (at % launch.subgroup, at % WORKGROUP / launch.subgroup)
}

fn built_ins(all: &mut Vec<Feature>) {
    for ((name, host), ty) in WORDS
        .map(|row| (row, Ty::from(U32)))
        .into_iter()
        .chain(MASKS.map(|row| (row, Ty::vector(U32, 4))))
    {
        let ty_name = ty.name();
        let body = format!("$r = OpLoad %{ty_name} $in\n$y = OpIAdd %u32 $a $a");
        let built_in = Feature::new("OpLoad", &[U32.into()], &[ty], &body, |_| Vec::new())
            .collectively(move |launch, rows| {
                let value = |at: usize| {
                    let (lane, id) = place(at, launch);
                    let bits = host(lane, id, launch.subgroup);
                    let words = [bits & 0xffff_ffff, bits >> 32, 0, 0];
                    words[..ty.components()].iter().map(|w| Bits(*w)).collect()
                };
                (0..rows.len()).map(value).collect()
            });
        all.push(
            built_in
                .called(name)
                .decorated(format!("OpDecorate $in BuiltIn {name}\n"))
                .with_globals(format!("$in = OpVariable %p_Input_{ty_name} Input\n"))
                .needing(&["GroupNonUniformBallot", "SubgroupBallotKHR"]),
        );
    }
}

/// The results of all lanes of the launch, from the rows of their subgroups and their places.
fn by_subgroup(
    op: &str,
    body: &str,
    host: impl Fn(&[Row], usize, usize) -> u32 + Send + Sync + 'static,
) -> Feature {
    let feature = Feature::new(op, &[U32.into()], &[U32.into()], body, |_| Vec::new());
    feature.collectively(move |launch, rows| {
        let value = |at: usize| -> Vec<Want> {
            let (lane, id) = place(at, launch);
            vec![Bits(
                host(&rows[at - lane..][..launch.subgroup], lane, id).into(),
            )]
        };
        (0..rows.len()).map(value).collect()
    })
}

fn word(row: &Row) -> u32 {
    row[0] as u32
}

/// A branch that only subgroups with odd numbers take.
fn odd_ones(inside: &str) -> String {
    format!(
        "$id = OpLoad %u32 %sgi\n$low = OpBitwiseAnd %u32 $id %u32_1\n$odd = OpIEqual %bool $low %u32_1\nOpStore $v $a\n\
         OpSelectionMerge $m None\nOpBranchConditional $odd $t $m\n$t = OpLabel\n{inside}OpStore $v $x\nOpBranch $m\n\
         $m = OpLabel\n$r = OpLoad %u32 $v"
    )
}

/// A lane reads the value that another lane of its subgroup has stored in workgroup memory, in a
/// branch that only some of the subgroups take.
fn barriers(all: &mut Vec<Feature>) {
    // AcquireRelease, WorkgroupMemory; Release and Acquire of it.
    let full = "OpControlBarrier %u32_3 %u32_3 %u32_264\n";
    let split = "OpControlBarrierArriveINTEL %u32_3 %u32_3 %u32_260\n$y = OpIAdd %u32 $a %u32_7\n\
                 OpControlBarrierWaitINTEL %u32_3 %u32_3 %u32_258\n";
    // Lanes take as many steps of a generator as they need to 0: they come to the barrier apart.
    let count = "OpStore $n %u32_0\nOpStore $s $a\nOpBranch $h\n$h = OpLabel\nOpLoopMerge $e $c None\nOpBranch $c\n$c = OpLabel\n\
                 $s0 = OpLoad %u32 $s\n$s1 = OpIMul %u32 $s0 %u32_5\n$s2 = OpIAdd %u32 $s1 %u32_1\n$s3 = OpBitwiseAnd %u32 $s2 %u32_15\nOpStore $s $s3\n\
                 $n0 = OpLoad %u32 $n\n$n1 = OpIAdd %u32 $n0 %u32_1\nOpStore $n $n1\n$on = OpINotEqual %bool $s3 %u32_0\nOpBranchConditional $on $h $e\n\
                 $e = OpLabel\n$count = OpLoad %u32 $n\n";
    let steps = |row: &Row| {
        let next = |s: u32| s.wrapping_mul(5).wrapping_add(1) & 15;
        1 + std::iter::successors(Some(next(word(row))), |s| Some(next(*s)))
            .take_while(|s| *s != 0)
            .count() as u32
    };
    for (name, barrier) in [("full", full), ("split", split)] {
        let inside = format!(
            "{count}$p = OpAccessChain %p_Workgroup_u32 $w %local\nOpStore $p $count\n{barrier}$k = OpBitwiseXor %u32 %local %u32_5\n\
             $q = OpAccessChain %p_Workgroup_u32 $w $k\n$x = OpLoad %u32 $q\n"
        );
        // The barrier's own instructions have their tests elsewhere (coverage.rs).
        let feature = by_subgroup("OpBitwiseXor", &odd_ones(&inside), move |rows, lane, id| {
            if id % 2 == 1 {
                steps(&rows[lane ^ 5])
            } else {
                word(&rows[lane])
            }
        });
        all.push(
            feature
                .called(&format!("barrier.{name}"))
                .with_variables(
                    "$v = OpVariable %p_Function_u32 Function\n$n = OpVariable %p_Function_u32 Function\n$s = OpVariable %p_Function_u32 Function\n",
                )
                .with_globals(format!("$w = OpVariable %p_Workgroup_u32a{WORKGROUP} Workgroup\n"))
                .needing(if name == "split" { &["SplitBarrierINTEL"] } else { &[] }),
        );
    }
}

/// Every subgroup repeats a loop as many times as its number.
fn loops(all: &mut Vec<Feature>) {
    let body = "$id = OpLoad %u32 %sgi\nOpStore $v %u32_0\nOpStore $i %u32_0\nOpBranch $h\n$h = OpLabel\n\
                OpLoopMerge $m $c None\nOpBranch $b\n$b = OpLabel\n$n = OpLoad %u32 $i\n$own = OpIAdd %u32 $a $n\n\
                $x = OpGroupNonUniformIAdd %u32 %u32_3 Reduce $own\n$old = OpLoad %u32 $v\n$new = OpIAdd %u32 $old $x\n\
                OpStore $v $new\nOpBranch $c\n$c = OpLabel\n$next = OpIAdd %u32 $n %u32_1\nOpStore $i $next\n\
                $on = OpULessThanEqual %bool $next $id\nOpBranchConditional $on $h $m\n$m = OpLabel\n$r = OpLoad %u32 $v";
    let feature = by_subgroup("OpGroupNonUniformIAdd", body, |rows, _, id| {
        let sum = rows.iter().fold(0u32, |sum, r| sum.wrapping_add(word(r)));
        (0..=id as u32).fold(0u32, |total, n| {
            let added = n.wrapping_mul(rows.len() as u32);
            total.wrapping_add(sum).wrapping_add(added)
        })
    });
    all.push(
        feature
            .called("loop.apart")
            .with_variables(
                "$v = OpVariable %p_Function_u32 Function\n$i = OpVariable %p_Function_u32 Function\n",
            )
            .needing(&["GroupNonUniformArithmetic"]),
    );
}

/// In a branch that only some of the subgroups take.
fn branches(all: &mut Vec<Feature>) {
    let needs = [
        "GroupNonUniformArithmetic",
        "GroupNonUniformBallot",
        "GroupNonUniformShuffle",
    ];
    type Host = fn(&[Row], usize) -> u32;
    let rows: [(&str, &str, Host); 5] = [
        (
            "OpGroupNonUniformUMax",
            "$x = OpGroupNonUniformUMax %u32 %u32_3 Reduce $a\n",
            |rows, _| rows.iter().map(word).max().unwrap_or(0),
        ),
        (
            "OpGroupNonUniformBroadcastFirst",
            "$x = OpGroupNonUniformBroadcastFirst %u32 %u32_3 $a\n",
            |rows, _| word(&rows[0]),
        ),
        (
            "OpGroupNonUniformShuffleXor",
            "$x = OpGroupNonUniformShuffleXor %u32 %u32_3 $a %u32_7\n",
            |rows, lane| word(&rows[lane ^ 7]),
        ),
        (
            "OpGroupNonUniformElect",
            "$e = OpGroupNonUniformElect %bool %u32_3\n$x = OpSelect %u32 $e %u32_9 %u32_4\n",
            |_, lane| if lane == 0 { 9 } else { 4 },
        ),
        (
            "OpGroupNonUniformBallot",
            "$f = OpINotEqual %bool $a %u32_0\n$s = OpGroupNonUniformBallot %u32v4 %u32_3 $f\n$x = OpCompositeExtract %u32 $s 0\n",
            |rows, _| {
                let lanes = rows.iter().take(32).enumerate();
                lanes.fold(0, |set, (lane, r)| set | u32::from(word(r) != 0) << lane)
            },
        ),
    ];
    for (op, inside, host) in rows {
        let feature = Feature::new(op, &[U32.into()], &[U32.into()], &odd_ones(inside), |_| {
            Vec::new()
        });
        all.push(
            feature
                .collectively(move |launch, rows| {
                    let value = |at: usize| {
                        let (lane, id) = place(at, launch);
                        let own = &rows[at - lane..][..launch.subgroup];
                        let value = if id % 2 == 1 {
                            host(own, lane)
                        } else {
                            word(&own[lane])
                        };
                        vec![Bits(value.into())]
                    };
                    (0..rows.len()).map(value).collect()
                })
                .called("apart")
                .with_variables("$v = OpVariable %p_Function_u32 Function\n")
                .needing(&needs),
        );
    }
}

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    built_ins(&mut all);
    branches(&mut all);
    loops(&mut all);
    barriers(&mut all);
    all
}
