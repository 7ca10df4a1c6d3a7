//! What lies behind a descriptor or a pointer: texels that are changed, arrays of buffers, blocks
//! that share workgroup memory, structures that point to themselves.

use super::*;
use splitbar_passes::module::assemble;

const IMAGE: &str = "OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main \"main\" %image
    OpExecutionMode %main LocalSize 64 1 1
    OpDecorate %image DescriptorSet 0
    OpDecorate %image Binding 0
    %void = OpTypeVoid
    %function = OpTypeFunction %void
    %uint = OpTypeInt 32 0
    %float = OpTypeFloat 32
    %pair = OpTypeVector %uint 2
    %zero = OpConstant %uint 0
    %one = OpConstant %uint 1
    %half = OpConstant %float 0.5
    %order = OpConstant %uint 2056
    %triple = OpTypeVector %uint 3
    %place = OpConstantComposite %pair %one %one
    %volume = OpConstantComposite %triple %one %one %one
    %type = OpTypeImage COMPONENT
    %image_pointer = OpTypePointer UniformConstant %type
    %texel_pointer = OpTypePointer Image TEXEL
    %image = OpVariable %image_pointer UniformConstant
    %main = OpFunction %void None %function
    %entry = OpLabel
    %texel = OpImageTexelPointer %texel_pointer %image PLACE %zero
    BODY
    OpReturn
    OpFunctionEnd";

fn image(component: &str, place: &str, body: &str) -> Vec<u32> {
    let texel = component.split(' ').next().unwrap();
    let text = IMAGE
        .replace("COMPONENT", component)
        .replace("TEXEL", texel)
        .replace("PLACE", place)
        .replace("BODY", body);
    assemble(&text).unwrap().words
}

fn assembly(words: Vec<u32>, target: &str) -> Result<String, String> {
    lowered(words, target, Optimization::O1)?
        .assembly()
        .map_err(|e| e.to_string())
}

#[test]
fn texels_are_changed_by_one_instruction_each() {
    let flat = "%uint Dim2D 0 0 0 2 R32ui";
    let buffer = "%uint DimBuffer 0 0 0 2 R32ui";
    for (component, place, body, wanted) in [
        (
            flat,
            "%place",
            "%old = OpAtomicIAdd %uint %texel %one %zero %one",
            "image_atomic_add",
        ),
        (
            flat,
            "%place",
            "%old = OpAtomicUMax %uint %texel %one %zero %one",
            "image_atomic_umax",
        ),
        (
            flat,
            "%place",
            "%old = OpAtomicIDecrement %uint %texel %one %zero",
            "image_atomic_sub",
        ),
        (
            flat,
            "%place",
            "OpAtomicStore %texel %one %zero %one",
            "image_atomic_swap",
        ),
        (
            flat,
            "%place",
            "%old = OpAtomicLoad %uint %texel %one %zero",
            "image_atomic_or",
        ),
        (
            flat,
            "%place",
            "%old = OpAtomicCompareExchange %uint %texel %one %zero %zero %one %zero",
            "image_atomic_cmpswap",
        ),
        (
            buffer,
            "%one",
            "%old = OpAtomicXor %uint %texel %one %zero %one",
            "buffer_atomic_xor",
        ),
        (
            "%uint Dim3D 0 0 0 2 R32ui",
            "%volume",
            "%old = OpAtomicAnd %uint %texel %one %zero %one",
            "SQ_RSRC_IMG_3D",
        ),
        (
            "%float Dim2D 0 0 0 2 R32f",
            "%place",
            "%old = OpAtomicFAddEXT %float %texel %one %zero %half",
            "image_atomic_cmpswap",
        ),
    ] {
        let words = image(component, place, body);
        for target in ["gfx600", "gfx906", "gfx1030", "gfx1100", "gfx1201"] {
            let text = assembly(words.clone(), target)
                .unwrap_or_else(|e| panic!("{body} for {target}: {e}"));
            if target == "gfx1030" {
                assert!(text.contains(wanted), "{body}, {wanted}:\n{text}");
            }
        }
        let refused = assembly(words, "sm_90").unwrap_err();
        assert!(refused.contains("SB0307"), "{refused}");
    }
}

/// A release in front of the operation waits for stores; an acquire behind it is a fence too.
#[test]
fn texel_operations_are_ordered_by_fences() {
    let body = "%old = OpAtomicIAdd %uint %texel %one %order %one";
    let text = image("%uint Dim2D 0 0 0 2 R32ui", "%place", body);
    let ir = lowered(text, "gfx1100", Optimization::O0).unwrap().ir();
    let at = |what: &str| ir.find(what).unwrap_or_else(|| panic!("{what}:\n{ir}"));
    let atomic = at("call i32 @llvm.amdgcn.image.atomic.add");
    assert!(at("fence syncscope(\"agent\") release") < atomic, "{ir}");
    assert!(atomic < at("fence syncscope(\"agent\") acquire"), "{ir}");
}

