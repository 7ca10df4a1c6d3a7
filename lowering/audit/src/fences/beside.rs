//! Finds the synchronisation of a fence that is not part of one: an OpMemoryBarrier, or an arrive
//! or wait without an instruction of its own.
//!
//! A release before a fence counts for the next synchronisation behind it, an acquire for the one
//! before it. What stands between the two is not ordered by the fence, and of what can go around
//! the fence nothing is known: both are exempt.

use super::shape::{ControlFlowSummary, Words};
use splitbar_passes::module::{BlockIndex, WordOffset};
use std::collections::BTreeSet;

/// Most blocks that are visited for all fences of a kernel together.
const MOST_VISITS: usize = 1 << 22;

/// A synchronisation that a fence counts for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Beside {
    /// Its word.
    pub word: WordOffset,
    /// Words of what the fence does not order with it.
    pub exempt: Words,
}

/// What may be a fence's synchronisation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Syncs<'s> {
    /// Their words.
    pub all: &'s BTreeSet<WordOffset>,
    /// Those that are always executed at their places; a search ends at them.
    pub sure: &'s BTreeSet<WordOffset>,
}

/// Searches a shape, up to a limit.
pub(super) struct Searcher<'s> {
    pub shape: &'s ControlFlowSummary,
    pub visits: usize,
}

impl Searcher<'_> {
    /// Returns true if the limit was passed, so that something may not have been found.
    pub(super) fn gave_up(&self) -> bool {
        self.visits > MOST_VISITS
    }

    /// The synchronisations behind the fence at word `fence` (`forward`), or those before it.
    pub(super) fn beside(
        &mut self,
        fence: WordOffset,
        syncs: Syncs<'_>,
        forward: bool,
    ) -> Vec<Beside> {
        let shape = self.shape;
        let Some(home) = shape.block_of(fence) else {
            return Vec::new(); // control cannot reach it
        };
        let words = shape.words(home);
        let near = if forward {
            fence.next()..words.end
        } else {
            words.start..fence
        };
        let (mut found, open) = hits(syncs, near, forward);
        let mut exempt: Vec<Beside> = found
            .drain(..)
            .map(|word| Beside {
                word,
                exempt: std::iter::once(word.min(fence)..word.max(fence)).collect(),
            })
            .collect();
        if !open {
            return exempt;
        }
        let mut seen = BTreeSet::new();
        let mut todo = shape.next(home, forward).to_vec();
        while let Some(block) = todo.pop() {
            if block == home || !seen.insert(block) {
                continue;
            }
            self.visits = self.visits.saturating_add(1);
            if self.gave_up() {
                break;
            }
            let (words, open) = hits(syncs, shape.words(block), forward);
            for word in words {
                exempt.extend(self.apart(fence, home, word, block, forward));
            }
            if open {
                todo.extend(shape.next(block, forward));
            }
        }
        exempt.retain(|beside| shape.block_of(beside.word).is_some());
        exempt
    }

    /// The words of the blocks that control does not come through on the way to the synchronisation
    /// at word `sync`, or from it, without going back in a loop: the other sides of branches.
    /// Machine code lays these one after the other, and LLVM takes a fence that both sides begin
    /// with out of them.
    pub(super) fn elsewhere(&mut self, sync: WordOffset) -> Words {
        let shape = self.shape;
        self.visits = self.visits.saturating_add(2 * shape.len());
        let Some(block) = shape.block_of(sync).filter(|_| !self.gave_up()) else {
            return Words::new(); // control cannot reach it, or it takes too long
        };
        let Some(on_the_way) = shape.on_the_way(block) else {
            return Words::new(); // too many loops to say
        };
        let others = shape.all().filter(|other| !on_the_way.contains(other));
        let mut words = Words::new();
        for range in others.map(|other| shape.words(other)) {
            match words.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => words.push(range),
            }
        }
        words
    }

    /// A synchronisation in another block than the fence's.
    fn apart(
        &mut self,
        fence: WordOffset,
        home: BlockIndex,
        sync: WordOffset,
        block: BlockIndex,
        forward: bool,
    ) -> Option<Beside> {
        let shape = self.shape;
        self.visits = self.visits.saturating_add(4 * shape.len());
        if self.gave_up() || (forward && !shape.leads_through(home, block)) {
            return None;
        }
        // What comes to the synchronisation (or from it) without passing the fence.
        let around = shape.reach(block, Some(home), !forward);
        let on_the_way = shape.on_the_way(block)?;
        let mut exempt = Words::new();
        for other in shape.all() {
            let words = shape.words(other);
            let ordered = on_the_way.contains(&other)
                && (forward || other == home || shape.leads_through(home, other));
            if other == home {
                // Between the fence and the end of its block, or between the block's beginning and
                // the fence.
                exempt.push(if forward {
                    fence..words.end
                } else {
                    words.start..fence
                });
            } else if around.contains(&other) || !ordered {
                exempt.push(words);
            } else if other == block {
                exempt.push(if forward {
                    words.start..sync
                } else {
                    sync..words.end
                });
            }
        }
        Some(Beside { word: sync, exempt })
    }
}

