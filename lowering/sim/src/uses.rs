//! The bytes of loads on which a value depends.
//!
//! Code may load what it does not use: the bytes beside a narrow value, the padding of a structure,
//! a value for a branch that a lane does not take. A finding about such a byte is no fault of the
//! program. Whether a byte is used is known later than the load, so a launch with findings about
//! loads runs again, twice, with the same chances. The first replay follows the bytes of these
//! loads through registers and memories until one decides something: an address, a branch, which
//! lanes go on, a result that is left in global memory. The second one judges accesses as if the
//! loads had touched only bytes that were used.
//!
//! A label says which loaded bytes a value depends on. Memory is bounded: what finds no room counts
//! as used.

use crate::memory::Space;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// The loaded bytes that a value depends on; [`NONE`] for no byte that is followed.
pub(crate) type Label = u32;

/// The label of what depends on no byte that is followed.
pub(crate) const NONE: Label = 0;

/// Labels from this one on are pairs of others.
const PAIRS: Label = 1 << 31;
/// The most bytes that are followed, and the most pairs.
const MOST_BYTES: Label = 1 << 26;
const MOST_PAIRS: usize = 1 << 22;
/// How often a launch runs again because judging it found further loads.
pub(crate) const MOST_ROUNDS: u32 = 4;

/// What a run is for.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
enum Purpose {
    /// Every byte of a load counts; loads with findings are noted.
    #[default]
    Look,
    /// Follows the bytes of the noted loads.
    Follow,
    /// Of the noted loads the used bytes count.
    Judge,
}

/// The loads that are followed, and which of their bytes are used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    purpose: Purpose,
    /// The loads, by their instructions.
    loads: BTreeSet<u32>,
    /// Loads with findings that are not followed.
    more: BTreeSet<u32>,
    /// Bytes that this run has loaded so far.
    loaded: Label,
    /// Of each byte whether it is used, 64 in a word.
    used: Vec<u64>,
    pairs: Vec<(Label, Label)>,
    known: HashMap<(Label, Label), Label, BuildHasherDefault<OfPair>>,
    /// For each pair, true if all of it is used.
    spent: Vec<bool>,
    /// Bytes of memories: the shared ones by workgroup.
    memory: BTreeMap<(Option<u32>, u64), Label>,
}

/// Hashes two labels. Programs choose no labels, so nothing has to be kept from collisions.
#[derive(Default)]
struct OfPair(u64);

impl Hasher for OfPair {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u32(&mut self, label: u32) {
        // The table takes its place from the low bits and a tag from the high ones.
        let mixed = (self.0 ^ u64::from(label)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }
}

/// The memory of a label: global memory, or a workgroup's.
fn place(space: Space, group: u32, address: u64) -> (Option<u32>, u64) {
    (matches!(space, Space::Shared).then_some(group), address)
}

impl Uses {
    /// Returns true if the launch has to run again: there are loads to follow.
    pub(crate) fn has_more(&self) -> bool {
        !self.more.is_empty()
    }

    /// For the run that follows the loads.
    pub(crate) fn follow(self) -> Uses {
        let Uses {
            mut loads, more, ..
        } = self;
        loads.extend(more);
        Uses {
            purpose: Purpose::Follow,
            loads,
            ..Uses::default()
        }
    }

    /// For the run that judges, after the one that followed: results in global memory are used.
    pub(crate) fn judge(mut self) -> Uses {
        let left: Vec<Label> = (self.memory.iter())
            .filter(|((group, _), _)| group.is_none())
            .map(|(_, label)| *label)
            .collect();
        left.into_iter().for_each(|label| self.spend(label));
        Uses {
            purpose: Purpose::Judge,
            loads: self.loads,
            used: self.used,
            ..Uses::default()
        }
    }

    /// Returns true if labels are kept in this run.
    pub(crate) fn follows(&self) -> bool {
        self.purpose == Purpose::Follow
    }

    /// Notes a load with a finding.
    pub(crate) fn suspect(&mut self, pc: u32) {
        if self.purpose != Purpose::Follow && !self.loads.contains(&pc) {
            self.more.insert(pc);
        }
    }

    /// A lane loads `bytes` bytes. Gives the label of the first; those of the others come after it.
    /// [`NONE`] if they are not followed.
    pub(crate) fn load(&mut self, pc: u32, bytes: usize) -> Label {
        if self.purpose == Purpose::Look || !self.loads.contains(&pc) {
            return NONE;
        }
        let first = self.loaded + 1;
        let end = first.saturating_add(bytes as Label);
        if end > MOST_BYTES {
            return NONE;
        }
        self.loaded = end - 1;
        let words = end as usize / 64 + 1;
        if self.used.len() < words {
            self.used.resize(words, 0);
        }
        first
    }

    /// Which of the bytes from a label on count, a bit each.
    pub(crate) fn counts(&self, first: Label, bytes: usize) -> u64 {
        if first == NONE || self.purpose != Purpose::Judge {
            return u64::MAX;
        }
        let used = (0..bytes.min(64)).filter(|byte| self.is_used(first + *byte as Label));
        used.fold(0, |mask, byte| mask | 1 << byte)
    }

