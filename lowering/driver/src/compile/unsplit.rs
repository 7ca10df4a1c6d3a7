//! The OpControlBarriers of the workgroup that are no split barriers though the options have
//! barriers split, each with the reason.
//!
//! The version of the module in which as many barriers as possible are split says for each barrier
//! why it has no window there ([`Fate`]). The decisions about windows come later and go first
//! where they concern a barrier.

use super::cost_model::SplitDecisions;
use super::fates::{Fate, FatesOfEntry};
use super::places::PlanPlaces;
use super::prepare::SourcePair;
use crate::internal_error::internal;
use crate::options::Options;
use serde::Serialize;
use splitbar_passes::diagnostic::Diagnostic;
use splitbar_passes::module::WordOffset;
use splitbar_plan::{Overlap, PairPlan};

/// An OpControlBarrier of the workgroup that is not split, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnsplitBarrier {
    /// Its word offset in the module that was given.
    pub word: WordOffset,
    /// True if the code has no barrier in its place; else it is a full barrier.
    pub removed: bool,
    /// True if it has become a barrier of the subgroup.
    pub narrowed: bool,
    /// Why it is not split.
    pub reason: String,
}

impl UnsplitBarrier {
    /// The outcome in words, for people.
    pub fn outcome(&self) -> &'static str {
        match (self.removed, self.narrowed) {
            (true, _) => "removed",
            (false, true) => "a barrier of the subgroup",
            (false, false) => "a full barrier",
        }
    }

    /// A line for people.
    pub(crate) fn line(&self, places: &PlanPlaces) -> String {
        let outcome = self.outcome();
        let place = places.text(self.word);
        format!("barrier at {place}: {outcome}, {}", self.reason)
    }
}

/// What is known of one entry point when its code is chosen.
#[derive(Copy, Clone)]
pub(crate) struct Outcomes<'o> {
    /// Its name.
    pub(crate) entry: &'o str,
    /// The pairs of its plan.
    pub(crate) pairs: &'o [PairPlan],
    /// The same pairs, as the given module has them.
    pub(crate) source_pairs: &'o [SourcePair],
    /// The decisions about its barriers.
    pub(crate) decisions: Option<&'o SplitDecisions>,
    /// Why the module stays as it is given, if it does.
    pub(crate) untouched: Option<&'o str>,
    /// The options.
    pub(crate) options: &'o Options,
}

impl Outcomes<'_> {
    /// The barriers of `fates` that are not split.
    ///
    /// # Errors
    /// A barrier without an outcome is a bug.
    pub(crate) fn unsplit(
        self,
        fates: Option<&FatesOfEntry>,
    ) -> Result<Vec<UnsplitBarrier>, Diagnostic> {
        let barriers = fates.into_iter().flatten();
        let outcomes =
            barriers.filter_map(|(word, fate)| self.outcome(*word, fate.as_ref()).transpose());
        outcomes.collect()
    }

    /// The outcome for the barrier at `word`; `None` if it is split.
    fn outcome(
        self,
        word: WordOffset,
        fate: Option<&Fate>,
    ) -> Result<Option<UnsplitBarrier>, Diagnostic> {
        let full = |reason: String| {
            Some(UnsplitBarrier {
                word,
                removed: false,
                narrowed: false,
                reason,
            })
        };
        let pairs = self.pairs.iter().zip(self.source_pairs);
        let mut pairs = pairs.filter(|(_, source)| source.words.contains(&word));
        let pair = pairs.clone().next().map(|(pair, _)| pair);
        if pairs.any(|(pair, _)| pair.strategy.overlap() != Overlap::Nothing) {
            return Ok(None);
        }
        let decided = || self.decisions?.at(word).filter(|barrier| !barrier.split);
        Ok(match (pair, decided(), fate) {
            _ if self.options.full_barriers.contains(&word) => {
                full("the options require a full barrier".to_owned())
            }
            (_, Some(decided), _) => full(format!("{}: {}", decided.strategy, decided.reason)),
            (Some(pair), None, _) => full(pair.reason.clone()),
            (None, None, Some(Fate::Removed(why))) => match self.untouched {
                Some(kept) => full(kept.to_owned()),
                None => Some(UnsplitBarrier {
                    word,
                    removed: true,
                    narrowed: false,
                    reason: (*why).to_owned(),
                }),
            },
            (None, None, Some(Fate::Full(why))) => full(why.clone()),
            (None, None, Some(Fate::Narrowed(why))) => Some(UnsplitBarrier {
                word,
                removed: false,
                narrowed: true,
                reason: (*why).to_owned(),
            }),
            (None, None, None) => {
                let entry = self.entry;
                let message = format!(
                    "the barrier at word {word} of entry point `{entry}` is neither split nor has it a reason"
                );
                return Err(internal(message).at_word(word));
            }
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::compile::fates::ORDERS_NOTHING;
    use crate::options::SplitBarriers;
    use splitbar_passes::diagnostic::Code;
    use splitbar_plan::Target;

    #[test]
    fn a_barrier_without_an_outcome_is_a_bug() {
        let mut options = Options::new(Target::by_name("gfx1201").unwrap());
        options.split_barriers = SplitBarriers::Auto;
        let outcomes = |untouched| Outcomes {
            entry: "main",
            pairs: &[],
            source_pairs: &[],
            decisions: None,
            untouched,
            options: &options,
        };
        let word = WordOffset::new(9);
        let fates = |fate| FatesOfEntry::from([(word, fate)]);
        let bug = outcomes(None).unsplit(Some(&fates(None))).unwrap_err();
        assert_eq!(bug.code, Code::Internal);
        let removed = fates(Some(Fate::Removed(ORDERS_NOTHING)));
        let found = outcomes(None).unsplit(Some(&removed)).unwrap();
        assert!(found[0].removed && found[0].reason == ORDERS_NOTHING);
        // The module was left as it is given after all.
        let found = outcomes(Some("fewer fit")).unsplit(Some(&removed)).unwrap();
        assert!(!found[0].removed && found[0].reason == "fewer fit");
        assert_eq!(
            found[0].line(&PlanPlaces::default()),
            "barrier at word 9: a full barrier, fewer fit"
        );
        assert_eq!(outcomes(None).unsplit(None).unwrap(), []);
    }
}
