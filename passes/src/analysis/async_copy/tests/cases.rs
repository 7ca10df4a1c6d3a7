//! Functions with a known answer.

use super::super::{AsyncCopies, Reason};
use super::{copy, found, module, module_with, read};
use crate::analysis::testing::Assembled;
use spirv::Op;

/// Bytes, `uniform` and `lane_linear` of each copy.
fn shapes(copies: &AsyncCopies) -> Vec<(u32, bool, bool)> {
    let copies = copies.copies.iter();
    copies
        .map(|copy| (copy.bytes, copy.uniform, copy.lane_linear))
        .collect()
}

fn reasons(annotations: &str, body: &str) -> Vec<Reason> {
    let copies = found(&module(annotations, body));
    copies
        .refused
        .iter()
        .map(|refused| refused.reason)
        .collect()
}

/// Number of the wait before the arrive (or barrier) that is number `nth`; `None` when there is no
/// wait.
fn at(assembled: &Assembled, op: Op, nth: usize) -> Option<u32> {
    let offset = assembled.offset(op, nth);
    let copies = found(assembled);
    let wait = copies.waits.iter().find(|wait| wait.before == offset);
    wait.map(|wait| wait.outstanding)
}

#[test]
fn a_copy_is_complete_at_the_arrive_that_publishes_it() {
    let body = copy("a", "%single") + "arrive\nwait\n" + &read("a", "%single");
    let assembled = module("", &body);
    let copies = found(&assembled);
    assert_eq!(shapes(&copies), [(4, true, true)]);
    let arrive = assembled.offset(Op::ControlBarrierArriveINTEL, 0);
    assert_eq!(copies.marks, [arrive]);
    assert_eq!(copies.waits.len(), 1);
    assert_eq!(at(&assembled, Op::ControlBarrierArriveINTEL, 0), Some(0));
}

/// A vector at a word that need not be a multiple of its size is not copied, unless its access says
/// that it is aligned.
#[test]
fn a_copy_is_aligned_to_its_bytes() {
    let annotations = "OpDecorate %quads 6 20\nOpDecorate %quad_block 2
        OpMemberDecorate %quad_block 0 35 0\nOpDecorate %quad_source 34 0
        OpDecorate %quad_source 33 2";
    let types = "%quad = OpTypeVector %uint 4
        %quads = OpTypeRuntimeArray %quad
        %quad_block = OpTypeStruct %quads
        %quad_pointer = OpTypePointer 12 %quad_block
        %from_quad = OpTypePointer 12 %quad
        %quad_source = OpVariable %quad_pointer 12
        %quad_row = OpTypeArray %quad %u64
        %quad_row_pointer = OpTypePointer 4 %quad_row
        %to_quad = OpTypePointer 4 %quad
        %quad_single = OpVariable %quad_row_pointer 4";
    for (aligned, refused) in [("", &[Reason::Unaligned][..]), ("2 16", &[])] {
        let body = format!(
            "%from = OpAccessChain %from_quad %quad_source %u0 %lane
            %value = OpLoad %quad %from {aligned}
            %to = OpAccessChain %to_quad %quad_single %lane
            OpStore %to %value
            barrier\n"
        );
        let assembled = module_with(annotations, types, &body);
        let copies = found(&assembled);
        let reasons: Vec<Reason> = copies.refused.iter().map(|one| one.reason).collect();
        assert_eq!(reasons, refused, "{aligned}");
        assert_eq!(copies.copies.len(), 1 - refused.len());
    }
}

#[test]
fn a_copy_that_nobody_looks_at_stays_in_flight_until_the_end() {
    let body = copy("a", "%single") + "arrive\nwait\nbarrier\n";
    let assembled = module("", &body);
    assert_eq!(at(&assembled, Op::ControlBarrierArriveINTEL, 0), None);
    assert_eq!(at(&assembled, Op::ControlBarrier, 0), None);
    assert_eq!(at(&assembled, Op::Return, 0), Some(0));
}

#[test]
fn one_row_is_published_while_the_next_is_in_flight() {
    let body = copy("a", "%ring %u0")
        + &copy("b", "%ring %u1")
        + "arrive\nwait\n"
        + &read("a", "%ring %u0")
        + "arrive\nwait\n"
        + &read("b", "%ring %u1");
    let assembled = module("", &body);
    assert_eq!(at(&assembled, Op::ControlBarrierArriveINTEL, 0), Some(1));
    assert_eq!(at(&assembled, Op::ControlBarrierArriveINTEL, 1), Some(0));
}

