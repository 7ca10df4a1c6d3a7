//! Images: texels in a region of global memory, one after the other, and what a format makes of
//! their bytes.
//!
//! What a GPU keeps in a descriptor is its own affair, and code passes it on unread: only the
//! elements of a texel buffer stand where AMD's buffer resources have them, because code for AMD
//! reads them there. So the machine's descriptors are of one form for all GPUs, and an instruction
//! that meets another one is a finding.

/// The encoding of a component.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// An IEEE number.
    Float,
    /// 0 to 1.
    Unorm,
    /// -1 to 1.
    Snorm,
    /// A number with a sign.
    Signed,
    /// A number without one.
    Unsigned,
}

/// A format whose components are of one width (SPIR-V 1.6, 3.11 "Image Format").
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// 1, 2 or 4.
    pub components: u8,
    /// Bits of each: 8, 16 or 32.
    pub bits: u8,
    /// The encoding.
    pub meaning: Meaning,
}

/// The formats by the names that GLSL has for them. Their places in the table are their numbers in
/// descriptors, from 1.
const FORMATS: &[(&str, u8, u8, Meaning)] = &[
    ("rgba32f", 4, 32, Meaning::Float),
    ("rg32f", 2, 32, Meaning::Float),
    ("r32f", 1, 32, Meaning::Float),
    ("rgba16f", 4, 16, Meaning::Float),
    ("rg16f", 2, 16, Meaning::Float),
    ("r16f", 1, 16, Meaning::Float),
    ("rgba16", 4, 16, Meaning::Unorm),
    ("rg16", 2, 16, Meaning::Unorm),
    ("r16", 1, 16, Meaning::Unorm),
    ("rgba8", 4, 8, Meaning::Unorm),
    ("rg8", 2, 8, Meaning::Unorm),
    ("r8", 1, 8, Meaning::Unorm),
    ("rgba16_snorm", 4, 16, Meaning::Snorm),
    ("rg16_snorm", 2, 16, Meaning::Snorm),
    ("r16_snorm", 1, 16, Meaning::Snorm),
    ("rgba8_snorm", 4, 8, Meaning::Snorm),
    ("rg8_snorm", 2, 8, Meaning::Snorm),
    ("r8_snorm", 1, 8, Meaning::Snorm),
    ("rgba32i", 4, 32, Meaning::Signed),
    ("rg32i", 2, 32, Meaning::Signed),
    ("r32i", 1, 32, Meaning::Signed),
    ("rgba16i", 4, 16, Meaning::Signed),
    ("rg16i", 2, 16, Meaning::Signed),
    ("r16i", 1, 16, Meaning::Signed),
    ("rgba8i", 4, 8, Meaning::Signed),
    ("rg8i", 2, 8, Meaning::Signed),
    ("r8i", 1, 8, Meaning::Signed),
    ("rgba32ui", 4, 32, Meaning::Unsigned),
    ("rg32ui", 2, 32, Meaning::Unsigned),
    ("r32ui", 1, 32, Meaning::Unsigned),
    ("rgba16ui", 4, 16, Meaning::Unsigned),
    ("rg16ui", 2, 16, Meaning::Unsigned),
    ("r16ui", 1, 16, Meaning::Unsigned),
    ("rgba8ui", 4, 8, Meaning::Unsigned),
    ("rg8ui", 2, 8, Meaning::Unsigned),
    ("r8ui", 1, 8, Meaning::Unsigned),
];

/// The most bytes of a texel.
pub const MOST_TEXEL: usize = 16;

/// The bits of a texel's four components, as registers hold them: floats, or integers of 32 bits.
pub type Texel = [u32; 4];

impl Format {
    /// The format of this name: as GLSL writes it, such as `rgba16f`.
    pub fn by_name(name: &str) -> Option<Format> {
        FORMATS
            .iter()
            .find(|row| row.0 == name)
            .map(Format::from_row)
    }

    fn from_row(row: &(&str, u8, u8, Meaning)) -> Format {
        Format {
            components: row.1,
            bits: row.2,
            meaning: row.3,
        }
    }

