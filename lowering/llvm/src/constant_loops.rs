//! Unrolls loops with a constant trip count on NVIDIA GPUs before the optimiser runs.
//!
//! At level 2 LLVM unrolls a loop completely if it has at most 150 instructions then, so that 16
//! multiply-adds with their loads stay a loop, and ptxas does not unroll it either. Here such loops
//! get the limit of level 3, which is 300. Loops that synchronise the workgroup are left to the
//! optimiser: copies of a barrier gain little. Measured on the fixtures and on 31 kernels full of
//! barriers (docs/code_generation.md).

use crate::{codegen, ffi};
use inkwell::module::Module;
use inkwell::targets::TargetMachine;
use inkwell::values::{BasicMetadataValueEnum, FunctionValue, MetadataValue};
use splitbar_passes::diagnostic::Diagnostics;
use std::collections::HashSet;

/// What marks a loop that is left to the optimiser, beside `llvm.loop.unroll.disable`.
pub(crate) const LATE: &str = "splitbar.loop.late";

/// The loops as LLVM wants to see them, and then one look at each, from the inside out.
const PASSES: &str = "function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg,\
    instcombine<no-verify-fixpoint>,loop-simplify,lcssa,loop(loop-rotate),\
    loop-unroll<O3;no-partial;no-runtime;no-peeling;no-upperbound>)";

/// Unrolls them. To be called on NVPTX before the optimiser runs. Modules without loops are left
/// alone.
///
/// # Errors
/// `LlvmFailed` when a pass fails.
pub(crate) fn unroll(module: &Module<'_>, machine: &TargetMachine) -> Result<(), Diagnostics> {
    let kind = module.get_context().get_kind_id("llvm.loop");
    if module.get_functions().any(may_loop) {
        codegen::run(module, machine, PASSES)?;
    }
    for instruction in codegen::instructions(module) {
        if instruction.get_metadata(kind).is_some_and(is_late) {
            ffi::forget_metadata(instruction, kind);
        }
    }
    Ok(())
}

/// Returns true if `function` may have a loop: of every cycle one branch at least leads to its own
/// block or to one in front of it.
fn may_loop(function: FunctionValue<'_>) -> bool {
    let mut seen = HashSet::new();
    function.get_basic_block_iter().any(|block| {
        seen.insert(block);
        block.get_terminator().is_some_and(|end| {
            let mut targets = end.get_operands().filter_map(|operand| operand?.block());
            targets.any(|target| seen.contains(&target))
        })
    })
}

/// Returns true if a loop's node has the mark.
fn is_late(node: MetadataValue<'_>) -> bool {
    operands(node).any(|hint| {
        let name = operands(hint).next();
        name.is_some_and(|name| name.get_string_value() == Some(LATE.as_bytes()))
    })
}

/// The nodes and strings that a node names.
fn operands(node: MetadataValue<'_>) -> impl Iterator<Item = MetadataValue<'_>> {
    let all = node.is_node().then(|| node.get_node_values());
    let all = all.flatten().unwrap_or_default().into_iter();
    all.filter_map(|operand| match operand {
        BasicMetadataValueEnum::MetadataValue(operand) => Some(operand),
        _ => None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::Optimization;
    use crate::emit::core_tests::lowered_at;
    use splitbar_passes::module::{Module, assemble};
    use splitbar_plan::backend::LoweredModule as _;

    /// A sum of `count` products of what a buffer holds, with something beside each.
    fn products(count: u32, beside: &str) -> Vec<u32> {
        let text = format!(
            "OpCapability Shader
            OpMemoryModel Logical GLSL450
            OpEntryPoint GLCompute %main \"main\" %out %id
            OpExecutionMode %main LocalSize 64 1 1
            OpDecorate %floats ArrayStride 4
            OpDecorate %block Block
            OpMemberDecorate %block 0 Offset 0
            OpDecorate %out DescriptorSet 0
            OpDecorate %out Binding 0
            OpDecorate %id BuiltIn LocalInvocationIndex
            %void = OpTypeVoid
            %u32 = OpTypeInt 32 0
            %f32 = OpTypeFloat 32
            %bool = OpTypeBool
            %u0 = OpConstant %u32 0
            %u1 = OpConstant %u32 1
            %u2 = OpConstant %u32 2
            %u264 = OpConstant %u32 264
            %count = OpConstant %u32 {count}
            %f0 = OpConstant %f32 0
            %floats = OpTypeRuntimeArray %f32
            %block = OpTypeStruct %floats
            %p_block = OpTypePointer StorageBuffer %block
            %p_out = OpTypePointer StorageBuffer %f32
            %p_id = OpTypePointer Input %u32
            %p_i = OpTypePointer Function %u32
            %p_sum = OpTypePointer Function %f32
            %out = OpVariable %p_block StorageBuffer
            %id = OpVariable %p_id Input
            %fn = OpTypeFunction %void
            %main = OpFunction %void None %fn
            %entry = OpLabel
            %i = OpVariable %p_i Function
            %sum = OpVariable %p_sum Function
            %lane = OpLoad %u32 %id
            OpStore %i %u0
            OpStore %sum %f0
            OpBranch %head
            %head = OpLabel
            OpLoopMerge %done %next None
            OpBranch %test
            %test = OpLabel
            %i0 = OpLoad %u32 %i
            %more = OpULessThan %bool %i0 %count
            OpBranchConditional %more %body %done
            %body = OpLabel
            %at = OpIAdd %u32 %i0 %lane
            %from = OpAccessChain %p_out %out %u0 %at
            %a = OpLoad %f32 %from
            %other = OpAccessChain %p_out %out %u0 %i0
            %b = OpLoad %f32 %other
            %product = OpFMul %f32 %a %b
            %before = OpLoad %f32 %sum
            %after = OpFAdd %f32 %before %product
            OpStore %sum %after
            {beside}
            OpBranch %next
            %next = OpLabel
            %i1 = OpLoad %u32 %i
            %i2 = OpIAdd %u32 %i1 %u1
            OpStore %i %i2
            OpBranch %head
            %done = OpLabel
            %result = OpLoad %f32 %sum
            %to = OpAccessChain %p_out %out %u0 %lane
            OpStore %to %result
            OpReturn
            OpFunctionEnd"
        );
        assemble(&text).unwrap().words
    }

    /// How many products the code of a kernel holds.
    fn held(words: Vec<u32>) -> usize {
        let module = Module::from_words(words).unwrap();
        let lowered = lowered_at(&module, "sm_90", false, Optimization::O2).unwrap();
        lowered.assembly().unwrap().matches("fma.rn.f32").count()
    }

    #[test]
    fn loops_of_a_constant_count_are_unrolled_while_they_are_small() {
        assert_eq!(held(products(20, "")), 20);
        assert!(held(products(1000, "")) < 16);
    }

    #[test]
    fn loops_with_barriers_are_not() {
        let barrier = products(20, "OpControlBarrier %u2 %u2 %u264");
        assert!(held(barrier) < 16);
    }
}
