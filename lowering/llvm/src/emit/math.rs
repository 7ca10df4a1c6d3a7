//! Elementary functions, for GLSL.std.450 and OpenCL.std, in the precision that each asks for.
//!
//! [`Precision::Fast`] uses the hardware's approximations (AMDGPU `v_exp`, `v_log`, `v_sin`; NVPTX
//! `ex2.approx`, `lg2.approx`, `sin.approx`), which meet Vulkan's table for 32 bits: exp2 and exp
//! 3 + 2|x| ULP, log and log2 3 ULP (2^-21 absolute near 1), sin and cos 2^-11 absolute within
//! [-pi, pi], pow as exp2(y * log2(x)). [`Precision::Exact`] uses the library (about 1 ULP, every
//! argument), which meets OpenCL's table. Functions that have no hardware form use the library in
//! both. 16-bit numbers are computed in 32 bits; 64-bit numbers with the library always.

use super::build::quotient::Quotient;
use super::build::{Build, fast};
use super::function::FunctionEmitter;
use super::{Result, library};
use crate::ffi::{IntPredicate, Opcode, RealPredicate, Ty, Value};
use splitbar_plan::target::Arch;

/// Which requirement a function has to meet.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Precision {
    /// Vulkan's, or none (OpenCL `native_` and `half_`).
    Fast,
    /// OpenCL's full profile.
    Exact,
}

/// A function of one argument.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unary {
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atanh,
    Cbrt,
    Cos,
    Cosh,
    Erf,
    Erfc,
    Exp,
    Exp10,
    Exp2,
    Expm1,
    Lgamma,
    Log,
    Log10,
    Log1p,
    Log2,
    Sin,
    Sinh,
    Tan,
    Tanh,
    Tgamma,
}

impl Unary {
    /// The library's functions for 32 and 64 bits.
    fn library(self) -> (&'static str, &'static str) {
        match self {
            Unary::Acos => ("sb_acos_f32", "sb_acos_f64"),
            Unary::Acosh => ("sb_acosh_f32", "sb_acosh_f64"),
            Unary::Asin => ("sb_asin_f32", "sb_asin_f64"),
            Unary::Asinh => ("sb_asinh_f32", "sb_asinh_f64"),
            Unary::Atan => ("sb_atan_f32", "sb_atan_f64"),
            Unary::Atanh => ("sb_atanh_f32", "sb_atanh_f64"),
            Unary::Cbrt => ("sb_cbrt_f32", "sb_cbrt_f64"),
            Unary::Cos => ("sb_cos_f32", "sb_cos_f64"),
            Unary::Cosh => ("sb_cosh_f32", "sb_cosh_f64"),
            Unary::Erf => ("sb_erf_f32", "sb_erf_f64"),
            Unary::Erfc => ("sb_erfc_f32", "sb_erfc_f64"),
            Unary::Exp => ("sb_exp_f32", "sb_exp_f64"),
            Unary::Exp10 => ("sb_exp10_f32", "sb_exp10_f64"),
            Unary::Exp2 => ("sb_exp2_f32", "sb_exp2_f64"),
            Unary::Expm1 => ("sb_expm1_f32", "sb_expm1_f64"),
            Unary::Lgamma => ("sb_lgamma_f32", "sb_lgamma_f64"),
            Unary::Log => ("sb_log_f32", "sb_log_f64"),
            Unary::Log10 => ("sb_log10_f32", "sb_log10_f64"),
            Unary::Log1p => ("sb_log1p_f32", "sb_log1p_f64"),
            Unary::Log2 => ("sb_log2_f32", "sb_log2_f64"),
            Unary::Sin => ("sb_sin_f32", "sb_sin_f64"),
            Unary::Sinh => ("sb_sinh_f32", "sb_sinh_f64"),
            Unary::Tan => ("sb_tan_f32", "sb_tan_f64"),
            Unary::Tanh => ("sb_tanh_f32", "sb_tanh_f64"),
            Unary::Tgamma => ("sb_tgamma_f32", "sb_tgamma_f64"),
        }
    }
}

