//! The taps of a sampler: texels with their weights, and their combination.

use super::cube::around_edges;
use super::level::levels;
use super::{Compare, Directions, Level, Sampler};
use crate::image::{Format, Image, Meaning, Texel};

/// A texel that is taken: where it lies, or a border of zeros, and its share.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Tap {
    pub(crate) address: Option<u64>,
    pub(crate) share: f32,
}

/// What an instruction asks of a sampler.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Request {
    /// The coordinates; the layer, or the number of the face, is the last.
    pub(crate) at: [f32; 3],
    pub(crate) directions: Directions,
    pub(crate) level: Level,
    /// Texels that are added.
    pub(crate) offset: [i32; 3],
}

/// The number of the texel that `place` lies in, in texels from the first one; no coordinates are
/// so far away that numbers beside it are none.
fn number(place: f32) -> i64 {
    const FARTHEST: f32 = (1u64 << 40) as f32;
    place.floor().clamp(-FARTHEST, FARTHEST) as i64
}

/// The number of the layer that `coordinate` names, of so many.
fn layer(coordinate: f32, count: u32) -> u32 {
    (coordinate.round_ties_even() as u32).min(count.saturating_sub(1))
}

/// Texels by number in each direction, or in a layer or on a face.
#[derive(Copy, Clone)]
struct Numbers([i64; 3]);

impl Request {
    /// Coordinates in texels.
    fn places(&self, sampler: Sampler, extent: [u32; 3]) -> [f32; 3] {
        let mut at = self.at;
        if sampler.normalized {
            for (at, size) in at.iter_mut().zip(extent).take(self.directions.count.into()) {
                *at *= size as f32;
            }
        }
        at
    }

    /// The lower one of the two texels around the coordinates in each direction, with the offset,
    /// the layer behind them, and the shares of the upper ones.
    fn around(&self, sampler: Sampler, extent: [u32; 3]) -> (Numbers, [f32; 3]) {
        let places = self.places(sampler, extent);
        let (mut base, mut shares) = ([0i64; 3], [0f32; 3]);
        let count = usize::from(self.directions.count.clamp(1, 3));
        for index in 0..count {
            let place = places[index] - 0.5;
            let share = place - place.floor();
            base[index] = number(place) + i64::from(self.offset[index]);
            shares[index] = if share.is_finite() { share } else { 0.0 };
        }
        self.set_layer(&mut base, extent);
        (Numbers(base), shares)
    }

    /// The texel that the coordinates lie in.
    fn nearest(&self, sampler: Sampler, extent: [u32; 3]) -> Numbers {
        let places = self.places(sampler, extent);
        let mut base = [0i64; 3];
        let count = usize::from(self.directions.count.clamp(1, 3));
        for index in 0..count {
            base[index] = number(places[index]) + i64::from(self.offset[index]);
        }
        // The far edge of a face belongs to it.
        if self.directions.cube {
            for (at, size) in base.iter_mut().zip(extent).take(2) {
                *at = (*at).clamp(0, i64::from(size) - 1);
            }
        }
        self.set_layer(&mut base, extent);
        Numbers(base)
    }

    fn set_layer(&self, base: &mut [i64; 3], extent: [u32; 3]) {
        let count = usize::from(self.directions.count.clamp(1, 3));
        if self.directions.layered
            && let (Some(to), Some(at), Some(size)) =
                (base.get_mut(count), self.at.get(count), extent.get(count))
        {
            *to = layer(*at, *size).into();
        }
    }
}

impl Image {
    /// Where the texel of these numbers lies, each wrapped, of a level; `None`: the border. The
    /// outer `None`: a corner of a cube, where there is none.
    fn wrapped(
        &self,
        sampler: Sampler,
        Numbers(at): Numbers,
        directions: Directions,
        level: u32,
    ) -> Option<Option<u64>> {
        let extent = self.extent_of(level).unwrap_or([1; 3]);
        let mut texel = [0; 3];
        if directions.cube {
            let (cube, face) = (at[2].div_euclid(6), at[2].rem_euclid(6));
            let (face, [x, y]) = around_edges(face as u32, [at[0], at[1]], extent[0].into())?;
            texel = [x as u32, y as u32, (6 * cube) as u32 + face];
            return Some(self.texel_of(texel, level, 0));
        }
        for (index, ((to, at), size)) in texel.iter_mut().zip(at).zip(extent).enumerate() {
            *to = if index < usize::from(directions.count) {
                match sampler.wrapped(at, size.into()) {
                    Some(inside) => inside,
                    None => return Some(None),
                }
            } else {
                at as u32
            };
        }
        Some(self.texel_of(texel, level, 0))
    }

