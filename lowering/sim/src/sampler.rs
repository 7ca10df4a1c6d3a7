//! Samplers: which texels are taken for coordinates between 0 and 1, and what share each has in
//! the result (Vulkan, "Texel Filtering" and "Wrapping Operation").
//!
//! Images of this machine have one mip level, which every level of detail is clamped to.

use crate::image::{Image, Texel};

/// What is taken for coordinates outside of an image.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Outside {
    /// The image again.
    Repeat,
    /// The image again, every other time mirrored.
    Mirror,
    /// The nearest texel.
    Edge,
    /// Zeros.
    Border,
}

/// The ways by their names, in the order of their numbers in descriptors.
const OUTSIDE: [(&str, Outside); 4] = [
    ("repeat", Outside::Repeat),
    ("mirror", Outside::Mirror),
    ("edge", Outside::Edge),
    ("border", Outside::Border),
];

/// A sampler.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Sampler {
    /// Whether the texels around the coordinates are mixed; else the nearest is taken.
    pub linear: bool,
    /// What is taken outside, in every direction.
    pub outside: Outside,
}

/// In the first word of a descriptor.
const MARK: u32 = 0x5351_0000;

/// A texel that is taken: where it lies, or a border of zeros, and its share.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Tap {
    pub(crate) address: Option<u64>,
    pub(crate) share: f32,
}

/// How an image is sampled.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directions {
    /// Coordinates that are filtered: 1 to 3.
    pub(crate) count: u8,
    /// Whether another one behind them is the number of a layer.
    pub(crate) layered: bool,
}

impl Sampler {
    /// The sampler that `linear,repeat` and its like name.
    pub fn by_name(name: &str) -> Option<Sampler> {
        let (filter, outside) = name.split_once(',')?;
        let linear = match filter {
            "linear" => true,
            "nearest" => false,
            _ => return None,
        };
        let (_, outside) = OUTSIDE.iter().find(|(name, _)| *name == outside)?;
        Some(Sampler {
            linear,
            outside: *outside,
        })
    }

    /// The descriptor: four words, which stand behind those of an image.
    pub fn descriptor(self) -> [u32; 4] {
        let at = OUTSIDE.iter().position(|(_, one)| *one == self.outside);
        [
            MARK | at.unwrap_or(0) as u32 | u32::from(self.linear) << 8,
            0,
            0,
            0,
        ]
    }

    /// The sampler that a descriptor describes; `None` for what is no descriptor of this machine.
    pub fn described(words: &[u32]) -> Option<Sampler> {
        let first = *words.first()?;
        let (_, outside) = OUTSIDE.get((first & 0xff) as usize)?;
        (first & 0xffff_0000 == MARK).then_some(Sampler {
            linear: first >> 8 & 1 == 1,
            outside: *outside,
        })
    }

    /// The texel that is taken for number `at` of a direction of `size`; `None`: the border.
    fn wrapped(self, at: i64, size: i64) -> Option<u32> {
        let size = size.max(1);
        let inside = match self.outside {
            Outside::Repeat => at.rem_euclid(size),
            Outside::Mirror => {
                let twice = at.rem_euclid(2 * size);
                twice.min(2 * size - 1 - twice)
            }
            Outside::Edge => at.clamp(0, size - 1),
            Outside::Border => (0..size).contains(&at).then_some(at)?,
        };
        u32::try_from(inside).ok()
    }
}

/// The number of the texel that `place` lies in, in texels from the first one; no coordinates are
/// so far away that numbers beside it are none.
fn number(place: f32) -> i64 {
    const FARTHEST: f32 = (1u64 << 40) as f32;
    place.floor().clamp(-FARTHEST, FARTHEST) as i64
}

/// The lower of the two texels around `coordinate` in a direction of `size`, and the share of the
/// other one.
fn around(coordinate: f32, size: u32) -> (i64, f32) {
    let place = coordinate * size as f32 - 0.5;
    let share = place - place.floor();
    (number(place), if share.is_finite() { share } else { 0.0 })
}

/// The number of the layer that `coordinate` names, of so many.
fn layer(coordinate: f32, count: u32) -> u32 {
    (coordinate.round_ties_even() as u32).min(count.saturating_sub(1))
}

impl Image {
    /// The texel at these numbers, each wrapped; the layer is a number already.
    fn wrapped(&self, sampler: Sampler, at: [i64; 3], directions: Directions) -> Option<u64> {
        let mut texel = [0; 3];
        for (index, ((to, at), size)) in texel.iter_mut().zip(at).zip(self.extent).enumerate() {
            *to = match index < usize::from(directions.count) {
                true => sampler.wrapped(at, size.into())?,
                false => at as u32,
            };
        }
        self.texel(texel)
    }

