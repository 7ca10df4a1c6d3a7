//! GLSL.std.450 (version 1.00). Precision as Vulkan asks for it (see [`super::math`]); min, max and
//! clamp prefer a number to a NaN, which both the F and the N forms allow.

use super::EXT_ARGS;
use super::arith::bind_pair;
use super::build::Build;
use super::function::FunctionEmitter;
use super::math::{self, Binary, Precision, Unary};
use super::numeric::{self, call1, call2, call3};
use super::{Handled, Result, bits, linear};
use crate::ffi::{Opcode, RealPredicate, Value};
use spirv::GlslStd450Op as Glsl;
use splitbar_passes::module::Inst;

/// Lowers the extended instruction `number`.
pub(crate) fn emit(
    e: &mut FunctionEmitter<'_, '_, '_>,
    inst: Inst<'_>,
    number: u32,
) -> Result<Handled> {
    let Some(op) = Glsl::from_u32(number) else {
        return Ok(Handled::No);
    };
    match op {
        Glsl::Modf | Glsl::Frexp => return with_pointer(e, op, inst),
        Glsl::ModfStruct => {
            let (rest, whole) = numeric::modf(e.b, e.operand(inst, EXT_ARGS)?)?;
            return bind_pair(e, inst, rest, whole);
        }
        Glsl::FrexpStruct => {
            let (significand, exponent) = numeric::frexp(e.b, e.operand(inst, EXT_ARGS)?)?;
            let Some(member) = e.result_ty(inst)?.member(1) else {
                return Err(e.mismatch(inst, "the result is not a structure of two members"));
            };
            let exponent = e.b.int_resize(exponent, member, true)?;
            return bind_pair(e, inst, significand, exponent);
        }
        _ => {}
    }
    let args = e.operands(inst, EXT_ARGS)?;
    let value = match args.as_slice() {
        [x] => one(e, op, inst, *x)?,
        [x, y] => two(e, op, *x, *y)?,
        [x, y, z] => three(e, op, *x, *y, *z)?,
        _ => None,
    };
    let Some(value) = value else {
        return Ok(Handled::No);
    };
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}

/// The function of one argument that the library or the hardware computes.
fn elementary(op: Glsl) -> Option<Unary> {
    Some(match op {
        Glsl::Sin => Unary::Sin,
        Glsl::Cos => Unary::Cos,
        Glsl::Tan => Unary::Tan,
        Glsl::Asin => Unary::Asin,
        Glsl::Acos => Unary::Acos,
        Glsl::Atan => Unary::Atan,
        Glsl::Sinh => Unary::Sinh,
        Glsl::Cosh => Unary::Cosh,
        Glsl::Tanh => Unary::Tanh,
        Glsl::Asinh => Unary::Asinh,
        Glsl::Acosh => Unary::Acosh,
        Glsl::Atanh => Unary::Atanh,
        Glsl::Exp => Unary::Exp,
        Glsl::Log => Unary::Log,
        Glsl::Exp2 => Unary::Exp2,
        Glsl::Log2 => Unary::Log2,
        _ => return None,
    })
}

