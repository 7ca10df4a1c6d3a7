//! Cooperative matrices: which products become which instruction, and that all others select as shuffles.

use super::*;
use splitbar_passes::module::assemble;

/// `D = A * B + C` for one subgroup, rows by columns and `depth` products deep; `factor` and `sum` are types of elements with their bytes.
fn product(
    factor: (&str, u32),
    sum: (&str, u32),
    [rows, columns, depth]: [u32; 3],
    signed: bool,
) -> Vec<u32> {
    product_of(3, factor, sum, [rows, columns, depth], signed)
}

/// The same for the scope with this number.
fn product_of(
    scope: u32,
    factor: (&str, u32),
    sum: (&str, u32),
    [rows, columns, depth]: [u32; 3],
    signed: bool,
) -> Vec<u32> {
    let (factor_type, factor_bytes) = factor;
    let (sum_type, sum_bytes) = sum;
    let operands = if signed {
        "MatrixASignedComponentsKHR|MatrixBSignedComponentsKHR|MatrixCSignedComponentsKHR|MatrixResultSignedComponentsKHR"
    } else {
        ""
    };
    let text = format!(
        "OpCapability Shader
        OpCapability CooperativeMatrixKHR
        OpExtension \"SPV_KHR_cooperative_matrix\"
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\" %a %b %c
        OpExecutionMode %main LocalSize 64 1 1
        OpDecorate %a DescriptorSet 0
        OpDecorate %a Binding 0
        OpDecorate %b DescriptorSet 0
        OpDecorate %b Binding 1
        OpDecorate %c DescriptorSet 0
        OpDecorate %c Binding 2
        OpDecorate %factors ArrayStride {factor_bytes}
        OpDecorate %sums ArrayStride {sum_bytes}
        OpDecorate %factor_block Block
        OpMemberDecorate %factor_block 0 Offset 0
        OpDecorate %sum_block Block
        OpMemberDecorate %sum_block 0 Offset 0
        %void = OpTypeVoid
        %function = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %factor = {factor_type}
        %sum = {sum_type}
        %factors = OpTypeRuntimeArray %factor
        %sums = OpTypeRuntimeArray %sum
        %factor_block = OpTypeStruct %factors
        %sum_block = OpTypeStruct %sums
        %factor_block_pointer = OpTypePointer StorageBuffer %factor_block
        %sum_block_pointer = OpTypePointer StorageBuffer %sum_block
        %factor_pointer = OpTypePointer StorageBuffer %factor
        %sum_pointer = OpTypePointer StorageBuffer %sum
        %a = OpVariable %factor_block_pointer StorageBuffer
        %b = OpVariable %factor_block_pointer StorageBuffer
        %c = OpVariable %sum_block_pointer StorageBuffer
        %0 = OpConstant %uint 0
        %scope = OpConstant %uint {scope}
        %use_b = OpConstant %uint 1
        %use_sum = OpConstant %uint 2
        %rows = OpConstant %uint {rows}
        %columns = OpConstant %uint {columns}
        %depth = OpConstant %uint {depth}
        %matrix_a = OpTypeCooperativeMatrixKHR %factor %scope %rows %depth %0
        %matrix_b = OpTypeCooperativeMatrixKHR %factor %scope %depth %columns %use_b
        %matrix_c = OpTypeCooperativeMatrixKHR %sum %scope %rows %columns %use_sum
        %main = OpFunction %void None %function
        %entry = OpLabel
        %place_a = OpAccessChain %factor_pointer %a %0 %0
        %place_b = OpAccessChain %factor_pointer %b %0 %0
        %place_c = OpAccessChain %sum_pointer %c %0 %0
        %value_a = OpCooperativeMatrixLoadKHR %matrix_a %place_a %0 %depth
        %value_b = OpCooperativeMatrixLoadKHR %matrix_b %place_b %use_b %depth
        %value_c = OpCooperativeMatrixLoadKHR %matrix_c %place_c %0 %columns
        %value_d = OpCooperativeMatrixMulAddKHR %matrix_c %value_a %value_b %value_c {operands}
        OpCooperativeMatrixStoreKHR %place_c %value_d %0 %columns
        OpReturn
        OpFunctionEnd"
    );
    assemble(&text.replace("%0", "%zero")).unwrap().words
}

const F16: (&str, u32) = ("OpTypeFloat 16", 2);
const F32: (&str, u32) = ("OpTypeFloat 32", 4);
const F64: (&str, u32) = ("OpTypeFloat 64", 8);
const I8: (&str, u32) = ("OpTypeInt 8 1", 1);
const I32: (&str, u32) = ("OpTypeInt 32 1", 4);

