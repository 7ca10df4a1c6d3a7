//! Lanes: which of the invocations that a wave or a warp executes together.

use std::fmt;
use std::ops::{Index, IndexMut, Shl, Shr};

/// Most lanes that a wave has.
const MOST: u8 = 64;

/// A lane, by its number in its wave.
///
/// A list with a value for each lane is indexed by it. A mask with a bit for each lane, shifted
/// right by it, has its bit lowest; a 1 shifted left by it is its mask.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lane(u8);

impl Lane {
    /// The lane with this number; of one that no lane has, the low bits count.
    #[inline]
    pub fn new(number: u32) -> Lane {
        debug_assert!(number < MOST.into(), "no wave has lane {number}");
        Lane(number as u8 % MOST)
    }

    /// The first of a set, which has a bit for each lane; `None` of an empty one.
    #[inline]
    pub(crate) fn first(set: impl Into<u64>) -> Option<Lane> {
        let number = set.into().trailing_zeros();
        (number < MOST.into()).then_some(Lane(number as u8))
    }

    /// The lanes of a wave that has so many.
    #[inline]
    pub(crate) fn all(size: u32) -> impl DoubleEndedIterator<Item = Lane> + Clone {
        (0..size).map(Lane::new)
    }

    /// Its number.
    #[inline]
    pub fn number(self) -> u32 {
        self.0.into()
    }

    /// Its number, for lists that have an entry for each lane.
    #[inline]
    pub fn index(self) -> usize {
        self.0.into()
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T, const N: usize> Index<Lane> for [T; N] {
    type Output = T;

    #[inline]
    fn index(&self, lane: Lane) -> &T {
        &self[usize::from(lane.0)]
    }
}

impl<T, const N: usize> IndexMut<Lane> for [T; N] {
    #[inline]
    fn index_mut(&mut self, lane: Lane) -> &mut T {
        &mut self[usize::from(lane.0)]
    }
}

impl Shl<Lane> for u32 {
    type Output = u32;

    #[inline]
    fn shl(self, lane: Lane) -> u32 {
        self << lane.0
    }
}

impl Shr<Lane> for u32 {
    type Output = u32;

    #[inline]
    fn shr(self, lane: Lane) -> u32 {
        self >> lane.0
    }
}

impl Shl<Lane> for u64 {
    type Output = u64;

    #[inline]
    fn shl(self, lane: Lane) -> u64 {
        self << lane.0
    }
}

impl Shr<Lane> for u64 {
    type Output = u64;

    #[inline]
    fn shr(self, lane: Lane) -> u64 {
        self >> lane.0
    }
}

/// Neighbours among the first `count` bits that are set.
pub(crate) fn runs(bits: u32, count: u32) -> impl Iterator<Item = std::ops::Range<u32>> {
    debug_assert!(count < u32::BITS, "{count} bits");
    let mut left = bits & ((1 << count.min(31)) - 1);
    std::iter::from_fn(move || {
        let start = left.trailing_zeros();
        let end = start + (left.checked_shr(start)?).trailing_ones();
        left &= u32::MAX.checked_shl(end).unwrap_or(0); // behind bit 31 there are none
        Some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_a_bit_for_each() {
        assert_eq!(Lane::first(0u32), None);
        assert_eq!(Lane::first(0x8000_0000_0000_0000u64), Some(Lane::new(63)));
        for lane in Lane::all(32) {
            assert_eq!(Lane::first(1u32 << lane), Some(lane));
            assert_eq!((1u64 << lane >> lane, u32::MAX >> lane & 1), (1, 1));
        }
    }

    #[test]
    fn a_list_has_an_entry_for_each() {
        let mut list: [u32; 64] = std::array::from_fn(|index| index as u32);
        assert!(Lane::all(64).all(|lane| list[lane] == lane.number()));
        list[Lane::new(5)] = 7;
        assert_eq!(list[5], 7);
    }
}
