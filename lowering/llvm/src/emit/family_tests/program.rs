//! Program-scope data: one copy for all kernels, and addresses in its initializers.

use super::*;
use splitbar_passes::module::assemble;

/// Two kernels over `globals`; `body` is the first one's.
fn kernels(globals: &str, body: &str) -> Vec<u32> {
    let text = format!(
        "OpCapability Kernel
        OpCapability Addresses
        OpCapability Int64
        OpCapability GenericPointer
        OpCapability Float16Buffer
        OpCapability Int8
        OpMemoryModel Physical64 OpenCL
        OpEntryPoint Kernel %one \"one\"
        OpEntryPoint Kernel %two \"two\"
        %void = OpTypeVoid
        %uint = OpTypeInt 32 0
        %ulong = OpTypeInt 64 0
        %function = OpTypeFunction %void
        %global = OpTypePointer CrossWorkgroup %uint
        %local = OpTypePointer Workgroup %uint
        %generic = OpTypePointer Generic %uint
        %zero = OpConstant %uint 0
        %seven = OpConstant %uint 7
        %eight = OpConstant %ulong 8
        %one_u = OpConstant %uint 1
        %two_u = OpConstant %uint 2
        %four = OpConstant %uint 4
        %array = OpTypeArray %uint %four
        %array_pointer = OpTypePointer CrossWorkgroup %array
        %values = OpConstantComposite %array %zero %seven %two_u %four
        %table = OpVariable %array_pointer CrossWorkgroup %values
        %counter = OpVariable %global CrossWorkgroup %seven
        {globals}
        %one = OpFunction %void None %function
        %first = OpLabel
        {body}
        OpReturn
        OpFunctionEnd
        %two = OpFunction %void None %function
        %second = OpLabel
        %old = OpLoad %uint %counter Aligned 4
        %new = OpIAdd %uint %old %four
        OpStore %counter %new Aligned 4
        OpReturn
        OpFunctionEnd"
    );
    assemble(&text).unwrap().words
}

#[test]
fn kernels_share_program_scope_data() {
    for target in TARGETS {
        let words = kernels("", "OpStore %counter %zero Aligned 4");
        let lowered = lowered(words, target, Optimization::O0).unwrap();
        let ir = lowered.ir();
        let globals: Vec<&str> = ir.lines().filter(|line| line.starts_with('@')).collect();
        assert_eq!(globals.len(), 1, "{target}: {globals:?}");
        lowered.assembly().unwrap();
    }
}

/// The lines of the globals of a module, and that it selects everywhere.
fn initializers(globals: &str, body: &str) -> String {
    for target in TARGETS {
        let lowered = lowered(kernels(globals, body), target, Optimization::O0)
            .unwrap_or_else(|e| panic!("{globals} for {target}: {e}"));
        lowered.assembly().unwrap();
    }
    let ir = lowered(kernels(globals, body), "gfx906", Optimization::O0)
        .unwrap()
        .ir();
    ir.lines().filter(|line| line.starts_with('@')).collect()
}

#[test]
fn initializers_hold_addresses() {
    let of_variable = initializers(
        "%holder_type = OpTypePointer CrossWorkgroup %global
        %holder = OpVariable %holder_type CrossWorkgroup %counter",
        "%to = OpLoad %global %holder Aligned 8\n OpStore %to %zero Aligned 4",
    );
    assert!(
        of_variable.contains("<{ ptr addrspace(1) }>"),
        "{of_variable}"
    );

    let inside = initializers(
        "%struct = OpTypeStruct %uint %global %uint
        %struct_pointer = OpTypePointer CrossWorkgroup %struct
        %element = OpSpecConstantOp %global InBoundsPtrAccessChain %table %zero %two_u
        %fields = OpConstantComposite %struct %seven %element %four
        %holder = OpVariable %struct_pointer CrossWorkgroup %fields
        %member = OpTypePointer CrossWorkgroup %global",
        "%place = OpInBoundsPtrAccessChain %member %holder %zero %one_u
        %to = OpLoad %global %place Aligned 8\n OpStore %to %zero Aligned 4",
    );
    assert!(
        inside.contains("<{ [8 x i8], ptr addrspace(1), [8 x i8] }>") && inside.contains("i64 8)"),
        "{inside}"
    );
}

#[test]
fn null_is_a_generic_address() {
    let holder = initializers(
        "%private = OpTypePointer Function %uint
        %nowhere = OpConstantNull %private
        %null = OpSpecConstantOp %generic PtrCastToGeneric %nowhere
        %struct = OpTypeStruct %uint %generic
        %struct_pointer = OpTypePointer CrossWorkgroup %struct
        %fields = OpConstantComposite %struct %seven %null
        %holder = OpVariable %struct_pointer CrossWorkgroup %fields",
        "%place = OpInBoundsPtrAccessChain %global %holder %zero %zero
        %x = OpLoad %uint %place Aligned 4\n OpStore %counter %x Aligned 4",
    );
    assert!(holder.contains("ptr null"), "{holder}");
}

