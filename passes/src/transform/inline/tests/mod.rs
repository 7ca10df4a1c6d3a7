//! The pass on small modules: what a run does stays the same, and what comes out is valid.

mod annotations;
mod control_flow;
mod limits;

use super::interpret::{Deed, Machine};
use super::*;
use crate::analysis::testing::{Assembled, assemble, declared};
use crate::module::Constants;
use crate::transform::rewrite::Edited;
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
    let edited = run_pass(&module.module)
        .unwrap()
        .expect("there is something to do");
    let (old, _) = declared(&module.module);
    let (new, _) = declared(&edited.module);
    let mut deeds = Vec::new();
    for cond in 0..5 {
        let before = Machine::run(&old, module.id("cond"), cond);
        assert_eq!(
            Machine::run(&new, module.id("cond"), cond),
            before,
            "with cond {cond}"
        );
        deeds.extend(before);
    }
    assert!(
        deeds.iter().any(|deed| matches!(deed, Deed::Barrier(_))),
        "the test looks at no barrier"
    );
    for function in new
        .functions
        .iter()
        .filter(|function| has_control_barrier(function))
    {
        assert!(
            new.entry_points
                .iter()
                .any(|entry| entry.function == function.id),
            "{} has a barrier",
            function.id
        );
    }
    assert!(
        run_pass(&edited.module).unwrap().is_none(),
        "a second run finds something"
    );
    for (new, old) in edited.origin.iter() {
        assert!(edited.module.at(new).is_some() && module.module.at(old).is_some());
    }
    let mut problems = Diagnostics::new();
    crate::validate::check_required(&new, &Constants::default(), &mut problems);
    assert!(problems.is_empty(), "{problems}");
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
            6142 | 6143 => {
                words.extend([4 << 16 | 224, inst.words[1], inst.words[2], inst.words[3]])
            }
            _ => words.extend(inst.words),
        }
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let spawned = Command::new("spirv-val")
        .args(["--target-env", "spv1.3", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = spawned else {
        eprintln!("skipped: spirv-val is not installed");
        return;
    };
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{when}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn main_calling(functions: &str) -> Assembled {
    assemble("", functions)
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
