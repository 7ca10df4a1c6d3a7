//! Packed instructions (VOP3P): what they do to each half, and those that mix halves. Source: the
//! instruction set manuals, chapter VOP3P.

use super::float::{dot2, halves, maximum, minimum};
use crate::amdgpu::bits::{Row, values};
use half::f16;

/// Instructions that do the same to both 16-bit halves.
#[rustfmt::skip] // a table
pub(in crate::amdgpu) const HALVES: &[Row] = values! {
    "v_pk_add_f16" f16, (a: f16, b: f16) => f16::from_f64(a.to_f64() + b.to_f64());
    "v_pk_mul_f16" f16, (a: f16, b: f16) => f16::from_f64(a.to_f64() * b.to_f64());
    "v_pk_fma_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f64(a.to_f64().mul_add(b.to_f64(), c.to_f64()));
    "v_pk_fmac_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f64(a.to_f64().mul_add(b.to_f64(), c.to_f64()));
    "v_pk_min_f16" f16, (a: f16, b: f16) => f16::from_f32(a.to_f32().min(b.to_f32()));
    "v_pk_max_f16" f16, (a: f16, b: f16) => f16::from_f32(a.to_f32().max(b.to_f32()));
    "v_pk_min_num_f16" f16, (a: f16, b: f16) => f16::from_f32(a.to_f32().min(b.to_f32()));
    "v_pk_max_num_f16" f16, (a: f16, b: f16) => f16::from_f32(a.to_f32().max(b.to_f32()));
    "v_pk_min3_num_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(a.to_f32().min(b.to_f32()).min(c.to_f32()));
    "v_pk_max3_num_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(a.to_f32().max(b.to_f32()).max(c.to_f32()));
    "v_pk_minimum_f16" f16, (a: f16, b: f16) => f16::from_f32(minimum(a.to_f32(), b.to_f32()));
    "v_pk_maximum_f16" f16, (a: f16, b: f16) => f16::from_f32(maximum(a.to_f32(), b.to_f32()));
    "v_pk_minimum3_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(minimum(minimum(a.to_f32(), b.to_f32()), c.to_f32()));
    "v_pk_maximum3_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(maximum(maximum(a.to_f32(), b.to_f32()), c.to_f32()));
    "v_pk_add_u16" u16, (a: u16, b: u16) => a.wrapping_add(b);
    "v_pk_add_i16" u16, (a: u16, b: u16) => a.wrapping_add(b);
    "v_pk_sub_u16" u16, (a: u16, b: u16) => a.wrapping_sub(b);
    "v_pk_sub_i16" u16, (a: u16, b: u16) => a.wrapping_sub(b);
    "v_pk_mul_lo_u16" u16, (a: u16, b: u16) => a.wrapping_mul(b);
    "v_pk_mad_u16" u16, (a: u16, b: u16, c: u16) => a.wrapping_mul(b).wrapping_add(c);
    "v_pk_mad_i16" u16, (a: u16, b: u16, c: u16) => a.wrapping_mul(b).wrapping_add(c);
    "v_pk_min_u16" u16, (a: u16, b: u16) => a.min(b);
    "v_pk_max_u16" u16, (a: u16, b: u16) => a.max(b);
    "v_pk_min_i16" i16, (a: i16, b: i16) => a.min(b);
    "v_pk_max_i16" i16, (a: i16, b: i16) => a.max(b);
    "v_pk_min3_u16" u16, (a: u16, b: u16, c: u16) => a.min(b).min(c);
    "v_pk_max3_u16" u16, (a: u16, b: u16, c: u16) => a.max(b).max(c);
    "v_pk_min3_i16" i16, (a: i16, b: i16, c: i16) => a.min(b).min(c);
    "v_pk_max3_i16" i16, (a: i16, b: i16, c: i16) => a.max(b).max(c);
    "v_pk_lshlrev_b16" u16, (a: u16, b: u16) => b << (a & 15);
    "v_pk_lshrrev_b16" u16, (a: u16, b: u16) => b >> (a & 15);
    "v_pk_ashrrev_i16" i16, (a: u16, b: i16) => b >> (a & 15);
};

