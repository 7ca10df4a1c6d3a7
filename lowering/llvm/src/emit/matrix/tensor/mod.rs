//! Tensor layouts, tensor views, and the loads and stores of matrices through them
//! (SPV_NV_tensor_addressing, SPV_NV_cooperative_matrix2).
//!
//! A layout or a view is a vector of 32-bit integers, [`splitbar_layout::tensor`] says which of
//! them is what; nothing of it is in memory. What is constant in it folds away: a slice as wide as
//! the matrix leaves an addition and a multiplication of each element's address.
//!
//! | room | what it does |
//! |---|---|
//! | [`object`] | the instructions that make layouts and views |
//! | [`locate`] | from an element's row and column to its place in the tensor |
//! | [`transfer`] | loads and stores |

mod locate;
mod object;
mod transfer;

use super::super::function::FunctionEmitter;
use super::super::types::Kind;
use super::super::{Handled, Result};
use crate::ffi::{Opcode, Value};
use spirv::Op;
use splitbar_layout::tensor_layout::{TensorLayout, TensorObject, TensorView};
use splitbar_passes::module::{Id, Inst};

impl<'e, 'c> FunctionEmitter<'e, 'c, '_> {
    /// The tensor layout type `ty`.
    fn tensor_layout(&self, ty: Id) -> Result<&'e TensorLayout> {
        match self.kind(ty)? {
            Kind::TensorObject(TensorObject::Layout(layout)) => Ok(layout),
            _ => Err(self.b.mismatch(format!("{ty} is not a tensor layout type"))),
        }
    }

    /// The tensor view type `ty`.
    fn tensor_view(&self, ty: Id) -> Result<&'e TensorView> {
        match self.kind(ty)? {
            Kind::TensorObject(TensorObject::View(view)) => Ok(view),
            _ => Err(self.b.mismatch(format!("{ty} is not a tensor view type"))),
        }
    }

    /// The least or the greatest of two integers: `name` is `llvm.umin` or one like it.
    pub(super) fn extreme(
        &self,
        name: &'static str,
        a: Value<'c>,
        b: Value<'c>,
    ) -> Result<Value<'c>> {
        self.b.intrinsic(name, &[a.ty()], &[a, b])
    }

    /// A number to divide by: no specification says what a size of 0 gives, but it must not make
    /// the rest of the kernel undefined.
    fn divisor(&self, size: Value<'c>) -> Result<Value<'c>> {
        match size.as_u64() {
            Some(1..) => Ok(size),
            _ => self.extreme("llvm.umax", size, self.b.i32(1)),
        }
    }

    /// `a / b`, unsigned; nothing is written for a divisor of 1.
    fn quotient(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        match b.as_u64() {
            Some(1) => Ok(a),
            _ => self.b.binary(Opcode::LLVMUDiv, a, b),
        }
    }

    /// `a % b`, unsigned; nothing is written for a divisor of 1.
    fn remainder(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        match b.as_u64() {
            Some(1) => Ok(self.b.i32(0)),
            _ => self.b.binary(Opcode::LLVMURem, a, b),
        }
    }
}

/// Lowers what makes and uses tensor layouts and views.
pub(super) fn emit<'m>(
    e: &mut FunctionEmitter<'_, '_, 'm>,
    op: Op,
    inst: Inst<'m>,
) -> Result<Handled> {
    match op {
        Op::CooperativeMatrixLoadTensorNV => transfer::load(e, inst)?,
        Op::CooperativeMatrixStoreTensorNV => transfer::store(e, inst)?,
        _ => return object::emit(e, op, inst),
    }
    Ok(Handled::Yes)
}
