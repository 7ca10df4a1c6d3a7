//! The places of the instructions of a module, for commands whose results name its words: the
//! position in the source if the module has it, else function, block and instruction.

use splitbar_passes::diagnostic::json::Place;
use splitbar_passes::diagnostic::{Diagnostics, Location, WordOffset};
use splitbar_passes::module::{Declarations, Module};
use std::collections::BTreeMap;

/// The places of some words.
#[derive(Debug, Default)]
pub(super) struct Places(BTreeMap<u32, Location>);

impl Places {
    /// The places of `words` in `module`; none where there is no module.
    pub(super) fn of(module: Option<&[u8]>, words: impl IntoIterator<Item = u32>) -> Places {
        let Some(module) = module.and_then(|bytes| Module::parse(bytes).ok()) else {
            return Places::default();
        };
        // A module that was compiled has no problem here; another one has as many places as it can.
        let declarations = Declarations::new(&module, &mut Diagnostics::new());
        let mut words: Vec<WordOffset> = words.into_iter().map(WordOffset::new).collect();
        words.sort_unstable();
        words.dedup();
        let locations = declarations.locations(&words).into_iter();
        Places(locations.map(|(word, at)| (word.get(), at)).collect())
    }

    /// The place of a word.
    pub(super) fn location(&self, word: u32) -> Option<&Location> {
        self.0.get(&word)
    }

    /// The place of a word in a line of text, with the line of the source where the module carries
    /// it.
    pub(super) fn text(&self, word: u32) -> Option<String> {
        let Some(location) = self.0.get(&word) else {
            return Some(format!("SPIR-V word {word}"));
        };
        let line = location
            .source
            .as_ref()
            .and_then(|source| source.text.as_ref());
        Some(match line {
            Some(line) => format!("{location}: `{}`", line.trim().escape_debug()),
            None => location.to_string(),
        })
    }

    /// The position of a word in the source, with the line where the module carries it.
    pub(super) fn source(&self, word: u32) -> Option<String> {
        self.0.get(&word)?.source_text()
    }

    /// The place of a word, for JSON.
    pub(super) fn json(&self, word: Option<u32>) -> Option<Place<'_>> {
        self.0.get(&word?).map(Place::from)
    }
}
