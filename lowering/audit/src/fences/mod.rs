//! The audit of fences: what the plan's fences promise is in the final code.
//!
//! One way: the plan and the program's control flow ([`ControlFlowSummary`]) -> what is promised,
//! by the word of each synchronisation (`promise.rs`, `beside.rs`) -> what that asks of machine
//! instructions ([`Demand`]) -> walks over the code, which find an access with nothing between it
//! and the synchronisation (`cache.rs` for AMD GPUs, `ptx.rs`). The waits of a release are looked
//! for by [`crate::waits`].
//!
//! Nothing here knows what LLVM makes of a fence: what has to be there is a fact of the target, or
//! of PTX.

mod beside;
mod cache;
mod demand;
mod finding;
mod promise;
mod ptx;
mod shape;
mod walk;

pub use demand::{Clause, Demand, demands};
pub use finding::{Finding, Lack};
pub use promise::{FenceObligation, SyncContract, SyncContracts, SyncKind, promises};
pub use shape::{Atomic, ControlFlowSummary, Words};

pub(crate) use demand::barrier_sides;

use crate::asm::Function;
use crate::waits::outstanding::Outstanding;
use cache::Caches;
use splitbar_plan::Placement;
use splitbar_plan::target::Amdgpu;
use std::collections::BTreeMap;
use walk::Walker;

/// Too much to look at.
const TOO_LARGE: &str = "its demands are too many to be audited";

/// What is missing in AMDGPU code.
pub(crate) fn amdgpu(
    function: &Function,
    gpu: &Amdgpu,
    placement: Placement,
    outstanding: &Outstanding,
    demands: &BTreeMap<usize, Demand>,
) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    let mut caches = Caches {
        gpu,
        placement,
        outstanding,
        walker: Walker::new(function),
    };
    let mut written_back = Vec::new();
    for (position, demand) in demands {
        if outstanding.at(*position).is_none() {
            continue;
        }
        caches.check(*position, demand, &mut findings);
        let wide = demand
            .release
            .iter()
            .filter(|clause| !gpu.release.at(clause.fence.scope).is_empty());
        written_back.extend(wide.map(|clause| (*position, clause.clone())));
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
    demands: &BTreeMap<usize, Demand>,
) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    let mut walker = Walker::new(function);
    for (position, demand) in demands {
        ptx::check(&mut walker, *position, demand, &mut findings);
    }
    if walker.gave_up() {
        return Err(format!("{}: {TOO_LARGE}", function.name));
    }
    Ok(findings)
}
