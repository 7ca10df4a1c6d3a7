//! Vector instructions on floats of 16, 32 and 64 bits. Source: the instruction set manuals of gfx9
//! to gfx12. Where hardware gives one unit in the last place of freedom (reciprocal, roots,
//! exponentials, sines), the value is the correctly rounded one.

use crate::amdgpu::bits::{Row, carries, values};
use crate::sampler::{face_components, face_number};
use half::f16;

/// Instructions that give a value.
#[rustfmt::skip] // a table
pub(in crate::amdgpu) const VALUES: &[Row] = values! {
    "v_add_f32" f32, (a: f32, b: f32) => a + b;
    "v_sub_f32" f32, (a: f32, b: f32) => a - b;
    "v_subrev_f32" f32, (a: f32, b: f32) => b - a;
    "v_mul_f32" f32, (a: f32, b: f32) => a * b;
    "v_mul_legacy_f32" f32, (a: f32, b: f32) => legacy(a, b);
    "v_mul_dx9_zero_f32" f32, (a: f32, b: f32) => legacy(a, b);
    "v_fma_f32" f32, (a: f32, b: f32, c: f32) => a.mul_add(b, c);
    "v_fmac_f32" f32, (a: f32, b: f32, c: f32) => a.mul_add(b, c);
    "v_fmaak_f32" f32, (a: f32, b: f32, c: f32) => a.mul_add(b, c);
    "v_fmamk_f32" f32, (a: f32, b: f32, c: f32) => a.mul_add(b, c);
    "v_mad_f32" f32, (a: f32, b: f32, c: f32) => a * b + c;
    "v_mac_f32" f32, (a: f32, b: f32, c: f32) => a * b + c;
    "v_madak_f32" f32, (a: f32, b: f32, c: f32) => a * b + c;
    "v_madmk_f32" f32, (a: f32, b: f32, c: f32) => a * b + c;
    "v_min_f32" f32, (a: f32, b: f32) => a.min(b);
    "v_max_f32" f32, (a: f32, b: f32) => a.max(b);
    "v_min_num_f32" f32, (a: f32, b: f32) => a.min(b);
    "v_max_num_f32" f32, (a: f32, b: f32) => a.max(b);
    "v_minimum_f32" f32, (a: f32, b: f32) => minimum(a, b);
    "v_maximum_f32" f32, (a: f32, b: f32) => maximum(a, b);
    "v_minimum3_f32" f32, (a: f32, b: f32, c: f32) => minimum(minimum(a, b), c);
    "v_maximum3_f32" f32, (a: f32, b: f32, c: f32) => maximum(maximum(a, b), c);
    "v_minimummaximum_f32" f32, (a: f32, b: f32, c: f32) => maximum(minimum(a, b), c);
    "v_maximumminimum_f32" f32, (a: f32, b: f32, c: f32) => minimum(maximum(a, b), c);
    "v_min3_f32" f32, (a: f32, b: f32, c: f32) => a.min(b).min(c);
    "v_max3_f32" f32, (a: f32, b: f32, c: f32) => a.max(b).max(c);
    "v_min3_num_f32" f32, (a: f32, b: f32, c: f32) => a.min(b).min(c);
    "v_max3_num_f32" f32, (a: f32, b: f32, c: f32) => a.max(b).max(c);
    "v_med3_f32" f32, (a: f32, b: f32, c: f32) => median(a, b, c);
    "v_med3_num_f32" f32, (a: f32, b: f32, c: f32) => median(a, b, c);
    "v_minmax_f32" f32, (a: f32, b: f32, c: f32) => a.min(b).max(c);
    "v_maxmin_f32" f32, (a: f32, b: f32, c: f32) => a.max(b).min(c);
    "v_minmax_num_f32" f32, (a: f32, b: f32, c: f32) => a.min(b).max(c);
    "v_maxmin_num_f32" f32, (a: f32, b: f32, c: f32) => a.max(b).min(c);
    "v_cubeid_f32" f32, (a: f32, b: f32, c: f32) => face_number([a, b, c]) as f32;
    "v_cubesc_f32" f32, (a: f32, b: f32, c: f32) => on_face(a, b, c)[0];
    "v_cubetc_f32" f32, (a: f32, b: f32, c: f32) => on_face(a, b, c)[1];
    "v_cubema_f32" f32, (a: f32, b: f32, c: f32) => 2.0 * axis(a, b, c);
    "v_rcp_f32" f32, (a: f32) => 1.0 / a;
    "v_s_rcp_f32" f32, (a: f32) => 1.0 / a;
    "v_rcp_iflag_f32" f32, (a: f32) => 1.0 / a;
    "v_rsq_f32" f32, (a: f32) => (1.0 / f64::from(a).sqrt()) as f32;
    "v_s_rsq_f32" f32, (a: f32) => (1.0 / f64::from(a).sqrt()) as f32;
    "v_sqrt_f32" f32, (a: f32) => a.sqrt();
    "v_s_sqrt_f32" f32, (a: f32) => a.sqrt();
    "v_exp_f32" f32, (a: f32) => f64::from(a).exp2() as f32;
    "v_s_exp_f32" f32, (a: f32) => f64::from(a).exp2() as f32;
    "v_log_f32" f32, (a: f32) => f64::from(a).log2() as f32;
    "v_s_log_f32" f32, (a: f32) => f64::from(a).log2() as f32;
    "v_sin_f32" f32, (a: f32) => (f64::from(a) * std::f64::consts::TAU).sin() as f32;
    "v_cos_f32" f32, (a: f32) => (f64::from(a) * std::f64::consts::TAU).cos() as f32;
    "v_tanh_f32" f32, (a: f32) => f64::from(a).tanh() as f32;
    "v_fract_f32" f32, (a: f32) => fraction(a.into(), 24) as f32;
    "v_trunc_f32" f32, (a: f32) => a.trunc();
    "v_ceil_f32" f32, (a: f32) => a.ceil();
    "v_floor_f32" f32, (a: f32) => a.floor();
    "v_rndne_f32" f32, (a: f32) => a.round_ties_even();
    "v_ldexp_f32" f32, (a: f32, b: i32) => scale(a.into(), b) as f32;
    "v_frexp_mant_f32" f32, (a: f32) => split(a.into()).0 as f32;
    "v_frexp_exp_i32_f32" i32, (a: f32) => split(a.into()).1;
    "v_div_fixup_f32" f32, (a: f32, b: f32, c: f32) => fixup(a.into(), b.into(), c.into(), f32::NAN.into()) as f32;
    "v_div_fixup_f64" f64, (a: f64, b: f64, c: f64) => fixup(a, b, c, f64::NAN);
    "v_div_fixup_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f64(fixup(a.to_f64(), b.to_f64(), c.to_f64(), f64::NAN));
    "v_cvt_f32_u32" f32, (a: u32) => a as f32;
    "v_cvt_f32_i32" f32, (a: i32) => a as f32;
    "v_cvt_u32_f32" u32, (a: f32) => a as u32;
    "v_cvt_i32_f32" i32, (a: f32) => a as i32;
    "v_cvt_rpi_i32_f32" i32, (a: f32) => (a + 0.5).floor() as i32;
    "v_cvt_nearest_i32_f32" i32, (a: f32) => (a + 0.5).floor() as i32;
    "v_cvt_flr_i32_f32" i32, (a: f32) => a.floor() as i32;
    "v_cvt_floor_i32_f32" i32, (a: f32) => a.floor() as i32;
    "v_cvt_f32_ubyte0" f32, (a: u32) => (a & 0xff) as f32;
    "v_cvt_f32_ubyte1" f32, (a: u32) => (a >> 8 & 0xff) as f32;
    "v_cvt_f32_ubyte2" f32, (a: u32) => (a >> 16 & 0xff) as f32;
    "v_cvt_f32_ubyte3" f32, (a: u32) => (a >> 24) as f32;
    "v_cvt_f32_f16" f32, (a: f16) => a.to_f32();
    "v_cvt_f16_f32" f16, (a: f32) => f16::from_f32(a);
    "v_cvt_f16_u16" f16, (a: u16) => f16::from_f32(a.into());
    "v_cvt_f16_i16" f16, (a: i16) => f16::from_f32(a.into());
    "v_cvt_u16_f16" u16, (a: f16) => a.to_f32() as u16;
    "v_cvt_i16_f16" i16, (a: f16) => a.to_f32() as i16;
    "v_cvt_u32_u16" u32, (a: u16) => a.into();
    "v_cvt_i32_i16" i32, (a: i16) => a.into();
    "v_cvt_pkrtz_f16_f32" u32, (a: f32, b: f32) => u32::from(toward_zero(a)) | (u32::from(toward_zero(b)) << 16);
    "v_cvt_pk_rtz_f16_f32" u32, (a: f32, b: f32) => u32::from(toward_zero(a)) | (u32::from(toward_zero(b)) << 16);
    "v_cvt_pk_f16_f32" u32, (a: f32, b: f32) => u32::from(f16::from_f32(a).to_bits()) | (u32::from(f16::from_f32(b).to_bits()) << 16);
    "v_cvt_pk_bf16_f32" u32, (a: f32, b: f32) => u32::from(half::bf16::from_f32(a).to_bits()) | (u32::from(half::bf16::from_f32(b).to_bits()) << 16);
    "v_cvt_pk_u16_f32" u32, (a: f32, b: f32) => u32::from(a as u16) | (u32::from(b as u16) << 16);
    "v_cvt_pk_i16_f32" u32, (a: f32, b: f32) => u32::from(a as i16 as u16) | (u32::from(b as i16 as u16) << 16);
    "v_cvt_pk_u16_u32" u32, (a: u32, b: u32) => a.min(0xffff) | (b.min(0xffff) << 16);
    "v_cvt_pk_i16_i32" u32, (a: i32, b: i32) => {
        let half = |x: i32| u32::from(x.clamp(-0x8000, 0x7fff) as u16);
        half(a) | (half(b) << 16)
    };
    "v_cvt_pknorm_i16_f32" u32, (a: f32, b: f32) => norm_i16(a) | (norm_i16(b) << 16);
    "v_cvt_pk_norm_i16_f32" u32, (a: f32, b: f32) => norm_i16(a) | (norm_i16(b) << 16);
    "v_cvt_pknorm_u16_f32" u32, (a: f32, b: f32) => norm_u16(a) | (norm_u16(b) << 16);
    "v_cvt_pk_norm_u16_f32" u32, (a: f32, b: f32) => norm_u16(a) | (norm_u16(b) << 16);
    "v_cvt_f64_f32" f64, (a: f32) => a.into();
    "v_cvt_f32_f64" f32, (a: f64) => a as f32;
    "v_cvt_f64_u32" f64, (a: u32) => a.into();
    "v_cvt_f64_i32" f64, (a: i32) => a.into();
    "v_cvt_u32_f64" u32, (a: f64) => a as u32;
    "v_cvt_i32_f64" i32, (a: f64) => a as i32;

    "v_add_f64" f64, (a: f64, b: f64) => a + b;
    "v_mul_f64" f64, (a: f64, b: f64) => a * b;
    "v_fma_f64" f64, (a: f64, b: f64, c: f64) => a.mul_add(b, c);
    "v_fmac_f64" f64, (a: f64, b: f64, c: f64) => a.mul_add(b, c);
    "v_fmaak_f64" f64, (a: f64, b: f64, c: f64) => a.mul_add(b, c);
    "v_fmamk_f64" f64, (a: f64, b: f64, c: f64) => a.mul_add(b, c);
    "v_min_f64" f64, (a: f64, b: f64) => a.min(b);
    "v_max_f64" f64, (a: f64, b: f64) => a.max(b);
    "v_min_num_f64" f64, (a: f64, b: f64) => a.min(b);
    "v_max_num_f64" f64, (a: f64, b: f64) => a.max(b);
    "v_rcp_f64" f64, (a: f64) => 1.0 / a;
    "v_rsq_f64" f64, (a: f64) => 1.0 / a.sqrt();
    "v_sqrt_f64" f64, (a: f64) => a.sqrt();
    "v_fract_f64" f64, (a: f64) => fraction(a, 53);
    "v_trunc_f64" f64, (a: f64) => a.trunc();
    "v_ceil_f64" f64, (a: f64) => a.ceil();
    "v_floor_f64" f64, (a: f64) => a.floor();
    "v_rndne_f64" f64, (a: f64) => a.round_ties_even();
    "v_ldexp_f64" f64, (a: f64, b: i32) => scale(a, b);
    "v_frexp_mant_f64" f64, (a: f64) => split(a).0;
    "v_frexp_exp_i32_f64" i32, (a: f64) => split(a).1;

    "v_add_f16" f16, (a: f16, b: f16) => f16::from_f64(a.to_f64() + b.to_f64());
    "v_sub_f16" f16, (a: f16, b: f16) => f16::from_f64(a.to_f64() - b.to_f64());
    "v_subrev_f16" f16, (a: f16, b: f16) => f16::from_f64(b.to_f64() - a.to_f64());
    "v_mul_f16" f16, (a: f16, b: f16) => f16::from_f64(a.to_f64() * b.to_f64());
    "v_fma_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f64(a.to_f64().mul_add(b.to_f64(), c.to_f64()));
    "v_fmac_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f64(a.to_f64().mul_add(b.to_f64(), c.to_f64()));
    "v_fmaak_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f64(a.to_f64().mul_add(b.to_f64(), c.to_f64()));
    "v_fmamk_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f64(a.to_f64().mul_add(b.to_f64(), c.to_f64()));
    "v_mad_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f64(f16::from_f64(a.to_f64() * b.to_f64()).to_f64() + c.to_f64());
    "v_min_f16" f16, (a: f16, b: f16) => f16::from_f32(a.to_f32().min(b.to_f32()));
    "v_max_f16" f16, (a: f16, b: f16) => f16::from_f32(a.to_f32().max(b.to_f32()));
    "v_min_num_f16" f16, (a: f16, b: f16) => f16::from_f32(a.to_f32().min(b.to_f32()));
    "v_max_num_f16" f16, (a: f16, b: f16) => f16::from_f32(a.to_f32().max(b.to_f32()));
    "v_min3_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(a.to_f32().min(b.to_f32()).min(c.to_f32()));
    "v_max3_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(a.to_f32().max(b.to_f32()).max(c.to_f32()));
    "v_minmax_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(a.to_f32().min(b.to_f32()).max(c.to_f32()));
    "v_minmax_num_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(a.to_f32().min(b.to_f32()).max(c.to_f32()));
    "v_maxmin_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(a.to_f32().max(b.to_f32()).min(c.to_f32()));
    "v_maxmin_num_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(a.to_f32().max(b.to_f32()).min(c.to_f32()));
    "v_min3_num_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(a.to_f32().min(b.to_f32()).min(c.to_f32()));
    "v_max3_num_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(a.to_f32().max(b.to_f32()).max(c.to_f32()));
    "v_minimum_f16" f16, (a: f16, b: f16) => f16::from_f32(minimum(a.to_f32(), b.to_f32()));
    "v_maximum_f16" f16, (a: f16, b: f16) => f16::from_f32(maximum(a.to_f32(), b.to_f32()));
    "v_minimum3_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(minimum(minimum(a.to_f32(), b.to_f32()), c.to_f32()));
    "v_maximum3_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(maximum(maximum(a.to_f32(), b.to_f32()), c.to_f32()));
    "v_minimummaximum_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(maximum(minimum(a.to_f32(), b.to_f32()), c.to_f32()));
    "v_maximumminimum_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(minimum(maximum(a.to_f32(), b.to_f32()), c.to_f32()));
    "v_med3_num_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(median(a.to_f32(), b.to_f32(), c.to_f32()));
    "v_med3_f16" f16, (a: f16, b: f16, c: f16) => f16::from_f32(median(a.to_f32(), b.to_f32(), c.to_f32()));
    "v_rcp_f16" f16, (a: f16) => f16::from_f64(1.0 / a.to_f64());
    "v_rsq_f16" f16, (a: f16) => f16::from_f64(1.0 / a.to_f64().sqrt());
    "v_sqrt_f16" f16, (a: f16) => f16::from_f64(a.to_f64().sqrt());
    "v_exp_f16" f16, (a: f16) => f16::from_f64(a.to_f64().exp2());
    "v_log_f16" f16, (a: f16) => f16::from_f64(a.to_f64().log2());
    "v_sin_f16" f16, (a: f16) => f16::from_f64((a.to_f64() * std::f64::consts::TAU).sin());
    "v_cos_f16" f16, (a: f16) => f16::from_f64((a.to_f64() * std::f64::consts::TAU).cos());
    "v_fract_f16" f16, (a: f16) => f16::from_f64(fraction(a.to_f64(), 11));
    "v_trunc_f16" f16, (a: f16) => f16::from_f32(a.to_f32().trunc());
    "v_ceil_f16" f16, (a: f16) => f16::from_f32(a.to_f32().ceil());
    "v_floor_f16" f16, (a: f16) => f16::from_f32(a.to_f32().floor());
    "v_rndne_f16" f16, (a: f16) => f16::from_f32(a.to_f32().round_ties_even());
    "v_ldexp_f16" f16, (a: f16, b: i16) => f16::from_f64(scale(a.to_f64(), b.into()));
    "v_frexp_mant_f16" f16, (a: f16) => f16::from_f64(split(a.to_f64()).0);
    "v_frexp_exp_i16_f16" i16, (a: f16) => split(a.to_f64()).1 as i16;
    "v_dot2c_f32_f16" f32, (a: u32, b: u32, c: f32) => dot2(a, b, c);
    "v_dot2acc_f32_f16" f32, (a: u32, b: u32, c: f32) => dot2(a, b, c);
};