/// A function of two arguments.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Binary {
    Atan2,
    Hypot,
    Nextafter,
    Pow,
    Remainder,
}

impl Binary {
    fn library(self) -> (&'static str, &'static str) {
        match self {
            Binary::Atan2 => ("sb_atan2_f32", "sb_atan2_f64"),
            Binary::Hypot => ("sb_hypot_f32", "sb_hypot_f64"),
            Binary::Nextafter => ("sb_nextafter_f32", "sb_nextafter_f64"),
            Binary::Pow => ("sb_pow_f32", "sb_pow_f64"),
            Binary::Remainder => ("sb_remainder_f32", "sb_remainder_f64"),
        }
    }
}

/// `f(x)` of every component.
pub(crate) fn unary<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    f: Unary,
    precision: Precision,
    x: Value<'c>,
) -> Result<Value<'c>> {
    in_single_or_double(e.b, &[x], |&[x]| {
        if precision == Precision::Fast
            && x.ty().scalar_bits() == 32
            && let Some(value) = fast_unary(e, f, x)?
        {
            return Ok(value);
        }
        let value = call(e.b, f.library(), x.ty(), &[x])?;
        if f != Unary::Acosh {
            return Ok(value);
        }
        // The library's says nothing of what lies below 1.
        let b = e.b;
        let below = b.fcmp(RealPredicate::LLVMRealOLT, x, b.float(x.ty(), 1.0)?)?;
        b.select(below, b.float(x.ty(), f64::NAN)?, value)
    })
}

/// `f(x, y)` of every component.
pub(crate) fn binary<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    f: Binary,
    precision: Precision,
    x: Value<'c>,
    y: Value<'c>,
) -> Result<Value<'c>> {
    let b = e.b;
    if f == Binary::Nextafter && x.ty().scalar_bits() == 16 {
        return next_half(b, x, y);
    }
    in_single_or_double(b, &[x, y], |[x, y]| {
        if precision == Precision::Fast && f == Binary::Pow && x.ty().scalar_bits() == 32 {
            let log = fast_or_library(e, Unary::Log2, *x)?;
            return fast_or_library(e, Unary::Exp2, b.fmul(*y, log)?);
        }
        call(b, f.library(), x.ty(), &[*x, *y])
    })
}

fn fast_or_library<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    f: Unary,
    x: Value<'c>,
) -> Result<Value<'c>> {
    match fast_unary(e, f, x)? {
        Some(value) => Ok(value),
        None => call(e.b, f.library(), x.ty(), &[x]),
    }
}

/// Calls the library's function for the width of `result`.
pub(crate) fn call<'c>(
    b: &Build<'c>,
    (single, double): (&'static str, &'static str),
    result: Ty<'c>,
    args: &[Value<'c>],
) -> Result<Value<'c>> {
    let wide = args.first().is_some_and(|a| a.ty().scalar_bits() == 64);
    library::call(b, if wide { double } else { single }, result, args)
}

