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
