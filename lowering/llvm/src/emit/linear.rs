//! Products of vectors and matrices (SPIR-V 1.6, section 3.52.13) and integer dot products
//! (SPV_KHR_integer_dot_product).
//!
//! A matrix value is an array of column vectors. Sums run from the lowest index to the highest;
//! Vulkan asks for the precision of such a chain of products and sums, contracted or not.

use super::build::Build;
use super::function::FunctionEmitter;
use super::types::Kind;
use super::{Handled, Result};
use crate::ffi::{Ty, Value};
use spirv::Op;
use splitbar_passes::module::Inst;
use splitbar_plan::target::{Arch, ByteDots};

/// OpFDot2MixAcc32VALVE and OpFDot2MixAcc16VALVE: a dot product of two components on top of an
/// accumulator, computed in 32 bits.
pub(crate) fn mixed_dot(e: &mut FunctionEmitter<'_, '_, '_>, inst: Inst<'_>) -> Result<Handled> {
    let b = e.b;
    let (x, y, accumulator) = (
        e.operand(inst, 0)?,
        e.operand(inst, 1)?,
        e.operand(inst, 2)?,
    );
    let single = b.float_type(32);
    let mut sum = b.float_resize(accumulator, single)?;
    for lane in 0..x.ty().lanes() {
        let (left, right) = (
            b.float_resize(b.lane(x, lane)?, single)?,
            b.float_resize(b.lane(y, lane)?, single)?,
        );
        sum = b.intrinsic("llvm.fma", &[single], &[left, right, sum])?;
    }
    let result = b.float_resize(sum, e.result_ty(inst)?)?;
    e.bind(inst, result)?;
    Ok(Handled::Yes)
}

/// Lowers the linear-algebra instructions.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Op, inst: Inst<'_>) -> Result<Handled> {
    let b = e.b;
    let value = match op {
        Op::VectorTimesScalar => {
            let (vector, scalar) = (e.operand(inst, 0)?, e.operand(inst, 1)?);
            b.fmul(vector, b.splat(scalar, vector.ty().lanes())?)?
        }
        Op::MatrixTimesScalar => {
            let (matrix, scalar) = (e.operand(inst, 0)?, e.operand(inst, 1)?);
            if let Kind::Cooperative(_) = e.kind(e.result_type(inst)?)? {
                let every = b.splat(scalar, matrix.ty().lanes())?;
                let product = if every.ty().is_float() {
                    b.fmul(matrix, every)?
                } else {
                    b.mul(matrix, every)?
                };
                e.bind(inst, product)?;
                return Ok(Handled::Yes);
            }
            map_columns(e, matrix, |column| {
                b.fmul(column, b.splat(scalar, column.ty().lanes())?)
            })?
        }
        Op::MatrixTimesVector => matrix_times_vector(b, e.operand(inst, 0)?, e.operand(inst, 1)?)?,
        Op::VectorTimesMatrix => {
            let (vector, matrix) = (e.operand(inst, 0)?, e.operand(inst, 1)?);
            let dots = columns(b, matrix)?
                .into_iter()
                .map(|column| dot(b, vector, column))
                .collect::<Result<Vec<_>>>()?;
            b.vector(&dots)?
        }
        Op::MatrixTimesMatrix => {
            let (left, right) = (e.operand(inst, 0)?, e.operand(inst, 1)?);
            let products = columns(b, right)?
                .into_iter()
                .map(|column| matrix_times_vector(b, left, column))
                .collect::<Result<Vec<_>>>()?;
            from_columns(b, e.result_ty(inst)?, &products)?
        }
        Op::OuterProduct => {
            let (left, right) = (e.operand(inst, 0)?, e.operand(inst, 1)?);
            let mut products = Vec::new();
            for lane in 0..right.ty().lanes() {
                products.push(b.fmul(left, b.splat(b.lane(right, lane)?, left.ty().lanes())?)?);
            }
            from_columns(b, e.result_ty(inst)?, &products)?
        }
        Op::Transpose => transpose(b, e.operand(inst, 0)?, e.result_ty(inst)?)?,
        Op::Dot => dot(b, e.operand(inst, 0)?, e.operand(inst, 1)?)?,
        Op::SDot | Op::UDot | Op::SUDot | Op::SDotAccSat | Op::UDotAccSat | Op::SUDotAccSat => {
            integer_dot(e, op, inst)?
        }
        _ => return Ok(Handled::No),
    };
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}

/// The columns of a matrix.
pub(crate) fn columns<'c>(b: &Build<'c>, matrix: Value<'c>) -> Result<Vec<Value<'c>>> {
    (0..matrix.ty().count() as u32)
        .map(|index| b.member(matrix, index))
        .collect()
}

/// A matrix of these columns.
pub(crate) fn from_columns<'c>(
    b: &Build<'c>,
    ty: Ty<'c>,
    columns: &[Value<'c>],
) -> Result<Value<'c>> {
    let mut matrix = ty.poison();
    for (index, column) in columns.iter().enumerate() {
        matrix = b.with_member(matrix, *column, index as u32)?;
    }
    Ok(matrix)
}

fn map_columns<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    matrix: Value<'c>,
    f: impl Fn(Value<'c>) -> Result<Value<'c>>,
) -> Result<Value<'c>> {
    let mapped = columns(e.b, matrix)?
        .into_iter()
        .map(f)
        .collect::<Result<Vec<_>>>()?;
    from_columns(e.b, matrix.ty(), &mapped)
}

