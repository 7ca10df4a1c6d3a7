//! Bodies in short lines, and where their instructions stand afterwards.

use super::*;
use crate::transform::Fill;
use crate::transform::move_split_barriers::tests::{around, body, branch, short_after};
use crate::transform::registry::FILL_SPLIT_BARRIER_WINDOWS;

fn filled_with(lines: &str, fill: Fill) -> String {
    let pass = FILL_SPLIT_BARRIER_WINDOWS;
    short_after(pass, &body(lines), &PassOptions::Fill(fill))
}

fn filled(lines: &str) -> String {
    filled_with(lines, Fill::default())
}

#[test]
fn what_is_independent_comes_into_the_window() {
    assert_eq!(
        filled("r data; .; w one; arrive; wait; r one; .; r data"),
        "| wone A rdata . . rdata W rone"
    );
}

#[test]
fn what_the_other_side_conflicts_with_stays() {
    // Read before it is written behind the barrier, and the other way round.
    assert_eq!(
        filled("r one; w two; arrive; wait; w one; r two"),
        "| rone wtwo A W wone rtwo"
    );
    assert_eq!(
        filled("w one; w two; arrive; wait; r two; r one"),
        "| wone wtwo A W rtwo rone"
    );
    // Two reads have no order.
    assert_eq!(
        filled("r one; w two; arrive; wait; r two; r one"),
        "| wtwo A rone rone W rtwo"
    );
}

#[test]
fn values_come_before_their_uses() {
    assert_eq!(
        filled("%x = OpLoad %uint %data; keep one x; arrive; wait; r one"),
        "| rdata wone A W rone"
    );
    assert_eq!(
        filled("w one; arrive; wait; %x = OpLoad %uint %one; use x; .; r data"),
        "| wone A . rdata W rone *"
    );
    // What a value is made of may stay, and what is made of it comes along.
    assert_eq!(
        filled("%x = OpLoad %uint %data; use x; keep one x; arrive; wait; r one"),
        "| rdata wone A * W rone"
    );
}

#[test]
fn accesses_of_one_invocation_keep_their_order() {
    // The buffer is free for the barrier, but not for the invocation itself.
    assert_eq!(
        filled("w data; w one; r data; keep one u2; arrive; wait; r one"),
        "| wone wone A wdata rdata W rone"
    );
    assert_eq!(
        filled("r data; %x = OpLoad %uint %two; keep data x; w two; arrive; wait; r two"),
        "| rtwo wtwo A rdata wdata W rtwo"
    );
    assert_eq!(
        filled("w one; arrive; wait; %x = OpLoad %uint %one; keep data x; r data"),
        "| wone A W rone wdata rdata"
    );
}

#[test]
fn variables_of_the_invocation_keep_their_order() {
    assert_eq!(
        filled("r out; keep out u2; w one; arrive; wait; r one"),
        "| wone A rout wout W rone"
    );
    assert_eq!(
        filled("r out; %x = OpLoad %uint %two; keep out x; keep two u1; arrive; wait; r two"),
        "| rtwo wtwo A rout wout W rtwo"
    );
    assert_eq!(
        filled("w one; arrive; wait; %x = OpLoad %uint %one; keep out x; r out; r cond"),
        "| wone A rcond W rone wout rout"
    );
}

#[test]
fn what_orders_itself_stays_and_is_not_passed() {
    assert_eq!(
        filled("w data; .; atomic one; arrive; wait; r one"),
        "| wdata a A . W rone"
    );
    assert_eq!(
        filled("r data; .; OpMemoryBarrier %group %buffers; w one; arrive; wait; r one"),
        "| rdata m wone A . W rone"
    );
    assert_eq!(
        filled("rv data; w one; arrive; wait; r one"),
        "| rdata wone A W rone"
    );
    assert_eq!(
        filled(".; w one; arrive; wait; w one; arrive; wait; r one"),
        "| wone A . W wone A W rone"
    );
}

#[test]
fn a_relaxed_barrier_orders_what_a_memory_barrier_names() {
    let text =
        "w data; w one; OpMemoryBarrier %group %buffers; arrive.none; wait.none; w one; r data";
    assert_eq!(filled(text), "| wdata wone m A wone W rdata");
}

#[test]
fn what_an_atomic_operation_publishes_stays_before_it() {
    assert_eq!(
        filled("w data; w one; arrive.all; wait.all; r one; release two"),
        "| wdata wone A W rone a"
    );
}

#[test]
fn neighbours_compose() {
    // A load that goes up at the first barrier, and a store that would go down at the second.
    assert_eq!(
        filled("w two; arrive; wait; r two; r one; w two; arrive; wait; r two; w one"),
        "| wtwo A rone W rtwo wtwo A W rtwo wone"
    );
}

