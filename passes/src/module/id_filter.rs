//! A filter for instructions that may name one of a few ids. It checks their words before their
//! operands are decoded.

use super::{Id, Inst};

/// A filter for instructions that name one of a set of ids.
pub(crate) struct IdFilter {
    /// By the low bits of an id; a power of two of them, as ids themselves may be absurd.
    slots: Vec<bool>,
}

impl IdFilter {
    /// For `ids`, in a module of `words` words. Takes at most two bytes for each word.
    pub(crate) fn new(words: usize, ids: impl IntoIterator<Item = Id>) -> IdFilter {
        let mut slots = vec![false; words.max(1).next_power_of_two()];
        let mask = slots.len() - 1;
        for Id(id) in ids {
            slots[id as usize & mask] = true;
        }
        IdFilter { slots }
    }

    /// Returns true if `id` may be one of the ids. If not, it is none of them.
    #[inline]
    pub(crate) fn may_be_one(&self, Id(id): Id) -> bool {
        let mask = self.slots.len() - 1;
        self.slots[id as usize & mask]
    }

    /// Returns true if `inst` may name one of the ids as an operand. If not, it names none; if so,
    /// a word of it may still be a number that looks like an id.
    #[inline]
    pub(crate) fn may_name_one(&self, inst: Inst<'_>) -> bool {
        let mut words = inst.operands().iter();
        words.any(|word| self.may_be_one(Id(*word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::WordOffset;

    #[test]
    fn far_ids_take_no_memory() {
        let filter = IdFilter::new(6, [Id(3), Id(u32::MAX - 1)]);
        let inst = |words| Inst {
            offset: WordOffset::FIRST,
            words,
        };
        // OpStore: pointer, value.
        assert!(filter.may_name_one(inst(&[3 << 16 | 62, u32::MAX - 1, 1])));
        assert!(filter.may_name_one(inst(&[3 << 16 | 62, 1, 3])));
        assert!(!filter.may_name_one(inst(&[3 << 16 | 62, 1, 2])));
        assert_eq!(filter.slots.len(), 8);
    }
}
