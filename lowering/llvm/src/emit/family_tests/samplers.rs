//! Samples and gathers: what they become on each vendor's GPUs, and what is refused.

use super::*;
use splitbar_passes::module::assemble;

/// A shader that samples `%loaded`, an image of this shape with a sampler, by `body`.
fn shader(component: &str, image: &str, body: &str) -> Vec<u32> {
    // A type is declared once.
    let (four, vector) = match component {
        "float" => ("", "%vec4"),
        _ => ("%four = OpTypeVector %float 4", "%four"),
    };
    let text = format!(
        "OpCapability Shader
        OpCapability ImageGatherExtended
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\"
        OpExecutionMode %main LocalSize 64 1 1
        OpDecorate %variable DescriptorSet 0
        OpDecorate %variable Binding 0
        OpDecorate %out DescriptorSet 0
        OpDecorate %out Binding 1
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        %void = OpTypeVoid
        %function = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %int = OpTypeInt 32 1
        %float = OpTypeFloat 32
        %vec2 = OpTypeVector %float 2
        %vec3 = OpTypeVector %float 3
        {four}
        %vec4 = OpTypeVector %{component} 4
        %int2 = OpTypeVector %int 2
        %zero = OpConstant %uint 0
        %one = OpConstant %uint 1
        %five = OpConstant %int 5
        %minus = OpConstant %int -8
        %half = OpConstant %float 0.5
        %level = OpConstant %float 2.25
        %at1 = OpConstant %float 0.75
        %at2 = OpConstantComposite %vec2 %half %half
        %at3 = OpConstantComposite %vec3 %half %half %half
        %at4 = OpConstantComposite {vector} %half %half %half %half
        %moved = OpConstantComposite %int2 %minus %five
        %block = OpTypeStruct %vec4
        %to_block = OpTypePointer StorageBuffer %block
        %to_vec4 = OpTypePointer StorageBuffer %vec4
        %out = OpVariable %to_block StorageBuffer
        %image = OpTypeImage %{component} {image}
        %combined = OpTypeSampledImage %image
        %to_combined = OpTypePointer UniformConstant %combined
        %variable = OpVariable %to_combined UniformConstant
        %main = OpFunction %void None %function
        %entry = OpLabel
        %loaded = OpLoad %combined %variable
        {body}
        %place = OpAccessChain %to_vec4 %out %zero
        OpStore %place %value
        OpReturn
        OpFunctionEnd"
    );
    assemble(&text).unwrap().words
}

const PLANE: &str = "Dim2D 0 0 0 1 Unknown";
const SAMPLE: &str = "%value = OpImageSampleExplicitLod %vec4 %loaded %at2 Lod %level";
const GATHER: &str = "%value = OpImageGather %vec4 %loaded %at2 %one";
const MOVED: &str =
    "%value = OpImageSampleExplicitLod %vec4 %loaded %at2 Lod|ConstOffset %level %moved";
const GRADIENTS: &str = "%value = OpImageSampleExplicitLod %vec4 %loaded %at2 Grad %at2 %at2";
const LEAST: &str = "%value = OpImageSampleExplicitLod %vec4 %loaded %at2 Grad|ConstOffset|MinLod %at2 %at2 %moved %half";
const INTEGERS: &str = "%value = OpImageSampleExplicitLod %vec4 %loaded %moved Lod %level";
const COMPARED: &str = "%depth = OpImageSampleDrefExplicitLod %float %loaded %at2 %half Lod %level
    %value = OpCompositeConstruct %vec4 %depth %depth %depth %depth";
const GATHERED_DEPTHS: &str = "%value = OpImageDrefGather %vec4 %loaded %at2 %half";

