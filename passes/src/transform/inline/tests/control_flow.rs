//! Calls in all places, callees of all shapes.

use super::*;

#[test]
fn arrive_in_one_function_and_wait_in_another() {
    let module = of(&shapes::HANDED_OVER);
    let edited = check(&module);
    let (declarations, _) = declared(&edited.module);
    assert_eq!(declarations.functions.len(), 1);
    assert_eq!(
        declarations.functions[0].blocks.len(),
        1,
        "straight callees cost no block"
    );
    let arrive = edited
        .module
        .instructions()
        .find(|inst| inst.opcode() == 6142)
        .unwrap();
    assert_eq!(
        edited.source_map.of(arrive.offset),
        Some(module.offset(Op::ControlBarrierArriveINTEL, 0))
    );
}

#[test]
fn an_early_return_in_a_loop() {
    let edited = check(&of(&shapes::EARLY_RETURN));
    let (declarations, _) = declared(&edited.module);
    let blocks = &declarations.functions[0].blocks;
    assert_eq!(
        blocks[0].insts[0].op(),
        Some(Op::Variable),
        "the variable moves to the first block"
    );
    assert_eq!(
        blocks[0].insts[0].id(1).ok(),
        None,
        "and its initial value becomes a store"
    );
    assert_eq!(
        edited
            .module
            .instructions()
            .filter(|inst| inst.op() == Some(Op::Phi))
            .count(),
        2
    );
}

#[test]
fn a_return_inside_of_a_loop_of_the_callee() {
    let module = main_calling(
        "%main = OpFunction %void 0 %fn
        %start = OpLabel
        %v = OpFunctionCall %uint %f %u0
        OpStore %out %v
        OpReturn
        OpFunctionEnd
        %f = OpFunction %uint 0 %fn_uint
        %p = OpFunctionParameter %uint
        %fs = OpLabel
        %limit = OpLoad %uint %cond
        OpBranch %head
        %head = OpLabel
        %i = OpPhi %uint %p %fs %inc %next
        OpLoopMerge %end %next 0
        OpBranch %body
        %body = OpLabel
        barrier
        %found = OpIEqual %bool %i %limit
        OpSelectionMerge %next 0
        OpBranchConditional %found %leave %next
        %leave = OpLabel
        OpReturnValue %i
        %next = OpLabel
        %inc = OpIAdd %uint %i %u1
        %more = OpULessThan %bool %inc %u3
        OpBranchConditional %more %head %end
        %end = OpLabel
        OpReturnValue %u7
        OpFunctionEnd",
    );
    check(&module);
}

#[test]
fn a_call_in_a_loop_header_keeps_the_loop() {
    check(&of(&shapes::LOOP_HEADER));
}

#[test]
fn a_call_in_a_loop_of_one_block() {
    check(&of(&shapes::LOOP_OF_ONE_BLOCK));
}

#[test]
fn nested_calls_under_a_condition() {
    let module = of(&shapes::NESTED);
    let edited = check(&module);
    let (declarations, _) = declared(&edited.module);
    assert_eq!(
        declarations.functions.len(),
        2,
        "%h has no barrier and stays"
    );
    assert_eq!(
        edited
            .module
            .instructions()
            .filter(|inst| inst.opcode() == 6142)
            .count(),
        4
    );
}

#[test]
fn a_parameter_by_value_is_a_copy() {
    // FuncParamAttr ByVal is for kernels: the interpreter passes the copy that the front end would
    // have made.
    let module = assemble(
        "OpDecorate %p 38 2",
        "%fn_ptr = OpTypeFunction %void %ptr
        %main = OpFunction %void 0 %fn
        %start = OpLabel
        %mine = OpVariable %ptr 7 %u3
        %r = OpFunctionCall %void %f %mine
        %x = OpLoad %uint %mine
        OpStore %out %x
        OpReturn
        OpFunctionEnd
        %f = OpFunction %void 0 %fn_ptr
        %p = OpFunctionParameter %ptr
        %fs = OpLabel
        OpStore %p %u7
        barrier
        OpReturn
        OpFunctionEnd",
    );
    let edited = run_pass(&module.module).unwrap().unwrap();
    let (new, _) = declared(&edited.module);
    assert_eq!(
        Machine::run(&new, module.id("cond"), 0),
        [Deed::Barrier(224), Deed::Store(3)]
    );
}

#[test]
fn a_callee_that_never_returns() {
    let module = of(&shapes::NEVER_RETURNS);
    let edited = run_pass(&module.module).unwrap().unwrap();
    let (declarations, _) = declared(&edited.module);
    let ends: Vec<_> = declarations.functions[0]
        .blocks
        .iter()
        .map(|block| block.insts.last().unwrap().op())
        .collect();
    assert!(ends.contains(&Some(Op::Unreachable)), "{ends:?}");
}