/// A shader whose declarations are `declared` and whose body is `body`; `%out` is a buffer of
/// unsigned integers.
fn shader(declared: &str, body: &str) -> Vec<u32> {
    assemble(&shader_text(declared, body)).unwrap().words
}

fn shader_text(declared: &str, body: &str) -> String {
    format!(
        "OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\" %out
        OpExecutionMode %main LocalSize 64 1 1
        OpDecorate %out DescriptorSet 0
        OpDecorate %out Binding 0
        OpDecorate %words ArrayStride 4
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        OpDecorate %table DescriptorSet 0
        OpDecorate %table Binding 1
        OpDecorate %shared Block
        OpMemberDecorate %shared 0 Offset 0
        OpDecorate %wide Block
        OpMemberDecorate %wide 0 Offset 0
        OpMemberDecorate %wide 1 Offset 8
        OpMemberDecorate %node 0 Offset 0
        OpMemberDecorate %node 1 Offset 8
        OpDecorate %node Block
        %void = OpTypeVoid
        %function = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %long = OpTypeInt 64 0
        %float = OpTypeFloat 32
        %words = OpTypeRuntimeArray %uint
        %block = OpTypeStruct %words
        %out_pointer = OpTypePointer StorageBuffer %block
        %word_pointer = OpTypePointer StorageBuffer %uint
        %out = OpVariable %out_pointer StorageBuffer
        %zero = OpConstant %uint 0
        %one = OpConstant %uint 1
        %three = OpConstant %uint 3
        %seven = OpConstant %uint 7
        {declared}
        %main = OpFunction %void None %function
        %entry = OpLabel
        %place = OpAccessChain %word_pointer %out %zero %zero
        %word = OpLoad %uint %place
        {body}
        OpStore %place %result
        OpReturn
        OpFunctionEnd"
    )
}

const EVERYWHERE: &[&str] = &["gfx803", "gfx1201", "sm_60", "sm_90"];

#[test]
fn an_array_of_buffers_has_a_table_of_lengths() {
    let words = shader(
        "%row = OpTypeArray %block %three
         %rows = OpTypeArray %row %seven
         %table_pointer = OpTypePointer StorageBuffer %rows
         %table = OpVariable %table_pointer StorageBuffer",
        "%chosen = OpAccessChain %out_pointer %table %word %one
         %length = OpArrayLength %uint %chosen 0
         %own = OpArrayLength %uint %out 0
         %result = OpIAdd %uint %length %own",
    );
    for target in EVERYWHERE {
        let lowered = lowered(words.clone(), target, Optimization::O1).unwrap();
        let kinds: Vec<_> = lowered
            .kernels()
            .iter()
            .flat_map(|k| &k.arguments)
            .map(|a| (a.kind, a.binding, a.size))
            .collect();
        use splitbar_layout::abi::ArgumentKind::*;
        assert_eq!(
            kinds,
            [
                (GlobalBuffer, Some(0), 8),
                (GlobalBuffer, Some(1), 8),
                (ArrayLength, Some(0), 4),
                (ArrayLengths, Some(1), 8)
            ]
        );
        // Descriptor [word][1] of rows of three: 4 * (3 * word + 1) bytes into the table.
        let ir = lowered.unoptimized();
        assert!(ir.contains("mul i64") && ir.contains(", 3"), "{ir}");
        lowered.assembly().unwrap();
    }
}

#[test]
fn blocks_in_workgroup_memory_begin_at_one_place() {
    let words = shader(
        "%shared = OpTypeStruct %uint
         %wide = OpTypeStruct %long %float
         %shared_pointer = OpTypePointer Workgroup %shared
         %wide_pointer = OpTypePointer Workgroup %wide
         %uint_pointer = OpTypePointer Workgroup %uint
         %float_pointer = OpTypePointer Workgroup %float
         %a = OpVariable %shared_pointer Workgroup
         %b = OpVariable %wide_pointer Workgroup",
        "%first = OpAccessChain %uint_pointer %a %zero
         OpStore %first %word
         %second = OpAccessChain %float_pointer %b %one
         %number = OpLoad %float %second
         %result = OpBitcast %uint %number",
    );
    let lowered = lowered(words, "gfx1201", Optimization::O0).unwrap();
    let ir = lowered.unoptimized();
    assert_eq!(
        ir.matches("internal addrspace(3) externally_initialized global")
            .count(),
        1,
        "{ir}"
    );
    assert_eq!(lowered.kernels().first().unwrap().shared_memory_bytes, 12);
}