#[test]
fn each_is_one_instruction_of_the_target() {
    for (component, image, body, amd, nvidia) in [
        (
            "float",
            PLANE,
            SAMPLE,
            "image_sample_l ",
            "tex.level.2d.v4.f32.f32",
        ),
        (
            "uint",
            PLANE,
            SAMPLE,
            "image_sample_l ",
            "tex.level.2d.v4.u32.f32",
        ),
        (
            "int",
            PLANE,
            SAMPLE,
            "image_sample_l ",
            "tex.level.2d.v4.s32.f32",
        ),
        (
            "float",
            PLANE,
            GATHER,
            "image_gather4_lz ",
            "tld4.g.2d.v4.f32.f32",
        ),
        (
            "float",
            PLANE,
            MOVED,
            "image_sample_l_o ",
            "tex.level.2d.v4.f32.f32",
        ),
        (
            "float",
            PLANE,
            COMPARED,
            "image_sample_c_l ",
            "tex.level.2d.v4.f32.f32",
        ),
        (
            "float",
            PLANE,
            GATHERED_DEPTHS,
            "image_gather4_c_lz ",
            "tld4.r.2d.v4.f32.f32",
        ),
        (
            "float",
            PLANE,
            GRADIENTS,
            "image_sample_d",
            "tex.grad.2d.v4.f32.f32",
        ),
        ("float", PLANE, LEAST, "image_sample_d_cl_o", ""),
        (
            "float",
            PLANE,
            INTEGERS,
            "image_sample_l ",
            "tex.level.2d.v4.f32.f32",
        ),
        (
            "float",
            "DimCube 0 0 0 1 Unknown",
            "%value = OpImageSampleExplicitLod %vec4 %loaded %at3 Lod %level",
            "image_sample_l ",
            "tex.level.cube.v4.f32.f32",
        ),
        (
            "float",
            "DimCube 0 0 0 1 Unknown",
            "%value = OpImageSampleExplicitLod %vec4 %loaded %at3 Grad %at3 %at3",
            "image_sample_d",
            "tex.grad.cube.v4.f32.f32",
        ),
        (
            "float",
            "DimCube 0 1 0 1 Unknown",
            "%value = OpImageGather %vec4 %loaded %at4 %one",
            "image_gather4_lz ",
            "tld4.g.acube.v4.f32.f32",
        ),
        (
            "float",
            "Dim3D 0 0 0 1 Unknown",
            "%value = OpImageSampleExplicitLod %vec4 %loaded %at3 Grad %at3 %at3",
            "image_sample_d",
            "tex.grad.3d.v4.f32.f32",
        ),
        (
            "float",
            "Dim3D 0 0 0 1 Unknown",
            "%value = OpImageSampleExplicitLod %vec4 %loaded %at3 Lod %level",
            "image_sample_l ",
            "tex.level.3d.v4.f32.f32",
        ),
        (
            "float",
            "Dim2D 0 1 0 1 Unknown",
            "%value = OpImageSampleExplicitLod %vec4 %loaded %at3 Lod %level",
            "image_sample_l ",
            "tex.level.a2d.v4.f32.f32",
        ),
        (
            "float",
            "Dim1D 0 0 0 1 Unknown",
            "%value = OpImageSampleExplicitLod %vec4 %loaded %at1 Lod %level",
            "image_sample_l ",
            "tex.level.1d.v4.f32.f32",
        ),
    ] {
        let words = shader(component, image, body);
        for target in TARGETS {
            for level in [Optimization::O0, Optimization::O2] {
                let wanted = if target.starts_with("sm") {
                    nvidia
                } else {
                    amd
                };
                let result = lowered(words.clone(), target, level);
                if wanted.is_empty() || target == "gfx1250" {
                    let problem = result.err().unwrap();
                    assert!(problem.contains("SB0307"), "{target}, {body}: {problem}");
                    continue;
                }
                let text = result.unwrap().assembly().unwrap();
                assert!(text.contains(wanted), "{target}, {wanted}:\n{text}");
            }
        }
    }
    // Six bits with a sign for each direction.
    let ir = lowered(shader("float", PLANE, MOVED), "gfx1100", Optimization::O2);
    let ir = ir.unwrap().ir();
    assert!(ir.contains(&format!("i32 {}", 0x38 | 5 << 8)), "{ir}");
}

#[test]
fn what_is_not_sampled_is_refused() {
    for (image, body, code, what) in [
        (
            PLANE,
            "%value = OpImageSampleExplicitLod %vec4 %loaded %at2 Sample %five",
            "SB0106",
            "image operand",
        ),
        (
            PLANE,
            "%value = OpImageSampleImplicitLod %vec4 %loaded %at2",
            "SB0300",
            "derivative group",
        ),
        (
            PLANE,
            "%value = OpImageSampleExplicitLod %vec4 %loaded %at2 ConstOffset %moved",
            "SB0106",
            "level of detail",
        ),
        (
            "Dim3D 0 0 0 1 Unknown",
            "%value = OpImageGather %vec4 %loaded %at3 %one",
            "SB0106",
            "gather",
        ),
        (
            PLANE,
            "%value = OpImageGather %vec4 %loaded %at2 %five",
            "SB0106",
            "0 to 3",
        ),
        (
            PLANE,
            "%value = OpImageSampleExplicitLod %vec4 %loaded %half Lod %level",
            "SB0106",
            "coordinates",
        ),
        (
            PLANE,
            "%value = OpImageSampleExplicitLod %vec4 %loaded %at2 Lod %zero",
            "SB0106",
            "floating-point",
        ),
        (
            PLANE,
            "%own = OpImage %image %loaded
            %value = OpImageSampleExplicitLod %vec4 %own %at2 Lod %level",
            "SB0106",
            "sampler",
        ),
    ] {
        for target in ["gfx1201", "sm_90"] {
            let problem = lowered(shader("float", image, body), target, Optimization::O0);
            let problem = problem.err().unwrap_or_else(|| panic!("{body} is lowered"));
            assert!(
                problem.contains(code) && problem.contains(what),
                "{problem}"
            );
        }
    }
}