    /// What the filter takes at `coordinates`.
    pub(crate) fn taps(
        &self,
        sampler: Sampler,
        coordinates: [f32; 3],
        directions: Directions,
    ) -> Vec<Tap> {
        let count = usize::from(directions.count.clamp(1, 3));
        let mut base = [0i64; 3];
        let mut shares = [0f32; 3];
        for index in 0..count {
            let (coordinate, size) = (coordinates[index], self.extent[index]);
            (base[index], shares[index]) = match sampler.linear {
                true => around(coordinate, size),
                false => (number(coordinate * size as f32), 0.0),
            };
        }
        if directions.layered && count < 3 {
            base[count] = layer(coordinates[count], self.extent[count]).into();
        }
        let mut taps = Vec::new();
        for corner in 0..1usize << count {
            let mut at = base;
            let mut share = 1.0;
            for index in 0..count {
                let upper = corner >> index & 1 == 1;
                at[index] += i64::from(upper);
                share *= match upper {
                    true => shares[index],
                    false => 1.0 - shares[index],
                };
            }
            if share != 0.0 {
                let address = self.wrapped(sampler, at, directions);
                taps.push(Tap { address, share });
            }
        }
        taps
    }

    /// The four texels around `coordinates`, in the order in which a gather gives them: lower left
    /// first, then counterclockwise in a picture whose second direction goes up.
    pub(crate) fn around(
        &self,
        sampler: Sampler,
        coordinates: [f32; 3],
        directions: Directions,
    ) -> Vec<Tap> {
        let (x, _) = around(coordinates[0], self.extent[0]);
        let (y, _) = around(coordinates[1], self.extent[1]);
        let z = match directions.layered {
            true => layer(coordinates[2], self.extent[2]).into(),
            false => 0,
        };
        let corners = [(0, 1), (1, 1), (1, 0), (0, 0)];
        let tap = |(right, up)| Tap {
            address: self.wrapped(sampler, [x + right, y + up, z], directions),
            share: 1.0,
        };
        corners.map(tap).to_vec()
    }
}

/// The sum of texels by their shares: floats, or the one integer texel that a filter takes.
pub(crate) fn mixed(is_integer: bool, texels: &[(Texel, f32)]) -> Texel {
    if is_integer {
        return texels.first().map_or([0; 4], |(texel, _)| *texel);
    }
    let mut sum = [0f32; 4];
    for (texel, share) in texels {
        for (to, component) in sum.iter_mut().zip(texel) {
            *to += f32::from_bits(*component) * share;
        }
    }
    sum.map(f32::to_bits)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::image::Format;

    #[test]
    fn descriptors_come_back() {
        for filter in ["linear", "nearest"] {
            for (outside, _) in OUTSIDE {
                let sampler = Sampler::by_name(&format!("{filter},{outside}")).unwrap();
                assert_eq!(Sampler::described(&sampler.descriptor()), Some(sampler));
            }
        }
        assert_eq!(Sampler::described(&[0; 4]), None);
        assert_eq!(Sampler::by_name("linear"), None);
    }

    #[test]
    fn texels_outside_are_those_of_the_sampler() {
        let sampler = |outside| Sampler {
            linear: false,
            outside,
        };
        let row = |outside| (-5..9).map(move |at| sampler(outside).wrapped(at, 4));
        let of = |numbers: [u32; 14]| numbers.map(Some).to_vec();
        assert_eq!(
            row(Outside::Repeat).collect::<Vec<_>>(),
            of([3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0])
        );
        assert_eq!(
            row(Outside::Mirror).collect::<Vec<_>>(),
            of([3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0])
        );
        assert_eq!(
            row(Outside::Edge).collect::<Vec<_>>(),
            of([0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3])
        );
        assert_eq!(row(Outside::Border).filter(Option::is_none).count(), 10);
    }

    #[test]
    fn coordinates_that_are_no_numbers_take_some_texel() {
        let image = Image {
            base: 0,
            extent: [4, 2, 1],
            format: Format::by_name("r8").unwrap(),
            is_buffer: false,
        };
        let directions = Directions {
            count: 2,
            layered: true,
        };
        for filter in ["linear", "nearest"] {
            for (outside, _) in OUTSIDE {
                let sampler = Sampler::by_name(&format!("{filter},{outside}")).unwrap();
                for far in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -1e30] {
                    let taps = image.taps(sampler, [far; 3], directions);
                    assert_eq!(taps.iter().map(|tap| tap.share).sum::<f32>(), 1.0);
                    assert_eq!(image.around(sampler, [far; 3], directions).len(), 4);
                }
            }
        }
    }

    #[test]
    fn shares_are_those_of_the_places_between_texels() {
        let image = Image {
            base: 0,
            extent: [4, 2, 1],
            format: Format::by_name("r8").unwrap(),
            is_buffer: false,
        };
        let sampler = Sampler::by_name("linear,border").unwrap();
        let directions = Directions {
            count: 2,
            layered: false,
        };
        // A quarter of a texel right of the middle of the second one, at the lower edge.
        let taps = image.taps(sampler, [0.4375, 0.0, 0.0], directions);
        let taps: Vec<(Option<u64>, f32)> = taps.iter().map(|t| (t.address, t.share)).collect();
        let expected = [
            (None, 0.375),
            (None, 0.125),
            (Some(1), 0.375),
            (Some(2), 0.125),
        ];
        assert_eq!(taps, expected);
        let four = image.around(sampler, [0.5, 0.5, 0.0], directions);
        let four: Vec<Option<u64>> = four.iter().map(|tap| tap.address).collect();
        assert_eq!(four, [Some(5), Some(6), Some(2), Some(1)]);
    }
}
