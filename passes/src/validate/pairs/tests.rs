//! Pairing, construct by construct.

use super::super::flow::testing::{LOADS, module, of, problems, problems_with};
use crate::diagnostic::Diagnostic;

#[test]
fn straight_code() {
    assert_eq!(of("arrive\nwait\narrive\nwait\nOpReturn"), [""; 0]);
    assert_eq!(of("wait\nOpReturn"), ["error SB2001 0"]);
    assert_eq!(of("arrive\nwait\nwait\nOpReturn"), ["error SB2002 2"]);
    assert_eq!(
        of("arrive\narrive\nwait\nOpReturn"),
        ["warning SB2010 0", "error SB2003 1"]
    );
    assert_eq!(
        of("arrive\narrive.sub\nwait\nwait.sub\nOpReturn"),
        [""; 0],
        "scopes are independent"
    );
    assert_eq!(of("arrive\nwait.sub\nwait\nOpReturn"), ["error SB2001 1"]);
    assert_eq!(
        of("arrive\nOpReturn"),
        ["warning SB2010 0"],
        "legal, and worth a word"
    );
}

/// if (first) { `one` } work; if (second) { `two` }
fn two(first: &str, one: &str, second: &str, two: &str) -> String {
    format!(
        "OpSelectionMerge %middle 0
        OpBranchConditional %{first} %then %middle
        %then = OpLabel
        {one}
        OpBranch %middle
        %middle = OpLabel
        OpSelectionMerge %end 0
        OpBranchConditional %{second} %later %end
        %later = OpLabel
        {two}
        OpBranch %end
        %end = OpLabel
        OpReturn"
    )
}

#[test]
fn equal_conditions_belong_together() {
    assert_eq!(of(&two("c", "arrive", "c", "wait")), [""; 0]);
    assert_eq!(of(&two("c", "arrive", "d", "wait")), ["warning SB2001 1"]);
    let computed_again = [
        "%e = OpINotEqual %bool %u0 %pc\n",
        &two("c", "arrive", "e", "wait"),
    ]
    .concat();
    assert_eq!(
        of(&computed_again),
        [""; 0],
        "the same value, computed twice"
    );
    let negated = [
        "%e = OpIEqual %bool %pc %u0\n",
        &two("c", "arrive", "e", "wait"),
    ]
    .concat();
    assert_eq!(
        of(&negated),
        ["warning SB2001 1"],
        "broken when the wait is executed, and it need not be"
    );
    let both = [
        "%e = OpLogicalAnd %bool %c %d\n",
        &two("c", "arrive", "e", "wait"),
    ]
    .concat();
    assert_eq!(of(&both), [""; 0], "the wait is under more than the arrive");
}

#[test]
fn loads_of_a_variable_that_nothing_changes_are_one_condition() {
    let text = |between: &str| {
        let code = two("l", "arrive", "m", "wait").replace(
            "%middle = OpLabel\n",
            &format!("%middle = OpLabel\n{between}\n%w = OpLoad %uint %flag\n%m = OpINotEqual %bool %w %u0\n"),
        );
        format!("OpStore %flag %pc\n%v = OpLoad %uint %flag\n%l = OpINotEqual %bool %v %u0\n{code}")
    };
    assert_eq!(of(&text("")), [""; 0]);
    assert_eq!(of(&text("OpStore %flag %qc")), ["warning SB2001 1"]);
}

#[test]
fn an_arrive_under_a_condition_and_the_wait_outside_is_unknown() {
    let text = two("c", "arrive", "d", "").replace("OpReturn", "wait\nOpReturn");
    let module = module(&[LOADS, &text].concat());
    let problems = problems(&module);
    let problem = problems
        .iter()
        .find(|problem| problem.vuid.is_some())
        .unwrap();
    assert_eq!(problem.severity, crate::diagnostic::Severity::Warning);
    assert_eq!(
        problem.vuid,
        Some("VUID-RuntimeSpirv-OpControlBarrierWaitEXT-13559")
    );
    assert!(
        problem.reasons[0].contains(&module.id("c").to_string()),
        "{:?}",
        problem.reasons
    );
    assert!(
        problem.witness[0].text.contains(&format!(
            "the branch on {} goes to {}",
            module.id("c"),
            module.id("middle")
        )),
        "{:?}",
        problem.witness
    );
}

