//! Matrix instructions: shapes, element types, and which lane holds which element at which place of
//! its registers.
//!
//! Sources: AMD matrix instruction calculator; instruction set manuals of CDNA3 ("Matrix Arithmetic
//! Instructions"), RDNA3 and RDNA4 ("WMMA"); waves of 64: Mesa,
//! `radv_nir_lower_cooperative_matrix`. In which lane a k lies is the same for A and B everywhere;
//! only that the two agree is visible in a result.

use crate::lane::Lane;
use crate::matrix::Element::{self, BF16, E4M3, F16, F32, F64, I8, I32};

/// How a family of instructions spreads matrices over lanes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::amdgpu) enum Family {
    /// MFMA: waves of 64 lanes, perhaps several products (blocks) at once. EXEC is ignored.
    Mfma,
    /// WMMA of gfx11: every 16 lanes hold a copy of the factors.
    Copied,
    /// WMMA of gfx11.7 and later.
    Halved,
}

/// A matrix instruction's shape.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::amdgpu) struct Shape {
    /// Rows of A and columns of B.
    pub side: u32,
    /// Products of an element of the sum.
    pub depth: u32,
    /// Products of matrices that the instruction computes.
    pub blocks: u32,
    /// The type of the elements of A and B.
    pub factor: Element,
    /// The type of the addend and the result.
    pub sum: Element,
}

/// An element of one of the matrices: `side` is the row of A, the column of B, and of a sum the
/// column.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(in crate::amdgpu) struct Spot {
    pub block: u32,
    pub side: u32,
    /// Along k for factors, the row for sums.
    pub other: u32,
}

impl Shape {
    /// Elements of A, and as many of B, in each lane of a wave of `size` lanes.
    pub(crate) fn factors(&self, family: Family, size: u32) -> u32 {
        match family {
            Family::Mfma | Family::Halved => self.side * self.depth * self.blocks / size.max(1),
            Family::Copied => self.depth,
        }
    }

    /// Elements of the sum in each lane.
    pub(crate) fn sums(&self, size: u32) -> u32 {
        self.side * self.side * self.blocks / size.max(1)
    }

    /// What a lane holds of A or B as its element `index`.
    pub(crate) fn factor(&self, family: Family, size: u32, lane: Lane, index: u32) -> Spot {
        let lane = lane.number();
        let (side, group) = (lane % self.side, lane / self.side);
        match family {
            Family::Mfma => Spot {
                block: group % self.blocks,
                side,
                other: group / self.blocks * self.factors(family, size) + index,
            },
            Family::Copied => Spot {
                block: 0,
                side,
                other: index,
            },
            Family::Halved => {
                // Neighbours along k: eight, or all that a lane has.
                let run = self.factors(family, size).min(8);
                Spot {
                    block: 0,
                    side,
                    other: index / run * (run * size / self.side) + group * run + index % run,
                }
            }
        }
    }

    /// What a lane holds of the sum as its element `index`.
    pub(crate) fn sum(&self, family: Family, size: u32, lane: Lane, index: u32) -> Spot {
        let lane = lane.number();
        let (side, group) = (lane % self.side, lane / self.side);
        let groups = size / self.side;
        let group = match (family, groups) {
            // In waves of 64, the lanes from 32 on hold the other rows of what those before hold
            // the first half of.
            (Family::Halved, 4) => group / 2 + group % 2 * 2,
            _ => group,
        };
        // Neighbouring rows in a lane; then come the rows of the next group of lanes.
        let run = match (family, self.sum) {
            (Family::Mfma, F64) | (Family::Copied, _) => 1,
            (Family::Mfma, _) => 4,
            (Family::Halved, _) => self.sums(size),
        };
        let row = (index / run * groups + group) * run + index % run;
        Spot {
            block: row / self.side,
            side,
            other: row % self.side,
        }
    }
}

const fn shape(side: u32, depth: u32, blocks: u32, factor: Element, sum: Element) -> Shape {
    Shape {
        side,
        depth,
        blocks,
        factor,
        sum,
    }
}

