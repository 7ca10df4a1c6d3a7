//! The pass on small modules: what a run does stays the same, and what comes out is valid.

use super::super::rewrite::Edited;
use super::interpret::{Deed, Machine};
use super::*;
use crate::analysis::testing::{Assembled, assemble, declared};
use crate::diagnostic::Code as Problem;
use std::io::Write;
use std::process::{Command, Stdio};

/// Whether the output must be structured.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Structured {
    Yes,
    No,
}

fn run_pass(module: &Module<'_>) -> Result<Option<Edited>, Diagnostics> {
    let (declarations, _) = declared(module);
    inline_barrier_functions(module, &declarations)
}

/// Runs the pass, compares runs for several values of %cond, and looks at what must hold for every output.
fn check(module: &Assembled, structured: Structured) -> Edited {
    let edited = run_pass(&module.module).unwrap().expect("there is something to do");
    let (old, _) = declared(&module.module);
    let (new, _) = declared(&edited.module);
    let mut deeds = Vec::new();
    for cond in 0..5 {
        let before = Machine::run(&old, module.id("cond"), cond);
        assert_eq!(Machine::run(&new, module.id("cond"), cond), before, "with cond {cond}");
        deeds.extend(before);
    }
    assert!(deeds.iter().any(|deed| matches!(deed, Deed::Barrier(_))), "the test looks at no barrier");
    for function in new.functions.iter().filter(|function| has_control_barrier(function)) {
        assert!(new.entry_points.iter().any(|entry| entry.function == function.id), "{} has a barrier", function.id);
    }
    assert!(run_pass(&edited.module).unwrap().is_none(), "a second run finds something");
    for (new, old) in edited.origin.iter() {
        assert!(edited.module.at(new).is_some() && module.module.at(old).is_some());
    }
    if structured == Structured::Yes {
        validate(&module.module, "before the pass");
        validate(&edited.module, "after the pass");
    }
    edited
}

/// Asks spirv-val, if it is installed.
fn validate(module: &Module<'_>, when: &str) {
    // Versions of spirv-val before 2026 know the INTEL name of the extension only, which is three letters longer: leave it out of the
    // question, with the capability that belongs to it, and let the instructions be OpControlBarrier.
    let mut words: Vec<u32> = module.words().iter().take(5).copied().collect();
    for inst in module.instructions() {
        match inst.opcode() {
            10 => {}
            17 if inst.words.get(1) == Some(&6141) => {}
            6142 | 6143 => words.extend([4 << 16 | 224, inst.words[1], inst.words[2], inst.words[3]]),
            _ => words.extend(inst.words),
        }
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let spawned = Command::new("spirv-val").args(["--target-env", "spv1.3", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut child) = spawned else {
        eprintln!("skipped: spirv-val is not installed");
        return;
    };
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{when}: {}", String::from_utf8_lossy(&output.stderr));
}

fn main_calling(functions: &str) -> Assembled {
    assemble("", functions)
}

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
    assert_eq!(declarations.functions[0].blocks.len(), 1, "straight callees cost no block");
    let arrive = edited.module.instructions().find(|inst| inst.opcode() == 6142).unwrap();
    assert_eq!(edited.origin.of(arrive.offset), Some(module.offset(Op::ControlBarrierArriveINTEL, 0)));
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
    let edited = check(&main_calling(&format!("{main}{EARLY}")), Structured::No);
    let (declarations, _) = declared(&edited.module);
    let blocks = &declarations.functions[0].blocks;
    assert_eq!(blocks[0].insts[0].op(), Some(Op::Variable), "the variable moves to the first block");
    assert_eq!(blocks[0].insts[0].id(1).ok(), None, "and its initial value becomes a store");
    assert_eq!(edited.module.instructions().filter(|inst| inst.op() == Some(Op::Phi)).count(), 2);
}

/// As `EARLY` in structured form: if (p == cond) barrier; arrive; wait; return local.
const CONDITIONAL: &str = "
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
    OpBranchConditional %same %extra %go_on
    %extra = OpLabel
    barrier
    OpBranch %go_on
    %go_on = OpLabel
    %which = OpPhi %uint %u1 %extra %u2 %fs
    arrive
    wait
    %last = OpLoad %uint %local
    %result = OpIAdd %uint %last %which
    OpReturnValue %result
    OpFunctionEnd";

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
    check(&main_calling(&format!("{main}{CONDITIONAL}")), Structured::Yes);
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
    check(&main_calling(&format!("{main}{CONDITIONAL}")), Structured::Yes);
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
    assert_eq!(declarations.functions.len(), 2, "%h has no barrier and stays");
    assert_eq!(edited.module.instructions().filter(|inst| inst.opcode() == 6142).count(), 4);
}

