//! Subgroups of which some lanes do not take part: votes, ballots, elections and shuffles among the
//! others.

use super::by_subgroup::{SCOPE, feature, truth};
use super::collectives::Row;
use super::feature::Feature;
use super::launch::Launch;
use super::ty::{Bool, F16, F32, F64, INTEGERS, Scalar, Ty, U32};
use super::want::Want::{self, Bits};
use super::want::float_or_bits;

/// Only the lanes whose flag is set execute the instruction; the others have 0.
fn partial(op: &str, s: Scalar, result: Ty, line: &str, host: fn(&[Row]) -> Vec<Want>) -> Feature {
    let (name, zero) = (result.name(), result.scalar.name());
    let zero = match (result.scalar, result.lanes) {
        (Bool, _) => "%false".to_owned(),
        (_, 1) => format!("%{zero}_0"),
        _ => "$zero".to_owned(),
    };
    let body = format!(
        "OpStore $v {zero}\nOpSelectionMerge $m None\nOpBranchConditional $b $on $m\n$on = OpLabel\n{line}\nOpStore $v $x\nOpBranch $m\n\
         $m = OpLabel\n$r = OpLoad %{name} $v"
    )
    .replace("SUB", SCOPE);
    let params = [s.into(), Bool.into()];
    let count = result.components();
    let partial = Feature::new(op, &params, &[result], &body, |_| Vec::new()).collectively(
        move |launch: Launch, rows| {
            let mut all = vec![vec![Bits(0); count]; rows.len()];
            for first in (0..rows.len()).step_by(launch.subgroup) {
                let lanes = first..first + launch.subgroup;
                let active: Vec<usize> = lanes.filter(|lane| rows[*lane][1] != 0).collect();
                // The lane's number goes along.
                let taken: Vec<Row> = active
                    .iter()
                    .map(|lane| vec![rows[*lane][0], (lane - first) as u64])
                    .collect();
                if taken.is_empty() {
                    continue;
                }
                let wanted = host(&taken);
                for (at, lane) in active.iter().enumerate() {
                    all[*lane] = wanted[at * count..(at + 1) * count].to_vec();
                }
            }
            all
        },
    );
    let mut inputs = super::edges::rows(63, &[s.into()]);
    for (at, row) in inputs.iter_mut().enumerate() {
        // Lane 0 is off in most subgroups, and no two are alike.
        row.push(u64::from(at % 32 > 2 + at / 32 && (at * 7 / 4) % 3 != 0));
    }
    let mut partial = partial
        .called(&format!("{}.partial", s.name()))
        .with_variables(format!("$v = OpVariable %p_Function_{name} Function\n"))
        .needing(&[
            "GroupNonUniformVote",
            "GroupNonUniformBallot",
            "GroupNonUniformShuffle",
            "SubgroupBallotKHR",
            "SubgroupVoteKHR",
        ])
        .with_inputs(inputs);
    if zero == "$zero" {
        partial.globals = format!("$zero = OpConstantNull %{name}\n");
    }
    partial
}

/// Only the active part of a subgroup counts.
pub(super) fn features(all: &mut Vec<Feature>) {
    let (flag, word) = (Ty::from(Bool), Ty::from(U32));
    type Host = fn(&[Row]) -> Vec<Want>;
    let ballot_of: Host = |rows| {
        let set = rows
            .iter()
            .fold(0u64, |set, r| set | u64::from(r[0] != 0) << r[1]);
        let words = [Bits(set & 0xffff_ffff), Bits(set >> 32), Bits(0), Bits(0)];
        rows.iter().flat_map(|_| words.clone()).collect()
    };
    let every: Host = |rows| vec![truth(rows.iter().all(|r| r[0] != 0)); rows.len()];
    let some: Host = |rows| vec![truth(rows.iter().any(|r| r[0] != 0)); rows.len()];
    let elect: Host = |rows| (0..rows.len()).map(|at| truth(at == 0)).collect();
    let first: Host = |rows| vec![Bits(rows[0][0]); rows.len()];
    // The last of those that are on: its number comes from a ballot.
    let last: Host = |rows| vec![Bits(rows[rows.len() - 1][0]); rows.len()];
    let count: Host = |rows| {
        let set = |r: &Row| r[0] & 1;
        let counted = rows.iter().scan(0, |sum, r| {
            let before = *sum;
            *sum += set(r);
            Some(Bits(before))
        });
        counted.collect()
    };
    let rows: [(&str, Scalar, Ty, &str, Host); 10] = [
        (
            "OpGroupNonUniformBallot",
            Bool,
            Ty::vector(U32, 4),
            "$x = OpGroupNonUniformBallot %u32v4 SUB $a",
            ballot_of,
        ),
        (
            "OpSubgroupBallotKHR",
            Bool,
            Ty::vector(U32, 4),
            "$x = OpSubgroupBallotKHR %u32v4 $a",
            ballot_of,
        ),
        (
            "OpGroupNonUniformAll",
            Bool,
            flag,
            "$x = OpGroupNonUniformAll %bool SUB $a",
            every,
        ),
        (
            "OpGroupNonUniformAny",
            Bool,
            flag,
            "$x = OpGroupNonUniformAny %bool SUB $a",
            some,
        ),
        (
            "OpSubgroupAllKHR",
            Bool,
            flag,
            "$x = OpSubgroupAllKHR %bool $a",
            every,
        ),
        (
            "OpGroupNonUniformElect",
            Bool,
            flag,
            "$x = OpGroupNonUniformElect %bool SUB",
            elect,
        ),
        (
            "OpGroupNonUniformBroadcastFirst",
            U32,
            word,
            "$x = OpGroupNonUniformBroadcastFirst %u32 SUB $a",
            first,
        ),
        (
            "OpSubgroupFirstInvocationKHR",
            U32,
            word,
            "$x = OpSubgroupFirstInvocationKHR %u32 $a",
            first,
        ),
        (
            "OpGroupNonUniformShuffle",
            U32,
            word,
            "$on2 = OpGroupNonUniformBallot %u32v4 SUB %true\n$n = OpGroupNonUniformBallotFindMSB %u32 SUB $on2\n$x = OpGroupNonUniformShuffle %u32 SUB $a $n",
            last,
        ),
        (
            "OpGroupNonUniformBallotBitCount",
            U32,
            word,
            "$odd = OpBitwiseAnd %u32 $a %u32_1\n$is = OpINotEqual %bool $odd %u32_0\n$set = OpGroupNonUniformBallot %u32v4 SUB $is\n$x = OpGroupNonUniformBallotBitCount %u32 SUB ExclusiveScan $set",
            count,
        ),
    ];
    for (op, s, result, line, host) in rows {
        all.push(partial(op, s, result, line, host));
    }
    for s in INTEGERS.into_iter().chain([F16, F32, F64]) {
        let body = format!("$r = OpSubgroupFirstInvocationKHR %{} $a", s.name());
        let op = "OpSubgroupFirstInvocationKHR";
        let first = feature(op, &[s.into()], s.into(), &body, move |rows| {
            vec![float_or_bits(s, rows[0][0]); rows.len()]
        });
        all.push(first.needing(&["SubgroupBallotKHR"]));
    }
}
