//! Wrong places that LLVM gives to machine instructions: the audit must not mistake an access after
//! a release for one before it.

use crate::support::{always_split, assembled};
use anyhow::{Context, Result, anyhow, ensure};
use splitbar::{Optimization, PipelineLoops, Strategy};
use splitbar_passes::module::Module;
use splitbar_tests::fixture::Fixture;

/// A function that an entry point calls between a fence and the fence's barrier. LLVM inlines it:
/// the words of the function are in no block of the entry point.
const CALL: &str = "\
OpMemoryBarrier %wg %both_buffer
%loaded = OpFunctionCall %uint %load %index
OpControlBarrier %wg %wg %acquire_shared
OpStore %to %loaded";

/// A load in a window on one side of a branch. LLVM makes the variable a vector of bytes, and gives
/// the load the place of the wait after it.
const SIDE: &str = "\
OpSelectionMerge %join None
OpBranchConditional %is_odd %odd %even
%odd = OpLabel
OpStore %shared_own %index
OpControlBarrier %wg %wg %both_buffer
%other = OpLoad %uint %shared_first
OpStore %variable %other
OpBranch %join
%even = OpLabel
OpControlBarrierArriveINTEL %wg %device %release_buffer
%loaded = OpFunctionCall %uint %load %wid
OpStore %variable %loaded
OpControlBarrierWaitINTEL %wg %wg %relaxed
OpBranch %join
%join = OpLabel
%called = OpFunctionCall %void %nothing %variable
%value = OpLoad %uint %variable
OpStore %to %value";

pub(super) fn judged() -> Result<()> {
    for (body, name, strategy, level) in [
        (CALL, "gfx1030", None, Optimization::O0),
        (CALL, "gfx1201", None, Optimization::O2),
        (CALL, "sm_80", None, Optimization::O2),
        (SIDE, "gfx1201", Some(Strategy::Fused), Optimization::O2),
        (SIDE, "gfx1030", Some(Strategy::Fused), Optimization::O3),
    ] {
        let mut options = always_split(name)?;
        options.audit = true;
        options.strategy = strategy;
        options.optimization = level;
        splitbar::Compiler::new(&options)
            .compile(&assembled(&source(body))?)
            .with_context(|| format!("{name} {level:?}: {body}"))?;
    }
    Ok(())
}

/// The audit names words of the input module, also for code that passes generated from another
/// module.
pub(super) fn given() -> Result<()> {
    for (kernel, pipeline_loops) in [
        ("split_functions", PipelineLoops::Never), // its barriers are inlined
        ("plain_matmul", PipelineLoops::TwoBuffers),
    ] {
        let bytes = Fixture::load(kernel)?.module()?;
        let module = Module::parse(&bytes).map_err(|problem| anyhow!("{problem:?}"))?;
        let mut options = always_split("gfx1201")?;
        options.audit = true;
        options.pipeline_loops = pipeline_loops;
        let output = splitbar::Compiler::new(&options).compile(&bytes)?;
        let audit = output.entries()[0].audit.as_ref().context("no audit")?;
        let mut barriers = 0;
        for barrier in &audit.barriers {
            let outstanding = barrier.outstanding.iter().map(|one| one.at.word);
            for word in outstanding.chain([barrier.at.word]).flatten() {
                let inst = module.at(word);
                let inst = inst.with_context(|| format!("{kernel}: word {word}"))?;
                if barrier.at.word == Some(word) {
                    barriers += usize::from(matches!(inst.opcode(), 224 | 6142 | 6143));
                }
            }
        }
        ensure!(barriers >= 2, "{kernel}: {barriers} barriers\n{audit}");
    }
    Ok(())
}

/// A kernel that loads from one buffer and stores to another.
fn source(body: &str) -> String {
    format!(
        "OpCapability Shader
OpCapability SplitBarrierINTEL
OpExtension \"SPV_INTEL_split_barrier\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %local_index %workgroup_id
OpExecutionMode %main LocalSize 128 1 1
OpDecorate %local_index BuiltIn LocalInvocationIndex
OpDecorate %workgroup_id BuiltIn WorkgroupId
OpDecorate %items ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %in DescriptorSet 0
OpDecorate %in Binding 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 1
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%uint3 = OpTypeVector %uint 3
%zero = OpConstant %uint 0
%device = OpConstant %uint 1
%wg = OpConstant %uint 2
%many = OpConstant %uint 128
%relaxed = OpConstant %uint 0
%release_buffer = OpConstant %uint 68
%both_buffer = OpConstant %uint 72
%acquire_shared = OpConstant %uint 258
%items = OpTypeRuntimeArray %uint
%block = OpTypeStruct %items
%block_pointer = OpTypePointer StorageBuffer %block
%item = OpTypePointer StorageBuffer %uint
%in = OpVariable %block_pointer StorageBuffer
%out = OpVariable %block_pointer StorageBuffer
%shared_type = OpTypeArray %uint %many
%shared_pointer = OpTypePointer Workgroup %shared_type
%shared_item = OpTypePointer Workgroup %uint
%shared = OpVariable %shared_pointer Workgroup
%input = OpTypePointer Input %uint
%input3 = OpTypePointer Input %uint3
%local_index = OpVariable %input Input
%workgroup_id = OpVariable %input3 Input
%private = OpTypePointer Function %uint
%action = OpTypeFunction %void
%of_pointer = OpTypeFunction %void %private
%of_uint = OpTypeFunction %uint %uint
%main = OpFunction %void None %action
%entry = OpLabel
%variable = OpVariable %private Function
%index = OpLoad %uint %local_index
%ids = OpLoad %uint3 %workgroup_id
%wid = OpCompositeExtract %uint %ids 0
%bit = OpBitwiseAnd %uint %wid %device
%is_odd = OpINotEqual %bool %bit %zero
%to = OpAccessChain %item %out %zero %index
%shared_own = OpAccessChain %shared_item %shared %index
%shared_first = OpAccessChain %shared_item %shared %zero
{body}
OpReturn
OpFunctionEnd
%load = OpFunction %uint None %of_uint
%at = OpFunctionParameter %uint
%load_begin = OpLabel
%from = OpAccessChain %item %in %zero %at
%found = OpLoad %uint %from
OpReturnValue %found
OpFunctionEnd
%nothing = OpFunction %void None %of_pointer
%pointer = OpFunctionParameter %private
%nothing_begin = OpLabel
OpReturn
OpFunctionEnd
"
    )
}
