//! The externally visible effects of a kernel: writes to images and to memory other than workgroup
//! memory.

use crate::analysis::cfg::Cfg;
use crate::module::{Constant, Constants, Declarations, Function, Id, Inst, Type, WordOffset};
use spirv::{Op, StorageClass};

/// The first instruction of `entry` or of a function that it reaches that others can see the effect
/// of; `None` if there is none. Blocks that constant conditions keep control from do not count.
pub fn first_effect(
    declarations: &Declarations<'_>,
    constants: &Constants,
    entry: Id,
) -> Option<WordOffset> {
    let functions = declarations.reachable_functions(entry).ok()?;
    let functions = functions.iter().filter_map(|id| declarations.function(*id));
    functions
        .flat_map(|function| effects(declarations, constants, function))
        .min()
}

fn effects<'d>(
    declarations: &'d Declarations<'_>,
    constants: &'d Constants,
    function: &'d Function<'_>,
) -> impl Iterator<Item = WordOffset> + 'd {
    let cfg = Cfg::analyze(declarations.module, function);
    let cfg = cfg.restricted(|from, to| {
        let terminator = function.block(from).and_then(|block| block.terminator());
        let taken = terminator.and_then(|inst| only_target(constants, inst));
        taken.is_none_or(|label| label == cfg.label(to))
    });
    let blocks = function
        .numbered()
        .filter(move |(index, _)| cfg.is_reachable(*index));
    blocks
        .flat_map(|(_, block)| &block.insts)
        .filter(move |inst| is_seen(declarations, **inst))
        .map(|inst| inst.offset)
}

/// Where the conditional branch `inst` always goes.
fn only_target(constants: &Constants, inst: Inst<'_>) -> Option<Id> {
    if inst.op() != Some(Op::BranchConditional) {
        return None;
    }
    let condition = constants
        .get(inst.id(0).ok()?)
        .and_then(Constant::as_bool)?;
    inst.id(if condition { 1 } else { 2 }).ok()
}

fn is_seen(declarations: &Declarations<'_>, inst: Inst<'_>) -> bool {
    let Some(op) = inst.op() else { return false };
    let target = match op {
        Op::ImageWrite => return true,
        Op::Store
        | Op::CopyMemory
        | Op::CopyMemorySized
        | Op::CooperativeMatrixStoreKHR
        | Op::AtomicStore
        | Op::AtomicFlagClear => inst.id(0),
        Op::AtomicExchange
        | Op::AtomicCompareExchange
        | Op::AtomicIIncrement
        | Op::AtomicIDecrement
        | Op::AtomicIAdd
        | Op::AtomicISub
        | Op::AtomicSMin
        | Op::AtomicUMin
        | Op::AtomicSMax
        | Op::AtomicUMax
        | Op::AtomicAnd
        | Op::AtomicOr
        | Op::AtomicXor
        | Op::AtomicFAddEXT
        | Op::AtomicFMinEXT
        | Op::AtomicFMaxEXT
        | Op::AtomicFlagTestAndSet => inst.id(0),
        _ => return false,
    };
    let pointer = target.ok().and_then(|id| declarations.type_of(id));
    let class = match pointer.and_then(|ty| declarations.ty(ty)) {
        Some(Type::Pointer { class, .. }) => *class,
        _ => return false,
    };
    matches!(
        class,
        StorageClass::StorageBuffer
            | StorageClass::Uniform
            | StorageClass::PhysicalStorageBuffer
            | StorageClass::CrossWorkgroup
            | StorageClass::Image
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::first_effect;
    use crate::analysis::testing::{assemble, declared};
    use spirv::Op;

    #[test]
    fn what_control_may_reach_and_others_see_is_an_effect() {
        let found = |condition: &str, place: &str| {
            let assembled = assemble(
                "",
                &format!(
                    "%buffer = OpTypePointer 12 %uint
                    %result = OpVariable %buffer 12
                    %false = OpConstantFalse %bool
                    %main = OpFunction %void 0 %fn
                    %entry = OpLabel
                    %x = OpLoad %uint %cond
                    %c = OpINotEqual %bool %x %u0
                    OpSelectionMerge %end 0
                    OpBranchConditional {condition} %yes %end
                    %yes = OpLabel
                    OpStore {place} %u1
                    OpBranch %end
                    %end = OpLabel
                    OpReturn
                    OpFunctionEnd"
                ),
            );
            let (declarations, constants) = declared(&assembled.module);
            let first = first_effect(&declarations, &constants, assembled.id("main"));
            assert!(first.is_none_or(|at| at == assembled.offset(Op::Store, 0)));
            first.is_some()
        };
        assert!(found("%c", "%result"));
        assert!(found("%true", "%result"));
        assert!(!found("%false", "%result"));
        assert!(!found("%c", "%out"));
    }
}