/// MFMA by the name of gfx908 and gfx90a, of which gfx940 and later print an underscore more and
/// the number of blocks (see [`mfma`]).
#[rustfmt::skip] // a table
const MFMA: &[(&str, Shape)] = &[
    ("f32_32x32x1f32", shape(32, 1, 2, F32, F32)), ("f32_16x16x1f32", shape(16, 1, 4, F32, F32)), ("f32_4x4x1f32", shape(4, 1, 16, F32, F32)),
    ("f32_32x32x2f32", shape(32, 2, 1, F32, F32)), ("f32_16x16x4f32", shape(16, 4, 1, F32, F32)),
    ("f32_32x32x4f16", shape(32, 4, 2, F16, F32)), ("f32_16x16x4f16", shape(16, 4, 4, F16, F32)), ("f32_4x4x4f16", shape(4, 4, 16, F16, F32)),
    ("f32_32x32x8f16", shape(32, 8, 1, F16, F32)), ("f32_16x16x16f16", shape(16, 16, 1, F16, F32)),
    ("f32_32x32x16f16", shape(32, 16, 1, F16, F32)), ("f32_16x16x32f16", shape(16, 32, 1, F16, F32)),
    ("f32_32x32x2bf16", shape(32, 2, 2, BF16, F32)), ("f32_16x16x2bf16", shape(16, 2, 4, BF16, F32)), ("f32_4x4x2bf16", shape(4, 2, 16, BF16, F32)),
    ("f32_32x32x4bf16", shape(32, 4, 1, BF16, F32)), ("f32_16x16x8bf16", shape(16, 8, 1, BF16, F32)),
    ("f32_32x32x4bf16_1k", shape(32, 4, 2, BF16, F32)), ("f32_16x16x4bf16_1k", shape(16, 4, 4, BF16, F32)), ("f32_4x4x4bf16_1k", shape(4, 4, 16, BF16, F32)),
    ("f32_32x32x8bf16_1k", shape(32, 8, 1, BF16, F32)), ("f32_16x16x16bf16_1k", shape(16, 16, 1, BF16, F32)),
    ("f32_32x32x16bf16", shape(32, 16, 1, BF16, F32)), ("f32_16x16x32bf16", shape(16, 32, 1, BF16, F32)),
    ("i32_32x32x4i8", shape(32, 4, 2, I8, I32)), ("i32_16x16x4i8", shape(16, 4, 4, I8, I32)), ("i32_4x4x4i8", shape(4, 4, 16, I8, I32)),
    ("i32_32x32x8i8", shape(32, 8, 1, I8, I32)), ("i32_16x16x16i8", shape(16, 16, 1, I8, I32)),
    ("i32_32x32x16i8", shape(32, 16, 1, I8, I32)), ("i32_16x16x32i8", shape(16, 32, 1, I8, I32)),
    ("i32_32x32x32i8", shape(32, 32, 1, I8, I32)), ("i32_16x16x64i8", shape(16, 64, 1, I8, I32)),
    ("f32_16x16x32", shape(16, 32, 1, E4M3, F32)),
    ("f64_16x16x4f64", shape(16, 4, 1, F64, F64)),
];

/// WMMA. What its 8-bit floats are, the caller has cut off.
#[rustfmt::skip] // a table
const WMMA: &[(&str, Shape)] = &[
    ("f32_16x16x16_f16", shape(16, 16, 1, F16, F32)), ("f32_16x16x16_bf16", shape(16, 16, 1, BF16, F32)),
    ("f16_16x16x16_f16", shape(16, 16, 1, F16, F16)), ("bf16_16x16x16_bf16", shape(16, 16, 1, BF16, BF16)),
    ("i32_16x16x16_iu8", shape(16, 16, 1, I8, I32)),
    ("f32_16x16x16", shape(16, 16, 1, E4M3, F32)), ("f32_16x16x64", shape(16, 64, 1, E4M3, F32)),
    ("f32_16x16x4_f32", shape(16, 4, 1, F32, F32)),
    ("f32_16x16x32_f16", shape(16, 32, 1, F16, F32)), ("f32_16x16x32_bf16", shape(16, 32, 1, BF16, F32)),
    ("f16_16x16x32_f16", shape(16, 32, 1, F16, F16)), ("bf16_16x16x32_bf16", shape(16, 32, 1, BF16, BF16)),
    ("i32_16x16x64_iu8", shape(16, 64, 1, I8, I32)),
];

/// The shape of an MFMA, by what follows `v_mfma_` in its mnemonic: `f32_16x16x16f16`,
/// `f32_32x32x4bf16_1k`, `f32_16x16x16_f16`, `f32_32x32x4_2b_f16`.
pub(in crate::amdgpu) fn mfma(name: &str) -> Option<Shape> {
    let by_name = |name: &str| MFMA.iter().find(|(n, _)| *n == name).map(|(_, s)| *s);
    if let Some(shape) = by_name(name) {
        return Some(shape);
    }
    // `sum_shape_blocks_factor` or `sum_shape_factor`: here the number of blocks tells apart what
    // `_1k` did.
    let parts: Vec<&str> = name.split('_').collect();
    let (sum, size, blocks, factor) = match *parts.as_slice() {
        [sum, size, factor] => (sum, size, 1, factor),
        [sum, size, blocks, factor] => (sum, size, blocks.strip_suffix('b')?.parse().ok()?, factor),
        _ => return None,
    };
    [
        format!("{sum}_{size}{factor}"),
        format!("{sum}_{size}{factor}_1k"),
    ]
    .iter()
    .filter_map(|name| by_name(name))
    .find(|shape| shape.blocks == blocks)
}

