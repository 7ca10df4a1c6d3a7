//! Uniform control flow, construct by construct.

use super::super::flow::testing::{LOADS, module, module_with, of, problems, summary};

const ERROR: &str = "error SB2000 0";
const WARNING: &str = "warning SB2000 0";

/// `condition` is the text of an instruction; an arrive and a wait stand under it.
fn under(condition: &str) -> Vec<String> {
    of(&format!(
        "%q = {condition}
        OpSelectionMerge %end 0
        OpBranchConditional %q %then %end
        %then = OpLabel
        arrive
        wait
        OpBranch %end
        %end = OpLabel
        OpReturn"
    ))
}

#[test]
fn constants_and_the_size_of_the_workgroup_decide() {
    assert_eq!(
        under("OpULessThan %bool %lane %u16"),
        [ERROR, "error SB2000 1"]
    );
    assert_eq!(under("OpULessThan %bool %lane %u64"), [""; 0]);
    assert_eq!(under("OpULessThanEqual %bool %lane %u63"), [""; 0]);
    assert_eq!(
        under("OpUGreaterThan %bool %u16 %lane"),
        [ERROR, "error SB2000 1"]
    );
    assert_eq!(
        under("OpIEqual %bool %lane %u64"),
        [""; 0],
        "no invocation comes there"
    );
}

#[test]
fn what_the_dispatch_decides_is_uniform() {
    assert_eq!(under("OpULessThan %bool %pc %qc"), [""; 0]);
    let group = "%g = OpLoad %v3 %group_id\n%x = OpCompositeExtract %uint %g 0\n%q = OpULessThan %bool %x %pc";
    assert_eq!(of(&branch(group)), [""; 0]);
}

#[test]
fn what_is_known_at_run_time_only_is_a_warning_with_its_reasons() {
    let module = module(&[LOADS, &branch("%g = OpLoad %v3 %global\n%x = OpCompositeExtract %uint %g 0\n%q = OpULessThan %bool %x %pc")].concat());
    let problems = problems(&module);
    let first = problems.iter().next().unwrap();
    assert_eq!(first.severity, crate::diagnostic::Severity::Warning);
    assert_eq!(first.vuid, Some(super::VUID));
    let text = first.reasons.join("\n");
    let (condition, source) = (module.id("q").to_string(), module.id("g").to_string());
    assert!(
        text.contains(&format!("whose condition {condition} is not uniform")),
        "{text}"
    );
    assert!(text.ends_with(&format!("{source} is loaded from GlobalInvocationId, which differs between the invocations of a workgroup")), "{text}");
}

#[test]
fn a_quotient_by_the_size_of_the_workgroup_is_alike() {
    let global = |code: &str| {
        of(&branch(&format!(
            "%g = OpLoad %v3 %global\n%x = OpCompositeExtract %uint %g 0\n{code}"
        )))
    };
    let below = |op: &str, by: &str| {
        global(&format!(
            "%y = {op} %uint %x %{by}\n%q = OpULessThan %bool %y %pc"
        ))
    };
    assert_eq!(below("OpUDiv", "u64"), [""; 0]);
    assert_eq!(below("OpShiftRightLogical", "u7"), [""; 0]);
    assert_eq!(below("OpBitwiseAnd", "u64"), [""; 0]);
    assert_eq!(below("OpUDiv", "u16").len(), 2);
    assert_eq!(below("OpIAdd", "u64").len(), 2);
    assert_eq!(
        global("%n = OpIMul %uint %pc %u64\n%q = OpULessThan %bool %x %n"),
        [""; 0],
        "a bound that is a multiple of the size"
    );
}

#[test]
fn each_component_of_an_id_has_its_own_verdict() {
    // The workgroup is 64 x 1 x 1: y is the same for all.
    for id in ["global", "local"] {
        let y = format!(
            "%g = OpLoad %v3 %{id}\n%y = OpCompositeExtract %uint %g 1\n%q = OpULessThan %bool %y %pc"
        );
        assert_eq!(of(&branch(&y)), [""; 0]);
        let x = y.replace("%g 1", "%g 0");
        assert_eq!(of(&branch(&x)).len(), 2);
    }
}

