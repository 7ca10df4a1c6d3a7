//! OpenCL.std: integer and relational functions.

use super::Result;
use super::arith::product_high;
use super::build::Build;
use super::casts::clamp_resize;
use super::function::FunctionEmitter;
use super::numeric::{self, call1, call2};
use crate::ffi::{IntPredicate, Value};
use spirv::OpenclStd100Op as Cl;
use splitbar_passes::module::Inst;

/// Lowers an integer function; `None` if `op` is none.
pub(crate) fn emit<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    op: Cl,
    inst: Inst<'_>,
    args: &[Value<'c>],
) -> Result<Option<Value<'c>>> {
    match args {
        [x] => one(e.b, op, *x),
        [x, y] => two(e, op, inst, *x, *y),
        [x, y, z] => three(e.b, op, *x, *y, *z),
        _ => Ok(None),
    }
}

fn one<'c>(b: &Build<'c>, op: Cl, x: Value<'c>) -> Result<Option<Value<'c>>> {
    Ok(Some(match op {
        Cl::s_abs => numeric::int_abs(b, x)?,
        Cl::u_abs => x,
        // A count of zeros of 0 is the width.
        Cl::clz => b.intrinsic("llvm.ctlz", &[x.ty()], &[x, b.bool(false)])?,
        Cl::ctz => b.intrinsic("llvm.cttz", &[x.ty()], &[x, b.bool(false)])?,
        Cl::popcount => call1(b, "llvm.ctpop", x)?,
        _ => return Ok(None),
    }))
}

fn two<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    op: Cl,
    inst: Inst<'_>,
    x: Value<'c>,
    y: Value<'c>,
) -> Result<Option<Value<'c>>> {
    let b = e.b;
    Ok(Some(match op {
        Cl::s_abs_diff => numeric::abs_diff(b, x, y, true)?,
        Cl::u_abs_diff => numeric::abs_diff(b, x, y, false)?,
        Cl::s_add_sat => call2(b, "llvm.sadd.sat", x, y)?,
        Cl::u_add_sat => call2(b, "llvm.uadd.sat", x, y)?,
        Cl::s_sub_sat => call2(b, "llvm.ssub.sat", x, y)?,
        Cl::u_sub_sat => call2(b, "llvm.usub.sat", x, y)?,
        Cl::s_max => call2(b, "llvm.smax", x, y)?,
        Cl::u_max => call2(b, "llvm.umax", x, y)?,
        Cl::s_min => call2(b, "llvm.smin", x, y)?,
        Cl::u_min => call2(b, "llvm.umin", x, y)?,
        Cl::s_hadd => half_sum(b, x, y, true, false)?,
        Cl::u_hadd => half_sum(b, x, y, false, false)?,
        Cl::s_rhadd => half_sum(b, x, y, true, true)?,
        Cl::u_rhadd => half_sum(b, x, y, false, true)?,
        Cl::s_mul_hi => product_high(b, x, y, true)?,
        Cl::u_mul_hi => product_high(b, x, y, false)?,
        Cl::rotate => b.intrinsic("llvm.fshl", &[x.ty()], &[x, x, y])?,
        // Defined for operands of 24 bits only, whose product this is.
        Cl::s_mul24 | Cl::u_mul24 => b.mul(x, y)?,
        Cl::s_upsample | Cl::u_upsample => {
            let to = e.result_ty(inst)?;
            let shift = b.int(to, u64::from(x.ty().scalar_bits()))?;
            let high = b.shl(b.int_resize(x, to, false)?, shift)?;
            b.or(high, b.int_resize(y, to, false)?)?
        }
        Cl::shuffle => shuffle(b, &[x], y)?,
        _ => return Ok(None),
    }))
}

