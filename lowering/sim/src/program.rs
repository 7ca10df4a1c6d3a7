//! A front end's program, as the machine runs it.

use crate::barrier::Name;
use crate::context::{Context, Group};
use crate::finding::CodeLocation;

/// A front end's program: decoded once, run by many waves.
pub trait Program {
    /// Registers and program counter of one wave.
    type Wave;

    /// Lanes of a wave: 32 or 64.
    fn wave_size(&self) -> u32;

    /// Clocks of a wave: 1 where its lanes go in lock step, [`Program::wave_size`] where each lane
    /// is a thread of its own that others of the same wave have to synchronise with.
    fn agents(&self) -> u32 {
        1
    }

    /// Prepares a workgroup before its waves start (barrier objects that exist from the start).
    fn enter(&self, group: &mut Group) {
        let _ = group;
    }

    /// A wave at the kernel's entry.
    fn start(&self, start: &WaveStart) -> Self::Wave;

    /// Runs one instruction of a wave, or for some of its lanes.
    fn step(&self, wave: &mut Self::Wave, context: &mut Context<'_>) -> Step;

    /// Lets one outstanding operation take effect early. Called at times under
    /// [`Completion::Random`](crate::schedule::Completion::Random).
    fn complete_one(&self, wave: &mut Self::Wave, context: &mut Context<'_>) {
        let _ = (wave, context);
    }

    /// Where a blocked wave waits: the instruction, and for which barrier. For the text of a
    /// deadlock.
    fn waiting(&self, wave: &Self::Wave) -> Vec<(u32, Option<Name>)>;

    /// What the program knows about its instruction `pc`.
    fn place(&self, pc: u32) -> CodeLocation;
}

/// The result of a step. The numbers are active lanes, for the statistics.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The wave can go on.
    Ran(u32),
    /// The wave can go on, and asks that others go first (it spins or sleeps).
    Yielded(u32),
    /// The wave cannot go on until a barrier object changes. Its next step tries again.
    Blocked,
    /// The wave has ended.
    Done,
}

/// The input of a wave at its start.
#[derive(Clone, Debug)]
pub struct WaveStart {
    /// The workgroup, in x, y and z.
    pub group: [u32; 3],
    /// Workgroups of the launch.
    pub groups: [u32; 3],
    /// Workgroups of a cluster; `[1, 1, 1]` where there are none.
    pub cluster: [u32; 3],
    /// Invocations of a workgroup.
    pub workgroup_size: [u32; 3],
    /// Index of the wave in the workgroup.
    pub wave: u16,
    /// Waves of the workgroup.
    pub waves: u16,
    /// Linear index, in the workgroup, of lane 0.
    pub first: u32,
    /// Lanes that exist: all but in the last wave of a workgroup that is no multiple of the wave.
    pub lanes: u32,
    /// The source of values for unwritten registers.
    pub noise: u64,
}