    fn number(self) -> u32 {
        let at = FORMATS.iter().position(|row| Format::from_row(row) == self);
        at.map_or(0, |at| at as u32 + 1)
    }

    fn numbered(number: u32) -> Option<Format> {
        FORMATS
            .get(number.checked_sub(1)? as usize)
            .map(Format::from_row)
    }

    /// Bytes of a texel.
    pub fn bytes(self) -> usize {
        usize::from(self.components) * usize::from(self.bits) / 8
    }

    /// OpenCL's number for what the channels are (`cl.h`, `cl_channel_type`): `CL_SNORM_INT8` and
    /// so on.
    pub fn channel_type(self) -> u32 {
        let size = u32::from(self.bits).ilog2() - 3;
        match self.meaning {
            Meaning::Snorm => 0x10d0 + size,
            Meaning::Unorm => 0x10d2 + size,
            Meaning::Signed => 0x10d7 + size,
            Meaning::Unsigned => 0x10da + size,
            // `CL_HALF_FLOAT` stands before `CL_FLOAT`; there are no floats of 8 bits.
            Meaning::Float => 0x10dc + size,
        }
    }

    /// OpenCL's number for the order of the channels (`cl.h`, `cl_channel_order`): `CL_R`, `CL_RG`,
    /// `CL_RGBA`.
    pub fn channel_order(self) -> u32 {
        match self.components {
            1 => 0x10b0,
            2 => 0x10b2,
            _ => 0x10b5,
        }
    }

    pub(crate) fn is_integer(self) -> bool {
        matches!(self.meaning, Meaning::Signed | Meaning::Unsigned)
    }

    /// Decodes the bytes of a texel. Missing components are 0, and the fourth 1 (Vulkan, "Component
    /// Substitution").
    pub fn decode(self, bytes: &[u8]) -> Texel {
        let one = if self.is_integer() { 1 } else { 1f32.to_bits() };
        let mut texel = [0, 0, 0, one];
        let width = usize::from(self.bits / 8);
        for (component, bytes) in texel.iter_mut().zip(bytes.chunks_exact(width)) {
            let mut word = [0; 4];
            for (to, from) in word.iter_mut().zip(bytes) {
                *to = *from;
            }
            *component = self.component(u32::from_le_bytes(word));
        }
        texel
    }

    fn component(self, bits: u32) -> u32 {
        let largest = f64::from(u32::MAX >> (32 - u32::from(self.bits)));
        let signed = (bits << (32 - u32::from(self.bits))) as i32 >> (32 - u32::from(self.bits));
        match (self.meaning, self.bits) {
            (Meaning::Float, 16) => half::f16::from_bits(bits as u16).to_f32().to_bits(),
            (Meaning::Float | Meaning::Unsigned, _) => bits,
            (Meaning::Signed, _) => signed as u32,
            (Meaning::Unorm, _) => ((f64::from(bits) / largest) as f32).to_bits(),
            (Meaning::Snorm, _) => {
                let half = f64::from(u32::MAX >> (33 - u32::from(self.bits)));
                ((f64::from(signed) / half).max(-1.0) as f32).to_bits()
            }
        }
    }

    /// The bytes that are stored for a texel: the first [`Format::bytes`] of these. What a
    /// component cannot hold becomes the nearest that it can (Vulkan, "Conversion to Normalized
    /// Fixed-Point"); integers keep their low bits.
    pub fn encode(self, texel: Texel) -> [u8; MOST_TEXEL] {
        let mut bytes = [0; MOST_TEXEL];
        let width = usize::from(self.bits / 8);
        let components = texel.iter().take(self.components.into());
        for (to, component) in bytes.chunks_exact_mut(width).zip(components) {
            let word = self.stored(*component).to_le_bytes();
            for (to, from) in to.iter_mut().zip(word) {
                *to = from;
            }
        }
        bytes
    }