/// Applies `f` lane by lane to 32-bit or 64-bit numbers; narrower ones are widened first and
/// rounded afterwards.
pub(crate) fn in_single_or_double<'c, const N: usize>(
    b: &Build<'c>,
    args: &[Value<'c>; N],
    mut f: impl FnMut(&[Value<'c>; N]) -> Result<Value<'c>>,
) -> Result<Value<'c>> {
    let Some(ty) = args.first().map(|a| a.ty()) else {
        return Err(b.internal("a function without arguments"));
    };
    if !ty.is_float() {
        return Err(b.mismatch(format!("a mathematical function of {}", ty.print())));
    }
    b.each_lane(args, |scalars| {
        if ty.scalar_bits() >= 32 {
            return f(scalars);
        }
        let single = b.float_type(32);
        let mut wide = *scalars;
        for scalar in &mut wide {
            *scalar = b.float_resize(*scalar, single)?;
        }
        let value = f(&wide)?;
        if value.ty().is_float() {
            b.float_resize(value, ty.element_if_vector())
        } else {
            Ok(value)
        }
    })
}

/// The hardware's approximation for a `float`, where there is one.
fn fast_unary<'c>(
    e: &FunctionEmitter<'_, 'c, '_>,
    f: Unary,
    x: Value<'c>,
) -> Result<Option<Value<'c>>> {
    let b = e.b;
    let ty = x.ty();
    let amdgpu = matches!(e.module.target.arch, Arch::Amdgpu(_));
    // LLVM's functions scale subnormal numbers around the instructions of AMD, which flush them,
    // and take the factor of a natural logarithm in two parts.
    let flushes = amdgpu && b.quotient(x) == Quotient::Approximate;
    let generic = |name: &'static str| b.intrinsic(name, &[ty], &[x]);
    let scaled = |value: Value<'c>, factor: f64| b.fmul(value, b.float(ty, factor)?);
    let exp2 = |x: Value<'c>| {
        let name = if flushes {
            "llvm.amdgcn.exp2"
        } else {
            "llvm.exp2"
        };
        b.intrinsic(name, &[ty], &[x])
    };
    let log2 = || match () {
        () if flushes => generic("llvm.amdgcn.log"),
        () if amdgpu => generic("llvm.log2"),
        () => b.intrinsic("llvm.nvvm.lg2.approx.f", &[], &[x]),
    };
    Ok(Some(match f {
        Unary::Exp2 => exp2(x)?,
        Unary::Exp if amdgpu && !flushes => generic("llvm.exp")?,
        Unary::Exp10 if amdgpu && !flushes => generic("llvm.exp10")?,
        Unary::Exp => exp2(scaled(x, std::f64::consts::LOG2_E)?)?,
        Unary::Exp10 => exp2(scaled(x, std::f64::consts::LOG2_10)?)?,
        Unary::Log2 => log2()?,
        Unary::Log if amdgpu && !flushes => generic("llvm.log")?,
        Unary::Log10 if amdgpu && !flushes => generic("llvm.log10")?,
        Unary::Log => scaled(log2()?, std::f64::consts::LN_2)?,
        Unary::Log10 => scaled(log2()?, std::f64::consts::LOG10_2)?,
        Unary::Sin if amdgpu => generic("llvm.sin")?,
        Unary::Cos if amdgpu => generic("llvm.cos")?,
        Unary::Sin => b.intrinsic("llvm.nvvm.sin.approx.f", &[], &[x])?,
        Unary::Cos => b.intrinsic("llvm.nvvm.cos.approx.f", &[], &[x])?,
        Unary::Tan => {
            let (Some(sine), Some(cosine)) =
                (fast_unary(e, Unary::Sin, x)?, fast_unary(e, Unary::Cos, x)?)
            else {
                return Ok(None);
            };
            b.fdiv(sine, cosine)?
        }
        _ => return Ok(None),
    }))
}

/// `1 / sqrt(x)`: OpenCL and Vulkan ask for 2 ULP. Of halves in 32 bits where one rounding is asked
/// for: the root's own would come on top of the quotient's.
pub(crate) fn inverse_sqrt<'c>(
    b: &Build<'c>,
    x: Value<'c>,
    precision: Precision,
) -> Result<Value<'c>> {
    let ty = x.ty();
    if precision == Precision::Exact && ty.scalar_bits() == 16 {
        let wide = b.float_resize(x, b.float_type(32).vector(ty.lanes()))?;
        return b.float_resize(inverse_sqrt(b, wide, precision)?, ty);
    }
    let one = b.float(ty, 1.0)?;
    let flags = if precision == Precision::Fast && b.quotient(x) == Quotient::Approximate {
        fast::APPROXIMATE | fast::CONTRACT
    } else {
        0
    };
    // The bounds of a root and a quotient together are more than is allowed.
    with_fast_math(b, flags, || {
        let root = b.intrinsic("llvm.sqrt", &[ty], &[x])?;
        b.binary(Opcode::LLVMFDiv, one, root)
    })
}

/// Builds with these fast-math flags besides the instruction's own.
pub(crate) fn with_fast_math<T>(b: &Build<'_>, flags: u32, f: impl FnOnce() -> T) -> T {
    let before = b.fast_math.get();
    b.fast_math.set(before | flags);
    let result = f();
    b.fast_math.set(before);
    result
}