fn one<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    op: Glsl,
    inst: Inst<'_>,
    x: Value<'c>,
) -> Result<Option<Value<'c>>> {
    let b = e.b;
    if let Some(f) = elementary(op) {
        return math::unary(e, f, Precision::Fast, x).map(Some);
    }
    Ok(Some(match op {
        Glsl::Round | Glsl::RoundEven => call1(b, "llvm.roundeven", x)?,
        Glsl::Trunc => call1(b, "llvm.trunc", x)?,
        Glsl::FAbs => call1(b, "llvm.fabs", x)?,
        Glsl::SAbs => numeric::int_abs(b, x)?,
        Glsl::FSign => numeric::float_sign(b, x, 0.0)?,
        Glsl::SSign => numeric::int_sign(b, x)?,
        Glsl::Floor => call1(b, "llvm.floor", x)?,
        Glsl::Ceil => call1(b, "llvm.ceil", x)?,
        Glsl::Fract => numeric::fract(b, x)?,
        Glsl::Radians => b.fmul(x, b.float(x.ty(), std::f64::consts::PI / 180.0)?)?,
        Glsl::Degrees => b.fmul(x, b.float(x.ty(), 180.0 / std::f64::consts::PI)?)?,
        Glsl::Sqrt => b.sqrt(x)?,
        Glsl::InverseSqrt => math::inverse_sqrt(b, x, Precision::Fast)?,
        Glsl::Determinant => {
            let columns = at_least_single(b, &linear::columns(b, x)?)?;
            b.float_resize(determinant(b, &columns)?, e.result_ty(inst)?)?
        }
        Glsl::MatrixInverse => inverse(b, x)?,
        Glsl::Length => numeric::length(b, x)?,
        Glsl::Normalize => numeric::normalize(b, x, Precision::Fast)?,
        Glsl::FindILsb => bits::lowest_set_bit(b, x)?,
        Glsl::FindUMsb => bits::highest_set_bit(b, x)?,
        Glsl::FindSMsb => {
            // Of a negative number the highest bit that is 0.
            let sign = b.ashr(x, b.int(x.ty(), u64::from(x.ty().scalar_bits()) - 1)?)?;
            bits::highest_set_bit(b, b.xor(x, sign)?)?
        }
        Glsl::PackSnorm4x8 => pack(b, x, 8, true)?,
        Glsl::PackUnorm4x8 => pack(b, x, 8, false)?,
        Glsl::PackSnorm2x16 => pack(b, x, 16, true)?,
        Glsl::PackUnorm2x16 => pack(b, x, 16, false)?,
        Glsl::UnpackSnorm4x8 => unpack(b, x, 8, true)?,
        Glsl::UnpackUnorm4x8 => unpack(b, x, 8, false)?,
        Glsl::UnpackSnorm2x16 => unpack(b, x, 16, true)?,
        Glsl::UnpackUnorm2x16 => unpack(b, x, 16, false)?,
        Glsl::PackHalf2x16 => b.bitcast(
            b.float_resize(x, b.float_type(16).vector(2))?,
            b.int_type(32),
        )?,
        Glsl::UnpackHalf2x16 => b.float_resize(
            b.bitcast(x, b.float_type(16).vector(2))?,
            e.result_ty(inst)?,
        )?,
        Glsl::PackDouble2x32 | Glsl::UnpackDouble2x32 => b.bitcast(x, e.result_ty(inst)?)?,
        _ => return Ok(None),
    }))
}

fn two<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    op: Glsl,
    x: Value<'c>,
    y: Value<'c>,
) -> Result<Option<Value<'c>>> {
    let b = e.b;
    Ok(Some(match op {
        Glsl::Atan2 => math::binary(e, Binary::Atan2, Precision::Fast, x, y)?,
        Glsl::Pow => math::binary(e, Binary::Pow, Precision::Fast, x, y)?,
        Glsl::FMin | Glsl::NMin => call2(b, "llvm.minnum", x, y)?,
        Glsl::FMax | Glsl::NMax => call2(b, "llvm.maxnum", x, y)?,
        Glsl::UMin => call2(b, "llvm.umin", x, y)?,
        Glsl::UMax => call2(b, "llvm.umax", x, y)?,
        Glsl::SMin => call2(b, "llvm.smin", x, y)?,
        Glsl::SMax => call2(b, "llvm.smax", x, y)?,
        Glsl::Step => numeric::step(b, x, y)?,
        Glsl::Ldexp => numeric::ldexp(b, x, y)?,
        Glsl::Distance => numeric::length(b, b.fsub(x, y)?)?,
        Glsl::Cross => numeric::cross(b, x, y)?,
        Glsl::Reflect => {
            // x - 2 * dot(y, x) * y
            let twice = b.fmul(
                b.float(x.ty().element_if_vector(), 2.0)?,
                linear::dot(b, y, x)?,
            )?;
            b.fsub(x, b.fmul(y, b.splat(twice, x.ty().lanes())?)?)?
        }
        _ => return Ok(None),
    }))
}