/// The shape of a WMMA, by what follows `v_wmma_` in its mnemonic.
pub(in crate::amdgpu) fn wmma(name: &str) -> Option<Shape> {
    WMMA.iter().find(|(n, _)| *n == name).map(|(_, s)| *s)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::collections::BTreeSet;

    /// Every element of every matrix is in exactly one place, or in as many as there are copies.
    fn check(shape: &Shape, family: Family, size: u32) {
        let copies = if family == Family::Copied {
            size / shape.side
        } else {
            1
        };
        let mut factors = BTreeSet::new();
        let mut sums = BTreeSet::new();
        for lane in Lane::all(size) {
            for index in 0..shape.factors(family, size) {
                let spot = shape.factor(family, size, lane, index);
                assert!(spot.other < shape.depth && spot.block < shape.blocks);
                factors.insert((spot.block, spot.side, spot.other));
            }
            for index in 0..shape.sums(size) {
                let spot = shape.sum(family, size, lane, index);
                assert!(spot.other < shape.side && spot.block < shape.blocks);
                sums.insert((spot.block, spot.side, spot.other));
            }
        }
        let elements = shape.side * shape.depth * shape.blocks;
        assert_eq!(factors.len() as u32, elements, "{shape:?}");
        assert_eq!(elements * copies, size * shape.factors(family, size));
        let elements = shape.side * shape.side * shape.blocks;
        assert_eq!(sums.len() as u32, elements, "{shape:?}");
    }

    #[test]
    fn lanes_hold_every_element() {
        for (_, shape) in MFMA {
            check(shape, Family::Mfma, 64);
        }
        for (_, shape) in WMMA {
            check(shape, Family::Halved, 32);
            if shape.depth == 16 {
                check(shape, Family::Halved, 64);
                check(shape, Family::Copied, 32);
                check(shape, Family::Copied, 64);
            }
        }
    }

    /// Places that the manuals give as examples.
    #[test]
    fn known_places() {
        let spot = |block, side, other| Spot { block, side, other };
        let at = Lane::new;
        let wide = mfma("f32_32x32x8f16").unwrap();
        assert_eq!(wide.factor(Family::Mfma, 64, at(33), 2), spot(0, 1, 6));
        assert_eq!(wide.sum(Family::Mfma, 64, at(33), 5), spot(0, 1, 13));
        let blocks = mfma("f32_16x16x1_4b_f32").unwrap();
        assert_eq!(blocks.factor(Family::Mfma, 64, at(35), 0), spot(2, 3, 0));
        assert_eq!(blocks.sum(Family::Mfma, 64, at(17), 9), spot(2, 1, 5));
        let double = mfma("f64_16x16x4_f64").unwrap();
        assert_eq!(double.sum(Family::Mfma, 64, at(18), 2), spot(0, 2, 9));
        let wmma = wmma("f32_16x16x16_f16").unwrap();
        assert_eq!(wmma.sum(Family::Copied, 32, at(17), 3), spot(0, 1, 7));
        assert_eq!(wmma.sum(Family::Copied, 64, at(49), 3), spot(0, 1, 15));
        assert_eq!(wmma.sum(Family::Halved, 32, at(17), 3), spot(0, 1, 11));
        assert_eq!(wmma.factor(Family::Halved, 32, at(17), 3), spot(0, 1, 11));
        // RADV: lanes 16 to 31 hold the rows from 8 on, lanes 32 to 47 those from 4 on.
        assert_eq!(wmma.sum(Family::Halved, 64, at(17), 3), spot(0, 1, 11));
        assert_eq!(wmma.sum(Family::Halved, 64, at(33), 3), spot(0, 1, 7));
        assert_eq!(wmma.sum(Family::Halved, 64, at(49), 3), spot(0, 1, 15));
    }

    #[test]
    fn both_spellings_of_a_name() {
        assert_eq!(mfma("f32_16x16x16_f16"), mfma("f32_16x16x16f16"));
        assert_eq!(mfma("f32_32x32x4_2b_bf16"), mfma("f32_32x32x4bf16_1k"));
        assert_eq!(mfma("f32_16x16x16_bf16"), mfma("f32_16x16x16bf16_1k"));
        assert_eq!(mfma("f32_16x16x32_bf16").unwrap().depth, 32);
        assert_eq!(mfma("f32_16x16x32_f8f6f4"), None);
    }
}
