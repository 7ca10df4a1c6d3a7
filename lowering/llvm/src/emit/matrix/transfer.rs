//! OpCooperativeMatrixLoadKHR, OpCooperativeMatrixStoreKHR, and those of SPV_INTEL_joint_matrix
//! that check bounds: each invocation moves the elements that it holds.
//!
//! Row r of a row-major matrix begins `r * Stride` elements of the pointer's type behind the
//! pointer, and its elements follow each other without gaps; column-major is the same with rows and
//! columns exchanged. A packed matrix has as many rows in a line as fill 32 bits, and the elements
//! of one column in these rows follow each other (sycl_ext_intel_matrix, "Packed Layout Format").

use super::super::Result;
use super::super::builtin;
use super::super::function::FunctionEmitter;
use super::super::lanes;
use super::super::memory::Access;
use super::super::slots::Pointer;
use super::Matrix;
use super::element::{At, Held, held_by};
use super::layout::Element;
use crate::ffi::{IntPredicate, Value};
use spirv::Op;
use splitbar_passes::module::joint_matrix::{CheckedAccess, PACKED, PACKED_BYTES};
use splitbar_passes::module::{Id, Inst};

const ROW_MAJOR: u32 = 0;
const COLUMN_MAJOR: u32 = 1;

/// How elements follow each other in memory.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Order {
    /// A line is a row.
    Rows,
    /// A line is a column.
    Columns,
    /// A line is so many rows.
    Packed(u32),
}

/// Where the elements of a matrix lie in memory.
struct Window<'c> {
    pointer: Pointer<'c>,
    access: Access,
    order: Order,
    /// Bytes between lines.
    stride: Value<'c>,
    /// The row of the matrix that the subgroup's block begins with, if it is not 0.
    first_row: Option<Value<'c>>,
    /// The region of memory that is accessed, if something else must not be.
    region: Option<Region<'c>>,
}

