//! Integer instructions with the modifier `clamp`: sums that leave the range of their type stop at
//! its end. Source: the instruction set manuals, VOP3 and VOP3P, "CLAMP". Each row has the name of
//! the row of [`super::integer`] or [`super::packed`] that it takes the place of.

use super::packed::{bytes, dot4, wrap};
use crate::amdgpu::bits::{Row, values};

/// The row that computes what the instruction does with `clamp`.
pub(in crate::amdgpu) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

#[rustfmt::skip] // a table
const ROWS: &[Row] = values! {
    "v_add_u32" u32, (a: u32, b: u32) => a.saturating_add(b);
    "v_add_nc_u32" u32, (a: u32, b: u32) => a.saturating_add(b);
    "v_sub_u32" u32, (a: u32, b: u32) => a.saturating_sub(b);
    "v_sub_nc_u32" u32, (a: u32, b: u32) => a.saturating_sub(b);
    "v_subrev_u32" u32, (a: u32, b: u32) => b.saturating_sub(a);
    "v_subrev_nc_u32" u32, (a: u32, b: u32) => b.saturating_sub(a);
    "v_add_i32" i32, (a: i32, b: i32) => a.saturating_add(b);
    "v_add_nc_i32" i32, (a: i32, b: i32) => a.saturating_add(b);
    "v_sub_i32" i32, (a: i32, b: i32) => a.saturating_sub(b);
    "v_sub_nc_i32" i32, (a: i32, b: i32) => a.saturating_sub(b);
    "v_add_u16" u16, (a: u16, b: u16) => a.saturating_add(b);
    "v_add_nc_u16" u16, (a: u16, b: u16) => a.saturating_add(b);
    "v_sub_u16" u16, (a: u16, b: u16) => a.saturating_sub(b);
    "v_sub_nc_u16" u16, (a: u16, b: u16) => a.saturating_sub(b);
    "v_subrev_u16" u16, (a: u16, b: u16) => b.saturating_sub(a);
    "v_add_i16" i16, (a: i16, b: i16) => a.saturating_add(b);
    "v_add_nc_i16" i16, (a: i16, b: i16) => a.saturating_add(b);
    "v_sub_i16" i16, (a: i16, b: i16) => a.saturating_sub(b);
    "v_sub_nc_i16" i16, (a: i16, b: i16) => a.saturating_sub(b);
    "v_pk_add_u16" u16, (a: u16, b: u16) => a.saturating_add(b);
    "v_pk_sub_u16" u16, (a: u16, b: u16) => a.saturating_sub(b);
    "v_pk_add_i16" i16, (a: i16, b: i16) => a.saturating_add(b);
    "v_pk_sub_i16" i16, (a: i16, b: i16) => a.saturating_sub(b);
    "v_dot4_u32_u8" u32, (a: u32, b: u32, c: u32) => dot4(bytes(a), bytes(b), c.into()).clamp(0, u32::MAX.into()) as u32;
    "v_dot4_i32_i8" i32, (a: u32, b: u32, c: i32) => signed(dot4(bytes(a).map(wrap), bytes(b).map(wrap), c.into()));
    "v_dot4c_i32_i8" i32, (a: u32, b: u32, c: i32) => signed(dot4(bytes(a).map(wrap), bytes(b).map(wrap), c.into()));
    "v_dot4_i32_iu8:0" i32, (a: u32, b: u32, c: i32) => signed(dot4(bytes(a), bytes(b), c.into()));
    "v_dot4_i32_iu8:1" i32, (a: u32, b: u32, c: i32) => signed(dot4(bytes(a).map(wrap), bytes(b), c.into()));
    "v_dot4_i32_iu8:2" i32, (a: u32, b: u32, c: i32) => signed(dot4(bytes(a), bytes(b).map(wrap), c.into()));
    "v_dot4_i32_iu8:3" i32, (a: u32, b: u32, c: i32) => signed(dot4(bytes(a).map(wrap), bytes(b).map(wrap), c.into()));
};

fn signed(sum: i64) -> i32 {
    sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}