fn three<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    op: Glsl,
    x: Value<'c>,
    y: Value<'c>,
    z: Value<'c>,
) -> Result<Option<Value<'c>>> {
    let b = e.b;
    Ok(Some(match op {
        Glsl::FClamp | Glsl::NClamp => math::clamp(b, x, y, z)?,
        Glsl::UClamp => call2(b, "llvm.umin", call2(b, "llvm.umax", x, y)?, z)?,
        Glsl::SClamp => call2(b, "llvm.smin", call2(b, "llvm.smax", x, y)?, z)?,
        Glsl::FMix => numeric::mix(b, x, y, z)?,
        Glsl::SmoothStep => numeric::smoothstep(b, x, y, z)?,
        Glsl::Fma => call3(b, "llvm.fma", x, y, z)?,
        Glsl::FaceForward => {
            let away = b.fcmp(
                RealPredicate::LLVMRealOLT,
                linear::dot(b, z, y)?,
                b.float(x.ty().element_if_vector(), 0.0)?,
            )?;
            b.select(away, x, b.fneg(x)?)?
        }
        Glsl::Refract => refract(b, x, y, z)?,
        _ => return Ok(None),
    }))
}

/// Modf and Frexp, whose second result goes to memory.
fn with_pointer(e: &mut FunctionEmitter<'_, '_, '_>, op: Glsl, inst: Inst<'_>) -> Result<Handled> {
    let x = e.operand(inst, EXT_ARGS)?;
    let pointer = e.pointer(inst.id(EXT_ARGS + 1)?)?;
    let Some(pointee) = pointer.pointee else {
        return Err(e.mismatch(inst, "the type that the pointer points to is unknown"));
    };
    let (value, second) = if op == Glsl::Modf {
        numeric::modf(e.b, x)?
    } else {
        numeric::frexp(e.b, x)?
    };
    let second = if second.ty().is_int() {
        e.b.int_resize(second, e.ty(pointee)?, true)?
    } else {
        second
    };
    e.store(&pointer, pointee, second)?;
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}

/// Components to normalized integers of `width` bits, the first in the lowest bits.
fn pack<'c>(b: &Build<'c>, x: Value<'c>, width: u32, signed: bool) -> Result<Value<'c>> {
    let ty = x.ty();
    let (low, scale) = limits(width, signed);
    let clamped = math::clamp(b, x, b.float(ty, low)?, b.float(ty, 1.0)?)?;
    let rounded = call1(b, "llvm.roundeven", b.fmul(clamped, b.float(ty, scale)?)?)?;
    // Through 32 bits: every value fits, of either sign.
    let wide = b.cast(
        Opcode::LLVMFPToSI,
        rounded,
        b.int_type(32).vector(ty.lanes()),
    )?;
    let narrow = b.int_resize(wide, b.int_type(width).vector(ty.lanes()), false)?;
    b.bitcast(narrow, b.int_type(32))
}

/// The reverse of [`pack`].
fn unpack<'c>(b: &Build<'c>, x: Value<'c>, width: u32, signed: bool) -> Result<Value<'c>> {
    let (low, scale) = limits(width, signed);
    let lanes = 32 / width;
    let ty = b.float_type(32).vector(lanes);
    let integers = b.bitcast(x, b.int_type(width).vector(lanes))?;
    let wide = b.int_resize(integers, b.int_type(32).vector(lanes), signed)?;
    let (whole, scale) = (b.cast(Opcode::LLVMSIToFP, wide, ty)?, b.float(ty, scale)?);
    // Rounded, so that what was packed comes back.
    let number = b.binary(Opcode::LLVMFDiv, whole, scale)?;
    if signed {
        call2(b, "llvm.maxnum", number, b.float(ty, low)?)
    } else {
        Ok(number)
    }
}

/// The smallest value and the scale of a normalized format.
fn limits(width: u32, signed: bool) -> (f64, f64) {
    if signed {
        (-1.0, f64::from((1u32 << (width - 1)) - 1))
    } else {
        (0.0, f64::from((1u32 << width) - 1))
    }
}