/// Division's helpers, with a mask: `v_div_scale` gives one, `v_div_fmas` takes VCC.
#[rustfmt::skip] // a table
pub(in crate::amdgpu) const SCALES: &[Row] = carries! {
    "v_div_scale_f32" f32, (a: f32, b: f32, c: f32; _) => {
        let (value, scaled) = div_scale(a.into(), b.into(), c.into(), F32);
        (value as f32, scaled)
    };
    "v_div_scale_f64" f64, (a: f64, b: f64, c: f64; _) => div_scale(a, b, c, F64);
};

/// See [`SCALES`].
#[rustfmt::skip] // a table
pub(in crate::amdgpu) const FMAS: &[Row] = carries! {
    "v_div_fmas_f32" f32, (a: f32, b: f32, c: f32; scaled) => {
        (div_fmas(a.mul_add(b, c).into(), c.into(), scaled, F32) as f32, false)
    };
    "v_div_fmas_f64" f64, (a: f64, b: f64, c: f64; scaled) => {
        (div_fmas(a.mul_add(b, c), c, scaled, F64), false)
    };
};

/// s, t and the axis of a direction on its face of a cube.
fn on_face(a: f32, b: f32, c: f32) -> [f32; 3] {
    let at = [a, b, c];
    face_components(face_number(at), at)
}