    fn stored(self, component: u32) -> u32 {
        let value = f64::from(f32::from_bits(component));
        let largest = |bits: u8| f64::from(u32::MAX >> (32 - u32::from(bits)));
        match (self.meaning, self.bits) {
            (Meaning::Float, 16) => half::f16::from_f64(value).to_bits().into(),
            (Meaning::Float | Meaning::Signed | Meaning::Unsigned, _) => component,
            // A NaN becomes 0, as the conversion of Rust has it.
            (Meaning::Unorm, _) => {
                (value.clamp(0.0, 1.0) * largest(self.bits)).round_ties_even() as u32
            }
            (Meaning::Snorm, _) => {
                (value.clamp(-1.0, 1.0) * largest(self.bits - 1)).round_ties_even() as i32 as u32
            }
        }
    }
}

/// The mip levels and samples of an image.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Mip levels, at least one and at most [`MOST_LEVELS`]. They follow each other, the largest
    /// first.
    pub count: u8,
    /// The number of dimensions, 1 to 3, that are halved in the next level; layers follow them.
    pub directions: u8,
    /// Samples of a texel, which follow each other; at least one. Images with several have one
    /// level.
    pub samples: u8,
}

/// The most mip levels of an image.
pub const MOST_LEVELS: u8 = 16;

impl Default for Levels {
    fn default() -> Levels {
        Levels {
            count: 1,
            directions: 3,
            samples: 1,
        }
    }
}

impl Levels {
    /// As a word of a descriptor.
    fn word(self) -> u32 {
        u32::from_le_bytes([self.count, self.directions, self.samples, 0])
    }

    /// From a word of a descriptor.
    fn from_word(word: u32) -> Option<Levels> {
        let [count, directions, samples, rest] = word.to_le_bytes();
        let fits = (1..=MOST_LEVELS).contains(&count) && (1..=3).contains(&directions);
        (fits && samples > 0 && rest == 0).then_some(Levels {
            count,
            directions,
            samples,
        })
    }
}

/// An image, or a texel buffer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The address of the first texel. Below 2^48.
    pub base: u64,
    /// Texels in each direction; layers are in the first direction that has no texels, and the
    /// faces of cubes are layers. 1 where there is nothing.
    pub extent: [u32; 3],
    /// The format of a texel.
    pub format: Format,
    /// True if it is a texel buffer.
    pub is_buffer: bool,
    /// Its mip levels and samples.
    pub levels: Levels,
}

/// In the last word of a descriptor, above the format's number.
const MARK: u32 = 0x5350_0000;

impl Image {
    /// The offset of a texel of the first level; `None` outside of the image.
    pub fn texel(&self, at: [u32; 3]) -> Option<u64> {
        self.texel_of(at, 0, 0)
    }

    /// The offset of this sample of a texel of a mip level; `None` outside of the image.
    pub fn texel_of(&self, at: [u32; 3], level: u32, sample: u32) -> Option<u64> {
        let [x, y, z] = self.extent_of(level)?;
        let inside = at[0] < x && at[1] < y && at[2] < z && sample < self.levels.samples.into();
        let row = u64::from(at[2]) * u64::from(y) + u64::from(at[1]);
        let index = row.checked_mul(x.into())?.checked_add(at[0].into())?;
        let index = index.checked_mul(self.levels.samples.into())?;
        let bytes = self.format.bytes() as u64;
        let offset = index.checked_add(sample.into())?.checked_mul(bytes)?;
        let before = (0..level).map(|level| self.bytes_of(level));
        let before = before.sum::<Option<u64>>()?;
        inside.then(|| self.base.wrapping_add(before).wrapping_add(offset))
    }

    /// The extent of a mip level; `None` behind the last one.
    pub fn extent_of(&self, level: u32) -> Option<[u32; 3]> {
        let mut extent = self.extent;
        for size in extent.iter_mut().take(self.levels.directions.into()) {
            *size = (*size >> level.min(31)).max(1);
        }
        (level < self.levels.count.into()).then_some(extent)
    }

    fn bytes_of(&self, level: u32) -> Option<u64> {
        let texel = self.format.bytes() as u64 * u64::from(self.levels.samples);
        let extent = self.extent_of(level)?;
        let mut sizes = extent.into_iter().map(u64::from);
        sizes.try_fold(texel, u64::checked_mul)
    }

