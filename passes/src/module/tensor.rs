//! Tensor types (SPV_ARM_tensors), decoded.

use super::{Constants, Declarations, Id, Inst};
use spirv::Op;

/// An OpTypeTensorARM.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TensorType {
    /// The type of its elements.
    pub element: Id,
    /// The constant that is the number of its dimensions.
    pub rank: Option<Id>,
    /// The constant array of its dimensions.
    pub shape: Option<Id>,
}

impl TensorType {
    /// Decodes `inst`; `None` if it is not an OpTypeTensorARM with an element type.
    pub fn from_inst(inst: Inst<'_>) -> Option<TensorType> {
        if inst.op() != Some(Op::TypeTensorARM) {
            return None;
        }
        Some(TensorType {
            element: inst.id(0).ok()?,
            rank: inst.id(1).ok(),
            shape: inst.id(2).ok(),
        })
    }

    /// The type of the value `id`, if that is a tensor.
    pub fn of_value(declarations: &Declarations<'_>, id: Id) -> Option<TensorType> {
        TensorType::from_inst(declarations.module.def(declarations.type_of(id)?)?)
    }

    /// The number of dimensions; `None` if the type has none, or it is not a constant.
    pub fn rank(&self, constants: &Constants) -> Option<u64> {
        constants.get(self.rank?)?.as_u64()
    }
}
