//! Images: what becomes of each access on GPUs that have instructions for it, and that the others
//! say so.

use super::*;
use splitbar_passes::module::assemble;

/// Reads and writes an image and asks for its size, or fetches from it. `image` is what follows the
/// sampled type in OpTypeImage.
fn shader(case: &Case) -> Vec<u32> {
    assemble(&shader_text(case)).unwrap().words
}

fn shader_text(case: &Case) -> String {
    let Case {
        texel,
        image,
        coordinates,
        storage,
        ..
    } = *case;
    let coordinate = match coordinates {
        1 => "%0".to_owned(),
        count => format!("%place{count}"),
    };
    let size_type = match coordinates {
        1 => "%uint".to_owned(),
        count => format!("%uvec{count}"),
    };
    let access = if storage {
        format!(
            "%texel = OpImageRead %vec4 %loaded {coordinate}\n OpImageWrite %loaded {coordinate} %texel\n %size = OpImageQuerySize {size_type} %loaded"
        )
    } else {
        format!("%texel = OpImageFetch %vec4 %loaded {coordinate}")
    };
    let text = format!(
        "OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\" %image %out
        OpExecutionMode %main LocalSize 64 1 1
        OpDecorate %image DescriptorSet 0
        OpDecorate %image Binding 0
        OpDecorate %out DescriptorSet 0
        OpDecorate %out Binding 1
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        %void = OpTypeVoid
        %function = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %component = {texel}
        %vec4 = OpTypeVector %component 4
        %uvec2 = OpTypeVector %uint 2
        %uvec3 = OpTypeVector %uint 3
        %type = OpTypeImage %component {image}
        %image_pointer = OpTypePointer UniformConstant %type
        %block = OpTypeStruct %vec4
        %block_pointer = OpTypePointer StorageBuffer %block
        %texel_pointer = OpTypePointer StorageBuffer %vec4
        %image = OpVariable %image_pointer UniformConstant
        %out = OpVariable %block_pointer StorageBuffer
        %0 = OpConstant %uint 0
        %place2 = OpConstantComposite %uvec2 %0 %0
        %place3 = OpConstantComposite %uvec3 %0 %0 %0
        %main = OpFunction %void None %function
        %entry = OpLabel
        %loaded = OpLoad %type %image
        {access}
        %place = OpAccessChain %texel_pointer %out %0
        OpStore %place %texel
        OpReturn
        OpFunctionEnd"
    );
    text.replace("%0", "%zero")
}

const FLOAT: &str = "OpTypeFloat 32";
const UINT: &str = "OpTypeInt 32 0";

/// An image and what must be in the assembly of its accesses.
struct Case {
    texel: &'static str,
    image: &'static str,
    coordinates: u32,
    storage: bool,
    gfx1100: &'static [&'static str],
    sm_75: &'static [&'static str],
}

macro_rules! cases {
    ($($texel:ident, $image:literal, $coordinates:literal, $storage:literal, [$($amd:literal),*], [$($nvidia:literal),*];)*) => {
        &[$(Case { texel: $texel, image: $image, coordinates: $coordinates, storage: $storage, gfx1100: &[$($amd),*], sm_75: &[$($nvidia),*] }),*]
    };
}

const CASES: &[Case] = cases! {
    FLOAT, "Dim1D 0 0 0 2 R32f", 1, true, ["image_load", "image_store", "dim:SQ_RSRC_IMG_1D"], ["suld.b.1d.b32", "sust.p.1d"];
    FLOAT, "Dim2D 0 0 0 2 Rgba8", 2, true, ["image_load", "image_store", "dim:SQ_RSRC_IMG_2D"], ["suld.b.2d.v4.b8", "sust.p.2d"];
    UINT, "Dim3D 0 0 0 2 Rg16ui", 3, true, ["image_load", "image_store", "dim:SQ_RSRC_IMG_3D"], ["suld.b.3d.v2.b16", "sust.p.3d"];
    FLOAT, "Dim2D 0 1 0 2 Rgba16f", 3, true, ["image_load", "dim:SQ_RSRC_IMG_2D_ARRAY"], ["suld.b.a2d.v4.b16", "sust.p.a2d"];
    FLOAT, "Dim2D 0 0 0 1 Unknown", 2, false, ["image_load"], ["tex.2d.v4.f32.s32"];
    UINT, "Dim2D 0 1 0 1 Unknown", 3, false, ["image_load"], ["tex.a2d.v4.u32.s32"];
    FLOAT, "DimBuffer 0 0 0 2 Rgba16f", 1, true, ["buffer_load_format_xyzw", "buffer_store_format_xyzw"], ["suld.b.1d.v4.b16", "sust.p.1d"];
    FLOAT, "DimBuffer 0 0 0 1 Unknown", 1, false, ["buffer_load_format_xyzw"], ["tex.1d.v4.f32.s32"];
};