/// The component along the axis, with its sign.
fn axis(a: f32, b: f32, c: f32) -> f32 {
    match face_number([a, b, c]) / 2 {
        0 => a,
        1 => b,
        _ => c,
    }
}

/// 0 times anything is 0.
fn legacy(a: f32, b: f32) -> f32 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

/// IEEE 754-2019 minimum: NaN wins.
pub(super) fn minimum(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() {
        f32::NAN
    } else {
        a.min(b)
    }
}

/// IEEE 754-2019 maximum: NaN wins.
pub(super) fn maximum(a: f32, b: f32) -> f32 {
    -minimum(-a, -b)
}

fn median(a: f32, b: f32, c: f32) -> f32 {
    if a.is_nan() || b.is_nan() || c.is_nan() {
        return a.min(b).min(c);
    }
    a.max(b).min(a.min(b).max(c))
}

/// `a - floor(a)`, at most the number below 1 that has this many significant bits; a NaN stays one.
fn fraction(a: f64, bits: i32) -> f64 {
    let rest = a - a.floor();
    let most = 1.0 - 2f64.powi(-bits);
    if rest > most { most } else { rest }
}

/// `a * 2^b` without a detour over infinity.
fn scale(a: f64, b: i32) -> f64 {
    let b = b.clamp(-4000, 4000);
    let half = b / 2;
    a * 2f64.powi(half / 2)
        * 2f64.powi(half - half / 2)
        * 2f64.powi((b - half) / 2)
        * 2f64.powi(b - half - (b - half) / 2)
}

