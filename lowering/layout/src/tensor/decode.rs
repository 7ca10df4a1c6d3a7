//! Tensor types as the module declares them.

use super::Tensor;
use crate::types::{Kind, Types};
use splitbar_passes::module::{Constants, Inst, TensorType};

impl Tensor {
    /// Decodes OpTypeTensorARM. `None` without a rank, which nothing can be read from or written
    /// to, and for what validation refuses.
    pub fn decode(inst: Inst<'_>, types: &Types, constants: &Constants) -> Option<Tensor> {
        let ty = TensorType::from_inst(inst)?;
        match types.get(ty.element)?.kind {
            Kind::ScalarOrVector(shape) if shape.lanes == 1 => Some(Tensor {
                element: ty.element,
                rank: ty.rank(constants)?,
            }),
            _ => None, // not a scalar
        }
    }
}