/// An arrive and a wait under %q, which `code` computes.
fn branch(code: &str) -> String {
    format!(
        "{code}
        OpSelectionMerge %end 0
        OpBranchConditional %q %then %end
        %then = OpLabel
        arrive
        wait
        OpBranch %end
        %end = OpLabel
        OpReturn"
    )
}

#[test]
fn an_error_under_a_condition_of_the_dispatch_is_not_one_in_every_execution() {
    let text = "
        OpSelectionMerge %end 0
        OpBranchConditional %c %outer %end
        %outer = OpLabel
        %q = OpULessThan %bool %lane %u16
        OpSelectionMerge %join 0
        OpBranchConditional %q %then %join
        %then = OpLabel
        arrive
        wait
        OpBranch %join
        %join = OpLabel
        OpBranch %end
        %end = OpLabel
        OpReturn";
    assert_eq!(of(text), [WARNING, "warning SB2000 1"]);
}

#[test]
fn an_early_return_of_some_reaches_what_comes_after() {
    let text = |end: &str| {
        format!(
            "%q = OpULessThan %bool %lane %{end}
            OpSelectionMerge %on 0
            OpBranchConditional %q %on %leave
            %leave = OpLabel
            OpReturn
            %on = OpLabel
            arrive
            wait
            OpReturn"
        )
    };
    assert_eq!(of(&text("u16")), [ERROR, "error SB2000 1"]);
    assert_eq!(of(&text("pc")), [WARNING, "warning SB2000 1"]);
    assert_eq!(of(&text("u64")), [""; 0]);
}

/// for (i = 0; i < end; i += step) { arrive; wait }
fn counted(start: &str, end: &str, step: &str) -> String {
    format!(
        "OpStore %i %{start}
        OpBranch %head
        %head = OpLabel
        OpLoopMerge %end %next 0
        OpBranch %test
        %test = OpLabel
        %i0 = OpLoad %uint %i
        %q = OpULessThan %bool %i0 %{end}
        OpBranchConditional %q %inside %end
        %inside = OpLabel
        arrive
        wait
        OpBranch %next
        %next = OpLabel
        %i1 = OpLoad %uint %i
        %i2 = OpIAdd %uint %i1 %{step}
        OpStore %i %i2
        OpBranch %head
        %end = OpLabel
        OpReturn"
    )
}

#[test]
fn loops_go_by_their_trip_counts() {
    assert_eq!(
        of(&counted("u0", "pc", "u1")),
        [""; 0],
        "a number of times that the dispatch decides"
    );
    assert_eq!(of(&counted("u0", "lane", "u1")), [ERROR, "error SB2000 1"]);
    assert_eq!(
        of(&counted("lane", "u64", "u64")),
        [""; 0],
        "once for each invocation"
    );
    assert_eq!(
        of(&counted("lane", "u64", "u16")),
        [ERROR, "error SB2000 1"]
    );
    assert_eq!(
        of(&counted("lane", "pc", "u64")),
        [WARNING, "warning SB2000 1"]
    );
}

#[test]
fn what_a_loop_with_different_trip_counts_leaves_is_not_uniform() {
    let text = counted("u0", "lane", "u1").replace("arrive\n        wait\n", "").replace(
        "OpReturn",
        "%left = OpLoad %uint %i\n%r = OpULessThan %bool %left %pc\nOpSelectionMerge %leave 0\nOpBranchConditional %r %then %leave\n%then = OpLabel\narrive\nwait\nOpBranch %leave\n%leave = OpLabel\nOpReturn",
    );
    assert_eq!(of(&text), [WARNING, "warning SB2000 1"]);
}

#[test]
fn variables_are_followed_through_branches() {
    let text = |value: &str| {
        format!(
            "OpStore %flag %u0
            %q = OpULessThan %bool %lane %u16
            OpSelectionMerge %join 0
            OpBranchConditional %q %then %join
            %then = OpLabel
            OpStore %flag %{value}
            OpBranch %join
            %join = OpLabel
            %f = OpLoad %uint %flag
            %r = OpIEqual %bool %f %u1
            OpSelectionMerge %end 0
            OpBranchConditional %r %inside %end
            %inside = OpLabel
            arrive
            wait
            OpBranch %end
            %end = OpLabel
            OpReturn"
        )
    };
    assert_eq!(of(&text("u1")), [ERROR, "error SB2000 1"]);
    assert_eq!(of(&text("u0")), [""; 0]);
    assert_eq!(of(&text("pc")), [WARNING, "warning SB2000 1"]);
}

