//! Names, decorations, lines, linkage.

use super::*;

#[test]
fn names_and_decorations_follow_the_copies() {
    let module = of(&shapes::NAMES);
    let edited = check(&module);
    let (declarations, _) = declared(&edited.module);
    assert_eq!(
        declarations.name(module.id("a")),
        Some("first"),
        "what stays keeps its name"
    );
    let insts = || declarations.functions[0].insts();
    let variables: Vec<_> = insts()
        .filter(|inst| inst.op() == Some(Op::Variable))
        .collect();
    assert_eq!(variables.len(), 2);
    assert!(
        variables
            .iter()
            .all(|inst| declarations.name(inst.result().unwrap()) == Some("local"))
    );
    let relaxed = |id: Id| {
        declarations
            .decoration(id, spirv::Decoration::RelaxedPrecision)
            .is_some()
    };
    let loads: Vec<_> = insts()
        .filter(|inst| inst.op() == Some(Op::Load))
        .map(|inst| relaxed(inst.result().unwrap()))
        .collect();
    assert_eq!(loads, [true, true, false, true, true, false]);
    let adds: Vec<_> = insts()
        .filter(|inst| inst.op() == Some(Op::IAdd))
        .map(|inst| relaxed(inst.result().unwrap()))
        .collect();
    assert_eq!(adds, [true, false, true, false]);
    for inst in edited
        .module
        .instructions()
        .filter(|inst| matches!(inst.op(), Some(Op::Name | Op::Decorate)))
    {
        assert!(
            edited.module.def(inst.id(0).unwrap()).is_some(),
            "{} is named and gone",
            inst.id(0).unwrap()
        );
    }
}

#[test]
fn lines_stay_in_force() {
    let module = of(&shapes::LINES);
    let edited = check(&module);
    let line_or_work = |inst: crate::module::Inst<'_>| match inst.op() {
        Some(Op::Line) => Some(inst.operand(1).unwrap()),
        Some(Op::NoLine) => Some(0),
        Some(Op::ControlBarrier) => Some(224),
        Some(Op::Store) => Some(62),
        _ => None,
    };
    let order: Vec<u32> = edited
        .module
        .instructions()
        .filter_map(line_or_work)
        .collect();
    assert_eq!(order, [10, 20, 224, 10, 62, 0, 20, 224, 0, 62]);
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
    assert!(
        declarations
            .function(module.id("f"))
            .is_some_and(has_control_barrier)
    );
    assert!(
        declarations
            .function(module.id("main"))
            .is_some_and(has_control_barrier)
    );
    assert!(run_pass(&edited.module).unwrap().is_none());
}
