//! Barrier objects: how many must arrive, how many have, and what the waves that go on learn of
//! those that arrived.

use crate::clock::Clock;
use std::collections::BTreeMap;
use std::fmt;

/// The object.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// The workgroup's own (AMDGPU id -1, PTX barrier 0 is [`Name::Named`]).
    Workgroup,
    /// A named or numbered one.
    Named(u32),
    /// The cluster's.
    Cluster,
    /// One that lives in shared memory, by its address (mbarrier).
    Shared(u64),
    /// One wave's own, among its lanes; the number tells rounds apart (bar.warp.sync).
    Wave(u16, u32),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Workgroup => f.write_str("the workgroup barrier"),
            Name::Named(id) => write!(f, "barrier {id}"),
            Name::Cluster => f.write_str("the cluster barrier"),
            Name::Shared(address) => write!(f, "the mbarrier at {address:#x}"),
            Name::Wave(wave, _) => write!(f, "the barrier of wave {wave}"),
        }
    }
}

/// Phases that a barrier has completed.
pub type Phase = u64;

/// One barrier object.
#[derive(Clone, Debug, Default)]
pub struct Barrier {
    expected: u32,
    /// What `expected` becomes with the next phase.
    renewed: u32,
    arrived: u32,
    /// Bytes of copies that the phase still waits for.
    bytes: u64,
    phase: Phase,
    gathering: Clock,
    completed: Clock,
    whole: bool,
    /// What those who arrived have said, by phase: who waits reads it when the phase is complete.
    tallies: BTreeMap<Phase, Tally>,
}

/// Answers to a question that each thread is asked when it arrives (PTX ISA, `barrier.red`).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Those who said yes.
    pub yes: u32,
    /// All who were asked.
    pub asked: u32,
}

/// Phases whose tallies are kept: who has not read one by then never will.
const TALLIES: u64 = 16;

/// An arrival that the object cannot take: more than it expects in one phase.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{arrived} have arrived and {more} more arrive, but {expected} are expected")]
pub struct TooMany {
    /// Arrivals of the phase before.
    pub arrived: u32,
    /// Arrivals that came now.
    pub more: u32,
    /// Arrivals that complete the phase.
    pub expected: u32,
}

impl Barrier {
    /// An object that `expected` arrivals complete.
    pub fn new(expected: u32) -> Barrier {
        Barrier {
            expected,
            renewed: expected,
            ..Barrier::default()
        }
    }

    /// Arrivals that complete the phase.
    pub fn expected(&self) -> u32 {
        self.expected
    }

    /// Arrivals of the phase so far.
    pub fn arrived(&self) -> u32 {
        self.arrived
    }

    /// The number of complete phases.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns true if the phase with this number is complete.
    pub fn passed(&self, phase: Phase) -> bool {
        self.phase > phase
    }

    /// The knowledge that a wave gains from a completed phase.
    pub fn clock(&self) -> &Clock {
        &self.completed
    }

    /// `count` arrivals that bring `clock`. Gives the phase that they belong to: the one to wait
    /// for.
    ///
    /// # Errors
    /// [`TooMany`]; the object is left as it was.
    pub fn arrive(&mut self, count: u32, clock: &Clock) -> Result<Phase, TooMany> {
        let phase = self.phase;
        if count > self.expected - self.arrived.min(self.expected) {
            return Err(TooMany {
                arrived: self.arrived,
                more: count,
                expected: self.expected,
            });
        }
        self.arrived += count;
        self.gathering.join(clock);
        self.complete_if_full();
        Ok(phase)
    }

    /// Adds answers to a phase.
    pub fn tell(&mut self, phase: Phase, answers: Tally) {
        let tally = self.tallies.entry(phase).or_default();
        tally.yes += answers.yes;
        tally.asked += answers.asked;
        self.tallies = self.tallies.split_off(&phase.saturating_sub(TALLIES));
    }

    /// The answers of a phase; none where nobody was asked.
    pub fn tally(&self, phase: Phase) -> Tally {
        self.tallies.get(&phase).copied().unwrap_or_default()
    }

    /// Sets how many arrivals complete this phase and the later ones; what has arrived may complete
    /// it.
    pub fn expect(&mut self, expected: u32) {
        self.expected = expected;
        self.renewed = expected;
        self.complete_if_full();
    }

