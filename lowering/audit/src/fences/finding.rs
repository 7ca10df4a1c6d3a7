//! The findings at a fence.

use crate::waits::CodePlace;
use serde::{Deserialize, Serialize};
use splitbar_passes::module::WordOffset;
use splitbar_plan::Fence;

/// The kind of instruction that the code lacks.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// A cache is not invalidated between the synchronisation and a load.
    Invalidation,
    /// A cache is not written back between a store and the synchronisation.
    WriteBack,
    /// A fence of PTX is not there, or too weak.
    Fence,
    /// Something is not waited for.
    Wait,
}

/// A fence of the plan that left no trace where it is needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The kind of instruction that is missing.
    pub kind: FindingKind,
    /// The fence.
    pub fence: Fence,
    /// The word of the instruction that the plan has it for, where that is known.
    pub word: Option<WordOffset>,
    /// The synchronisation that it counts for.
    pub sync: CodePlace,
    /// The access that it orders with that.
    pub access: CodePlace,
    /// The instructions that would do.
    pub missing: Vec<String>,
}
