//! OpCooperativeMatrixLoadKHR and OpCooperativeMatrixStoreKHR: each invocation moves the elements
//! that it holds.
//!
//! Row r of a row-major matrix begins `r * Stride` elements of the pointer's type behind the
//! pointer, and its elements follow each other without gaps; column-major is the same with rows and
//! columns exchanged.

use super::super::Result;
use super::super::builtin;
use super::super::function::{FunctionEmitter, Pointer};
use super::super::lanes;
use super::super::memory::Access;
use super::Matrix;
use super::element::{At, Held, held_by};
use super::layout::Element;
use crate::ffi::{IntPredicate, Value};
use splitbar_passes::module::Inst;

const ROW_MAJOR: u32 = 0;
const COLUMN_MAJOR: u32 = 1;

/// Where the elements of a matrix lie in memory.
struct Window<'c> {
    pointer: Pointer<'c>,
    access: Access,
    row_major: bool,
    /// Bytes between rows, or between columns.
    stride: Value<'c>,
    /// The row of the matrix that the subgroup's block begins with, if it is not 0.
    first_row: Option<Value<'c>>,
}

/// How much of a slot's elements, over all lanes, lies inside the matrix.
pub(super) enum Inside {
    All,
    Some,
    None,
}

pub(super) fn inside(matrix: &Matrix, slot: u32, lanes: u32) -> Inside {
    let held = held_by(&matrix.layout, slot);
    let count = (0..lanes)
        .map(held)
        .filter(|Element { row, column }| *row < matrix.rows && *column < matrix.columns)
        .count() as u32;
    match count {
        0 => Inside::None,
        n if n == lanes => Inside::All,
        _ => Inside::Some,
    }
}

/// Whether some slot of some lane lies beyond the matrix.
pub(super) fn is_padded(matrix: &Matrix, lanes: u32) -> bool {
    (0..matrix.layout.slots).any(|slot| !matches!(inside(matrix, slot, lanes), Inside::All))
}

impl<'c> Window<'c> {
    /// Decodes the operands from the pointer's on: pointer, (object,) layout, stride, memory
    /// operands.
    fn of(
        e: &FunctionEmitter<'_, 'c, '_>,
        inst: Inst<'_>,
        layout_index: usize,
        matrix: &Matrix,
    ) -> Result<Window<'c>> {
        let pointer = e.pointer(inst.id(0).map_err(Box::new)?)?;
        let layout = e.constant_u32(inst.id(layout_index).map_err(Box::new)?);
        let row_major = match layout {
            Some(ROW_MAJOR) => true,
            Some(COLUMN_MAJOR) => false,
            _ => {
                return Err(e.unsupported(
                    inst,
                    "a memory layout that is neither row- nor column-major",
                ));
            }
        };
        if inst.operands().get(layout_index + 1).is_none() {
            return Err(e.mismatch(inst, "a row- or column-major matrix without a stride"));
        }
        let unit = match pointer.pointee {
            Some(ty) => e.type_info(ty)?.size,
            None => 1,
        };
        let wide = e.b.int_type(if pointer.address.ty().address_space() == 3 {
            32
        } else {
            64
        });
        let stride = e.operand(inst, layout_index + 1)?;
        if !stride.ty().is_int() || stride.ty().is_vector() {
            return Err(e.mismatch(inst, "the stride is not an integer"));
        }
        let stride =
            e.b.mul(e.b.int_resize(stride, wide, false)?, wide.int(unit))?;
        let (access, _) = e.access(inst, layout_index + 2)?;
        let (pointer, access) = e.with_access(&pointer, access)?;
        Ok(Window {
            pointer,
            access,
            row_major,
            stride,
            first_row: e.first_row(matrix)?,
        })
    }

    /// The address of an element.
    fn address(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        matrix: &Matrix,
        at: At<'c>,
    ) -> Result<Value<'c>> {
        let row = match self.first_row {
            Some(first) => e.b.add(first, at.row)?,
            None => at.row,
        };
        let (major, minor) = if self.row_major {
            (row, at.column)
        } else {
            (at.column, row)
        };
        let wide = self.stride.ty();
        let bytes = u64::from(matrix.component.bytes());
        let major = e.b.mul(e.b.int_resize(major, wide, false)?, self.stride)?;
        let minor =
            e.b.mul(e.b.int_resize(minor, wide, false)?, wide.int(bytes))?;
        let line = e.b.offset(self.pointer.address, major, true)?;
        e.b.offset(line, minor, true)
    }
}

