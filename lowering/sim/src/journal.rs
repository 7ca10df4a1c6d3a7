//! A journal of the accesses of agents, to check that barriers alone order conflicting ones.
//!
//! A second opinion on races, by another way than clocks: an access is before another one of a
//! different agent if the first agent arrived, after it, in a phase of a barrier object that the
//! second agent knew to be complete before its own: it waited for it, or was told by barriers of
//! others who had. Atomics order nothing here.

use crate::barrier::{Name, Phase};
use crate::memory::Space;
use crate::race::Sharing;
use std::collections::BTreeMap;

/// The journal of one run. Empty unless [`crate::Limits::journal`] asks for one.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    most: usize,
    cut: bool,
    entries: Vec<Entry>,
}

#[derive(Copy, Clone, Debug)]
struct Entry {
    group: u32,
    agent: u16,
    event: Event,
}

/// What an agent did.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Event {
    Access {
        space: Space,
        address: u64,
        bytes: u32,
        write: bool,
        sharing: Sharing,
    },
    Arrive(Name, Phase),
    Pass(Name, Phase),
}

/// An access, as far as it matters: where, in which stretch, whether it writes, whether it is
/// atomic.
type Touch = (Block, usize, bool, bool);

/// A stretch of one agent's events without arrivals and completed waits.
#[derive(Clone, Debug, Default)]
struct Stretch {
    agent: (u32, u16),
    /// Per object, the last phase that is known to be complete.
    known: Known,
    /// Per object, the phase of the first arrival behind.
    arrives: Known,
}

impl Stretch {
    fn is_before(&self, other: &Stretch) -> bool {
        self.agent.0 == other.agent.0
            && self
                .arrives
                .iter()
                .any(|(name, phase)| other.known.get(name).is_some_and(|seen| phase <= seen))
    }
}

/// The first byte of a block ([`Journal::block`]). Shared memory is each workgroup's own.
type Block = (Space, Option<u32>, u64);

impl Journal {
    pub(crate) fn new(most: usize) -> Journal {
        Journal {
            most,
            ..Journal::default()
        }
    }

    pub(crate) fn record(&mut self, group: u32, agent: u16, event: Event) {
        if self.entries.len() < self.most {
            self.entries.push(Entry {
                group,
                agent,
                event,
            });
        } else {
            self.cut = true;
        }
    }

    /// Returns true if a barrier separates every two accesses of one byte by two agents of which
    /// one writes and not both are atomic. `None`: the journal was not kept, or did not hold the
    /// whole run.
    pub fn is_separated(&self) -> Option<bool> {
        if self.most == 0 || self.cut {
            return None;
        }
        let (stretches, mut touched) = self.stretches();
        let stretches = stretches.0;
        touched.sort_unstable();
        touched.dedup();
        Some(touched.chunk_by(|a, b| a.0 == b.0).all(|same| {
            let writes = same.iter().filter(|(_, _, write, _)| *write);
            let apart = |one: usize, two: usize| match (stretches.get(one), stretches.get(two)) {
                (Some(one), Some(two)) => {
                    one.agent == two.agent || one.is_before(two) || two.is_before(one)
                }
                _ => true,
            };
            writes.into_iter().all(|(_, one, _, atomic)| {
                same.iter()
                    .all(|(_, two, _, also)| (*atomic && *also) || apart(*one, *two))
            })
        }))
    }

    /// Returns the largest power of two, 16 at most, that divides the address and the size of every
    /// access: two accesses with a byte in common have a whole block of this size in common.
    fn block(&self) -> usize {
        let accesses = self.entries.iter().filter_map(|entry| match entry.event {
            Event::Access { address, bytes, .. } => Some(address | u64::from(bytes)),
            _ => None,
        });
        let powers = accesses.map(u64::trailing_zeros);
        1 << powers.fold(4, u32::min)
    }

    /// Returns the stretches, and every access by its blocks.
    fn stretches(&self) -> (Stretches, Vec<Touch>) {
        let (mut stretches, mut touched) = (Stretches::default(), Vec::new());
        let block = self.block();
        // What those knew who arrived, by workgroup, object and phase.
        let mut told: BTreeMap<(u32, Name, Phase), Known> = BTreeMap::new();
        // The stretches of each agent, the last one open.
        let mut own: BTreeMap<(u32, u16), Vec<usize>> = BTreeMap::new();
        for entry in &self.entries {
            let agent = (entry.group, entry.agent);
            let own = own
                .entry(agent)
                .or_insert_with(|| vec![stretches.begin(agent, Known::new())]);
            debug_assert!(!own.is_empty(), "{agent:?} has no stretch");
            let open = own.last().copied().unwrap_or(0);
            match entry.event {
                Event::Access {
                    space,
                    address,
                    bytes,
                    write,
                    sharing,
                } => {
                    let whose = (space == Space::Shared).then_some(entry.group);
                    touched.extend((0..u64::from(bytes)).step_by(block).map(|n| {
                        let block = (space, whose, address.wrapping_add(n));
                        (block, open, write, sharing == Sharing::Atomic)
                    }));
                }
                Event::Arrive(name, phase) => {
                    stretches.arrive(own, name, phase);
                    let known = stretches.known(open);
                    learn(told.entry((entry.group, name, phase)).or_default(), &known);
                    own.push(stretches.begin(agent, known));
                }
                Event::Pass(name, phase) => {
                    let mut known = stretches.known(open);
                    learn(&mut known, &Known::from([(name, phase)]));
                    for (_, its) in told.range((entry.group, name, 0)..=(entry.group, name, phase))
                    {
                        learn(&mut known, its);
                    }
                    own.push(stretches.begin(agent, known));
                }
            }
        }
        (stretches, touched)
    }
}

