//! What SPV_INTEL_joint_matrix has beside cooperative matrices: bounds, coordinates of elements,
//! and numbers that products read in another way.

use super::super::function::FunctionEmitter;
use super::super::{Handled, Result};
use super::Matrix;
use super::element::{Held, at_slot};
use super::transfer::{self, Region, places};
use crate::ffi::Value;
use splitbar_layout::types::Scalar;
use splitbar_passes::module::joint_matrix::{self, FACTORS_BFLOAT16, FACTORS_TF32};
use splitbar_passes::module::{FloatFormat, Inst};
use std::borrow::Cow;

/// Bits of a float of 32 bits that TF32 does not have: it has 10 bits of a fraction.
const BELOW_TF32: u64 = (1 << 13) - 1;

/// Lowers the extension's own instructions, whose opcodes the `spirv` crate has no name for.
pub(crate) fn emit<'m>(e: &mut FunctionEmitter<'_, '_, 'm>, inst: Inst<'m>) -> Result<Handled> {
    match inst.opcode() {
        joint_matrix::LOAD_CHECKED => transfer::load(e, inst)?,
        joint_matrix::STORE_CHECKED => transfer::store(e, inst)?,
        joint_matrix::CONSTRUCT_CHECKED => construct(e, inst)?,
        joint_matrix::GET_ELEMENT_COORD => coordinates(e, inst)?,
        // It changes nothing that a program can tell.
        joint_matrix::PREFETCH => {}
        _ => return Ok(Handled::No),
    }
    Ok(Handled::Yes)
}

/// A matrix with one value in all elements of a region, and zeros around it.
fn construct(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let matrix = e.matrix(e.result_type(inst)?)?;
    let id = |index: usize| inst.id(index).map_err(Box::new);
    let region = Region::analyze(e, inst, [id(0)?, id(1)?], [id(2)?, id(3)?])?;
    let value = e.operand(inst, 4)?;
    let ty = e.result_ty(inst)?.element_if_vector();
    if value.ty() != ty {
        return Err(e.mismatch(inst, "the value is not an element of the matrix"));
    }
    let first_row = e.first_row(matrix)?;
    let mut elements = Vec::new();
    for at in places(e, matrix)? {
        let row = e.with_first(first_row, at.row)?;
        let (_, inside) = region.at(e, [row, at.column])?;
        elements.push(e.b.select(inside, value, ty.zero())?);
    }
    let value = e.b.vector(&elements)?;
    e.bind(inst, value)
}

/// The row and the column of the element that the invocation holds in a slot.
fn coordinates(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let (_, matrix) = e.matrix_operand(inst, 0)?;
    let (index, result) = (e.operand(inst, 1)?, e.result_ty(inst)?);
    let number = e.b.int_type(32);
    if index.ty() != number || result != number.vector(2) {
        return Err(e.mismatch(
            inst,
            "the index is not of 32 bits, or the result not a vector of two of them",
        ));
    }
    let first = Held::new(e, &matrix.layout)?.at(0)?;
    let at = at_slot(e, &matrix.layout, first, index)?;
    let row = e.with_first(e.first_row(matrix)?, at.row)?;
    let value = e.b.vector(&[row, at.column])?;
    e.bind(inst, value)
}

/// A matrix as a product reads it.
pub(super) type Read<'e, 'c> = (Value<'c>, Cow<'e, Matrix>);

/// A factor as the operands of the product ask for: integers are bfloat16, or what TF32 does not
/// have of a number is left out, as the matrix engines of Intel GPUs do.
pub(super) fn factor<'e, 'c>(
    e: &FunctionEmitter<'e, 'c, '_>,
    inst: Inst<'_>,
    operands: u32,
    value: Value<'c>,
    matrix: &'e Matrix,
) -> Result<Read<'e, 'c>> {
    if operands & FACTORS_TF32 == 0 {
        return as_bfloat(e, inst, operands & FACTORS_BFLOAT16 != 0, value, matrix);
    }
    let bits = e.b.int_type(32).vector(value.ty().lanes());
    if value.ty().scalar_bits() != 32 || !value.ty().is_float() {
        return Err(e.mismatch(
            inst,
            "a matrix A or B that is read as TF32 has no 32-bit floats",
        ));
    }
    let number = e.b.bitcast(value, bits)?;
    let kept =
        e.b.and(number, e.b.int(bits, u64::from(u32::MAX) & !BELOW_TF32)?)?;
    Ok((e.b.bitcast(kept, value.ty())?, Cow::Borrowed(matrix)))
}

/// A matrix of integers as bfloat16, if `wanted`.
pub(super) fn as_bfloat<'e, 'c>(
    e: &FunctionEmitter<'e, 'c, '_>,
    inst: Inst<'_>,
    wanted: bool,
    value: Value<'c>,
    matrix: &'e Matrix,
) -> Result<Read<'e, 'c>> {
    let matrix = read_as_bfloat(e, inst, wanted, matrix)?;
    let value = if wanted {
        let ty = super::super::types::scalar(e.b, matrix.component);
        e.b.bitcast(value, ty.vector(value.ty().lanes()))?
    } else {
        value
    };
    Ok((value, matrix))
}

/// The type of [`as_bfloat`].
pub(super) fn read_as_bfloat<'e>(
    e: &FunctionEmitter<'e, '_, '_>,
    inst: Inst<'_>,
    wanted: bool,
    matrix: &'e Matrix,
) -> Result<Cow<'e, Matrix>> {
    if !wanted {
        return Ok(Cow::Borrowed(matrix));
    }
    if !matches!(matrix.component, Scalar::Int { width: 16, .. }) {
        return Err(e.mismatch(
            inst,
            "a matrix that is read as bfloat16 has no integers of 16 bits",
        ));
    }
    Ok(Cow::Owned(Matrix {
        component: Scalar::Float {
            width: 16,
            format: FloatFormat::BFloat16,
        },
        ..matrix.clone()
    }))
}