/// A loop over a ring: prologue, `next` before the barrier of each iteration, and the reads behind
/// it.
fn pipeline(rows: u32, index: &str, step: &str, barrier: &str) -> String {
    let mut text = String::new();
    for row in 0..rows - 1 {
        text += &copy(&format!("p{row}"), &format!("%ring %u{row}"));
    }
    text += "OpStore %i %u0\nOpStore %stage %u0\nOpBranch %header\n%header = OpLabel\nOpLoopMerge %exit %next 0\nOpBranch %test\n%test = OpLabel\n";
    text += "%in = OpAccessChain %global_uint %source %u0 %u7\n%limit = OpLoad %uint %in\n%turn = OpLoad %uint %i\n%holds = OpULessThan %bool %turn %limit\n";
    text += "OpBranchConditional %holds %body %exit\n%body = OpLabel\n";
    text += barrier;
    text += index;
    text += &copy("n", "%ring %fill");
    text += &read("n", "%ring %use");
    text += "OpBranch %next\n%next = OpLabel\n%old = OpLoad %uint %i\n%new = OpIAdd %uint %old %u1\nOpStore %i %new\n";
    text += step;
    text + "OpBranch %header\n%exit = OpLabel\n"
}

const BY_COUNTER: &str = "%sum = OpIAdd %uint %turn %u3\n%fill = OpUMod %uint %sum %u4\n%use = OpBitwiseAnd %uint %turn %u3\n";
const BY_STAGE: &str = "%use = OpLoad %uint %stage\n%last = OpIAdd %uint %use %u2\n%is_over = OpUGreaterThanEqual %bool %last %u3\n%over = OpISub %uint %last %u3\n%fill = OpSelect %uint %is_over %over %last\n";
const NEXT_STAGE: &str = "%was = OpLoad %uint %stage\n%more = OpIAdd %uint %was %u1\n%full = OpIEqual %bool %more %u3\n%first = OpSelect %uint %full %u0 %more\nOpStore %stage %first\n";

#[test]
fn a_ring_keeps_all_but_one_stage_in_flight() {
    let counter = pipeline(4, BY_COUNTER, "", "arrive\nwait\n");
    assert_eq!(
        at(&module("", &counter), Op::ControlBarrierArriveINTEL, 0),
        Some(2)
    );
    let barrier = pipeline(4, BY_COUNTER, "", "barrier\n");
    assert_eq!(at(&module("", &barrier), Op::ControlBarrier, 0), Some(2));
    let stage = pipeline(3, BY_STAGE, NEXT_STAGE, "arrive\nwait\n");
    assert_eq!(
        at(&module("", &stage), Op::ControlBarrierArriveINTEL, 0),
        Some(1)
    );
}

#[test]
fn a_counter_that_may_wrap_is_no_stage_of_three() {
    // i % 3 with no bound for i: after 2^32 turns the stages would not follow each other.
    let index = "%sum = OpIAdd %uint %turn %u2\n%fill = OpUMod %uint %sum %u3\n%use = OpUMod %uint %turn %u3\n";
    let ring = pipeline(3, index, "", "arrive\nwait\n");
    let first = |body: &str| at(&module("", body), Op::ControlBarrierArriveINTEL, 0);
    assert_ne!(first(&ring), Some(1));
    // With less than 2^30 iterations they do, also when the loop ends by the next number.
    let holds = "%holds = OpULessThan %bool %turn %limit\n";
    let few = "%few = OpUDiv %uint %limit %u4\n";
    let by_turn = format!("{few}%holds = OpULessThan %bool %turn %few\n");
    assert_eq!(first(&ring.replace(holds, &by_turn)), Some(1));
    let by_next = format!(
        "{few}%after = OpIAdd %uint %turn %u1\n%over = OpUGreaterThan %bool %after %few\n%holds = OpLogicalNot %bool %over\n"
    );
    assert_eq!(first(&ring.replace(holds, &by_next)), Some(1));
    // Not when the comparison holds for small ones as well.
    let other = format!("{few}%holds = OpUGreaterThanEqual %bool %turn %few\n");
    assert_ne!(first(&ring.replace(holds, &other)), Some(1));
}