#[test]
fn accesses_become_instructions_of_the_target() {
    for case in CASES {
        let image = case.image;
        for (target, wanted) in [("gfx1100", case.gfx1100), ("sm_75", case.sm_75)] {
            let words = shader(case);
            let text = lowered(words, target, Optimization::O2)
                .and_then(|lowered| lowered.assembly().map_err(|e| e.to_string()))
                .unwrap_or_else(|e| panic!("{image} for {target}: {e}"));
            for instruction in wanted {
                assert!(
                    text.contains(instruction),
                    "{image} for {target}, {instruction}:\n{text}"
                );
            }
        }
    }
}

#[test]
fn accesses_select_or_are_refused() {
    for target in TARGETS
        .iter()
        .copied()
        .chain(["gfx803", "gfx90a", "gfx942", "gfx1170", "gfx1310"])
    {
        for case in CASES {
            let image = case.image;
            let words = shader(case);
            match lowered(words, target, Optimization::O0) {
                Ok(lowered) => {
                    lowered
                        .assembly()
                        .unwrap_or_else(|e| panic!("{image} for {target}: {e}"));
                }
                Err(refused) => assert!(
                    refused.contains("SB0307"),
                    "{image} for {target}: {refused}"
                ),
            }
        }
    }
}

#[test]
fn a_buffer_and_an_image_may_have_one_binding() {
    for case in CASES {
        let apart = shader_text(case);
        let together = apart.replace("OpDecorate %out Binding 1", "OpDecorate %out Binding 0");
        // The buffer comes first then.
        let swapped = apart.replace("%image Binding 0", "%image Binding 2");
        for target in ["gfx1100", "sm_75"] {
            let text = |text: &str| {
                let words = assemble(text).unwrap().words;
                let lowered = lowered(words, target, Optimization::O2).unwrap();
                lowered.assembly().unwrap()
            };
            assert_ne!(together, swapped);
            assert_eq!(
                text(&together),
                text(&swapped),
                "{} for {target}",
                case.image
            );
        }
    }
}

#[test]
fn texel_buffers_are_there_where_images_are_not() {
    for case in CASES {
        let buffer = case.image.starts_with("DimBuffer");
        for target in ["gfx942", "gfx950"] {
            match lowered(shader(case), target, Optimization::O2) {
                Ok(lowered) => {
                    let text = lowered.assembly().unwrap();
                    assert!(buffer && text.contains("buffer_load_format"), "{text}");
                }
                Err(refused) => assert!(!buffer && refused.contains("SB0307"), "{refused}"),
            }
        }
    }
}

#[test]
fn levels_are_fetched_from() {
    for (image, wanted) in [
        ("Dim2D 0 0 0 1 Unknown", "tex.level.2d.v4.f32.s32"),
        ("Dim2D 0 1 0 1 Unknown", "tex.level.a2d.v4.u32.s32"),
    ] {
        let case = CASES.iter().find(|case| case.image == image).unwrap();
        let text = shader_text(case).replace(
            "%zero = OpConstant",
            "%one = OpConstant %uint 1\n %zero = OpConstant",
        );
        let fetch = text
            .lines()
            .find(|line| line.contains("OpImageFetch"))
            .unwrap();
        let words = assemble(&text.replace(fetch, &format!("{fetch} Lod %one")))
            .unwrap()
            .words;
        for (target, wanted) in [
            ("sm_50", wanted),
            ("sm_90", wanted),
            ("gfx1201", "image_load_mip"),
        ] {
            let lowered = lowered(words.clone(), target, Optimization::O2).unwrap();
            let text = lowered.assembly().unwrap();
            assert!(text.contains(wanted), "{image} for {target}:\n{text}");
        }
    }
}

/// An OpenCL kernel whose image types say no texel type, but how they are accessed. `width`: bits
/// of a texel's components; `held`: as compilers that do not optimise write it, the images go
/// through variables.
fn kernel(width: u32, held: bool) -> Vec<u32> {
    let (variables, from, to) = if held {
        (
            "%source_variable = OpVariable %source_pointer Function
            %sink_variable = OpVariable %sink_pointer Function
            OpStore %source_variable %from Aligned 8
            OpStore %sink_variable %to Aligned 8
            %held_source = OpLoad %source %source_variable Aligned 8
            %held_sink = OpLoad %sink %sink_variable Aligned 8",
            "%held_source",
            "%held_sink",
        )
    } else {
        ("", "%from", "%to")
    };
    let text = format!(
        "OpCapability Kernel
        OpCapability Addresses
        OpCapability ImageBasic
        OpCapability Float16
        OpMemoryModel Physical64 OpenCL
        OpEntryPoint Kernel %main \"copy\"
        %void = OpTypeVoid
        %uint = OpTypeInt 32 0
        %float = OpTypeFloat {width}
        %uvec2 = OpTypeVector %uint 2
        %vec4 = OpTypeVector %float 4
        %source = OpTypeImage %void Dim2D 0 0 0 0 Unknown ReadOnly
        %sink = OpTypeImage %void Dim2D 0 0 0 0 Unknown WriteOnly
        %source_pointer = OpTypePointer Function %source
        %sink_pointer = OpTypePointer Function %sink
        %function = OpTypeFunction %void %source %sink
        %zero = OpConstant %uint 0
        %place = OpConstantComposite %uvec2 %zero %zero
        %main = OpFunction %void None %function
        %from = OpFunctionParameter %source
        %to = OpFunctionParameter %sink
        %entry = OpLabel
        {variables}
        %texel = OpImageRead %vec4 {from} %place
        OpImageWrite {to} %place %texel
        OpReturn
        OpFunctionEnd"
    );
    assemble(&text).unwrap().words
}