fn three<'c>(
    b: &Build<'c>,
    op: Cl,
    x: Value<'c>,
    y: Value<'c>,
    z: Value<'c>,
) -> Result<Option<Value<'c>>> {
    Ok(Some(match op {
        Cl::s_clamp => call2(b, "llvm.smin", call2(b, "llvm.smax", x, y)?, z)?,
        Cl::u_clamp => call2(b, "llvm.umin", call2(b, "llvm.umax", x, y)?, z)?,
        Cl::s_mad_hi => b.add(product_high(b, x, y, true)?, z)?,
        Cl::u_mad_hi => b.add(product_high(b, x, y, false)?, z)?,
        Cl::s_mad24 | Cl::u_mad24 => b.add(b.mul(x, y)?, z)?,
        Cl::s_mad_sat => mad_sat(b, x, y, z, true)?,
        Cl::u_mad_sat => mad_sat(b, x, y, z, false)?,
        Cl::bitselect => {
            let bits = b.int_type(x.ty().scalar_bits()).vector(x.ty().lanes());
            let (no, yes, mask) = (
                b.bitcast(x, bits)?,
                b.bitcast(y, bits)?,
                b.bitcast(z, bits)?,
            );
            b.bitcast(b.or(b.and(no, b.not(mask)?)?, b.and(yes, mask)?)?, x.ty())?
        }
        Cl::select => {
            // A scalar selects when it is not 0, a vector's component by its highest bit.
            let predicate = if z.ty().is_vector() {
                IntPredicate::LLVMIntSLT
            } else {
                IntPredicate::LLVMIntNE
            };
            let condition = b.icmp(predicate, z, z.ty().zero())?;
            b.select(condition, y, x)?
        }
        Cl::shuffle2 => shuffle(b, &[x, y], z)?,
        _ => return Ok(None),
    }))
}

/// `(x + y) >> 1` without overflow, rounded down or up.
fn half_sum<'c>(
    b: &Build<'c>,
    x: Value<'c>,
    y: Value<'c>,
    signed: bool,
    up: bool,
) -> Result<Value<'c>> {
    let one = b.int(x.ty(), 1)?;
    let halve = |v| {
        if signed {
            b.ashr(v, one)
        } else {
            b.lshr(v, one)
        }
    };
    let carry = b.and(if up { b.or(x, y)? } else { b.and(x, y)? }, one)?;
    b.add(b.add(halve(x)?, halve(y)?)?, carry)
}

/// `x * y + z`, clamped.
fn mad_sat<'c>(
    b: &Build<'c>,
    x: Value<'c>,
    y: Value<'c>,
    z: Value<'c>,
    signed: bool,
) -> Result<Value<'c>> {
    let ty = x.ty();
    if ty.scalar_bits() < 64 {
        let wide = b.int_type(ty.scalar_bits() * 2).vector(ty.lanes());
        let product = b.mul(
            b.int_resize(x, wide, signed)?,
            b.int_resize(y, wide, signed)?,
        )?;
        return clamp_resize(
            b,
            b.add(product, b.int_resize(z, wide, signed)?)?,
            ty,
            signed,
            signed,
        );
    }
    // 64 bits: the exact sum is a high and a low word; it fits when the high word is the extension
    // of the low one.
    let low = b.mul(x, y)?;
    let high = product_high(b, x, y, signed)?;
    let sum = b.add(low, z)?;
    let carry = b.int_resize(b.icmp(IntPredicate::LLVMIntULT, sum, low)?, ty, false)?;
    let last = b.int(ty, 63)?;
    let z_high = if signed { b.ashr(z, last)? } else { ty.zero() };
    let high = b.add(b.add(high, z_high)?, carry)?;
    let extension = if signed {
        b.ashr(sum, last)?
    } else {
        ty.zero()
    };
    let fits = b.icmp(IntPredicate::LLVMIntEQ, high, extension)?;
    let limit = if signed {
        let negative = b.icmp(IntPredicate::LLVMIntSLT, high, ty.zero())?;
        b.select(negative, b.int(ty, 1 << 63)?, b.int(ty, (1 << 63) - 1)?)?
    } else {
        b.int(ty, u64::MAX)?
    };
    b.select(fits, sum, limit)
}

/// Components picked by the low bits of a run-time mask.
fn shuffle<'c>(b: &Build<'c>, from: &[Value<'c>], mask: Value<'c>) -> Result<Value<'c>> {
    let mut pool = Vec::new();
    for vector in from {
        for lane in 0..vector.ty().lanes() {
            pool.push(b.lane(*vector, lane)?);
        }
    }
    let count = pool.len() as u64;
    let pool = b.vector(&pool)?;
    let mut lanes = Vec::new();
    for lane in 0..mask.ty().lanes() {
        let index = b.lane(mask, lane)?;
        let index = b.and(index, b.int(index.ty(), count - 1)?)?;
        lanes.push(b.lane_dynamic(pool, index)?);
    }
    b.vector(&lanes)
}