/// Per object, the last phase that is known to be complete.
type Known = BTreeMap<Name, Phase>;

fn learn(known: &mut Known, more: &Known) {
    for (name, phase) in more {
        let last = known.entry(*name).or_insert(*phase);
        *last = (*last).max(*phase);
    }
}

#[derive(Default)]
struct Stretches(Vec<Stretch>);

impl Stretches {
    fn begin(&mut self, agent: (u32, u16), known: Known) -> usize {
        self.0.push(Stretch {
            agent,
            known,
            arrives: Known::new(),
        });
        self.0.len() - 1
    }

    fn known(&self, stretch: usize) -> Known {
        self.0
            .get(stretch)
            .map_or_else(Known::new, |s| s.known.clone())
    }

    /// An arrival behind the stretches `own`: the first one behind those that have none yet.
    fn arrive(&mut self, own: &[usize], name: Name, phase: Phase) {
        for at in own.iter().rev() {
            match self.0.get_mut(*at) {
                Some(stretch) if !stretch.arrives.contains_key(&name) => {
                    stretch.arrives.insert(name, phase);
                }
                _ => break,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Name = Name::Workgroup;

    fn access(address: u64, write: bool) -> Event {
        sized_access(address, 4, write)
    }

    fn sized_access(address: u64, bytes: u32, write: bool) -> Event {
        Event::Access {
            space: Space::Shared,
            address,
            bytes,
            write,
            sharing: Sharing::Plain,
        }
    }

    fn separated(entries: &[(u16, Event)]) -> Option<bool> {
        let mut journal = Journal::new(100);
        for (agent, event) in entries {
            journal.record(0, *agent, *event);
        }
        journal.is_separated()
    }

    #[test]
    fn a_barrier_separates_what_is_before_the_arrival_from_what_is_behind_the_wait() {
        let exchange = |store_last: bool| {
            let (store, arrive) = ((0, access(0, true)), (0, Event::Arrive(A, 0)));
            let [first, second] = if store_last {
                [arrive, store]
            } else {
                [store, arrive]
            };
            separated(&[
                first,
                second,
                (1, Event::Arrive(A, 0)),
                (1, Event::Pass(A, 0)),
                (1, access(2, false)),
            ])
        };
        assert_eq!(exchange(false), Some(true));
        assert_eq!(exchange(true), Some(false), "in the window");
    }

    #[test]
    fn reads_and_other_bytes_need_no_barrier() {
        assert_eq!(
            separated(&[
                (0, access(0, false)),
                (1, access(0, false)),
                (1, access(4, true))
            ]),
            Some(true)
        );
    }

    #[test]
    fn accesses_of_other_sizes_meet_in_their_bytes() {
        let beside = |address, bytes| {
            separated(&[
                (0, sized_access(16, 16, true)),
                (1, sized_access(address, bytes, false)),
            ])
        };
        for (address, bytes) in [(16, 16), (31, 1), (24, 8), (14, 4), (0, 17)] {
            assert_eq!(beside(address, bytes), Some(false), "{address} {bytes}");
        }
        for (address, bytes) in [(0, 16), (32, 16), (15, 1), (32, 1), (12, 4)] {
            assert_eq!(beside(address, bytes), Some(true), "{address} {bytes}");
        }
    }

    #[test]
    fn a_later_phase_separates_too() {
        let events = [
            (0, access(0, true)),
            (0, Event::Arrive(A, 0)),
            (0, Event::Pass(A, 0)),
            (1, Event::Arrive(A, 0)),
            (1, Event::Pass(A, 0)),
            (1, Event::Arrive(A, 1)),
            (1, Event::Pass(A, 1)),
            (1, access(0, true)),
        ];
        assert_eq!(separated(&events), Some(true));
        assert_eq!(
            separated(&[&events[..], &[(0, access(0, true))]].concat()),
            Some(false),
            "the first agent has not waited for the second one's phase"
        );
    }

    #[test]
    fn what_one_barrier_tells_another_passes_on() {
        // 0 meets 1, then 1 meets 2.
        let (first, second) = (Name::Named(1), Name::Named(2));
        let events = |told: bool| {
            let mut events = vec![(0, access(0, true)), (0, Event::Arrive(first, 0))];
            if told {
                events.push((1, Event::Pass(first, 0)));
            }
            events.extend([
                (1, Event::Arrive(second, 0)),
                (2, Event::Pass(second, 0)),
                (2, access(0, true)),
            ]);
            events
        };
        assert_eq!(separated(&events(true)), Some(true));
        assert_eq!(separated(&events(false)), Some(false));
    }

    #[test]
    fn a_journal_that_is_cut_says_nothing() {
        let mut journal = Journal::new(1);
        journal.record(0, 0, access(0, true));
        assert_eq!(journal.is_separated(), Some(true));
        journal.record(0, 0, access(0, true));
        assert_eq!(journal.is_separated(), None);
        assert_eq!(Journal::default().is_separated(), None);
    }
}