    fn is_used(&self, label: Label) -> bool {
        let word = self.used.get(label as usize / 64);
        word.is_some_and(|word| word >> (label % 64) & 1 == 1)
    }

    /// Something is decided by a value.
    pub(crate) fn spend(&mut self, label: Label) {
        let mut left = vec![label];
        while let Some(label) = left.pop() {
            if label == NONE {
                continue;
            }
            let Some(pair) = label.checked_sub(PAIRS) else {
                if let Some(word) = self.used.get_mut(label as usize / 64) {
                    *word |= 1 << (label % 64);
                }
                continue;
            };
            let pair = pair as usize;
            if let (Some((a, b)), Some(spent)) = (self.pairs.get(pair), self.spent.get_mut(pair))
                && !std::mem::replace(spent, true)
            {
                left.extend([*a, *b]);
            }
        }
    }

    fn is_spent(&self, label: Label) -> bool {
        match label.checked_sub(PAIRS) {
            None => self.is_used(label),
            Some(pair) => self.spent.get(pair as usize).is_some_and(|spent| *spent),
        }
    }

    /// The label of what depends on two values.
    pub(crate) fn join(&mut self, a: Label, b: Label) -> Label {
        let live = |label: Label| if self.is_spent(label) { NONE } else { label };
        let (a, b) = match (live(a), live(b)) {
            (a, b) if a == b || b == NONE => return a,
            (NONE, b) => return b,
            (a, b) => (a.min(b), a.max(b)),
        };
        if let Some(label) = self.known.get(&(a, b)) {
            return *label;
        }
        // A pair has its other part already.
        let has = |pair: Label, part: Label| {
            let parts = pair
                .checked_sub(PAIRS)
                .and_then(|p| self.pairs.get(p as usize));
            parts.is_some_and(|(c, d)| *c == part || *d == part)
        };
        if has(b, a) {
            return b;
        }
        if has(a, b) {
            return a;
        }
        if self.pairs.len() >= MOST_PAIRS {
            self.spend(a);
            self.spend(b);
            return NONE;
        }
        let label = PAIRS + self.pairs.len() as Label;
        self.pairs.push((a, b));
        self.spent.push(false);
        self.known.insert((a, b), label);
        label
    }

    /// The label of what depends on several values.
    pub(crate) fn join_all(&mut self, labels: impl IntoIterator<Item = Label>) -> Label {
        let labels = labels.into_iter();
        labels.fold(NONE, |all, one| self.join(all, one))
    }

    /// Bytes of a memory get labels; those behind the end of `labels` get none.
    pub(crate) fn put(
        &mut self,
        space: Space,
        group: u32,
        address: u64,
        bytes: usize,
        labels: &[Label],
    ) {
        for byte in 0..bytes {
            let place = place(space, group, address.wrapping_add(byte as u64));
            match labels.get(byte).copied().unwrap_or(NONE) {
                NONE => {
                    if !self.memory.is_empty() {
                        self.memory.remove(&place);
                    }
                }
                label => {
                    self.memory.insert(place, label);
                }
            }
        }
    }

    /// The label of a byte of a memory.
    pub(crate) fn get(&self, space: Space, group: u32, address: u64) -> Label {
        if self.memory.is_empty() {
            return NONE;
        }
        let label = self.memory.get(&place(space, group, address));
        label.copied().unwrap_or(NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn following() -> Uses {
        let mut look = Uses::default();
        look.suspect(7);
        assert!(look.has_more());
        look.follow()
    }

    #[test]
    fn a_pair_spends_both_and_no_other() {
        let mut uses = following();
        assert_eq!(uses.load(3, 4), NONE, "it is not suspected");
        let first = uses.load(7, 4);
        let pair = uses.join(first, first + 2);
        let all = uses.join(pair, NONE);
        assert_eq!((all, uses.join(pair, first)), (pair, pair));
        uses.spend(all);
        let late = (0..100).map(|_| uses.load(7, 4)).last();
        uses.spend(late.map_or(NONE, |label| label + 1));
        let mut judge = uses.judge();
        let again = judge.load(7, 4);
        assert_eq!(judge.counts(again, 4), 0b0101);
        let late = (0..100).map(|_| judge.load(7, 4)).last();
        assert_eq!(judge.counts(late.unwrap_or(NONE), 4), 0b0010);
        assert_eq!(judge.counts(NONE, 4), u64::MAX);
    }

    #[test]
    fn what_is_left_in_global_memory_is_used() {
        let mut uses = following();
        let first = uses.load(7, 2);
        uses.put(Space::Global, 0, 64, 1, &[first]);
        uses.put(Space::Shared, 0, 64, 1, &[first + 1]);
        assert_eq!(uses.get(Space::Shared, 1, 64), NONE);
        assert_eq!(uses.get(Space::Shared, 0, 64), first + 1);
        assert_eq!(uses.judge().counts(first, 2), 0b01);
    }

    #[test]
    fn what_is_overwritten_is_not_used() {
        let mut uses = following();
        let first = uses.load(7, 1);
        uses.put(Space::Global, 0, 64, 1, &[first]);
        uses.put(Space::Global, 0, 64, 1, &[]);
        assert_eq!(uses.judge().counts(first, 1), 0);
    }
}
