//! What the families write selects on old and new targets of both vendors, at -O0 and -O2: code
//! generation would end the process otherwise.

use super::*;
use splitbar_passes::module::assemble;

/// Lowers one shader for all targets, at -O0 and -O2, down to assembly.
fn selects_everywhere(name: &str, make: impl Fn(&mut Shader)) {
    for target in TARGETS {
        for optimization in [Optimization::O0, Optimization::O2] {
            let mut s = Shader::new();
            make(&mut s);
            let lowered = lowered(s.words(), target, optimization)
                .unwrap_or_else(|e| panic!("{name} for {target}: {e}"));
            let assembly = lowered
                .assembly()
                .unwrap_or_else(|e| panic!("{name} for {target}: {e}"));
            assert!(assembly.contains("main"), "{name} for {target}: no kernel");
        }
    }
}

#[test]
fn glsl_selects_everywhere() {
    selects_everywhere("GLSL.std.450", |s| {
        let unary = [
            Glsl::Round,
            Glsl::RoundEven,
            Glsl::Trunc,
            Glsl::FAbs,
            Glsl::FSign,
            Glsl::Floor,
            Glsl::Ceil,
            Glsl::Fract,
            Glsl::Radians,
            Glsl::Degrees,
            Glsl::Sin,
            Glsl::Cos,
            Glsl::Tan,
            Glsl::Asin,
            Glsl::Acos,
            Glsl::Atan,
            Glsl::Sinh,
            Glsl::Cosh,
            Glsl::Tanh,
            Glsl::Asinh,
            Glsl::Acosh,
            Glsl::Atanh,
            Glsl::Exp,
            Glsl::Log,
            Glsl::Exp2,
            Glsl::Log2,
            Glsl::Sqrt,
            Glsl::InverseSqrt,
            Glsl::Length,
            Glsl::Normalize,
        ];
        let binary = [
            Glsl::Atan2,
            Glsl::Pow,
            Glsl::FMin,
            Glsl::FMax,
            Glsl::NMin,
            Glsl::NMax,
            Glsl::Step,
            Glsl::Distance,
        ];
        let ternary = [
            Glsl::FClamp,
            Glsl::NClamp,
            Glsl::FMix,
            Glsl::SmoothStep,
            Glsl::Fma,
        ];
        let (x, y, z) = (s.load_f(), s.load_f(), s.load_f());
        for width in [16, 32] {
            let ty = if width == 16 { s.f16 } else { s.f32 };
            let convert = |s: &mut Shader, v: Word| {
                if width == 16 {
                    s.b.f_convert(ty, None, v).unwrap()
                } else {
                    v
                }
            };
            let (x, y, z) = (convert(s, x), convert(s, y), convert(s, z));
            let mut results = Vec::new();
            results.extend(unary.map(|op| s.ext(ty, op, &[x])));
            results.extend(binary.map(|op| s.ext(ty, op, &[x, y])));
            results.extend(ternary.map(|op| s.ext(ty, op, &[x, y, z])));
            for value in results {
                let value = if width == 16 {
                    s.b.f_convert(s.f32, None, value).unwrap()
                } else {
                    value
                };
                s.store_bits(value);
            }
        }
    });
}

#[test]
fn opencl_doubles_select_everywhere() {
    selects_everywhere("OpenCL.std of doubles", |s| {
        let x = s.load_f();
        let x = s.b.f_convert(s.f64, None, x).unwrap();
        for op in [
            Cl::acos,
            Cl::asinh,
            Cl::atan,
            Cl::cbrt,
            Cl::cos,
            Cl::cosh,
            Cl::erf,
            Cl::exp,
            Cl::exp2,
            Cl::exp10,
            Cl::expm1,
            Cl::lgamma,
            Cl::log,
            Cl::log2,
            Cl::log10,
            Cl::log1p,
            Cl::sin,
            Cl::sinpi,
            Cl::cospi,
            Cl::sqrt,
            Cl::rsqrt,
            Cl::tan,
            Cl::tanh,
            Cl::tgamma,
            Cl::logb,
            Cl::rint,
            Cl::round,
        ] {
            let value = s.cl(s.f64, op, &[x]);
            let value = s.b.f_convert(s.f32, None, value).unwrap();
            s.store_bits(value);
        }
        for op in [
            Cl::atan2,
            Cl::hypot,
            Cl::nextafter,
            Cl::pow,
            Cl::powr,
            Cl::fmod,
            Cl::remainder,
            Cl::fdim,
            Cl::maxmag,
        ] {
            let value = s.cl(s.f64, op, &[x, x]);
            let value = s.b.f_convert(s.f32, None, value).unwrap();
            s.store_bits(value);
        }
    });
}

