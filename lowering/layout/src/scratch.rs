//! Workgroup memory of the OpGroup* instructions of workgroup scope (SPIR-V 1.6, section 3.52.21),
//! which of them need none, and what an entry point takes in all.

use crate::exchange::{EXCHANGE_ALIGN, MAX_EXCHANGE_BYTES};
use spirv::{GroupOperation, Op};
use splitbar_passes::analysis::layout::Alignment;
use splitbar_passes::analysis::uses::Reached;
use splitbar_passes::analysis::workgroup_memory::WorkgroupMemory;
use splitbar_passes::module::facts::Class;
use splitbar_passes::module::{Constants, Declarations, Id, Inst, Scope, Type};
use splitbar_target::{Arch, Target};

/// Workgroup memory that these instructions share, in bytes: eight for each of 32 subgroups, or one
/// value of OpGroupBroadcast.
pub const SCRATCH_BYTES: u32 = 256;

/// Its alignment.
pub const SCRATCH_ALIGN: Alignment = Alignment::QUAD;

/// Bytes of workgroup memory that an entry point, whose variables take `variables`, takes on
/// `target` before barriers reserve any: the variables, and behind them what OpGroup* instructions
/// and the `exchanged` elements of cooperative matrices need.
pub(crate) fn shared_bytes(
    declarations: &Declarations<'_>,
    constants: &Constants,
    target: &Target,
    reached: &Reached,
    variables: &WorkgroupMemory,
    exchanged: u64,
) -> u32 {
    let needs = |inst: &Inst<'_>| {
        let inst = *inst;
        is_group(inst)
            && inst
                .id(0)
                .ok()
                .and_then(|scope| Scope::evaluate(scope, inst, constants).ok())
                == Some(Scope::Workgroup)
            && vote(declarations, constants, target, inst).is_none()
    };
    let functions = reached.order.iter();
    let scratch = functions
        .filter_map(|id| declarations.function(*id))
        .any(|function| function.syncs.iter().any(needs));
    let bytes = if scratch {
        SCRATCH_ALIGN
            .round_up(variables.bytes)
            .saturating_add(SCRATCH_BYTES.into())
    } else {
        variables.bytes
    };
    let bytes = match exchanged {
        exchanged @ 1..=MAX_EXCHANGE_BYTES => {
            EXCHANGE_ALIGN.round_up(bytes).saturating_add(exchanged)
        }
        _ => bytes,
    };
    // More than that is more than any target has, and refused.
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Returns true for the group operations that all invocations of a group execute and whose group
/// may be the workgroup: OpGroup*.
pub fn is_group(inst: Inst<'_>) -> bool {
    let facts = inst.facts();
    matches!(facts.class, Class::Group(_)) && !facts.active_lanes
}

/// The result of a barrier that reduces a predicate (PTX ISA, `bar.red`).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Vote {
    /// Whether the predicate holds in all invocations.
    All,
    /// Whether it holds in one.
    Any,
    /// In how many it holds.
    Count,
}

/// The predicate and the vote that the instruction is, where the target has barriers that vote: a
/// count is the sum of `OpSelect %predicate 1 0`.
pub fn vote(
    declarations: &Declarations<'_>,
    constants: &Constants,
    target: &Target,
    inst: Inst<'_>,
) -> Option<(Id, Vote)> {
    if !matches!(target.arch, Arch::Nvptx(_)) {
        return None;
    }
    let reduces = || {
        let shape = inst.operand(1).ok().and_then(GroupOperation::from_u32);
        (shape == Some(GroupOperation::Reduce)).then(|| inst.id(2).ok())?
    };
    let ty = declarations.ty(inst.result_type()?)?;
    Some(match (inst.op()?, ty) {
        (Op::GroupAll, Type::Bool) => (inst.id(1).ok()?, Vote::All),
        (Op::GroupAny, Type::Bool) => (inst.id(1).ok()?, Vote::Any),
        (Op::GroupLogicalAndKHR, Type::Bool) => (reduces()?, Vote::All),
        (Op::GroupLogicalOrKHR, Type::Bool) => (reduces()?, Vote::Any),
        (Op::GroupIAdd, Type::Int { width: 32, .. }) => {
            let select = declarations.module.def(reduces()?)?;
            let is = |operand: usize, wanted| {
                let id = select.id(operand).ok();
                id.and_then(|id| constants.as_u32(id)) == Some(wanted)
            };
            if select.op() != Some(Op::Select) || !is(1, 1) || !is(2, 0) {
                return None;
            }
            (select.id(0).ok()?, Vote::Count)
        }
        _ => return None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::read;
    use splitbar_passes::module::assemble;

    /// The memory of a kernel with this instruction, on an AMD GPU and on one of NVIDIA's, which
    /// votes at a barrier.
    fn bytes(instruction: &str) -> [u32; 2] {
        let text = format!(
            "; Version: 1.1
OpCapability Kernel
OpCapability Addresses
OpCapability Groups
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\"
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%true = OpConstantTrue %bool
%c2 = OpConstant %uint 2
%c3 = OpConstant %uint 3
%main = OpFunction %void None %fn
%entry = OpLabel
{instruction}
OpReturn
OpFunctionEnd"
        );
        let assembled = assemble(&text).unwrap();
        read(&assembled.module().unwrap(), |declarations, constants| {
            let entry = declarations.entry_points.first().unwrap();
            let reached = Reached::analyze(declarations, constants, entry).unwrap();
            ["gfx1201", "sm_90"].map(|target| {
                let target = Target::by_name(target).unwrap();
                let variables = WorkgroupMemory::touched(declarations, constants, &reached.own);
                shared_bytes(declarations, constants, target, &reached, &variables, 0)
            })
        })
    }

    #[test]
    fn reductions_of_a_workgroup_need_memory_and_votes_of_nvidia_none() {
        for (instruction, expected) in [
            ("", [0, 0]),
            ("%r = OpGroupIAdd %uint %c2 Reduce %c2", [256, 256]),
            ("%r = OpGroupIAdd %uint %c3 Reduce %c2", [0, 0]),
            ("%r = OpGroupAll %bool %c2 %true", [256, 0]),
        ] {
            assert_eq!(bytes(instruction), expected, "{instruction}");
        }
    }
}
