//! A map whose keys are ids: a slot for each id, as ids are dense in a module.

use super::Id;
use std::collections::BTreeMap;

/// Values by id, iterated in the order in which the ids got their first value.
#[derive(Clone, Debug)]
pub(crate) struct IdMap<T> {
    /// Ids from here on have no slot: a small module may have absurd ones.
    limit: usize,
    /// By id: the place of its value in `values` plus one, 0 for none.
    slots: Vec<u32>,
    /// The same of ids without a slot.
    far: BTreeMap<Id, u32>,
    values: Vec<(Id, T)>,
}

impl<T> Default for IdMap<T> {
    fn default() -> Self {
        IdMap::new(0)
    }
}

impl<T> IdMap<T> {
    /// A map that takes at most four bytes for each id below `limit`, and more for others.
    pub(crate) fn new(limit: usize) -> Self {
        IdMap {
            limit,
            slots: Vec::new(),
            far: BTreeMap::new(),
            values: Vec::new(),
        }
    }

    /// As given to [`IdMap::new`].
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    fn place(&self, id: Id) -> Option<usize> {
        let slot = match self.slots.get(id.0 as usize) {
            Some(slot) => *slot,
            None => self.far.get(&id).copied().unwrap_or(0),
        };
        (slot as usize).checked_sub(1)
    }

    pub(crate) fn get(&self, id: Id) -> Option<&T> {
        let (_, value) = self.values.get(self.place(id)?)?;
        Some(value)
    }

    /// Gives `id` a value; one that it had is replaced.
    pub(crate) fn insert(&mut self, id: Id, value: T) {
        if let Some(old) = self.place(id).and_then(|place| self.values.get_mut(place)) {
            old.1 = value;
            return;
        }
        self.values.push((id, value));
        // A module has fewer than 2^30 words, and each value comes from one of them at least.
        let slot = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        let index = id.0 as usize;
        if index >= self.limit {
            self.far.insert(id, slot);
            return;
        }
        if index >= self.slots.len() {
            self.slots.resize(index + 1, 0);
        }
        if let Some(empty) = self.slots.get_mut(index) {
            *empty = slot;
        }
    }

    /// The values with their ids, in the order in which the ids got their first value.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Id, &T)> {
        self.values.iter().map(|(id, value)| (*id, value))
    }
}

impl<T: Default> IdMap<T> {
    /// The value of `id`, the default if it had none.
    pub(crate) fn or_default(&mut self, id: Id) -> Option<&mut T> {
        if self.place(id).is_none() {
            self.insert(id, T::default());
        }
        let place = self.place(id)?;
        self.values.get_mut(place).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_with_and_without_a_slot() {
        let mut map = IdMap::new(10);
        for id in [7, 1_000_000_000, 3, 9, 10] {
            map.insert(Id(id), id);
        }
        map.insert(Id(3), 4);
        assert!(map.slots.len() <= 10);
        assert_eq!(
            map.iter()
                .map(|(id, value)| (id.0, *value))
                .collect::<Vec<_>>(),
            [
                (7, 7),
                (1_000_000_000, 1_000_000_000),
                (3, 4),
                (9, 9),
                (10, 10)
            ]
        );
        assert_eq!(
            (map.get(Id(10)), map.get(Id(8)), map.get(Id(11))),
            (Some(&10), None, None)
        );
    }
}
