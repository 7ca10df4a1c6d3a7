//! When there is nothing to do, and what is refused.

use super::*;
use crate::diagnostic::Code as Problem;

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
    assert_eq!(
        problems.iter().map(|d| d.code).collect::<Vec<_>>(),
        [Problem::RecursiveCall]
    );
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
    functions +=
        "%f30 = OpFunction %void 0 %fn\n%s30 = OpLabel\nbarrier\nOpReturn\nOpFunctionEnd\n";
    let problems = run_pass(&main_calling(&functions).module).unwrap_err();
    assert_eq!(
        problems.iter().map(|d| d.code).collect::<Vec<_>>(),
        [Problem::ModuleTooLarge]
    );
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
    assert_eq!(
        problems.iter().map(|d| d.code).collect::<Vec<_>>(),
        [Problem::UnsupportedInstruction]
    );
}
