//! OpCooperativeMatrixMulAddKHR: by the target's instruction if it has one for the types and
//! shapes, else by subgroup shuffles, which are right for every shape, type and layout.
//!
//! By shuffles, each invocation computes the elements of the result that it holds; it reads a row
//! of A and a column of B from the invocations that hold them. The products of one shape share a
//! function.
//!
//! Sums of 16-bit floats are kept in 32 bits and rounded once, in order of increasing k; the
//! extension leaves precision and order open.

use super::super::Result;
use super::super::function::FunctionEmitter;
use super::super::small_float::{self, SmallFloat};
use super::super::types::{self, Scalar};
use super::element::{At, Held, Shared, Stored, held_by};
use super::layout::{Axis, Element, Holder, Layout};
use super::shapes::{Shapes, widened};
use super::{Matrix, joint, native};
use crate::ffi::{self, Func, IntPredicate, Ty, Value};
use spirv::CooperativeMatrixOperands as Operands;
use splitbar_passes::module::Inst;
use splitbar_passes::module::joint_matrix::{
    FACTORS_BFLOAT16, FACTORS_TF32, RESULT_BFLOAT16, SUMMAND_BFLOAT16,
};
use std::collections::BTreeMap;

/// Most multiply-adds of one invocation in a product that is unrolled.
const MAX_UNROLLED: u32 = 256;

/// Matrix operands that say what elements are.
const INTERPRETATIONS: u32 = FACTORS_TF32 | FACTORS_BFLOAT16 | SUMMAND_BFLOAT16 | RESULT_BFLOAT16;

