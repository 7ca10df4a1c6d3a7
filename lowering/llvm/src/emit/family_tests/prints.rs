//! printf: its argument and its lists, its place among barriers, and formats that are refused.

use super::*;
use crate::Lowered;
use splitbar_layout::abi::ArgumentKind;
use splitbar_passes::module::assemble;

/// A kernel of 64 invocations with the constant strings `strings`, `%s0` and so on, and the
/// parameters `%out` and `%n`.
fn kernel(strings: &[&str], functions: &str, body: &str) -> Vec<u32> {
    let text = kernel_text(strings, functions, body);
    assemble(&text).unwrap().words
}

/// Behind the types and constants stands `more`.
fn kernel_text(strings: &[&str], more: &str, body: &str) -> String {
    let mut globals = String::new();
    let bytes = |text: &str| -> Vec<u8> { text.bytes().chain([0]).collect() };
    let mut all: Vec<u8> = strings.iter().flat_map(|text| bytes(text)).collect();
    all.sort_unstable();
    all.dedup();
    for byte in all {
        globals.push_str(&format!("%c{byte} = OpConstant %uchar {byte}\n"));
    }
    for (number, text) in strings.iter().enumerate() {
        let bytes = bytes(text);
        let parts: String = bytes.iter().map(|byte| format!(" %c{byte}")).collect();
        globals.push_str(&format!(
            "%length{number} = OpConstant %ulong {}
            %array{number} = OpTypeArray %uchar %length{number}
            %pointer{number} = OpTypePointer UniformConstant %array{number}
            %text{number} = OpConstantComposite %array{number}{parts}
            %s{number} = OpVariable %pointer{number} UniformConstant %text{number}\n",
            bytes.len()
        ));
    }
    format!(
        "OpCapability Kernel
        OpCapability Addresses
        OpCapability GenericPointer
        OpCapability Int64
        OpCapability Int16
        OpCapability Int8
        OpCapability Float64
        OpCapability Float16
        OpCapability SplitBarrierINTEL
        OpExtension \"SPV_INTEL_split_barrier\"
        %cl = OpExtInstImport \"OpenCL.std\"
        OpMemoryModel Physical64 OpenCL
        OpEntryPoint Kernel %main \"main\"
        OpExecutionMode %main LocalSize 64 1 1
        %void = OpTypeVoid
        %bool = OpTypeBool
        %uchar = OpTypeInt 8 0
        %ushort = OpTypeInt 16 0
        %uint = OpTypeInt 32 0
        %ulong = OpTypeInt 64 0
        %half = OpTypeFloat 16
        %float = OpTypeFloat 32
        %half3 = OpTypeVector %half 3
        %zero = OpConstant %ulong 0
        %one = OpConstant %ulong 1
        %two = OpConstant %uint 2
        %release = OpConstant %uint 0x104
        %acquire = OpConstant %uint 0x102
        %char_pointer = OpTypePointer UniformConstant %uchar
        %global = OpTypePointer CrossWorkgroup %uint
        %kernel = OpTypeFunction %void %global %uint
        %called = OpTypeFunction %uint %uint
        {globals}
        {more}
        %main = OpFunction %void None %kernel
        %out = OpFunctionParameter %global
        %n = OpFunctionParameter %uint
        %start = OpLabel
        {body}
        OpReturn
        OpFunctionEnd"
    )
}

fn printing(strings: &[&str], functions: &str, body: &str, target: &str) -> Lowered {
    lowered(kernel(strings, functions, body), target, Optimization::O2)
        .unwrap_or_else(|e| panic!("{target}: {e}"))
}

/// The calls as `format: arguments`.
fn calls(lowered: &Lowered) -> Vec<String> {
    let prints = lowered.kernels().iter().flat_map(|k| k.prints.calls());
    prints
        .map(|call| {
            let arguments: Vec<String> = call.arguments.iter().map(ToString::to_string).collect();
            let format = String::from_utf8_lossy(&call.format);
            format!("{format}: {}", arguments.join(" "))
        })
        .collect()
}

