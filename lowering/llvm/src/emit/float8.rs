//! The 8-bit floats of OCP (E4M3, E5M2) by the conversions of GPUs that have them for these
//! formats, with the results of `small_float.rs`.
//!
//! | target | to 8 bits | from 8 bits | what is too large |
//! |---|---|---|---|
//! | AMD | `v_cvt_pk_fp8_f32`, two `f32` into a half of a register | `v_cvt_pk_f32_fp8`, `v_cvt_f32_fp8` | NaN or infinity, since `MODE.FP16_OVFL` is 0 in the kernels' descriptors |
//! | NVIDIA | `cvt.rn.satfinite.e4m3x2`, of two `f32` or two `f16` | `cvt.rn.f16x2.e4m3x2` | the greatest number: PTX has no other form |
//!
//! `bf8` and `e5m2x2` are the same for E5M2. All of them round to the nearest, of two to the even
//! one, whatever the rounding mode is, and have subnormal numbers. What the other side of the last
//! column asks for is written around the instruction: on AMD GPUs the operand is brought into the
//! range, on NVIDIA GPUs the code of the greatest number becomes the next one, which is NaN in E4M3
//! and infinity in E5M2.

use super::build::Build;
use super::facts::Float8Conversions;
use super::{Result, compare};
use crate::ffi::{RealPredicate, Value};

/// What the instructions of a format are called, and where its numbers end.
pub(super) struct Format {
    amdgpu: &'static str,
    nvptx: &'static str,
    greatest: f64,
    /// What rounds to a number beyond the greatest lies at or behind the middle between the two.
    middle: f64,
    /// True if the middle itself does: of two the even code is taken.
    middle_is_beyond: bool,
}

pub(super) const E4M3: Format = Format {
    amdgpu: "fp8",
    nvptx: "e4m3x2",
    greatest: 448.0,
    middle: 464.0,
    middle_is_beyond: false,
};

pub(super) const E5M2: Format = Format {
    amdgpu: "bf8",
    nvptx: "e5m2x2",
    greatest: 57344.0,
    middle: 61440.0,
    middle_is_beyond: true,
};

/// The numbers as `float`; `None` where there is no instruction for it.
pub(super) fn decode<'c>(
    b: &Build<'c>,
    format: &Format,
    x: Value<'c>,
) -> Result<Option<Value<'c>>> {
    let numbers = match b.float8.get() {
        Float8Conversions::None => return Ok(None),
        Float8Conversions::Amdgpu => b.exactly(|| amdgpu_numbers(b, format, x))?,
        Float8Conversions::Nvptx => b.exactly(|| nvptx_numbers(b, format, x))?,
    };
    Ok(Some(b.vector(&numbers)?))
}

/// The codes of numbers of 16 or 32 bits; `None` where there is no instruction for it.
pub(super) fn encode<'c>(
    b: &Build<'c>,
    format: &Format,
    x: Value<'c>,
    saturated: bool,
) -> Result<Option<Value<'c>>> {
    let codes = match b.float8.get() {
        Float8Conversions::None => return Ok(None),
        Float8Conversions::Amdgpu => b.exactly(|| amdgpu_codes(b, format, x, saturated))?,
        Float8Conversions::Nvptx => b.exactly(|| nvptx_codes(b, format, x, saturated))?,
    };
    Ok(Some(b.vector(&codes)?))
}

/// `count` bytes from lane `first` on in a word, with zeros above them.
fn word<'c>(b: &Build<'c>, x: Value<'c>, first: u32, count: u32) -> Result<Value<'c>> {
    let word = b.int_type(32);
    if count == 1 {
        return b.int_resize(b.lane(x, first)?, word, false);
    }
    let mut bytes = Vec::new();
    for at in 0..4 {
        bytes.push(if at < count {
            b.lane(x, first + at)?
        } else {
            b.int_type(8).zero()
        });
    }
    b.bitcast(b.vector(&bytes)?, word)
}

fn amdgpu_numbers<'c>(b: &Build<'c>, format: &Format, x: Value<'c>) -> Result<Vec<Value<'c>>> {
    let lanes = x.ty().lanes();
    let (pair, one) = ("llvm.amdgcn.cvt.pk.f32", "llvm.amdgcn.cvt.f32");
    let mut numbers = Vec::new();
    for first in (0..lanes).step_by(4) {
        let count = (lanes - first).min(4);
        let bytes = word(b, x, first, count)?;
        for at in (0..count).step_by(2) {
            if count - at == 1 {
                let name = format!("{one}.{}", format.amdgpu);
                numbers.push(b.intrinsic(&name, &[], &[bytes, b.i32(at)])?);
                continue;
            }
            let name = format!("{pair}.{}", format.amdgpu);
            let both = b.intrinsic(&name, &[], &[bytes, b.bool(at == 2)])?;
            numbers.extend([b.lane(both, 0)?, b.lane(both, 1)?]);
        }
    }
    Ok(numbers)
}

