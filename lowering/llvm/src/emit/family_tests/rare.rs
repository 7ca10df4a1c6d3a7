//! Instructions that few modules have, and modules whose operands have the wrong type.

use super::*;
use splitbar_passes::module::assemble;

/// A shader that loads a vector `%a` and a scalar `%b` of unsigned integers, executes `body`, and
/// stores its `%result`, a vector.
fn shader(body: &str) -> Vec<u32> {
    assemble(&shader_text(body)).unwrap().words
}

fn shader_text(body: &str) -> String {
    format!(
        "OpCapability Shader
        OpCapability Kernel
        %glsl = OpExtInstImport \"GLSL.std.450\"
        %ballot = OpExtInstImport \"SPV_AMD_shader_ballot\"
        %minmax = OpExtInstImport \"SPV_AMD_shader_trinary_minmax\"
        %gcn = OpExtInstImport \"SPV_AMD_gcn_shader\"
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\" %buffer
        OpExecutionMode %main LocalSize 64 1 1
        OpDecorate %buffer DescriptorSet 0
        OpDecorate %buffer Binding 0
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        %void = OpTypeVoid
        %function = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %float = OpTypeFloat 32
        %vector = OpTypeVector %uint 4
        %floats = OpTypeVector %float 4
        %block = OpTypeStruct %vector
        %block_pointer = OpTypePointer StorageBuffer %block
        %vector_pointer = OpTypePointer StorageBuffer %vector
        %uint_pointer = OpTypePointer StorageBuffer %uint
        %buffer = OpVariable %block_pointer StorageBuffer
        %zero = OpConstant %uint 0
        %device = OpConstant %uint 1
        %main = OpFunction %void None %function
        %entry = OpLabel
        %place = OpAccessChain %vector_pointer %buffer %zero
        %first = OpAccessChain %uint_pointer %buffer %zero %zero
        %a = OpLoad %vector %place
        %b = OpLoad %uint %first
        {body}
        OpStore %place %result
        OpReturn
        OpFunctionEnd"
    )
}

#[test]
fn rare_instructions_select_everywhere() {
    for body in [
        "%result = OpCompositeConstructReplicateEXT %vector %b",
        "%result = OpSubgroupBlockReadINTEL %vector %first",
        "OpSubgroupBlockWriteINTEL %first %a\n %result = OpCopyObject %vector %a",
        "%result = OpUCountLeadingZerosINTEL %vector %a",
        "%result = OpUCountTrailingZerosINTEL %vector %a",
        "%result = OpIAddSatINTEL %vector %a %a",
        "%result = OpUSubSatINTEL %vector %a %a",
        "%result = OpAbsISubINTEL %vector %a %a",
        "%result = OpUAverageRoundedINTEL %vector %a %a",
        "%result = OpIAverageINTEL %vector %a %a",
        "%f = OpBitcast %floats %a\n %g = OpFmaKHR %floats %f %f %f\n %result = OpBitcast %vector %g",
    ] {
        for target in TARGETS {
            let lowered = lowered(shader(body), target, Optimization::O0)
                .unwrap_or_else(|e| panic!("{body} for {target}: {e}"));
            lowered
                .assembly()
                .unwrap_or_else(|e| panic!("{body} for {target}: {e}"));
        }
    }
}

/// On device memory the operations are instructions; with the host in scope they may be loops.
#[test]
fn atomics_of_the_device_are_no_loops() {
    for op in ["OpAtomicXor", "OpAtomicUMax", "OpAtomicISub"] {
        let body = format!(
            "%old = {op} %uint %first %device %zero %b\n %result = OpCopyObject %vector %a"
        );
        for target in TARGETS.into_iter().filter(|name| name.starts_with("gfx")) {
            let lowered = lowered(shader(&body), target, Optimization::O0)
                .unwrap_or_else(|e| panic!("{op} for {target}: {e}"));
            let text = lowered.assembly().unwrap();
            assert!(text.contains("_atomic_"), "{op} for {target}: {text}");
            assert!(!text.contains("cmpswap"), "{op} for {target}: {text}");
        }
    }
}

/// LLVM takes no integer where a float is asked for, and the other way round: that is the module's
/// mistake, not a bug.
#[test]
fn operands_of_the_wrong_kind_are_reported() {
    for body in [
        "%f = OpBitcast %floats %a\n %g = OpBitReverse %floats %f\n %result = OpBitcast %vector %g",
        "%result = OpExtInst %vector %glsl FMin %a %a",
        "%result = OpExtInst %vector %glsl Sqrt %a",
        "%f = OpBitcast %floats %a\n %g = OpExtInst %floats %glsl UMax %f %f\n %result = OpBitcast %vector %g",
        "%result = OpExtInst %vector %minmax FMin3AMD %a %a %a",
        "%result = OpExtInst %vector %ballot MbcntAMD %a",
        "%f = OpBitcast %floats %a\n %result = OpExtInst %vector %ballot SwizzleInvocationsMaskedAMD %a %f",
        "%result = OpExtInst %vector %ballot WriteInvocationAMD %a %b %b",
        "%result = OpExtInst %vector %gcn CubeFaceIndexAMD %a",
    ] {
        let problem = lowered(shader(body), "gfx1201", Optimization::O0)
            .err()
            .unwrap_or_else(|| panic!("{body} was lowered"));
        assert!(problem.contains("SB0106"), "{body}: {problem}");
    }
}