#[test]
fn subgroup_operations_select_everywhere() {
    selects_everywhere("subgroup operations", |s| {
        let (scope, x) = (s.u(3), s.load());
        let f = s.load_f();
        let (boolean, u32, f32) = (s.boolean, s.u32, s.f32);
        let v4 = s.b.type_vector(u32, 4);
        let one = s.u(1);
        let odd = s.b.i_equal(boolean, None, x, one).unwrap();
        let votes = [
            s.b.group_non_uniform_elect(boolean, None, scope).unwrap(),
            s.b.group_non_uniform_all(boolean, None, scope, odd)
                .unwrap(),
            s.b.group_non_uniform_any(boolean, None, scope, odd)
                .unwrap(),
            s.b.group_non_uniform_all_equal(boolean, None, scope, f)
                .unwrap(),
        ];
        for vote in votes {
            s.store_bool(vote);
        }
        let ballot = s.b.group_non_uniform_ballot(v4, None, scope, odd).unwrap();
        let inverse =
            s.b.group_non_uniform_inverse_ballot(boolean, None, scope, ballot)
                .unwrap();
        s.store_bool(inverse);
        let words = [
            s.b.composite_extract(u32, None, ballot, [1]).unwrap(),
            s.b.group_non_uniform_ballot_bit_count(
                u32,
                None,
                scope,
                GroupOperation::ExclusiveScan,
                ballot,
            )
            .unwrap(),
            s.b.group_non_uniform_ballot_find_lsb(u32, None, scope, ballot)
                .unwrap(),
            s.b.group_non_uniform_broadcast_first(u32, None, scope, x)
                .unwrap(),
            s.b.group_non_uniform_shuffle(u32, None, scope, x, one)
                .unwrap(),
            s.b.group_non_uniform_shuffle_xor(u32, None, scope, x, one)
                .unwrap(),
            s.b.group_non_uniform_i_add(u32, None, scope, GroupOperation::Reduce, x, None)
                .unwrap(),
            s.b.group_non_uniform_u_max(u32, None, scope, GroupOperation::InclusiveScan, x, None)
                .unwrap(),
            s.b.group_non_uniform_bitwise_xor(
                u32,
                None,
                scope,
                GroupOperation::ExclusiveScan,
                x,
                None,
            )
            .unwrap(),
        ];
        for word in words {
            s.store(word);
        }
        let sum =
            s.b.group_non_uniform_f_add(f32, None, scope, GroupOperation::Reduce, f, None)
                .unwrap();
        s.store_bits(sum);
        let wide = s.b.f_convert(s.f64, None, f).unwrap();
        let wide =
            s.b.group_non_uniform_f_min(
                s.f64,
                None,
                scope,
                GroupOperation::InclusiveScan,
                wide,
                None,
            )
            .unwrap();
        let wide = s.b.f_convert(f32, None, wide).unwrap();
        s.store_bits(wide);
    });
}

#[test]
fn atomics_select_everywhere() {
    selects_everywhere("atomics", |s| {
        let (device, u32) = (s.u(1), s.u32);
        let one = s.u(1);
        for semantics in [0u32, 0x42, 0x44, 0x48, 0x50] {
            let semantics = s.u(semantics);
            let place = s.place(2000);
            let results = [
                s.b.atomic_i_add(u32, None, place, device, semantics, one)
                    .unwrap(),
                s.b.atomic_s_min(u32, None, place, device, semantics, one)
                    .unwrap(),
                s.b.atomic_exchange(u32, None, place, device, semantics, one)
                    .unwrap(),
                s.b.atomic_i_increment(u32, None, place, device, semantics)
                    .unwrap(),
            ];
            for result in results {
                s.store(result);
            }
        }
        let (relaxed, acquire, release) = (s.u(0), s.u(0x42), s.u(0x44));
        let acquire_release = s.u(0x48);
        let place = s.place(2001);
        let exchanged =
            s.b.atomic_compare_exchange(
                u32,
                None,
                place,
                device,
                acquire_release,
                acquire,
                one,
                relaxed,
            )
            .unwrap();
        s.store(exchanged);
        let loaded = s.b.atomic_load(u32, None, place, device, acquire).unwrap();
        s.store(loaded);
        s.b.atomic_store(place, device, release, one).unwrap();
    });
}

