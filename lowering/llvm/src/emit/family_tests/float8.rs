//! The 8-bit floats of OCP: which instructions convert them on each generation.

use super::*;
use splitbar_passes::module::assemble;

/// A shader that narrows four floats and widens the codes again.
fn shader(format: &str, saturated: bool) -> Vec<u32> {
    let decoration = if saturated {
        "OpDecorate %small SaturatedToLargestFloat8NormalConversionEXT"
    } else {
        ""
    };
    let text = format!(
        "OpCapability Shader
        OpCapability Float8EXT
        OpExtension \"SPV_EXT_float8\"
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\" %buffer
        OpExecutionMode %main LocalSize 64 1 1
        OpDecorate %buffer DescriptorSet 0
        OpDecorate %buffer Binding 0
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        OpMemberDecorate %block 1 Offset 16
        {decoration}
        %void = OpTypeVoid
        %function = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %float = OpTypeFloat 32
        %float8 = OpTypeFloat 8 {format}
        %floats = OpTypeVector %float 4
        %floats8 = OpTypeVector %float8 4
        %block = OpTypeStruct %floats %uint
        %block_pointer = OpTypePointer StorageBuffer %block
        %floats_pointer = OpTypePointer StorageBuffer %floats
        %uint_pointer = OpTypePointer StorageBuffer %uint
        %buffer = OpVariable %block_pointer StorageBuffer
        %zero = OpConstant %uint 0
        %one = OpConstant %uint 1
        %main = OpFunction %void None %function
        %entry = OpLabel
        %place = OpAccessChain %floats_pointer %buffer %zero
        %code_place = OpAccessChain %uint_pointer %buffer %one
        %old = OpLoad %uint %code_place
        %given = OpBitcast %floats8 %old
        %wide = OpFConvert %floats %given
        %numbers = OpLoad %floats %place
        %small = OpFConvert %floats8 %numbers
        %codes = OpBitcast %uint %small
        OpStore %code_place %codes
        OpStore %place %wide
        OpReturn
        OpFunctionEnd"
    );
    assemble(&text).unwrap().words
}

/// A target and how its instructions for E4M3 and for E5M2 begin: narrowing, widening.
type Row = (&'static str, [[&'static str; 2]; 2]);

const AMD: [[&str; 2]; 2] = [
    ["v_cvt_pk_fp8_f32", "v_cvt_pk_f32_fp8"],
    ["v_cvt_pk_bf8_f32", "v_cvt_pk_f32_bf8"],
];
const NVIDIA: [[&str; 2]; 2] = [
    ["cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.f16x2.e4m3x2"],
    ["cvt.rn.satfinite.e5m2x2.f32", "cvt.rn.f16x2.e5m2x2"],
];

const NATIVE: [Row; 9] = [
    ("gfx950", AMD),
    ("gfx1170", AMD),
    ("gfx11-7-generic", AMD),
    ("gfx1201", AMD),
    ("gfx12-generic", AMD),
    ("gfx1250", AMD),
    ("gfx12-5-generic", AMD),
    ("sm_89", NVIDIA),
    ("sm_90", NVIDIA),
];

/// gfx942 has instructions of these names for formats of other numbers (FNUZ).
const SOFTWARE: [&str; 7] = [
    "gfx906",
    "gfx942",
    "gfx9-4-generic",
    "gfx1100",
    "sm_75",
    "sm_80",
    "sm_88",
];

const FORMATS: [&str; 2] = ["Float8E4M3EXT", "Float8E5M2EXT"];

fn assembly(target: &str, format: &str, saturated: bool) -> String {
    lowered(shader(format, saturated), target, Optimization::O2)
        .unwrap_or_else(|e| panic!("{target}: {e}"))
        .assembly()
        .unwrap_or_else(|e| panic!("{target}: {e}"))
}

/// Four numbers are two conversions each way, saturated or not.
#[test]
fn conversions_are_instructions_where_the_formats_are_those_of_ocp() {
    for (target, instructions) in NATIVE {
        for (format, wanted) in FORMATS.into_iter().zip(instructions) {
            for saturated in [false, true] {
                let text = assembly(target, format, saturated);
                for instruction in wanted {
                    let count = text.matches(instruction).count();
                    assert_eq!(count, 2, "{instruction} for {target}:\n{text}");
                }
            }
        }
    }
}

#[test]
fn other_formats_and_older_targets_compute() {
    for target in SOFTWARE {
        for format in FORMATS {
            let text = assembly(target, format, true);
            for word in ["fp8", "bf8", "e4m3", "e5m2"] {
                assert!(!text.contains(word), "{word} for {target}:\n{text}");
            }
        }
    }
}