/// A region of memory and where a matrix begins in it: `i64`, first of lines and then of what is in
/// a line.
pub(super) struct Region<'c> {
    offsets: [Value<'c>; 2],
    size: [Value<'c>; 2],
}

impl<'c> Region<'c> {
    /// Reads the offsets, which may be negative, and the sizes.
    pub(super) fn analyze(
        e: &FunctionEmitter<'_, 'c, '_>,
        inst: Inst<'_>,
        offsets: [Id; 2],
        size: [Id; 2],
    ) -> Result<Region<'c>> {
        let number = |id: Id, signed: bool| {
            let value = e.value(id)?;
            if !value.ty().is_int() || value.ty().is_vector() {
                return Err(e.mismatch(inst, format!("{id} is not an integer")));
            }
            e.b.int_resize(value, e.b.int_type(64), signed)
        };
        Ok(Region {
            offsets: [number(offsets[0], true)?, number(offsets[1], true)?],
            size: [number(size[0], false)?, number(size[1], false)?],
        })
    }

    /// The place in the region, and whether it is one.
    pub(super) fn at(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        place: [Value<'c>; 2],
    ) -> Result<([Value<'c>; 2], Value<'c>)> {
        let wide = e.b.int_type(64);
        let mut inside = None;
        let mut moved = place;
        for ((slot, offset), size) in moved.iter_mut().zip(self.offsets).zip(self.size) {
            *slot = e.b.add(e.b.int_resize(*slot, wide, false)?, offset)?;
            let below = e.b.icmp(IntPredicate::LLVMIntULT, *slot, size)?;
            inside = Some(match inside {
                Some(before) => e.b.and(before, below)?,
                None => below,
            });
        }
        let inside = inside.ok_or_else(|| e.b.internal("a region without dimensions"))?;
        Ok((moved, inside))
    }
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

/// Returns true if some slot of some lane lies beyond the matrix.
pub(super) fn is_padded(matrix: &Matrix, lanes: u32) -> bool {
    (0..matrix.layout.slots).any(|slot| !matches!(inside(matrix, slot, lanes), Inside::All))
}

impl<'c> Window<'c> {
    /// Decodes the operands from the pointer's on: pointer, (object,) layout, stride, memory
    /// operands; those that say the region are between them.
    fn new(e: &FunctionEmitter<'_, 'c, '_>, inst: Inst<'_>, matrix: &Matrix) -> Result<Window<'c>> {
        let checked = CheckedAccess::from_inst(inst);
        let (layout_index, stride_index) = match (&checked, inst.op()) {
            (Some(checked), _) => (checked.layout, checked.stride),
            (None, Some(Op::CooperativeMatrixStoreKHR)) => (2, 3),
            (None, _) => (1, 2),
        };
        let pointer = e.pointer(inst.id(0).map_err(Box::new)?)?;
        let layout = e.constant_u32(inst.id(layout_index).map_err(Box::new)?);
        let bytes = matrix.component.bytes();
        let order = match layout {
            Some(ROW_MAJOR) => Order::Rows,
            Some(COLUMN_MAJOR) => Order::Columns,
            Some(PACKED) if bytes < PACKED_BYTES => Order::Packed(PACKED_BYTES / bytes),
            Some(PACKED) => Order::Rows,
            _ => {
                return Err(e.unsupported(
                    inst,
                    "a memory layout that is neither row-major, column-major nor packed",
                ));
            }
        };
        if inst.operands().get(stride_index).is_none() {
            return Err(e.mismatch(inst, "a matrix in memory without a stride"));
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
        let stride = e.operand(inst, stride_index)?;
        if !stride.ty().is_int() || stride.ty().is_vector() {
            return Err(e.mismatch(inst, "the stride is not an integer"));
        }
        let stride =
            e.b.mul(e.b.int_resize(stride, wide, false)?, wide.int(unit))?;
        let (access, _) = e.access(inst, stride_index + 1)?;
        let (pointer, access) = e.with_access(&pointer, access)?;
        let region = checked.map(|checked| Region::analyze(e, inst, checked.offsets, checked.size));
        Ok(Window {
            pointer,
            access,
            order,
            stride,
            first_row: e.first_row(matrix)?,
            region: region.transpose()?,
        })
    }

    /// The address of an element, and whether it is one of the region that is accessed.
    fn address(
        &self,
        e: &FunctionEmitter<'_, 'c, '_>,
        matrix: &Matrix,
        at: At<'c>,
    ) -> Result<(Value<'c>, Option<Value<'c>>)> {
        let row = e.with_first(self.first_row, at.row)?;
        let place = match self.order {
            Order::Rows => [row, at.column],
            Order::Columns => [at.column, row],
            Order::Packed(rows) => {
                let line = e.b.lshr(row, e.b.i32(rows.trailing_zeros()))?;
                let column = e.b.mul(at.column, e.b.i32(rows))?;
                [line, e.b.add(column, e.b.and(row, e.b.i32(rows - 1))?)?]
            }
        };
        let (place, inside) = match &self.region {
            Some(region) => {
                let (place, inside) = region.at(e, place)?;
                (place, Some(inside))
            }
            None => (place, None),
        };
        let [line, within] = place;
        let wide = self.stride.ty();
        let bytes = u64::from(matrix.component.bytes());
        let line = e.b.mul(e.b.int_resize(line, wide, false)?, self.stride)?;
        let within =
            e.b.mul(e.b.int_resize(within, wide, false)?, wide.int(bytes))?;
        let line = e.b.offset(self.pointer.address, line, inside.is_none())?;
        Ok((e.b.offset(line, within, inside.is_none())?, inside))
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

/// Lowers OpCooperativeMatrixLoadKHR, and with bounds OpCooperativeMatrixLoadCheckedINTEL.
pub(super) fn load(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let matrix = e.matrix(e.result_type(inst)?)?;
    let window = Window::new(e, inst, matrix)?;
    let ty = e.result_ty(inst)?.element_if_vector();
    let mut elements = Vec::with_capacity(matrix.layout.slots as usize);
    e.count_parts(u64::from(matrix.layout.slots))?;
    let places = places(e, matrix)?;
    for (slot, at) in (0..).zip(places) {
        let within = inside(matrix, slot, e.wave_size());
        if let Inside::None = within {
            elements.push(ty.zero());
            continue;
        }
        let (address, in_region) = window.address(e, matrix, at)?;
        let align = matrix.component.bytes();
        let Some(condition) = condition(e, matrix, at, within, in_region)? else {
            elements.push(e.leaf_load(ty, address, align, window.access)?);
            continue;
        };
        let (before, body, after) = (e.b.block()?, e.new_block(), e.new_block());
        e.b.cond_br(condition, body, after)?;
        e.b.position(body);
        let value = e.leaf_load(ty, address, align, window.access)?;
        e.b.br(after);
        e.b.position(after);
        elements.push(e.b.phi(&[(ty.zero(), before), (value, body)])?);
    }
    let value = e.b.vector(&elements)?;
    e.bind(inst, value)
}

/// Where the element at `at` is moved; `None`: everywhere.
fn condition<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    matrix: &Matrix,
    at: At<'c>,
    within: Inside,
    in_region: Option<Value<'c>>,
) -> Result<Option<Value<'c>>> {
    let in_matrix = match within {
        Inside::Some => Some(is_inside(e, matrix, at)?),
        Inside::All | Inside::None => None,
    };
    Ok(match (in_matrix, in_region) {
        (Some(one), Some(other)) => Some(e.b.and(one, other)?),
        (one, other) => one.or(other),
    })
}

/// Lowers OpCooperativeMatrixStoreKHR, and with bounds OpCooperativeMatrixStoreCheckedINTEL.
pub(super) fn store(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let object = CheckedAccess::from_inst(inst).map_or(1, |checked| checked.layout - 1);
    let (value, matrix) = e.matrix_operand(inst, object)?;
    let window = Window::new(e, inst, matrix)?;
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
        let within = inside(matrix, slot, e.wave_size());
        if let Inside::None = within {
            continue;
        }
        let element = e.b.lane(value, slot)?;
        let (address, in_region) = window.address(e, matrix, at)?;
        let align = matrix.component.bytes();
        match condition(e, matrix, at, within, in_region)? {
            None => e.leaf_store(element, address, align, window.access)?,
            Some(condition) => e.when(condition, |e| {
                e.leaf_store(element, address, align, window.access)
            })?,
        }
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
    let of_lane = match matrix.layout.copies(e.wave_size()) {
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