/// `x` clamped to `[low, high]`.
pub(crate) fn clamp<'c>(
    b: &Build<'c>,
    x: Value<'c>,
    low: Value<'c>,
    high: Value<'c>,
) -> Result<Value<'c>> {
    let ty = x.ty();
    let lower = b.intrinsic("llvm.maxnum", &[ty], &[x, low])?;
    b.intrinsic("llvm.minnum", &[ty], &[lower, high])
}

/// The number next to half `x` in the direction of `y`: a step of the bits.
fn next_half<'c>(b: &Build<'c>, x: Value<'c>, y: Value<'c>) -> Result<Value<'c>> {
    let ty = x.ty();
    let bits = b.int_type(16).vector(ty.lanes());
    let (one, sign) = (b.int(bits, 1)?, b.int(bits, 0x8000)?);
    let xb = b.bitcast(x, bits)?;
    let zero = b.float(ty, 0.0)?;
    let negative = b.icmp(IntPredicate::LLVMIntSLT, xb, bits.zero())?;
    let up = b.fcmp(RealPredicate::LLVMRealOLT, x, y)?;
    // Upwards the magnitude of a negative number shrinks, downwards that of a positive one.
    let shrink = b.icmp(IntPredicate::LLVMIntEQ, negative, up)?;
    let stepped = b.select(shrink, b.sub(xb, one)?, b.add(xb, one)?)?;
    let from_zero = b.select(up, one, b.or(sign, one)?)?;
    let is_zero = b.fcmp(RealPredicate::LLVMRealOEQ, x, zero)?;
    let next = b.bitcast(b.select(is_zero, from_zero, stepped)?, ty)?;
    let equal = b.fcmp(RealPredicate::LLVMRealOEQ, x, y)?;
    let nan = b.fcmp(RealPredicate::LLVMRealUNO, x, y)?;
    let next = b.select(equal, y, next)?;
    b.select(nan, b.fadd(x, y)?, next)
}

/// `sin(pi * x)`: the argument is brought to [-1/2, 1/2] exactly first.
pub(crate) fn sin_pi<'c>(e: &FunctionEmitter<'_, 'c, '_>, x: Value<'c>) -> Result<Value<'c>> {
    let b = e.b;
    in_single_or_double(b, &[x], |&[x]| {
        let ty = x.ty();
        let r = half_turn(b, x)?;
        let half = b.float(ty, 0.5)?;
        let one = b.intrinsic("llvm.copysign", &[ty], &[b.float(ty, 1.0)?, r])?;
        let far = b.fcmp(
            RealPredicate::LLVMRealOGT,
            super::compare::magnitude(b, r)?,
            half,
        )?;
        let near = b.select(far, b.fsub(one, r)?, r)?;
        sine_of_turns(e, near)
    })
}

/// `cos(pi * x)` as the sine of the complement.
pub(crate) fn cos_pi<'c>(e: &FunctionEmitter<'_, 'c, '_>, x: Value<'c>) -> Result<Value<'c>> {
    let b = e.b;
    in_single_or_double(b, &[x], |&[x]| {
        let r = super::compare::magnitude(b, half_turn(b, x)?)?;
        sine_of_turns(e, b.fsub(b.float(x.ty(), 0.5)?, r)?)
    })
}

/// `x` minus the nearest even integer, exactly.
fn half_turn<'c>(b: &Build<'c>, x: Value<'c>) -> Result<Value<'c>> {
    let ty = x.ty();
    let turns = b.intrinsic("llvm.rint", &[ty], &[b.fmul(x, b.float(ty, 0.5)?)?])?;
    b.intrinsic("llvm.fma", &[ty], &[turns, b.float(ty, -2.0)?, x])
}

fn sine_of_turns<'c>(e: &FunctionEmitter<'_, 'c, '_>, x: Value<'c>) -> Result<Value<'c>> {
    let angle = e.b.fmul(x, e.b.float(x.ty(), std::f64::consts::PI)?)?;
    unary(e, Unary::Sin, Precision::Exact, angle)
}
