//! Lints, one by one.

use super::super::flow::testing::{LOADS, module, problems};
use crate::diagnostic::Code;

/// Codes of everything that is said.
fn codes(body: &str) -> Vec<Code> {
    problems(&module(&[LOADS, body].concat()))
        .iter()
        .map(|problem| problem.code)
        .collect()
}

const WORK: &str = "%work = OpIAdd %uint %pc %qc\n";

#[test]
fn a_pair_with_work_between_is_fine() {
    assert_eq!(codes(&format!("arrive\n{WORK}wait\nOpReturn")), []);
    assert_eq!(codes("arrive\nwait\nOpReturn"), [Code::EmptyWindow]);
}

#[test]
fn a_barrier_inside() {
    assert_eq!(
        codes(&format!("arrive\n{WORK}barrier\nwait\nOpReturn")),
        [Code::BarrierInWindow]
    );
    assert_eq!(codes(&format!("arrive\n{WORK}wait\nbarrier\nOpReturn")), []);
}

#[test]
fn an_arrive_without_wait() {
    assert_eq!(codes("arrive\nOpReturn"), [Code::DanglingArrive]);
}

#[test]
fn classes_that_do_not_meet() {
    // Release of UniformMemory (0x44), acquire of WorkgroupMemory.
    let text = |release: &str| {
        format!("OpControlBarrierArriveINTEL %group %group %{release}\n{WORK}wait\nOpReturn")
    };
    let module = |release: &str| module(&[LOADS, &text(release)].concat());
    let of = |release: &str| {
        problems(&module(release))
            .iter()
            .map(|problem| problem.code)
            .collect::<Vec<_>>()
    };
    assert_eq!(of("uniform_release"), [Code::DisjointClasses]);
    assert_eq!(of("release"), []);
    assert_eq!(of("none"), [], "a relaxed side leaves the order to fences");
}

#[test]
fn fences_on_the_wrong_side() {
    let text = |before: &str, after: &str, acquire: &str, last: &str| {
        format!(
            "{before}\nOpControlBarrierArriveINTEL %group %group %none\n{after}\n{WORK}{acquire}\nOpControlBarrierWaitINTEL %group %group %none\n{last}\nOpReturn"
        )
    };
    let (release, acquire) = (
        "OpMemoryBarrier %group %release",
        "OpMemoryBarrier %group %acquire",
    );
    assert_eq!(codes(&text(release, "", "", acquire)), []);
    assert_eq!(
        codes(&text("", release, acquire, "")),
        [Code::FenceOutsideSplit; 2]
    );
}

#[test]
fn what_others_write_is_read_before_the_wait() {
    let text = |load: &str, place: &str| {
        let (inside, after) = if place == "inside" {
            (load, "")
        } else {
            (WORK, load)
        };
        format!(
            "%mine = OpAccessChain %shared_ptr %tile %lane
            %next = OpIAdd %uint %lane %u1
            OpStore %mine %pc
            arrive
            {inside}
            wait
            {after}
            OpReturn"
        )
    };
    let other = "%theirs = OpAccessChain %shared_ptr %tile %next\n%x = OpLoad %uint %theirs";
    let own = "%again = OpAccessChain %shared_ptr %tile %lane\n%x = OpLoad %uint %again";
    assert_eq!(codes(&text(other, "inside")), [Code::WindowRace]);
    assert_eq!(codes(&text(other, "after")), []);
    assert_eq!(codes(&text(own, "inside")), []);
}