#[test]
fn the_print_buffer_is_the_last_argument() {
    for target in TARGETS {
        let body = "%r = OpExtInst %uint %cl printf %s0 %n
            OpStore %out %r Aligned 4";
        let lowered = printing(&["%u\n"], "", body, target);
        let kinds: Vec<_> = lowered.kernels()[0]
            .arguments
            .iter()
            .map(|a| (a.kind, a.offset, a.size))
            .collect();
        use ArgumentKind::*;
        assert_eq!(
            kinds,
            [(GlobalBuffer, 0, 8), (ByValue, 8, 4), (PrintfBuffer, 16, 8)],
            "{target}"
        );
        let ir = lowered.unoptimized();
        assert!(ir.contains("monotonic, align 8"), "{target}: {ir}");
        assert!(!ir.contains("fence"), "{target}: {ir}");
        lowered.assembly().unwrap();
    }
}

#[test]
fn functions_print_into_the_kernel_s_buffer() {
    let function = "%say = OpFunction %uint None %called
        %word = OpFunctionParameter %uint
        %inside = OpLabel
        %said = OpExtInst %uint %cl printf %s0 %word
        OpReturnValue %said
        OpFunctionEnd
        %silent = OpFunction %uint None %called
        %other = OpFunctionParameter %uint
        %within = OpLabel
        OpReturnValue %other
        OpFunctionEnd";
    let printed = printing(
        &["%u"],
        function,
        "%r = OpFunctionCall %uint %say %n",
        "sm_80",
    );
    assert_eq!(calls(&printed), ["%u: i32"]);
    let ir = printed.unoptimized();
    assert!(
        ir.contains("@main.function.") && ir.contains("(ptr addrspace(1) %"),
        "{ir}"
    );
    let silent = printing(
        &["%u"],
        function,
        "%r = OpFunctionCall %uint %silent %n",
        "sm_80",
    );
    assert_eq!(silent.kernels()[0].arguments.len(), 2);
    assert!(silent.kernels()[0].prints.calls().is_empty());
}

#[test]
fn calls_and_strings_are_numbered_once() {
    let body = "%address = OpInBoundsPtrAccessChain %char_pointer %s1 %zero %one
        %first = OpBitcast %char_pointer %s1
        %short = OpUConvert %ushort %n
        %half_n = OpConvertUToF %half %n
        %halves = OpCompositeConstruct %half3 %half_n %half_n %half_n
        %odd = OpINotEqual %bool %n %two
        %chosen = OpSelect %char_pointer %odd %first %address
        %a = OpExtInst %uint %cl printf %s0 %short %halves %out
        %b = OpExtInst %uint %cl printf %s0 %n %halves %out
        %c = OpExtInst %uint %cl printf %s2 %address %n
        %d = OpExtInst %uint %cl printf %s2 %chosen";
    for target in TARGETS {
        let lowered = printing(&["%hu %v3hf %p", "wave", "%s"], "", body, target);
        assert_eq!(
            calls(&lowered),
            ["%hu %v3hf %p: i32 f32x3 pointer", "%s: string"]
        );
        assert_eq!(
            lowered.kernels()[0].prints.strings(),
            [b"ave".to_vec(), b"wave".to_vec()]
        );
        lowered.assembly().unwrap();
    }
}