#[test]
fn workgroup_memory_is_alike_after_a_barrier() {
    let text = |between: &str| {
        format!(
            "%q = OpIEqual %bool %lane %u0
            OpSelectionMerge %join 0
            OpBranchConditional %q %then %join
            %then = OpLabel
            OpStore %shared %pc
            OpBranch %join
            %join = OpLabel
            {between}
            %s = OpLoad %uint %shared
            %r = OpULessThan %bool %s %u7
            OpSelectionMerge %end 0
            OpBranchConditional %r %inside %end
            %inside = OpLabel
            arrive
            wait
            OpBranch %end
            %end = OpLabel
            OpReturn"
        )
    };
    assert_eq!(of(&text("barrier")), [""; 0]);
    assert_eq!(of(&text("")), [WARNING, "warning SB2000 1"]);
    let split = of(&text("arrive\n%w = OpIAdd %uint %pc %qc\nwait"));
    assert_eq!(split, [""; 0]);
    let late = of(&text("arrive\nOpStore %shared %qc\nwait"));
    assert_eq!(
        late,
        ["warning SB2015 ?", "warning SB2000 2", "warning SB2000 3"],
        "what is stored after the arrive is not settled by the wait"
    );
}

#[test]
fn memory_that_is_not_written_is_alike_at_one_address() {
    let text = |index: &str, store: &str| {
        branch(&format!(
            "%a = OpAccessChain %element_ptr %buffer %u0 %{index}\n{store}\n%e = OpLoad %uint %a\n%q = OpULessThan %bool %e %u7"
        ))
    };
    assert_eq!(of(&text("pc", "")), [""; 0]);
    assert_eq!(of(&text("lane", "")), [WARNING, "warning SB2000 1"]);
    assert_eq!(
        of(&text("pc", "OpStore %a %lane")),
        [WARNING, "warning SB2000 1"]
    );
}

#[test]
fn subgroup_barriers_may_stand_anywhere() {
    let text = branch("%q = OpULessThan %bool %lane %u16")
        .replace("arrive", "arrive.sub")
        .replace("wait", "wait.sub");
    assert_eq!(of(&text), [""; 0]);
}

#[test]
fn functions_that_only_compute_are_looked_through() {
    let function = |body: &str| {
        format!(
            "%f = OpFunction %uint 0 %fn_uint\n%p = OpFunctionParameter %uint\n%entry = OpLabel\n{body}\nOpFunctionEnd\n"
        )
    };
    let call = |argument: &str| {
        [
            LOADS,
            &branch(&format!(
                "%x = OpFunctionCall %uint %f %{argument}\n%q = OpULessThan %bool %x %u7"
            )),
        ]
        .concat()
    };
    let pure = function("%r = OpIAdd %uint %p %u1\nOpReturnValue %r");
    assert_eq!(summary(&module_with(&call("pc"), &pure)), [""; 0]);
    assert_eq!(
        summary(&module_with(&call("lane"), &pure)),
        [ERROR, "error SB2000 1"]
    );
    let of_the_group = function(
        "%g = OpLoad %v3 %group_id\n%x = OpCompositeExtract %uint %g 0\n%r = OpIAdd %uint %p %x\nOpReturnValue %r",
    )
    .replace("%x =", "%component =")
    .replace("%p %x", "%p %component");
    assert_eq!(summary(&module_with(&call("pc"), &of_the_group)), [""; 0]);
    assert_eq!(
        summary(&module_with(&call("lane"), &of_the_group)),
        [WARNING, "warning SB2000 1"]
    );
    let of_memory = |store: &str| {
        function(&format!(
            "{store}%a = OpAccessChain %element_ptr %buffer %u0 %p\n%r = OpLoad %uint %a\nOpReturnValue %r"
        ))
    };
    assert_eq!(summary(&module_with(&call("pc"), &of_memory(""))), [""; 0]);
    let written = "%b = OpAccessChain %element_ptr %buffer %u0 %u1\nOpStore %b %p\n";
    assert_eq!(
        summary(&module_with(&call("pc"), &of_memory(written))),
        [WARNING, "warning SB2000 1"]
    );
    let of_the_lane = function("%r = OpLoad %uint %index\nOpReturnValue %r");
    assert_eq!(
        summary(&module_with(&call("pc"), &of_the_lane)),
        [ERROR, "error SB2000 1"]
    );
}

