//! The places of what a plan names, in the module that was given.

use super::problems::Problems;
use serde::{Serialize, Serializer};
use splitbar_passes::diagnostic::Location;
use splitbar_passes::diagnostic::json::{Place, WordPlace};
use splitbar_passes::module::WordOffset;
use splitbar_plan::EntryPlan;
use std::collections::{BTreeMap, BTreeSet};

/// The places of the instructions that the plan of one entry point names. As JSON they are a list
/// of `word`, in the given module, and the place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanPlaces {
    /// The word of the given module by the word of the planned one.
    given: BTreeMap<WordOffset, WordOffset>,
    /// The places by the word of the given module.
    places: BTreeMap<WordOffset, Location>,
}

impl PlanPlaces {
    /// The places of the barriers and copies of `plan`, and of the words `more` of the given
    /// module.
    pub(crate) fn new(
        plan: &EntryPlan,
        more: impl Iterator<Item = WordOffset>,
        problems: &Problems<'_>,
    ) -> PlanPlaces {
        let sites: BTreeSet<WordOffset> = plan.sites.iter().map(|site| site.offset).collect();
        let given_word = |word| {
            if sites.contains(&word) {
                problems.source_barrier(word)
            } else {
                problems.source_word(word)
            }
        };
        let steps = plan
            .before_instruction
            .keys()
            .chain(plan.at_instruction.keys());
        let others = steps.chain(plan.copies.keys()).chain(plan.at_return.keys());
        let words = sites.iter().chain(others);
        let given: BTreeMap<WordOffset, WordOffset> = words
            .filter_map(|word| Some((*word, given_word(*word)?)))
            .collect();
        let mut words: Vec<WordOffset> = given.values().copied().chain(more).collect();
        words.sort_unstable();
        words.dedup();
        PlanPlaces {
            places: problems.locations(&words),
            given,
        }
    }

    /// The word of the given module that the instruction at a word of the planned one came from.
    pub fn given_word(&self, planned: WordOffset) -> Option<WordOffset> {
        self.given.get(&planned).copied()
    }

    /// The place of a word of the given module.
    pub fn of_given(&self, word: WordOffset) -> Option<&Location> {
        self.places.get(&word)
    }

    /// The place of a word of the planned module.
    pub fn of_planned(&self, word: WordOffset) -> Option<&Location> {
        self.of_given(self.given_word(word)?)
    }

    /// All places, by the word of the given module.
    pub fn iter(&self) -> impl Iterator<Item = (WordOffset, &Location)> {
        self.places.iter().map(|(word, location)| (*word, location))
    }

    /// Returns true if nothing has a place.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// A word of the given module for people: its position in the source where it has one.
    pub fn text(&self, word: WordOffset) -> String {
        let source = self.of_given(word).and_then(Location::source_text);
        match source {
            Some(source) => format!("{source} (word {word})"),
            None => format!("word {word}"),
        }
    }
}

impl Serialize for PlanPlaces {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|(word, location)| WordPlace {
            word,
            place: Place::from(location),
        }))
    }
}
