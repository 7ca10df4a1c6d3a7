//! The level of detail: which mip levels are taken, and what share each has (Vulkan, "Scale Factor
//! Operation, LOD Operation and Image Level(s) Selection").

use super::Mips;

/// Where the level of detail comes from.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) enum Level {
    /// The instruction names it.
    Of(f32),
    /// From differences of coordinates.
    Gradients(Gradients),
}

/// How much coordinates grow from one invocation to the next in x and in y.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Gradients {
    pub(crate) x: [f32; 3],
    pub(crate) y: [f32; 3],
    /// The least level that may be taken.
    pub(crate) least: f32,
}

impl Level {
    /// The level of detail for an image of this extent, before it is clamped. Hardware is free to
    /// take sums for the lengths; these are lengths.
    pub(crate) fn of_detail(self, extent: [f32; 3], directions: usize) -> f32 {
        match self {
            Level::Of(level) => level,
            Level::Gradients(Gradients { x, y, least }) => {
                let length = |of: [f32; 3]| {
                    let steps = of.iter().zip(extent).take(directions);
                    let squares = steps.map(|(d, size)| (f64::from(*d) * f64::from(size)).powi(2));
                    squares.sum::<f64>().sqrt()
                };
                let level = length(x).max(length(y)).log2() as f32;
                level.max(least)
            }
        }
    }
}

/// The levels that are taken for a level of detail of an image of so many, and the share of each.
pub(super) fn levels(detail: f32, count: u8, mips: Mips) -> Vec<(u32, f32)> {
    let last = f32::from(count.max(1) - 1);
    // A NaN takes the first level.
    let detail = detail.max(0.0).min(last);
    match mips {
        Mips::Nearest => vec![(((detail + 0.5).ceil() - 1.0).max(0.0) as u32, 1.0)],
        Mips::Linear => {
            let (lower, share) = (detail.floor(), detail - detail.floor());
            match share {
                0.0 => vec![(lower as u32, 1.0)],
                _ => vec![(lower as u32, 1.0 - share), (lower as u32 + 1, share)],
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_clamped_and_mixed() {
        use Mips::{Linear, Nearest};
        for (detail, mips, expected) in [
            (-3.0, Linear, vec![(0, 1.0)]),
            (f32::NAN, Linear, vec![(0, 1.0)]),
            (f32::INFINITY, Linear, vec![(2, 1.0)]),
            (0.25, Linear, vec![(0, 0.75), (1, 0.25)]),
            (1.5, Nearest, vec![(1, 1.0)]),
            (1.75, Nearest, vec![(2, 1.0)]),
            (0.0, Nearest, vec![(0, 1.0)]),
            (9.0, Nearest, vec![(2, 1.0)]),
        ] {
            assert_eq!(levels(detail, 3, mips), expected, "{detail} {mips:?}");
        }
    }

    #[test]
    fn gradients_are_measured_in_texels() {
        let gradients = |x, y, least| Level::Gradients(Gradients { x, y, least });
        let of = |level: Level| level.of_detail([8.0, 4.0, 1.0], 2);
        let quarter = [0.25, 0.0, 0.0];
        assert_eq!(of(gradients(quarter, [0.0; 3], f32::MIN)), 1.0);
        assert_eq!(of(gradients([0.0; 3], [0.0, 1.0, 9.0], f32::MIN)), 2.0);
        assert_eq!(of(gradients([0.0; 3], [0.0; 3], 0.5)), 0.5);
    }
}
