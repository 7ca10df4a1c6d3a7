//! Loops in short lines, and what is staged of them.

use super::*;
use crate::analysis::testing::declared;
use crate::transform::move_split_barriers::tests::{body, module, short_after};
use crate::transform::registry::{MOVE_SPLIT_BARRIERS, STAGE_BARRIER_LOOP_LOADS};

fn staged(lines: &str) -> String {
    let pass = STAGE_BARRIER_LOOP_LOADS;
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
        "| | rdata wown | | | rown wone B . | rdata wown | rone . B | . |"
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
    // Two of the buffer, and one of the variable between them; the iteration's number, its
    // successor for the load, and what is stored.
    assert_eq!((count(Op::Load), count(Op::IAdd)), (4, 3));
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
    assert_eq!(
        staged(&text),
        "| rdata wown | | rown wone B . | rdata wown | rone B | . |"
    );
}

#[test]
fn memory_that_the_loop_writes_is_not_staged() {
    let same = |work: &str| {
        let text = over(work);
        let pass = MOVE_SPLIT_BARRIERS;
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

/// `%x`, loaded if `%in` is true.
const GUARDED: &str = "OpSelectionMerge %met 0; OpBranchConditional %in %yes %met
    %yes = OpLabel; %v = OpLoad %uint %data; OpBranch %met
    %met = OpLabel; %x = OpPhi %uint %u0 %work %v %yes";

#[test]
fn loads_in_arms_stay_in_arms() {
    // As shaders do that check bounds. The condition is that of the next iteration.
    let work = format!(
        "%in = OpULessThan %bool %i %u3; {GUARDED}; keep one x; barrier; r one; .; barrier"
    );
    assert_eq!(
        staged(&over(&work)),
        "| | | rdata wown | | | | | rown | wone B . | | rdata wown | | rone . B | . |"
    );
    // The store in the arm as well.
    let work = "%in = OpULessThan %bool %i %u3; OpSelectionMerge %met 0
        OpBranchConditional %in %yes %met; %yes = OpLabel; %v = OpLoad %uint %data; keep one v
        OpBranch %met; %met = OpLabel; barrier; r one; .; barrier";
    assert_eq!(
        staged(&over(work)),
        "| | | rdata wown | | | | | rown wone | B . | | rdata wown | | rone . B | . |"
    );
}

#[test]
fn a_value_of_two_arms_is_one_of_two_arms() {
    // The address comes from a phi.
    let work = "%in = OpULessThan %bool %i %u3; OpSelectionMerge %met 0
        OpBranchConditional %in %yes %no; %yes = OpLabel; %a = OpIMul %uint %i %u2
        OpBranch %met; %no = OpLabel; .; OpBranch %met
        %met = OpLabel; %at = OpPhi %uint %a %yes %u0 %no
        %p = OpAccessChain %buffer_ptr %data %at; %q = OpCopyObject %buffer_ptr %p
        %x = OpLoad %uint %q; keep one x; barrier; r one; barrier";
    let text = staged(&over(work));
    assert!(text.starts_with("| | | | * | rown wown | | "), "{text}");
}

#[test]
fn a_variable_that_is_stored_in_arms() {
    // As compilers write it that keep every variable in memory.
    let text = format!(
        "%k = OpVariable %ptr 7 %u0; {}",
        over(
            "OpStore %k %u0; %in = OpULessThan %bool %i %u3; OpSelectionMerge %met 0
            OpBranchConditional %in %yes %met; %yes = OpLabel; %v = OpLoad %uint %data
            OpStore %k %v; OpBranch %met; %met = OpLabel; %x = OpLoad %uint %k; keep one x
            barrier; r one; barrier"
        )
    );
    assert_eq!(
        staged(&text),
        "| | | rdata wown | | | | wown | rown wown | rown wone B . | | rdata wown | | rone B | . |"
    );
}

#[test]
fn loops_in_front_of_the_barrier_are_passed() {
    let work = "OpBranch %top; %top = OpLabel; %k = OpPhi %uint %u0 %work %l %again
        %d = OpULessThan %bool %k %u3; OpLoopMerge %done %again 0
        OpBranchConditional %d %again %done; %again = OpLabel; w two
        %l = OpIAdd %uint %k %u1; OpBranch %top; %done = OpLabel
        %x = OpLoad %uint %data; keep one x; barrier; r one; barrier";
    assert_eq!(
        staged(&over(work)),
        "| | rdata wown | | | | | wtwo . | rown wone B . | rdata wown | rone B | . |"
    );
    // What the inner loop computes is not there without it.
    let work = work.replace(
        "%x = OpLoad %uint %data",
        "%p = OpAccessChain %buffer_ptr %data %k
        %q = OpCopyObject %buffer_ptr %p; %x = OpLoad %uint %q",
    );
    let text = over(&work);
    assert!(!staged(&text).contains("wown"), "{}", staged(&text));
}

#[test]
fn shared_memory_is_read_early_only_if_the_loop_leaves_it() {
    let of = |written: &str| {
        let work = format!(
            "%a = OpLoad %uint %two; %p = OpAccessChain %buffer_ptr %data %a
            %q = OpCopyObject %buffer_ptr %p; %x = OpLoad %uint %q
            keep one x; barrier; r one; {written}; barrier"
        );
        staged(&over(&work))
    };
    assert!(of(".").starts_with("| | rtwo rown wown |"), "{}", of("."));
    assert!(!of("w two").contains("wown"));
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
        "| | rdata wown | | | | rown wone B | rdata wown | rone B | |"
    );
}