/// A fence after an access orders it, whatever makes the access.
#[test]
fn fences_order_accesses_of_every_form() {
    let text = |inst: &str| {
        format!(
            "OpControlBarrierArriveINTEL %group %group %none
            {inst}
            OpMemoryBarrier %group %release
            {WORK}OpControlBarrierWaitINTEL %group %group %none
            OpReturn"
        )
    };
    let said = |inst: &str| {
        let module = module(&[LOADS, &text(inst)].concat());
        let problems = problems(&module);
        problems
            .iter()
            .any(|one| one.code == Code::FenceOutsideSplit)
    };
    for value in [
        "",
        "%r = OpIAdd %uint %pc %qc",
        "%r = OpAccessChain %shared_ptr %tile %u0",
    ] {
        assert!(said(value), "{value}");
    }
    for access in [
        "OpStore %shared %pc",
        "%r = OpLoad %uint %shared",
        "OpCopyMemory %shared %index",
        "OpCopyMemorySized %shared %index %u4",
        "%r = OpAtomicFAddEXT %uint %shared %group %none %pc",
        "%r = OpAtomicFMinEXT %uint %shared %group %none %pc",
        "%r = OpAtomicFlagTestAndSet %bool %shared %group %none",
        "OpAtomicFlagClear %shared %group %none",
        "%r = OpExtInst %uint %glsl 35 %pc %shared",
        "%r = OpExtInst %uint %cl 30 %pc %shared",
        "%r = OpExtInst %uint %cl 171 %u0 %shared 2",
        "%r = OpExtInst %void %cl 172 %pc %u0 %shared",
        "%r = OpGroupAsyncCopy %uint %group %shared %shared %u1 %u1 %u0",
    ] {
        assert!(!said(access), "{access}");
    }
}

/// What is said where an invocation stores to `stored` inside of the window, and loads from
/// `loaded` after the wait; `between` stands before the load.
fn stored_in_window(stored: &str, loaded: &str, between: &str) -> Vec<Code> {
    codes(&format!(
        "%next = OpBitwiseXor %uint %lane %u1
        %shifted = OpIAdd %uint %lane %pc
        %mirrored = OpISub %uint %u63 %lane
        %other_shifted = OpIAdd %uint %mirrored %pc
        %end_shifted = OpIAdd %uint %u63 %pc
        %mirrored_shifted = OpISub %uint %end_shifted %lane
        %elsewhere = OpIAdd %uint %lane %qc
        %theirs = OpAccessChain %shared_ptr %tile %{loaded}
        %mine = OpAccessChain %shared_ptr %tile %{stored}
        arrive
        OpStore %mine %pc
        wait
        {between}
        %x = OpLoad %uint %theirs
        OpReturn"
    ))
}

#[test]
fn what_others_read_after_the_wait_is_not_written_in_the_window() {
    for (stored, loaded) in [
        ("lane", "next"),
        ("lane", "mirrored"),
        ("lane", "u7"),
        ("u7", "lane"),
        ("u7", "u7"),
        ("shifted", "other_shifted"),
        ("shifted", "mirrored_shifted"),
    ] {
        let found = stored_in_window(stored, loaded, "");
        assert_eq!(found, [Code::WindowWrite], "{stored} {loaded}");
    }
    for (stored, loaded) in [
        ("lane", "lane"),          // its own element
        ("shifted", "shifted"),    // its own, wherever it is
        ("lane", "u64"),           // an element that nothing writes
        ("shifted", "elsewhere"),  // not known
        ("lane", "other_shifted"), // not known
    ] {
        assert_eq!(
            stored_in_window(stored, loaded, ""),
            [],
            "{stored} {loaded}"
        );
    }
    assert_eq!(stored_in_window("lane", "next", "barrier"), []);
}

#[test]
fn a_write_in_the_window_counts_for_those_that_execute_it() {
    let text = |condition: &str, loaded: &str| {
        format!(
            "%far = OpIAdd %uint %lane %u16
            %q = {condition}
            %mine = OpAccessChain %shared_ptr %tile %lane
            %theirs = OpAccessChain %shared_ptr %tile %{loaded}
            arrive
            OpSelectionMerge %end 0
            OpBranchConditional %q %then %end
            %then = OpLabel
            OpStore %mine %pc
            OpBranch %end
            %end = OpLabel
            wait
            %x = OpLoad %uint %theirs
            OpReturn"
        )
    };
    let few = "OpULessThan %bool %lane %u16";
    assert_eq!(codes(&text(few, "u7")), [Code::WindowWrite]);
    assert_eq!(
        codes(&text(few, "far")),
        [],
        "none of those that are written"
    );
    assert_eq!(codes(&text("OpULessThan %bool %lane %pc", "u7")), []);
}