#[test]
fn a_stage_that_invocations_disagree_on_is_none() {
    let step = "%odd = OpBitwiseAnd %uint %lane %u1\n%was = OpLoad %uint %stage\n%next_stage = OpBitwiseXor %uint %was %odd\nOpStore %stage %next_stage\n";
    let index = "%use = OpLoad %uint %stage\n%fill = OpBitwiseXor %uint %use %u1\n";
    let assembled = module("", &pipeline(2, index, step, "barrier\n"));
    assert_eq!(at(&assembled, Op::ControlBarrier, 0), Some(0));
}

#[test]
fn parts_of_a_row_do_not_wait_for_each_other() {
    let body = "%far = OpIAdd %uint %lane %u3\n".to_owned()
        + &copy("a", "%ring %u0")
        + &copy("b", "%ring %u0")
            .replace("%u0 %lane\nOpStore", "%u0 %far\nOpStore")
            .replace("%ring %u0 %lane", "%ring %u0 %far")
        + "barrier\n"
        + &read("a", "%ring %u0");
    let copies = found(&module("", &body));
    assert_eq!(copies.copies.len(), 2, "{copies:?}");
    assert_eq!(copies.marks.len(), 1);
}

#[test]
fn a_copy_meets_one_that_an_earlier_turn_has_made_beside_it() {
    // `ring[i + 1] = ..; ring[i] = ..;` comes in the next iteration to the row that the first copy
    // of this one went to.
    let text = "OpStore %i %u0\nOpBranch %header\n%header = OpLabel\nOpLoopMerge %exit %next 0\nOpBranch %test\n%test = OpLabel\n%turn = OpLoad %uint %i\n%ahead = OpIAdd %uint %turn %u1\n%over = OpIEqual %bool %turn %u3\nOpBranchConditional %over %exit %body\n%body = OpLabel\n".to_owned()
        + &copy("a", "%ring %ahead")
        + &copy("b", "%ring %turn")
        + "OpBranch %next\n%next = OpLabel\nOpStore %i %ahead\nOpBranch %header\n%exit = OpLabel\nbarrier\n";
    assert_eq!(reasons("", &text), [Reason::WaitedAtOnce]);
}

#[test]
fn the_same_place_twice_is_refused() {
    let body =
        copy("a", "%ring %u0") + &copy("b", "%ring %u0") + "barrier\n" + &read("a", "%ring %u0");
    assert_eq!(reasons("", &body), [Reason::WaitedAtOnce]);
}

#[test]
fn what_nothing_asks_for_in_the_window_may_be_complete_at_the_wait() {
    let with = |window: &str| {
        let body = copy("a", "%single") + "arrive\n" + window + "wait\n" + &read("a", "%single");
        let assembled = module("", &body);
        let arrive = assembled.offset(Op::ControlBarrierArriveINTEL, 0);
        assert_eq!(at(&assembled, Op::ControlBarrierArriveINTEL, 0), Some(0));
        found(&assembled).deferred == [arrive]
    };
    assert!(with(""));
    assert!(with(&read("o", "%ring %u0")), "another variable");
    assert!(with(&copy("b", "%ring %u0")), "a newer copy elsewhere");
    assert!(!with(&read("o", "%single")), "its own copy");
    assert!(!with(&copy("b", "%single")), "a copy to the same place");
    assert!(!with("barrier\n"), "behind it others may come");
    assert!(!with("OpMemoryBarrier %group %everything\n"), "a release");
}

