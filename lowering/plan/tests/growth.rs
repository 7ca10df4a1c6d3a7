//! Planning costs about as much for each pair of a large function as for each of a small one,
//! whatever the shape and the strategy.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../../../passes/tests/shapes/mod.rs"]
mod shapes;

use shapes::SHAPES;
use splitbar_harness::cpu_time;
use splitbar_layout::{Kernel, KernelOptions};
use splitbar_passes::analysis::program::Program;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues, assemble};
use splitbar_passes::transform::inline::inline_barrier_functions;
use splitbar_plan::{PlanOptions, Strategy, Target, plan};
use std::fmt::Write;
use std::time::Duration;

/// A target, and the strategy for it; none takes the target's own.
const PLANS: [(&str, Option<Strategy>); 3] = [
    ("gfx1201", None),
    ("sm_70", None),
    ("sm_90", Some(Strategy::Mbarrier)),
];

/// Blocks (or pairs) of the small function and of the large one.
const FEW: usize = MANY / 20;
const MANY: usize = if cfg!(debug_assertions) {
    4_000
} else {
    100_000
};

/// Room for caches and a busy machine; a square law would make it at least twenty.
const MOST_GROWTH: f64 = 10.0;

/// The steps of the plan as far as they count here, and the time that preparation and plan took:
/// the least of some runs.
fn planned(
    module: &Module<'_>,
    (target, strategy): (&str, Option<Strategy>),
    runs: usize,
) -> (usize, Duration) {
    let mut problems = Diagnostics::new();
    let declarations = Declarations::new(module, &mut problems);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
    assert!(problems.is_empty(), "{problems}");
    let entry = declarations.entry_points.first().unwrap();
    let target = Target::by_name(target).unwrap();
    let wanted = KernelOptions {
        promote_async_copies: true,
        ..KernelOptions::default()
    };
    let options = PlanOptions {
        strategy,
        ..PlanOptions::default()
    };
    let mut least = Duration::MAX;
    let mut places = 0;
    for _ in 0..runs {
        let mut problems = Diagnostics::new();
        let (plan, took) = cpu_time(|| {
            let program = Program::new(&declarations, &constants);
            let kernel = Kernel::analyze(&program, entry, target, wanted, &mut problems).unwrap();
            plan(&kernel, options.clone(), &mut problems)
        });
        least = least.min(took);
        places = plan.at_instruction.len();
    }
    (places, least)
}

#[test]
fn time_for_each_pair_stays_about_the_same() {
    let mut wrong = Vec::new();
    let copied: shapes::Shape = ("copies of one block", copies);
    for (name, shape) in SHAPES.iter().chain([&copied]) {
        let modules =
            [(FEW, 5), (MANY, 1)].map(|(count, runs)| (inlined(&shape(count)), count, runs));
        for way in PLANS {
            let [small, large] = modules.each_ref().map(|(words, count, runs)| {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                let (places, time) = planned(&Module::parse(&bytes).unwrap(), way, *runs);
                assert!(places > 0, "{name}: every shape has barriers");
                println!("{name} {way:?}: {count} in {time:?}, {places} places");
                time.as_secs_f64() / *count as f64
            });
            if large / small > MOST_GROWTH {
                let growth = large / small;
                wrong.push(format!(
                    "{name} {way:?}: {growth:.1} times as much for each"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The words of the module with its functions with barriers in their callers.
fn inlined(text: &str) -> Vec<u32> {
    let assembled = assemble(text).unwrap();
    let module = assembled.module().unwrap();
    let declarations = Declarations::new(&module, &mut Diagnostics::new());
    match inline_barrier_functions(&module, &declarations).unwrap() {
        None => assembled.words.clone(),
        Some(edited) => edited
            .module
            .to_bytes()
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect(),
    }
}

/// Words of a buffer to workgroup memory, a pair around work behind each: copies that may become
/// asynchronous and arrive by themselves.
fn copies(pairs: usize) -> String {
    let mut text = String::from(
        "; Version: 1.6
OpCapability Shader
OpCapability SplitBarrierEXT
OpExtension \"SPV_EXT_split_barrier\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %index %buffer %tile
OpExecutionMode %main LocalSize 64 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %block Block
OpDecorate %array ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%u2 = OpConstant %uint 2
%u64 = OpConstant %uint 64
%release = OpConstant %uint 0x104
%acquire = OpConstant %uint 0x102
%in_uint = OpTypePointer Input %uint
%index = OpVariable %in_uint Input
%array = OpTypeRuntimeArray %uint
%block = OpTypeStruct %array
%buffer_ptr = OpTypePointer StorageBuffer %block
%word = OpTypePointer StorageBuffer %uint
%buffer = OpVariable %buffer_ptr StorageBuffer
%tile_array = OpTypeArray %uint %u64
%tile_ptr = OpTypePointer Workgroup %tile_array
%shared = OpTypePointer Workgroup %uint
%tile = OpVariable %tile_ptr Workgroup
%main = OpFunction %void None %fn
%start = OpLabel
%lane = OpLoad %uint %index
%from = OpAccessChain %word %buffer %u0 %lane
%to = OpAccessChain %shared %tile %lane
",
    );
    for at in 0..pairs {
        let _ = writeln!(
            text,
            "%v{at} = OpLoad %uint %from
OpStore %to %v{at}
OpControlBarrierArriveEXT %u2 %u2 %release
%w{at} = OpIAdd %uint %lane %u1
OpControlBarrierWaitEXT %u2 %u2 %acquire"
        );
    }
    text + "OpReturn\nOpFunctionEnd\n"
}