/// SPV_EXT_relaxed_printf_string_address_space: a string in global memory, if nobody writes it.
#[test]
fn strings_may_be_in_global_memory() {
    let words = |decoration: &str| {
        let globals = "%length = OpConstant %ulong 2
            %array = OpTypeArray %uchar %length
            %array_pointer = OpTypePointer CrossWorkgroup %array
            %zero_c = OpConstant %uchar 0
            %w = OpConstant %uchar 119
            %text = OpConstantComposite %array %w %zero_c
            %string = OpVariable %array_pointer CrossWorkgroup %text
            %generic = OpTypePointer Generic %array";
        let body = "%cast = OpPtrCastToGeneric %generic %string
            %r = OpExtInst %uint %cl printf %cast";
        let text = kernel_text(&[], globals, body);
        let decorated = text.replace("%void = ", &format!("{decoration}\n%void = "));
        assemble(&decorated).unwrap().words
    };
    let constant = words("OpDecorate %string Constant");
    for target in ["gfx1201", "sm_80"] {
        let lowered = lowered(constant.clone(), target, Optimization::O2).unwrap();
        assert_eq!(calls(&lowered), ["w: "]);
    }
    let problems = lowered(words(""), "sm_80", Optimization::O2).unwrap_err();
    assert!(problems.contains("is not a constant"), "{problems}");
}

/// The addition stays between arrive and wait, and the barriers are the same as without it.
#[test]
fn a_call_in_a_window_stays_there() {
    let window = |inside: &str| {
        format!(
            "OpControlBarrierArriveINTEL %two %two %release
            {inside}
            OpControlBarrierWaitINTEL %two %two %acquire"
        )
    };
    for (target, words) in [
        (
            "gfx1201",
            ["s_barrier_signal", "global_atomic_add", "s_barrier_wait"],
        ),
        (
            "sm_90",
            ["mbarrier.arrive.shared", "atom.", "mbarrier.try_wait"],
        ),
    ] {
        let barriers = [words[0], words[2]];
        let order = |inside: &str, words: &[&'static str]| -> Vec<&'static str> {
            let assembly = printing(&["%u\n"], "", &window(inside), target)
                .assembly()
                .unwrap();
            let of = |line: &str| words.iter().copied().find(|word| line.contains(*word));
            assembly.lines().filter_map(of).collect()
        };
        let call = "%r = OpExtInst %uint %cl printf %s0 %n";
        assert_eq!(order(call, &words), words, "{target}");
        assert_eq!(order("", &barriers), barriers, "{target}");
        assert_eq!(order(call, &barriers), barriers, "{target}");
    }
}

#[test]
fn what_cannot_be_printed_is_refused() {
    let refused = |strings: &[&str], body: &str| {
        lowered(kernel(strings, "", body), "gfx1201", Optimization::O0).unwrap_err()
    };
    let printf = |arguments: &str| format!("%r = OpExtInst %uint %cl printf {arguments}");
    for (format, arguments, why) in [
        ("%n", "%s0 %n", "`%n` writes through a pointer"),
        ("%*d", "%s0 %n %n", "`%*` takes its width"),
        ("%d %d", "%s0 %n", "no argument for its conversion 2"),
        ("%f", "%s0 %n", "one floating-point number"),
        ("%v2d", "%s0 %n", "a vector of 2 integers"),
        ("%p", "%s0 %n", "a pointer"),
        ("%d", "%s0 %out", "one integer"),
        ("%s", "%s0 %n", "a string literal"),
        ("%s", "%s0 %out", "a string literal"),
    ] {
        let problems = refused(&[format], &printf(arguments));
        assert!(
            problems.contains(why) && problems.contains("SB0312"),
            "{format}: {problems}"
        );
    }
    let long = "x".repeat(4096);
    for arguments in ["%s0", "%s1 %s0"] {
        let problems = refused(&[&long, "%s"], &printf(arguments));
        assert!(problems.contains("more than 4095"), "{problems}");
    }
    let body = "%odd = OpINotEqual %bool %n %two
        %a = OpBitcast %char_pointer %s0
        %b = OpBitcast %char_pointer %s1
        %format = OpSelect %char_pointer %odd %a %b
        %r = OpExtInst %uint %cl printf %format %n";
    let problems = refused(&["%d", "%x"], body);
    assert!(
        problems.contains("the format of a printf is not a constant"),
        "{problems}"
    );
}
