//! Constants and specialization constants, evaluated.

use super::Id;
use super::constant::Constant;
use super::id_map::IdMap;
use std::collections::{BTreeMap, BTreeSet};

/// Values for specialization constants by SpecId: the bits of the scalar, a Boolean is 0 or 1.
///
/// An integer may be given zero-extended or sign-extended to 64 bits.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SpecValues(pub BTreeMap<u32, u64>);

/// Every constant of a module under given specialization values.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    pub(super) values: IdMap<Constant>,
    /// Specialization constants that were given no value, and what is computed from them.
    pub(super) defaults: BTreeSet<Id>,
}

impl Constants {
    /// None, of a module of so many words.
    pub(super) fn new(words: usize) -> Constants {
        Constants {
            values: IdMap::new(words),
            defaults: BTreeSet::new(),
        }
    }

    /// The value of `id`, if it is a constant.
    pub fn get(&self, id: Id) -> Option<&Constant> {
        self.values.get(id)
    }

    /// All constants that have a value, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (Id, &Constant)> {
        self.values.iter()
    }

    /// Returns true if the value of `id` is the default of a specialization constant that was given
    /// none, or computed from one: another run may have another value.
    pub fn is_default(&self, id: Id) -> bool {
        self.defaults.contains(&id)
    }

    /// The constants whose values are the same in every run with the given specialization values.
    #[must_use]
    pub fn without_defaults(&self) -> Constants {
        if self.defaults.is_empty() {
            return self.clone();
        }
        let mut fixed = Constants::new(self.values.limit());
        for (id, value) in self.iter().filter(|(id, _)| !self.is_default(*id)) {
            fixed.values.insert(id, value.clone());
        }
        fixed
    }

    /// The value of `id` as an unsigned number of at most 32 bits (OpConstantNull is 0).
    pub fn as_u32(&self, id: Id) -> Option<u32> {
        self.get(id)?.as_u32()
    }
}
