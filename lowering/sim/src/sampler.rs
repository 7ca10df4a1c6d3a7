//! Samplers: which texels are taken for coordinates between 0 and 1, and what share each has in
//! the result (Vulkan, "Texel Filtering", "Wrapping Operation" and "Scale Factor Operation").
//!
//! A sampler's descriptor is that of AMD's hardware, for all GPUs, because code for AMD has
//! descriptors of its own (OpConstantSampler). Magnified images are filtered as minified ones are,
//! and no level of detail is cut off but by the image.

mod cube;
mod level;
mod taps;

pub(crate) use cube::{components as face_components, face_of, number as face_number};
pub(crate) use level::{Gradients, Level};
pub(crate) use taps::{Request, Tap, compared, mixed};

/// The texel that coordinates outside of an image have (SPIR-V "Sampler Addressing Mode").
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum AddressMode {
    /// The image again.
    Repeat,
    /// The image again, every other time mirrored.
    Mirror,
    /// The nearest texel.
    Edge,
    /// Zeros.
    Border,
}

/// The ways by their names, and as AMD numbers them (`SQ_TEX_*` of CLAMP_X).
const ADDRESS_MODES: [(&str, AddressMode, u32); 4] = [
    ("repeat", AddressMode::Repeat, 0),
    ("mirror", AddressMode::Mirror, 1),
    ("edge", AddressMode::Edge, 2),
    ("border", AddressMode::Border, 6),
];

/// The filter between mip levels.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Mips {
    /// The nearest one.
    Nearest,
    /// Two are mixed.
    Linear,
}

/// The comparison of a depth: `reference OP texel`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Compare {
    /// It never holds.
    Never,
    /// `<`
    Less,
    /// `==`
    Equal,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `!=`
    NotEqual,
    /// `>=`
    GreaterOrEqual,
    /// It always holds.
    Always,
}

/// The comparisons by their names; AMD's and Vulkan's numbers are their places.
const COMPARE: [(&str, Compare); 8] = [
    ("never", Compare::Never),
    ("less", Compare::Less),
    ("equal", Compare::Equal),
    ("less-equal", Compare::LessOrEqual),
    ("greater", Compare::Greater),
    ("not-equal", Compare::NotEqual),
    ("greater-equal", Compare::GreaterOrEqual),
    ("always", Compare::Always),
];

impl Compare {
    /// Returns true if it holds.
    pub fn holds(self, reference: f32, texel: f32) -> bool {
        match self {
            Compare::Never => false,
            Compare::Less => reference < texel,
            Compare::Equal => reference == texel,
            Compare::LessOrEqual => reference <= texel,
            Compare::Greater => reference > texel,
            Compare::NotEqual => reference != texel,
            Compare::GreaterOrEqual => reference >= texel,
            Compare::Always => true,
        }
    }
}

/// A sampler.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Sampler {
    /// True if the texels around the coordinates are mixed; else the nearest is taken.
    pub linear: bool,
    /// The addressing mode, of every dimension.
    pub address_mode: AddressMode,
    /// The filter between mip levels.
    pub mips: Mips,
    /// The comparison of depths.
    pub compare: Compare,
    /// True if coordinates are between 0 and 1; else they count texels.
    pub normalized: bool,
}

/// The field of `bits` bits from bit `first` on.
fn field(word: u32, first: u32, bits: u32) -> u32 {
    word >> first & ((1 << bits) - 1)
}

impl Sampler {
    /// The sampler that `linear,repeat` and its like name: a filter, an addressing mode, and after
    /// these in any order `mip-linear` or `mip-nearest` (the default), a comparison such as `less`
    /// (`less-equal` is the default), and `unnormalized`.
    pub fn by_name(name: &str) -> Option<Sampler> {
        let mut words = name.split(',');
        let linear = match words.next()? {
            "linear" => true,
            "nearest" => false,
            _ => return None,
        };
        let address_mode = words.next()?;
        let (_, address_mode, _) = ADDRESS_MODES
            .iter()
            .find(|(name, ..)| *name == address_mode)?;
        let mut sampler = Sampler {
            linear,
            address_mode: *address_mode,
            mips: Mips::Nearest,
            compare: Compare::LessOrEqual,
            normalized: true,
        };
        for word in words {
            match word {
                "mip-linear" => sampler.mips = Mips::Linear,
                "mip-nearest" => sampler.mips = Mips::Nearest,
                "unnormalized" => sampler.normalized = false,
                _ => sampler.compare = COMPARE.iter().find(|(name, _)| *name == word)?.1,
            }
        }
        Some(sampler)
    }

