//! Schedules: which wave goes on, and how late outstanding operations take effect. All follow from
//! a seed.

use fastrand::Rng;
use std::fmt;

/// The choice of the next wave.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The first that can.
    InOrder,
    /// The last that can.
    Reverse,
    /// Any.
    Random,
    /// One for a while, then another.
    Burst,
    /// One is held back while another can go on (but for one turn in 256: the others may spin until
    /// it moves); which one changes with the workgroup.
    Starve,
}

impl Policy {
    /// Returns true if workgroups take turns though none of them spins.
    pub(crate) fn mixes_workgroups(self) -> bool {
        match self {
            Policy::InOrder | Policy::Reverse => false,
            Policy::Random | Policy::Burst | Policy::Starve => true,
        }
    }
}

/// When an outstanding operation takes effect, between its issue and the wait that covers it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Completion {
    /// At the last moment that the rules permit.
    Late,
    /// At once.
    Early,
    /// At any time.
    Random,
}

/// A lawful and hostile way to run a launch.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Schedule {
    /// The choice of the next wave.
    pub policy: Policy,
    /// The delay of operations.
    pub completion: Completion,
    /// The seed of all random choices.
    pub seed: u64,
}

impl Schedule {
    /// The kinds of schedule, the most telling ones first.
    const KINDS: [(Policy, Completion); 8] = [
        (Policy::InOrder, Completion::Late),
        (Policy::Reverse, Completion::Late),
        (Policy::Random, Completion::Random),
        (Policy::Burst, Completion::Late),
        (Policy::Starve, Completion::Late),
        (Policy::Random, Completion::Early),
        (Policy::Burst, Completion::Random),
        (Policy::Random, Completion::Late),
    ];

    /// Schedule number `index` of those that `seed` gives: all kinds come in turn, with other
    /// chances each time.
    pub fn nth(index: u32, seed: u64) -> Schedule {
        let (policy, completion) = Self::KINDS[index as usize % Self::KINDS.len()];
        Schedule {
            policy,
            completion,
            seed: seed.wrapping_add(index.into()),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = match self.policy {
            Policy::InOrder => "in-order",
            Policy::Reverse => "reverse",
            Policy::Random => "random",
            Policy::Burst => "burst",
            Policy::Starve => "starve-one",
        };
        let completion = match self.completion {
            Completion::Late => "late",
            Completion::Early => "early",
            Completion::Random => "random",
        };
        write!(f, "{policy} waves, {completion} memory, seed {}", self.seed)
    }
}

/// Chooses the waves of one workgroup.
pub(crate) struct Scheduler {
    policy: Policy,
    current: usize,
    starved: usize,
}

impl Scheduler {
    /// Steps that a wave may take in a row before the others get a turn: a wave that spins must not
    /// keep out the one that it waits for.
    pub(crate) const QUANTUM: u32 = 4096;

    /// Steps of `waves` waves after which those that asked to go last get a turn all the same. So a
    /// wave that can go on does so in bounded time, whatever the others do.
    pub(crate) fn round(waves: usize) -> u32 {
        u32::try_from(waves).map_or(u32::MAX, |waves| Scheduler::QUANTUM.saturating_mul(waves))
    }

    pub(crate) fn new(policy: Policy, waves: usize, rng: &mut Rng) -> Scheduler {
        Scheduler {
            policy,
            current: 0,
            starved: rng.usize(..waves.max(1)),
        }
    }

    /// One of `ready` (indices in ascending order, not empty) and the number of steps that it may
    /// take in a row.
    pub(crate) fn pick(&mut self, ready: &[usize], rng: &mut Rng) -> (usize, u32) {
        debug_assert!(!ready.is_empty(), "no wave can go on");
        let any = |rng: &mut Rng| {
            ready
                .get(rng.usize(..ready.len().max(1)))
                .copied()
                .unwrap_or(0)
        };
        match self.policy {
            Policy::InOrder => (ready.first().copied().unwrap_or(0), Scheduler::QUANTUM),
            Policy::Reverse => (ready.last().copied().unwrap_or(0), Scheduler::QUANTUM),
            Policy::Random => (any(rng), rng.u32(1..4)),
            Policy::Burst => {
                self.current = any(rng);
                (self.current, rng.u32(1..64))
            }
            Policy::Starve => {
                let others = ready.iter().filter(|w| **w != self.starved).count();
                if others == 0 || rng.u8(..) == 0 {
                    return (self.starved, rng.u32(1..8));
                }
                let chosen = rng.usize(..others);
                let wave = ready
                    .iter()
                    .copied()
                    .filter(|w| *w != self.starved)
                    .nth(chosen);
                (wave.unwrap_or(self.starved), rng.u32(1..16))
            }
        }
    }
}
