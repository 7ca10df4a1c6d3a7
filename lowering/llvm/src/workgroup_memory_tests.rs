//! The size of workgroup memory that plans and limits go by is the one of the memory that LLVM is asked for.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../../../passes/tests/corpus/mod.rs"]
mod corpus;

use splitbar_passes::analysis::workgroup_memory::workgroup_bytes;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues, assemble};
use splitbar_plan::Target;
use std::path::Path;

/// Compares the two sizes for every entry point; how many have workgroup memory.
fn compare(name: &str, module: &Module<'_>) -> usize {
    let mut problems = Diagnostics::new();
    let declarations = Declarations::of(module, &mut problems);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
    if problems.has_errors() {
        return 0;
    }
    let mut with_memory = 0;
    for entry in &declarations.entry_points {
        let order = declarations.reachable_functions(entry.function).unwrap();
        let ours = workgroup_bytes(&declarations, &constants, entry);
        for target in ["gfx1201", "sm_80"] {
            let target = Target::by_name(target).unwrap();
            let of_llvm = crate::variable_bytes(&declarations, &constants, target, entry, &order);
            assert_eq!(ours, u64::from(of_llvm), "{name}, {}", entry.name);
        }
        with_memory += usize::from(ours > 0);
    }
    with_memory
}

#[test]
fn of_all_kernels_and_of_the_corpus() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kernels");
    let mut with_memory = 0;
    for folder in std::fs::read_dir(root).unwrap() {
        let folder = folder.unwrap();
        let name = folder.file_name().into_string().unwrap();
        let Ok(bytes) = std::fs::read(folder.path().join(format!("{name}.spv"))) else {
            continue;
        };
        with_memory += compare(&name, &Module::parse(&bytes).unwrap());
    }
    for file in corpus::modules().unwrap() {
        with_memory += compare(&file.path, &Module::parse(&file.bytes).unwrap());
    }
    assert!(with_memory > 200, "only {with_memory} entry points");
}

/// What the corpus has little of: Booleans, vectors of three, matrices with strides, explicit offsets, packed structures, blocks, and constants that hold addresses.
#[test]
fn of_every_kind_of_type() {
    const TYPES: [(&str, &str, &str); 9] = [
        ("%t = OpTypeArray %bool %n", "", "20000"),
        ("%t = OpTypeArray %uint3 %n", "", "100"),
        ("%t = OpTypeMatrix %float3 3", "", "1"),
        ("%t = OpTypeStruct %uint %double %uint", "", "1"),
        (
            "%t = OpTypeStruct %uint %uint",
            "OpMemberDecorate %t 0 Offset 0\nOpMemberDecorate %t 1 Offset 60",
            "1",
        ),
        (
            "%a = OpTypeArray %uint %n\n%t = OpTypeStruct %a",
            "OpDecorate %a ArrayStride 12",
            "7",
        ),
        (
            "%m = OpTypeMatrix %float3 2\n%t = OpTypeStruct %m",
            "OpMemberDecorate %t 0 Offset 0\nOpMemberDecorate %t 0 MatrixStride 64\nOpMemberDecorate %t 0 RowMajor",
            "1",
        ),
        (
            "%t = OpTypeStruct %uint %double",
            "OpDecorate %t CPacked",
            "1",
        ),
        (
            "%t = OpTypeStruct %uint %uint",
            "OpDecorate %t Block\nOpMemberDecorate %t 0 Offset 0\nOpMemberDecorate %t 1 Offset 28",
            "1",
        ),
    ];
    for capability in ["Shader", "Kernel"] {
        for (types, decorations, length) in TYPES {
            let text = format!(
                "; Version: 1.6
OpCapability {capability}
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %v %w
OpExecutionMode %main LocalSize 64 1 1
{decorations}
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%float = OpTypeFloat 32
%double = OpTypeFloat 64
%uint3 = OpTypeVector %uint 3
%float3 = OpTypeVector %float 3
%n = OpConstant %uint {length}
{types}
%pt = OpTypePointer Workgroup %t
%v = OpVariable %pt Workgroup
%w = OpVariable %pt Workgroup
%main = OpFunction %void None %fn
%entry = OpLabel
%x = OpLoad %t %v
OpStore %w %x
OpReturn
OpFunctionEnd"
            );
            let module = assemble(&text).unwrap().module().unwrap();
            assert_eq!(compare(types, &module), 1);
        }
    }
}
