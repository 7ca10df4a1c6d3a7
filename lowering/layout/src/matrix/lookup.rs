//! Finds cooperative matrix types in the table of types.

use super::Matrix;
use crate::types::{Kind, Types};
use splitbar_passes::module::Id;

/// The matrix type `id`, if the table of types has it.
pub fn get(types: &Types, id: Id) -> Option<&Matrix> {
    match &types.get(id)?.kind {
        Kind::Cooperative(matrix) => Some(matrix),
        _ => None,
    }
}