/// A shader that samples with a sampler of its own, and an OpenCL kernel with one of the module.
const SEPARATE: &str = "OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main \"main\"
    OpExecutionMode %main LocalSize 64 1 1
    OpDecorate %image DescriptorSet 0
    OpDecorate %image Binding 0
    OpDecorate %sampler DescriptorSet 0
    OpDecorate %sampler Binding 1
    OpDecorate %out DescriptorSet 0
    OpDecorate %out Binding 2
    OpDecorate %block Block
    OpMemberDecorate %block 0 Offset 0
    %void = OpTypeVoid
    %function = OpTypeFunction %void
    %uint = OpTypeInt 32 0
    %float = OpTypeFloat 32
    %vec2 = OpTypeVector %float 2
    %vec4 = OpTypeVector %float 4
    %zero = OpConstant %uint 0
    %half = OpConstant %float 0.5
    %at = OpConstantComposite %vec2 %half %half
    %block = OpTypeStruct %vec4
    %to_block = OpTypePointer StorageBuffer %block
    %to_vec4 = OpTypePointer StorageBuffer %vec4
    %out = OpVariable %to_block StorageBuffer
    %image_type = OpTypeImage %float Dim2D 0 0 0 1 Unknown
    %sampler_type = OpTypeSampler
    %combined = OpTypeSampledImage %image_type
    %to_image = OpTypePointer UniformConstant %image_type
    %to_sampler = OpTypePointer UniformConstant %sampler_type
    %image = OpVariable %to_image UniformConstant
    %sampler = OpVariable %to_sampler UniformConstant
    %literal = OpConstantSampler %sampler_type Repeat 1 Linear
    %main = OpFunction %void None %function
    %entry = OpLabel
    %i = OpLoad %image_type %image
    %s = OpLoad %sampler_type %sampler
    %c = OpSampledImage %combined %i %s
    %value = OpImageSampleExplicitLod %vec4 %c %at Lod %half
    %place = OpAccessChain %to_vec4 %out %zero
    OpStore %place %value
    OpReturn
    OpFunctionEnd";

#[test]
fn samplers_of_their_own_are_resources_of_amd_gpus() {
    for target in TARGETS.into_iter().filter(|target| *target != "gfx1250") {
        let lowered = |text: &str| {
            let words = assemble(text).unwrap().words;
            lowered(words, target, Optimization::O2).unwrap()
        };
        let text = lowered(SEPARATE).assembly().unwrap();
        let is_amd = target.starts_with("gfx");
        let wanted = if is_amd {
            "image_sample_l "
        } else {
            "tex.level.2d"
        };
        assert!(text.contains(wanted), "{target}:\n{text}");
        // A sampler of the module is in the code: repeated, bilinear, no level cut off.
        let literal = SEPARATE.replace("%combined %i %s", "%combined %i %literal");
        let output = lowered(&literal);
        if is_amd {
            let last = if target == "gfx1201" {
                0x03ff_e000
            } else {
                0x00ff_f000
            };
            let text = output.assembly().unwrap();
            for word in [last, 5 << 20 | 1 << 26] {
                assert!(
                    text.contains(&format!("{word:#x}")),
                    "{target}, {word:#x}:\n{text}"
                );
            }
        }
    }
}

#[test]
fn what_brings_image_and_sampler_together_is_no_value() {
    let copied = SEPARATE.replace(
        "%value = OpImageSampleExplicitLod %vec4 %c",
        "%copy = OpCopyObject %combined %c
    %value = OpImageSampleExplicitLod %vec4 %copy",
    );
    for target in ["gfx1201", "sm_90"] {
        let words = assemble(&copied).unwrap().words;
        let problem = lowered(words, target, Optimization::O0).err().unwrap();
        assert!(problem.contains("SB0100"), "{problem}");
    }
}