fn amdgpu_codes<'c>(
    b: &Build<'c>,
    format: &Format,
    x: Value<'c>,
    saturated: bool,
) -> Result<Vec<Value<'c>>> {
    let lanes = x.ty().lanes();
    let mut x = b.float_resize(x, b.float_type(32).vector(lanes))?;
    if saturated {
        // Of a NaN both give a NaN.
        let bound = |sign: f64| b.float(x.ty(), sign * format.greatest);
        let below = b.intrinsic("llvm.minimum", &[x.ty()], &[x, bound(1.0)?])?;
        x = b.intrinsic("llvm.maximum", &[x.ty()], &[below, bound(-1.0)?])?;
    }
    let name = format!("llvm.amdgcn.cvt.pk.{}.f32", format.amdgpu);
    let (word, bytes) = (b.int_type(32), b.int_type(8).vector(4));
    let mut codes = Vec::new();
    for first in (0..lanes).step_by(4) {
        let count = (lanes - first).min(4);
        let mut packed = word.poison();
        for at in (0..count).step_by(2) {
            let low = b.lane(x, first + at)?;
            let high = match count - at {
                1 => low,
                _ => b.lane(x, first + at + 1)?,
            };
            packed = b.intrinsic(&name, &[], &[low, high, packed, b.bool(at == 2)])?;
        }
        let packed = b.bitcast(packed, bytes)?;
        for at in 0..count {
            codes.push(b.lane(packed, at)?);
        }
    }
    Ok(codes)
}

fn nvptx_numbers<'c>(b: &Build<'c>, format: &Format, x: Value<'c>) -> Result<Vec<Value<'c>>> {
    let name = format!("llvm.nvvm.{}.to.f16x2.rn", format.nvptx);
    let (lanes, both) = (x.ty().lanes(), b.int_type(16));
    let mut numbers = Vec::new();
    for first in (0..lanes).step_by(2) {
        let count = (lanes - first).min(2);
        let codes = b.int_resize(word(b, x, first, count)?, both, false)?;
        let halves = b.intrinsic(&name, &[], &[codes])?;
        for at in 0..count {
            numbers.push(b.float_resize(b.lane(halves, at)?, b.float_type(32))?);
        }
    }
    Ok(numbers)
}

fn nvptx_codes<'c>(
    b: &Build<'c>,
    format: &Format,
    x: Value<'c>,
    saturated: bool,
) -> Result<Vec<Value<'c>>> {
    let lanes = x.ty().lanes();
    let half = b.float_type(16);
    let halves = x.ty().element_if_vector() == half;
    let x = if halves {
        x
    } else {
        b.float_resize(x, b.float_type(32).vector(lanes))?
    };
    let (byte, both) = (b.int_type(8), b.int_type(16));
    let mut codes = Vec::new();
    for first in (0..lanes).step_by(2) {
        let count = (lanes - first).min(2);
        let numbers = [b.lane(x, first)?, b.lane(x, first + count - 1)?];
        let packed = if halves {
            let name = format!("llvm.nvvm.f16x2.to.{}.rn", format.nvptx);
            b.intrinsic(&name, &[], &[b.vector(&numbers)?])?
        } else {
            // The first operand goes to the upper byte.
            let name = format!("llvm.nvvm.ff.to.{}.rn", format.nvptx);
            let [low, high] = numbers;
            b.intrinsic(&name, &[], &[high, low])?
        };
        for (at, number) in (0..count).zip(numbers) {
            let above = b.lshr(packed, b.int(both, u64::from(8 * at))?)?;
            let code = b.int_resize(above, byte, false)?;
            codes.push(if saturated {
                code
            } else {
                b.add(code, b.int_resize(beyond(b, format, number)?, byte, false)?)?
            });
        }
    }
    Ok(codes)
}

/// Whether a number is rounded to one that the format does not have; not of a NaN.
fn beyond<'c>(b: &Build<'c>, format: &Format, x: Value<'c>) -> Result<Value<'c>> {
    let middle = b.float(x.ty(), format.middle)?;
    let order = if format.middle_is_beyond {
        RealPredicate::LLVMRealOGE
    } else {
        RealPredicate::LLVMRealOGT
    };
    b.fcmp(order, compare::magnitude(b, x)?, middle)
}
