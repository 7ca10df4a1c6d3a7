//! OpGroup* of kernels: at the scope of the workgroup and of the subgroup.

use super::collectives::{self, FLOAT, INTEGER, LOGICAL, Operation, combine_all};
use super::feature::Feature;
use super::launch::{INVOCATIONS, WORKGROUP};
use super::ty::{Bool, F16, F32, F64, INTEGERS, Scalar, Ty, U32};
use super::want::Want::{self, Bits};

/// The operations that the core has; the others come from SPV_KHR_uniform_group_instructions and
/// end in KHR.
const CORE: [&str; 8] = [
    "IAdd", "FAdd", "FMin", "UMin", "SMin", "FMax", "UMax", "SMax",
];

/// The number of invocations in the group, by the number of the scope.
fn size(scope: u32, subgroup: usize) -> usize {
    if scope == 2 { WORKGROUP } else { subgroup }
}

fn feature(
    op: &str,
    scope: u32,
    params: &[Ty],
    result: Ty,
    body: &str,
    host: impl Fn(&[Vec<u64>]) -> Vec<Want> + Send + Sync + 'static,
) -> Feature {
    Feature::new(op, params, &[result], body, |_| Vec::new())
        .collectively(move |launch, rows| {
            let groups = rows.chunks(size(scope, launch.subgroup));
            groups.flat_map(&host).map(|want| vec![want]).collect()
        })
        .needing(&["Groups", "GroupUniformArithmeticKHR"])
}

fn reductions(all: &mut Vec<Feature>, scope: u32, scope_name: &str) {
    let integers = INTEGER.iter().flat_map(|row| INTEGERS.map(|s| (row, s)));
    let floats = FLOAT
        .iter()
        .flat_map(|row| [F16, F32, F64].map(|s| (row, s)));
    let flags = LOGICAL.iter().map(|row| (row, Bool));
    for (row, s) in integers.chain(floats).chain(flags) {
        for form in ["Reduce", "InclusiveScan", "ExclusiveScan"] {
            all.push(reduction(row, s, form, scope, scope_name));
        }
    }
}

fn reduction(
    row: &'static Operation,
    s: Scalar,
    form: &'static str,
    scope: u32,
    scope_name: &str,
) -> Feature {
    let khr = if CORE.contains(&row.0) { "" } else { "KHR" };
    let op = format!("OpGroup{}{khr}", row.0);
    let ty = Ty::from(s);
    let body = format!("$r = {op} %{} %u32_{scope} {form} $a", s.name());
    let host = move |rows: &[Vec<u64>]| {
        let values: Vec<u64> = rows.iter().map(|r| r[0]).collect();
        let end = |at| match form {
            "Reduce" => values.len(),
            "InclusiveScan" => at + 1,
            _ => at,
        };
        (0..values.len())
            .map(|at| combine_all(*row, s, &values[..end(at)]))
            .collect()
    };
    feature(&op, scope, &[ty], ty, &body, host)
        .called(&format!("{}.{form}.{scope_name}", s.name()))
        .with_inputs(collectives::operands(s))
}

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    for (scope, name) in [(2, "workgroup"), (3, "subgroup")] {
        reductions(&mut all, scope, name);
        let flag = Ty::from(Bool);
        type Vote = fn(&[Vec<u64>]) -> bool;
        let votes: [(&str, Vote); 2] = [
            ("OpGroupAll", |rows| rows.iter().all(|r| r[0] != 0)),
            ("OpGroupAny", |rows| rows.iter().any(|r| r[0] != 0)),
        ];
        for (op, host) in votes {
            let body = format!("$r = {op} %bool %u32_{scope} $a");
            let rows = (0..INVOCATIONS)
                .map(|at| vec![u64::from(at / 64 % 2 == 0 || at == 77)])
                .collect();
            let vote = feature(op, scope, &[flag], flag, &body, move |rows| {
                vec![Bits(u64::from(host(rows))); rows.len()]
            });
            all.push(vote.called(name).with_inputs(rows));
        }
        for s in [U32, F32, F64] {
            let body = format!("$r = OpGroupBroadcast %{} %u32_{scope} $a %u32_7", s.name());
            let broadcast = feature(
                "OpGroupBroadcast",
                scope,
                &[s.into()],
                s.into(),
                &body,
                |rows| vec![Bits(rows[7][0]); rows.len()],
            );
            all.push(
                broadcast
                    .called(&format!("{}.{name}", s.name()))
                    .with_inputs(collectives::operands(s)),
            );
        }
    }
    all
}
