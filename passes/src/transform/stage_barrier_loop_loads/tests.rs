//! Loops in short lines, and what is staged of them.

use super::*;
use crate::analysis::testing::declared;
use crate::transform::move_split_barriers::tests::{body, module, short_after};
use crate::transform::registry::Pass;

fn staged(lines: &str) -> String {
    let pass = Pass::named("stage-barrier-loop-loads").unwrap();
    short_after(pass, &body(lines), &PassOptions::None)
}

/// A loop over `%i` that asks before each iteration.
fn over(work: &str) -> String {
    format!(
        "OpBranch %head; %head = OpLabel; %i = OpPhi %uint %u0 %entry %j %next
        %c = OpULessThan %bool %i %u7
        OpLoopMerge %end %next 0; OpBranchConditional %c %work %end
        %work = OpLabel; {work}; OpBranch %next
        %next = OpLabel; %j = OpIAdd %uint %i %u1; OpBranch %head
        %end = OpLabel"
    )
}

const FILL: &str = "%x = OpLoad %uint %data; keep one x";

#[test]
fn loads_are_staged_under_the_condition_of_their_iteration() {
    assert_eq!(
        staged(&over(&format!("{FILL}; barrier; r one; .; barrier"))),
        // entry, the first loads, the header, the loop; `.` before the second branch is i + 1.
        "| | rdata | | | wone B . | rdata | rone . B | . |"
    );
}

#[test]
fn what_is_computed_for_a_load_comes_along() {
    // The address of this iteration's load goes with it: one multiplication for each place.
    let work = "%a = OpIMul %uint %i %u2; %p = OpAccessChain %buffer_ptr %data %a
        %q = OpCopyObject %buffer_ptr %p; %x = OpLoad %uint %q; %y = OpIAdd %uint %x %u1
        keep one y; barrier; r one; barrier";
    let assembled = module(&body(&over(work)));
    let (declarations, _) = declared(&assembled.module);
    let mut found = Diagnostics::new();
    let edited = run(
        &assembled.module,
        &declarations,
        &PassOptions::None,
        &mut found,
    );
    let edited = edited.unwrap().unwrap();
    let count = |op| {
        let all = edited.module.instructions();
        all.filter(|inst| inst.op() == Some(op)).count()
    };
    assert_eq!((count(Op::IMul), count(Op::AccessChain)), (2, 2));
    // The iteration's number, its successor for the load, and what is stored.
    assert_eq!((count(Op::Load), count(Op::IAdd)), (3, 3));
}

#[test]
fn a_loop_that_asks_at_its_end() {
    let text = format!(
        "OpBranch %head; %head = OpLabel; %i = OpPhi %uint %u0 %entry %j %next
        OpLoopMerge %end %next 0; OpBranch %work; %work = OpLabel
        {FILL}; barrier; r one; barrier; OpBranch %next
        %next = OpLabel; %j = OpIAdd %uint %i %u1; %c = OpULessThan %bool %j %u7
        OpBranchConditional %c %head %end; %end = OpLabel"
    );
    assert_eq!(staged(&text), "| rdata | | wone B . | rdata | rone B | . |");
}

#[test]
fn memory_that_the_loop_writes_is_not_staged() {
    let same = |work: &str| {
        let text = over(work);
        let pass = Pass::named("move-split-barriers").unwrap();
        // A pass that finds nothing to do gives the text as it is.
        assert_eq!(
            staged(&text),
            short_after(pass, &body(&text), &PassOptions::None)
        );
    };
    same(&format!("{FILL}; barrier; r one; w data; barrier"));
    same(&format!("{FILL}; barrier; r one; atomic two; barrier"));
    same(&format!(
        "{FILL}; barrier; r one; OpMemoryBarrier %group %buffers; barrier"
    ));
    // Nothing is stored to shared memory; shared memory itself; a volatile load.
    same("%x = OpLoad %uint %data; keep out x; barrier; r one; barrier");
    same("%x = OpLoad %uint %two; keep one x; barrier; r one; barrier");
    same("%x = OpLoad %uint %data 1; keep one x; barrier; r one; barrier");
    // Something orders before the barrier; the barrier is split already.
    same(&format!("atomic two; {FILL}; barrier; r one; barrier"));
    same("%x = OpLoad %uint %data; keep one x; arrive; wait; r one; arrive; wait; w one");
}

#[test]
fn two_ways_out_are_not_staged() {
    let work = format!(
        "{FILL}; barrier; r one; barrier; OpSelectionMerge %rest 0
        OpBranchConditional %c %end %rest; %rest = OpLabel"
    );
    let text = over(&work);
    assert!(!staged(&text).starts_with("| | rdata"), "{}", staged(&text));
}

#[test]
fn variables_of_the_invocation() {
    // As compilers write it that keep every variable in memory.
    let text = format!(
        "%k = OpVariable %ptr 7 %u0; OpBranch %head; %head = OpLabel
        OpLoopMerge %end %next 0; OpBranch %test; %test = OpLabel
        %i = OpCopyObject %uint %u0; %c = OpULessThan %bool %i %u7
        OpBranchConditional %c %work %end
        %work = OpLabel; {FILL}; barrier; r one; barrier; OpBranch %next
        %next = OpLabel; OpBranch %head; %end = OpLabel"
    );
    assert_eq!(
        staged(&text),
        "| | rdata | | | | wone B | rdata | rone B | |"
    );
}
