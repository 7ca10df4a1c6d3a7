//! OpenCL.std: functions that read or write memory: vector loads and stores, their half-precision
//! forms, and functions with a second result.

use super::EXT_ARGS;
use super::build::Build;
use super::casts::float_to_float;
use super::function::FunctionEmitter;
use super::math::{self, Binary, Precision, Unary};
use super::memory::Access;
use super::{Handled, Result, library, numeric};
use crate::ffi::{Ty, Value};
use spirv::{FPRoundingMode, OpenclStd100Op as Cl};
use splitbar_passes::module::Inst;

/// Lowers a function that touches memory.
pub(crate) fn emit(e: &mut FunctionEmitter<'_, '_, '_>, op: Cl, inst: Inst<'_>) -> Result<Handled> {
    match op {
        // A hint.
        Cl::prefetch => Ok(Handled::Yes),
        Cl::vloadn | Cl::vload_half | Cl::vload_halfn | Cl::vloada_halfn => load(e, op, inst),
        Cl::vstoren => store(e, op, inst, None),
        Cl::vstore_half | Cl::vstore_halfn | Cl::vstorea_halfn => store(e, op, inst, None),
        Cl::vstore_half_r | Cl::vstore_halfn_r | Cl::vstorea_halfn_r => {
            let mode = FPRoundingMode::from_u32(inst.operand(EXT_ARGS + 3)?);
            store(e, op, inst, mode)
        }
        Cl::fract | Cl::frexp | Cl::modf | Cl::lgamma_r | Cl::remquo | Cl::sincos => {
            second_result(e, op, inst)
        }
        _ => Ok(Handled::No),
    }
}

/// Whether the aligned half forms treat three components as four.
fn stride(op: Cl, lanes: u32) -> u32 {
    if lanes == 3
        && matches!(
            op,
            Cl::vloada_halfn | Cl::vstorea_halfn | Cl::vstorea_halfn_r
        )
    {
        4
    } else {
        lanes
    }
}

/// The address of element `offset` of vectors of `lanes` components of type `element`, and its
/// alignment.
fn place<'c>(
    b: &Build<'c>,
    op: Cl,
    base: Value<'c>,
    offset: Value<'c>,
    element: Ty<'c>,
    lanes: u32,
) -> Result<(Value<'c>, u32)> {
    let bytes = element.scalar_bits() / 8;
    let stride = stride(op, lanes);
    let size = b.int(offset.ty(), u64::from(bytes * stride))?;
    let address = b.offset(base, b.mul(offset, size)?, false)?;
    let whole = matches!(
        op,
        Cl::vloada_halfn | Cl::vstorea_halfn | Cl::vstorea_halfn_r
    );
    Ok((address, if whole { bytes * stride } else { bytes }))
}

/// Operands: offset, pointer (, count).
fn load(e: &mut FunctionEmitter<'_, '_, '_>, op: Cl, inst: Inst<'_>) -> Result<Handled> {
    let b = e.b;
    let to = e.result_ty(inst)?;
    let offset = e.operand(inst, EXT_ARGS)?;
    let pointer = e.pointer(inst.id(EXT_ARGS + 1)?)?;
    let half = op != Cl::vloadn;
    let element = if half {
        b.float_type(16)
    } else {
        to.element_if_vector()
    };
    let (address, align) = place(b, op, pointer.address, offset, element, to.lanes())?;
    let (_, access) = e.with_access(&pointer, Access::default())?;
    let value = e.leaf_load(element.vector(to.lanes()), address, align, access)?;
    let value = if half {
        b.float_resize(value, to)?
    } else {
        value
    };
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}

