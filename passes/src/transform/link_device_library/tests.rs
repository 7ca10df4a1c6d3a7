//! Imports, before and after: what each becomes, and what stays.

use crate::diagnostic::Diagnostics;
use crate::module::{Declarations, Module, assemble};
use crate::transform::registry::{LINK_DEVICE_LIBRARY, PassOptions};
use crate::transform::rewrite::RewrittenModule;

/// A call that stays.
const CALL: &str = "OpFunctionCall";

/// Runs the pass.
fn run(module: &Module<'_>) -> Option<RewrittenModule> {
    let mut found = Diagnostics::new();
    let declarations = Declarations::new(module, &mut found);
    let pass = LINK_DEVICE_LIBRARY;
    let edited = pass.run(module, &declarations, &PassOptions::None, &mut found);
    assert!(!found.has_errors(), "{found}");
    edited.unwrap()
}

/// A kernel that calls one import with `arguments`; the types are `%void`, `%float`, `%uint`,
/// `%bool`.
fn kernel(name: &str, result: &str, params: &[&str], arguments: &str) -> String {
    let count = params.len();
    let list: Vec<String> = params.iter().map(|ty| format!(" %{ty}")).collect();
    let declared: Vec<String> = (0..count)
        .map(|at| format!("%i{at} = OpFunctionParameter %{}", params[at]))
        .collect();
    format!(
        "OpCapability Kernel
        OpCapability Addresses
        OpCapability Linkage
        OpMemoryModel Physical64 OpenCL
        OpEntryPoint Kernel %main \"main\"
        OpName %call \"call\"
        OpDecorate %import LinkageAttributes \"{name}\" Import
        %void = OpTypeVoid
        %float = OpTypeFloat 32
        %uint = OpTypeInt 32 0
        %bool = OpTypeBool
        %global = OpTypePointer CrossWorkgroup %float
        %kernel = OpTypeFunction %void %float %uint %global
        %type = OpTypeFunction %{result}{}
        %two = OpConstant %uint 2
        %order = OpConstant %uint 272
        %import = OpFunction %{result} None %type
        {}
        OpFunctionEnd
        %main = OpFunction %void None %kernel
        %f = OpFunctionParameter %float
        %u = OpFunctionParameter %uint
        %p = OpFunctionParameter %global
        %entry = OpLabel
        %call = OpFunctionCall %{result} %import {arguments}
        OpReturn
        OpFunctionEnd",
        list.concat(),
        declared.join("\n")
    )
}

/// What stands in the kernel between label and return, and how many functions have no body.
fn outcome(text: &str) -> (Vec<String>, usize) {
    let module = Module::from_words(assemble(text).unwrap().words).unwrap();
    let edited = run(&module);
    let module = edited.as_ref().map_or(&module, |edited| &edited.module);
    if edited.is_some() {
        assert!(run(module).is_none(), "a second run changes it again");
    }
    let mut found = Diagnostics::new();
    let declarations = Declarations::new(module, &mut found);
    assert!(!found.has_errors(), "{found}");
    let entry = declarations.function(declarations.entry_points[0].function);
    let insts = entry.unwrap().insts();
    let kept = insts.filter(|inst| inst.op() != Some(spirv::Op::Return));
    let lines = kept.map(|inst| declarations.disassemble(inst)).collect();
    let imports = declarations.functions.iter();
    (lines, imports.filter(|f| f.blocks.is_empty()).count())
}

#[test]
fn calls_become_instructions() {
    // What must stand in the place of the call.
    for (name, result, params, arguments, wanted) in [
        ("__devicelib_sinf", "float", &["float"][..], "%f", "sin"),
        ("sinf", "float", &["float"], "%f", "sin"),
        ("_Z15__spirv_ocl_sinf", "float", &["float"], "%f", "sin"),
        // The one for doubles, and one of another type.
        ("__devicelib_sin", "float", &["float"], "%f", CALL),
        ("__devicelib_sinf", "uint", &["uint"], "%u", CALL),
        (
            "llvm.umin.i32",
            "uint",
            &["uint", "uint"],
            "%u %two",
            "u_min",
        ),
        (
            "_Z22__spirv_ControlBarrierjjj",
            "void",
            &["uint", "uint", "uint"],
            "%two %two %order",
            "OpControlBarrier",
        ),
        (
            "_Z22__spirv_ControlBarrierjj",
            "void",
            &["uint", "uint"],
            "%two %two",
            CALL,
        ),
        (
            "_Z17__spirv_GroupIAddjjj",
            "uint",
            &["uint", "uint", "uint"],
            "%two %two %u",
            "OpGroupIAdd",
        ),
        // Which operation it is must be known.
        (
            "_Z17__spirv_GroupIAddjjj",
            "uint",
            &["uint", "uint", "uint"],
            "%two %u %u",
            CALL,
        ),
        ("_Z13__spirv_IsNanf", "bool", &["float"], "%f", "OpIsNan"),
        ("_Z13__spirv_IsNanf", "uint", &["float"], "%f", "OpSelect"),
        ("_Z13__spirv_Labelv", "uint", &["float"], "%f", CALL),
        ("__spirv_NoSuchThing", "uint", &["float"], "%f", CALL),
        ("__spirv_ocl_no_such_thing", "uint", &["float"], "%f", CALL),
        ("my_own", "uint", &["float"], "%f", CALL),
        // Strings that are not known are left out.
        (
            "__assert_fail",
            "void",
            &["global", "global", "uint", "global"],
            "%p %p %u %p",
            "printf",
        ),
    ] {
        let (lines, _) = outcome(&kernel(name, result, params, arguments));
        let text = lines.join("; ");
        assert!(text.contains(wanted), "{name}: {text}");
        assert_eq!(text.contains(CALL), wanted == CALL, "{name}: {text}");
    }
}

#[test]
fn imports_get_bodies() {
    for (name, result, params, arguments, given) in [
        ("__imf_invf", "float", &["float"][..], "%f", true),
        ("__imf_float2uint_rz", "uint", &["float"], "%f", true),
        ("__imf_float2uint_xy", "uint", &["float"], "%f", false),
        ("__imf_uint2float_rz", "uint", &["float"], "%f", false),
        ("__imf_brev", "uint", &["uint"], "%u", true),
        ("__devicelib_div", "uint", &["uint", "uint"], "%u %u", false),
        ("__devicelib_cexpf", "float", &["float"], "%f", false),
        ("__devicelib_memcpy", "global", &["global"], "%p", false),
    ] {
        let (_, imports) = outcome(&kernel(name, result, params, arguments));
        assert_eq!(imports, usize::from(!given), "{name}");
    }
}

#[test]
fn an_instruction_declares_what_it_needs() {
    let text = kernel(
        "_Z17__spirv_GroupIAddjjj",
        "uint",
        &["uint"; 3],
        "%two %two %u",
    );
    let module = Module::from_words(assemble(&text).unwrap().words).unwrap();
    let edited = run(&module).unwrap();
    let declarations = Declarations::new(&edited.module, &mut Diagnostics::new());
    assert!(declarations.has_capability(spirv::Capability::Groups));
}