/// Whether the element at `at` lies inside the matrix.
pub(super) fn is_inside<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    matrix: &Matrix,
    at: At<'c>,
) -> Result<Value<'c>> {
    let below = |value, limit| e.b.icmp(IntPredicate::LLVMIntULT, value, e.b.i32(limit));
    e.b.and(
        below(at.row, matrix.rows)?,
        below(at.column, matrix.columns)?,
    )
}

/// Lowers OpCooperativeMatrixLoadKHR.
pub(super) fn load(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let matrix = e.matrix(e.result_type(inst)?)?;
    let window = Window::of(e, inst, 1, matrix)?;
    let ty = e.result_ty(inst)?.element_if_vector();
    let mut elements = Vec::with_capacity(matrix.layout.slots as usize);
    e.count_parts(u64::from(matrix.layout.slots))?;
    let places = places(e, matrix)?;
    for (slot, at) in (0..).zip(places) {
        let within = inside(matrix, slot, e.wave_size);
        if let Inside::None = within {
            elements.push(ty.zero());
            continue;
        }
        let address = window.address(e, matrix, at)?;
        let align = matrix.component.bytes();
        let Inside::Some = within else {
            elements.push(e.leaf_load(ty, address, align, window.access)?);
            continue;
        };
        let (before, body, after) = (e.b.block()?, e.new_block(), e.new_block());
        e.b.cond_br(is_inside(e, matrix, at)?, body, after)?;
        e.b.position(body);
        let value = e.leaf_load(ty, address, align, window.access)?;
        e.b.br(after);
        e.b.position(after);
        elements.push(e.b.phi(&[(ty.zero(), before), (value, body)])?);
    }
    let value = e.b.vector(&elements)?;
    e.bind(inst, value)
}

/// Lowers OpCooperativeMatrixStoreKHR.
pub(super) fn store(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let (value, matrix) = e.matrix_operand(inst, 1)?;
    let window = Window::of(e, inst, 2, matrix)?;
    e.count_parts(u64::from(matrix.layout.slots))?;
    let places = places(e, matrix)?;
    let after = match stores(e, matrix)? {
        Some(condition) => {
            let (body, after) = (e.new_block(), e.new_block());
            e.b.cond_br(condition, body, after)?;
            e.b.position(body);
            Some(after)
        }
        None => None,
    };
    for (slot, at) in (0..).zip(places) {
        let within = inside(matrix, slot, e.wave_size);
        if let Inside::None = within {
            continue;
        }
        let element = e.b.lane(value, slot)?;
        let address = window.address(e, matrix, at)?;
        let align = matrix.component.bytes();
        let Inside::Some = within else {
            e.leaf_store(element, address, align, window.access)?;
            continue;
        };
        let is_inside = is_inside(e, matrix, at)?;
        e.when(is_inside, |e| {
            e.leaf_store(element, address, align, window.access)
        })?;
    }
    if let Some(after) = after {
        e.b.br(after);
        e.b.position(after);
    }
    Ok(())
}

/// Whether this invocation stores what it holds, where not all do: of several subgroups that hold
/// the same block the first one does, and so does the first of several lanes that hold the same
/// elements.
pub(super) fn stores<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    matrix: &Matrix,
) -> Result<Option<Value<'c>>> {
    let of_lane = match matrix.layout.copies(e.wave_size) {
        0 => None,
        copies => {
            let number = e.b.and(lanes::lane_id(e)?, e.b.i32(copies))?;
            Some(e.b.icmp(IntPredicate::LLVMIntEQ, number, e.b.i32(0))?)
        }
    };
    let of_subgroup = if matrix.subgroups > matrix.blocks {
        let id = builtin::wave_id(e)?;
        Some(e.b.icmp(IntPredicate::LLVMIntULT, id, e.b.i32(matrix.blocks))?)
    } else {
        None
    };
    Ok(match (of_lane, of_subgroup) {
        (Some(lane), Some(subgroup)) => Some(e.b.and(lane, subgroup)?),
        (one, other) => one.or(other),
    })
}

/// The coordinates of this lane's elements, by slot.
pub(super) fn places<'c>(e: &FunctionEmitter<'_, 'c, '_>, matrix: &Matrix) -> Result<Vec<At<'c>>> {
    let held = Held::new(e, &matrix.layout)?;
    (0..matrix.layout.slots).map(|slot| held.at(slot)).collect()
}
