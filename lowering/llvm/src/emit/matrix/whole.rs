//! What is done to all elements of a matrix: conversions, a function of each, transposition
//! (SPV_NV_cooperative_matrix2).

use super::super::Result;
use super::super::function::FunctionEmitter;
use super::Matrix;
use super::element::{At, Held, Shared, held_by};
use super::exchange::through_memory;
use super::layout::Element;
use super::product::relaid;
use crate::ffi::Value;
use splitbar_layout::matrix;
use splitbar_passes::module::{Id, Inst};

/// OpCooperativeMatrixConvertNV: the same elements for another use.
pub(super) fn change_use(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let (value, from) = e.matrix_operand(inst, 0)?;
    let to = e.matrix(e.result_type(inst)?)?;
    if (from.rows * from.blocks, from.columns) != (to.rows * to.blocks, to.columns) {
        return Err(e.mismatch(inst, "the matrices are of different sizes"));
    }
    let value = if from.blocks == to.blocks {
        relaid(e, from, to, value)?
    } else {
        through_memory(e, inst, [from, to], value, false)?
    };
    e.bind(inst, value)
}

/// A matrix with the elements where the result of `inst` has them, for the conversion of each.
pub(crate) fn as_result<'c>(
    e: &mut FunctionEmitter<'_, 'c, '_>,
    inst: Inst<'_>,
    value: Value<'c>,
) -> Result<Value<'c>> {
    let (Some(from), Some(to)) = (
        inst.id(0)
            .ok()
            .and_then(|id| e.module.declarations.type_of(id))
            .and_then(|ty| matrix::get(&e.module.types, ty)),
        inst.result_type()
            .and_then(|ty| matrix::get(&e.module.types, ty)),
    ) else {
        return Ok(value);
    };
    if (from.rows * from.blocks, from.columns) != (to.rows * to.blocks, to.columns) {
        return Err(e.mismatch(inst, "the matrices are of different sizes"));
    }
    if from.blocks == to.blocks {
        relaid(e, from, to, value)
    } else {
        through_memory(e, inst, [from, to], value, false)
    }
}

/// OpCooperativeMatrixTransposeNV.
pub(super) fn transpose(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let (value, from) = e.matrix_operand(inst, 0)?;
    let to = e.matrix(e.result_type(inst)?)?;
    if (from.columns, from.rows * from.blocks) != (to.rows * to.blocks, to.columns) {
        return Err(e.mismatch(inst, "the sizes are not exchanged"));
    }
    if from.blocks.max(to.blocks) > 1 {
        let value = through_memory(e, inst, [from, to], value, true)?;
        return e.bind(inst, value);
    }
    let value = gather(e, from, to, value, |e, at, asked| {
        let mirrored = At {
            row: at.column,
            column: at.row,
        };
        let asked = |lane| {
            let Element { row, column } = asked(lane);
            Element {
                row: column,
                column: row,
            }
        };
        e.read(mirrored, asked)
    })?;
    e.bind(inst, value)
}

/// Every element of a matrix of type `to` from elements of `value`: `f` is given the source, the
/// element's coordinates, and those of every lane.
pub(super) fn gather<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    from: &Matrix,
    to: &Matrix,
    value: Value<'c>,
    mut f: impl FnMut(&Shared<'_, '_, 'c, '_>, At<'c>, &dyn Fn(u32) -> Element) -> Result<Value<'c>>,
) -> Result<Value<'c>> {
    let (source, held) = (Shared::new(e, from, value)?, Held::new(e, &to.layout)?);
    let mut elements = Vec::new();
    for slot in 0..to.layout.slots {
        elements.push(f(&source, held.at(slot)?, &held_by(&to.layout, slot))?);
    }
    e.b.vector(&elements)
}

/// OpCooperativeMatrixPerElementOpNV: a function of each element, with its row and column.
pub(super) fn per_element(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let (value, matrix) = e.matrix_operand(inst, 0)?;
    let function = inst.id(1).map_err(Box::new)?;
    let first_row = e.first_row(matrix)?;
    let held = Held::new(e, &matrix.layout)?;
    let places = (0..matrix.layout.slots)
        .map(|slot| held.at(slot))
        .collect::<Result<Vec<_>>>()?;
    let more: Vec<Id> = inst.operands_from(2).iter().copied().map(Id).collect();
    let mut elements = Vec::new();
    for (slot, at) in (0..).zip(places) {
        // What lies beyond the matrix gets the coordinates of its edge: the function may read
        // memory by them.
        let row = e.b.intrinsic(
            "llvm.umin",
            &[at.row.ty()],
            &[at.row, e.b.i32(matrix.rows - 1)],
        )?;
        let column = e.b.intrinsic(
            "llvm.umin",
            &[at.row.ty()],
            &[at.column, e.b.i32(matrix.columns - 1)],
        )?;
        let row = e.with_first(first_row, row)?;
        let mut arguments = vec![row, column, e.b.lane(value, slot)?];
        for id in &more {
            let operand = e.value(*id)?;
            let is_matrix = matrix::get(&e.module.types, e.type_of(*id)?).is_some();
            arguments.push(if is_matrix {
                e.b.lane(operand, slot)?
            } else {
                operand
            });
        }
        elements.push(e.call_function(inst, function, &arguments)?);
    }
    let value = e.b.vector(&elements)?;
    e.bind(inst, value)
}