/// `eta * i - (eta * d + sqrt(k)) * n` with `d = dot(n, i)` and `k = 1 - eta^2 (1 - d^2)`; 0 when k
/// is negative.
fn refract<'c>(b: &Build<'c>, i: Value<'c>, n: Value<'c>, eta: Value<'c>) -> Result<Value<'c>> {
    let scalar = i.ty().element_if_vector();
    let eta = b.float_resize(eta, scalar)?;
    let lanes = i.ty().lanes();
    let one = b.float(scalar, 1.0)?;
    let d = linear::dot(b, n, i)?;
    let k = b.fsub(one, b.fmul(b.fmul(eta, eta)?, b.fsub(one, b.fmul(d, d)?)?)?)?;
    let total = b.fcmp(RealPredicate::LLVMRealOLT, k, b.float(scalar, 0.0)?)?;
    let along = b.fadd(b.fmul(eta, d)?, b.sqrt(k)?)?;
    let bent = b.fsub(
        b.fmul(b.splat(eta, lanes)?, i)?,
        b.fmul(b.splat(along, lanes)?, n)?,
    )?;
    b.select(total, i.ty().zero(), bent)
}

/// The matrix without one column and one row, as columns.
fn minor<'c>(
    b: &Build<'c>,
    columns: &[Value<'c>],
    column: usize,
    row: u32,
) -> Result<Vec<Value<'c>>> {
    let mut rest = Vec::with_capacity(columns.len());
    for (_, old) in columns
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != column)
    {
        let lanes = (0..old.ty().lanes())
            .filter(|r| *r != row)
            .map(|r| b.lane(*old, r))
            .collect::<Result<Vec<_>>>()?;
        rest.push(b.vector(&lanes)?);
    }
    Ok(rest)
}

/// The columns in f32 where they are narrower: differences of products in f16 would leave little of
/// an f16 result.
fn at_least_single<'c>(b: &Build<'c>, columns: &[Value<'c>]) -> Result<Vec<Value<'c>>> {
    let widened = |column: &Value<'c>| {
        let ty = column.ty();
        if !ty.is_float() || ty.scalar_bits() >= 32 {
            return Ok(*column);
        }
        b.float_resize(*column, b.float_type(32).vector(ty.lanes()))
    };
    columns.iter().map(widened).collect()
}

/// The determinant, along the first row; matrices have 4 columns at the most.
fn determinant<'c>(b: &Build<'c>, columns: &[Value<'c>]) -> Result<Value<'c>> {
    let Some(first) = columns.first() else {
        return Err(b.mismatch("a matrix without columns"));
    };
    if columns.len() > 4 || first.ty().lanes() as usize != columns.len() {
        return Err(b.mismatch("a matrix that is not square"));
    }
    if columns.len() == 1 {
        return b.lane(*first, 0);
    }
    let mut sum: Option<Value<'c>> = None;
    for (index, column) in columns.iter().enumerate() {
        let product = b.fmul(
            b.lane(*column, 0)?,
            determinant(b, &minor(b, columns, index, 0)?)?,
        )?;
        sum = Some(match sum {
            None => product,
            Some(sum) if index % 2 == 1 => b.fsub(sum, product)?,
            Some(sum) => b.fadd(sum, product)?,
        });
    }
    sum.ok_or_else(|| b.mismatch("a matrix without columns"))
}

/// The adjugate over the determinant.
fn inverse<'c>(b: &Build<'c>, matrix: Value<'c>) -> Result<Value<'c>> {
    let own = linear::columns(b, matrix)?;
    let columns = at_least_single(b, &own)?;
    let scale = determinant(b, &columns)?;
    let mut inverted = Vec::with_capacity(columns.len());
    for column in 0..columns.len() as u32 {
        let mut lanes = Vec::with_capacity(columns.len());
        for row in 0..columns.len() {
            // Element (row, column) of the inverse is the cofactor of (column, row).
            let cofactor = determinant(b, &minor(b, &columns, row, column)?)?;
            lanes.push(if (row as u32 + column) % 2 == 1 {
                b.fneg(cofactor)?
            } else {
                cofactor
            });
        }
        let adjugate = b.vector(&lanes)?;
        let quotient = b.fdiv(adjugate, b.splat(scale, adjugate.ty().lanes())?)?;
        let like = own.first().map_or(quotient.ty(), |column| column.ty());
        inverted.push(b.float_resize(quotient, like)?);
    }
    linear::from_columns(b, matrix.ty(), &inverted)
}

/// Kept together with the comparisons that the file uses.
#[cfg(test)]
mod tests {
    use super::limits;

    #[test]
    fn normalized_formats() {
        assert_eq!(limits(8, true), (-1.0, 127.0));
        assert_eq!(limits(16, false), (0.0, 65535.0));
    }
}
