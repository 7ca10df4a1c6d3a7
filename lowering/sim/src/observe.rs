//! The course of a run, for an observer: which wave issues when, what it waits for until then, and
//! at which barriers it arrives and goes on. A run without observer records nothing.

use crate::barrier::Name;
use crate::finding::FindingKind;

/// A wave of a launch.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaveId {
    /// Linear index of its workgroup in the launch.
    pub group: u32,
    /// Its index in the workgroup.
    pub wave: u16,
}

/// The reason why a wave does not issue.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// An operation on memory is outstanding whose result, or whose completion, comes next.
    Memory,
    /// A result of the wave's own arithmetic is not there yet.
    Result,
    /// Other waves issue, or the unit that executes the instruction is busy.
    Unit,
    /// Others have yet to arrive at a barrier.
    Barrier,
    /// It sleeps.
    Sleep,
}

/// One thing that happens. Times are in cycles of the unit, or in steps of the machine where a
/// schedule chooses who goes on; those of one wave never decrease.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Observed {
    /// The wave begins.
    Began,
    /// The wave cannot issue for a time.
    Held {
        /// When that is over.
        until: u64,
        /// The reason.
        cause: Cause,
    },
    /// The wave cannot go on before others arrive at a barrier.
    Blocked {
        /// The instruction that waits; `None` for the one that the wave issued last.
        pc: Option<u32>,
    },
    /// The wave arrives at a barrier, in instruction `pc`.
    Arrived {
        /// The instruction.
        pc: u32,
        /// The barrier object.
        name: Name,
        /// The arrival completes a phase.
        completes: bool,
    },
    /// The wave goes on after a phase of a barrier.
    Passed {
        /// The instruction that waited; `None` for the one that the wave issued last.
        pc: Option<u32>,
        /// The barrier object.
        name: Name,
    },
    /// The wave issues instruction `pc`.
    Issued {
        /// The instruction.
        pc: u32,
        /// When the last place to issue is used.
        issued: u64,
        /// When the wave can issue again as far as this instruction is concerned.
        free: u64,
        /// The reason for the time from `issued` to `free`.
        cause: Cause,
        /// The wave waited for others at a barrier until now.
        released: bool,
    },
    /// Loads of the wave are outstanding from now on.
    Loads {
        /// When their results are there.
        until: u64,
    },
    /// The run finds a problem in instruction `pc` of the wave.
    Found {
        /// The problem.
        kind: FindingKind,
        /// The instruction.
        pc: u32,
        /// The other wave and instruction, where two are involved.
        other: Option<(WaveId, u32)>,
    },
    /// The wave ends.
    Ended,
}

/// Something that is told what happens.
pub trait Observer {
    /// The run begins; forgets one that was observed before.
    fn restart(&mut self);

    /// Takes note of what happens to `wave` at time `at`.
    fn observe(&mut self, wave: WaveId, at: u64, what: Observed);
}
