//! The report of a run, and its progress.

use crate::coverage::Coverage;
use crate::finding::{CodeLocation, Finding};
use crate::journal::Journal;
use crate::memory::Space;

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The problems, in the order in which they were found.
    pub findings: Vec<Finding>,
    /// Notes ([`crate::FindingKind::is_note`]): worth a look, and not a problem. In the same order.
    pub notes: Vec<Finding>,
    /// Problems beyond those that are kept.
    pub not_kept: u64,
    /// Instructions of waves.
    pub steps: u64,
    /// Instructions of lanes.
    pub lane_steps: u64,
    /// The executed instructions.
    pub coverage: Coverage,
    /// The journal of the run, if it was requested.
    pub journal: Journal,
    /// The kinds of access of each instruction, if [`crate::Limits::accesses`] asks for them.
    pub accesses: Vec<Accessed>,
}

/// A kind of access that an instruction made.
#[derive(Clone, Debug)]
pub struct Accessed {
    /// The instruction.
    pub place: CodeLocation,
    /// Shared memory, or a region of global memory that the kernel may write.
    pub space: Space,
    /// True for a write. An atomic operation that reads and writes has both kinds.
    pub write: bool,
}

/// The progress of a run.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Workgroups that have ended.
    pub workgroups: u32,
    /// Instructions of waves so far.
    pub steps: u64,
}