/// Lowers OpCooperativeMatrixMulAddKHR.
pub(super) fn multiply_add(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<()> {
    let bits = inst.operands().get(3).copied().unwrap_or(0);
    let operands = Operands::from_bits_truncate(bits);
    let unknown = bits & !(operands.bits() | INTERPRETATIONS);
    if unknown != 0 {
        return Err(e.unsupported(inst, format!("the matrix operand {unknown:#x}")));
    }
    let (a, declared) = e.matrix_operand(inst, 0)?;
    let (a, a_type) = joint::factor(e, inst, bits, a, declared)?;
    let (b, declared) = e.matrix_operand(inst, 1)?;
    let (b, b_type) = joint::factor(e, inst, bits, b, declared)?;
    let (c, declared) = e.matrix_operand(inst, 2)?;
    let (c, c_type) = joint::as_bfloat(e, inst, bits & SUMMAND_BFLOAT16 != 0, c, declared)?;
    let d = e.matrix(e.result_type(inst)?)?;
    let d_type = joint::read_as_bfloat(e, inst, bits & RESULT_BFLOAT16 != 0, d)?;
    let shapes = Shapes {
        a: &a_type,
        b: &b_type,
        c: &c_type,
        d: &d_type,
        operands,
    };
    let fits = a_type.columns == b_type.rows
        && [&c_type, &d_type]
            .iter()
            .all(|m| (m.rows, m.columns) == (a_type.rows, b_type.columns));
    let is_float = |matrix: &Matrix| matches!(matrix.component, Scalar::Float { .. });
    let kinds = [shapes.a, shapes.b, shapes.c, shapes.d].map(is_float);
    if !fits || kinds.iter().any(|kind| *kind != kinds[0]) {
        return Err(e.mismatch(inst, "A, B, C and the result do not match each other"));
    }
    if let Some(instruction) = native::find(e.module.target, e.wave_size(), &shapes) {
        let value = native::multiply_add(e, instruction, &shapes, [a, b, c])?;
        let value = e.b.bitcast(value, e.result_ty(inst)?)?;
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
    let result = types::scalar(e.b, d_type.component).vector(d_type.layout.slots);
    let ty = result.function(&[a.ty(), b.ty(), c.ty()]);
    let function = e.helper(&name, ty, |function, params| match params {
        [a, b, c] => by_shuffles(e, function, &shapes, [*a, *b, *c]),
        _ => Err(e.b.internal("a product has three operands")),
    })?;
    let value = e.b.call(function, &[a, b, c])?;
    let value = e.b.bitcast(value, e.result_ty(inst)?)?;
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

/// `D = A * B + C` in the function that is being written for it: a loop over the columns of A, with
/// A and B on the stack. A small one is unrolled, and its matrices are in registers then.
fn by_shuffles<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    function: Func<'c>,
    shapes: &Shapes<'_>,
    [a, b, c]: [Value<'c>; 3],
) -> Result<Value<'c>> {
    let has = |operand| shapes.operands.contains(operand);
    let ty = sum_type(e, shapes);
    let a = numbers(e, shapes.a, a)?;
    // Floats have no overflow to stop at.
    let saturating = has(Operands::SATURATING_ACCUMULATION_KHR) && !ty.is_float();
    let a = widened(e, a, ty, has(Operands::MATRIX_A_SIGNED_COMPONENTS_KHR))?;
    let b = numbers(e, shapes.b, b)?;
    let b = widened(e, b, ty, has(Operands::MATRIX_B_SIGNED_COMPONENTS_KHR))?;
    let signed = has(Operands::MATRIX_C_SIGNED_COMPONENTS_KHR);
    let c = numbers(e, shapes.c, relaid(e, shapes.c, shapes.d, c)?)?;
    let c = widened(e, c, ty, signed)?;
    let (rows, columns) = (Stored::new(e, shapes.a, a)?, Stored::new(e, shapes.b, b)?);
    let layout = &shapes.d.layout;
    let held = Held::new(e, layout)?;
    let places = (0..layout.slots)
        .map(|slot| held.at(slot))
        .collect::<Result<Vec<_>>>()?;
    let first = (0..layout.slots)
        .map(|slot| {
            if saturating {
                Ok(ty.zero())
            } else {
                e.b.lane(c, slot)
            }
        })
        .collect::<Result<Vec<_>>>()?;
    let new_block = || function.append(e.b.context());
    // for (k = 0; k < columns of A; ++k)
    let (before, body, done) = (e.b.block()?, new_block(), new_block());
    e.b.br(body);
    e.b.position(body);
    let k = e.b.phi(&[(e.b.i32(0), before)])?;
    let sums = first
        .iter()
        .map(|first| e.b.phi(&[(*first, before)]))
        .collect::<Result<Vec<_>>>()?;
    let next = sums_of_step(e, layout, &places, [&rows, &columns], k, &sums)?;
    let here = e.b.block()?;
    let following = e.b.add(k, e.b.i32(1))?;
    k.add_incoming(following, here);
    for (sum, next) in sums.iter().zip(&next) {
        sum.add_incoming(*next, here);
    }
    let again = e.b.icmp(
        IntPredicate::LLVMIntULT,
        following,
        e.b.i32(shapes.a.columns),
    )?;
    let back = e.b.cond_br(again, body, done)?;
    if shapes.a.columns.saturating_mul(layout.slots) <= MAX_UNROLLED {
        let context = e.b.context();
        let hint = ffi::meta_node(
            context,
            &[ffi::meta_string(context, "llvm.loop.unroll.full")],
        );
        back.set_metadata(context, "llvm.loop", ffi::meta_loop(context, &[hint]));
    }
    e.b.position(done);
    let sums = next;
    let mut sum = e.b.vector(&sums)?;
    if saturating {
        let name = if signed {
            "llvm.sadd.sat"
        } else {
            "llvm.uadd.sat"
        };
        sum = e.b.intrinsic(name, &[sum.ty()], &[sum, c])?;
    }
    if let Some(format) = SmallFloat::from_scalar(shapes.d.component) {
        return small_float::encode(e.b, format, sum, false);
    }
    let to = types::scalar(e.b, shapes.d.component);
    widened(e, sum, to, signed)
}

/// The sums of all slots with the products of column `k` of A, which is `rows`, and row `k` of B.
fn sums_of_step<'e, 'f, 'c, 'm>(
    e: &'e FunctionEmitter<'f, 'c, 'm>,
    layout: &Layout,
    places: &[At<'c>],
    [rows, columns]: [&Stored<'e, 'f, 'c, 'm>; 2],
    k: Value<'c>,
    sums: &[Value<'c>],
) -> Result<Vec<Value<'c>>> {
    // Slots that differ in nothing but their column want the same element of A, and the other way
    // round.
    let mut row: BTreeMap<u32, Value<'c>> = BTreeMap::new();
    let mut column: BTreeMap<u32, Value<'c>> = BTreeMap::new();
    let mut next = Vec::new();
    for ((slot, at), sum) in (0..).zip(places).zip(sums) {
        let part = layout.part(Holder::Slot, slot);
        let asked = held_by(layout, slot);
        let x = match row.get(&part.row) {
            Some(x) => *x,
            None => {
                let at = At { column: k, ..*at };
                let asked = |lane| Element {
                    column: 0,
                    ..asked(lane)
                };
                rows.read(at, Axis::Column, asked)?
            }
        };
        row.insert(part.row, x);
        let y = match column.get(&part.column) {
            Some(y) => *y,
            None => {
                let at = At { row: k, ..*at };
                let asked = |lane| Element {
                    row: 0,
                    ..asked(lane)
                };
                columns.read(at, Axis::Row, asked)?
            }
        };
        column.insert(part.column, y);
        next.push(if sum.ty().is_float() {
            e.b.intrinsic("llvm.fma", &[sum.ty()], &[x, y, *sum])?
        } else {
            e.b.add(e.b.mul(x, y)?, *sum)?
        });
    }
    Ok(next)
}

/// The elements as LLVM knows numbers: floats of 8 bits in 32.
fn numbers<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    matrix: &Matrix,
    value: Value<'c>,
) -> Result<Value<'c>> {
    match SmallFloat::from_scalar(matrix.component) {
        Some(format) => small_float::decode(e.b, format, value),
        None => Ok(value),
    }
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