#[test]
fn both_ways_broken_is_broken() {
    // if (c) arrive else arrive; arrive
    let text = "
        OpSelectionMerge %end 0
        OpBranchConditional %c %a %b
        %a = OpLabel
        arrive
        OpBranch %end
        %b = OpLabel
        arrive
        OpBranch %end
        %end = OpLabel
        arrive
        wait
        OpReturn";
    assert!(of(text).contains(&"error SB2003 2".to_owned()));
}

/// arrive; for (i = 0; i < end; i++) { `inside` } wait
fn rotated(end: &str, inside: &str) -> String {
    format!(
        "arrive
        OpStore %i %u0
        OpBranch %head
        %head = OpLabel
        OpLoopMerge %end %next 0
        OpBranch %test
        %test = OpLabel
        %i0 = OpLoad %uint %i
        %q = OpULessThan %bool %i0 %{end}
        OpBranchConditional %q %inside %end
        %inside = OpLabel
        {inside}
        OpBranch %next
        %next = OpLabel
        %i1 = OpLoad %uint %i
        %i2 = OpIAdd %uint %i1 %u1
        OpStore %i %i2
        OpBranch %head
        %end = OpLabel
        wait
        OpReturn"
    )
}

#[test]
fn rotated_loops() {
    assert_eq!(of(&rotated("pc", "wait\narrive")), [""; 0]);
    assert_eq!(
        of(&rotated("pc", "wait")),
        ["warning SB2002 1", "warning SB2002 2"]
    );
    assert_eq!(
        of(&rotated("u2", "wait")),
        ["error SB2002 1", "error SB2002 2"],
        "the second time round"
    );
    assert_eq!(of(&rotated("u0", "wait")), [""; 0], "never executed");
}

#[test]
fn the_first_time_round_is_told_from_the_others() {
    // for (i = 0; i < 4; i++) { if (i != 0) wait; arrive } wait
    let inside = "%f = OpINotEqual %bool %i0 %u0
        OpSelectionMerge %go 0
        OpBranchConditional %f %again %go
        %again = OpLabel
        wait
        OpBranch %go
        %go = OpLabel
        arrive";
    let text = rotated("u4", inside).replacen("arrive\n", "", 1);
    assert_eq!(of(&text), [""; 0]);
    // A flag does it for any number of times.
    let flag = inside.replace(
        "%f = OpINotEqual %bool %i0 %u0",
        "%g = OpLoad %uint %flag\n%f = OpINotEqual %bool %g %u0",
    ) + "\nOpStore %flag %u1";
    let text = rotated("pc", &flag).replacen("arrive\n", "OpStore %flag %u0\n", 1).replace(
        "wait\n        OpReturn",
        "%h = OpLoad %uint %flag\n%k = OpINotEqual %bool %h %u0\nOpSelectionMerge %leave 0\nOpBranchConditional %k %last %leave\n%last = OpLabel\nwait\nOpBranch %leave\n%leave = OpLabel\nOpReturn",
    );
    assert_eq!(of(&text), [""; 0]);
}

#[test]
fn switches_on_one_selector_belong_together() {
    let switch = |name: &str, site: &str| {
        format!(
            "OpSelectionMerge %{name}_end 0
            OpSwitch %pc %{name}_end 1 %{name}_one 2 %{name}_two
            %{name}_one = OpLabel
            {site}
            OpBranch %{name}_end
            %{name}_two = OpLabel
            OpBranch %{name}_end
            %{name}_end = OpLabel\n"
        )
    };
    let text = |second: &str| [&switch("a", "arrive"), second, "OpReturn"].concat();
    assert_eq!(of(&text(&switch("b", "wait"))), [""; 0]);
    assert_eq!(
        of(&text(&switch("b", "wait").replace("%pc", "%qc"))),
        ["warning SB2001 1"]
    );
    let equal = "%e = OpIEqual %bool %pc %u1\nOpSelectionMerge %end 0\nOpBranchConditional %e %then %end\n%then = OpLabel\nwait\nOpBranch %end\n%end = OpLabel\n";
    assert_eq!(of(&text(equal)), [""; 0]);
}