/// Mantissa in [0.5, 1) and exponent.
fn split(a: f64) -> (f64, i32) {
    if a == 0.0 || !a.is_finite() {
        return (a, 0);
    }
    let exponent = exponent(a) + 1;
    (scale(a, -exponent), exponent)
}

/// The unbiased exponent: `2^e <= |a| < 2^(e+1)`.
fn exponent(a: f64) -> i32 {
    let biased = ((a.to_bits() >> 52) & 0x7ff) as i32;
    if biased == 0 {
        // A number below the normal ones: bring it up first.
        let raised = a * 2f64.powi(64);
        return ((raised.to_bits() >> 52) & 0x7ff) as i32 - 1023 - 64;
    }
    biased - 1023
}

/// What division's last step makes of the quotient `q`, the denominator and the numerator.
fn fixup(q: f64, denominator: f64, numerator: f64, nan: f64) -> f64 {
    let sign = if numerator.is_sign_negative() ^ denominator.is_sign_negative() {
        -1.0
    } else {
        1.0
    };
    let both = |f: fn(f64) -> bool| f(numerator) && f(denominator);
    if numerator.is_nan() || denominator.is_nan() || both(|x| x == 0.0) || both(f64::is_infinite) {
        nan
    } else if denominator == 0.0 || numerator.is_infinite() {
        sign * f64::INFINITY
    } else if denominator.is_infinite() || numerator == 0.0 {
        sign * 0.0
    } else if q.is_nan() {
        // The steps before met an infinity: the quotient is far beyond the format, or far below it.
        if exponent(numerator) > exponent(denominator) {
            sign * f64::INFINITY
        } else {
            sign * 0.0
        }
    } else {
        q.abs() * sign
    }
}

