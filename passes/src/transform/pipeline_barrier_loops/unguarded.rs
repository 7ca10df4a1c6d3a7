//! Stores of a stage that may be executed where there is no next iteration.

use crate::module::{Declarations, Id, Inst};
use crate::transform::barrier_loop::shape::Shape;
use crate::transform::barrier_loop::slice::Slice;
use crate::transform::whole_variables::is_chain;
use spirv::{Op, StorageClass};

/// Returns true if nothing of a slice is undefined behavior, whatever the values of `kept` and of
/// the loop's variables are, but for its stores. Its loads are those of `kept` and of inputs at
/// places that are constants; it divides by no value, and takes no component, that is not one.
pub(super) fn can_run_always(
    declarations: &Declarations<'_>,
    shape: &Shape<'_, '_>,
    slice: &Slice,
    kept: &[Inst<'_>],
) -> bool {
    slice.needed.iter().all(|spot| {
        let Some(inst) = shape.inst(*spot) else {
            return false;
        };
        let is_constant = |index| inst.id(index).is_ok_and(|id| is_constant(declarations, id));
        match inst.op() {
            Some(Op::Load) => {
                let is_kept = kept.iter().any(|one| one.offset == inst.offset);
                is_kept
                    || inst
                        .id(0)
                        .is_ok_and(|pointer| is_input(declarations, pointer))
            }
            Some(
                Op::UDiv | Op::SDiv | Op::UMod | Op::SMod | Op::SRem | Op::VectorExtractDynamic,
            ) => is_constant(1),
            Some(Op::VectorInsertDynamic) => is_constant(2),
            Some(Op::CooperativeMatrixLoadKHR) | None => false,
            Some(_) => true,
        }
    })
}

fn is_constant(declarations: &Declarations<'_>, id: Id) -> bool {
    let def = declarations.module.def(id);
    def.and_then(|def| def.op())
        .is_some_and(|op| op.is_constant())
}

/// Returns true if a pointer leads to a place that is a constant, of a variable that the invocation
/// has for itself or that holds its inputs.
fn is_input(declarations: &Declarations<'_>, pointer: Id) -> bool {
    let mut at = declarations.module.def(pointer);
    while let Some(chain) = at.filter(|inst| is_chain(*inst)) {
        let mut indices = chain.operands().iter().skip(1);
        if !indices.all(|index| is_constant(declarations, Id(*index))) {
            return false;
        }
        at = chain.id(0).ok().and_then(|id| declarations.module.def(id));
    }
    let Some(root) = at.filter(|root| root.op() == Some(Op::Variable)) else {
        return false;
    };
    let class = root.operand(0).ok().and_then(StorageClass::from_u32);
    matches!(
        class,
        Some(StorageClass::Input | StorageClass::PushConstant | StorageClass::Function)
    )
}
