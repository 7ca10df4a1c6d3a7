//! Tensors: every target has code for them, coherent elements are atomic accesses, and what is not
//! lowered is refused.

use super::*;
use splitbar_passes::module::assemble;

/// A shader whose tensor `%loaded` is of the type `ty`; `%at` are its coordinates, of as many
/// dimensions as `rank` says.
fn shader(ty: &str, rank: u32, declared: &str, body: &str) -> Vec<u32> {
    let zeros = "%zero ".repeat(rank.min(64) as usize);
    let text = format!(
        "OpCapability Shader
        OpCapability VulkanMemoryModel
        OpCapability TensorsARM
        OpExtension \"SPV_ARM_tensors\"
        OpMemoryModel Logical Vulkan
        OpEntryPoint GLCompute %main \"main\"
        OpExecutionMode %main LocalSize 64 1 1
        OpDecorate %variable DescriptorSet 0
        OpDecorate %variable Binding 0
        %void = OpTypeVoid
        %function = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %long = OpTypeInt 64 0
        %float = OpTypeFloat 32
        %zero = OpConstant %uint 0
        %one = OpConstant %uint 1
        %two = OpConstant %uint 2
        %half = OpConstant %float 0.5
        %many = OpConstant %uint 5000
        %rank = OpConstant %uint {rank}
        %coordinates = OpTypeArray %uint %rank
        %at = OpConstantComposite %coordinates {zeros}
        %tensor = OpTypeTensorARM {ty}
        %to_tensor = OpTypePointer UniformConstant %tensor
        %variable = OpVariable %to_tensor UniformConstant
        {declared}
        %main = OpFunction %void None %function
        %entry = OpLabel
        {body}
        OpReturn
        OpFunctionEnd"
    );
    assemble(&text).unwrap().words
}

fn ir(words: Vec<u32>, target: &str) -> String {
    lowered(words, target, Optimization::O0).unwrap().ir()
}

#[test]
fn all_targets_read_and_write_elements() {
    let body = "%loaded = OpLoad %tensor %variable
        %size = OpTensorQuerySizeARM %long %loaded %one
        %value = OpTensorReadARM %float %loaded %at OutOfBoundsValueARM|NontemporalARM %half
        OpTensorWriteARM %loaded %at %value";
    for target in TARGETS {
        for level in [Optimization::O0, Optimization::O2] {
            let lowered = lowered(shader("%float %rank", 3, "", body), target, level).unwrap();
            lowered.assembly().unwrap();
        }
    }
}

#[test]
fn elements_are_available_and_visible_in_their_scope() {
    let read = "%loaded = OpLoad %tensor %variable
        %value = OpTensorReadARM %float %loaded %at MakeElementVisibleARM|NonPrivateElementARM %one
        OpTensorWriteARM %loaded %at %value MakeElementAvailableARM|NonPrivateElementARM %one";
    let words = shader("%float %rank", 2, "", read);
    for (target, scope) in [("gfx1100", "agent"), ("sm_90", "device")] {
        let ir = ir(words.clone(), target);
        for access in ["load atomic", "store atomic"] {
            let line = ir.lines().find(|line| line.contains(access));
            let line = line.unwrap_or_else(|| panic!("{access}:\n{ir}"));
            assert!(line.contains(&format!("syncscope(\"{scope}\")")), "{line}");
        }
    }
}

#[test]
fn what_is_not_lowered_is_refused() {
    let load = "%loaded = OpLoad %tensor %variable";
    let read = "%loaded = OpLoad %tensor %variable
        %value = OpTensorReadARM %float %loaded %at";
    let size = "%loaded = OpLoad %tensor %variable
        %size = OpTensorQuerySizeARM %uint %loaded %zero";
    let composite = "%shape = OpConstantComposite %coordinates %one %two
        %shaped = OpTypeTensorARM %float %rank %shape
        %constant = OpConstantNull %shaped";
    let constant = "%value = OpTensorReadARM %float %constant %at";
    let local = "%to_local = OpTypePointer Function %tensor";
    let copied = "%local = OpVariable %to_local Function
        %loaded = OpLoad %tensor %variable
        OpStore %local %loaded";
    let huge = "%big = OpConstant %uint 0x80000000
        %wide = OpTypeTensorARM %float %big
        %to_wide = OpTypePointer UniformConstant %wide
        %other = OpVariable %to_wide UniformConstant";
    let of_huge = "%loaded = OpLoad %wide %other
        %size = OpTensorQuerySizeARM %uint %loaded %zero";
    let long = "%row = OpTypeArray %float %many";
    let shorter = "%several = OpConstant %uint 513
        %row = OpTypeArray %float %several";
    let row = "%loaded = OpLoad %tensor %variable
        %value = OpTensorReadARM %row %loaded %at";
    for (ty, rank, declared, body, code) in [
        ("%float", 1, "", load, "SB0305"),
        ("%float %rank", 33, "", read, "SB0382"),
        ("%float %rank", 33, "", size, "SB0382"),
        ("%float %rank", 2, huge, of_huge, "SB0382"),
        ("%float %rank", 2, composite, constant, "SB0302"),
        ("%float %rank", 2, local, copied, "SB0302"),
        ("%float %rank", 2, long, row, "SB0302"),
        ("%float %rank", 2, shorter, row, "SB0382"),
    ] {
        let words = shader(ty, rank, declared, body);
        for target in ["gfx1201", "sm_90"] {
            let problem = lowered(words.clone(), target, Optimization::O0).err();
            let problem = problem.unwrap_or_else(|| panic!("{body} is lowered"));
            assert!(problem.contains(code), "{body}: {problem}");
        }
    }
    // As many dimensions as are lowered.
    let words = shader("%float %rank", 32, "", read);
    lowered(words, "gfx1201", Optimization::O0).unwrap();
}

/// What the rules refuse does not reach LLVM either, where they are waived.
#[test]
fn what_does_not_fit_is_a_mismatch() {
    for (ty, rank, body) in [
        (
            "%float %zero",
            1,
            "%value = OpTensorReadARM %float %loaded %at",
        ),
        (
            "%float %two",
            1,
            "%value = OpTensorReadARM %float %loaded %at",
        ),
        (
            "%float %two",
            2,
            "%value = OpTensorReadARM %uint %loaded %at",
        ),
        (
            "%float %two",
            2,
            "%value = OpTensorReadARM %float %loaded %one",
        ),
        (
            "%float %two",
            2,
            "%value = OpTensorReadARM %float %half %at",
        ),
        ("%float %two", 2, "OpTensorWriteARM %loaded %at %one"),
        (
            "%float %two",
            2,
            "%value = OpTensorQuerySizeARM %uint %loaded %two",
        ),
        (
            "%float %two",
            2,
            "%value = OpTensorQuerySizeARM %float %loaded %one",
        ),
        (
            "%float %two",
            2,
            "%value = OpTensorReadARM %float %loaded %at OutOfBoundsValueARM %one",
        ),
    ] {
        let body = format!("%loaded = OpLoad %tensor %variable\n{body}");
        let problem = lowered(shader(ty, rank, "", &body), "gfx1201", Optimization::O0).err();
        let problem = problem.unwrap_or_else(|| panic!("{ty}, {body} is lowered"));
        assert!(problem.contains("SB0106"), "{body}: {problem}");
    }
}
