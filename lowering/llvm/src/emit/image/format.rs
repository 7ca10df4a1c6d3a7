//! Image formats, as bits in memory: what NVIDIA's surfaces need, which are read as bytes.

use spirv::ImageFormat as F;

/// What the bits of a component mean.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// An IEEE number of that width.
    Float,
    /// 0 to 1.
    Unorm,
    /// -1 to 1.
    Snorm,
    /// An integer.
    Signed,
    /// An integer.
    Unsigned,
}

/// A format whose components are of one width.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Format {
    /// 1, 2 or 4.
    pub(super) components: u32,
    /// Bits of each: 8, 16 or 32.
    pub(super) bits: u32,
    pub(super) meaning: Meaning,
}

/// `None`: packed formats, and those of 64 bits.
pub(super) fn format(format: F) -> Option<Format> {
    use Meaning::{Float, Signed, Snorm, Unorm, Unsigned};
    let (components, bits, meaning) = match format {
        F::Rgba32f => (4, 32, Float),
        F::Rg32f => (2, 32, Float),
        F::R32f => (1, 32, Float),
        F::Rgba16f => (4, 16, Float),
        F::Rg16f => (2, 16, Float),
        F::R16f => (1, 16, Float),
        F::Rgba16 => (4, 16, Unorm),
        F::Rg16 => (2, 16, Unorm),
        F::R16 => (1, 16, Unorm),
        F::Rgba8 => (4, 8, Unorm),
        F::Rg8 => (2, 8, Unorm),
        F::R8 => (1, 8, Unorm),
        F::Rgba16Snorm => (4, 16, Snorm),
        F::Rg16Snorm => (2, 16, Snorm),
        F::R16Snorm => (1, 16, Snorm),
        F::Rgba8Snorm => (4, 8, Snorm),
        F::Rg8Snorm => (2, 8, Snorm),
        F::R8Snorm => (1, 8, Snorm),
        F::Rgba32i => (4, 32, Signed),
        F::Rg32i => (2, 32, Signed),
        F::R32i => (1, 32, Signed),
        F::Rgba16i => (4, 16, Signed),
        F::Rg16i => (2, 16, Signed),
        F::R16i => (1, 16, Signed),
        F::Rgba8i => (4, 8, Signed),
        F::Rg8i => (2, 8, Signed),
        F::R8i => (1, 8, Signed),
        F::Rgba32ui => (4, 32, Unsigned),
        F::Rg32ui => (2, 32, Unsigned),
        F::R32ui => (1, 32, Unsigned),
        F::Rgba16ui => (4, 16, Unsigned),
        F::Rg16ui => (2, 16, Unsigned),
        F::R16ui => (1, 16, Unsigned),
        F::Rgba8ui => (4, 8, Unsigned),
        F::Rg8ui => (2, 8, Unsigned),
        F::R8ui => (1, 8, Unsigned),
        F::Unknown | F::R11fG11fB10f | F::Rgb10A2 | F::Rgb10a2ui | F::R64ui | F::R64i => {
            return None;
        }
    };
    Some(Format {
        components,
        bits,
        meaning,
    })
}
