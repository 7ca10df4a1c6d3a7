//! Memory fences: order, scope and memory.

use crate::target::FenceScope;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The memory order of a fence.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FenceOrder {
    /// Later accesses stay after it.
    Acquire,
    /// Earlier accesses stay before it.
    Release,
    /// Both.
    AcquireRelease,
    /// Both, and one total order of all of them.
    SequentiallyConsistent,
}

/// The memory that a fence orders.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FenceMemory {
    /// Workgroup memory alone (LDS, shared memory).
    Local,
    /// Everything but workgroup memory.
    Global,
    /// All of it.
    All,
}

/// A fence.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fence {
    /// Order.
    pub order: FenceOrder,
    /// Scope.
    pub scope: FenceScope,
    /// Memory.
    pub memory: FenceMemory,
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order {
            FenceOrder::Acquire => "acquire",
            FenceOrder::Release => "release",
            FenceOrder::AcquireRelease => "acquire-release",
            FenceOrder::SequentiallyConsistent => "seq-cst",
        };
        let scope = match self.scope {
            FenceScope::Subgroup => "subgroup",
            FenceScope::Workgroup => "workgroup",
            FenceScope::Device => "device",
            FenceScope::System => "system",
        };
        let memory = match self.memory {
            FenceMemory::Local => "local",
            FenceMemory::Global => "global",
            FenceMemory::All => "all",
        };
        write!(f, "fence {order} {scope} {memory}")
    }
}