/// A kernel that has `body` between its first label and the store of %result to %place, over a
/// buffer of vectors of four 16-bit elements: `types` declares their type, whose name is `element`,
/// and %number is the number of the invocation.
fn over_vectors(capabilities: &str, types: &str, element: &str, body: &str) -> Vec<u32> {
    let text = format!(
        "OpCapability Shader
        {capabilities}
        OpCapability StorageBuffer16BitAccess
        %glsl = OpExtInstImport \"GLSL.std.450\"
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\" %buffer %local
        OpExecutionMode %main LocalSize 64 1 1
        OpDecorate %buffer DescriptorSet 0
        OpDecorate %buffer Binding 0
        OpDecorate %local BuiltIn LocalInvocationIndex
        OpDecorate %array ArrayStride 8
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        %void = OpTypeVoid
        %function = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        {types}
        %array = OpTypeRuntimeArray %{element}
        %block = OpTypeStruct %array
        %block_pointer = OpTypePointer StorageBuffer %block
        %element_pointer = OpTypePointer StorageBuffer %{element}
        %uint_pointer = OpTypePointer Input %uint
        %buffer = OpVariable %block_pointer StorageBuffer
        %local = OpVariable %uint_pointer Input
        %zero = OpConstant %uint 0
        %one = OpConstant %uint 1
        %main = OpFunction %void None %function
        %entry = OpLabel
        %number = OpLoad %uint %local
        {body}
        OpStore %place %result
        OpReturn
        OpFunctionEnd"
    );
    assemble(&text).unwrap().words
}

/// Constants are folded before anything is selected; these are loaded, at one place for all
/// invocations and at a place of each.
#[test]
fn halves_of_memory_select_everywhere() {
    for place in ["%zero", "%number"] {
        for body in [
            "%result = OpExtInst %halves %glsl Exp %a",
            "%result = OpFDiv %halves %a %a",
            "%floats = OpFConvert %vec4 %a\n %sum = OpFAdd %vec4 %floats %floats\n %result = OpFConvert %halves %sum",
        ] {
            let capability = "OpCapability Float16";
            let types = "%half = OpTypeFloat 16
                %float = OpTypeFloat 32
                %halves = OpTypeVector %half 4
                %vec4 = OpTypeVector %float 4";
            let body = format!(
                "%place = OpAccessChain %element_pointer %buffer %zero {place}
                %a = OpLoad %halves %place
                {body}"
            );
            let words = over_vectors(capability, types, "halves", &body);
            for target in TARGETS.into_iter().chain(["gfx90a", "gfx1150"]) {
                for optimization in [Optimization::O0, Optimization::O2] {
                    lowered(words.clone(), target, optimization)
                        .and_then(|lowered| lowered.assembly().map_err(|e| e.to_string()))
                        .unwrap_or_else(|e| panic!("{body} at {place} for {target}: {e}"));
                }
            }
        }
    }
}

/// LLVM merges the move of lanes into the test of one bit, and must still store what was moved,
/// with its neighbour by one store.
#[test]
fn what_was_moved_is_stored_beside_its_neighbour() {
    for target in ["gfx1100", "gfx1201", "gfx1250"] {
        let words = assemble(
            "OpCapability Shader
            OpCapability GroupNonUniform
            OpCapability GroupNonUniformBallot
            OpCapability GroupNonUniformShuffle
            OpMemoryModel Logical GLSL450
            OpEntryPoint GLCompute %main \"main\" %buffer %local
            OpExecutionMode %main LocalSize 64 1 1
            OpDecorate %buffer DescriptorSet 0
            OpDecorate %buffer Binding 0
            OpDecorate %local BuiltIn LocalInvocationIndex
            OpDecorate %array ArrayStride 16
            OpDecorate %block Block
            OpMemberDecorate %block 0 Offset 0
            %void = OpTypeVoid
            %function = OpTypeFunction %void
            %bool = OpTypeBool
            %uint = OpTypeInt 32 0
            %uvec4 = OpTypeVector %uint 4
            %array = OpTypeRuntimeArray %uvec4
            %block = OpTypeStruct %array
            %block_pointer = OpTypePointer StorageBuffer %block
            %vector_pointer = OpTypePointer StorageBuffer %uvec4
            %uint_pointer = OpTypePointer Input %uint
            %buffer = OpVariable %block_pointer StorageBuffer
            %local = OpVariable %uint_pointer Input
            %zero = OpConstant %uint 0
            %subgroup = OpConstant %uint 3
            %four = OpConstant %uint 4
            %bit = OpConstant %uint 2097152
            %main = OpFunction %void None %function
            %entry = OpLabel
            %number = OpLoad %uint %local
            %place = OpAccessChain %vector_pointer %buffer %zero %number
            %loaded = OpLoad %uvec4 %place
            %a = OpCompositeExtract %uint %loaded 0
            %b = OpCompositeExtract %uint %loaded 1
            %moved = OpGroupNonUniformShuffleXor %uint %subgroup %a %four
            %of_bit = OpBitwiseAnd %uint %moved %bit
            %is_set = OpINotEqual %bool %of_bit %zero
            %ballot = OpGroupNonUniformBallot %uvec4 %subgroup %is_set
            %count = OpGroupNonUniformBallotBitCount %uint %subgroup Reduce %ballot
            %result = OpCompositeConstruct %uvec4 %count %b %moved %b
            OpStore %place %result
            OpReturn
            OpFunctionEnd",
        )
        .unwrap()
        .words;
        let assembly = lowered(words, target, Optimization::O3)
            .unwrap()
            .assembly()
            .unwrap();
        assert!(assembly.contains("row_xmask:4"), "{target}\n{assembly}");
        let moves = assembly.contains("v_mov_b32_dpp");
        assert!(moves, "{target}\n{assembly}");
    }
}

