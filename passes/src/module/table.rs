//! Tables with an entry for each block of a function, or for each of other things that are numbered
//! from 0 on. What is looked up is the thing itself, so no table can be asked with the number of
//! something else.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// Something that has a number: those of a kind are numbered from 0 on, without gaps.
pub trait Key: Copy {
    /// The one with the number `index`.
    fn new(index: usize) -> Self;

    /// Its number.
    fn index(self) -> usize;
}

/// A table with an entry of type `T` for each `K`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table<K, T> {
    entries: Vec<T>,
    keys: PhantomData<K>,
}

impl<K, T> Default for Table<K, T> {
    fn default() -> Self {
        Table::from(Vec::new())
    }
}

impl<K: Key, T> Table<K, T> {
    /// A table of `len` entries, each of them `value`.
    pub fn filled(len: usize, value: T) -> Self
    where
        T: Clone,
    {
        Table::from(vec![value; len])
    }

    /// An empty table with room for `len` entries.
    pub fn with_capacity(len: usize) -> Self {
        Table::from(Vec::with_capacity(len))
    }

    /// Adds the entry of the next key. The key.
    pub fn push(&mut self, entry: T) -> K {
        let key = K::new(self.entries.len());
        self.entries.push(entry);
        key
    }

    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry of `key`, if it has one.
    #[inline]
    pub fn get(&self, key: K) -> Option<&T> {
        self.entries.get(key.index())
    }

    /// The entry of `key`, if it has one, to change it.
    #[inline]
    pub fn get_mut(&mut self, key: K) -> Option<&mut T> {
        self.entries.get_mut(key.index())
    }

    /// The entries with their keys.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &T)> + ExactSizeIterator + Clone {
        (0..self.len()).map(K::new).zip(&self.entries)
    }

    /// The entries with their keys, to change them.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (K, &mut T)> + ExactSizeIterator {
        (0..self.len()).map(K::new).zip(&mut self.entries)
    }

    /// The entries without their keys.
    pub fn values(&self) -> std::slice::Iter<'_, T> {
        self.entries.iter()
    }

    /// The entries without their keys, to change them.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.entries.iter_mut()
    }

    /// The entries without the table.
    pub fn into_values(self) -> std::vec::IntoIter<T> {
        self.entries.into_iter()
    }
}

impl<K, T> From<Vec<T>> for Table<K, T> {
    /// The table of `entries`, which are in the order of their keys.
    fn from(entries: Vec<T>) -> Self {
        Table {
            entries,
            keys: PhantomData,
        }
    }
}

impl<K, T, const N: usize> From<[T; N]> for Table<K, T> {
    /// The table of `entries`, which are in the order of their keys.
    fn from(entries: [T; N]) -> Self {
        Table::from(Vec::from(entries))
    }
}

impl<K, T> FromIterator<T> for Table<K, T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        Table::from(Vec::from_iter(entries))
    }
}

impl<K: Key, T> Index<K> for Table<K, T> {
    type Output = T;

    #[inline]
    fn index(&self, key: K) -> &T {
        &self.entries[key.index()]
    }
}

impl<K: Key, T> IndexMut<K> for Table<K, T> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut T {
        &mut self.entries[key.index()]
    }
}

#[cfg(test)]
mod tests {
    use crate::module::{BlockIndex, BlockMap};

    #[test]
    fn entries_are_found_by_their_keys() {
        let mut table = BlockMap::filled(2, 'a');
        let last = table.push('b');
        assert_eq!((last, table.len()), (BlockIndex::new(2), 3));
        table[BlockIndex::ENTRY] = 'c';
        assert_eq!(table, BlockMap::from(['c', 'a', 'b']));
        assert_eq!((table[last], table.get(last)), ('b', Some(&'b')));
        assert_eq!(table.get(BlockIndex::new(3)), None);
        assert_eq!(table.get_mut(BlockIndex::new(3)), None);
    }

    #[test]
    fn entries_come_in_the_order_of_their_keys() {
        let mut table: BlockMap<u32> = (10..13).collect();
        for (block, entry) in table.iter_mut() {
            *entry += block.index() as u32;
        }
        table.values_mut().for_each(|entry| *entry *= 2);
        let found: Vec<_> = table
            .iter()
            .map(|(block, entry)| (block.index(), *entry))
            .collect();
        assert_eq!(found, [(0, 20), (1, 24), (2, 28)]);
        assert!(table.values().eq(&[20, 24, 28]));
        assert!(table.into_values().eq([20, 24, 28]));
    }

    #[test]
    fn a_new_table_is_empty() {
        let table: BlockMap<u8> = BlockMap::default();
        assert!(table.is_empty() && table.iter().next().is_none());
        assert_eq!(table, BlockMap::with_capacity(4));
    }
}
