//! The scalar unit. Source: the instruction set manuals of gfx9 to gfx12, chapters SOP1, SOP2, SOPC
//! and SOPK.

use super::float::toward_zero;
use super::integer::sign_run;
use crate::amdgpu::bits::{Row, scalars, tests};
use half::f16;

/// Instructions with a result. The third column says what becomes of the condition code.
#[rustfmt::skip] // a table
pub(in crate::amdgpu) const VALUES: &[Row] = scalars! {
    "s_mov_b32" u32, (a: u32; _) => (a, None);
    "s_mov_b64" u64, (a: u64; _) => (a, None);
    "s_cmov_b32" u32, (a: u32, old: u32; scc) => (if scc { a } else { old }, None);
    "s_cmov_b64" u64, (a: u64, old: u64; scc) => (if scc { a } else { old }, None);
    "s_not_b32" u32, (a: u32; _) => (!a, Some(!a != 0));
    "s_not_b64" u64, (a: u64; _) => (!a, Some(!a != 0));
    "s_brev_b32" u32, (a: u32; _) => (a.reverse_bits(), None);
    "s_brev_b64" u64, (a: u64; _) => (a.reverse_bits(), None);
    "s_abs_i32" i32, (a: i32; _) => (a.wrapping_abs(), Some(a != 0));
    "s_sext_i32_i8" i32, (a: i32; _) => ((a as i8).into(), None);
    "s_sext_i32_i16" i32, (a: i32; _) => ((a as i16).into(), None);
    "s_bcnt1_i32_b32" u32, (a: u32; _) => (a.count_ones(), Some(a != 0));
    "s_bcnt1_i32_b64" u32, (a: u64; _) => (a.count_ones(), Some(a != 0));
    "s_bcnt0_i32_b32" u32, (a: u32; _) => (a.count_zeros(), Some(a != u32::MAX));
    "s_bcnt0_i32_b64" u32, (a: u64; _) => (a.count_zeros(), Some(a != u64::MAX));
    "s_ff1_i32_b32" u32, (a: u32; _) => (if a == 0 { u32::MAX } else { a.trailing_zeros() }, None);
    "s_ctz_i32_b32" u32, (a: u32; _) => (if a == 0 { u32::MAX } else { a.trailing_zeros() }, None);
    "s_ff1_i32_b64" u32, (a: u64; _) => (if a == 0 { u32::MAX } else { a.trailing_zeros() }, None);
    "s_ctz_i32_b64" u32, (a: u64; _) => (if a == 0 { u32::MAX } else { a.trailing_zeros() }, None);
    "s_flbit_i32_b32" u32, (a: u32; _) => (if a == 0 { u32::MAX } else { a.leading_zeros() }, None);
    "s_clz_i32_u32" u32, (a: u32; _) => (if a == 0 { u32::MAX } else { a.leading_zeros() }, None);
    "s_flbit_i32_b64" u32, (a: u64; _) => (if a == 0 { u32::MAX } else { a.leading_zeros() }, None);
    "s_clz_i32_u64" u32, (a: u64; _) => (if a == 0 { u32::MAX } else { a.leading_zeros() }, None);
    "s_flbit_i32" u32, (a: u32; _) => (sign_run(a), None);
    "s_cls_i32" u32, (a: u32; _) => (sign_run(a), None);
    "s_bitset1_b32" u32, (a: u32, old: u32; _) => (old | 1 << (a & 31), None);
    "s_bitset0_b32" u32, (a: u32, old: u32; _) => (old & !(1 << (a & 31)), None);
    "s_add_u32" u32, (a: u32, b: u32; _) => some(a.overflowing_add(b));
    "s_add_co_u32" u32, (a: u32, b: u32; _) => some(a.overflowing_add(b));
    "s_sub_u32" u32, (a: u32, b: u32; _) => some(a.overflowing_sub(b));
    "s_sub_co_u32" u32, (a: u32, b: u32; _) => some(a.overflowing_sub(b));
    "s_addc_u32" u32, (a: u32, b: u32; scc) => some(a.carrying_add(b, scc));
    "s_add_co_ci_u32" u32, (a: u32, b: u32; scc) => some(a.carrying_add(b, scc));
    "s_subb_u32" u32, (a: u32, b: u32; scc) => some(a.borrowing_sub(b, scc));
    "s_sub_co_ci_u32" u32, (a: u32, b: u32; scc) => some(a.borrowing_sub(b, scc));
    "s_add_i32" i32, (a: i32, b: i32; _) => some(a.overflowing_add(b));
    "s_add_co_i32" i32, (a: i32, b: i32; _) => some(a.overflowing_add(b));
    "s_sub_i32" i32, (a: i32, b: i32; _) => some(a.overflowing_sub(b));
    "s_sub_co_i32" i32, (a: i32, b: i32; _) => some(a.overflowing_sub(b));
    "s_absdiff_i32" i32, (a: i32, b: i32; _) => { let d = a.wrapping_sub(b).wrapping_abs(); (d, Some(d != 0)) };
    "s_add_nc_u64" u64, (a: u64, b: u64; _) => (a.wrapping_add(b), None);
    "s_add_u64" u64, (a: u64, b: u64; _) => (a.wrapping_add(b), None);
    "s_sub_nc_u64" u64, (a: u64, b: u64; _) => (a.wrapping_sub(b), None);
    "s_sub_u64" u64, (a: u64, b: u64; _) => (a.wrapping_sub(b), None);
    "s_mul_u64" u64, (a: u64, b: u64; _) => (a.wrapping_mul(b), None);
    "s_mul_i32" u32, (a: u32, b: u32; _) => (a.wrapping_mul(b), None);
    "s_mul_hi_u32" u32, (a: u32, b: u32; _) => (((u64::from(a) * u64::from(b)) >> 32) as u32, None);
    "s_mul_hi_i32" u32, (a: i32, b: i32; _) => (((i64::from(a) * i64::from(b)) >> 32) as u32, None);
    "s_min_u32" u32, (a: u32, b: u32; _) => (a.min(b), Some(a < b));
    "s_max_u32" u32, (a: u32, b: u32; _) => (a.max(b), Some(a > b));
    "s_min_i32" i32, (a: i32, b: i32; _) => (a.min(b), Some(a < b));
    "s_max_i32" i32, (a: i32, b: i32; _) => (a.max(b), Some(a > b));
    "s_cselect_b32" u32, (a: u32, b: u32; scc) => (if scc { a } else { b }, None);
    "s_cselect_b64" u64, (a: u64, b: u64; scc) => (if scc { a } else { b }, None);
    "s_and_b32" u32, (a: u32, b: u32; _) => bits32(a & b);
    "s_or_b32" u32, (a: u32, b: u32; _) => bits32(a | b);
    "s_xor_b32" u32, (a: u32, b: u32; _) => bits32(a ^ b);
    "s_andn2_b32" u32, (a: u32, b: u32; _) => bits32(a & !b);
    "s_and_not1_b32" u32, (a: u32, b: u32; _) => bits32(a & !b);
    "s_orn2_b32" u32, (a: u32, b: u32; _) => bits32(a | !b);
    "s_or_not1_b32" u32, (a: u32, b: u32; _) => bits32(a | !b);
    "s_nand_b32" u32, (a: u32, b: u32; _) => bits32(!(a & b));
    "s_nor_b32" u32, (a: u32, b: u32; _) => bits32(!(a | b));
    "s_xnor_b32" u32, (a: u32, b: u32; _) => bits32(!(a ^ b));
    "s_and_b64" u64, (a: u64, b: u64; _) => bits64(a & b);
    "s_or_b64" u64, (a: u64, b: u64; _) => bits64(a | b);
    "s_xor_b64" u64, (a: u64, b: u64; _) => bits64(a ^ b);
    "s_andn2_b64" u64, (a: u64, b: u64; _) => bits64(a & !b);
    "s_and_not1_b64" u64, (a: u64, b: u64; _) => bits64(a & !b);
    "s_orn2_b64" u64, (a: u64, b: u64; _) => bits64(a | !b);
    "s_or_not1_b64" u64, (a: u64, b: u64; _) => bits64(a | !b);
    "s_nand_b64" u64, (a: u64, b: u64; _) => bits64(!(a & b));
    "s_nor_b64" u64, (a: u64, b: u64; _) => bits64(!(a | b));
    "s_xnor_b64" u64, (a: u64, b: u64; _) => bits64(!(a ^ b));
    "s_lshl_b32" u32, (a: u32, b: u32; _) => bits32(a << (b & 31));
    "s_lshr_b32" u32, (a: u32, b: u32; _) => bits32(a >> (b & 31));
    "s_ashr_i32" i32, (a: i32, b: u32; _) => { let v = a >> (b & 31); (v, Some(v != 0)) };
    "s_lshl_b64" u64, (a: u64, b: u32; _) => bits64(a << (b & 63));
    "s_lshr_b64" u64, (a: u64, b: u32; _) => bits64(a >> (b & 63));
    "s_ashr_i64" i64, (a: i64, b: u32; _) => { let v = a >> (b & 63); (v, Some(v != 0)) };
    "s_lshl1_add_u32" u32, (a: u32, b: u32; _) => shift_add(a, b, 1);
    "s_lshl2_add_u32" u32, (a: u32, b: u32; _) => shift_add(a, b, 2);
    "s_lshl3_add_u32" u32, (a: u32, b: u32; _) => shift_add(a, b, 3);
    "s_lshl4_add_u32" u32, (a: u32, b: u32; _) => shift_add(a, b, 4);
    "s_bfe_u32" u32, (a: u32, b: u32; _) => bits32(field(a.into(), b & 31, b >> 16 & 0x7f) as u32);
    "s_bfe_u64" u64, (a: u64, b: u32; _) => bits64(field(a, b & 63, b >> 16 & 0x7f));
    "s_bfe_i32" u32, (a: u32, b: u32; _) => bits32(extend(field(a.into(), b & 31, b >> 16 & 0x7f), (b >> 16 & 0x7f).min(32 - (b & 31))) as u32);
    "s_bfe_i64" u64, (a: u64, b: u32; _) => bits64(extend(field(a, b & 63, b >> 16 & 0x7f), (b >> 16 & 0x7f).min(64 - (b & 63))));
    "s_bfm_b32" u32, (a: u32, b: u32; _) => (((1 << (a & 31)) - 1) << (b & 31), None);
    "s_bfm_b64" u64, (a: u32, b: u32; _) => (((1 << (a & 63)) - 1) << (b & 63), None);
    "s_pack_ll_b32_b16" u32, (a: u32, b: u32; _) => ((a & 0xffff) | (b << 16), None);
    "s_pack_lh_b32_b16" u32, (a: u32, b: u32; _) => ((a & 0xffff) | (b & 0xffff_0000), None);
    "s_pack_hh_b32_b16" u32, (a: u32, b: u32; _) => ((a >> 16) | (b & 0xffff_0000), None);
    "s_pack_hl_b32_b16" u32, (a: u32, b: u32; _) => ((a >> 16) | (b << 16), None);
    "s_add_f32" f32, (a: f32, b: f32; _) => (a + b, None);
    "s_sub_f32" f32, (a: f32, b: f32; _) => (a - b, None);
    "s_mul_f32" f32, (a: f32, b: f32; _) => (a * b, None);
    "s_min_f32" f32, (a: f32, b: f32; _) => (a.min(b), None);
    "s_max_f32" f32, (a: f32, b: f32; _) => (a.max(b), None);
    "s_min_num_f32" f32, (a: f32, b: f32; _) => (a.min(b), None);
    "s_max_num_f32" f32, (a: f32, b: f32; _) => (a.max(b), None);
    "s_fmac_f32" f32, (a: f32, b: f32, c: f32; _) => (a.mul_add(b, c), None);
    "s_fmaak_f32" f32, (a: f32, b: f32, c: f32; _) => (a.mul_add(b, c), None);
    "s_fmamk_f32" f32, (a: f32, b: f32, c: f32; _) => (a.mul_add(b, c), None);
    "s_ceil_f32" f32, (a: f32; _) => (a.ceil(), None);
    "s_floor_f32" f32, (a: f32; _) => (a.floor(), None);
    "s_trunc_f32" f32, (a: f32; _) => (a.trunc(), None);
    "s_rndne_f32" f32, (a: f32; _) => (a.round_ties_even(), None);
    "s_cvt_f32_i32" f32, (a: i32; _) => (a as f32, None);
    "s_cvt_f32_u32" f32, (a: u32; _) => (a as f32, None);
    "s_cvt_i32_f32" i32, (a: f32; _) => (a as i32, None);
    "s_cvt_u32_f32" u32, (a: f32; _) => (a as u32, None);
    "s_cvt_f32_f16" f32, (a: f16; _) => (a.to_f32(), None);
    "s_cvt_hi_f32_f16" f32, (a: u32; _) => (f16::from_bits((a >> 16) as u16).to_f32(), None);
    "s_cvt_f16_f32" f16, (a: f32; _) => (f16::from_f32(a), None);
    "s_cvt_pk_rtz_f16_f32" u32, (a: f32, b: f32; _) => (u32::from(toward_zero(a)) | u32::from(toward_zero(b)) << 16, None);
    "s_add_f16" f16, (a: f16, b: f16; _) => (f16::from_f64(a.to_f64() + b.to_f64()), None);
    "s_sub_f16" f16, (a: f16, b: f16; _) => (f16::from_f64(a.to_f64() - b.to_f64()), None);
    "s_mul_f16" f16, (a: f16, b: f16; _) => (f16::from_f64(a.to_f64() * b.to_f64()), None);
    "s_fmac_f16" f16, (a: f16, b: f16, c: f16; _) => (f16::from_f64(a.to_f64().mul_add(b.to_f64(), c.to_f64())), None);
    "s_min_f16" f16, (a: f16, b: f16; _) => (f16::from_f32(a.to_f32().min(b.to_f32())), None);
    "s_max_f16" f16, (a: f16, b: f16; _) => (f16::from_f32(a.to_f32().max(b.to_f32())), None);
    "s_min_num_f16" f16, (a: f16, b: f16; _) => (f16::from_f32(a.to_f32().min(b.to_f32())), None);
    "s_max_num_f16" f16, (a: f16, b: f16; _) => (f16::from_f32(a.to_f32().max(b.to_f32())), None);
    "s_ceil_f16" f16, (a: f16; _) => (f16::from_f32(a.to_f32().ceil()), None);
    "s_floor_f16" f16, (a: f16; _) => (f16::from_f32(a.to_f32().floor()), None);
    "s_trunc_f16" f16, (a: f16; _) => (f16::from_f32(a.to_f32().trunc()), None);
    "s_rndne_f16" f16, (a: f16; _) => (f16::from_f32(a.to_f32().round_ties_even()), None);
};

