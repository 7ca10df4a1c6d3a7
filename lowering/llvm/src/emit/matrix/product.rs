//! OpCooperativeMatrixMulAddKHR: by the target's instruction if it has one for the types and shapes, else by subgroup shuffles, which are right for every
//! shape, type and layout.
//!
//! By shuffles, each invocation computes the elements of the result that it holds; it reads a row of A and a column of B from the invocations that hold them. The
//! products of one shape share a function.
//!
//! Sums of 16-bit floats are kept in 32 bits and rounded once, in order of increasing k; the extension leaves precision and order open.

use super::super::Result;
use super::super::convert;
use super::super::function::FunctionEmitter;
use super::super::types::Scalar;
use super::element::{At, Held, Shared, held_by};
use super::layout::{Element, Holder};
use super::{Matrix, native};
use crate::ffi::{Ty, Value};
use spirv::CooperativeMatrixOperands as Operands;
use splitbar_passes::module::Inst;
use std::collections::BTreeMap;

/// The matrices of D = A * B + C; C and D are of one shape.
pub(super) struct Shapes<'e> {
    pub(super) a: &'e Matrix,
    pub(super) b: &'e Matrix,
    pub(super) c: &'e Matrix,
    pub(super) d: &'e Matrix,
    pub(super) operands: Operands,
}

/// Lowers OpCooperativeMatrixMulAddKHR.
pub(super) fn multiply_add(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let (a, a_type) = e.matrix_operand(inst, 0)?;
    let (b, b_type) = e.matrix_operand(inst, 1)?;
    let (c, c_type) = e.matrix_operand(inst, 2)?;
    let d_type = e.matrix(e.result_type(inst)?)?;
    let shapes = Shapes {
        a: a_type,
        b: b_type,
        c: c_type,
        d: d_type,
        operands: Operands::from_bits_truncate(inst.operands().get(3).copied().unwrap_or(0)),
    };
    let fits = a_type.columns == b_type.rows
        && [c_type, d_type]
            .iter()
            .all(|m| (m.rows, m.columns) == (a_type.rows, b_type.columns));
    let is_float = |matrix: &Matrix| matches!(matrix.component, Scalar::Float { .. });
    let kinds = [a_type, b_type, c_type, d_type].map(is_float);
    if !fits || kinds.iter().any(|kind| *kind != kinds[0]) {
        return Err(e.mismatch(
            inst,
            "the factors, the summand and the result do not fit each other",
        ));
    }
    if let Some(instruction) = native::find(e.target, e.wave_size, &shapes) {
        let value = native::multiply_add(e, instruction, &shapes, [a, b, c])?;
        return e.bind(inst, value);
    }
    let name = format!(
        "matrix.multiply.{}.{}.{}.{}.{}",
        shapes.a.mangled(),
        shapes.b.mangled(),
        shapes.c.mangled(),
        shapes.d.mangled(),
        shapes.operands.bits()
    );
    let ty = e.result_ty(inst)?.function(&[a.ty(), b.ty(), c.ty()]);
    let function = e.helper(&name, ty, |params| match params {
        [a, b, c] => by_shuffles(e, &shapes, [*a, *b, *c]),
        _ => Err(e.b.internal("a product has three operands")),
    })?;
    let value = e.b.call(function, &[a, b, c])?;
    e.bind(inst, value)
}

/// What is computed in: 32 bits at least.
fn sum_type<'c>(e: &FunctionEmitter<'_, 'c, '_>, shapes: &Shapes<'_>) -> Ty<'c> {
    let bits = shapes.c.component.bits().max(shapes.d.component.bits());
    let bits = bits.max(shapes.a.component.bits()).max(32);
    match shapes.d.component {
        Scalar::Float { .. } => e.b.float_type(bits),
        Scalar::Int { .. } | Scalar::Bool => e.b.int_type(bits),
    }
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
        convert::float_to_float(e.b, value, to, None)
    } else {
        e.b.int_resize(value, to, signed)
    }
}

fn by_shuffles<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    shapes: &Shapes<'_>,
    [a, b, c]: [Value<'c>; 3],
) -> Result<Value<'c>> {
    let has = |operand| shapes.operands.contains(operand);
    let saturating = has(Operands::SATURATING_ACCUMULATION_KHR);
    let ty = sum_type(e, shapes);
    let a = widened(e, a, ty, has(Operands::MATRIX_A_SIGNED_COMPONENTS_KHR))?;
    let b = widened(e, b, ty, has(Operands::MATRIX_B_SIGNED_COMPONENTS_KHR))?;
    let signed = has(Operands::MATRIX_C_SIGNED_COMPONENTS_KHR);
    let c = relaid(e, shapes.c, shapes.d, c)?;
    let c = widened(e, c, ty, signed)?;
    let (rows, columns) = (Shared::new(e, shapes.a, a)?, Shared::new(e, shapes.b, b)?);
    let layout = &shapes.d.layout;
    let held = Held::new(e, layout)?;
    let mut sums = Vec::new();
    for slot in 0..layout.slots {
        sums.push(if saturating {
            ty.zero()
        } else {
            e.b.lane(c, slot)?
        });
    }
    for k in 0..shapes.a.columns {
        // Slots that differ in nothing but their column want the same element of A, and the other way round.
        let mut row: BTreeMap<u32, Value<'c>> = BTreeMap::new();
        let mut column: BTreeMap<u32, Value<'c>> = BTreeMap::new();
        for (slot, sum) in (0..).zip(&mut sums) {
            let part = layout.part(Holder::Slot, slot);
            let at = held.at(slot)?;
            let asked = held_by(layout, slot);
            let k_value = e.b.i32(k);
            let x = match row.get(&part.row) {
                Some(x) => *x,
                None => rows.read(
                    At {
                        row: at.row,
                        column: k_value,
                    },
                    |lane| Element {
                        column: k,
                        ..asked(lane)
                    },
                )?,
            };
            row.insert(part.row, x);
            let y = match column.get(&part.column) {
                Some(y) => *y,
                None => columns.read(
                    At {
                        row: k_value,
                        column: at.column,
                    },
                    |lane| Element {
                        row: k,
                        ..asked(lane)
                    },
                )?,
            };
            column.insert(part.column, y);
            *sum = if ty.is_float() {
                e.b.intrinsic("llvm.fma", &[ty], &[x, y, *sum])?
            } else {
                e.b.add(e.b.mul(x, y)?, *sum)?
            };
        }
    }
    let mut sum = e.b.vector(&sums)?;
    if saturating {
        let name = if signed {
            "llvm.sadd.sat"
        } else {
            "llvm.uadd.sat"
        };
        sum = e.b.intrinsic(name, &[sum.ty()], &[sum, c])?;
    }
    let to = shapes.d.component.value_type(e.b);
    widened(e, sum, to, signed)
}

/// A matrix with the elements where `to` has them.
pub(super) fn relaid<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    from: &Matrix,
    to: &Matrix,
    value: Value<'c>,
) -> Result<Value<'c>> {
    if from.layout == to.layout {
        return Ok(value);
    }
    let (source, held) = (Shared::new(e, from, value)?, Held::new(e, &to.layout)?);
    let elements = (0..to.layout.slots)
        .map(|slot| source.read(held.at(slot)?, held_by(&to.layout, slot)))
        .collect::<Result<Vec<_>>>()?;
    e.b.vector(&elements)
}