#[test]
fn names_and_decorations_follow_the_copies() {
    let module = assemble(
        "OpName %local 'local'
        OpName %f 'f'
        OpName %r 'nothing'
        OpDecorate %sum 0
        OpDecorate %relaxed 0
        %relaxed = OpDecorationGroup
        OpGroupDecorate %relaxed %was %limit",
        &format!(
            "%main = OpFunction %void 0 %fn
            %start = OpLabel
            %a = OpFunctionCall %uint %f %u1
            %b = OpFunctionCall %uint %f %u2
            %r = OpFunctionCall %void %v
            OpReturn
            OpFunctionEnd
            %v = OpFunction %void 0 %fn
            %vs = OpLabel
            barrier
            OpReturn
            OpFunctionEnd
            {CONDITIONAL}"
        ),
    );
    let edited = check(&module, Structured::Yes);
    let (declarations, _) = declared(&edited.module);
    let insts = || declarations.functions[0].insts();
    let variables: Vec<_> = insts().filter(|inst| inst.op() == Some(Op::Variable)).collect();
    assert_eq!(variables.len(), 2);
    assert!(variables.iter().all(|inst| declarations.name(inst.result().unwrap()) == Some("local")));
    let relaxed = |id: Id| declarations.decoration(id, spirv::Decoration::RelaxedPrecision).is_some();
    let loads: Vec<_> = insts().filter(|inst| inst.op() == Some(Op::Load)).map(|inst| relaxed(inst.result().unwrap())).collect();
    assert_eq!(loads, [true, true, false, true, true, false]);
    let adds: Vec<_> = insts().filter(|inst| inst.op() == Some(Op::IAdd)).map(|inst| relaxed(inst.result().unwrap())).collect();
    assert_eq!(adds, [true, false, true, false]);
    for inst in edited.module.instructions().filter(|inst| matches!(inst.op(), Some(Op::Name | Op::Decorate))) {
        assert!(edited.module.def(inst.id(0).unwrap()).is_some(), "{} is named and gone", inst.id(0).unwrap());
    }
}

#[test]
fn lines_stay_in_force() {
    let module = assemble(
        "%file = OpString 'a.comp'",
        "%main = OpFunction %void 0 %fn
        %start = OpLabel
        OpLine %file 10 0
        %a = OpFunctionCall %void %f
        OpStore %out %u1
        OpNoLine
        %b = OpFunctionCall %void %f
        OpStore %out %u2
        OpReturn
        OpFunctionEnd
        %f = OpFunction %void 0 %fn
        %fs = OpLabel
        OpLine %file 20 0
        barrier
        OpReturn
        OpFunctionEnd",
    );
    let edited = check(&module, Structured::Yes);
    let line_or_work = |inst: crate::module::Inst<'_>| match inst.op() {
        Some(Op::Line) => Some(inst.operand(1).unwrap()),
        Some(Op::NoLine) => Some(0),
        Some(Op::ControlBarrier) => Some(224),
        Some(Op::Store) => Some(62),
        _ => None,
    };
    let order: Vec<u32> = edited.module.instructions().filter_map(line_or_work).collect();
    assert_eq!(order, [10, 20, 224, 10, 62, 0, 20, 224, 0, 62]);
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
    assert_eq!(Machine::run(&new, module.id("cond"), 0), [Deed::Barrier(224), Deed::Store(3)]);
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