#[test]
fn barriers_in_functions_are_reported_where_they_stand() {
    let body = [LOADS, "%q = OpULessThan %bool %lane %u16\nOpSelectionMerge %end 0\nOpBranchConditional %q %then %end\n%then = OpLabel\n%x = OpFunctionCall %void %f\nOpBranch %end\n%end = OpLabel\nOpReturn"].concat();
    let module = module_with(
        &body,
        "%f = OpFunction %void 0 %fn\n%entry = OpLabel\narrive\nwait\nOpReturn\nOpFunctionEnd\n",
    );
    assert_eq!(summary(&module), [ERROR, "error SB2000 1"]);
}

/// Each way to read LocalInvocationIndex in a function is seen.
#[test]
fn functions_that_read_an_invocations_own_memory_are_not_pure() {
    let call = [
        LOADS,
        &branch("%x = OpFunctionCall %uint %f %pc\n%q = OpULessThan %bool %x %u7"),
    ]
    .concat();
    let refuted = [ERROR, "error SB2000 1"];
    let undecided = [WARNING, "warning SB2000 1"];
    for (read, expected) in [
        ("%r = OpLoad %uint %index", refuted),
        (
            "%copy = OpVariable %ptr 7\nOpCopyMemory %copy %index\n%r = OpLoad %uint %copy",
            undecided,
        ),
        (
            "%copy = OpVariable %ptr 7\nOpCopyMemorySized %copy %index %u4\n%r = OpLoad %uint %copy",
            undecided,
        ),
        ("%r = OpExtInst %uint %cl 171 %u0 %index 2", undecided),
    ] {
        let function = format!(
            "%f = OpFunction %uint 0 %fn_uint\n%p = OpFunctionParameter %uint\n%entry = OpLabel\n{read}\nOpReturnValue %r\nOpFunctionEnd\n"
        );
        assert_eq!(summary(&module_with(&call, &function)), expected, "{read}");
    }
}

/// Hints, lifetimes and expected values change no result.
#[test]
fn markers_leave_functions_pure() {
    let call = [
        LOADS,
        &branch("%x = OpFunctionCall %uint %f %pc\n%q = OpULessThan %bool %x %u7"),
    ]
    .concat();
    for marker in [
        "OpNop",
        "OpAssumeTrueKHR %true",
        "%own = OpVariable %ptr 7\nOpLifetimeStart %own 4\nOpLifetimeStop %own 4",
        "%e = OpExpectKHR %uint %p %u1",
    ] {
        let function = format!(
            "%f = OpFunction %uint 0 %fn_uint\n%p = OpFunctionParameter %uint\n%entry = OpLabel\n{marker}\nOpReturnValue %p\nOpFunctionEnd\n"
        );
        assert_eq!(summary(&module_with(&call, &function)), [""; 0], "{marker}");
    }
    let expected = "%e = OpExpectKHR %uint %pc %u1\n%q = OpULessThan %bool %e %u7";
    assert_eq!(of(&branch(expected)), [""; 0]);
}

/// Pointers of every form lead to the same constants.
#[test]
fn constants_are_uniform_through_every_form_of_address() {
    for chain in [
        "OpAccessChain %constant_ptr %constants %u1",
        "OpInBoundsAccessChain %constant_ptr %constants %u1",
        "OpPtrAccessChain %constant_ptr %pc_address %u1",
        "OpInBoundsPtrAccessChain %constant_ptr %pc_address %u1",
        "OpCopyObject %constant_ptr %pc_address",
    ] {
        let text = format!("%a = {chain}\n%x = OpLoad %uint %a\n%q = OpULessThan %bool %x %u7");
        assert_eq!(of(&branch(&text)), [""; 0], "{chain}");
    }
}