#[test]
fn what_is_no_copy_says_why() {
    let twice = copy("a", "%single") + "%sum = OpIAdd %uint %valuea %valuea\nbarrier\n";
    assert_eq!(reasons("", &twice), [Reason::UsedTwice]);
    let volatile =
        copy("a", "%single").replace("OpLoad %uint %froma", "OpLoad %uint %froma 1") + "barrier\n";
    assert_eq!(reasons("", &volatile), [Reason::Qualified]);
    let coherent = "OpDecorate %source 23\n";
    assert_eq!(
        reasons(coherent, &(copy("a", "%single") + "barrier\n")),
        [Reason::Qualified]
    );
    let apart = copy("a", "%single").replace("%toa =", "barrier\n%toa =");
    assert_eq!(reasons("", &apart), [Reason::Separated]);
    let blocks =
        copy("a", "%single").replace("%toa =", "OpBranch %other\n%other = OpLabel\n%toa =");
    assert_eq!(reasons("", &blocks), [Reason::OtherBlock]);
    let aliased = "OpDecorate %single 20\n";
    assert_eq!(
        reasons(aliased, &(copy("a", "%single") + "barrier\n")),
        [Reason::Destination]
    );
    let back = copy("a", "%single") + &read("a", "%single") + "barrier\n";
    assert_eq!(reasons("", &back), [Reason::WaitedAtOnce]);
}

#[test]
fn a_source_that_is_written_is_read_before_others_may_write_it() {
    let write = "%mine = OpAccessChain %global_uint %source %u0 %lane\nOpStore %mine %u7\n";
    let local =
        copy("a", "%single") + "barrier\nbarrier\n" + &read("a", "%single") + "barrier\n" + write;
    let assembled = module("", &local);
    // Nobody looks at the row behind the first barrier, and it orders workgroup memory alone.
    assert_eq!(at(&assembled, Op::ControlBarrier, 0), None);
    assert_eq!(at(&assembled, Op::ControlBarrier, 1), Some(0));
    let global = local.replacen("barrier", "OpControlBarrier %group %group %everything", 1);
    let assembled = module("", &global);
    assert_eq!(at(&assembled, Op::ControlBarrier, 0), Some(0));
    // Its own write before the barrier waits as well, which makes the copy pointless.
    let own = copy("a", "%single") + write + "barrier\n";
    assert_eq!(reasons("", &own), [Reason::WaitedAtOnce]);
}

#[test]
fn divergent_and_scattered_copies_say_so() {
    let body = "%is_low = OpULessThan %bool %lane %u7\nOpSelectionMerge %end 0\nOpBranchConditional %is_low %then %end\n%then = OpLabel\n".to_owned()
        + "%swapped = OpBitwiseXor %uint %lane %u1\n"
        + &copy("a", "%single").replace("%single %lane", "%single %swapped")
        + "OpBranch %end\n%end = OpLabel\nbarrier\n"
        + &read("a", "%single");
    assert_eq!(shapes(&found(&module("", &body))), [(4, false, false)]);
}

/// A loop that fills the single row: from `%lane` on, `step` further in each iteration; ids end in
/// `tag`.
fn fill(tag: &str, index: &str, step: &str, limit: &str) -> String {
    let copy = copy(tag, "%single").replace("%lane", &format!("%index{tag}"));
    format!(
        "OpStore %i %lane
        OpBranch %header{tag}
        %header{tag} = OpLabel
        OpLoopMerge %exit{tag} %next{tag} 0
        OpBranch %test{tag}
        %test{tag} = OpLabel
        %turn{tag} = OpLoad %uint %i
        %holds{tag} = OpULessThan %bool %turn{tag} {limit}
        OpBranchConditional %holds{tag} %body{tag} %exit{tag}
        %body{tag} = OpLabel
        %index{tag} = {index}
        {copy}
        OpBranch %next{tag}
        %next{tag} = OpLabel
        %old{tag} = OpLoad %uint %i
        %new{tag} = OpIAdd %uint %old{tag} {step}
        OpStore %i %new{tag}
        OpBranch %header{tag}
        %exit{tag} = OpLabel\n"
    )
}

#[test]
fn a_loop_that_fills_a_tile_does_not_wait_for_itself() {
    for index in [
        "OpIAdd %uint %turna %u3",
        "OpUDiv %uint %turna %u4",
        "OpCopyObject %uint %turna",
    ] {
        let body = fill("a", index, "%u4", "%u64") + "arrive\nwait\n" + &read("b", "%single");
        let assembled = module("", &body);
        assert_eq!(found(&assembled).copies.len(), 1, "{index}");
        assert_eq!(at(&assembled, Op::ControlBarrierArriveINTEL, 0), Some(0));
    }
}

