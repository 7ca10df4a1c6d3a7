//! The audit of waits: which memory operations may be outstanding at each barrier of the machine code, and whether the plan allows it.
//!
//! One way: instructions -> operations and waits ([`operation`], [`counter`]) -> what is outstanding where (`outstanding.rs`) -> what the plan asks
//! (`requirement.rs`) -> [`Audit`].
//!
//! The audit trusts neither LLVM's wait insertion nor our fences: it knows only the machine instructions and the release fences of the plan.

pub mod counter;
pub mod operation;
mod outstanding;
mod requirement;
mod show;

pub use requirement::{Demand, Requirement, demands, requirements};

use crate::asm::{Function, Instruction, Role};
use counter::Counter;
use operation::{Memory, Operation};
use outstanding::Outstanding;
use serde::{Deserialize, Serialize};
use splitbar_plan::target::Amdgpu;
use splitbar_plan::{Fence, FenceMemory, FenceScope};
use std::collections::BTreeMap;

/// The audit of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// The kernel's symbol.
    pub kernel: String,
    /// Its barriers, in order of the code.
    pub barriers: Vec<Barrier>,
    /// Waits that retire nothing: with or without them the same operations may be outstanding.
    pub redundant_waits: Vec<Place>,
    /// Waits in all.
    pub waits: u32,
    /// Whether calls leave the code that was read. What the callee leaves outstanding is not known then.
    pub calls: bool,
}

/// One machine instruction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Its number in the kernel.
    pub position: usize,
    /// Its mnemonic.
    pub mnemonic: String,
    /// Word offset of the SPIR-V instruction that it came from, where the code says.
    pub word: Option<u32>,
}

/// What is outstanding at a barrier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Barrier {
    /// The instruction.
    pub at: Place,
    /// Operations that may be outstanding when it is reached, in order of the code.
    pub outstanding: Vec<InFlight>,
    /// What the plan asks to be finished; `None` where it asks nothing (who only waits tells nobody anything) or is not known: nothing is judged then.
    pub demand: Option<Demand>,
    /// Positions of those among [`Barrier::outstanding`] that must not be. Empty: the barrier is right.
    pub violations: Vec<usize>,
}

/// An operation that may be outstanding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// The instruction.
    pub at: Place,
    /// The counters under which it is outstanding.
    pub counters: Vec<Counter>,
    /// The memory that it touches.
    pub memory: Memory,
    /// Whether it writes memory.
    pub writes: bool,
}

impl Audit {
    /// Whether the code waits for everything that it must.
    pub fn is_clean(&self) -> bool {
        self.barriers
            .iter()
            .all(|barrier| barrier.violations.is_empty())
    }
}

/// Audits the code of one kernel against `demands`, which are by position (see [`demands`]).
///
/// # Errors
/// A sentence when the code has more operations outstanding at one place than are kept.
pub fn audit(
    function: &Function,
    gpu: &Amdgpu,
    demands: &BTreeMap<usize, Demand>,
) -> Result<Audit, String> {
    let solution = Outstanding::of(function, gpu).ok_or_else(|| {
        format!(
            "{} has too many operations outstanding at one place to be audited",
            function.name
        )
    })?;
    let barriers = function
        .instructions
        .iter()
        .enumerate()
        .filter(|(position, inst)| is_barrier(inst) && solution.at(*position).is_some())
        .map(|(position, inst)| {
            let demand = demands.get(&position).filter(|_| inst.role != Role::Wait);
            barrier(function, gpu, &solution, position, demand)
        })
        .collect();
    let useful: Vec<(usize, bool)> = (0..function.instructions.len())
        .filter_map(|position| Some((position, solution.is_useful_wait(function, position)?)))
        .collect();
    Ok(Audit {
        kernel: function.name.clone(),
        barriers,
        redundant_waits: useful
            .iter()
            .filter(|(_, useful)| !useful)
            .map(|(position, _)| place(function, *position))
            .collect(),
        waits: u32::try_from(useful.len()).unwrap_or(u32::MAX),
        calls: function
            .instructions
            .iter()
            .any(|inst| inst.mnemonic.starts_with("s_swappc")),
    })
}

fn is_barrier(inst: &Instruction) -> bool {
    match inst.role {
        Role::Arrive | Role::Wait | Role::ArriveAndWait => true,
        Role::Work | Role::Housekeeping => false,
    }
}

fn barrier(
    function: &Function,
    gpu: &Amdgpu,
    solution: &Outstanding,
    position: usize,
    demand: Option<&Demand>,
) -> Barrier {
    let mut in_flight: BTreeMap<usize, Vec<Counter>> = BTreeMap::new();
    for (operation, counter) in solution
        .at(position)
        .into_iter()
        .flat_map(|facts| facts.keys())
    {
        in_flight.entry(*operation).or_default().push(*counter);
    }
    let outstanding: Vec<InFlight> = in_flight
        .into_iter()
        .filter_map(|(operation, counters)| {
            let known = solution.operation(operation)?;
            Some(InFlight {
                at: place(function, operation),
                counters,
                memory: known.memory,
                writes: known.writes,
            })
        })
        .collect();
    let violations = demand.map_or_else(Vec::new, |demand| {
        let is_violation = |flying: &&InFlight| {
            !demand.exempt.contains(&flying.at.position)
                && solution
                    .operation(flying.at.position)
                    .is_some_and(|operation| {
                        demand
                            .fences
                            .iter()
                            .any(|fence| covers(fence, operation, &flying.counters, gpu))
                    })
        };
        outstanding
            .iter()
            .filter(is_violation)
            .map(|flying| flying.at.position)
            .collect()
    });
    Barrier {
        at: place(function, position),
        outstanding,
        demand: demand.cloned(),
        violations,
    }
}

/// Whether a release by `fence` promises that `operation`, outstanding under `counters`, has finished.
///
/// Sources: LLVM AMDGPUUsage, "Memory Model" tables (release at workgroup, agent and system scope per generation); scalar loads are loads of global memory like
/// any other, although LLVM's own sequences for gfx12 do not wait for them.
fn covers(fence: &Fence, operation: &Operation, counters: &[Counter], gpu: &Amdgpu) -> bool {
    let names_local = matches!(fence.memory, FenceMemory::Local | FenceMemory::All);
    let names_global = matches!(fence.memory, FenceMemory::Global | FenceMemory::All);
    let within_workgroup = match fence.scope {
        FenceScope::Subgroup => return false,
        FenceScope::Workgroup => true,
        FenceScope::Device | FenceScope::System => false,
    };
    if operation.asynchronous {
        return false;
    }
    let vector_in_order = within_workgroup && gpu.ordered_vmem;
    match operation.memory {
        Memory::Own => false,
        Memory::Local => names_local,
        Memory::Scalar => names_global,
        Memory::Global => names_global && !vector_in_order,
        // A flat access is still in LDS's queue as long as LDS's counter counts it.
        Memory::Both => {
            let in_lds = counters
                .iter()
                .any(|counter| matches!(counter, Counter::Lgkm | Counter::Ds));
            names_local && in_lds || names_global && !vector_in_order
        }
    }
}

fn place(function: &Function, position: usize) -> Place {
    let inst = function.instructions.get(position);
    Place {
        position,
        mnemonic: inst.map(|inst| inst.mnemonic.clone()).unwrap_or_default(),
        word: inst.and_then(|inst| inst.word),
    }
}