/// Exponents of a format.
#[derive(Copy, Clone)]
struct Format {
    min: i32,
    mantissa: i32,
    far: i32,
    step: i32,
}

const F32: Format = Format {
    min: -126,
    mantissa: 23,
    far: 96,
    step: 64,
};
const F64: Format = Format {
    min: -1022,
    mantissa: 53,
    far: 768,
    step: 128,
};

/// Scales denominator or numerator (`a` is one of them) so that the quotient's steps neither
/// overflow nor lose bits.
fn div_scale(a: f64, denominator: f64, numerator: f64, format: Format) -> (f64, bool) {
    if denominator == 0.0 || numerator == 0.0 {
        return (f64::NAN, false);
    }
    let tiny = |x: f64| x.abs() < 2f64.powi(format.min);
    let (n, d) = (exponent(numerator), exponent(denominator));
    let (inverse, quotient) = (tiny(1.0 / denominator), tiny(numerator / denominator));
    let of_denominator = a.to_bits() == denominator.to_bits();
    let of_numerator = a.to_bits() == numerator.to_bits();
    let up = |wanted: bool| if wanted { scale(a, format.step) } else { a };
    if n - d >= format.far {
        (up(of_denominator), true)
    } else if tiny(denominator) {
        (up(true), false)
    } else if inverse && quotient {
        (up(of_denominator), true)
    } else if inverse {
        (scale(a, -format.step), false)
    } else if quotient {
        (up(of_numerator), true)
    } else {
        (up(n < format.mantissa + format.min), false)
    }
}