fn assembly(words: Vec<u32>, target: &str) -> String {
    lowered(words, target, Optimization::O2)
        .and_then(|lowered| lowered.assembly().map_err(|e| e.to_string()))
        .unwrap_or_else(|e| panic!("{target}: {e}"))
}

/// How often the assembly has a line with `mnemonic`.
fn count(assembly: &str, mnemonic: &str) -> usize {
    assembly
        .lines()
        .filter(|line| line.contains(mnemonic))
        .count()
}

#[test]
fn products_are_instructions_where_there_are_any() {
    for (target, factor, sum, shape, mnemonic, times) in [
        (
            "gfx908",
            F16,
            F32,
            [16, 16, 16],
            "v_mfma_f32_16x16x16f16",
            1,
        ),
        (
            "gfx942",
            F32,
            F32,
            [16, 16, 16],
            "v_mfma_f32_16x16x4_f32",
            4,
        ),
        (
            "gfx950",
            F16,
            F32,
            [16, 16, 32],
            "v_mfma_f32_16x16x32_f16",
            1,
        ),
        ("gfx950", I8, I32, [16, 16, 32], "v_mfma_i32_16x16x32_i8", 1),
        (
            "gfx1100",
            F16,
            F32,
            [16, 16, 16],
            "v_wmma_f32_16x16x16_f16",
            1,
        ),
        (
            "gfx1100",
            I8,
            I32,
            [16, 16, 16],
            "v_wmma_i32_16x16x16_iu8",
            1,
        ),
        (
            "gfx1170",
            F16,
            F32,
            [16, 16, 16],
            "v_wmma_f32_16x16x16_f16",
            1,
        ),
        (
            "gfx1201",
            F16,
            F32,
            [32, 32, 32],
            "v_wmma_f32_16x16x16_f16",
            8,
        ),
        (
            "gfx1201",
            I8,
            I32,
            [16, 16, 32],
            "v_wmma_i32_16x16x16_iu8",
            2,
        ),
        (
            "gfx1250",
            F16,
            F32,
            [16, 16, 16],
            "v_wmma_f32_16x16x32_f16",
            1,
        ),
        (
            "gfx1250",
            I8,
            I32,
            [16, 16, 64],
            "v_wmma_i32_16x16x64_iu8",
            1,
        ),
        (
            "sm_75",
            F16,
            F32,
            [16, 16, 16],
            "mma.sync.aligned.m16n8k8",
            4,
        ),
        (
            "sm_80",
            F16,
            F16,
            [16, 16, 16],
            "mma.sync.aligned.m16n8k16",
            2,
        ),
        (
            "sm_90",
            I8,
            I32,
            [16, 16, 32],
            "mma.sync.aligned.m16n8k32",
            2,
        ),
    ] {
        let text = assembly(product(factor, sum, shape, true), target);
        assert_eq!(count(&text, mnemonic), times, "{target} {shape:?}:\n{text}");
        assert_eq!(
            count(&text, "bpermute") + count(&text, "shfl"),
            0,
            "{target}"
        );
    }
}

#[test]
fn products_select_everywhere() {
    for target in TARGETS {
        for (factor, sum, shape) in [
            (F16, F32, [16, 16, 16]),
            (F32, F32, [3, 5, 7]),
            (F64, F64, [8, 8, 4]),
            (I8, I32, [8, 32, 16]),
            (F16, F16, [4, 2, 1]),
        ] {
            let text = assembly(product(factor, sum, shape, false), target);
            assert!(text.contains("main"), "{target}");
        }
    }
}

/// Two waves of a workgroup share the rows of A and of the result; B is whole in both. Four waves have one row block each, and of 16 rows one wave stores.
#[test]
fn a_workgroup_cuts_its_matrices_into_rows() {
    let tiles = |scope, shape| {
        let text = assembly(product_of(scope, F16, F32, shape, false), "gfx1201");
        (
            count(&text, "v_wmma_f32_16x16x16_f16"),
            count(&text, "global_store"),
        )
    };
    let (subgroup, workgroup) = (tiles(3, [32, 32, 32]), tiles(2, [32, 32, 32]));
    assert_eq!((subgroup.0, workgroup.0), (8, 4));
    assert_eq!(subgroup.1, 2 * workgroup.1);
    assert_eq!(tiles(2, [16, 16, 16]).0, 1);
    for target in TARGETS {
        for shape in [[16, 16, 16], [64, 32, 32], [8, 8, 8]] {
            assembly(product_of(2, F16, F32, shape, false), target);
        }
    }
}
