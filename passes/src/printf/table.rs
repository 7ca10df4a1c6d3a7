//! The meaning of the numbers in records: the calls of a kernel, and its strings.

use super::Argument;
use std::collections::BTreeMap;

/// A printf: its format string, and what it puts into a record. Calls with the same of both are
/// one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// The format string, without the zero byte at its end.
    pub format: Vec<u8>,
    /// The arguments that its conversions take.
    pub arguments: Vec<Argument>,
}

/// The calls and strings of a kernel, each by its number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    calls: Numbered<Call>,
    strings: Numbered<Vec<u8>>,
}

impl Table {
    /// The number of `call`, which is added if it is new.
    pub fn call(&mut self, call: Call) -> u32 {
        self.calls.number(call)
    }

    /// The number of the string `text`, which is added if it is new.
    pub fn string(&mut self, text: Vec<u8>) -> u32 {
        self.strings.number(text)
    }

    /// The calls, in the order of their numbers.
    pub fn calls(&self) -> &[Call] {
        &self.calls.all
    }

    /// The strings, in the order of their numbers, without the zero bytes at their ends.
    pub fn strings(&self) -> &[Vec<u8>] {
        &self.strings.all
    }
}

/// Values in the order in which they came, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Numbered<T> {
    all: Vec<T>,
    numbers: BTreeMap<T, u32>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered {
            all: Vec::new(),
            numbers: BTreeMap::new(),
        }
    }
}

impl<T: Clone + Ord> Numbered<T> {
    fn number(&mut self, value: T) -> u32 {
        let next = self.all.len() as u32;
        let all = &mut self.all;
        *self.numbers.entry(value).or_insert_with_key(|value| {
            all.push(value.clone());
            next
        })
    }
}
