//! Vector instructions on integers. Source: the instruction set manuals of gfx9 to gfx12 (chapter
//! "Instructions", VOP1, VOP2, VOP3).

use crate::amdgpu::bits::{Row, carries, values};

/// Instructions that give a value.
#[rustfmt::skip] // a table
pub(in crate::amdgpu) const VALUES: &[Row] = values! {
    "v_mov_b32" u32, (a: u32) => a;
    "v_mov_b16" u16, (a: u16) => a;
    "v_mov_b64" u64, (a: u64) => a;
    "v_accvgpr_read_b32" u32, (a: u32) => a;
    "v_accvgpr_write_b32" u32, (a: u32) => a;
    "v_accvgpr_mov_b32" u32, (a: u32) => a;
    "v_not_b32" u32, (a: u32) => !a;
    "v_not_b16" u16, (a: u16) => !a;
    "v_bfrev_b32" u32, (a: u32) => a.reverse_bits();
    "v_ffbh_u32" u32, (a: u32) => if a == 0 { u32::MAX } else { a.leading_zeros() };
    "v_clz_i32_u32" u32, (a: u32) => if a == 0 { u32::MAX } else { a.leading_zeros() };
    "v_ffbl_b32" u32, (a: u32) => if a == 0 { u32::MAX } else { a.trailing_zeros() };
    "v_ctz_i32_b32" u32, (a: u32) => if a == 0 { u32::MAX } else { a.trailing_zeros() };
    "v_ffbh_i32" u32, (a: u32) => sign_run(a);
    "v_cls_i32" u32, (a: u32) => sign_run(a);
    "v_bcnt_u32_b32" u32, (a: u32, b: u32) => a.count_ones().wrapping_add(b);
    "v_and_b32" u32, (a: u32, b: u32) => a & b;
    "v_or_b32" u32, (a: u32, b: u32) => a | b;
    "v_xor_b32" u32, (a: u32, b: u32) => a ^ b;
    "v_xnor_b32" u32, (a: u32, b: u32) => !(a ^ b);
    "v_and_b16" u16, (a: u16, b: u16) => a & b;
    "v_or_b16" u16, (a: u16, b: u16) => a | b;
    "v_xor_b16" u16, (a: u16, b: u16) => a ^ b;
    "v_add_u32" u32, (a: u32, b: u32) => a.wrapping_add(b);
    "v_add_nc_u32" u32, (a: u32, b: u32) => a.wrapping_add(b);
    "v_add_nc_i32" u32, (a: u32, b: u32) => a.wrapping_add(b);
    "v_add_i32" u32, (a: u32, b: u32) => a.wrapping_add(b);
    "v_sub_u32" u32, (a: u32, b: u32) => a.wrapping_sub(b);
    "v_sub_nc_u32" u32, (a: u32, b: u32) => a.wrapping_sub(b);
    "v_sub_nc_i32" u32, (a: u32, b: u32) => a.wrapping_sub(b);
    "v_sub_i32" u32, (a: u32, b: u32) => a.wrapping_sub(b);
    "v_subrev_u32" u32, (a: u32, b: u32) => b.wrapping_sub(a);
    "v_subrev_nc_u32" u32, (a: u32, b: u32) => b.wrapping_sub(a);
    "v_add_u16" u16, (a: u16, b: u16) => a.wrapping_add(b);
    "v_add_nc_u16" u16, (a: u16, b: u16) => a.wrapping_add(b);
    "v_add_nc_i16" u16, (a: u16, b: u16) => a.wrapping_add(b);
    "v_add_i16" u16, (a: u16, b: u16) => a.wrapping_add(b);
    "v_sub_u16" u16, (a: u16, b: u16) => a.wrapping_sub(b);
    "v_sub_nc_u16" u16, (a: u16, b: u16) => a.wrapping_sub(b);
    "v_sub_nc_i16" u16, (a: u16, b: u16) => a.wrapping_sub(b);
    "v_sub_i16" u16, (a: u16, b: u16) => a.wrapping_sub(b);
    "v_subrev_u16" u16, (a: u16, b: u16) => b.wrapping_sub(a);
    "v_mad_legacy_u16" u16, (a: u16, b: u16, c: u16) => a.wrapping_mul(b).wrapping_add(c);
    "v_mad_legacy_i16" u16, (a: u16, b: u16, c: u16) => a.wrapping_mul(b).wrapping_add(c);
    "v_mul_lo_u16" u16, (a: u16, b: u16) => a.wrapping_mul(b);
    "v_mad_u16" u16, (a: u16, b: u16, c: u16) => a.wrapping_mul(b).wrapping_add(c);
    "v_mad_i16" u16, (a: u16, b: u16, c: u16) => a.wrapping_mul(b).wrapping_add(c);
    "v_add_nc_u64" u64, (a: u64, b: u64) => a.wrapping_add(b);
    "v_add_u64" u64, (a: u64, b: u64) => a.wrapping_add(b);
    "v_sub_nc_u64" u64, (a: u64, b: u64) => a.wrapping_sub(b);
    "v_sub_u64" u64, (a: u64, b: u64) => a.wrapping_sub(b);
    "v_mul_u64" u64, (a: u64, b: u64) => a.wrapping_mul(b);
    "v_min_u64" u64, (a: u64, b: u64) => a.min(b);
    "v_max_u64" u64, (a: u64, b: u64) => a.max(b);
    "v_min_i64" i64, (a: i64, b: i64) => a.min(b);
    "v_max_i64" i64, (a: i64, b: i64) => a.max(b);
    "v_lshlrev_b32" u32, (a: u32, b: u32) => b << (a & 31);
    "v_lshrrev_b32" u32, (a: u32, b: u32) => b >> (a & 31);
    "v_ashrrev_i32" i32, (a: u32, b: i32) => b >> (a & 31);
    "v_lshlrev_b16" u16, (a: u16, b: u16) => b << (a & 15);
    "v_lshrrev_b16" u16, (a: u16, b: u16) => b >> (a & 15);
    "v_ashrrev_i16" i16, (a: u16, b: i16) => b >> (a & 15);
    "v_lshlrev_b64" u64, (a: u32, b: u64) => b << (a & 63);
    "v_lshrrev_b64" u64, (a: u32, b: u64) => b >> (a & 63);
    "v_ashrrev_i64" i64, (a: u32, b: i64) => b >> (a & 63);
    "v_mul_lo_u32" u32, (a: u32, b: u32) => a.wrapping_mul(b);
    "v_mul_hi_u32" u32, (a: u32, b: u32) => ((u64::from(a) * u64::from(b)) >> 32) as u32;
    "v_mul_hi_i32" u32, (a: i32, b: i32) => ((i64::from(a) * i64::from(b)) >> 32) as u32;
    "v_mul_u32_u24" u32, (a: u32, b: u32) => (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff);
    "v_mul_i32_i24" i32, (a: i32, b: i32) => (a << 8 >> 8).wrapping_mul(b << 8 >> 8);
    "v_mul_hi_u32_u24" u32, (a: u32, b: u32) => ((u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)) >> 32) as u32;
    "v_mul_hi_i32_i24" u32, (a: i32, b: i32) => ((i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)) >> 32) as u32;
    "v_mad_u32_u24" u32, (a: u32, b: u32, c: u32) => (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff).wrapping_add(c);
    "v_mad_i32_i24" i32, (a: i32, b: i32, c: i32) => (a << 8 >> 8).wrapping_mul(b << 8 >> 8).wrapping_add(c);
    "v_mad_u32" u32, (a: u32, b: u32, c: u32) => a.wrapping_mul(b).wrapping_add(c);
    "v_mad_u32_u16" u32, (a: u16, b: u16, c: u32) => u32::from(a).wrapping_mul(b.into()).wrapping_add(c);
    "v_mad_i32_i16" i32, (a: i16, b: i16, c: i32) => i32::from(a).wrapping_mul(b.into()).wrapping_add(c);
    "v_mad_nc_u64_u32" u64, (a: u32, b: u32, c: u64) => (u64::from(a) * u64::from(b)).wrapping_add(c);
    "v_mad_nc_i64_i32" i64, (a: i32, b: i32, c: i64) => (i64::from(a) * i64::from(b)).wrapping_add(c);
    "v_min_u32" u32, (a: u32, b: u32) => a.min(b);
    "v_max_u32" u32, (a: u32, b: u32) => a.max(b);
    "v_min_i32" i32, (a: i32, b: i32) => a.min(b);
    "v_max_i32" i32, (a: i32, b: i32) => a.max(b);
    "v_min_u16" u16, (a: u16, b: u16) => a.min(b);
    "v_max_u16" u16, (a: u16, b: u16) => a.max(b);
    "v_min_i16" i16, (a: i16, b: i16) => a.min(b);
    "v_max_i16" i16, (a: i16, b: i16) => a.max(b);
    "v_min3_u32" u32, (a: u32, b: u32, c: u32) => a.min(b).min(c);
    "v_max3_u32" u32, (a: u32, b: u32, c: u32) => a.max(b).max(c);
    "v_min3_i32" i32, (a: i32, b: i32, c: i32) => a.min(b).min(c);
    "v_max3_i32" i32, (a: i32, b: i32, c: i32) => a.max(b).max(c);
    "v_med3_u32" u32, (a: u32, b: u32, c: u32) => a.max(b).min(a.min(b).max(c));
    "v_med3_i32" i32, (a: i32, b: i32, c: i32) => a.max(b).min(a.min(b).max(c));
    "v_med3_u16" u16, (a: u16, b: u16, c: u16) => a.max(b).min(a.min(b).max(c));
    "v_med3_i16" i16, (a: i16, b: i16, c: i16) => a.max(b).min(a.min(b).max(c));
    "v_min3_u16" u16, (a: u16, b: u16, c: u16) => a.min(b).min(c);
    "v_max3_u16" u16, (a: u16, b: u16, c: u16) => a.max(b).max(c);
    "v_min3_i16" i16, (a: i16, b: i16, c: i16) => a.min(b).min(c);
    "v_max3_i16" i16, (a: i16, b: i16, c: i16) => a.max(b).max(c);
    "v_minmax_u32" u32, (a: u32, b: u32, c: u32) => a.min(b).max(c);
    "v_maxmin_u32" u32, (a: u32, b: u32, c: u32) => a.max(b).min(c);
    "v_minmax_i32" i32, (a: i32, b: i32, c: i32) => a.min(b).max(c);
    "v_maxmin_i32" i32, (a: i32, b: i32, c: i32) => a.max(b).min(c);
    "v_sad_u32" u32, (a: u32, b: u32, c: u32) => a.abs_diff(b).wrapping_add(c);
    "v_lshl_add_u32" u32, (a: u32, b: u32, c: u32) => (a << (b & 31)).wrapping_add(c);
    "v_add_lshl_u32" u32, (a: u32, b: u32, c: u32) => a.wrapping_add(b) << (c & 31);
    "v_lshl_or_b32" u32, (a: u32, b: u32, c: u32) => (a << (b & 31)) | c;
    "v_and_or_b32" u32, (a: u32, b: u32, c: u32) => (a & b) | c;
    "v_or3_b32" u32, (a: u32, b: u32, c: u32) => a | b | c;
    "v_xor3_b32" u32, (a: u32, b: u32, c: u32) => a ^ b ^ c;
    "v_xad_u32" u32, (a: u32, b: u32, c: u32) => (a ^ b).wrapping_add(c);
    "v_add3_u32" u32, (a: u32, b: u32, c: u32) => a.wrapping_add(b).wrapping_add(c);
    "v_lshl_add_u64" u64, (a: u64, b: u32, c: u64) => (a << (b & 63)).wrapping_add(c);
    "v_bfe_u32" u32, (a: u32, b: u32, c: u32) => (a >> (b & 31)) & ((1 << (c & 31)) - 1);
    "v_bfe_i32" i32, (a: i32, b: u32, c: u32) => extract_signed(a, b, c);
    "v_bfi_b32" u32, (a: u32, b: u32, c: u32) => (a & b) | (!a & c);
    "v_bfm_b32" u32, (a: u32, b: u32) => ((1 << (a & 31)) - 1) << (b & 31);
    "v_alignbit_b32" u32, (a: u32, b: u32, c: u32) => (((u64::from(a) << 32) | u64::from(b)) >> (c & 31)) as u32;
    "v_alignbyte_b32" u32, (a: u32, b: u32, c: u32) => (((u64::from(a) << 32) | u64::from(b)) >> (8 * (c & 3))) as u32;
    "v_perm_b32" u32, (a: u32, b: u32, c: u32) => permute(a, b, c);
    "v_sat_pk_u8_i16" u16, (a: u32) => {
        let byte = |half: u32| (half as u16 as i16).clamp(0, 255) as u16;
        byte(a) | (byte(a >> 16) << 8)
    };
    "v_pack_b32_f16" u32, (a: u16, b: u16) => u32::from(a) | (u32::from(b) << 16);
};

