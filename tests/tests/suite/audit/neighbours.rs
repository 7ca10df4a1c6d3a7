//! Neighbouring fences with different memory. An optimiser that merges two such fences omits the
//! waits and invalidations of one. The audit must report them, whichever fence they belong to. So
//! the plan's fences of one memory are removed before the module is lowered, and the audit uses the
//! whole plan.

use crate::support::{always_split, assembled};
use anyhow::{Context, Result, ensure};
use splitbar::diagnostic::Code;
use splitbar::{EntryPlan, Optimization, Strategy};
use splitbar_plan::{AmdgpuStep, Fence, FenceMemory, Step};

/// The barriers of each kernel.
const PATTERNS: &[(&str, Option<Strategy>, &str)] = &[
    (
        "a memory barrier before an arrive",
        None,
        "OpMemoryBarrier %wg %release_buffer
OpControlBarrierArriveINTEL %wg %wg %release_shared
OpControlBarrierWaitINTEL %wg %wg %acquire_shared
OpMemoryBarrier %wg %acquire_buffer",
    ),
    (
        "two memory barriers around a relaxed pair",
        None,
        "OpMemoryBarrier %wg %release_buffer
OpMemoryBarrier %wg %release_shared
OpControlBarrierArriveINTEL %wg %wg %relaxed
OpControlBarrierWaitINTEL %wg %wg %relaxed
OpMemoryBarrier %wg %acquire_buffer
OpMemoryBarrier %wg %acquire_shared",
    ),
    (
        "two memory barriers around a full barrier",
        None,
        "OpMemoryBarrier %wg %release_buffer
OpMemoryBarrier %wg %release_shared
OpControlBarrier %wg %wg %relaxed
OpMemoryBarrier %wg %acquire_buffer
OpMemoryBarrier %wg %acquire_shared",
    ),
    (
        "a full barrier between an arrive and its wait",
        Some(Strategy::Fused),
        "OpControlBarrierArriveINTEL %wg %wg %release_buffer
OpControlBarrier %wg %wg %both_shared
OpControlBarrierWaitINTEL %wg %wg %acquire_buffer",
    ),
    (
        "two acquire-release memory barriers",
        None,
        "OpMemoryBarrier %wg %both_buffer
OpMemoryBarrier %wg %both_shared
OpControlBarrierArriveINTEL %wg %wg %relaxed
OpControlBarrierWaitINTEL %wg %wg %relaxed
OpMemoryBarrier %wg %both_buffer
OpMemoryBarrier %wg %both_shared",
    ),
];

/// The remaining part of a step: no fence of buffers, and no explicit wait. The plan makes one
/// fence of two neighbours, of which the part for workgroup memory remains.
fn kept(step: &Step) -> Option<Step> {
    match step {
        Step::Fence(fence) => (fence.memory != FenceMemory::Global).then_some(Step::Fence(Fence {
            memory: FenceMemory::Local,
            ..*fence
        })),
        Step::Amdgpu(AmdgpuStep::WaitZero(_)) => None,
        other => Some(other.clone()), // no other step orders memory
    }
}

pub(super) fn missed() -> Result<()> {
    for (what, strategy, barriers) in PATTERNS {
        let module = assembled(&source(barriers))?;
        for name in ["gfx1030", "gfx1100", "gfx1201", "gfx1250"] {
            for level in [Optimization::O0, Optimization::O2] {
                let mut options = always_split(name)?;
                options.audit = true;
                options.optimization = level;
                options.strategy = *strategy;
                // Windows would be widened by what is left of the plan: over the very loads.
                options.scheduling_barriers = false;
                let mut change = |plans: &mut [EntryPlan]| {
                    let lists = plans
                        .iter_mut()
                        .flat_map(|plan| plan.at_instruction.values_mut());
                    for steps in lists {
                        *steps = steps.iter().filter_map(kept).collect();
                    }
                };
                let lost = format!("{what}, {name} {level:?}");
                let failure = splitbar::Compiler::new(&options)
                    .with_changed_plans(&mut change)
                    .compile(&module)
                    .err()
                    .with_context(|| format!("{lost}: not missed"))?;
                let codes: Vec<Code> = failure.diagnostics.iter().map(|one| one.code).collect();
                let has = |code| codes.contains(&code);
                // The waves of a workgroup load through one cache on gfx12.5.
                let invalidated = name == "gfx1250" || has(Code::MissingInvalidation);
                ensure!(has(Code::MissingWait) && invalidated, "{lost}: {failure}");
            }
        }
    }
    Ok(())
}

/// Every invocation stores to a buffer and to shared memory, and after `barriers` loads the values
/// of its neighbour.
fn source(barriers: &str) -> String {
    format!(
        "OpCapability Shader
OpCapability SplitBarrierINTEL
OpExtension \"SPV_INTEL_split_barrier\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %index
OpExecutionMode %main LocalSize 256 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %items ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block BufferBlock
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 0
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%wg = OpConstant %uint 2
%size = OpConstant %uint 256
%relaxed = OpConstant %uint 0
%release_buffer = OpConstant %uint 0x44
%acquire_buffer = OpConstant %uint 0x42
%both_buffer = OpConstant %uint 0x48
%release_shared = OpConstant %uint 0x104
%acquire_shared = OpConstant %uint 0x102
%both_shared = OpConstant %uint 0x108
%items = OpTypeRuntimeArray %uint
%block = OpTypeStruct %items
%to_block = OpTypePointer Uniform %block
%to_item = OpTypePointer Uniform %uint
%array = OpTypeArray %uint %size
%to_array = OpTypePointer Workgroup %array
%to_cell = OpTypePointer Workgroup %uint
%to_input = OpTypePointer Input %uint
%function = OpTypeFunction %void
%index = OpVariable %to_input Input
%data = OpVariable %to_block Uniform
%tile = OpVariable %to_array Workgroup
%main = OpFunction %void None %function
%entry = OpLabel
%i = OpLoad %uint %index
%j = OpBitwiseXor %uint %i %one
%k = OpIAdd %uint %j %size
%mine = OpAccessChain %to_item %data %zero %i
%other = OpAccessChain %to_item %data %zero %j
%result = OpAccessChain %to_item %data %zero %k
%my_cell = OpAccessChain %to_cell %tile %i
%other_cell = OpAccessChain %to_cell %tile %j
OpStore %mine %i
OpStore %my_cell %i
{barriers}
%v = OpLoad %uint %other
%w = OpLoad %uint %other_cell
%sum = OpIAdd %uint %v %w
OpStore %result %sum
OpReturn
OpFunctionEnd
"
    )
}