/// The last product of a division, with the scaling of `v_div_scale` undone. `c` is near the
/// quotient: its size says which way was scaled.
fn div_fmas(value: f64, c: f64, scaled: bool, format: Format) -> f64 {
    if !scaled {
        value
    } else if exponent(c) > 0 {
        scale(value, format.step)
    } else {
        scale(value, -format.step)
    }
}

/// Rounded to f16 toward zero.
pub(super) fn toward_zero(a: f32) -> u16 {
    let near = f16::from_f32(a);
    if near.to_f32().abs() > a.abs() && !a.is_infinite() {
        near.to_bits() - 1
    } else {
        near.to_bits()
    }
}

fn norm_i16(a: f32) -> u32 {
    u32::from(((a.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16) as u16)
}

fn norm_u16(a: f32) -> u32 {
    u32::from((a.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u16)
}

/// Both halves of a register as f16.
pub(super) fn halves(a: u32) -> [f64; 2] {
    [
        f16::from_bits(a as u16).to_f64(),
        f16::from_bits((a >> 16) as u16).to_f64(),
    ]
}

pub(super) fn dot2(a: u32, b: u32, c: f32) -> f32 {
    let (a, b) = (halves(a), halves(b));
    (a[0] * b[0] + a[1] * b[1] + f64::from(c)) as f32
}