/// A buffer is constant when nothing writes it, and an atomic load does not; everything that writes
/// it does, extended instructions too.
#[test]
fn writes_of_every_form_make_a_buffer_vary() {
    let text = |inst: &str| {
        [
            LOADS,
            "%element = OpAccessChain %element_ptr %buffer %u0 %u0\n",
            inst,
            "\n",
            &branch("%x = OpLoad %uint %element\n%q = OpULessThan %bool %x %u7"),
        ]
        .concat()
    };
    let verdict = |inst: &str| summary(&module(&text(inst)));
    for read in ["OpNop", "%r = OpAtomicLoad %uint %element %group %none"] {
        assert_eq!(verdict(read), [""; 0], "{read}");
    }
    for write in [
        "OpStore %element %pc",
        "OpCopyMemory %element %index",
        "OpCopyMemorySized %element %index %u4",
        "OpAtomicStore %element %group %none %pc",
        "OpAtomicFlagClear %element %group %none",
        "%r = OpAtomicIAdd %uint %element %group %none %pc",
        "%r = OpExtInst %uint %glsl 35 %pc %element",
        "%r = OpExtInst %uint %glsl 51 %pc %element",
        "%r = OpExtInst %uint %cl 30 %pc %element",
        "%r = OpExtInst %uint %cl 52 %pc %qc %element",
        "%r = OpExtInst %void %cl 172 %pc %u0 %element",
        "OpSubgroupBlockWriteINTEL %element %pc",
    ] {
        assert_eq!(verdict(write), [WARNING, "warning SB2000 1"], "{write}");
    }
}

/// [`problems`] of an OpControlBarrier under `condition`: severity, code, and the witness.
fn control_barrier_under(condition: &str) -> Vec<(String, Vec<String>)> {
    let body = format!(
        "%q = {condition}
        OpSelectionMerge %end 0
        OpBranchConditional %q %then %end
        %then = OpLabel
        OpControlBarrier %u2 %u2 %u0
        OpBranch %end
        %end = OpLabel
        OpReturn"
    );
    let module = module(&[LOADS, &body].concat());
    let told = |problem: &crate::diagnostic::Diagnostic| {
        let witness = problem.witness.iter().map(|step| step.text.clone());
        let head = format!("{} {}", problem.severity, problem.code);
        (head, witness.collect())
    };
    problems(&module).iter().map(told).collect()
}

#[test]
fn a_control_barrier_keeps_the_same_rule() {
    let refuted = control_barrier_under("OpULessThan %bool %lane %u16");
    assert_eq!(refuted.len(), 1);
    assert_eq!(refuted[0].0, "error SB2004");
    let undecided = control_barrier_under("OpULessThan %bool %lane %pc");
    assert_eq!(undecided.len(), 1);
    assert_eq!(undecided[0].0, "warning SB2004");
    let path = undecided[0].1.join("\n");
    assert!(path.contains("the branch on"), "{path}");
    assert!(path.contains("does not execute the barrier"), "{path}");
    for uniform in ["OpULessThan %bool %lane %u64", "OpULessThan %bool %pc %qc"] {
        assert_eq!(control_barrier_under(uniform), []);
    }
}

/// What is said where `body` is that of a function of one number, whose result is below 7 for the
/// invocations that enter the branch.
fn called(body: &str, more: &str) -> Vec<String> {
    let call = [
        LOADS,
        &branch("%x = OpFunctionCall %uint %f %pc\n%q = OpULessThan %bool %x %u7"),
    ]
    .concat();
    let function = format!(
        "%f = OpFunction %uint 0 %fn_uint\n%p = OpFunctionParameter %uint\n%entry = OpLabel\n{body}\nOpFunctionEnd\n{more}"
    );
    summary(&module_with(&call, &function))
}

const REFUTED: [&str; 2] = [ERROR, "error SB2000 1"];
const UNDECIDED: [&str; 2] = [WARNING, "warning SB2000 1"];