/// Instructions with a carry: a mask in, a mask out. Those that take none in ignore it.
#[rustfmt::skip] // a table
pub(in crate::amdgpu) const CARRIES: &[Row] = carries! {
    "v_add_co_u32" u32, (a: u32, b: u32; _) => a.overflowing_add(b);
    "v_sub_co_u32" u32, (a: u32, b: u32; _) => a.overflowing_sub(b);
    "v_subrev_co_u32" u32, (a: u32, b: u32; _) => b.overflowing_sub(a);
    "v_addc_co_u32" u32, (a: u32, b: u32; carry) => a.carrying_add(b, carry);
    "v_add_co_ci_u32" u32, (a: u32, b: u32; carry) => a.carrying_add(b, carry);
    "v_subb_co_u32" u32, (a: u32, b: u32; borrow) => a.borrowing_sub(b, borrow);
    "v_sub_co_ci_u32" u32, (a: u32, b: u32; borrow) => a.borrowing_sub(b, borrow);
    "v_subbrev_co_u32" u32, (a: u32, b: u32; borrow) => b.borrowing_sub(a, borrow);
    "v_subrev_co_ci_u32" u32, (a: u32, b: u32; borrow) => b.borrowing_sub(a, borrow);
    "v_mad_u64_u32" u64, (a: u32, b: u32, c: u64; _) => (u64::from(a) * u64::from(b)).overflowing_add(c);
    "v_mad_co_u64_u32" u64, (a: u32, b: u32, c: u64; _) => (u64::from(a) * u64::from(b)).overflowing_add(c);
    "v_mad_i64_i32" i64, (a: i32, b: i32, c: i64; _) => (i64::from(a) * i64::from(b)).overflowing_add(c);
    "v_mad_co_i64_i32" i64, (a: i32, b: i32, c: i64; _) => (i64::from(a) * i64::from(b)).overflowing_add(c);
};

