//! Conversions of 8-bit floats (FP8 is E4M3, BF8 is E5M2 of OCP, as gfx950, gfx11.7 and gfx12 have
//! them). Source: the instruction set manuals of RDNA4 and CDNA4, `V_CVT_PK_FP8_F32` and its like:
//! they round to the nearest in every mode, and with `MODE.FP16_OVFL` of 0 what is too large
//! becomes an infinity, or NaN where there is none. (gfx942 has other formats under these names.)

use crate::amdgpu::bits::{Row, values};
use crate::float8::{Float8, NAN};

/// Instructions that give a value. A number behind a name is the byte of the source (`byte_sel`).
#[rustfmt::skip] // a table
pub(in crate::amdgpu) const VALUES: &[Row] = values! {
    "v_cvt_f32_fp8:0" f32, (a: u32) => Float8::E4M3.number(a as u8) as f32;
    "v_cvt_f32_fp8:1" f32, (a: u32) => Float8::E4M3.number((a >> 8) as u8) as f32;
    "v_cvt_f32_fp8:2" f32, (a: u32) => Float8::E4M3.number((a >> 16) as u8) as f32;
    "v_cvt_f32_fp8:3" f32, (a: u32) => Float8::E4M3.number((a >> 24) as u8) as f32;
    "v_cvt_f32_bf8:0" f32, (a: u32) => Float8::E5M2.number(a as u8) as f32;
    "v_cvt_f32_bf8:1" f32, (a: u32) => Float8::E5M2.number((a >> 8) as u8) as f32;
    "v_cvt_f32_bf8:2" f32, (a: u32) => Float8::E5M2.number((a >> 16) as u8) as f32;
    "v_cvt_f32_bf8:3" f32, (a: u32) => Float8::E5M2.number((a >> 24) as u8) as f32;
    "v_cvt_pk_f32_fp8" u64, (a: u16) => pair(Float8::E4M3, a);
    "v_cvt_pk_f32_bf8" u64, (a: u16) => pair(Float8::E5M2, a);
    "v_cvt_pk_fp8_f32" u16, (a: f32, b: f32) => codes(Float8::E4M3, a, b);
    "v_cvt_pk_bf8_f32" u16, (a: f32, b: f32) => codes(Float8::E5M2, a, b);
};

/// Two codes as two numbers of 32 bits.
fn pair(format: Float8, codes: u16) -> u64 {
    let number = |code: u16| u64::from((format.number(code as u8) as f32).to_bits());
    number(codes & 0xff) | number(codes >> 8) << 32
}

fn codes(format: Float8, a: f32, b: f32) -> u16 {
    code(format, a) | code(format, b) << 8
}

/// The code of a number; a NaN keeps its sign.
fn code(format: Float8, number: f32) -> u16 {
    if number.is_nan() {
        u16::from(NAN) | u16::from(number.is_sign_negative()) << 7
    } else {
        format.code(number.into(), false).into()
    }
}
