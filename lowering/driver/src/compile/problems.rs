//! The problems of one compilation so far, located in the module that the user gave.

use crate::failure::Failure;
use splitbar_passes::diagnostic::{Diagnostics, Location};
use splitbar_passes::module::{Declarations, WordOffset, synchronizes};
use splitbar_passes::transform::SourceMap;
use std::collections::BTreeMap;

/// The problems of one compilation. Passes make other modules of the one that was given; users know
/// only their own, so every problem is led back to that one.
#[derive(Clone)]
pub(crate) struct Problems<'p> {
    given: &'p Declarations<'p>,
    /// Where the instructions of the module that is looked at now came from, if it is not the one
    /// that was given.
    source_map: Option<&'p SourceMap>,
    found: Diagnostics,
}

impl<'p> Problems<'p> {
    /// Of the module `given`, with what was found when it was read.
    pub(crate) fn new(given: &'p Declarations<'p>, found: Diagnostics) -> Self {
        Problems {
            given,
            source_map: None,
            found,
        }
    }

    /// From now on problems name words of another module, whose instructions came from the given
    /// one by `source_map`.
    pub(crate) fn map_by(&mut self, source_map: Option<&'p SourceMap>) {
        self.source_map = source_map;
    }

    /// Adds problems, and stops here if one of them is an error.
    ///
    /// # Errors
    /// All that was found so far.
    pub(crate) fn take(&mut self, found: Diagnostics) -> Result<(), Failure> {
        self.add(found);
        if self.found.has_errors() {
            Err(self.take_all().into())
        } else {
            Ok(())
        }
    }

    /// The failure that `refused` makes together with what was found before.
    pub(crate) fn and(&mut self, refused: Diagnostics) -> Failure {
        self.add(refused);
        self.take_all().into()
    }

    /// Everything that was found, sorted.
    pub(crate) fn take_all(&mut self) -> Diagnostics {
        std::mem::take(&mut self.found).sorted()
    }

    /// The word of the user's module that word `offset` of the one that is looked at comes from.
    pub(crate) fn source_word(&self, offset: WordOffset) -> Option<WordOffset> {
        match self.source_map {
            Some(source_map) => source_map.of(offset),
            None => Some(offset),
        }
    }

    /// As [`Problems::source_word`], for a barrier. One that a pass made, at the place of an
    /// instruction that is not one, comes from nowhere.
    pub(crate) fn source_barrier(&self, offset: WordOffset) -> Option<WordOffset> {
        let given = self.source_word(offset)?;
        let inst = self.given.module.at(given)?;
        synchronizes(inst).then_some(given)
    }

    /// The module that was given.
    pub(crate) fn given(&self) -> &'p Declarations<'p> {
        self.given
    }

    /// The places of words of the user's module.
    pub(crate) fn locations(&self, words: &[WordOffset]) -> BTreeMap<WordOffset, Location> {
        self.given.locations(words)
    }

    /// Adds problems, errors too.
    pub(crate) fn add(&mut self, mut found: Diagnostics) {
        for diagnostic in found.iter_mut() {
            if let (true, Some(word)) = (self.source_map.is_some(), diagnostic.location.word) {
                // Whoever found it may have located it in the module that was made; all of that is
                // told anew.
                *diagnostic.location = Location {
                    word: self.source_word(word),
                    ..Location::default()
                };
            }
        }
        self.given.locate_all(&mut found);
        self.found.extend(found);
    }
}