    /// `count` members leave for good: this phase and the later ones expect as many fewer.
    pub fn leave(&mut self, count: u32) {
        self.expected = self.expected.saturating_sub(count);
        self.renewed = self.renewed.saturating_sub(count);
        self.complete_if_full();
    }

    /// `count` members leave for good with the phase that they have arrived in: the later ones
    /// expect as many fewer.
    pub fn leave_later(&mut self, count: u32) {
        self.renewed = self.renewed.saturating_sub(count);
        if self.arrived == 0 {
            self.expected = self.renewed;
        }
    }

    /// Sets whether all invocations of the workgroup take part, so that those that end leave it
    /// ([`Barriers::end`]).
    pub fn set_whole(&mut self, whole: bool) {
        self.whole = whole;
    }

    /// The phase waits for so many bytes of copies more (PTX ISA, `mbarrier.expect_tx`).
    pub fn expect_bytes(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// So many bytes of copies have come.
    pub fn complete_bytes(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.complete_if_full();
    }

    /// Asks for `count` more (or fewer) arrivals in this phase alone.
    pub fn expect_in_phase(&mut self, count: i64) {
        self.expected = (i64::from(self.expected) + count).clamp(0, u32::MAX.into()) as u32;
        self.complete_if_full();
    }

    fn complete_if_full(&mut self) {
        if self.arrived > 0 && self.arrived >= self.expected && self.bytes == 0 {
            self.phase += 1;
            self.arrived = 0;
            self.expected = self.renewed;
            let gathered = std::mem::take(&mut self.gathering);
            self.completed.join(&gathered);
        }
    }
}

/// The barrier objects of a workgroup.
#[derive(Clone, Debug, Default)]
pub struct Barriers {
    objects: BTreeMap<Name, Barrier>,
}

impl Barriers {
    /// The object, if it was made.
    pub fn get(&self, name: Name) -> Option<&Barrier> {
        self.objects.get(&name)
    }

    /// The object, if it was made, to change it.
    pub fn get_mut(&mut self, name: Name) -> Option<&mut Barrier> {
        self.objects.get_mut(&name)
    }

    /// The object; made with `expected` arrivals if it is new.
    pub fn or_new(&mut self, name: Name, expected: u32) -> &mut Barrier {
        self.objects
            .entry(name)
            .or_insert_with(|| Barrier::new(expected))
    }

    /// Makes the object anew.
    pub fn make(&mut self, name: Name, expected: u32) {
        self.objects.insert(name, Barrier::new(expected));
    }

    /// Puts an object in that is known elsewhere.
    pub fn put(&mut self, name: Name, barrier: Barrier) {
        self.objects.insert(name, barrier);
    }

    /// Removes the object.
    pub fn remove(&mut self, name: Name) -> Option<Barrier> {
        self.objects.remove(&name)
    }

    /// `count` invocations end: the barriers that all take part in expect as many fewer.
    pub fn end(&mut self, count: u32) {
        for barrier in self.objects.values_mut().filter(|b| b.whole) {
            barrier.leave(count);
        }
    }

    /// All objects, in order of name.
    pub fn iter(&self) -> impl Iterator<Item = (Name, &Barrier)> {
        self.objects.iter().map(|(n, b)| (*n, b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_completes_with_the_last_arrival() {
        let mut barrier = Barrier::new(2);
        let clock = Clock::new(2);
        assert_eq!(barrier.arrive(1, &clock), Ok(0));
        assert!(!barrier.passed(0));
        assert_eq!(barrier.arrive(1, &clock), Ok(0));
        assert!(barrier.passed(0));
        assert_eq!(barrier.arrive(1, &clock), Ok(1));
        assert!(!barrier.passed(1));
        assert!(barrier.arrive(2, &clock).is_err());
        barrier.leave(1);
        assert!(barrier.passed(1), "who is left has arrived");
    }

    #[test]
    fn arrivals_asked_for_in_a_phase_end_with_it() {
        let mut barrier = Barrier::new(1);
        barrier.expect_in_phase(1);
        assert_eq!(barrier.arrive(1, &Clock::default()), Ok(0));
        assert_eq!(barrier.arrive(1, &Clock::default()), Ok(0));
        assert_eq!(barrier.expected(), 1);
    }
}
