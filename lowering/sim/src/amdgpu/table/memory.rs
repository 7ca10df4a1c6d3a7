//! Memory instructions: how a name says how many bytes move, what becomes of small ones, and what
//! an atomic makes of the old value. Source: the instruction set manuals, chapters DS, FLAT, MUBUF
//! and SMEM; the second spelling of each row is that of gfx11 and later.

/// Where the bytes of a load go in the register, or those of a store come from.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::amdgpu) enum Extend {
    /// Whole registers, or zeros above.
    Zero,
    Sign,
    /// The low half alone; the high half stays.
    LowZero,
    LowSign,
    /// The high half alone; the low half stays.
    HighZero,
    HighSign,
}

/// How many bytes a lane moves, and [`Extend`], by the end of the name.
#[rustfmt::skip] // a table
pub(in crate::amdgpu) const FORMATS: &[(&str, u8, Extend)] = &[
    ("b32", 4, Extend::Zero), ("dword", 4, Extend::Zero),
    ("b64", 8, Extend::Zero), ("dwordx2", 8, Extend::Zero),
    ("b96", 12, Extend::Zero), ("dwordx3", 12, Extend::Zero),
    ("b128", 16, Extend::Zero), ("dwordx4", 16, Extend::Zero),
    ("b256", 32, Extend::Zero), ("dwordx8", 32, Extend::Zero),
    ("b512", 64, Extend::Zero), ("dwordx16", 64, Extend::Zero),
    ("u8", 1, Extend::Zero), ("ubyte", 1, Extend::Zero), ("b8", 1, Extend::Zero), ("byte", 1, Extend::Zero),
    ("i8", 1, Extend::Sign), ("sbyte", 1, Extend::Sign),
    ("u16", 2, Extend::Zero), ("ushort", 2, Extend::Zero), ("b16", 2, Extend::Zero), ("short", 2, Extend::Zero),
    ("i16", 2, Extend::Sign), ("sshort", 2, Extend::Sign),
    ("u8_d16", 1, Extend::LowZero), ("ubyte_d16", 1, Extend::LowZero), ("d16_u8", 1, Extend::LowZero),
    ("i8_d16", 1, Extend::LowSign), ("sbyte_d16", 1, Extend::LowSign), ("d16_i8", 1, Extend::LowSign),
    ("u16_d16", 2, Extend::LowZero), ("short_d16", 2, Extend::LowZero), ("d16_b16", 2, Extend::LowZero),
    ("u8_d16_hi", 1, Extend::HighZero), ("ubyte_d16_hi", 1, Extend::HighZero), ("d16_hi_u8", 1, Extend::HighZero),
    ("i8_d16_hi", 1, Extend::HighSign), ("sbyte_d16_hi", 1, Extend::HighSign), ("d16_hi_i8", 1, Extend::HighSign),
    ("u16_d16_hi", 2, Extend::HighZero), ("short_d16_hi", 2, Extend::HighZero), ("d16_hi_b16", 2, Extend::HighZero), ("b16_d16_hi", 2, Extend::HighZero),
    ("b8_d16_hi", 1, Extend::HighZero), ("byte_d16_hi", 1, Extend::HighZero), ("d16_hi_b8", 1, Extend::HighZero),
];

/// What an atomic writes, of the old value, the data and the second data (what a compare-and-swap
/// compares with).
pub(in crate::amdgpu) type Update = fn(u64, u64, u64) -> Option<u64>;

macro_rules! update {
    ($ty:ty, $value:expr) => {
        |old, data, _| {
            let compute: fn($ty, $ty) -> $ty = $value;
            Some(<$ty as crate::amdgpu::bits::Bits>::bits(compute(
                <$ty as crate::amdgpu::bits::Bits>::of(old),
                <$ty as crate::amdgpu::bits::Bits>::of(data),
            )))
        }
    };
}

const SWAP: Update = |_, data, _| Some(data);
const COMPARE_SWAP: Update = |old, data, expected| (old == expected).then_some(data);