#[test]
fn only_a_comparison_that_bounds_the_counter_makes_a_fill() {
    let found_with = |holds: &str, limit: &str| {
        let unknown =
            "%in = OpAccessChain %global_uint %source %u0 %u7\n%limit = OpLoad %uint %in\n";
        let fill = fill("a", "OpCopyObject %uint %turna", "%u4", limit);
        let fill = fill.replace(&format!("OpULessThan %bool %turna {limit}"), holds);
        let body = unknown.to_owned() + &fill + "barrier\n" + &read("b", "%single");
        found(&module("", &body)).copies.len() == 1
    };
    for op in [
        "OpULessThan",
        "OpULessThanEqual",
        "OpSLessThan",
        "OpSLessThanEqual",
    ] {
        assert!(
            found_with(&format!("{op} %bool %turna %u64"), "%u64"),
            "{op}"
        );
        // The greatest limit that there is: one step further is a small or a negative number.
        let of_limit = format!("{op} %bool %turna %limit");
        assert!(!found_with(&of_limit, "%limit"), "{op}");
    }
    for op in ["OpUGreaterThan", "OpSGreaterThanEqual", "OpINotEqual"] {
        assert!(
            !found_with(&format!("{op} %bool %turna %u64"), "%u64"),
            "{op}"
        );
        let swapped = format!("{op} %bool %u64 %turna");
        assert_eq!(found_with(&swapped, "%u64"), op != "OpINotEqual", "{op}");
    }
}

#[test]
fn a_loop_that_may_come_to_a_place_again_waits_for_itself() {
    let refused = |index: &str, step: &str, limit: &str| {
        let body = fill("a", index, step, limit) + "barrier\n" + &read("b", "%single");
        assert_eq!(
            reasons("", &body),
            [Reason::WaitedAtOnce],
            "{index} {step} {limit}"
        );
    };
    // The same word for two iterations, and again after some.
    refused("OpUDiv %uint %turna %u4", "%u3", "%u64");
    refused("OpUMod %uint %turna %u7", "%u4", "%u64");
    refused("OpBitwiseAnd %uint %turna %u7", "%u4", "%u64");
    // The counter may wrap: no number of 32 bits is 4 above the limit.
    let unknown = "%in = OpAccessChain %global_uint %source %u0 %u7\n%limit = OpLoad %uint %in\n";
    let body = unknown.to_owned()
        + &fill("a", "OpIAdd %uint %turna %u3", "%u4", "%limit")
        + "barrier\n"
        + &read("b", "%single");
    assert_eq!(reasons("", &body), [Reason::WaitedAtOnce]);
}

#[test]
fn a_tile_is_filled_again_when_the_first_fill_is_complete() {
    let twice = |between: &str| {
        fill("a", "OpCopyObject %uint %turna", "%u4", "%u64")
            + between
            + &fill("b", "OpCopyObject %uint %turnb", "%u4", "%u64")
            + "barrier\n"
            + &read("c", "%single")
    };
    let published = "barrier\n".to_owned() + &read("p", "%single") + "barrier\n";
    assert_eq!(found(&module("", &twice(&published))).copies.len(), 2);
    // Nothing completes the first: the second would have to wait for it.
    assert_eq!(reasons("", &twice("")), [Reason::WaitedAtOnce]);
    let again = |between: &str| {
        format!(
            "OpBranch %outer\n%outer = OpLabel\nOpLoopMerge %end %again 0\nOpBranch %inside\n%inside = OpLabel\n{}{between}OpBranch %again\n%again = OpLabel\n%input = OpAccessChain %global_uint %source %u0 %u7\n%number = OpLoad %uint %input\n%more = OpULessThan %bool %number %u7\nOpBranchConditional %more %outer %end\n%end = OpLabel\n",
            fill("a", "OpCopyObject %uint %turna", "%u4", "%u64")
        )
    };
    assert_eq!(found(&module("", &again(&published))).copies.len(), 1);
    assert_eq!(reasons("", &again("")), [Reason::WaitedAtOnce]);
}

const SETS: &str = "%glsl = OpExtInstImport 'GLSL.std.450'\n%cl = OpExtInstImport 'OpenCL.std'\n";

