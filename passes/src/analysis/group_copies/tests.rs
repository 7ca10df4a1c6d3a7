//! Kernels in text form: which copies a wait is for, and how far it may leave newer ones behind.

use super::*;
use crate::analysis::marks::{self, Event, Wait};
use crate::analysis::testing::declared;
use crate::module::{BlockMap, assemble};

const PRELUDE: &str = "
    OpCapability Kernel
    OpCapability Addresses
    OpMemoryModel Physical64 OpenCL
    OpEntryPoint Kernel %main \"main\"
    %void = OpTypeVoid
    %bool = OpTypeBool
    %uint = OpTypeInt 32 0
    %ulong = OpTypeInt 64 0
    %float = OpTypeFloat 32
    %float3 = OpTypeVector %float 3
    %event = OpTypeEvent
    %none = OpConstantNull %event
    %zero = OpConstant %uint 0
    %one = OpConstant %uint 1
    %group = OpConstant %uint 2
    %one64 = OpConstant %ulong 1
    %many = OpConstant %ulong 256
    %true = OpConstantTrue %bool
    %events = OpTypeArray %event %group
    %events_ptr = OpTypePointer Function %events
    %event_ptr = OpTypePointer Function %event
    %global = OpTypePointer CrossWorkgroup %float
    %local = OpTypePointer Workgroup %float
    %local3 = OpTypePointer Workgroup %float3
    %global3 = OpTypePointer CrossWorkgroup %float3
    %fn = OpTypeFunction %void %global %local %global3 %local3 %ulong
    %hand_type = OpTypeFunction %void %event_ptr
    %hand = OpFunction %void None %hand_type
    %handed = OpFunctionParameter %event_ptr
    %hand_entry = OpLabel
    OpReturn
    OpFunctionEnd
    %main = OpFunction %void None %fn
    %g = OpFunctionParameter %global
    %l = OpFunctionParameter %local
    %g3 = OpFunctionParameter %global3
    %l3 = OpFunctionParameter %local3
    %n = OpFunctionParameter %ulong
    %entry = OpLabel
    %list = OpVariable %events_ptr Function
    %single = OpVariable %event_ptr Function
";

/// The copies of the kernel with this body, and the wait that each OpGroupWaitEvents takes when a
/// mark follows every copy.
fn solved(body: &str) -> (GroupCopies, Vec<Wait>) {
    let text = [PRELUDE, body, "\nOpFunctionEnd"].concat();
    let module = assemble(&text).unwrap().module().unwrap();
    let (declarations, constants) = declared(&module);
    let function = declarations
        .function(declarations.entry_points[0].function)
        .unwrap();
    let cfg = Cfg::analyze(&module, function);
    let found = GroupCopies::analyze(&declarations, &constants, function, &cfg);
    let mut events = BlockMap::filled(cfg.len(), Vec::new());
    for copy in &found.copies {
        events[copy.block].push((copy.offset, Event::Copy(copy.event)));
        events[copy.block].push((copy.offset, Event::Mark));
    }
    for wait in &found.waits {
        let need = wait.events.clone().map_or(Event::NeedAll, Event::Need);
        events[wait.block].push((wait.offset, need));
    }
    let events: BlockMap<Vec<Event>> = events
        .into_values()
        .map(|mut block| {
            block.sort_by_key(|(offset, _)| *offset);
            block.into_iter().map(|(_, event)| event).collect()
        })
        .collect();
    let waits = marks::solve(&cfg, &events, &found.moves).waits;
    (found, waits.into_values().collect())
}

#[test]
fn what_a_copy_moves() {
    let (found, _) = solved(
        "%a = OpGroupAsyncCopy %event %group %l %g %many %one64 %none
         %b = OpGroupAsyncCopy %event %group %g3 %l3 %n %many %none
         OpReturn",
    );
    let [a, b] = &found.copies[..] else {
        unreachable!()
    };
    assert_eq!(a.direction, Some(Direction::ToWorkgroup));
    assert_eq!(
        (a.element_bytes, a.elements, a.contiguous),
        (Some(4), Some(256), true)
    );
    assert_eq!(b.direction, Some(Direction::FromWorkgroup));
    assert_eq!(
        (b.element_bytes, b.elements, b.contiguous),
        (Some(16), None, false)
    );
    assert_eq!(a.scope, Some(Scope::Workgroup));
}

#[test]
fn a_list_of_two_and_one_variable_for_two_waits() {
    let (_, waits) = solved(
        "%e0 = OpInBoundsAccessChain %event_ptr %list %zero
         %e1 = OpInBoundsAccessChain %event_ptr %list %one
         %a = OpGroupAsyncCopy %event %group %l %g %many %one64 %none
         OpStore %e0 %a
         %b = OpGroupAsyncCopy %event %group %l %g %many %one64 %none
         OpStore %e1 %b
         %c = OpGroupAsyncCopy %event %group %l %g %many %one64 %none
         OpGroupWaitEvents %group %group %e0
         OpStore %single %c
         OpGroupWaitEvents %group %one %single
         %d = OpGroupAsyncCopy %event %group %l %g %many %one64 %none
         OpStore %single %d
         OpGroupWaitEvents %group %one %single
         OpReturn",
    );
    assert_eq!(waits, [Wait::AtMost(1), Wait::AtMost(0), Wait::AtMost(0)]);
}

const RING: &str = "
    %a = OpGroupAsyncCopy %event %group %l %g %many %one64 %none
    %b = OpGroupAsyncCopy %event %group %l %g %many %one64 %none
    OpBranch %turn
    %turn = OpLabel
    %first = OpPhi %event %a %entry %second %turn
    %second = OpPhi %event %b %entry %c %turn
    %c = OpGroupAsyncCopy %event %group %l %g %many %one64 SHARED
    OpStore %single %first
    OpGroupWaitEvents %group %one %single
    OpLoopMerge %end %turn None
    OpBranchConditional %true %turn %end
    %end = OpLabel
    OpStore %single %second
    OpGroupWaitEvents %group %one %single
    OpStore %single %c
    OpGroupWaitEvents %group %one %single
    OpReturn";

#[test]
fn a_ring_of_three_leaves_two_behind() {
    let (_, waits) = solved(&RING.replace("SHARED", "%none"));
    assert_eq!(waits, [Wait::AtMost(2), Wait::AtMost(1), Wait::AtMost(0)]);
}

#[test]
fn copies_that_share_an_event_are_one() {
    // The copy of the turn belongs to the event of the turn before: who waits for that waits for it
    // too.
    let (found, waits) = solved(&RING.replace("SHARED", "%second"));
    assert!(found.moves.is_empty());
    assert_eq!(waits[0], Wait::AtMost(0));
}

#[test]
fn an_event_that_cannot_be_followed_is_any() {
    let (found, waits) = solved(
        "%a = OpGroupAsyncCopy %event %group %l %g %many %one64 %none
         OpStore %single %a
         %x = OpFunctionCall %void %hand %single
         OpGroupWaitEvents %group %one %single
         OpReturn",
    );
    assert_eq!(found.waits[0].events, None);
    assert_eq!(waits, [Wait::AtMost(0)]);
}
