//! Rounding in another direction than to the nearest: the four lowest bits of the MODE register
//! (instruction set manuals, "Mode register", FP_ROUND).
//!
//! What is not in these tables is not simulated while another direction counts for it.
//! Approximations of the hardware (reciprocal, roots, exponentials, sines) stay as they are: their
//! error is larger than what the direction changes.

use crate::amdgpu::bits::{Compute, Row, Ty};
use crate::directed::{Format, Rounding, Step, compute, convert, from_integer};

/// Sources of a lane, and its bit of the mask that the instruction reads.
type Lane = ([u64; 3], bool);

/// What an instruction gives for a lane, in its result's format.
type Directed = fn(Format, Rounding, Lane) -> u64;

/// What becomes of an instruction in another direction.
#[derive(Copy, Clone, Debug)]
pub(in crate::amdgpu) enum Rule {
    /// It does not round, or approximates.
    Same,
    /// It computes this.
    Directed(Format, Directed),
    /// It is not simulated.
    Unknown,
}

/// What rounds, by the name without its unit and the type of its result.
#[rustfmt::skip] // a table
const ROUNDS: &[(&str, Directed)] = &[
    ("add", |f, r, ([a, b, _], _)| compute(Step::Add, f, r, [a, b, 0])),
    ("sub", |f, r, ([a, b, _], _)| compute(Step::Add, f, r, [a, negated(f, b), 0])),
    ("subrev", |f, r, ([a, b, _], _)| compute(Step::Add, f, r, [b, negated(f, a), 0])),
    ("mul", |f, r, (sources, _)| compute(Step::Multiply, f, r, sources)),
    ("fma", fused),
    ("fmac", fused),
    ("fmaak", fused),
    ("fmamk", fused),
    ("mad", apart),
    ("mac", apart),
    ("madak", apart),
    ("madmk", apart),
    ("ldexp", |f, r, ([a, b, _], _)| scaled(f, r, a, if f == Format::Half { (b as i16).into() } else { b as i32 })),
    ("div_fmas", |f, r, lane| scaled(f, r, fused(f, r, lane), unscaling(f, lane))),
];

fn fused(format: Format, rounding: Rounding, (sources, _): Lane) -> u64 {
    compute(Step::MultiplyAdd, format, rounding, sources)
}

fn apart(format: Format, rounding: Rounding, (sources, _): Lane) -> u64 {
    let product = compute(Step::Multiply, format, rounding, sources);
    compute(Step::Add, format, rounding, [product, sources[2], 0])
}

fn scaled(format: Format, rounding: Rounding, value: u64, power: i32) -> u64 {
    let power = u64::from(power as u32);
    compute(Step::Scale, format, rounding, [value, power, 0])
}

/// The power of two that undoes what `v_div_scale` scaled: the size of the last source says which
/// way that was.
fn unscaling(format: Format, ([_, _, c], scaled): Lane) -> i32 {
    let (step, size) = match format {
        Format::Double => (128, f64::from_bits(c).abs()),
        Format::Single | Format::Half | Format::Brain => {
            (64, f32::from_bits(c as u32).abs().into())
        }
    };
    match scaled {
        false => 0,
        true if size < 2.0 => -step,
        true => step,
    }
}

fn negated(format: Format, value: u64) -> u64 {
    let sign = match format {
        Format::Half | Format::Brain => 15,
        Format::Single => 31,
        Format::Double => 63,
    };
    value ^ 1 << sign
}

/// Conversions that round, by name.
#[rustfmt::skip] // a table
const CONVERTS: &[(&str, Directed)] = &[
    ("v_cvt_f32_f64", |f, r, ([a, ..], _)| convert(Format::Double, f, r, a)),
    ("v_cvt_f16_f32", |f, r, ([a, ..], _)| convert(Format::Single, f, r, a)),
    ("v_cvt_f32_u32", |f, r, ([a, ..], _)| from_integer(f, r, i64::from(a as u32))),
    ("v_cvt_f32_i32", |f, r, ([a, ..], _)| from_integer(f, r, i64::from(a as i32))),
    ("v_cvt_f16_u16", |f, r, ([a, ..], _)| from_integer(f, r, i64::from(a as u16))),
    ("v_cvt_f16_i16", |f, r, ([a, ..], _)| from_integer(f, r, i64::from(a as i16))),
];