#[test]
fn what_functions_return_has_a_value_for_each_invocation() {
    let local = "%v = OpVariable %ptr 7\n%l = OpLoad %uint %index\nOpStore %v %l\n%r = OpLoad %uint %v\nOpReturnValue %r";
    assert_eq!(called(local, ""), REFUTED);
    let nested = "%r = OpFunctionCall %uint %g %p\nOpReturnValue %r";
    let inner = "%g = OpFunction %uint 0 %fn_uint\n%gp = OpFunctionParameter %uint\n%g_entry = OpLabel\n%gl = OpLoad %uint %index\nOpReturnValue %gl\nOpFunctionEnd\n";
    assert_eq!(called(nested, inner), REFUTED);
    let early = |condition: &str| {
        format!(
            "%l = OpLoad %uint %index\n%k = {condition}\nOpSelectionMerge %gone 0\nOpBranchConditional %k %yes %no\n%yes = OpLabel\nOpReturnValue %u1\n%no = OpLabel\nOpReturnValue %u16\n%gone = OpLabel\nOpUnreachable"
        )
    };
    assert_eq!(called(&early("OpULessThan %bool %l %u16"), ""), REFUTED);
    assert_eq!(called(&early("OpULessThan %bool %l %u64"), ""), [""; 0]);
    assert_eq!(called(&early("OpULessThan %bool %p %u16"), ""), [""; 0]);
    assert_eq!(called(&early("OpULessThan %bool %l %p"), ""), UNDECIDED);
}

#[test]
fn values_meet_in_functions() {
    let met = |value: &str| {
        format!(
            "%v = OpVariable %ptr 7
            %l = OpLoad %uint %index
            %k = OpULessThan %bool %l %u16
            OpStore %v %u1
            OpSelectionMerge %met 0
            OpBranchConditional %k %yes %no
            %yes = OpLabel
            OpStore %v %u16
            OpBranch %met
            %no = OpLabel
            OpBranch %met
            %met = OpLabel
            %phi = OpPhi %uint %u16 %yes %u1 %no
            %r = {value}
            OpReturnValue %r"
        )
    };
    assert_eq!(called(&met("OpLoad %uint %v"), ""), REFUTED);
    assert_eq!(called(&met("OpCopyObject %uint %phi"), ""), REFUTED);
    assert_eq!(called(&met("OpIAdd %uint %p %u1"), ""), [""; 0]);
    let switch = |selector: &str| {
        format!(
            "%l = OpLoad %uint %index
            %k = OpUDiv %uint %{selector} %u16
            OpSelectionMerge %met 0
            OpSwitch %k %rest 0 %first 1 %met 2 %met
            %first = OpLabel
            OpBranch %met
            %rest = OpLabel
            OpBranch %met
            %met = OpLabel
            %r = OpPhi %uint %u7 %entry %u1 %first %u1 %rest
            OpReturnValue %r"
        )
    };
    assert_eq!(called(&switch("l"), ""), REFUTED);
    assert_eq!(called(&switch("p"), ""), [""; 0]);
}

/// Variables of two functions on different paths are two, whichever is met first.
#[test]
fn variables_of_functions_are_kept_apart() {
    let body = "%v = OpVariable %ptr 7
        %l = OpLoad %uint %index
        OpStore %v %p
        %a = OpFunctionCall %uint %g %l
        %r = OpLoad %uint %v
        OpReturnValue %r";
    let inner = "%g = OpFunction %uint 0 %fn_uint
        %gp = OpFunctionParameter %uint
        %g_entry = OpLabel
        %gv = OpVariable %ptr 7
        OpStore %gv %gp
        %gl = OpLoad %uint %gv
        OpReturnValue %gl
        OpFunctionEnd\n";
    assert_eq!(called(body, inner), [""; 0]);
    assert_eq!(
        called(&body.replace("ReturnValue %r", "ReturnValue %a"), inner),
        REFUTED
    );
}

/// A loop in a function, and calls without an end, leave the question open.
#[test]
fn functions_that_are_not_followed_leave_the_question_open() {
    let again = "%l = OpLoad %uint %index\n%r = OpFunctionCall %uint %f %l\nOpReturnValue %r";
    assert_ne!(called(again, ""), REFUTED);
    let atomic = "%r = OpAtomicIAdd %uint %shared %u2 %u0 %u1\nOpReturnValue %r";
    assert_eq!(called(atomic, ""), UNDECIDED);
}
