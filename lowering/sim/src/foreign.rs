//! Knowledge about other clusters: a time for each of their agents.
//!
//! Many clocks know the same of other clusters, so it is shared until it changes. Of the clusters
//! that began last the times are known; those of older ones, which have nearly always ended, are
//! forgotten, and all that they did counts as known: what a clock takes does not grow with the
//! launch, and nothing is reported in error.

use crate::times::{Time, covers, join};
use std::sync::Arc;

/// Clusters whose times are known.
const EXACT: usize = 64;

/// What is known of other clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Foreign(Option<Arc<Known>>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    /// By cluster, in ascending order: a short list is copied faster than a tree.
    times: Vec<(u32, Arc<[Time]>)>,
    /// A bit for each cluster of the launch of which everything is known.
    whole: Vec<u64>,
}

impl Foreign {
    /// The time up to which an agent of cluster `cluster` is known; 0 where nothing is.
    pub(crate) fn of(&self, cluster: u32, agent: u16) -> Time {
        let Some(known) = &self.0 else { return 0 };
        if known.is_whole(cluster) {
            return Time::MAX;
        }
        let times = known.of(cluster);
        times
            .and_then(|times| times.get(usize::from(agent)).copied())
            .unwrap_or(0)
    }

    /// Returns true if all that `other` knows is known.
    pub(crate) fn covers(&self, other: &Foreign) -> bool {
        match (&self.0, &other.0) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(mine), Some(its)) => Arc::ptr_eq(mine, its) || mine.covers(its),
        }
    }

    /// Learns all that `other` knows.
    pub(crate) fn join(&mut self, other: &Foreign) {
        let Some(its) = &other.0 else {
            return; // it knows nothing
        };
        match &mut self.0 {
            Some(mine) if Arc::ptr_eq(mine, its) || mine.covers(its) => {}
            Some(mine) if !its.covers(mine) => Arc::make_mut(mine).join(its),
            mine => *mine = Some(Arc::clone(its)),
        }
    }

    /// Learns the times of the agents of cluster `cluster`.
    pub(crate) fn learn(&mut self, cluster: u32, times: &[Time]) {
        let known = Arc::make_mut(self.0.get_or_insert_default());
        known.learn(cluster, &times.into());
        known.forget();
    }
}

impl Known {
    fn is_whole(&self, cluster: u32) -> bool {
        let (word, bit) = place(cluster);
        self.whole.get(word).is_some_and(|w| w & bit != 0)
    }

    fn of(&self, cluster: u32) -> Option<&Arc<[Time]>> {
        let at = self.times.binary_search_by_key(&cluster, |known| known.0);
        Some(&self.times.get(at.ok()?)?.1)
    }

    fn covers(&self, other: &Known) -> bool {
        covers(&self.whole, &other.whole, |mine, its| its & !mine == 0)
            && other.times.iter().all(|(cluster, its)| {
                self.is_whole(*cluster) || self.of(*cluster).is_some_and(|mine| at_least(mine, its))
            })
    }

    fn join(&mut self, other: &Known) {
        join(&mut self.whole, &other.whole, |mine, its| *mine |= its);
        for (cluster, its) in &other.times {
            self.learn(*cluster, its);
        }
        self.forget();
    }

    fn learn(&mut self, cluster: u32, its: &Arc<[Time]>) {
        let at = self.times.binary_search_by_key(&cluster, |known| known.0);
        let mine = match at {
            Ok(at) => self.times.get_mut(at),
            Err(at) => {
                self.times.insert(at, (cluster, Arc::clone(its)));
                return;
            }
        };
        if let Some((_, mine)) = mine.filter(|(_, mine)| !at_least(mine, its)) {
            let mut all = mine.to_vec();
            join(&mut all, its, |mine, its| *mine = (*mine).max(its));
            *mine = all.into();
        }
    }

    /// Keeps the times of the last clusters alone.
    fn forget(&mut self) {
        let whole = &self.whole;
        let known = |cluster: u32| {
            whole
                .get(place(cluster).0)
                .is_some_and(|w| w & place(cluster).1 != 0)
        };
        self.times.retain(|(cluster, _)| !known(*cluster));
        let old = self.times.len().saturating_sub(EXACT);
        for (cluster, _) in self.times.drain(..old) {
            let (word, bit) = place(cluster);
            if self.whole.len() <= word {
                self.whole.resize(word + 1, 0);
            }
            if let Some(w) = self.whole.get_mut(word) {
                *w |= bit;
            }
        }
    }
}

/// The word and the bit of a cluster.
fn place(cluster: u32) -> (usize, u64) {
    (cluster as usize / 64, 1 << (cluster % 64))
}

fn at_least(mine: &Arc<[Time]>, its: &Arc<[Time]>) -> bool {
    Arc::ptr_eq(mine, its) || covers(mine, its, |mine, its| mine >= its)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_known_up_to_what_was_learnt() {
        let mut a = Foreign::default();
        assert_eq!(a.of(70, 1), 0);
        a.learn(70, &[0, 3]);
        a.learn(70, &[2, 1]);
        assert_eq!((a.of(70, 0), a.of(70, 1), a.of(6, 1)), (2, 3, 0));
        let mut b = Foreign::default();
        b.learn(6, &[1]);
        assert!(!b.covers(&a) && !a.covers(&b));
        b.join(&a);
        assert!(b.covers(&a) && !a.covers(&b));
        assert_eq!((b.of(6, 0), b.of(70, 1)), (1, 3));
    }

    #[test]
    fn of_old_clusters_everything_counts_as_known() {
        let mut a = Foreign::default();
        for cluster in 0..1000 {
            a.learn(cluster, &[5]);
        }
        assert_eq!((a.of(0, 0), a.of(1000, 0)), (Time::MAX, 0));
        assert_eq!(
            (a.of(999 - EXACT as u32, 0), a.of(1000 - EXACT as u32, 0)),
            (Time::MAX, 5)
        );
        let mut b = Foreign::default();
        b.learn(0, &[5]);
        assert!(a.covers(&b) && !b.covers(&a));
        b.join(&a);
        assert_eq!((&a, b.of(0, 0)), (&b, Time::MAX));
    }
}