/// What does not round, or is an approximation, of the instructions that give a float or take one;
/// as in [`ROUNDS`].
#[rustfmt::skip] // a list
const SAME: &[&str] = &[
    "min", "max", "min_num", "max_num", "minimum", "maximum", "min3", "max3", "min3_num", "max3_num", "med3", "med3_num", "minmax", "maxmin", "minmax_num", "maxmin_num",
    "minimum3", "maximum3", "minimummaximum", "maximumminimum", "trunc", "ceil", "floor", "rndne", "frexp_mant", "div_scale", "div_fixup",
    "rcp", "s_rcp", "rcp_iflag", "rsq", "s_rsq", "sqrt", "s_sqrt", "exp", "s_exp", "log", "s_log", "sin", "cos", "tanh",
];

/// Conversions that do not round, or in one way by definition, by name.
#[rustfmt::skip] // a list
const EXACT: &[&str] = &[
    "v_cvt_f64_f32", "v_cvt_f64_u32", "v_cvt_f64_i32", "v_cvt_f32_f16", "v_cvt_u32_f32", "v_cvt_i32_f32", "v_cvt_u32_f64", "v_cvt_i32_f64", "v_cvt_u16_f16", "v_cvt_i16_f16",
    "v_cvt_f32_fp8:0", "v_cvt_f32_fp8:1", "v_cvt_f32_fp8:2", "v_cvt_f32_fp8:3", "v_cvt_f32_bf8:0", "v_cvt_f32_bf8:1", "v_cvt_f32_bf8:2", "v_cvt_f32_bf8:3",
    "v_cvt_pk_f32_fp8", "v_cvt_pk_f32_bf8", "v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32",
    "v_cvt_f32_ubyte0", "v_cvt_f32_ubyte1", "v_cvt_f32_ubyte2", "v_cvt_f32_ubyte3", "v_cvt_pkrtz_f16_f32", "v_cvt_pk_rtz_f16_f32", "v_frexp_exp_i32_f32", "v_frexp_exp_i32_f64", "v_frexp_exp_i16_f16",
];

/// The rule of a row.
pub(in crate::amdgpu) fn rule(row: &Row) -> Rule {
    let floats = row
        .src
        .iter()
        .chain([&row.dst])
        .any(|ty| ty.sign().is_some());
    let name = row.name;
    let behind_unit = name.strip_prefix("v_").or(name.strip_prefix("s_"));
    let of_one = behind_unit.map_or(name, |name| name.strip_prefix("pk_").unwrap_or(name));
    let stem = of_one.rsplit_once('_').map_or(of_one, |(stem, _)| stem);
    let find = |table: &[(&str, Directed)], name: &str| {
        let row = table.iter().find(|(wanted, _)| *wanted == name);
        row.map(|(_, directed)| *directed)
    };
    let tests = matches!(row.compute, Compute::Test(_));
    if EXACT.contains(&name) || tests || !floats {
        return Rule::Same;
    }
    let format = match row.dst {
        Ty::F16 => Format::Half,
        Ty::F32 => Format::Single,
        Ty::F64 => Format::Double,
        Ty::B16 | Ty::B32 | Ty::B64 => return Rule::Unknown,
    };
    match find(CONVERTS, name).or_else(|| find(ROUNDS, stem)) {
        Some(directed) => Rule::Directed(format, directed),
        None if SAME.contains(&stem) => Rule::Same,
        None => Rule::Unknown,
    }
}

/// In which direction an instruction with this row rounds: two bits for single precision, two for
/// double and half precision, which conversions from and to these obey too (LLVM,
/// `llvm.fptrunc.round`).
pub(in crate::amdgpu) fn direction(row: &Row, mode: u8) -> Rounding {
    let mut types = row.src.iter().chain([&row.dst]);
    let wide = types.any(|ty| matches!(ty, Ty::F16 | Ty::F64));
    match mode >> (if wide { 2 } else { 0 }) & 3 {
        0 => Rounding::Nearest,
        1 => Rounding::Up,
        2 => Rounding::Down,
        _ => Rounding::Zero,
    }
}
