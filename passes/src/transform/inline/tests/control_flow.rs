//! Calls in all places, callees of all shapes.

use super::*;

#[test]
fn arrive_in_one_function_and_wait_in_another() {
    let module = main_calling(
        "%main = OpFunction %void 0 %fn
        %start = OpLabel
        %r1 = OpFunctionCall %void %begin
        OpStore %out %u1
        %r2 = OpFunctionCall %void %end
        OpReturn
        OpFunctionEnd
        %begin = OpFunction %void 0 %fn
        %bs = OpLabel
        OpStore %out %u7
        arrive
        OpReturn
        OpFunctionEnd
        %end = OpFunction %void 0 %fn
        %es = OpLabel
        wait
        OpReturn
        OpFunctionEnd",
    );
    let edited = check(&module, Structured::Yes);
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
        edited.origin.of(arrive.offset),
        Some(module.offset(Op::ControlBarrierArriveINTEL, 0))
    );
}

/// for (i = 0; i < 3; i++) out = f(i); with the call where `%s` stands and a callee that returns early when its argument is %cond.
const EARLY: &str = "
    %f = OpFunction %uint 0 %fn_uint
    %p = OpFunctionParameter %uint
    %fs = OpLabel
    %local = OpVariable %ptr 7 %u7
    %was = OpLoad %uint %local
    %sum = OpIAdd %uint %was %p
    OpStore %local %sum
    %limit = OpLoad %uint %cond
    %same = OpIEqual %bool %p %limit
    OpSelectionMerge %go_on 0
    OpBranchConditional %same %leave %go_on
    %leave = OpLabel
    barrier
    OpReturnValue %u0
    %go_on = OpLabel
    arrive
    wait
    %result = OpLoad %uint %local
    OpReturnValue %result
    OpFunctionEnd";

#[test]
fn an_early_return_in_a_loop() {
    let main = "
        %main = OpFunction %void 0 %fn
        %start = OpLabel
        OpBranch %head
        %head = OpLabel
        %i = OpPhi %uint %u0 %start %inc %body
        OpLoopMerge %end %body 0
        OpBranch %body
        %body = OpLabel
        %v = OpFunctionCall %uint %f %i
        OpStore %out %v
        %inc = OpIAdd %uint %i %u1
        %more = OpULessThan %bool %inc %u3
        OpBranchConditional %more %head %end
        %end = OpLabel
        OpReturn
        OpFunctionEnd";
    let edited = check(&main_calling(&format!("{main}{EARLY}")), Structured::Yes);
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
    check(&module, Structured::No);
}

#[test]
fn a_call_in_a_loop_header_keeps_the_loop() {
    let main = "
        %main = OpFunction %void 0 %fn
        %start = OpLabel
        OpBranch %head
        %head = OpLabel
        %i = OpPhi %uint %u0 %start %inc %next
        %v = OpFunctionCall %uint %f %i
        %w = OpFunctionCall %uint %f %v
        OpStore %out %w
        %more = OpULessThan %bool %i %u3
        OpLoopMerge %end %next 0
        OpBranchConditional %more %next %end
        %next = OpLabel
        %inc = OpIAdd %uint %i %u1
        OpBranch %head
        %end = OpLabel
        OpReturn
        OpFunctionEnd";
    check(
        &main_calling(&format!("{main}{CONDITIONAL}")),
        Structured::Yes,
    );
}

#[test]
fn a_call_in_a_loop_of_one_block() {
    let main = "
        %main = OpFunction %void 0 %fn
        %start = OpLabel
        OpBranch %head
        %head = OpLabel
        %i = OpPhi %uint %u0 %start %inc %head
        %v = OpFunctionCall %uint %f %i
        OpStore %out %v
        %inc = OpIAdd %uint %i %u1
        %more = OpULessThan %bool %inc %u3
        OpLoopMerge %end %head 0
        OpBranchConditional %more %head %end
        %end = OpLabel
        %after = OpPhi %uint %v %head
        OpStore %out %after
        OpReturn
        OpFunctionEnd";
    check(
        &main_calling(&format!("{main}{CONDITIONAL}")),
        Structured::Yes,
    );
}

#[test]
fn nested_calls_under_a_condition() {
    let module = main_calling(&format!(
        "%main = OpFunction %void 0 %fn
        %start = OpLabel
        %x = OpLoad %uint %cond
        %c = OpULessThan %bool %x %u2
        OpSelectionMerge %end 0
        OpBranchConditional %c %then %end
        %then = OpLabel
        %a = OpFunctionCall %uint %g %x
        %b = OpFunctionCall %uint %g %a
        OpBranch %end
        %end = OpLabel
        %r = OpPhi %uint %u0 %start %b %then
        OpStore %out %r
        barrier
        OpReturn
        OpFunctionEnd
        %g = OpFunction %uint 0 %fn_uint
        %q = OpFunctionParameter %uint
        %gs = OpLabel
        %g1 = OpFunctionCall %uint %f %q
        %g2 = OpFunctionCall %uint %h %g1
        %g3 = OpFunctionCall %uint %f %g2
        OpReturnValue %g3
        OpFunctionEnd
        %h = OpFunction %uint 0 %fn_uint
        %hp = OpFunctionParameter %uint
        %hs = OpLabel
        %hr = OpIAdd %uint %hp %u1
        OpReturnValue %hr
        OpFunctionEnd
        {CONDITIONAL}"
    ));
    let edited = check(&module, Structured::Yes);
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
    // FuncParamAttr ByVal is for kernels: the interpreter passes the copy that the front end would have made.
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
    let module = main_calling(
        "%main = OpFunction %void 0 %fn
        %start = OpLabel
        %v = OpFunctionCall %uint %f %u1
        OpStore %out %v
        OpReturn
        OpFunctionEnd
        %f = OpFunction %uint 0 %fn_uint
        %p = OpFunctionParameter %uint
        %fs = OpLabel
        barrier
        OpUnreachable
        OpFunctionEnd",
    );
    let edited = run_pass(&module.module).unwrap().unwrap();
    validate(&edited.module, "after the pass");
}