/// Operands: data, offset, pointer (, rounding mode).
fn store(
    e: &mut FunctionEmitter<'_, '_, '_>,
    op: Cl,
    inst: Inst<'_>,
    mode: Option<FPRoundingMode>,
) -> Result<Handled> {
    let b = e.b;
    let data = e.operand(inst, EXT_ARGS)?;
    let offset = e.operand(inst, EXT_ARGS + 1)?;
    let pointer = e.pointer(inst.id(EXT_ARGS + 2)?)?;
    let lanes = data.ty().lanes();
    let element = if op == Cl::vstoren {
        data.ty().element_if_vector()
    } else {
        b.float_type(16)
    };
    let value = if op == Cl::vstoren {
        data
    } else {
        float_to_float(b, data, element.vector(lanes), mode)?
    };
    let (address, align) = place(b, op, pointer.address, offset, element, lanes)?;
    let (_, access) = e.with_access(&pointer, Access::default())?;
    e.leaf_store(value, address, align, access)?;
    Ok(Handled::Yes)
}

/// Functions whose last operand is a pointer for a second result.
fn second_result(e: &mut FunctionEmitter<'_, '_, '_>, op: Cl, inst: Inst<'_>) -> Result<Handled> {
    let b = e.b;
    let x = e.operand(inst, EXT_ARGS)?;
    let last = if op == Cl::remquo {
        EXT_ARGS + 2
    } else {
        EXT_ARGS + 1
    };
    let pointer = e.pointer(inst.id(last)?)?;
    let Some(pointee) = pointer.pointee else {
        return Err(e.mismatch(inst, "the type that the pointer points to is unknown"));
    };
    let (value, second) = match op {
        Cl::fract => {
            let below = numeric::call1(b, "llvm.floor", x)?;
            let largest = match x.ty().scalar_bits() {
                16 => 1.0 - 2f64.powi(-11),
                32 => 1.0 - 2f64.powi(-24),
                _ => 1.0 - 2f64.powi(-53),
            };
            let rest = numeric::call2(
                b,
                "llvm.minnum",
                b.fsub(x, below)?,
                b.float(x.ty(), largest)?,
            )?;
            // A NaN stays one, and an infinity leaves 0.
            let rest = b.select(super::compare::is_nan(b, x)?, x, rest)?;
            let infinite = b.fcmp(
                crate::ffi::RealPredicate::LLVMRealOEQ,
                super::compare::magnitude(b, x)?,
                b.float(x.ty(), f64::INFINITY)?,
            )?;
            (b.select(infinite, b.float(x.ty(), 0.0)?, rest)?, below)
        }
        Cl::frexp => numeric::frexp(b, x)?,
        Cl::modf => numeric::modf(b, x)?,
        Cl::sincos => (
            math::unary(e, Unary::Sin, Precision::Exact, x)?,
            math::unary(e, Unary::Cos, Precision::Exact, x)?,
        ),
        Cl::lgamma_r => {
            let word = b.int_type(32);
            let sign = math::in_single_or_double(b, &[x], |args| {
                let double = args.first().is_some_and(|a| a.ty().scalar_bits() == 64);
                library::call(
                    b,
                    if double {
                        "sb_lgamma_sign_f64"
                    } else {
                        "sb_lgamma_sign_f32"
                    },
                    word,
                    args,
                )
            })?;
            (math::unary(e, Unary::Lgamma, Precision::Exact, x)?, sign)
        }
        _ => {
            let y = e.operand(inst, EXT_ARGS + 1)?;
            let word = b.int_type(32);
            let quotient = math::in_single_or_double(b, &[x, y], |args| {
                let double = args.first().is_some_and(|a| a.ty().scalar_bits() == 64);
                library::call(
                    b,
                    if double {
                        "sb_remquo_bits_f64"
                    } else {
                        "sb_remquo_bits_f32"
                    },
                    word,
                    args,
                )
            })?;
            (
                math::binary(e, Binary::Remainder, Precision::Exact, x, y)?,
                quotient,
            )
        }
    };
    let second = if second.ty().is_int() {
        b.int_resize(second, e.ty(pointee)?, true)?
    } else {
        second
    };
    e.store(&pointer, pointee, second)?;
    e.bind(inst, value)?;
    Ok(Handled::Yes)
}
