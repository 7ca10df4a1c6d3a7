//! Copies that take zeros where they are not loaded.

use super::super::{Choice, Reason, Zeros};
use super::{found, module};
use spirv::Op;

/// A load into `%value` behind a branch, with the text before the branch, behind the load, and
/// where the ways meet.
fn guarded(before: &str, behind_load: &str, meet: &str) -> String {
    format!(
        "%holds = OpULessThan %bool %lane %u7
        {before}
        OpSelectionMerge %end 0
        OpBranchConditional %holds %then %end
        %then = OpLabel
        %from = OpAccessChain %global_uint %source %u0 %lane
        %value = OpLoad %uint %from
        {behind_load}
        OpBranch %end
        %end = OpLabel
        {meet}
        %to = OpAccessChain %shared_uint %single %lane
        OpStore %to %chosen
        arrive
        wait\n"
    )
}

/// Where the copies of `body` take zeros, and why other stores are none.
fn zeros(body: &str) -> (Vec<Zeros>, Vec<Reason>) {
    let copies = found(&module("", body));
    (
        copies.copies.iter().map(|copy| copy.zeros).collect(),
        copies.refused.iter().map(|store| store.reason).collect(),
    )
}

const PHI: &str = "%chosen = OpPhi %uint %value %then %u0 %start";

#[test]
fn a_phi_of_a_load_and_zero() {
    let assembled = module("", &guarded("", "", PHI));
    let copies = found(&assembled);
    let [copy] = copies.copies.as_slice() else {
        panic!("{copies:?}");
    };
    assert_eq!(copy.zeros, Zeros::BY_BRANCH);
    assert!(copy.uniform && copy.lane_linear);
    assert_eq!(
        copies.marks,
        [assembled.offset(Op::ControlBarrierArriveINTEL, 0)]
    );
}

#[test]
fn a_phi_of_a_load_and_another_number() {
    let body = guarded("", "", &PHI.replace("%u0", "%u1"));
    assert_eq!(zeros(&body), (vec![], vec![]));
}

#[test]
fn a_variable_that_is_zero_unless_it_is_loaded() {
    let stored = ("OpStore %i %u0", "OpStore %i %value");
    let body = guarded(stored.0, stored.1, "%chosen = OpLoad %uint %i");
    assert_eq!(zeros(&body), (vec![Zeros::BY_BRANCH], vec![]));
    // What is there otherwise is undefined.
    let body = guarded("", stored.1, "%chosen = OpLoad %uint %i");
    assert_eq!(zeros(&body), (vec![Zeros::BY_BRANCH], vec![]));
    for (before, behind, meet) in [
        // Another number.
        ("OpStore %i %u1", stored.1, ""),
        // Always zero.
        (stored.0, stored.1, "OpStore %i %u0"),
        // A number that is not followed.
        (stored.0, stored.1, "OpAtomicStore %i %u4 %u0 %lane"),
        // Two loads.
        (stored.0, stored.1, "%other = OpLoad %uint %i"),
    ] {
        let meet = format!("{meet}\n%chosen = OpLoad %uint %i");
        assert_eq!(zeros(&guarded(before, behind, &meet)), (vec![], vec![]));
    }
}

/// A loop around `turn`, with `before` before it.
fn repeated(before: &str, turn: &str) -> String {
    format!(
        "%lane_holds = OpULessThan %bool %lane %u7
        {before}
        OpBranch %header
        %header = OpLabel
        OpLoopMerge %exit %next 0
        OpBranch %test
        %test = OpLabel
        %in = OpAccessChain %global_uint %source %u0 %u7
        %any = OpLoad %uint %in
        %more = OpULessThan %bool %any %u7
        OpBranchConditional %more %body %exit
        %body = OpLabel
        {turn}
        OpBranch %next
        %next = OpLabel
        OpBranch %header
        %exit = OpLabel\n"
    )
}

#[test]
fn a_variable_that_keeps_what_an_earlier_turn_has_loaded() {
    let turn = |zero: &str| guarded(zero, "OpStore %i %value", "%chosen = OpLoad %uint %i");
    let zero = "OpStore %i %u0";
    assert_eq!(zeros(&repeated(zero, &turn(""))), (vec![], vec![]));
    let again = repeated("", &turn(zero));
    assert_eq!(zeros(&again).0, [Zeros::BY_BRANCH]);
}

#[test]
fn a_selection() {
    let load = "%from = OpAccessChain %global_uint %source %u0 %lane
        %value = OpLoad %uint %from
        %holds = OpULessThan %bool %lane %u7";
    let store = "%to = OpAccessChain %shared_uint %single %lane
        OpStore %to %chosen
        arrive
        wait\n";
    for (choice, when) in [("%value %u0", true), ("%u0 %value", false)] {
        let body = format!("{load}\n%chosen = OpSelect %uint %holds {choice}\n{store}");
        let assembled = module("", &body);
        let copies = found(&assembled);
        let select = assembled.offset(Op::Select, 0);
        let by_select = Some(Choice { select, when });
        let copies: Vec<Zeros> = copies.copies.iter().map(|copy| copy.zeros).collect();
        let by_branch = false;
        assert_eq!(
            copies,
            [Zeros {
                by_branch,
                by_select
            }]
        );
    }
    let both = guarded(
        "",
        "",
        &format!(
            "{}\n%chosen = OpSelect %uint %holds %loaded %u0",
            PHI.replace("%chosen", "%loaded")
        ),
    );
    let (copies, _) = zeros(&both);
    assert!(copies.len() == 1 && copies[0].by_branch && copies[0].by_select.is_some());
    let none = format!("{load}\n%chosen = OpSelect %uint %holds %value %u1\n{store}");
    assert_eq!(zeros(&none), (vec![], vec![]));
}

#[test]
fn a_load_that_need_not_lead_to_the_store() {
    // Something else looks at the value.
    let body = guarded("", "%twice = OpIAdd %uint %value %value", PHI);
    assert_eq!(zeros(&body), (vec![], vec![Reason::UsedTwice]));
    // A barrier between load and store; the load in a block with another way out of it.
    let body = guarded("", "OpMemoryBarrier %group %both", PHI);
    assert_eq!(zeros(&body), (vec![], vec![Reason::Separated]));
    let body = guarded("", "", &format!("{PHI}\nbarrier"));
    assert_eq!(zeros(&body), (vec![], vec![Reason::Separated]));
    let body = guarded("", "", PHI).replace(
        "OpBranch %end\n",
        "OpSelectionMerge %leave 0
        OpBranchConditional %holds %end %leave
        %leave = OpLabel
        OpReturn\n",
    );
    assert_eq!(zeros(&body), (vec![], vec![]));
}