/// Comparisons: they write the condition code alone. Also under the names `s_cmpk_*`. Those of
/// floats are the rows of [`super::compare`].
#[rustfmt::skip] // a table
pub(in crate::amdgpu) const TESTS: &[Row] = tests! {
    "s_cmp_eq_i32" (a: i32, b: i32) => a == b;   "s_cmp_lg_i32" (a: i32, b: i32) => a != b;
    "s_cmp_gt_i32" (a: i32, b: i32) => a > b;    "s_cmp_ge_i32" (a: i32, b: i32) => a >= b;
    "s_cmp_lt_i32" (a: i32, b: i32) => a < b;    "s_cmp_le_i32" (a: i32, b: i32) => a <= b;
    "s_cmp_eq_u32" (a: u32, b: u32) => a == b;   "s_cmp_lg_u32" (a: u32, b: u32) => a != b;
    "s_cmp_gt_u32" (a: u32, b: u32) => a > b;    "s_cmp_ge_u32" (a: u32, b: u32) => a >= b;
    "s_cmp_lt_u32" (a: u32, b: u32) => a < b;    "s_cmp_le_u32" (a: u32, b: u32) => a <= b;
    "s_cmp_eq_u64" (a: u64, b: u64) => a == b;   "s_cmp_lg_u64" (a: u64, b: u64) => a != b;
    "s_bitcmp1_b32" (a: u32, b: u32) => a >> (b & 31) & 1 == 1;
    "s_bitcmp0_b32" (a: u32, b: u32) => a >> (b & 31) & 1 == 0;
    "s_bitcmp1_b64" (a: u64, b: u32) => a >> (b & 63) & 1 == 1;
    "s_bitcmp0_b64" (a: u64, b: u32) => a >> (b & 63) & 1 == 0;
};

