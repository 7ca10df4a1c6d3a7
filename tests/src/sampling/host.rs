//! Sampling on the host, written independently of the simulator.

/// The mip levels and layers of an image, in addition to the position of a texel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Mip levels.
    pub count: u8,
    /// The number of dimensions that have half the texels in the next level; layers follow them.
    pub directions: u8,
    /// Samples of a texel.
    pub samples: u8,
}

/// An image of one component whose texels are whole numbers that say where they lie.
#[derive(Debug)]
pub struct Host<'c> {
    extent: [u32; 3],
    levels: Levels,
    sampler: &'c str,
    linear: bool,
    outside: &'c str,
}

impl<'c> Host<'c> {
    /// An image as a sampler sees it; both as a case describes them.
    pub(super) fn new(extent: [u32; 3], levels: Levels, sampler: &'c str) -> Host<'c> {
        let mut words = sampler.split(',');
        Host {
            extent,
            levels,
            sampler,
            linear: words.next() == Some("linear"),
            outside: words.next().unwrap_or("edge"),
        }
    }

    /// The extent of a level.
    pub(super) fn extent(&self, level: u32) -> [i64; 3] {
        let mut extent = self.extent.map(i64::from);
        for size in extent.iter_mut().take(self.levels.directions.into()) {
            *size = (*size >> level).max(1);
        }
        extent
    }

    /// A texel: its number, 1024 apart by level.
    pub(super) fn texel(&self, [x, y, z]: [i64; 3], level: u32) -> f32 {
        let [width, height, _] = self.extent(level);
        ((z * height + y) * width + x + 1024 * i64::from(level)) as f32
    }

    /// The image as memory has it.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for level in 0..self.levels.count.into() {
            let [width, height, depth] = self.extent(level);
            for z in 0..depth {
                for y in 0..height {
                    for x in 0..width {
                        for sample in 0..self.levels.samples {
                            let value = self.texel([x, y, z], level) + 0.25 * f32::from(sample);
                            bytes.extend(value.to_le_bytes());
                        }
                    }
                }
            }
        }
        bytes
    }

    /// A texel by numbers that may lie outside in the first `directions`.
    pub(super) fn wrapped(&self, mut at: [i64; 3], level: u32, directions: usize) -> f32 {
        let extent = self.extent(level);
        for (at, size) in at.iter_mut().zip(extent).take(directions) {
            *at = match self.outside {
                "repeat" => at.rem_euclid(size),
                "edge" => (*at).clamp(0, size - 1),
                "mirror" => {
                    let within = at.rem_euclid(2 * size);
                    if within < size {
                        within
                    } else {
                        2 * size - 1 - within
                    }
                }
                _ if (0..size).contains(at) => *at,
                _ => return 0.0,
            };
        }
        self.texel(at, level)
    }

    /// Filters one level of the texels of `of` at a place; in the coordinates, the layer follows
    /// the dimensions.
    pub(super) fn filtered(
        &self,
        place: [f32; 3],
        level: u32,
        directions: usize,
        offset: [i64; 3],
        of: impl Fn(f32) -> f32,
    ) -> f32 {
        let extent = self.extent(level);
        let (mut base, mut share) = ([0i64; 3], [0f32; 3]);
        for index in 0..3 {
            if index >= directions {
                base[index] = (place[index].round_ties_even() as i64).clamp(0, extent[index] - 1);
                continue;
            }
            let at = place[index] * extent[index] as f32;
            let at = if self.linear { at - 0.5 } else { at };
            base[index] = at.floor() as i64 + offset[index];
            share[index] = if self.linear { at - at.floor() } else { 0.0 };
        }
        let mut sum = 0.0;
        for number in 0..1usize << directions {
            let (mut at, mut weight) = (base, 1.0);
            for index in 0..directions {
                let upper = number >> index & 1;
                at[index] += upper as i64;
                weight *= if upper == 1 {
                    share[index]
                } else {
                    1.0 - share[index]
                };
            }
            if weight != 0.0 {
                sum += weight * of(self.wrapped(at, level, directions));
            }
        }
        sum
    }

    /// The same at a level of detail between the levels.
    pub(super) fn at_detail(&self, place: [f32; 3], detail: f32, directions: usize) -> f32 {
        let last = f32::from(self.levels.count - 1);
        let detail = detail.clamp(0.0, last);
        let of = |level: f32| self.filtered(place, level as u32, directions, [0; 3], |t| t);
        if self.sampler.contains("mip-linear") {
            let share = detail - detail.floor();
            let lower = (1.0 - share) * of(detail.floor());
            return if share == 0.0 {
                lower
            } else {
                lower + share * of(detail.floor() + 1.0)
            };
        }
        of((detail + 0.5).ceil() - 1.0)
    }

    /// The four texels around a place of a plane, each moved.
    pub(super) fn around(&self, place: [f32; 3], offsets: [[i64; 2]; 4]) -> [[f32; 4]; 4] {
        let [width, height, depth] = self.extent(0);
        let x = (place[0] * width as f32 - 0.5).floor() as i64;
        let y = (place[1] * height as f32 - 0.5).floor() as i64;
        let z = (place[2].round_ties_even() as i64).clamp(0, depth - 1);
        offsets.map(|[right, up]| {
            [(0, 1), (1, 1), (1, 0), (0, 0)]
                .map(|(a, b)| self.wrapped([x + a + right, y + b + up, z], 0, 2))
        })
    }
}