/// Atomics of LDS and of global memory, by the part of the name after `ds_` (without `rtn_`) or
/// after `atomic_`.
#[rustfmt::skip] // a table
pub(in crate::amdgpu) const ATOMICS: &[(&str, u8, Update)] = &[
    ("add", 4, update!(u32, u32::wrapping_add)), ("add_u32", 4, update!(u32, u32::wrapping_add)),
    ("add_x2", 8, update!(u64, u64::wrapping_add)), ("add_u64", 8, update!(u64, u64::wrapping_add)),
    ("sub", 4, update!(u32, u32::wrapping_sub)), ("sub_u32", 4, update!(u32, u32::wrapping_sub)),
    ("sub_x2", 8, update!(u64, u64::wrapping_sub)), ("sub_u64", 8, update!(u64, u64::wrapping_sub)),
    ("rsub_u32", 4, update!(u32, |old, data| data.wrapping_sub(old))), ("rsub_u64", 8, update!(u64, |old, data| data.wrapping_sub(old))),
    ("smin", 4, update!(i32, Ord::min)), ("min_i32", 4, update!(i32, Ord::min)), ("smax", 4, update!(i32, Ord::max)), ("max_i32", 4, update!(i32, Ord::max)),
    ("umin", 4, update!(u32, Ord::min)), ("min_u32", 4, update!(u32, Ord::min)), ("umax", 4, update!(u32, Ord::max)), ("max_u32", 4, update!(u32, Ord::max)),
    ("smin_x2", 8, update!(i64, Ord::min)), ("min_i64", 8, update!(i64, Ord::min)), ("smax_x2", 8, update!(i64, Ord::max)), ("max_i64", 8, update!(i64, Ord::max)),
    ("umin_x2", 8, update!(u64, Ord::min)), ("min_u64", 8, update!(u64, Ord::min)), ("umax_x2", 8, update!(u64, Ord::max)), ("max_u64", 8, update!(u64, Ord::max)),
    ("and", 4, update!(u32, |a, b| a & b)), ("and_b32", 4, update!(u32, |a, b| a & b)), ("and_x2", 8, update!(u64, |a, b| a & b)), ("and_b64", 8, update!(u64, |a, b| a & b)),
    ("or", 4, update!(u32, |a, b| a | b)), ("or_b32", 4, update!(u32, |a, b| a | b)), ("or_x2", 8, update!(u64, |a, b| a | b)), ("or_b64", 8, update!(u64, |a, b| a | b)),
    ("xor", 4, update!(u32, |a, b| a ^ b)), ("xor_b32", 4, update!(u32, |a, b| a ^ b)), ("xor_x2", 8, update!(u64, |a, b| a ^ b)), ("xor_b64", 8, update!(u64, |a, b| a ^ b)),
    ("inc", 4, update!(u32, |old, top| if old >= top { 0 } else { old + 1 })), ("inc_u32", 4, update!(u32, |old, top| if old >= top { 0 } else { old + 1 })),
    ("inc_x2", 8, update!(u64, |old, top| if old >= top { 0 } else { old + 1 })), ("inc_u64", 8, update!(u64, |old, top| if old >= top { 0 } else { old + 1 })),
    ("dec", 4, update!(u32, |old, top| if old == 0 || old > top { top } else { old - 1 })), ("dec_u32", 4, update!(u32, |old, top| if old == 0 || old > top { top } else { old - 1 })),
    ("dec_x2", 8, update!(u64, |old, top| if old == 0 || old > top { top } else { old - 1 })), ("dec_u64", 8, update!(u64, |old, top| if old == 0 || old > top { top } else { old - 1 })),
    ("cond_sub_u32", 4, update!(u32, |old, data| if old >= data { old - data } else { old })),
    ("sub_clamp_u32", 4, update!(u32, u32::saturating_sub)), ("csub_u32", 4, update!(u32, u32::saturating_sub)), ("csub", 4, update!(u32, u32::saturating_sub)),
    ("add_f32", 4, update!(f32, |a, b| a + b)), ("add_f64", 8, update!(f64, |a, b| a + b)),
    ("min_f32", 4, update!(f32, f32::min)), ("max_f32", 4, update!(f32, f32::max)), ("min_num_f32", 4, update!(f32, f32::min)), ("max_num_f32", 4, update!(f32, f32::max)),
    ("min_f64", 8, update!(f64, f64::min)), ("max_f64", 8, update!(f64, f64::max)), ("min_num_f64", 8, update!(f64, f64::min)), ("max_num_f64", 8, update!(f64, f64::max)),
    ("fmin", 4, update!(f32, f32::min)), ("fmax", 4, update!(f32, f32::max)), ("fmin_x2", 8, update!(f64, f64::min)), ("fmax_x2", 8, update!(f64, f64::max)),
    ("pk_add_f16", 4, |old, data, _| Some(halves(old, data, |a, b| half::f16::from_f64(half::f16::from_bits(a).to_f64() + half::f16::from_bits(b).to_f64()).to_bits()))),
    ("pk_add_bf16", 4, |old, data, _| Some(halves(old, data, |a, b| half::bf16::from_f64(half::bf16::from_bits(a).to_f64() + half::bf16::from_bits(b).to_f64()).to_bits()))),
    ("swap", 4, SWAP), ("swap_b32", 4, SWAP), ("wrxchg_b32", 4, SWAP), ("storexchg_b32", 4, SWAP),
    ("swap_x2", 8, SWAP), ("swap_b64", 8, SWAP), ("wrxchg_b64", 8, SWAP), ("storexchg_b64", 8, SWAP),
    ("cmpswap", 4, COMPARE_SWAP), ("cmpswap_b32", 4, COMPARE_SWAP), ("cmpst_b32", 4, COMPARE_SWAP), ("cmpstore_b32", 4, COMPARE_SWAP),
    ("cmpswap_x2", 8, COMPARE_SWAP), ("cmpswap_b64", 8, COMPARE_SWAP), ("cmpst_b64", 8, COMPARE_SWAP), ("cmpstore_b64", 8, COMPARE_SWAP),
];

fn halves(old: u64, data: u64, add: impl Fn(u16, u16) -> u16) -> u64 {
    u64::from(add(old as u16, data as u16))
        | (u64::from(add((old >> 16) as u16, (data >> 16) as u16)) << 16)
}