#[test]
fn depth_and_length_cost_no_stack_and_little_time() {
    use std::fmt::Write;
    let mut text = String::new();
    for level in 0..2000 {
        write!(text, "OpSelectionMerge %m{level} 0\nOpBranchConditional %c %t{level} %m{level}\n%t{level} = OpLabel\n").unwrap();
    }
    text.push_str("arrive\nwait\n");
    for level in (0..2000).rev() {
        write!(text, "OpBranch %m{level}\n%m{level} = OpLabel\n").unwrap();
    }
    text.push_str("OpReturn");
    assert_eq!(of(&text), [""; 0]);
    let divergent = text.replace("%c %t0 %m0", "%r %t0 %m0").replacen(
        "OpSelectionMerge",
        "%r = OpULessThan %bool %lane %u16\nOpSelectionMerge",
        1,
    );
    assert_eq!(of(&divergent), ["warning SB2000 0", "warning SB2000 1"]);
}

/// Loops in each other, each with a counter of its own and a condition that differs between
/// invocations, around a pair: values meet at every loop, and every region holds those inside of
/// it. Twice the depth may cost a little more than twice the time.
#[test]
fn nested_loops_stay_within_bounds() {
    use std::fmt::Write;
    let time = |depth: usize| {
        let mut text = String::from("%q = OpULessThan %bool %lane %pc\n");
        for level in 0..depth {
            write!(
                text,
                "OpStore %flag %lane\nOpBranch %h{level}\n%h{level} = OpLabel\nOpLoopMerge %m{level} %n{level} 0\nOpBranch %t{level}\n%t{level} = OpLabel\n\
                 %f{level} = OpLoad %uint %flag\n%g{level} = OpIAdd %uint %f{level} %u1\nOpStore %flag %g{level}\n%c{level} = OpULessThan %bool %g{level} %pc\n\
                 OpBranchConditional %c{level} %b{level} %m{level}\n%b{level} = OpLabel\n"
            )
            .unwrap();
        }
        text.push_str("arrive\nwait\n");
        for level in (0..depth).rev() {
            write!(
                text,
                "OpBranch %n{level}\n%n{level} = OpLabel\nOpBranch %h{level}\n%m{level} = OpLabel\n"
            )
            .unwrap();
        }
        text.push_str("OpReturn");
        let module = module(&[LOADS, &text].concat());
        let start = std::time::Instant::now();
        assert!(!problems(&module).is_empty());
        start.elapsed()
    };
    let (one, four) = (time(500), time(2000));
    assert!(
        four < one * 12 + std::time::Duration::from_millis(500),
        "{one:?} and {four:?}"
    );
}

#[test]
fn a_branch_on_a_specialization_constant_is_open_without_a_value() {
    // %spec is true by default.
    let text = |to: &str, past: &str| {
        format!(
            "OpSelectionMerge %end 0
            OpBranchConditional %spec %{to} %{past}
            %then = OpLabel
            wait
            OpBranch %end
            %end = OpLabel
            OpReturn"
        )
    };
    let verdicts = |text: &str, defaults| {
        let problems = problems_with(&module(text), defaults);
        let of = |problem: &Diagnostic| format!("{} {}", problem.severity, problem.code);
        problems.iter().map(of).collect::<Vec<_>>()
    };
    let (taken, left) = (text("then", "end"), text("end", "then"));
    assert_eq!(verdicts(&taken, true), ["error SB2001"]);
    assert_eq!(verdicts(&left, true), [""; 0]);
    assert_eq!(verdicts(&taken, false), ["warning SB2001"]);
    assert_eq!(verdicts(&left, false), ["warning SB2001"]);
    let module = module(&taken);
    let problems = problems_with(&module, false);
    let problem = problems.iter().next().unwrap();
    let name = module.id("spec").to_string();
    assert!(
        problem
            .reasons
            .iter()
            .any(|reason| reason.contains("specialization") && reason.contains(&name)),
        "{problem:?}"
    );
}
