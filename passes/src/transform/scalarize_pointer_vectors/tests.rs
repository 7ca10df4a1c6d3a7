//! Kernels with vectors of pointers, and what becomes of them.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::super::registry::{PassOptions, SCALARIZE_POINTER_VECTORS};
use super::super::rewrite::RewrittenModule;
use super::*;
use crate::module::assemble;

/// A kernel with these lines among the types and in its body, which has four places.
fn module(globals: &str, lines: &str) -> Module<'static> {
    let text = format!(
        "OpCapability Addresses
        OpCapability Int64
        OpCapability MaskedGatherScatterINTEL
        OpExtension \"SPV_INTEL_masked_gather_scatter\"
        OpMemoryModel Physical64 OpenCL
        OpEntryPoint Kernel %main \"main\"
        %void = OpTypeVoid
        %bool = OpTypeBool
        %uint = OpTypeInt 32 0
        %ulong = OpTypeInt 64 0
        %place = OpTypePointer CrossWorkgroup %uint
        %own = OpTypePointer Function %uint
        %places = OpTypeVector %place 4
        %owns = OpTypeVector %own 4
        %values = OpTypeVector %uint 4
        %longs = OpTypeVector %ulong 4
        %bools = OpTypeVector %bool 4
        %held = OpTypePointer Function %places
        %u1 = OpConstant %uint 1
        %u2 = OpConstant %uint 2
        %l1 = OpConstant %ulong 1
        %mask = OpConstantNull %bools
        %fill = OpConstantNull %values
        {globals}
        %function = OpTypeFunction %void %place %longs %uint
        %main = OpFunction %void None %function
        %p = OpFunctionParameter %place
        %l = OpFunctionParameter %longs
        %n = OpFunctionParameter %uint
        %entry = OpLabel
        {lines}
        OpReturn
        OpFunctionEnd"
    );
    assemble(&text).unwrap().module().unwrap()
}

fn after(module: &Module<'_>) -> Result<Option<RewrittenModule>, Diagnostics> {
    let mut found = Diagnostics::new();
    let declarations = Declarations::new(module, &mut found);
    assert!(!found.has_errors(), "{found}");
    let pass = SCALARIZE_POINTER_VECTORS;
    pass.run(module, &declarations, &PassOptions::None, &mut found)
}

/// How often each instruction of the function stands there, without those that were there.
fn count(edited: &RewrittenModule, name: &str) -> usize {
    let insts = edited.module.instructions();
    insts
        .skip_while(|inst| inst.op() != Some(Op::Label))
        .filter(|inst| inst.name() == name)
        .count()
}

#[test]
fn a_gather_and_a_scatter_become_predicated_accesses() {
    let before = module(
        "",
        "%v = OpCompositeConstruct %places %p %p %p %p
        %x = OpMaskedGatherINTEL %values %v 4 %mask %fill
        OpMaskedScatterINTEL %x %v 0 %mask",
    );
    let edited = after(&before).unwrap().unwrap();
    assert_eq!(count(&edited, "OpPredicatedLoadINTEL"), 4);
    assert_eq!(count(&edited, "OpPredicatedStoreINTEL"), 4);
    let all = || edited.module.instructions();
    let load = all().find(|inst| inst.name() == "OpPredicatedLoadINTEL");
    assert_eq!(
        load.unwrap().operands_from(3),
        [2, 4],
        "the alignment stays"
    );
    let store = all().find(|inst| inst.name() == "OpPredicatedStoreINTEL");
    assert!(store.unwrap().operands_from(3).is_empty());
    let extensions: Vec<String> = all()
        .filter(|inst| inst.op() == Some(Op::Extension))
        .map(|inst| inst.string(0))
        .collect();
    assert_eq!(extensions, [PREDICATED_EXTENSION]);
    assert!(all().any(|inst| inst.operands() == [Capability::Kernel as u32]));
    assert!(
        after(&edited.module).unwrap().is_none(),
        "it has nothing more to do"
    );
}

#[test]
fn what_works_on_components_is_done_for_each() {
    for (lines, name, times) in [
        ("%a = OpConvertUToPtr %places %l", "OpConvertUToPtr", 4),
        (
            "%a = OpConvertUToPtr %places %l\n%b = OpConvertPtrToU %longs %a",
            "OpConvertPtrToU",
            4,
        ),
        (
            "%a = OpConvertUToPtr %places %l\n%b = OpPtrAccessChain %places %a %l1",
            "OpPtrAccessChain",
            4,
        ),
        (
            "%a = OpConvertUToPtr %places %l\n%b = OpInBoundsPtrAccessChain %places %a %l",
            "OpInBoundsPtrAccessChain",
            4,
        ),
        (
            "%a = OpConvertUToPtr %places %l\n%b = OpPtrEqual %bools %a %a",
            "OpPtrEqual",
            4,
        ),
        (
            "%a = OpConvertUToPtr %places %l\n%b = OpSelect %places %mask %a %a",
            "OpSelect",
            4,
        ),
        (
            "%a = OpConvertUToPtr %places %l\n%b = OpVectorExtractDynamic %place %a %n",
            "OpSelect",
            3,
        ),
        (
            "%a = OpConvertUToPtr %places %l\n%b = OpVectorInsertDynamic %places %a %p %n",
            "OpSelect",
            4,
        ),
        (
            "%a = OpConvertUToPtr %places %l
            %b = OpVectorShuffle %places %a %a 0 7 0xffffffff 2",
            "OpVectorShuffle",
            0,
        ),
        ("%a = OpVariable %owns Function", "OpVariable", 4),
        (
            "%m = OpVariable %held Function
            %a = OpConvertUToPtr %places %l
            OpStore %m %a
            %b = OpLoad %places %m
            %c = OpAccessChain %void %m %u2",
            "OpLoad",
            1,
        ),
    ] {
        let edited = after(&module("", lines)).unwrap().unwrap();
        assert_eq!(count(&edited, name), times, "{lines}");
    }
}

#[test]
fn what_does_not_fit_or_is_not_lowered_is_reported() {
    for (globals, lines, code) in [
        (
            "",
            "%v = OpConvertUToPtr %places %l\n%x = OpMaskedGatherINTEL %values %v 3 %mask %fill",
            "SB1702",
        ),
        (
            "",
            "%v = OpConvertUToPtr %places %l\n%x = OpMaskedGatherINTEL %longs %v 4 %mask %l",
            "SB1702",
        ),
        ("%a = OpTypeArray %places %u2", "", "SB0302"),
        ("%a = OpTypeStruct %places", "", "SB0302"),
        (
            "%three = OpTypeVector %place 3\n%a = OpTypePointer CrossWorkgroup %three",
            "",
            "SB0302",
        ),
        (
            "",
            "%v = OpConvertUToPtr %places %l\n%x = OpExpectKHR %places %v %v",
            "SB0300",
        ),
        (
            "",
            "%m = OpVariable %held Function\n%c = OpAccessChain %own %m %n",
            "SB0300",
        ),
    ] {
        let problems = after(&module(globals, lines))
            .err()
            .map(|found| found.to_string());
        assert!(problems.unwrap().contains(code), "{globals}{lines}");
    }
}