/// The new EXEC of a source and the old one.
pub(in crate::amdgpu) type OfExec = fn(u64, u64) -> u64;

/// `s_X_saveexec`: the new EXEC of the source and the old one. Rows by X.
#[rustfmt::skip] // a table
pub(in crate::amdgpu) const SAVE_EXEC: &[(&str, OfExec)] = &[
    ("and", |a, exec| a & exec),
    ("or", |a, exec| a | exec),
    ("xor", |a, exec| a ^ exec),
    ("andn2", |a, exec| a & !exec),
    ("and_not1", |a, exec| a & !exec),
    ("orn2", |a, exec| a | !exec),
    ("or_not1", |a, exec| a | !exec),
    ("nand", |a, exec| !(a & exec)),
    ("nor", |a, exec| !(a | exec)),
    ("xnor", |a, exec| !(a ^ exec)),
    ("andn1", |a, exec| !a & exec),
    ("and_not0", |a, exec| !a & exec),
    ("orn1", |a, exec| !a | exec),
    ("or_not0", |a, exec| !a | exec),
];

fn some<T>((value, out): (T, bool)) -> (T, Option<bool>) {
    (value, Some(out))
}

fn bits32(value: u32) -> (u32, Option<bool>) {
    (value, Some(value != 0))
}

fn bits64(value: u64) -> (u64, Option<bool>) {
    (value, Some(value != 0))
}

fn shift_add(a: u32, b: u32, shift: u32) -> (u32, Option<bool>) {
    let sum = (u64::from(a) << shift) + u64::from(b);
    (sum as u32, Some(sum >> 32 != 0))
}

/// `width` bits of `a` from `offset` (less than 64) on.
fn field(a: u64, offset: u32, width: u32) -> u64 {
    let mask = if width >= 64 {
        u64::MAX
    } else {
        (1 << width) - 1
    };
    (a >> offset) & mask
}

/// `width` bits sign-extended.
fn extend(a: u64, width: u32) -> u64 {
    if width == 0 || width >= 64 {
        return a;
    }
    ((a << (64 - width)) as i64 >> (64 - width)) as u64
}
