//! The tests of `v_cmp_*` and `v_cmpx_*`, and on floats of `s_cmp_*`: rows by the rest of the name.
//! Source: the instruction set manuals, chapters VOPC and SOPC.

use crate::amdgpu::bits::{Row, tests};
use half::f16;

/// The row of this name.
pub(in crate::amdgpu) fn find(name: &str) -> Option<&'static Row> {
    TESTS.iter().find(|row| row.name == name)
}

#[rustfmt::skip] // a table
const TESTS: &[Row] = tests! {
    "lt_u32" (a: u32, b: u32) => a < b;   "le_u32" (a: u32, b: u32) => a <= b;  "gt_u32" (a: u32, b: u32) => a > b;
    "ge_u32" (a: u32, b: u32) => a >= b;  "eq_u32" (a: u32, b: u32) => a == b;  "ne_u32" (a: u32, b: u32) => a != b;
    "lt_i32" (a: i32, b: i32) => a < b;   "le_i32" (a: i32, b: i32) => a <= b;  "gt_i32" (a: i32, b: i32) => a > b;
    "ge_i32" (a: i32, b: i32) => a >= b;  "eq_i32" (a: i32, b: i32) => a == b;  "ne_i32" (a: i32, b: i32) => a != b;
    "lt_u16" (a: u16, b: u16) => a < b;   "le_u16" (a: u16, b: u16) => a <= b;  "gt_u16" (a: u16, b: u16) => a > b;
    "ge_u16" (a: u16, b: u16) => a >= b;  "eq_u16" (a: u16, b: u16) => a == b;  "ne_u16" (a: u16, b: u16) => a != b;
    "lt_i16" (a: i16, b: i16) => a < b;   "le_i16" (a: i16, b: i16) => a <= b;  "gt_i16" (a: i16, b: i16) => a > b;
    "ge_i16" (a: i16, b: i16) => a >= b;  "eq_i16" (a: i16, b: i16) => a == b;  "ne_i16" (a: i16, b: i16) => a != b;
    "lt_u64" (a: u64, b: u64) => a < b;   "le_u64" (a: u64, b: u64) => a <= b;  "gt_u64" (a: u64, b: u64) => a > b;
    "ge_u64" (a: u64, b: u64) => a >= b;  "eq_u64" (a: u64, b: u64) => a == b;  "ne_u64" (a: u64, b: u64) => a != b;
    "lt_i64" (a: i64, b: i64) => a < b;   "le_i64" (a: i64, b: i64) => a <= b;  "gt_i64" (a: i64, b: i64) => a > b;
    "ge_i64" (a: i64, b: i64) => a >= b;  "eq_i64" (a: i64, b: i64) => a == b;  "ne_i64" (a: i64, b: i64) => a != b;
    "lt_f32" (a: f32, b: f32) => a < b;   "le_f32" (a: f32, b: f32) => a <= b;  "gt_f32" (a: f32, b: f32) => a > b;
    "ge_f32" (a: f32, b: f32) => a >= b;  "eq_f32" (a: f32, b: f32) => a == b;  "lg_f32" (a: f32, b: f32) => apart(&a, &b);
    "nlt_f32" (a: f32, b: f32) => !matches(a < b); "nle_f32" (a: f32, b: f32) => !matches(a <= b); "ngt_f32" (a: f32, b: f32) => !matches(a > b);
    "nge_f32" (a: f32, b: f32) => !matches(a >= b); "neq_f32" (a: f32, b: f32) => a != b; "nlg_f32" (a: f32, b: f32) => !apart(&a, &b);
    "o_f32" (a: f32, b: f32) => !a.is_nan() && !b.is_nan();  "u_f32" (a: f32, b: f32) => a.is_nan() || b.is_nan();
    "lt_f64" (a: f64, b: f64) => a < b;   "le_f64" (a: f64, b: f64) => a <= b;  "gt_f64" (a: f64, b: f64) => a > b;
    "ge_f64" (a: f64, b: f64) => a >= b;  "eq_f64" (a: f64, b: f64) => a == b;  "lg_f64" (a: f64, b: f64) => apart(&a, &b);
    "nlt_f64" (a: f64, b: f64) => !matches(a < b); "nle_f64" (a: f64, b: f64) => !matches(a <= b); "ngt_f64" (a: f64, b: f64) => !matches(a > b);
    "nge_f64" (a: f64, b: f64) => !matches(a >= b); "neq_f64" (a: f64, b: f64) => a != b; "nlg_f64" (a: f64, b: f64) => !apart(&a, &b);
    "o_f64" (a: f64, b: f64) => !a.is_nan() && !b.is_nan();  "u_f64" (a: f64, b: f64) => a.is_nan() || b.is_nan();
    "lt_f16" (a: f16, b: f16) => a < b;   "le_f16" (a: f16, b: f16) => a <= b;  "gt_f16" (a: f16, b: f16) => a > b;
    "ge_f16" (a: f16, b: f16) => a >= b;  "eq_f16" (a: f16, b: f16) => a == b;  "lg_f16" (a: f16, b: f16) => apart(&a, &b);
    "nlt_f16" (a: f16, b: f16) => !matches(a < b); "nle_f16" (a: f16, b: f16) => !matches(a <= b); "ngt_f16" (a: f16, b: f16) => !matches(a > b);
    "nge_f16" (a: f16, b: f16) => !matches(a >= b); "neq_f16" (a: f16, b: f16) => a != b; "nlg_f16" (a: f16, b: f16) => !apart(&a, &b);
    "o_f16" (a: f16, b: f16) => !a.is_nan() && !b.is_nan();  "u_f16" (a: f16, b: f16) => a.is_nan() || b.is_nan();
    "class_f32" (a: f32, b: u32) => class(a.is_nan(), quiet(a.to_bits().into(), 22), a.is_infinite(), a.is_subnormal(), a == 0.0, a.is_sign_negative(), b);
    "class_f64" (a: f64, b: u32) => class(a.is_nan(), quiet(a.to_bits(), 51), a.is_infinite(), a.is_subnormal(), a == 0.0, a.is_sign_negative(), b);
    "class_f16" (a: f16, b: u32) => class(a.is_nan(), quiet(a.to_bits().into(), 9), a.is_infinite(), !a.is_normal() && a.is_finite() && a != f16::ZERO,
        a == f16::ZERO, a.is_sign_negative(), b);
};

/// Less or greater: NaN is neither.
fn apart<T: PartialOrd>(a: &T, b: &T) -> bool {
    a.partial_cmp(b).is_some_and(std::cmp::Ordering::is_ne)
}

/// A comparison whose opposite is not the opposite comparison: NaN is neither.
fn matches(ordered: bool) -> bool {
    ordered
}

fn quiet(bits: u64, bit: u32) -> bool {
    bits >> bit & 1 == 1
}

/// Whether the mask has the bit of the float's class: signaling NaN, quiet NaN, then -inf, -normal,
/// -subnormal, -0, +0, +subnormal, +normal, +inf.
fn class(
    nan: bool,
    quiet: bool,
    infinite: bool,
    subnormal: bool,
    zero: bool,
    negative: bool,
    mask: u32,
) -> bool {
    let bit = if nan {
        u32::from(quiet)
    } else {
        let outward = if infinite {
            0
        } else if subnormal {
            2
        } else if zero {
            3
        } else {
            1
        };
        if negative { 2 + outward } else { 9 - outward }
    };
    mask >> bit & 1 == 1
}