#[test]
fn images_of_kernels_that_are_not_optimised_select() {
    for target in TARGETS {
        match lowered(kernel(16, true), target, Optimization::O0) {
            Ok(lowered) => {
                lowered
                    .assembly()
                    .unwrap_or_else(|e| panic!("{target}: {e}"));
            }
            Err(refused) => assert!(refused.contains("SB0307"), "{target}: {refused}"),
        }
    }
}

#[test]
fn images_of_kernels_are_read_and_written() {
    for (target, wanted) in [
        ("gfx906", ["image_load", "image_store"]),
        ("gfx1201", ["image_load", "image_store"]),
        ("sm_75", ["tex.2d.v4.f32.s32", "sust.p.2d"]),
    ] {
        let text = |width: u32, held: bool| {
            let lowered = lowered(kernel(width, held), target, Optimization::O2).unwrap();
            lowered.assembly().unwrap()
        };
        let floats = text(32, false);
        for instruction in wanted {
            assert!(
                floats.contains(instruction),
                "{target}, {instruction}:\n{floats}"
            );
        }
        assert_eq!(text(32, true), floats, "{target}: images in variables");
        let halves = text(16, false);
        // LLVM makes an access to half floats of a conversion beside an access, where there is one.
        assert!(
            ["cvt", "d16"].iter().any(|way| halves.contains(way)),
            "{target}, half floats:\n{halves}"
        );
    }
}

/// An array of images, two of which are fetched from; or none that anybody knows.
fn array_of_images(first: &str) -> Vec<u32> {
    let text = format!(
        "OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\" %images %out
        OpExecutionMode %main LocalSize 64 1 1
        OpDecorate %images DescriptorSet 0
        OpDecorate %images Binding 0
        OpDecorate %out DescriptorSet 0
        OpDecorate %out Binding 1
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        %void = OpTypeVoid
        %function = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %float = OpTypeFloat 32
        %vec4 = OpTypeVector %float 4
        %uvec2 = OpTypeVector %uint 2
        %zero = OpConstant %uint 0
        %one = OpConstant %uint 1
        %two = OpConstant %uint 2
        %corner = OpConstantComposite %uvec2 %zero %zero
        %image = OpTypeImage %float Dim2D 0 0 0 1 Unknown
        %array = OpTypeArray %image %two
        %array_pointer = OpTypePointer UniformConstant %array
        %image_pointer = OpTypePointer UniformConstant %image
        %block = OpTypeStruct %vec4
        %block_pointer = OpTypePointer StorageBuffer %block
        %vec4_pointer = OpTypePointer StorageBuffer %vec4
        %images = OpVariable %array_pointer UniformConstant
        %out = OpVariable %block_pointer StorageBuffer
        %unknown = OpUndef %image
        %main = OpFunction %void None %function
        %entry = OpLabel
        %a_place = OpAccessChain %image_pointer %images %zero
        %b_place = OpAccessChain %image_pointer %images %one
        %a = OpLoad %image %a_place
        %b = OpLoad %image %b_place
        %x = OpImageFetch %vec4 {first} %corner
        %y = OpImageFetch %vec4 %b %corner
        %sum = OpFAdd %vec4 %x %y
        %place = OpAccessChain %vec4_pointer %out %zero
        OpStore %place %sum
        OpReturn
        OpFunctionEnd"
    );
    assemble(&text).unwrap().words
}

#[test]
fn objects_of_an_array_are_loaded_one_by_one() {
    for target in ["sm_50", "sm_75", "sm_90"] {
        for image in ["%a", "%unknown"] {
            let lowered = lowered(array_of_images(image), target, Optimization::O2).unwrap();
            let text = lowered.assembly().unwrap();
            assert_eq!(text.matches("tex.2d.v4.f32.s32").count(), 2, "{text}");
            let objects = text
                .lines()
                .filter(|line| line.contains("ld.global") && line.contains(".b64"));
            let wide = objects.clone().filter(|line| line.contains(".v2"));
            assert_eq!((objects.count(), wide.count()), (2, 0), "{target}:\n{text}");
        }
    }
}