/// A block that the kernel does not name clears the memory of one that it does, where it belongs to
/// the kernel's interface.
#[test]
fn a_null_block_clears_the_memory_of_the_others() {
    let text = shader_text(
        "%shared = OpTypeStruct %uint
         %wide = OpTypeStruct %long %float
         %shared_pointer = OpTypePointer Workgroup %shared
         %wide_pointer = OpTypePointer Workgroup %wide
         %uint_pointer = OpTypePointer Workgroup %uint
         %null = OpConstantNull %wide
         %a = OpVariable %shared_pointer Workgroup
         %b = OpVariable %wide_pointer Workgroup %null",
        "%first = OpAccessChain %uint_pointer %a %zero
         %result = OpLoad %uint %first",
    );
    let named = text.replace("\"main\" %out", "\"main\" %out %a %b");
    for (text, clears) in [(&named, true), (&text, false)] {
        let lowered = lowered(assemble(text).unwrap().words, "gfx1201", Optimization::O0).unwrap();
        let ir = lowered.unoptimized();
        assert_eq!(ir.contains("store i32 0, ptr addrspace(3)"), clears, "{ir}");
        let bytes = lowered.kernels().first().unwrap().shared_memory_bytes;
        assert_eq!(bytes, if clears { 12 } else { 4 });
    }
}

#[test]
fn a_structure_may_hold_a_pointer_to_itself() {
    let words = shader(
        "OpTypeForwardPointer %node_pointer PhysicalStorageBuffer
         %node = OpTypeStruct %node_pointer %uint
         %node_pointer = OpTypePointer PhysicalStorageBuffer %node
         %link_pointer = OpTypePointer PhysicalStorageBuffer %node_pointer
         %value_pointer = OpTypePointer PhysicalStorageBuffer %uint",
        "%address = OpUConvert %long %word
         %list = OpConvertUToPtr %node_pointer %address
         %link = OpAccessChain %link_pointer %list %zero
         %next = OpLoad %node_pointer %link Aligned 8
         %value = OpAccessChain %value_pointer %next %one
         %result = OpLoad %uint %value Aligned 8",
    );
    for target in EVERYWHERE {
        assembly(words.clone(), target).unwrap();
    }
}

#[test]
fn clocks_are_read_where_there_are_some() {
    let words = shader(
        "%pair = OpTypeVector %uint 2",
        "%own = OpReadClockKHR %long %three
         %shared_clock = OpReadClockKHR %pair %one
         %low = OpUConvert %uint %own
         %high = OpCompositeExtract %uint %shared_clock 1
         %result = OpIAdd %uint %low %high",
    );
    for (target, wanted) in [
        ("gfx906", "s_memrealtime"),
        ("gfx1100", "MSG_RTN_GET_REALTIME"),
        ("sm_70", "globaltimer"),
    ] {
        let text = assembly(words.clone(), target).unwrap();
        assert!(text.contains(wanted), "{text}");
    }
    let refused = assembly(words, "gfx700").unwrap_err();
    assert!(refused.contains("SB0307"), "{refused}");
}

/// Every rounding mode of integers that a float holds with fewer bits, folded by LLVM and computed
/// in integers here.
#[test]
fn integers_round_as_decorated() {
    use spirv::FPRoundingMode::{RTN, RTP, RTZ};
    let mut s = Shader::new();
    let mut expected = Vec::new();
    let values: [i32; 8] = [
        0,
        7,
        -7,
        0x0100_0001,
        -0x0100_0001,
        i32::MAX,
        i32::MIN,
        -0x7fff_ffff,
    ];
    for x in values {
        for mode in [RTZ, RTP, RTN] {
            let id = s.b.constant_bit32(s.i32, x as u32);
            let value = s.b.convert_s_to_f(s.f32, None, id).unwrap();
            s.b.decorate(
                value,
                Decoration::FPRoundingMode,
                [Operand::FPRoundingMode(mode)],
            );
            s.store_bits(value);
            let nearest = x as f32;
            let (below, above) = match f64::from(nearest).total_cmp(&f64::from(x)) {
                std::cmp::Ordering::Less => (nearest, nearest.next_up()),
                std::cmp::Ordering::Equal => (nearest, nearest),
                std::cmp::Ordering::Greater => (nearest.next_down(), nearest),
            };
            let rounded = match mode {
                RTP => above,
                RTN => below,
                _ if x < 0 => above,
                _ => below,
            };
            expected.push(rounded.to_bits());
        }
    }
    let half = s.u(70000);
    for mode in [RTZ, RTP] {
        let value = s.b.convert_u_to_f(s.f16, None, half).unwrap();
        s.b.decorate(
            value,
            Decoration::FPRoundingMode,
            [Operand::FPRoundingMode(mode)],
        );
        let wide = s.b.f_convert(s.f32, None, value).unwrap();
        s.store_bits(wide);
    }
    expected.extend([65504f32.to_bits(), f32::INFINITY.to_bits()]);
    assert_eq!(folded(s, "gfx906"), expected);
}
