//! Protocols, and the programs that put them to the test.
//!
//! A protocol says what a wave does at the entry, at an arrive, at a wait and at a full barrier. A
//! [`Usage`] is a way in which kernels use split barriers; the two together make a [`System`].

use super::object::Object;
use super::program::{Op, Program, Sequence, System, Word};

/// A wave of a workgroup.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Wave {
    /// Its number.
    pub index: u8,
    /// The number of objects.
    pub count: u8,
}

/// A way to make a split barrier out of what the hardware has.
///
/// The operations name objects and words by their index in [`Protocol::objects`] and
/// [`Protocol::words`]. Registers are the protocol's own.
pub trait Protocol {
    /// The objects of a workgroup of `waves` waves.
    fn objects(&self, waves: u8) -> Vec<Object>;

    /// The shared words: name, and value at launch.
    fn words(&self) -> Vec<(String, u8)> {
        Vec::new()
    }

    /// Before anything else.
    fn entry(&self, _program: &mut Program, _wave: Wave) {}

    /// The arrive.
    fn arrive(&self, program: &mut Program, wave: Wave);

    /// The wait.
    fn wait(&self, program: &mut Program, wave: Wave);

    /// A full barrier of the workgroup.
    fn full(&self, program: &mut Program, wave: Wave);

    /// Before a wave ends.
    fn exit(&self, _program: &mut Program, _wave: Wave) {}
}

/// A way to use a split barrier.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Usage {
    /// Arrive, wait; again and again.
    Repeated,
    /// The same, with a full barrier between a wait and the next arrive.
    FullBarrierBetween,
    /// The same, with a full barrier between an arrive and its wait.
    FullBarrierInside,
    /// A second arrive before the wait of the first; Vulkan forbids it
    /// (VUID-RuntimeSpirv-OpControlBarrierArriveEXT-13560).
    Overlapping,
    /// The last arrive is never waited for.
    Dangling,
    /// Between arrive and wait the last wave spins until wave 0 has returned from its wait.
    SpinAfterArrive,
    /// Before its arrive wave 0 spins until the last wave is past its own.
    SpinBeforeArrive,
}

/// The split barriers of a usage.
pub const SPLIT: Sequence = Sequence(0);

/// Its full barriers.
pub const FULL: Sequence = Sequence(1);

impl Usage {
    /// All of them.
    pub const ALL: &'static [Usage] = &[
        Usage::Repeated,
        Usage::FullBarrierBetween,
        Usage::FullBarrierInside,
        Usage::Overlapping,
        Usage::Dangling,
        Usage::SpinAfterArrive,
        Usage::SpinBeforeArrive,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Usage::Repeated => "repeated",
            Usage::FullBarrierBetween => "full barrier between pairs",
            Usage::FullBarrierInside => "full barrier inside a pair",
            Usage::Overlapping => "overlapping pairs",
            Usage::Dangling => "arrive never waited for",
            Usage::SpinAfterArrive => "spin between arrive and wait",
            Usage::SpinBeforeArrive => "spin before the arrive",
        }
    }

    /// `waves` waves that use `protocol` so, in `phases` phases (the two spinning usages have one).
    pub fn system(self, protocol: &dyn Protocol, waves: u8, phases: u8) -> System {
        let mut words = protocol.words();
        let flag = Word(u8::try_from(words.len()).unwrap_or(u8::MAX));
        if matches!(self, Usage::SpinAfterArrive | Usage::SpinBeforeArrive) {
            words.push(("flag".to_owned(), 0));
        }
        System::of_workgroup(protocol.objects(waves), words, waves, |index| {
            let wave = Wave {
                index,
                count: waves,
            };
            let mut scribe = Scribe {
                protocol,
                wave,
                program: Program::new(),
            };
            scribe.program.from_here("entry");
            protocol.entry(&mut scribe.program, wave);
            self.write(&mut scribe, flag, phases);
            scribe.program.from_here("exit");
            protocol.exit(&mut scribe.program, wave);
            scribe.program
        })
    }

    fn write(self, scribe: &mut Scribe<'_>, flag: Word, phases: u8) {
        let (first, last) = (
            scribe.wave.index == 0,
            scribe.wave.index + 1 == scribe.wave.count,
        );
        let raise = Op::Add {
            word: flag,
            value: 1.into(),
            old: None,
        };
        let spin = Op::AwaitReached(flag, 1.into());
        match self {
            Usage::Repeated => (0..phases).for_each(|n| {
                scribe.arrive(n);
                scribe.wait(n);
            }),
            Usage::FullBarrierBetween => (0..phases).for_each(|n| {
                scribe.arrive(n);
                scribe.wait(n);
                scribe.full(n);
            }),
            Usage::FullBarrierInside => (0..phases).for_each(|n| {
                scribe.arrive(n);
                scribe.full(n);
                scribe.wait(n);
            }),
            Usage::Overlapping => {
                scribe.arrive(0);
                for n in 1..phases {
                    scribe.arrive(n);
                    scribe.wait(n - 1);
                }
                scribe.wait(phases.saturating_sub(1));
            }
            Usage::Dangling => {
                for n in 1..phases {
                    scribe.arrive(n - 1);
                    scribe.wait(n - 1);
                }
                scribe.arrive(phases.saturating_sub(1));
            }
            Usage::SpinAfterArrive => {
                scribe.arrive(0);
                if last {
                    scribe.program.push(spin);
                }
                scribe.wait(0);
                if first {
                    scribe.program.push(raise);
                }
            }
            Usage::SpinBeforeArrive => {
                if first {
                    scribe.program.push(spin);
                }
                scribe.arrive(0);
                if last {
                    scribe.program.push(raise);
                }
                scribe.wait(0);
            }
        }
    }
}

/// Writes the program of one wave, with the ghosts around the protocol's operations.
struct Scribe<'p> {
    protocol: &'p dyn Protocol,
    wave: Wave,
    program: Program,
}

impl Scribe<'_> {
    fn arrive(&mut self, n: u8) {
        self.program.from_here(format!("arrive {n}"));
        self.program.push(Op::Arrived(SPLIT));
        self.protocol.arrive(&mut self.program, self.wave);
    }

    fn wait(&mut self, n: u8) {
        self.program.from_here(format!("wait {n}"));
        self.protocol.wait(&mut self.program, self.wave);
        self.program.push(Op::Waited(SPLIT));
    }

    fn full(&mut self, n: u8) {
        self.program.from_here(format!("barrier {n}"));
        self.program.push(Op::Arrived(FULL));
        self.protocol.full(&mut self.program, self.wave);
        self.program.push(Op::Waited(FULL));
    }
}