#[test]
fn constants_in_functions_hold_addresses() {
    let words = |target: &str| {
        let globals = "%shared = OpVariable %local Workgroup
            %any = OpSpecConstantOp %generic PtrCastToGeneric %shared
            %number = OpSpecConstantOp %ulong ConvertPtrToU %counter
            %further = OpSpecConstantOp %ulong IAdd %number %eight
            %there = OpSpecConstantOp %global ConvertUToPtr %further";
        let body = "OpStore %any %seven Aligned 4\n OpStore %there %zero Aligned 4";
        lowered(kernels(globals, body), target, Optimization::O0)
    };
    // gfx6 has no generic addresses.
    for target in TARGETS.into_iter().filter(|name| *name != "gfx600") {
        let lowered = words(target).unwrap_or_else(|e| panic!("{target}: {e}"));
        lowered.assembly().unwrap();
    }
}

#[test]
fn what_no_loader_can_fill_in_is_refused() {
    for (globals, body, code) in [
        (
            "%number = OpSpecConstantOp %ulong ConvertPtrToU %counter
            %twice = OpSpecConstantOp %ulong IMul %number %eight
            %there = OpSpecConstantOp %global ConvertUToPtr %twice",
            "OpStore %there %zero Aligned 4",
            "SB0300",
        ),
        (
            "%shared = OpVariable %local Workgroup
            %holder_type = OpTypePointer CrossWorkgroup %local
            %holder = OpVariable %holder_type CrossWorkgroup %shared",
            "%to = OpLoad %local %holder Aligned 8\n OpStore %to %zero Aligned 4",
            "SB0300",
        ),
    ] {
        let problem = lowered(kernels(globals, body), "gfx906", Optimization::O0)
            .err()
            .unwrap_or_else(|| panic!("{globals} was lowered"));
        assert!(problem.contains(code), "{globals}: {problem}");
    }
}

/// A cast to a pointer to a vector says nothing of alignment; the access does.
#[test]
fn an_access_through_a_cast_is_aligned_as_it_says() {
    let body = "%cast = OpBitcast %pair_pointer %counter
        %pair_of = OpLoad %pair %cast Aligned 4
        OpStore %cast %pair_of Aligned 4";
    let globals = "%pair = OpTypeVector %uint 2
        %pair_pointer = OpTypePointer CrossWorkgroup %pair
        %given = OpTypeFunction %void %global";
    for (from, want) in [("%parameter", "align 4"), ("%counter", "align 16")] {
        let text = body.replace("%counter", from);
        let function = "%helper = OpFunction %void None %given
            %parameter = OpFunctionParameter %global
            %start = OpLabel
            BODY
            OpReturn
            OpFunctionEnd"
            .replace("BODY", &text);
        let call = "%called = OpFunctionCall %void %helper %counter";
        let words = kernels(&format!("{globals}\n{function}"), call);
        let ir = lowered(words, "sm_80", Optimization::O0)
            .unwrap()
            .unoptimized();
        let load = ir.lines().find(|line| line.contains("= load <2 x i32>"));
        assert!(
            load.is_some_and(|line| line.ends_with(want)),
            "{from}: {load:?}"
        );
    }
}

#[test]
fn a_parameter_that_no_host_can_pass_is_reported_once() {
    let words = assemble(
        "OpCapability Kernel
        OpCapability Addresses
        OpCapability DeviceEnqueue
        OpMemoryModel Physical64 OpenCL
        OpEntryPoint Kernel %main \"main\"
        %void = OpTypeVoid
        %uint = OpTypeInt 32 0
        %queue = OpTypeQueue
        %function = OpTypeFunction %void %queue
        %main = OpFunction %void None %function
        %given = OpFunctionParameter %queue
        %entry = OpLabel
        %copy = OpCopyObject %queue %given
        OpReturn
        OpFunctionEnd",
    )
    .unwrap()
    .words;
    let problem = lowered(words, "gfx1201", Optimization::O0).err().unwrap();
    assert!(
        problem.contains("SB0302") && !problem.contains("SB0100"),
        "{problem}"
    );
}

#[test]
fn private_arrays_have_elements_of_the_narrowest_scalar() {
    let slot = |declarations: &str| {
        let globals = format!(
            "{declarations}
            %private = OpTypePointer Function %object
            %null = OpConstantNull %object"
        );
        let body = "%slot = OpVariable %private Function
            OpStore %slot %null Volatile";
        let lowered = lowered(kernels(&globals, body), "sm_90", Optimization::O0).unwrap();
        let ir = lowered.ir();
        let slot = ir.lines().find(|line| line.contains("= alloca "));
        slot.unwrap().trim().to_owned()
    };
    for (declarations, wanted) in [
        ("%object = OpTypeArray %uint %four", "[4 x i32]"),
        (
            "%float = OpTypeFloat 32
            %four_floats = OpTypeVector %float 4
            %rows = OpTypeArray %four_floats %four
            %object = OpTypeStruct %rows %ulong",
            "[20 x i32]",
        ),
        (
            "%half = OpTypeFloat 16
            %object = OpTypeStruct %half %uint",
            "[4 x i16]",
        ),
        (
            "%byte = OpTypeInt 8 0
            %object = OpTypeStruct %uint %byte",
            "[8 x i8]",
        ),
    ] {
        let found = slot(declarations);
        assert!(found.contains(wanted), "{declarations}: {found}");
    }
}