/// Instructions that do the same to both registers of a pair.
#[rustfmt::skip] // a table
pub(in crate::amdgpu) const PAIRS: &[Row] = values! {
    "v_pk_fma_f32" f32, (a: f32, b: f32, c: f32) => a.mul_add(b, c);
    "v_pk_mul_f32" f32, (a: f32, b: f32) => a * b;
    "v_pk_add_f32" f32, (a: f32, b: f32) => a + b;
    "v_pk_mov_b32" u32, (a: u32, _b: u32) => a;
};

/// Dot products: sources of packed elements, a sum of 32 bits.
#[rustfmt::skip] // a table
pub(in crate::amdgpu) const DOTS: &[Row] = values! {
    "v_dot2_f32_f16" f32, (a: u32, b: u32, c: f32) => dot2(a, b, c);
    "v_dot2_f32_bf16" f32, (a: u32, b: u32, c: f32) => {
        let part = |x: u32, shift: u32| f64::from(f32::from_bits((x >> shift) << 16));
        (part(a, 0) * part(b, 0) + part(a, 16) * part(b, 16) + f64::from(c)) as f32
    };
    "v_dot2_f16_f16" f16, (a: u32, b: u32, c: f16) => {
        let (a, b) = (halves(a), halves(b));
        f16::from_f64(a[0] * b[0] + a[1] * b[1] + c.to_f64())
    };
    "v_dot2_u32_u16" u32, (a: u32, b: u32, c: u32) => (a & 0xffff).wrapping_mul(b & 0xffff).wrapping_add((a >> 16).wrapping_mul(b >> 16)).wrapping_add(c);
    "v_dot2_i32_i16" i32, (a: u32, b: u32, c: i32) => {
        let part = |shift: u32| i32::from((a >> shift) as i16).wrapping_mul(((b >> shift) as i16).into());
        part(0).wrapping_add(part(16)).wrapping_add(c)
    };
    "v_dot4_u32_u8" u32, (a: u32, b: u32, c: u32) => dot4(bytes(a), bytes(b), c.into()) as u32;
    "v_dot4_i32_i8" i32, (a: u32, b: u32, c: i32) => dot4(bytes(a).map(wrap), bytes(b).map(wrap), c.into()) as i32;
    "v_dot4c_i32_i8" i32, (a: u32, b: u32, c: i32) => dot4(bytes(a).map(wrap), bytes(b).map(wrap), c.into()) as i32;
    // With a number for its `neg_lo`: which of the factors have signs.
    "v_dot4_i32_iu8:0" i32, (a: u32, b: u32, c: i32) => dot4(bytes(a), bytes(b), c.into()) as i32;
    "v_dot4_i32_iu8:1" i32, (a: u32, b: u32, c: i32) => dot4(bytes(a).map(wrap), bytes(b), c.into()) as i32;
    "v_dot4_i32_iu8:2" i32, (a: u32, b: u32, c: i32) => dot4(bytes(a), bytes(b).map(wrap), c.into()) as i32;
    "v_dot4_i32_iu8:3" i32, (a: u32, b: u32, c: i32) => dot4(bytes(a).map(wrap), bytes(b).map(wrap), c.into()) as i32;
};

/// The bytes of a register as numbers without a sign.
pub(super) fn bytes(register: u32) -> [i64; 4] {
    register.to_le_bytes().map(i64::from)
}

/// A byte read as a number with a sign.
pub(super) fn wrap(byte: i64) -> i64 {
    i64::from(byte as i8)
}

/// The sum of four products and `sum`, exact.
pub(super) fn dot4(a: [i64; 4], b: [i64; 4], sum: i64) -> i64 {
    a.iter().zip(b).fold(sum, |sum, (a, b)| sum + a * b)
}
