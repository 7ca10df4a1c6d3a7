//! Modules that are linked.

use super::support::declared;
use splitbar_passes::diagnostic::Code;
use splitbar_passes::module::{Module, assemble};
use splitbar_passes::transform::link;

/// What both modules have, under ids of their own: the second has its types in another order.
const CALLER: &str = "OpCapability Kernel
    OpCapability Addresses
    OpCapability Linkage
    %ext = OpExtInstImport \"OpenCL.std\"
    OpMemoryModel Physical64 OpenCL
    OpEntryPoint Kernel %main \"main\" INTERFACE
    OpDecorate %scale LinkageAttributes \"scale\" Import
    OpDecorate %table LinkageAttributes \"table\" Import
    OpMemberDecorate %pair 0 Offset 0
    OpName %value \"value\"
    %uint = OpTypeInt 32 0
    %void = OpTypeVoid
    %four = OpConstant %uint 4
    %array = OpTypeArray %uint %four
    %pair = OpTypeStruct %array %uint
    %pair_pointer = OpTypePointer CrossWorkgroup %pair
    %scaled = OpTypeFunction %uint %pair_pointer
    %kernel = OpTypeFunction %void %pair_pointer
    %table = OpVariable %pair_pointer CrossWorkgroup
    %scale = OpFunction %uint None %scaled
    %value = OpFunctionParameter %pair_pointer
    OpFunctionEnd
    %main = OpFunction %void None %kernel
    %out = OpFunctionParameter %pair_pointer
    %entry = OpLabel
    %one = OpFunctionCall %uint %scale %out
    %two = OpFunctionCall %uint %scale %table
    OpReturn
    OpFunctionEnd";

const CALLEE: &str = "OpCapability Kernel
    OpCapability Addresses
    OpCapability Linkage
    OpCapability Int64
    %ext = OpExtInstImport \"OpenCL.std\"
    OpMemoryModel Physical64 OpenCL
    OpDecorate %scale LinkageAttributes \"scale\" Export
    OpDecorate %table LinkageAttributes \"table\" Export
    OpMemberDecorate %pair 0 Offset OFFSET
    %long = OpTypeInt 64 0
    %uint = OpTypeInt 32 0
    %four = OpConstant %uint 4
    %array = OpTypeArray %uint %four
    %pair = OpTypeStruct %array %uint
    %pair_pointer = OpTypePointer CrossWorkgroup %pair
    %scaled = OpTypeFunction %uint %pair_pointer
    %zero = OpConstantNull %pair
    %own = OpVariable %pair_pointer CrossWorkgroup %zero
    %table = OpVariable %pair_pointer CrossWorkgroup %zero
    %scale = OpFunction %uint None %scaled
    %value = OpFunctionParameter %pair_pointer
    %entry = OpLabel
    %all = OpLoad %pair %own
    %result = OpCompositeExtract %uint %all 1
    OpReturnValue %result
    OpFunctionEnd";

fn module(text: &str) -> Module<'static> {
    Module::from_words(assemble(text).unwrap().words).unwrap()
}

fn caller() -> Module<'static> {
    module(&CALLER.replace("INTERFACE", ""))
}

fn callee() -> Module<'static> {
    module(&CALLEE.replace("OFFSET", "0"))
}

fn count(module: &Module<'_>, op: spirv::Op) -> usize {
    let ops = module.instructions().filter(|inst| inst.op() == Some(op));
    ops.count()
}

#[test]
fn an_import_becomes_the_export_in_either_order() {
    for modules in [[caller(), callee()], [callee(), caller()]] {
        let linked = link(&modules).unwrap();
        let declarations = declared(&linked, "the linked module");
        // Every type stands once, and so do capabilities and instruction sets.
        for (op, times) in [
            (spirv::Op::TypeInt, 2),
            (spirv::Op::TypeStruct, 1),
            (spirv::Op::TypePointer, 1),
            (spirv::Op::Function, 2),
            (spirv::Op::Variable, 2),
            (spirv::Op::ExtInstImport, 1),
            (spirv::Op::Capability, 4),
            (spirv::Op::MemoryModel, 1),
            // The parameter of the import had the only name.
            (spirv::Op::Name, 0),
            (spirv::Op::Decorate, 2),
        ] {
            assert_eq!(count(&linked, op), times, "{op:?}");
        }
        let entry = declarations.entry_points.first().unwrap();
        let order = declarations.reachable_functions(entry.function).unwrap();
        assert_eq!(order.len(), 2);
        let scale = declarations.function(*order.first().unwrap()).unwrap();
        assert!(!scale.blocks.is_empty(), "the call leads to the body");
        assert!(linked.header().bound > 20);
    }
}

/// From version 1.4 on the caller lists the callee's variable too.
#[test]
fn interfaces_list_the_variables_of_callees() {
    let with_interface = assemble(&CALLER.replace("INTERFACE", "%table"))
        .unwrap()
        .words;
    let with_version = |mut words: Vec<u32>| {
        *words.get_mut(1).unwrap() = 0x0001_0400;
        Module::from_words(words).unwrap()
    };
    let linked = link(&[
        with_version(with_interface),
        with_version(callee().words().to_vec()),
    ])
    .unwrap();
    let declarations = declared(&linked, "the linked module");
    assert_eq!(
        declarations.entry_points.first().unwrap().interface.len(),
        2
    );
}

#[test]
fn what_nobody_exports_stays_an_import() {
    let alone = link(&[caller()]).unwrap();
    assert_eq!(alone.words(), caller().words());
    let other = module(
        "OpCapability Kernel\nOpCapability Addresses\nOpCapability Linkage\nOpMemoryModel Physical64 OpenCL",
    );
    let linked = link(&[caller(), other]).unwrap();
    assert_eq!(count(&linked, spirv::Op::FunctionParameter), 2);
    assert_eq!(count(&linked, spirv::Op::Decorate), 2);
}

#[test]
fn a_function_that_several_modules_bring_is_kept_once() {
    let once = CALLEE
        .replace("OFFSET", "0")
        .replace("\"scale\" Export", "\"scale\" LinkOnceODR")
        .replace("\"table\" Export", "\"table\" LinkOnceODR");
    let linked = link(&[module(&once), module(&once)]).unwrap();
    assert_eq!(count(&linked, spirv::Op::Function), 1);
    // Each brings a variable that is its own.
    assert_eq!(count(&linked, spirv::Op::Variable), 3);
}

#[test]
fn modules_that_do_not_fit_are_reported() {
    let narrow = CALLEE
        .replace("OFFSET", "0")
        .replace("Physical64", "Physical32");
    // The members lie elsewhere: that is another type.
    let moved = CALLEE.replace("OFFSET", "8");
    for (modules, what) in [
        ([caller(), caller()], "entry point main"),
        ([callee(), callee()], "two modules export scale"),
        ([caller(), module(&narrow)], "addressing or memory model"),
        (
            [caller(), module(&moved)],
            "the type of scale in module 1 is not the type",
        ),
    ] {
        let problems = link(&modules).unwrap_err();
        assert!(problems.to_string().contains(what), "{problems}");
        assert!(
            problems
                .iter()
                .all(|problem| problem.code == Code::LinkConflict)
        );
    }
}
