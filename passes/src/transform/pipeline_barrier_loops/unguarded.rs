//! Stores of a stage that may be executed where there is no next iteration.

use crate::module::{Declarations, Id, Inst};
use crate::transform::barrier_loop::shape::Shape;
use crate::transform::barrier_loop::slice::Slice;
use crate::transform::barrier_loop::unfailing::{cannot_fail, variable_at_constants};
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
        match inst.op() {
            Some(Op::Load) => {
                let is_kept = kept.iter().any(|one| one.offset == inst.offset);
                is_kept
                    || inst
                        .id(0)
                        .is_ok_and(|pointer| is_input(declarations, pointer))
            }
            Some(Op::CooperativeMatrixLoadKHR) => false,
            _ => cannot_fail(declarations, inst),
        }
    })
}

/// Returns true if a pointer leads to a place that is a constant, of a variable that the invocation
/// has for itself or that holds its inputs.
fn is_input(declarations: &Declarations<'_>, pointer: Id) -> bool {
    let Some(root) = variable_at_constants(declarations, pointer) else {
        return false;
    };
    let class = root.operand(0).ok().and_then(StorageClass::from_u32);
    matches!(
        class,
        Some(StorageClass::Input | StorageClass::PushConstant | StorageClass::Function)
    )
}