/// What is said where a loop in the window writes the elements 0, 16, 32 and so on, and `loaded` is
/// read after the wait. The loop goes on while `condition` holds, which is looked at at its head or
/// at its end; `inside` stands in front of the store.
fn counted_in_window(condition: &str, at_head: bool, inside: &str, loaded: &str) -> Vec<Code> {
    let goes_on = |to: &str| format!("OpBranchConditional %go %{to} %end");
    let (head, latch) = if at_head {
        (goes_on("inside"), "OpBranch %head".to_owned())
    } else {
        ("OpBranch %inside".to_owned(), goes_on("head"))
    };
    codes(&format!(
        "arrive
        OpBranch %head
        %head = OpLabel
        %turn = OpPhi %uint %u0 %start %next %more
        %next = OpIAdd %uint %turn %u1
        %go = {condition}
        OpLoopMerge %end %more 0
        {head}
        %inside = OpLabel
        {inside}
        %at = OpIMul %uint %turn %u16
        %mine = OpAccessChain %shared_ptr %tile %at
        OpStore %mine %pc
        OpBranch %more
        %more = OpLabel
        {latch}
        %end = OpLabel
        wait
        %theirs = OpAccessChain %shared_ptr %tile %{loaded}
        %x = OpLoad %uint %theirs
        OpReturn"
    ))
}

#[test]
fn a_loop_in_the_window_writes_what_its_counter_comes_to() {
    let below = |bound: &str| format!("OpULessThan %bool %turn %{bound}");
    let said = |condition: &str, at_head, loaded| {
        let found = counted_in_window(condition, at_head, "", loaded);
        assert!(
            found.is_empty() || found == [Code::WindowWrite],
            "{found:?}"
        );
        !found.is_empty()
    };
    for (bound, at_head, loaded, is_written) in [
        ("u4", true, "u0", true),
        ("u4", true, "u48", true),
        ("u4", true, "u63", false), // between two elements
        ("u4", true, "u64", false), // behind the last one
        ("u4", false, "u64", true), // of one iteration more
        ("u1", true, "u16", false),
        ("u1", false, "u16", true),
        ("u4", true, "lane", true),
        ("u0", true, "lane", false), // none at all
        ("pc", true, "u0", false),   // not known
        ("lane", true, "u0", false), // not known
    ] {
        let found = said(&below(bound), at_head, loaded);
        assert_eq!(found, is_written, "{bound} {at_head} {loaded}");
    }
    let endless = "OpULessThanEqual %bool %u0 %turn";
    assert!(!said(endless, true, "u0"), "it never ends");
    let skip = |condition: &str| {
        let inside = format!(
            "%some = {condition}
            OpSelectionMerge %more 0
            OpBranchConditional %some %only %more
            %only = OpLabel"
        );
        counted_in_window(&below("u4"), true, &inside, "u48")
    };
    assert_eq!(
        skip("OpULessThan %bool %turn %u1"),
        [],
        "one iteration alone"
    );
    assert_eq!(skip("OpULessThan %bool %turn %pc"), [], "not known which");
}

/// Another variable, and an access that is atomic, are no races.
#[test]
fn other_memory_may_be_written_in_the_window() {
    let text = |store: &str| {
        format!(
            "%next = OpBitwiseXor %uint %lane %u1
            %mine = OpAccessChain %shared_ptr %tile %lane
            %theirs = OpAccessChain %shared_ptr %tile %next
            arrive
            {store}
            wait
            %x = OpLoad %uint %theirs
            OpReturn"
        )
    };
    assert_eq!(codes(&text("OpStore %mine %pc")), [Code::WindowWrite]);
    assert_eq!(codes(&text("OpStore %shared %pc")), []);
    assert_eq!(codes(&text("OpAtomicStore %mine %group %none %pc")), []);
}