#[test]
fn an_unknown_value_of_no_type_of_values_is_for_nobody() {
    let unknown = |body: &str| {
        let text =
            shader_text(body).replace("%zero = ", "%endless = OpTypeRuntimeArray %uint\n %zero = ");
        lowered(assemble(&text).unwrap().words, "gfx1201", Optimization::O0)
    };
    unknown("%nothing = OpUndef %endless\n %result = OpCopyObject %vector %a").unwrap();
    let used = "%nothing = OpUndef %endless\n %x = OpCompositeExtract %uint %nothing 0\n %result = OpCompositeConstruct %vector %x %x %x %x";
    assert!(unknown(used).err().unwrap().contains("SB01"), "{used}");
}

#[test]
fn a_function_that_owes_a_value_returns_one() {
    let text = shader_text("%result = OpFunctionCall %vector %callee").replace(
        "OpFunctionEnd",
        "OpFunctionEnd
        %callee = OpFunction %vector None %returns_vector
        %body = OpLabel
        OpReturn
        OpFunctionEnd",
    );
    let text = text.replace(
        "%zero = ",
        "%returns_vector = OpTypeFunction %vector\n %zero = ",
    );
    let words = assemble(&text).unwrap().words;
    let problem = lowered(words, "gfx1201", Optimization::O0).err().unwrap();
    assert!(problem.contains("SB0106"), "{problem}");
}

/// A square quad takes rows of the workgroup that follow each other within a subgroup.
#[test]
fn derivatives_of_square_quads_need_short_rows() {
    let with_rows_of = |x: u32| {
        let text = shader_text(
            "%f = OpBitcast %floats %a\n %x = OpDPdx %floats %f\n %y = OpFwidthCoarse %floats %x\n %result = OpBitcast %vector %y",
        );
        let size = format!("LocalSize {x} 4 1\nOpExecutionMode %main DerivativeGroupQuadsKHR");
        let words = assemble(&text.replace("LocalSize 64 1 1", &size))
            .unwrap()
            .words;
        TARGETS.map(|target| {
            lowered(words.clone(), target, Optimization::O0)
                .and_then(|l| l.assembly().map_err(|e| e.to_string()))
        })
    };
    for result in with_rows_of(8) {
        result.unwrap();
    }
    for refused in with_rows_of(6) {
        assert!(refused.unwrap_err().contains("SB0300"));
    }
}

/// How many elements an invocation holds is the target's, so an index beyond them is no mistake;
/// nor is a saturating sum of floats, which have no overflow.
#[test]
fn what_only_the_target_knows_is_no_mistake_of_the_module() {
    let text = shader_text(
        "%x = OpBitcast %float %b
        %left = OpCompositeConstruct %matrix_a %x
        %right = OpCompositeConstruct %matrix_b %x
        %start = OpCompositeConstruct %matrix_c %x
        %sum = OpCooperativeMatrixMulAddKHR %matrix_c %left %right %start SaturatingAccumulationKHR
        %same = OpCompositeInsert %matrix_c %x %sum 1234
        %beyond = OpCompositeExtract %float %same 1234
        %element = OpCompositeExtract %float %same 0
        %each = OpCompositeConstruct %floats %element %element %element %beyond
        %result = OpBitcast %vector %each",
    );
    let matrices = "%zero = OpConstant %uint 0
        %one = OpConstant %uint 1
        %two = OpConstant %uint 2
        %three = OpConstant %uint 3
        %size = OpConstant %uint 16
        %matrix_a = OpTypeCooperativeMatrixKHR %float %three %size %size %zero
        %matrix_b = OpTypeCooperativeMatrixKHR %float %three %size %size %one
        %matrix_c = OpTypeCooperativeMatrixKHR %float %three %size %size %two";
    let text = text.replace("%zero = OpConstant %uint 0", matrices);
    for target in TARGETS {
        lowered(assemble(&text).unwrap().words, target, Optimization::O0)
            .unwrap_or_else(|e| panic!("{target}: {e}"));
    }
}

/// An array that is too long for registers, and that LDS has room for.
#[test]
fn private_arrays_stay_out_of_workgroup_memory() {
    let text = shader_text(
        "%masked = OpBitwiseAnd %uint %b %mask
        %element = OpAccessChain %p_number %array %masked
        OpStore %element %b
        %again = OpAccessChain %p_number %array %device
        %x = OpLoad %uint %again
        %result = OpCompositeConstruct %vector %x %x %x %x",
    );
    let declared = "%mask = OpConstant %uint 63
        %length = OpConstant %uint 64
        %numbers = OpTypeArray %uint %length
        %p_numbers = OpTypePointer Private %numbers
        %p_number = OpTypePointer Private %uint
        %array = OpVariable %p_numbers Private
        %main = ";
    let words = assemble(&text.replacen("%main = ", declared, 1)).unwrap();
    for target in [
        "gfx803", "gfx906", "gfx942", "gfx1030", "gfx1201", "gfx1250",
    ] {
        for optimization in [Optimization::O0, Optimization::O1, Optimization::O3] {
            let lowered = lowered(words.words.clone(), target, optimization).unwrap();
            let text = lowered.assembly().unwrap();
            let none = ".amdhsa_group_segment_fixed_size 0";
            assert!(text.contains(none), "{target} {optimization:?}:\n{text}");
        }
    }
}