#[test]
fn across_blocks() {
    let text = format!("r data; {}; w one; arrive; wait; r one", branch(".; w two"));
    assert_eq!(filled(&text), "| rcond | . wtwo | wone A rdata W rone");
    // A branch on a value, or a use in a branch, keeps it.
    let text = format!(
        "%x = OpLoad %uint %data; {}; w one; arrive; wait; r one",
        branch("use x")
    );
    assert_eq!(filled(&text), "| rdata rcond | * | wone A W rone");
    let text = format!(
        "w one; arrive; wait; r one; {}; r data; w two",
        branch("w one")
    );
    assert_eq!(filled(&text), "| wone A rcond rdata wtwo W rone | wone |");
    let text = format!("w one; arrive; wait; r one; {}; r two", branch("w two"));
    assert_eq!(filled(&text), "| wone A rcond W rone | wtwo | rtwo");
}

#[test]
fn what_a_way_to_nowhere_uses_stays() {
    let text = "%x = OpLoad %uint %data; %v = OpLoad %uint %cond; %c = OpIEqual %bool %v %u0
        OpSelectionMerge %end 0; OpBranchConditional %c %never %end
        %never = OpLabel; use x; OpUnreachable
        %end = OpLabel; .; w one; arrive; wait; r one";
    assert_eq!(filled(text), "| rdata rcond | * | wone A . W rone");
}

#[test]
fn not_out_of_a_loop_with_two_ways_in() {
    let text = "%v = OpLoad %uint %cond; %c = OpIEqual %bool %v %u0
        OpBranchConditional %c %left %right
        %left = OpLabel; .; OpBranch %right
        %right = OpLabel; r data; w data; OpBranchConditional %c %left %end
        %end = OpLabel; w one; arrive; wait; r one";
    assert_eq!(filled(text), "| rcond | . | rdata wdata | wone A W rone");
}

#[test]
fn within_a_loop() {
    let work = "r data; w one; arrive; wait; r one; .; arrive; wait";
    assert_eq!(
        filled(&around(".", "", work, "")),
        "| . | rcond | wone A rdata . W rone A W | |"
    );
}

#[test]
fn as_much_as_may_be_live() {
    let text = "%x = OpLoad %uint %data; %y = OpLoad %uint %data; w one; arrive; wait; r one
        keep out x; keep out y";
    let fill = |most_live| Fill {
        most_live,
        ..Fill::default()
    };
    // What moves down makes less live at the arrive, and what has its result there more.
    assert_eq!(
        filled_with(text, fill(0)),
        "| wone A rdata rdata wout wout W rone"
    );
    let text = "w one; arrive; wait; r one; %x = OpLoad %uint %data; keep out u1
        %y = OpLoad %uint %data; use x; use y; keep one x; keep one y";
    assert_eq!(
        filled_with(text, fill(0)),
        "| wone A wout W rone rdata rdata * * wone wone"
    );
    assert_eq!(
        filled_with(text, fill(1)),
        "| wone A rdata wout W rone rdata * * wone wone"
    );
}

#[test]
fn barriers_that_order_all_memory() {
    let text = "w data; w one; arrive; wait; r one; r data";
    assert_eq!(filled(text), "| wone A wdata rdata W rone");
    let fill = Fill {
        all_memory: true,
        ..Fill::default()
    };
    assert_eq!(filled_with(text, fill), "| wdata wone A W rone rdata");
}

#[test]
fn debug_information_keeps_its_values() {
    use crate::module::assemble;
    let text = "OpCapability Shader
        OpCapability SplitBarrierEXT
        OpExtension \"SPV_EXT_split_barrier\"
        OpExtension \"SPV_KHR_non_semantic_info\"
        %set = OpExtInstImport \"NonSemantic.Shader.DebugInfo.100\"
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\"
        OpExecutionMode %main LocalSize 64 1 1
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %one = OpConstant %uint 1
        %group = OpConstant %uint 2
        %release = OpConstant %uint 260
        %acquire = OpConstant %uint 258
        %pointer = OpTypePointer Workgroup %uint
        %shared = OpVariable %pointer Workgroup
        %main = OpFunction %void None %fn
        %start = OpLabel
        %kept = OpIAdd %uint %one %one
        %value = OpExtInst %void %set 29 %kept %kept %kept
        %free = OpIAdd %uint %one %one
        OpStore %shared %one
        OpControlBarrierArriveEXT %group %group %release
        OpControlBarrierWaitEXT %group %group %acquire
        %read = OpLoad %uint %shared
        OpReturn
        OpFunctionEnd";
    let module = assemble(text).unwrap().module().unwrap().into_owned();
    let mut found = Diagnostics::new();
    let declarations = Declarations::new(&module, &mut found);
    let options = PassOptions::Fill(Fill::default());
    let edited = run(&module, &declarations, &options, &mut found)
        .unwrap()
        .unwrap();
    let ops: Vec<u16> = edited
        .module
        .instructions()
        .skip_while(|inst| inst.op() != Some(spirv::Op::Label))
        .map(|inst| inst.opcode())
        .take(7)
        .collect();
    // Label, the value and what speaks of it, the store, arrive, the free one, wait.
    assert_eq!(ops, [248, 128, 12, 62, 6142, 128, 6143]);
}