/// Instructions that choose by a mask.
#[rustfmt::skip] // a table
pub(in crate::amdgpu) const SELECTS: &[Row] = carries! {
    "v_cndmask_b32" u32, (a: u32, b: u32; second) => (if second { b } else { a }, false);
    "v_cndmask_b16" u16, (a: u16, b: u16; second) => (if second { b } else { a }, false);
};

/// How many bits below the sign bit equal it; -1 when all do.
pub(super) fn sign_run(a: u32) -> u32 {
    let run = (if a >> 31 == 1 { !a } else { a }).leading_zeros();
    if run == 32 { u32::MAX } else { run }
}

fn extract_signed(a: i32, offset: u32, width: u32) -> i32 {
    let width = width & 31;
    if width == 0 {
        return 0;
    }
    let shifted = a >> (offset & 31);
    shifted << (32 - width) >> (32 - width)
}

/// Each byte of `c` chooses a byte of `a:b`, a sign, 0 or 255.
fn permute(a: u32, b: u32, c: u32) -> u32 {
    let bytes = (u64::from(a) << 32) | u64::from(b);
    let byte = |select: u32| match select & 0xff {
        n @ 0..=7 => (bytes >> (8 * n)) as u8,
        n @ 8..=11 => (((bytes >> (16 * (n - 8) + 15)) & 1) as u8) * 0xff,
        12 => 0,
        _ => 0xff,
    };
    u32::from_le_bytes([byte(c), byte(c >> 8), byte(c >> 16), byte(c >> 24)])
}