/// The sum of the columns, each times its component of the vector.
fn matrix_times_vector<'c>(
    b: &Build<'c>,
    matrix: Value<'c>,
    vector: Value<'c>,
) -> Result<Value<'c>> {
    let mut sum: Option<Value<'c>> = None;
    for (index, column) in columns(b, matrix)?.into_iter().enumerate() {
        let product = b.fmul(
            column,
            b.splat(b.lane(vector, index as u32)?, column.ty().lanes())?,
        )?;
        sum = Some(match sum {
            Some(sum) => b.fadd(sum, product)?,
            None => product,
        });
    }
    sum.ok_or_else(|| b.mismatch("a matrix without columns"))
}

/// The matrix mirrored at its diagonal, of type `ty`.
pub(crate) fn transpose<'c>(b: &Build<'c>, matrix: Value<'c>, ty: Ty<'c>) -> Result<Value<'c>> {
    let old = columns(b, matrix)?;
    let first = old.first();
    let first = first.ok_or_else(|| b.mismatch("a matrix without columns"))?;
    let rows = first.ty().lanes();
    let mut new = Vec::with_capacity(rows as usize);
    for row in 0..rows {
        let lanes = old
            .iter()
            .map(|column| b.lane(*column, row))
            .collect::<Result<Vec<_>>>()?;
        new.push(b.vector(&lanes)?);
    }
    from_columns(b, ty, &new)
}

/// The floating-point dot product; of scalars their product.
pub(crate) fn dot<'c>(b: &Build<'c>, x: Value<'c>, y: Value<'c>) -> Result<Value<'c>> {
    let products = b.fmul(x, y)?;
    let mut sum = b.lane(products, 0)?;
    for lane in 1..products.ty().lanes() {
        sum = b.fadd(sum, b.lane(products, lane)?)?;
    }
    Ok(sum)
}

/// The dot product of two vectors of four bytes in one instruction; `None` where the GPU has none.
fn byte_dot<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    vectors: [Value<'c>; 2],
    signed: [bool; 2],
) -> Result<Option<Value<'c>>> {
    let Arch::Amdgpu(gpu) = &e.module.target.arch else {
        return Ok(None);
    };
    let b = e.b;
    let word = |vector| b.bitcast(vector, b.int_type(32));
    let [x, y] = [word(vectors[0])?, word(vectors[1])?];
    let bit = |set: bool| b.int_type(1).int(set.into());
    let (nothing, clamp) = (b.i32(0), bit(false));
    let dot = match (gpu.byte_dots, signed) {
        (ByteDots::SameSigns, [true, true]) => {
            b.intrinsic("llvm.amdgcn.sdot4", &[], &[x, y, nothing, clamp])?
        }
        (ByteDots::SameSigns, [false, false]) => {
            b.intrinsic("llvm.amdgcn.udot4", &[], &[x, y, nothing, clamp])?
        }
        (ByteDots::AnySigns, [x_signed, y_signed]) => {
            let arguments = [bit(x_signed), x, bit(y_signed), y, nothing, clamp];
            b.intrinsic("llvm.amdgcn.sudot4", &[], &arguments)?
        }
        (ByteDots::SameSigns | ByteDots::None, _) => return Ok(None),
    };
    Ok(Some(dot))
}

/// The sum of the products of the components of two vectors, each widened to `to` first.
fn sum_of_products<'c>(
    b: &Build<'c>,
    [x, y]: [Value<'c>; 2],
    [x_signed, y_signed]: [bool; 2],
    to: Ty<'c>,
) -> Result<Value<'c>> {
    let mut sum: Option<Value<'c>> = None;
    for lane in 0..x.ty().lanes() {
        let left = b.int_resize(b.lane(x, lane)?, to, x_signed)?;
        let right = b.int_resize(b.lane(y, lane)?, to, y_signed)?;
        let product = b.mul(left, right)?;
        sum = Some(match sum {
            Some(sum) => b.add(sum, product)?,
            None => product,
        });
    }
    sum.ok_or_else(|| b.mismatch("a vector without components"))
}

/// OpSDot and its kin: components are widened to the result before they are multiplied and summed
/// (an overflow on the way is undefined); the AccSat forms add an accumulator with saturation. Two
/// 32-bit integers with the PackedVectorFormat operand are vectors of four 8-bit components, the
/// lowest byte first.
fn integer_dot<'c>(e: &FunctionEmitter<'_, 'c, '_>, op: Op, inst: Inst<'_>) -> Result<Value<'c>> {
    let b = e.b;
    let (x_signed, y_signed) = match op {
        Op::SDot | Op::SDotAccSat => (true, true),
        Op::UDot | Op::UDotAccSat => (false, false),
        _ => (true, false),
    };
    let accumulate = matches!(op, Op::SDotAccSat | Op::UDotAccSat | Op::SUDotAccSat);
    let to = e.result_ty(inst)?;
    let unpack = |value: Value<'c>| {
        if value.ty().is_vector() {
            Ok(value)
        } else {
            b.bitcast(value, b.int_type(8).vector(4))
        }
    };
    let (x, y) = (unpack(e.operand(inst, 0)?)?, unpack(e.operand(inst, 1)?)?);
    let is_of_bytes = x.ty() == b.int_type(8).vector(4) && to == b.int_type(32);
    let in_one = if is_of_bytes {
        byte_dot(e, [x, y], [x_signed, y_signed])?
    } else {
        None
    };
    let sum = match in_one {
        Some(sum) => sum,
        None => sum_of_products(b, [x, y], [x_signed, y_signed], to)?,
    };
    if !accumulate {
        return Ok(sum);
    }
    let signed = x_signed || y_signed;
    b.intrinsic(
        if signed {
            "llvm.sadd.sat"
        } else {
            "llvm.uadd.sat"
        },
        &[to],
        &[sum, e.operand(inst, 2)?],
    )
}