    /// What the filter takes.
    pub(crate) fn taps(&self, sampler: Sampler, request: Request) -> Vec<Tap> {
        let directions = request.directions;
        let count = usize::from(directions.count.clamp(1, 3));
        let sizes = self.extent.map(|size| size as f32);
        let detail = request.level.of_detail(sizes, count);
        let mut taps = Vec::new();
        for (level, share) in levels(detail, self.levels.count, sampler.mips) {
            let extent = self.extent_of(level).unwrap_or([1; 3]);
            if !sampler.linear {
                let texel = request.nearest(sampler, extent);
                let address = self.wrapped(sampler, texel, directions, level).flatten();
                taps.push(Tap { address, share });
                continue;
            }
            let (Numbers(base), shares) = request.around(sampler, extent);
            let (mut found, mut corner) = (Vec::new(), 0.0);
            for number in 0..1usize << count {
                let (mut at, mut share) = (base, share);
                for index in 0..count {
                    let upper = number >> index & 1 == 1;
                    at[index] += i64::from(upper);
                    share *= if upper {
                        shares[index]
                    } else {
                        1.0 - shares[index]
                    };
                }
                match self.wrapped(sampler, Numbers(at), directions, level) {
                    Some(address) => found.push(Tap { address, share }),
                    None => corner += share,
                }
            }
            // The three texels at a corner share what the missing fourth one has.
            let rest = corner / found.len().max(1) as f32;
            found.iter_mut().for_each(|tap| tap.share += rest);
            taps.extend(found.into_iter().filter(|tap| tap.share != 0.0));
        }
        taps
    }

    /// The four texels around the coordinates, in the order in which a gather gives them: lower
    /// left first, then counterclockwise in a picture whose second direction goes up. A missing one
    /// at the corner of a cube is its neighbour in the second direction.
    pub(crate) fn gathered(&self, sampler: Sampler, request: Request) -> Vec<Tap> {
        let (Numbers([x, y, z]), _) = request.around(sampler, self.extent);
        let corners = [(0, 1), (1, 1), (1, 0), (0, 0)];
        let wrapped = |at: [i64; 3]| self.wrapped(sampler, Numbers(at), request.directions, 0);
        let tap = |(right, up): (i64, i64)| Tap {
            address: wrapped([x + right, y + up, z])
                .or_else(|| wrapped([x + right, y + 1 - up, z]))
                .flatten(),
            share: 1.0,
        };
        corners.map(tap).to_vec()
    }
}

/// What `texel` becomes in a comparison with a reference: 1 or 0.
pub(crate) fn compared(format: Format, compare: Compare, reference: f32, texel: Texel) -> Texel {
    // Formats of fixed point have none beyond 0 and 1 to compare with.
    let reference = match format.meaning {
        Meaning::Unorm => reference.clamp(0.0, 1.0),
        _ => reference,
    };
    let [depth, ..] = texel.map(f32::from_bits);
    let holds = f32::from(u8::from(compare.holds(reference, depth)));
    [holds, 0.0, 0.0, 1.0].map(f32::to_bits)
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::image::Levels;

    fn image() -> Image {
        Image {
            base: 0,
            extent: [4, 2, 1],
            format: Format::by_name("r8").unwrap(),
            is_buffer: false,
            levels: Levels::default(),
        }
    }

    fn request(at: [f32; 3], layered: bool) -> Request {
        Request {
            at,
            directions: Directions {
                count: 2,
                layered,
                cube: false,
            },
            level: Level::Of(0.0),
            offset: [0; 3],
        }
    }

    #[test]
    fn coordinates_that_are_no_numbers_take_some_texel() {
        for filter in ["linear", "nearest"] {
            for outside in ["repeat", "mirror", "edge", "border"] {
                let sampler = Sampler::by_name(&format!("{filter},{outside}")).unwrap();
                for far in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -1e30] {
                    for cube in [false, true] {
                        let mut request = request([far; 3], true);
                        request.directions.cube = cube;
                        request.level = Level::Of(far);
                        let taps = image().taps(sampler, request);
                        let sum = taps.iter().map(|tap| tap.share).sum::<f32>();
                        assert!(sum == 1.0 || cube && sum <= 1.0, "{sum}");
                        assert_eq!(image().gathered(sampler, request).len(), 4);
                    }
                }
            }
        }
    }

    #[test]
    fn shares_are_those_of_the_places_between_texels() {
        let sampler = Sampler::by_name("linear,border").unwrap();
        // A quarter of a texel right of the middle of the second one, at the lower edge.
        let taps = image().taps(sampler, request([0.4375, 0.0, 0.0], false));
        let taps: Vec<(Option<u64>, f32)> = taps.iter().map(|t| (t.address, t.share)).collect();
        let expected = [
            (None, 0.375),
            (None, 0.125),
            (Some(1), 0.375),
            (Some(2), 0.125),
        ];
        assert_eq!(taps, expected);
        let four = image().gathered(sampler, request([0.5, 0.5, 0.0], false));
        let four: Vec<Option<u64>> = four.iter().map(|tap| tap.address).collect();
        assert_eq!(four, [Some(5), Some(6), Some(2), Some(1)]);
    }

    #[test]
    fn corners_of_cubes_have_three_texels() {
        let sampler = Sampler::by_name("linear,edge").unwrap();
        let cube = Image {
            extent: [2, 2, 6],
            ..image()
        };
        let mut corner = request([0.0, 0.0, 0.0], true);
        corner.directions.cube = true;
        let taps = cube.taps(sampler, corner);
        assert_eq!(taps.len(), 3);
        assert!(taps.iter().all(|tap| (tap.share - 1.0 / 3.0).abs() < 1e-6));
    }
}
