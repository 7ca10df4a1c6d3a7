//! The place of an instruction in a module: which word it starts at.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The index of a word in a module, from 0: the header is 0 to 4, the first instruction starts at
/// 5. A module has fewer than 2^30 words.
///
/// A place is compared, printed and looked up; only readers and writers of modules and of debug
/// lines calculate with it, with [`WordOffset::get`].
#[derive(
    Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct WordOffset(u32);

impl WordOffset {
    /// The first instruction of a module, after the header.
    pub const FIRST: WordOffset = WordOffset(5);

    /// Behind every word of every module.
    pub const END: WordOffset = WordOffset(u32::MAX);

    /// The word with this index.
    #[inline]
    pub const fn new(index: u32) -> Self {
        WordOffset(index)
    }

    /// The index.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The next word.
    #[inline]
    #[must_use]
    pub const fn next(self) -> Self {
        WordOffset(self.0.saturating_add(1))
    }

    /// The distance in words from `start`; `None` if it is before `start`.
    #[inline]
    pub const fn since(self, start: WordOffset) -> Option<usize> {
        match self.0.checked_sub(start.0) {
            Some(words) => Some(words as usize),
            None => None,
        }
    }

    /// The index, for slices of a module's words.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for WordOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
