//! Loops in short lines, and what is left of them.

use super::*;
use crate::transform::move_split_barriers::tests::{body, short_after};
use crate::transform::registry::{MOVE_SPLIT_BARRIERS, UNROLL_BARRIER_LOOPS};

fn unrolled(lines: &str, most: u32) -> String {
    let pass = UNROLL_BARRIER_LOOPS;
    short_after(pass, &body(lines), &PassOptions::Unroll(most))
}

/// A loop from 0 that asks first: while `%i` is less than 3, with a step of 1.
fn over(control: u32, work: &str) -> String {
    format!(
        "OpBranch %head; %head = OpLabel; %i = OpPhi %uint %u0 %entry %j %next
        %c = OpULessThan %bool %i %u3
        OpLoopMerge %end %next {control}; OpBranchConditional %c %work %end
        %work = OpLabel; {work}; OpBranch %next
        %next = OpLabel; %j = OpIAdd %uint %i %u1; OpBranch %head
        %end = OpLabel; w two"
    )
}

#[test]
fn a_copy_for_each_iteration() {
    let text = over(0, "w one; barrier; r one");
    let turn = "| | wone B rone | . ";
    assert_eq!(
        unrolled(&text, 100),
        format!("| {turn}{turn}{turn}| | wtwo")
    );
}

#[test]
fn a_loop_that_asks_at_its_end() {
    let text = "OpBranch %head; %head = OpLabel; %i = OpPhi %uint %u7 %entry %j %next
        OpLoopMerge %end %next 0; OpBranch %work
        %work = OpLabel; w one; barrier; r one; OpBranch %next
        %next = OpLabel; %j = OpShiftRightLogical %uint %i %u1; %c = OpUGreaterThan %bool %j %u0
        OpBranchConditional %c %head %end; %end = OpLabel; w two";
    let turn = "| | wone B rone | ";
    assert_eq!(unrolled(text, 100), format!("| {turn}{turn}{turn}| wtwo"));
}

#[test]
fn a_loop_of_one_block() {
    let text = "OpBranch %head; %head = OpLabel; %i = OpPhi %uint %u0 %entry %j %head
        w one; barrier; %j = OpIAdd %uint %i %u1; %c = OpINotEqual %bool %j %u2
        OpLoopMerge %end %head 0; OpBranchConditional %c %head %end
        %end = OpLabel; use j; use i";
    assert_eq!(unrolled(text, 100), "| | wone B . | wone B . | * *");
}

#[test]
fn a_counter_in_memory() {
    let text = "%k = OpVariable %ptr 7; OpStore %k %u1; OpBranch %head; %head = OpLabel
        OpLoopMerge %end %next 0; OpBranch %test; %test = OpLabel
        %i = OpLoad %uint %k; %c = OpULessThan %bool %i %u3; OpBranchConditional %c %work %end
        %work = OpLabel; barrier; OpBranch %next
        %next = OpLabel; %n = OpLoad %uint %k; %j = OpIAdd %uint %n %u1; OpStore %k %j
        OpBranch %head; %end = OpLabel; w two";
    let short = |text: &str, most: u32| {
        let all = unrolled_lines(text, most);
        all.iter().filter(|op| **op == Op::ControlBarrier).count()
    };
    assert_eq!(short(text, 100), 2);
    assert_eq!(short(text, 20), 1);
    // Stored in one arm of a branch, the counter is not known.
    let text = text.replace("barrier;", "barrier; OpStore %k %u1;");
    assert_eq!(short(&text, 1000), 1);
}

/// The instructions of the function after the pass.
fn unrolled_lines(lines: &str, most: u32) -> Vec<Op> {
    let assembled = crate::transform::move_split_barriers::tests::module(&body(lines));
    let (declarations, _) = crate::analysis::testing::declared(&assembled.module);
    let mut found = Diagnostics::new();
    let options = PassOptions::Unroll(most);
    let edited = run(&assembled.module, &declarations, &options, &mut found).unwrap();
    let new = edited
        .as_ref()
        .map_or(&assembled.module, |edited| &edited.module);
    new.instructions().filter_map(|inst| inst.op()).collect()
}

#[test]
fn what_stays_a_loop() {
    let work = "w one; barrier; r one";
    let loops = |text: &str, most| unrolled_lines(text, most).contains(&Op::LoopMerge);
    assert!(!loops(&over(0, work), 100));
    assert!(loops(&over(0, work), 30), "too many instructions");
    assert!(loops(&over(2, work), 100), "DontUnroll");
    assert!(loops(&over(0, "w one; r one"), 100), "no barrier");
    let text = format!("%n = OpLoad %uint %cond; {}", over(0, work)).replace("%i %u3", "%i %n");
    assert!(loops(&text, 100), "not constant");
    let text = over(
        0,
        &format!(
            "{work}; OpSelectionMerge %rest 0; OpBranchConditional %c %next %rest; %rest = OpLabel"
        ),
    );
    assert!(loops(&text, 100), "two ways to the next iteration");
    let text = over(
        0,
        &format!(
            "{work}; OpSelectionMerge %rest 0; OpBranchConditional %c %end %rest; %rest = OpLabel"
        ),
    );
    assert!(loops(&text, 100), "two ways out");
}

#[test]
fn loops_that_copy_to_shared_memory_are_unrolled_in_loops_with_barriers() {
    let copy = |work: &str| {
        format!(
            "OpBranch %top; %top = OpLabel; %k = OpPhi %uint %u0 %work %l %again
            %d = OpULessThan %bool %k %u2; OpLoopMerge %done %again 0
            OpBranchConditional %d %again %done; %again = OpLabel; {work}
            %l = OpIAdd %uint %k %u1; OpBranch %top; %done = OpLabel"
        )
    };
    let fill = copy("%x = OpLoad %uint %data; keep one x");
    // The outer loop has no constant number of iterations.
    let around = |work: &str| {
        let text = over(0, work);
        let text = text.replace("OpULessThan %bool %i %u3", "OpULessThan %bool %i %n");
        format!("%n = OpLoad %uint %lane; {text}")
    };
    let turn = "| | rdata wone . ";
    assert_eq!(
        unrolled(&around(&format!("{fill}; barrier; r one")), 100),
        format!("| rlane | | {turn}{turn}| | B rone | . | wtwo")
    );
    let same = |text: &str| {
        let pass = MOVE_SPLIT_BARRIERS;
        let as_it_was = short_after(pass, &body(text), &PassOptions::None);
        assert_eq!(unrolled(text, 100), as_it_was);
    };
    // One that loads or stores nothing, and one with no barrier around it.
    same(&around(&format!("{}; barrier; r one", copy("w one"))));
    same(&around(&format!("{}; barrier; r one", copy("r data"))));
    same(&around(&fill));
}