/// The optimiser makes one operation of those in both branches.
#[test]
fn updates_of_both_branches_are_no_loop() {
    let mut s = Shader::new();
    let (device, relaxed, zero) = (s.u(1), s.u(0), s.u(0));
    let word = s.load();
    let place = s.place(2000);
    let condition = s.b.i_not_equal(s.boolean, None, word, zero).unwrap();
    let labels = [s.b.id(), s.b.id(), s.b.id()];
    s.b.selection_merge(labels[2], spirv::SelectionControl::NONE)
        .unwrap();
    s.b.branch_conditional(condition, labels[0], labels[1], [])
        .unwrap();
    for label in [labels[0], labels[1]] {
        s.b.begin_block(Some(label)).unwrap();
        s.b.atomic_or(s.u32, None, place, device, relaxed, word)
            .unwrap();
        s.b.branch(labels[2]).unwrap();
    }
    s.b.begin_block(Some(labels[2])).unwrap();
    let words = s.words();
    for target in ["gfx1030", "gfx1100"] {
        let assembly = lowered(words.clone(), target, Optimization::O2)
            .unwrap()
            .assembly()
            .unwrap();
        assert!(assembly.contains("global_atomic_or"), "{assembly}");
        assert!(!assembly.contains("cmpswap"), "{assembly}");
    }
}

/// Minima and maxima of three vectors of 16-bit integers: the GPUs behind gfx12.5 have no
/// instruction for them.
#[test]
fn extremes_of_three_vectors_select_everywhere() {
    for (body, of) in [
        (
            "%m = OpExtInst %shorts %glsl SMax %a %b\n%result = OpExtInst %shorts %glsl SMax %m %c",
            "SMax",
        ),
        (
            "%m = OpExtInst %shorts %glsl UMin %a %b\n%result = OpExtInst %shorts %glsl UMin %c %m",
            "UMin",
        ),
        (
            "%m = OpExtInst %shorts %glsl SAbs %a\n%result = OpExtInst %shorts %glsl SMax %m %c",
            "SAbs",
        ),
        (
            "%less = OpSLessThan %bools %a %b\n%m = OpSelect %shorts %less %a %b\n%result = OpExtInst %shorts %glsl SMin %m %c",
            "OpSelect",
        ),
    ] {
        let types = "%bool = OpTypeBool
            %short = OpTypeInt 16 1
            %bools = OpTypeVector %bool 4
            %shorts = OpTypeVector %short 4";
        let body = format!(
            "%next = OpIAdd %uint %number %one
            %last = OpIAdd %uint %next %one
            %place = OpAccessChain %element_pointer %buffer %zero %number
            %place_b = OpAccessChain %element_pointer %buffer %zero %next
            %place_c = OpAccessChain %element_pointer %buffer %zero %last
            %a = OpLoad %shorts %place
            %b = OpLoad %shorts %place_b
            %c = OpLoad %shorts %place_c
            {body}"
        );
        let words = over_vectors("OpCapability Int16", types, "shorts", &body);
        for target in TARGETS.into_iter().chain(["gfx1310", "gfx13-generic"]) {
            for optimization in [Optimization::O0, Optimization::O2] {
                lowered(words.clone(), target, optimization)
                    .and_then(|lowered| lowered.assembly().map_err(|e| e.to_string()))
                    .unwrap_or_else(|e| panic!("{of} for {target}: {e}"));
            }
        }
    }
}
