//! Runs of the cases of `fixtures/passes` before and after, and a module that grows too large.

use super::interpret::{Deed, Machine};
use super::*;
use crate::analysis::testing::{assemble, declared};
use crate::diagnostic::Code;
use crate::transform::cases::cases;
use crate::transform::rewrite::RewrittenModule;

fn run_pass(module: &Module<'_>) -> Result<Option<RewrittenModule>, Diagnostics> {
    let (declarations, _) = declared(module);
    inline_barrier_functions(module, &declarations)
}

/// Compares runs of a module for several values of `cond` with those of what the pass makes of
/// it, and looks at what must hold for every output.
fn compare(module: &Module<'_>, cond: Id, name: &str) {
    let edited = run_pass(module).unwrap();
    let edited = edited.unwrap_or_else(|| panic!("{name}: there is something to do"));
    let (old, _) = declared(module);
    let (new, _) = declared(&edited.module);
    let mut deeds = Vec::new();
    for value in 0..5 {
        let before = Machine::run(&old, cond, value);
        let after = Machine::run(&new, cond, value);
        assert_eq!(after, before, "{name} with {value}");
        deeds.extend(before);
    }
    let is_barrier = |deed: &Deed| matches!(deed, Deed::Barrier(_));
    assert!(deeds.iter().any(is_barrier), "{name} has no barrier");
    let with_barriers = new.functions.iter();
    for function in with_barriers.filter(|function| has_control_barrier(function)) {
        let is_entry = |entry: &crate::module::EntryPoint<'_>| entry.function == function.id;
        assert!(
            new.entry_points.iter().any(is_entry),
            "{name}: {} has a barrier",
            function.id
        );
    }
    for (new, old) in edited.source_map.iter() {
        assert!(edited.module.at(new).is_some() && module.at(old).is_some());
    }
    // A copy of a barrier comes from one of its kind.
    for inst in edited.module.instructions() {
        if matches!(inst.opcode(), 224 | 6142 | 6143) {
            let old = edited
                .source_map
                .of(inst.offset)
                .and_then(|old| module.at(old));
            assert_eq!(old.map(|old| old.opcode()), Some(inst.opcode()), "{name}");
        }
    }
}

#[test]
fn runs_are_the_same() {
    // The interpreter passes pointers as they are, and a function that is exported keeps its
    // barrier.
    const OTHERS: [&str; 3] = ["by_value", "exported", "never_returns"];
    let mut compared = 0;
    for (name, case) in cases("inline-barrier-functions") {
        // Those without the variable are refused, or left alone.
        if let Some(cond) = case.names.get("cond")
            && !OTHERS.contains(&name.as_str())
        {
            compare(&case.module().unwrap(), *cond, &name);
            compared += 1;
        }
    }
    assert!(compared >= 8, "{compared} cases");
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
    let problems = run_pass(&assemble("", &functions).module).unwrap_err();
    assert_eq!(
        problems.iter().map(|d| d.code).collect::<Vec<_>>(),
        [Code::ModuleTooLarge]
    );
}
