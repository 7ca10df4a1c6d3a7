//! The resources of the unit that an instruction uses.

use crate::accesses::Accesses;
use crate::program::Program;
use crate::queue::Counters;

/// The pipeline that executes an instruction. Times are those of
/// [`splitbar_target::timing::Timing`].
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Nothing: it takes its place in the order.
    #[default]
    None,
    /// Floats of 32 bits and fewer.
    Simple,
    /// Integers.
    Integer,
    /// Floats of 64 bits.
    Wide,
    /// Reciprocals, roots and their like.
    Special,
    /// A matrix multiply-add.
    Matrix,
    /// The scalar unit.
    Scalar,
    /// A branch.
    Branch,
    /// Memory: what was touched says which.
    Memory,
    /// Lanes exchange values through the hardware of shared memory.
    Exchange,
    /// A barrier; whether the wave waits there.
    Barrier {
        /// It does not go on before the phase is complete.
        waits: bool,
    },
    /// An operation on a barrier object in shared memory.
    Object {
        /// It is an arrival that releases.
        releases: bool,
        /// A question whose answer may come when the phase is complete.
        suspends: bool,
    },
    /// A fence of the workgroup.
    Fence,
    /// A fence of the device, or an instruction that looks after caches.
    DeviceFence,
    /// Sleeps so many cycles.
    Sleep(u32),
    /// Sleeps so many nanoseconds.
    SleepFor(u32),
}

/// The resources that one instruction uses.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    /// The pipeline that executes it.
    pub unit: Unit,
    /// Instructions of the machine that it is, each of which is issued.
    pub slots: u32,
    /// Registers that it waits for.
    pub reads: Box<[u32]>,
    /// Registers that have their values a latency later.
    pub writes: Box<[u32]>,
    /// Memory that it may access.
    pub accesses: Accesses,
    /// Counters that it is outstanding in; where there are none, the registers tell.
    pub counters: Counters,
    /// It makes what is outstanding in the first counters one entry of the second ones.
    pub gathers: Option<(Counters, Counters)>,
    /// Counters that it waits for, and how many entries may be left.
    pub waits: Box<[(Counters, u32)]>,
}

/// A program whose instructions have costs.
pub trait Timed: Program {
    /// The costs of the instructions, by number.
    fn costs(&self) -> Vec<Cost>;

    /// One more than the largest register that a cost names.
    fn registers(&self) -> usize;

    /// The instruction that a wave issues next. `None` where it is blocked, or where lanes that
    /// went different ways have yet to be chosen from.
    fn next(&self, wave: &Self::Wave) -> Option<u32>;
}
