//! The function that an instruction calls.

use super::facts::Calls;
use super::{Id, Inst, TensorAccess};

/// The function that `inst` calls: once, or for each element of a cooperative matrix.
pub fn called(inst: Inst<'_>) -> Option<Id> {
    callee(inst).or_else(|| called_for_elements(inst))
}

/// The function that an OpFunctionCall calls.
pub fn callee(inst: Inst<'_>) -> Option<Id> {
    match inst.facts().calls {
        Calls::Once(operand) => inst.id(operand.into()).ok(),
        Calls::None | Calls::Elements(_) | Calls::Decode => None,
    }
}

/// The function that `inst` calls for each element of a cooperative matrix
/// (SPV_NV_cooperative_matrix2), as often and in the order that the implementation likes.
/// OpCooperativeMatrixLoadTensorNV calls its decode function so.
pub fn called_for_elements(inst: Inst<'_>) -> Option<Id> {
    match inst.facts().calls {
        Calls::Elements(operand) => inst.id(operand.into()).ok(),
        Calls::Decode => TensorAccess::from_inst(inst)?.decode,
        Calls::None | Calls::Once(_) => None,
    }
}