/// The synchronisations in `words`, nearest first, up to a sure one; and whether there is none of
/// these.
fn hits(
    syncs: Syncs<'_>,
    words: std::ops::Range<WordOffset>,
    forward: bool,
) -> (Vec<WordOffset>, bool) {
    if words.start >= words.end {
        return (Vec::new(), true);
    }
    let mut found = Vec::new();
    let mut range = syncs.all.range(words);
    loop {
        let next = if forward {
            range.next()
        } else {
            range.next_back()
        };
        let Some(word) = next else {
            return (found, true);
        };
        found.push(*word);
        if syncs.sure.contains(word) {
            return (found, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use splitbar_passes::analysis::cfg::Cfg;
    use std::collections::BTreeMap;
    use std::ops::Range;

    fn words(range: Range<u32>) -> Range<WordOffset> {
        WordOffset::new(range.start)..WordOffset::new(range.end)
    }

    fn covers(ranges: &[Range<WordOffset>], word: u32) -> bool {
        let word = WordOffset::new(word);
        ranges.iter().any(|range| range.contains(&word))
    }

    /// Blocks of ten words each.
    fn shape(blocks: u32, edges: &[(usize, usize)]) -> ControlFlowSummary {
        ControlFlowSummary::new(
            Cfg::from_edges(blocks as usize, edges),
            (0..blocks)
                .map(|block| words(10 * block..10 * (block + 1)))
                .collect(),
            BTreeMap::new(),
            BTreeSet::new(),
        )
    }

    fn beside(shape: &ControlFlowSummary, fence: u32, syncs: &[u32], forward: bool) -> Vec<Beside> {
        let syncs: BTreeSet<WordOffset> = syncs.iter().copied().map(WordOffset::new).collect();
        let both = Syncs {
            all: &syncs,
            sure: &syncs,
        };
        Searcher { shape, visits: 0 }.beside(WordOffset::new(fence), both, forward)
    }

    #[test]
    fn in_one_block_what_stands_between_is_exempt() {
        let one = shape(1, &[]);
        let expected = |word, exempt| {
            vec![Beside {
                word: WordOffset::new(word),
                exempt: vec![words(exempt)],
            }]
        };
        assert_eq!(beside(&one, 3, &[1, 6, 8], true), expected(6, 3..6));
        assert_eq!(beside(&one, 7, &[1, 6, 8], false), expected(6, 6..7));
    }

    #[test]
    fn a_leader_publishes_behind_the_fence() {
        // 0: fence. 1: the leader's flag. 2: behind the branch.
        let branch = shape(3, &[(0, 1), (0, 2), (1, 2)]);
        let found = beside(&branch, 5, &[15], true);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].word.get(), 15);
        // What is before the fence is not exempt, what is behind it is.
        let exempt = |word: u32| covers(&found[0].exempt, word);
        assert!(!exempt(4) && exempt(6) && exempt(14) && !exempt(16));
    }

    #[test]
    fn nothing_is_known_where_control_can_go_around() {
        // The fence stands on one side of a branch, the barrier behind it.
        let around = shape(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert_eq!(beside(&around, 15, &[35], true), []);
        // A loop with the fence in it ends before the barrier.
        let inside = shape(3, &[(0, 1), (1, 1), (1, 2)]);
        assert_eq!(beside(&inside, 15, &[25], true), []);
    }

    #[test]
    fn the_other_side_of_a_branch_is_elsewhere() {
        // A loop: 1 branches to 2, or to 3 and 4; 5 goes back.
        let edges = [
            (0, 1),
            (1, 2),
            (1, 3),
            (3, 4),
            (2, 5),
            (4, 5),
            (5, 1),
            (5, 6),
        ];
        let sides = shape(7, &edges);
        let mut searcher = Searcher {
            shape: &sides,
            visits: 0,
        };
        assert_eq!(searcher.elsewhere(WordOffset::new(25)), vec![words(30..50)]);
        assert_eq!(searcher.elsewhere(WordOffset::new(45)), vec![words(20..30)]);
        assert_eq!(searcher.elsewhere(WordOffset::new(55)), Words::new());
    }

    #[test]
    fn a_loop_on_the_way_is_not_elsewhere() {
        // 2 and 3 are a loop; 4 follows, and goes back to 1 in a loop around both.
        let edges = [(0, 1), (1, 2), (2, 3), (3, 2), (2, 4), (4, 1), (4, 5)];
        let loops = shape(6, &edges);
        let mut searcher = Searcher {
            shape: &loops,
            visits: 0,
        };
        assert_eq!(searcher.elsewhere(WordOffset::new(45)), Words::new());
    }

    #[test]
    fn a_loop_in_front_of_the_synchronisation_is_ordered() {
        // 1 is the head of a loop and 2 its body, 3 has the fence, 4 the flag.
        let before = shape(5, &[(0, 1), (1, 2), (2, 1), (1, 3), (3, 4)]);
        let found = beside(&before, 35, &[45], true);
        assert_eq!(found.len(), 1);
        let exempt = |word: u32| covers(&found[0].exempt, word);
        assert!(!exempt(5) && !exempt(15) && !exempt(25) && !exempt(34) && exempt(36));
    }

    #[test]
    fn the_other_side_of_a_branch_is_exempt() {
        // A loop: 1 has the fence, 2 accesses, 3 has the flag, 4 goes back. Machine code lays 2
        // before 3.
        let sides = shape(6, &[(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 1), (4, 5)]);
        let found = beside(&sides, 15, &[35], true);
        let exempt = |word: u32| covers(&found[0].exempt, word);
        assert!(exempt(25) && !exempt(45) && !exempt(5));
    }
}
