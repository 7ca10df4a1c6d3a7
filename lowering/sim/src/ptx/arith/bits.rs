//! Bits of values: masks, and signs that go on above them.

/// A value with this many low bits set.
pub(crate) fn mask(bits: u32) -> u64 {
    match bits {
        0 => 0,
        1..=63 => (1 << bits) - 1,
        _ => u64::MAX,
    }
}

/// A number in two's complement of this width.
pub(crate) fn sign_extend(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits.clamp(1, 64);
    ((value << unused) as i64) >> unused
}