/// Whatever writes the source of a copy waits for the copy first, if the copy is made at all.
#[test]
fn a_copy_is_complete_before_its_source_is_written() {
    for write in [
        "OpStore %froma %lane",
        "OpCopyMemory %froma %index",
        "OpCopyMemorySized %froma %index %u4",
        "OpAtomicStore %froma %group %none %lane",
        "OpAtomicFlagClear %froma %group %none",
        "%r = OpAtomicFAddEXT %uint %froma %group %none %lane",
        "%r = OpExtInst %uint %glsl 35 %lane %froma",
        "%r = OpExtInst %uint %glsl 51 %lane %froma",
        "%r = OpExtInst %uint %cl 30 %lane %froma",
        "%r = OpExtInst %uint %cl 52 %lane %lane %froma",
        "%r = OpExtInst %void %cl 172 %lane %u0 %froma",
        "OpSubgroupBlockWriteINTEL %froma %lane",
    ] {
        let body = copy("a", "%single") + write + "\nbarrier\n" + &read("a", "%single");
        let assembled = module_with("", SETS, &body);
        let module = &assembled.module;
        let words: Vec<_> = module
            .instructions()
            .map(|inst| (inst.name(), inst.offset))
            .collect();
        let name = write
            .split_whitespace()
            .find(|word| word.starts_with("Op"))
            .unwrap();
        // The copy itself is an OpStore.
        let offset = words
            .iter()
            .rev()
            .find(|(known, _)| known == name)
            .unwrap()
            .1;
        let copies = found(&assembled);
        let waits = copies.waits.iter().any(|wait| wait.before == offset);
        let is_right = copies.copies.is_empty() || waits;
        assert!(is_right, "{write}: {:?}", copies.waits);
    }
}

/// An index that a function reads from LocalInvocationIndex is not the same in all invocations.
#[test]
fn functions_that_read_the_invocation_are_no_part_of_a_uniform_index() {
    for read in [
        "%r = OpLoad %uint %index",
        "%copy = OpVariable %ptr 7\nOpCopyMemory %copy %index\n%r = OpLoad %uint %copy",
        "%copy = OpVariable %ptr 7\nOpCopyMemorySized %copy %index %u4\n%r = OpLoad %uint %copy",
        "%r = OpExtInst %uint %cl 171 %u0 %index 2",
    ] {
        let globals = format!(
            "{SETS}%fn_get = OpTypeFunction %uint\n%get = OpFunction %uint 0 %fn_get\n%in_get = OpLabel\n{read}\nOpReturnValue %r\nOpFunctionEnd\n"
        );
        let body = "%got = OpFunctionCall %uint %get
            %place = OpIAdd %uint %got %lane
            %from = OpAccessChain %global_uint %source %u0 %lane
            %value = OpLoad %uint %from
            %to = OpAccessChain %shared_uint %single %place
            OpStore %to %value
            barrier\n";
        let copies = found(&module_with("", &globals, body));
        assert!(copies.copies.iter().all(|copy| !copy.lane_linear), "{read}");
    }
}

/// Whatever releases to other invocations waits for the copies before it: they may read what was
/// copied.
#[test]
fn a_copy_is_complete_before_every_release() {
    for release in [
        "OpMemoryBarrier %group %release",
        "OpAtomicStore %flag %group %release %u1",
        "OpAtomicFlagClear %flag %group %release",
        "%r = OpAtomicIAdd %uint %flag %group %both %u1",
        "%r = OpAtomicFAddEXT %uint %flag %group %both %u1",
        "%r = OpAtomicFlagTestAndSet %bool %flag %group %both",
        "%r = OpAtomicCompareExchange %uint %flag %group %both %none %u1 %u1",
    ] {
        let globals = "%flag = OpVariable %shared_uint 4\n";
        let body = copy("a", "%single") + "arrive\n" + release + "\nwait\n" + &read("a", "%single");
        let assembled = module_with("", globals, &body);
        let copies = found(&assembled);
        let at_arrive = at(&assembled, Op::ControlBarrierArriveINTEL, 0);
        let name = release
            .split_whitespace()
            .find(|word| word.starts_with("Op"))
            .unwrap();
        let inst = assembled
            .module
            .instructions()
            .find(|inst| inst.name() == name)
            .unwrap();
        let at_release = copies.waits.iter().any(|wait| wait.before == inst.offset);
        assert!(
            at_arrive.is_some() || at_release,
            "{release}: {:?}",
            copies.waits
        );
    }
}
