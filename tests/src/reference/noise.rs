//! Words that look random.

/// `count` words that look random and are the same in every run (a multiplicative hash of the
/// index).
pub(super) fn noise(count: usize) -> Vec<u32> {
    (0u32..)
        .take(count)
        .map(|i| {
            let x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9);
            (x ^ (x >> 15)).wrapping_mul(0x85eb_ca6b)
        })
        .collect()
}

/// The generator's step that some kernels take in their windows.
pub(super) fn lcg(x: u32) -> u32 {
    x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)
}