    /// The descriptor: four words, which stand behind those of an image in a combined one.
    pub fn descriptor(self) -> [u32; 4] {
        let mut address_mode = ADDRESS_MODES
            .iter()
            .filter(|(_, one, _)| *one == self.address_mode);
        let clamp = address_mode.next().map_or(0, |(.., number)| *number);
        let compare = COMPARE.iter().position(|(_, one)| *one == self.compare);
        let linear = u32::from(self.linear);
        let mips = match self.mips {
            Mips::Nearest => 1,
            Mips::Linear => 2,
        };
        let clamps = clamp * 0o111;
        let compare = (compare.unwrap_or(0) as u32) << 12;
        [
            clamps | compare | u32::from(!self.normalized) << 15,
            0x00ff_f000,
            linear << 20 | linear << 22 | mips << 26,
            0,
        ]
    }

    /// The sampler that a descriptor describes; `None` for what is no descriptor, or has what the
    /// machine does not: several addressing modes, two filters, a bias, a border of another color.
    pub fn described(words: &[u32]) -> Option<Sampler> {
        /// Clamps, comparison, unnormalized coordinates, and TRUNC_COORD, which is how the machine
        /// finds the nearest texel anyway.
        const FIRST: u32 = 0o777 | 0xf << 12 | 1 << 27;
        /// The filters within and between levels.
        const THIRD: u32 = 0xf << 20 | 3 << 26;
        let [first, levels, third, border] = *words.first_chunk::<4>()?;
        let clamp = field(first, 0, 3);
        let known = first & !FIRST == 0 && third & !THIRD == 0 && border == 0 && levels != 0;
        let (magnified, minified) = (field(third, 20, 2), field(third, 22, 2));
        if !known || first & 0o777 != clamp * 0o111 || magnified != minified || magnified > 1 {
            return None;
        }
        let (_, address_mode, _) = ADDRESS_MODES.iter().find(|(.., number)| *number == clamp)?;
        Some(Sampler {
            linear: magnified == 1,
            address_mode: *address_mode,
            mips: match field(third, 26, 2) {
                1 => Mips::Nearest,
                2 => Mips::Linear,
                _ => return None,
            },
            compare: COMPARE.get(field(first, 12, 3) as usize)?.1,
            normalized: field(first, 15, 1) == 0,
        })
    }

    /// The texel that is taken for number `at` of a direction of `size`; `None`: the border.
    fn wrapped(self, at: i64, size: i64) -> Option<u32> {
        let size = size.max(1);
        let inside = match self.address_mode {
            AddressMode::Repeat => at.rem_euclid(size),
            AddressMode::Mirror => {
                let twice = at.rem_euclid(2 * size);
                twice.min(2 * size - 1 - twice)
            }
            AddressMode::Edge => at.clamp(0, size - 1),
            AddressMode::Border => (0..size).contains(&at).then_some(at)?,
        };
        u32::try_from(inside).ok()
    }
}

/// What the coordinates of a sample are.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directions {
    /// Coordinates that are filtered: 1 to 3.
    pub(crate) count: u8,
    /// True if another one behind them is the number of a layer.
    pub(crate) layered: bool,
    /// True if layers are faces of cubes, whose neighbours lie around edges.
    pub(crate) cube: bool,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_come_back() {
        for filter in ["linear", "nearest"] {
            for (address_mode, ..) in ADDRESS_MODES {
                for (compare, _) in COMPARE {
                    for more in ["", ",mip-linear", ",unnormalized"] {
                        let name = format!("{filter},{address_mode},{compare}{more}");
                        let sampler = Sampler::by_name(&name).unwrap();
                        assert_eq!(Sampler::described(&sampler.descriptor()), Some(sampler));
                    }
                }
            }
        }
        let sampler = Sampler::by_name("linear,edge").unwrap();
        for (word, bit) in [(0, 9), (0, 2), (1, 0), (2, 0), (2, 20), (3, 31)] {
            let mut words = sampler.descriptor();
            words[word] ^= 1 << bit;
            let is_levels = word == 1; // whatever they are cut off at
            assert_eq!(
                Sampler::described(&words).is_some(),
                is_levels,
                "{word} {bit}"
            );
        }
        assert_eq!(Sampler::described(&[0; 4]), None);
        for wrong in [
            "linear",
            "cubic,edge",
            "linear,wall",
            "linear,edge,lesser",
            "",
        ] {
            assert_eq!(Sampler::by_name(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn texels_outside_are_those_of_the_sampler() {
        let row = |address_mode: &str| {
            let sampler = Sampler::by_name(&format!("nearest,{address_mode}")).unwrap();
            (-5..9).map(move |at| sampler.wrapped(at, 4))
        };
        let of = |numbers: [u32; 14]| numbers.map(Some).to_vec();
        assert_eq!(
            row("repeat").collect::<Vec<_>>(),
            of([3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0])
        );
        assert_eq!(
            row("mirror").collect::<Vec<_>>(),
            of([3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0])
        );
        assert_eq!(
            row("edge").collect::<Vec<_>>(),
            of([0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3])
        );
        assert_eq!(row("border").filter(Option::is_none).count(), 10);
    }
}