    /// Bytes of all its levels; `None` for more than 64 bits can count.
    pub fn bytes(&self) -> Option<u64> {
        let mut levels = (0..self.levels.count.into()).map(|level| self.bytes_of(level));
        levels.try_fold(0u64, |sum, bytes| sum.checked_add(bytes?))
    }

    /// The descriptor: of a texel buffer the first four words, laid out as AMD's buffer resources:
    /// address, stride, elements, format.
    pub fn descriptor(&self) -> [u32; 8] {
        let stride = self.format.bytes() as u32;
        let last = MARK | self.format.number();
        let high = (self.base >> 32) as u32 & 0xffff | stride << 16;
        let [x, y, z] = self.extent;
        if self.is_buffer {
            [self.base as u32, high, x, last, 0, 0, 0, 0]
        } else {
            [self.base as u32, high, self.levels.word(), 0, x, y, z, last]
        }
    }

    /// The image that a descriptor describes; `None` for what is no descriptor of this machine.
    pub fn described(words: &[u32]) -> Option<Image> {
        let [low, high, x, last, rest @ ..] = words else {
            return None;
        };
        let base = u64::from(*low) | u64::from(*high & 0xffff) << 32;
        let image = |extent, last: u32, is_buffer, levels| {
            Some(Image {
                levels,
                base,
                extent,
                format: Format::numbered(last & 0xffff)?,
                is_buffer,
            })
        };
        match rest {
            _ if last & 0xffff_0000 == MARK => image([*x, 1, 1], *last, true, Levels::default()),
            [width, height, depth, last] if last & 0xffff_0000 == MARK => image(
                [*width, *height, *depth],
                *last,
                false,
                Levels::from_word(*x)?,
            ),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn formats_are_read_and_written() {
        let texel = |values: [f32; 4]| values.map(f32::to_bits);
        for (name, bytes, values) in [
            ("rgba8", vec![255, 0, 51, 255], [1.0, 0.0, 0.2, 1.0]),
            ("rg8_snorm", vec![127, 129], [1.0, -1.0, 0.0, 1.0]),
            ("r16f", vec![0, 0xc0], [-2.0, 0.0, 0.0, 1.0]),
            ("r32f", 1.5f32.to_le_bytes().to_vec(), [1.5, 0.0, 0.0, 1.0]),
        ] {
            let format = Format::by_name(name).unwrap();
            assert_eq!(format.bytes(), bytes.len(), "{name}");
            assert_eq!(format.decode(&bytes), texel(values), "{name}");
            assert_eq!(format.encode(texel(values))[..bytes.len()], bytes, "{name}");
        }
        let signed = Format::by_name("r8i").unwrap();
        assert_eq!(signed.decode(&[0xfe]), [-2i32 as u32, 0, 0, 1]);
        let bytes = Format::by_name("r8_snorm").unwrap();
        assert_eq!(bytes.decode(&[0x80])[0], (-1f32).to_bits(), "twice -1");
        assert_eq!(bytes.encode(texel([9.0; 4]))[0], 127);
    }

    #[test]
    fn descriptors_come_back() {
        let format = Format::by_name("rg16f").unwrap();
        let mut image = Image {
            base: 0x1234_5678_9ab0,
            extent: [5, 3, 2],
            format,
            is_buffer: false,
            levels: Levels {
                count: 3,
                directions: 2,
                samples: 1,
            },
        };
        assert_eq!(Image::described(&image.descriptor()), Some(image));
        assert_eq!(image.extent_of(1), Some([2, 1, 2]));
        assert_eq!(image.texel_of([0, 0, 1], 1, 0), Some(image.base + 32 * 4));
        assert_eq!(image.texel_of([0, 0, 0], 3, 0), None);
        assert_eq!(image.bytes(), Some((30 + 4 + 2) * 4));
        assert_eq!(image.texel([4, 2, 1]), Some(image.base + 29 * 4));
        assert_eq!(image.texel([5, 0, 0]), None);
        image = Image {
            extent: [7, 1, 1],
            is_buffer: true,
            levels: Levels::default(),
            ..image
        };
        assert_eq!(Image::described(&image.descriptor()[..4]), Some(image));
        assert_eq!(Image::described(&[0; 8]), None);
    }
}
