//! The pass on small modules: what a run does stays the same, and what comes out is valid.

mod annotations;
mod control_flow;
mod limits;
mod shapes;

use super::interpret::{Deed, Machine};
use super::*;
use crate::analysis::testing::{Assembled, assemble, declared};
use crate::transform::rewrite::RewrittenModule;
use crate::validate::{Environment, Settings, validate};

fn run_pass(module: &Module<'_>) -> Result<Option<RewrittenModule>, Diagnostics> {
    let (declarations, _) = declared(module);
    inline_barrier_functions(module, &declarations)
}

/// Runs the pass, compares runs for several values of %cond, and looks at what must hold for every
/// output.
fn check(module: &Assembled) -> RewrittenModule {
    let edited = run_pass(&module.module)
        .unwrap()
        .expect("there is something to do");
    let (old, _) = declared(&module.module);
    let (new, constants) = declared(&edited.module);
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
    for (new, old) in edited.source_map.iter() {
        assert!(edited.module.at(new).is_some() && module.module.at(old).is_some());
    }
    let mut problems = Diagnostics::new();
    let settings = Settings::new(Environment::from_declarations(&new));
    validate(&new, &constants, &settings, &mut problems);
    assert!(!problems.has_errors(), "{problems}");
    edited
}

fn of(shape: &shapes::Shape) -> Assembled {
    assemble(shape.annotations, &shape.functions.concat())
}

fn main_calling(functions: &str) -> Assembled {
    assemble("", functions)
}
