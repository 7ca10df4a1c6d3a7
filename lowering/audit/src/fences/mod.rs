//! The audit of fences: what the plan's fences promise is in the final code.
//!
//! Data flows one way: the plan and the program's control flow ([`ControlFlowSummary`]) -> the
//! fences that each synchronisation promises, by its word (`sync_contract.rs`, `beside.rs`) -> the
//! ordering that this requires of machine instructions ([`RequiredOrdering`]) -> walks over the
//! code, which find an access with nothing between it and the synchronisation (`cache.rs` for AMD
//! GPUs, `ptx.rs`). [`crate::waits`] looks for the waits of a release.
//!
//! Nothing here knows what LLVM makes of a fence: what has to be there is a fact of the target, or
//! of PTX.

mod beside;
mod cache;
mod finding;
mod ptx;
mod required_ordering;
mod shape;
mod sync_contract;
mod walk;

pub use finding::{Finding, FindingKind};
pub use required_ordering::{FenceRequirement, RequiredOrdering, required_orderings};
pub use shape::{Atomic, ControlFlowSummary, Words};
pub use sync_contract::{FenceObligation, SyncContract, SyncContracts, SyncKind, contracts};

pub(crate) use required_ordering::barrier_sides;

use crate::asm::Function;
use crate::waits::outstanding::Outstanding;
use cache::Caches;
use splitbar_plan::Placement;
use splitbar_plan::target::Amdgpu;
use std::collections::BTreeMap;
use walk::Walker;

/// Too much to look at.
const TOO_LARGE: &str = "it requires too many orderings to be audited";

/// What is missing in AMDGPU code.
pub(crate) fn amdgpu(
    function: &Function,
    gpu: &Amdgpu,
    placement: Placement,
    outstanding: &Outstanding,
    required: &BTreeMap<usize, RequiredOrdering>,
) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    let mut caches = Caches {
        gpu,
        placement,
        outstanding,
        walker: Walker::new(function),
    };
    let mut written_back = Vec::new();
    for (position, required) in required {
        if outstanding.at(*position).is_none() {
            continue;
        }
        caches.check(*position, required, &mut findings);
        let wide = required
            .release
            .iter()
            .filter(|requirement| !gpu.release.at(requirement.fence.scope).is_empty());
        written_back.extend(wide.map(|requirement| (*position, requirement.clone())));
    }
    caches.early_write_backs(&mut findings, &written_back);
    if caches.walker.gave_up() {
        return Err(format!("{}: {TOO_LARGE}", function.name));
    }
    Ok(findings)
}

/// What is missing in PTX.
pub(crate) fn nvptx(
    function: &Function,
    required: &BTreeMap<usize, RequiredOrdering>,
) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    let mut walker = Walker::new(function);
    for (position, required) in required {
        ptx::check(&mut walker, *position, required, &mut findings);
    }
    if walker.gave_up() {
        return Err(format!("{}: {TOO_LARGE}", function.name));
    }
    Ok(findings)
}
