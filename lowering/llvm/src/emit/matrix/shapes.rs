//! The matrices of a product, and elements of theirs in a wider type.

use super::super::function::FunctionEmitter;
use super::super::{Result, casts};
use super::Matrix;
use crate::ffi::{Ty, Value};
use spirv::CooperativeMatrixOperands as Operands;

/// The matrices of D = A * B + C; C and D are of one shape.
pub(super) struct Shapes<'e> {
    pub(super) a: &'e Matrix,
    pub(super) b: &'e Matrix,
    pub(super) c: &'e Matrix,
    pub(super) d: &'e Matrix,
    pub(super) operands: Operands,
}

/// `value` in elements of type `to`.
pub(super) fn widened<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    value: Value<'c>,
    to: Ty<'c>,
    signed: bool,
) -> Result<Value<'c>> {
    let to = to.vector(value.ty().lanes());
    if to.is_float() {
        casts::float_to_float(e.b, value, to, None)
    } else {
        e.b.int_resize(value, to, signed)
    }
}
