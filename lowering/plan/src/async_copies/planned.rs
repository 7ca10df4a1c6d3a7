//! The copies of a function as they are planned.

use super::copy_plan::CopyPlan;
use crate::staged::StagedShape;
use crate::step::{FenceMemory, Step};
use splitbar_passes::analysis::async_copy::{self};
use splitbar_passes::module::WordOffset;
use std::collections::BTreeMap;

/// What the planner makes of the copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Planned {
    /// By word offset of the instruction.
    pub copies: BTreeMap<WordOffset, CopyPlan>,
    /// By word offset of the instruction: steps before it. A mark comes before a wait, and both
    /// before the fence of a copy.
    pub before: BTreeMap<WordOffset, Vec<Step>>,
    /// By word offset of an OpGroupAsyncCopy: the steps after it.
    pub after: BTreeMap<WordOffset, Vec<Step>>,
    /// By word offset of an OpGroupWaitEvents: the steps that wait for the copies of the invocation
    /// itself, and the memory that the following barrier orders.
    pub waits: BTreeMap<WordOffset, (Vec<Step>, FenceMemory)>,
    /// Steps at the entry.
    pub at_entry: Vec<Step>,
    /// The sets of registers that hold copies.
    pub staged: Vec<StagedShape>,
    /// A wait leaves copies outstanding over a barrier.
    pub in_flight: bool,
    /// mbarriers of bulk copies.
    pub bulk_slots: Option<u32>,
}

/// How many marks a wait of the analysis leaves outstanding. To leave fewer is right too.
pub(super) fn allowed(wait: &async_copy::Wait) -> u8 {
    u8::try_from(wait.outstanding).unwrap_or(u8::MAX)
}