#[test]
fn nothing_to_do() {
    let module = main_calling(
        "%main = OpFunction %void 0 %fn
        %start = OpLabel
        barrier
        %r = OpFunctionCall %void %f
        OpReturn
        OpFunctionEnd
        %f = OpFunction %void 0 %fn
        %fs = OpLabel
        OpReturn
        OpFunctionEnd
        %dead = OpFunction %void 0 %fn
        %ds = OpLabel
        %d = OpFunctionCall %void %dead
        barrier
        OpReturn
        OpFunctionEnd",
    );
    assert!(run_pass(&module.module).unwrap().is_none());
}

#[test]
fn what_is_exported_stays() {
    let module = assemble(
        "OpCapability 5
        OpDecorate %f 41 'f' 0",
        "%main = OpFunction %void 0 %fn
        %start = OpLabel
        %r = OpFunctionCall %void %f
        OpReturn
        OpFunctionEnd
        %f = OpFunction %void 0 %fn
        %fs = OpLabel
        barrier
        OpReturn
        OpFunctionEnd",
    );
    let edited = run_pass(&module.module).unwrap().unwrap();
    let (declarations, _) = declared(&edited.module);
    assert!(declarations.function(module.id("f")).is_some_and(has_control_barrier));
    assert!(declarations.function(module.id("main")).is_some_and(has_control_barrier));
    assert!(run_pass(&edited.module).unwrap().is_none());
}

#[test]
fn recursion_is_refused() {
    let module = main_calling(
        "%main = OpFunction %void 0 %fn
        %start = OpLabel
        %r = OpFunctionCall %void %f
        OpReturn
        OpFunctionEnd
        %f = OpFunction %void 0 %fn
        %fs = OpLabel
        barrier
        %s = OpFunctionCall %void %g
        OpReturn
        OpFunctionEnd
        %g = OpFunction %void 0 %fn
        %gs = OpLabel
        %t = OpFunctionCall %void %f
        OpReturn
        OpFunctionEnd",
    );
    let problems = run_pass(&module.module).unwrap_err();
    assert_eq!(problems.iter().map(|d| d.code).collect::<Vec<_>>(), [Problem::RecursiveCall]);
}

#[test]
fn a_module_that_doubles_with_every_function_is_a_limit() {
    let mut functions = "%main = OpFunction %void 0 %fn\n%start = OpLabel\n%r = OpFunctionCall %void %f0\nOpReturn\nOpFunctionEnd\n".to_owned();
    for level in 0..30 {
        let next = level + 1;
        functions += &format!(
            "%f{level} = OpFunction %void 0 %fn\n%s{level} = OpLabel\n%a{level} = OpFunctionCall %void %f{next}\n%b{level} = OpFunctionCall %void %f{next}\nOpReturn\nOpFunctionEnd\n"
        );
    }
    functions += "%f30 = OpFunction %void 0 %fn\n%s30 = OpLabel\nbarrier\nOpReturn\nOpFunctionEnd\n";
    let problems = run_pass(&main_calling(&functions).module).unwrap_err();
    assert_eq!(problems.iter().map(|d| d.code).collect::<Vec<_>>(), [Problem::ModuleTooLarge]);
}

#[test]
fn what_cannot_be_copied_is_said() {
    let module = assemble(
        "%strange = OpExtInstImport 'strange'",
        "%main = OpFunction %void 0 %fn
        %start = OpLabel
        %r = OpFunctionCall %void %f
        OpReturn
        OpFunctionEnd
        %f = OpFunction %void 0 %fn
        %fs = OpLabel
        %x = OpExtInst %uint %strange 1 %u1
        barrier
        OpReturn
        OpFunctionEnd",
    );
    let problems = run_pass(&module.module).unwrap_err();
    assert_eq!(problems.iter().map(|d| d.code).collect::<Vec<_>>(), [Problem::UnsupportedInstruction]);
}
