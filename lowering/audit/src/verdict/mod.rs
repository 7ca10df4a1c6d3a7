//! The audit of final code: the memory operations that may be outstanding at each barrier of the
//! machine code, whether the plan allows them, and whether the code contains what the plan's fences
//! require.
//!
//! One way: instructions -> operations and waits -> what is outstanding where ([`crate::waits`]) ->
//! what the plan asks ([`crate::fences`]) -> [`Audit`].
//!
//! The audit trusts neither LLVM's wait insertion nor our fences: it knows only the machine
//! instructions and the fences of the plan.

mod show;

use crate::asm::Function;
use crate::fences::{self, Finding, RequiredOrdering};
use crate::waits::counter::Counter;
use crate::waits::operation::{Memory, Operation};
use crate::waits::outstanding::Outstanding;
use crate::waits::{CodePlace, place};
use serde::{Deserialize, Serialize};
use splitbar_passes::module::WordOffset;
use splitbar_plan::target::{Amdgpu, Arch};
use splitbar_plan::{Fence, FenceMemory, FenceScope, Placement};
use std::collections::BTreeMap;

/// The audit of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// The kernel's symbol.
    pub kernel: String,
    /// The placement of the waves of a workgroup.
    pub placement: Placement,
    /// Its barriers, and what else synchronises by the plan, in order of the code.
    pub barriers: Vec<Barrier>,
    /// Fences of the plan that left no trace where they are needed, beside the operations that
    /// barriers find outstanding.
    pub findings: Vec<Finding>,
    /// Waits that retire nothing: with or without them the same operations may be outstanding.
    pub redundant_waits: Vec<CodePlace>,
    /// Waits in all.
    pub waits: u32,
    /// True if calls leave the code that was read. What the callee leaves outstanding is not known
    /// then.
    pub calls: bool,
}

/// The outstanding operations at a barrier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Barrier {
    /// The instruction.
    pub at: CodePlace,
    /// Operations that may be outstanding when it is reached, in order of the code.
    pub outstanding: Vec<InFlight>,
    /// The ordering that the plan requires; `None` if it requires none or is unknown, and nothing
    /// is checked.
    pub required_ordering: Option<RequiredOrdering>,
    /// Positions of those among [`Barrier::outstanding`] that must not be. Empty: the barrier is
    /// right.
    pub violations: Vec<usize>,
    /// The fences that these violate, in order.
    pub violated: Vec<Fence>,
}

/// An operation that may be outstanding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// The instruction.
    pub at: CodePlace,
    /// The counters under which it is outstanding.
    pub counters: Vec<Counter>,
    /// The memory that it touches.
    pub memory: Memory,
    /// True if it writes memory.
    pub writes: bool,
}

impl Audit {
    /// Replaces each word by the one that `source` leads to: for code of a module that passes made.
    pub fn map_words(&mut self, source: &dyn Fn(WordOffset) -> Option<WordOffset>) {
        let mut map = |word: &mut Option<WordOffset>| *word = word.and_then(source);
        for barrier in &mut self.barriers {
            map(&mut barrier.at.word);
            let outstanding = &mut barrier.outstanding;
            outstanding.iter_mut().for_each(|one| map(&mut one.at.word));
            if let Some(ordering) = &mut barrier.required_ordering {
                let fences = ordering.release.iter_mut().chain(&mut ordering.acquire);
                fences.for_each(|fence| map(&mut fence.word));
            }
        }
        for finding in &mut self.findings {
            let places = [&mut finding.sync.word, &mut finding.access.word];
            places.into_iter().for_each(&mut map);
            map(&mut finding.word);
        }
        let redundant = self.redundant_waits.iter_mut();
        redundant.for_each(|wait| map(&mut wait.word));
    }

    /// The required orderings that it judged by.
    pub fn required_orderings(&self) -> BTreeMap<usize, RequiredOrdering> {
        self.barriers
            .iter()
            .filter_map(|barrier| Some((barrier.at.position, barrier.required_ordering.clone()?)))
            .collect()
    }

    /// Audits other code with the same barriers at the same positions: what this was made of,
    /// changed.
    ///
    /// # Errors
    /// As [`audit`].
    pub fn of_changed(&self, function: &Function, arch: &Arch) -> Result<Audit, String> {
        audit(function, arch, self.placement, &self.required_orderings())
    }

    /// Returns true if the code does everything that the fences promise.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
            && self
                .barriers
                .iter()
                .all(|barrier| barrier.violations.is_empty())
    }
}

/// Audits the code of one kernel, whose workgroups are placed so, against `required`, which are by
/// position (see [`fences::required_orderings`]).
///
/// # Errors
/// A sentence when there is more to look at than is allowed.
pub fn audit(
    function: &Function,
    arch: &Arch,
    placement: Placement,
    required: &BTreeMap<usize, RequiredOrdering>,
) -> Result<Audit, String> {
    match arch {
        Arch::Amdgpu(gpu) => amdgpu(function, gpu, placement, required),
        Arch::Nvptx(_) => Ok(Audit {
            kernel: function.name.clone(),
            placement,
            barriers: synchronisations(function, required)
                .map(|position| Barrier {
                    at: place(function, position),
                    outstanding: Vec::new(),
                    required_ordering: required.get(&position).cloned(),
                    violations: Vec::new(),
                    violated: Vec::new(),
                })
                .collect(),
            findings: fences::nvptx(function, required)?,
            redundant_waits: Vec::new(),
            waits: 0,
            calls: calls(function, "call"),
        }),
    }
}

fn amdgpu(
    function: &Function,
    gpu: &Amdgpu,
    placement: Placement,
    required: &BTreeMap<usize, RequiredOrdering>,
) -> Result<Audit, String> {
    let solution = Outstanding::analyze(function, gpu).ok_or_else(|| {
        format!(
            "{} has too many operations outstanding at one place to be audited",
            function.name
        )
    })?;
    let barriers = synchronisations(function, required)
        .filter(|position| solution.at(*position).is_some())
        .map(|position| {
            let required = required.get(&position);
            barrier(function, gpu, placement, &solution, position, required)
        })
        .collect();
    let useful: Vec<(usize, bool)> = (0..function.instructions.len())
        .filter_map(|position| Some((position, solution.is_useful_wait(function, position)?)))
        .collect();
    Ok(Audit {
        kernel: function.name.clone(),
        placement,
        barriers,
        findings: fences::amdgpu(function, gpu, placement, &solution, required)?,
        redundant_waits: useful
            .iter()
            .filter(|(_, useful)| !useful)
            .map(|(position, _)| place(function, *position))
            .collect(),
        waits: u32::try_from(useful.len()).unwrap_or(u32::MAX),
        calls: calls(function, "s_swappc"),
    })
}

fn calls(function: &Function, mnemonic: &str) -> bool {
    let mut instructions = function.instructions.iter();
    instructions.any(|inst| inst.mnemonic.starts_with(mnemonic))
}

/// Barriers, and what else something is asked of.
fn synchronisations<'a>(
    function: &'a Function,
    required: &'a BTreeMap<usize, RequiredOrdering>,
) -> impl Iterator<Item = usize> + 'a {
    let all = function.instructions.iter().enumerate();
    all.filter(|(position, inst)| {
        let sides = fences::barrier_sides(inst);
        sides.arrives || sides.waits || required.contains_key(position)
    })
    .map(|(position, _)| position)
}

fn barrier(
    function: &Function,
    gpu: &Amdgpu,
    placement: Placement,
    solution: &Outstanding,
    position: usize,
    required: Option<&RequiredOrdering>,
) -> Barrier {
    let facts = solution.at(position).map_or(&[][..], Vec::as_slice);
    let mut outstanding = Vec::new();
    let mut violations = Vec::new();
    let mut violated = Vec::new();
    for facts in facts.chunk_by(|one, next| one.position() == next.position()) {
        let position = facts.first().map(|fact| fact.position());
        let operation = position.and_then(|position| solution.operation(position));
        let (Some(position), Some(operation)) = (position, operation) else {
            debug_assert!(false, "{facts:?} are about no operation");
            continue;
        };
        let flying = InFlight {
            at: place(function, position),
            counters: facts.iter().map(|fact| fact.counter).collect(),
            memory: operation.memory,
            writes: operation.writes,
        };
        let requirements = required.into_iter().flat_map(|required| &required.release);
        let broken = requirements.filter(|requirement| {
            !requirement.exempt.contains(&position)
                && covers(
                    &requirement.fence,
                    operation,
                    &flying.counters,
                    gpu,
                    placement,
                )
        });
        let before = violated.len();
        violated.extend(broken.map(|requirement| requirement.fence));
        if violated.len() > before {
            violations.push(position);
        }
        outstanding.push(flying);
    }
    violated.sort();
    violated.dedup();
    Barrier {
        at: place(function, position),
        outstanding,
        required_ordering: required.cloned(),
        violations,
        violated,
    }
}

/// Whether a release by `fence` promises that `operation`, outstanding under `counters`, has
/// finished.
///
/// Sources: LLVM AMDGPUUsage, "Memory Model" tables (release at workgroup, agent and system scope
/// per generation); scalar loads are loads of global memory like any other, although LLVM's own
/// sequences for gfx12 do not wait for them.
fn covers(
    fence: &Fence,
    operation: &Operation,
    counters: &[Counter],
    gpu: &Amdgpu,
    placement: Placement,
) -> bool {
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
    let vector_in_order =
        within_workgroup && gpu.ordered_vmem && placement != Placement::ThreadgroupSplit;
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::asm;
    use crate::fences::{FenceRequirement, FindingKind};
    use pretty_assertions::assert_eq;
    use splitbar_plan::{FenceOrder, Target};

    #[test]
    fn a_barrier_names_the_fences_that_are_violated() {
        let text = "\t.type\tk,@function\nk:\n\tds_write_b32 v0, v1\n\ts_barrier\n\ts_endpgm\n";
        let release = |scope, memory| Fence {
            order: FenceOrder::Release,
            scope,
            memory,
        };
        let local = release(FenceScope::Workgroup, FenceMemory::Local);
        let global = release(FenceScope::Device, FenceMemory::Global);
        let required = RequiredOrdering {
            release: [global, local, local]
                .map(FenceRequirement::everything)
                .into(),
            acquire: Vec::new(),
        };
        let target = Target::by_name("gfx942").unwrap();
        let function = &asm::parse(text, &target.arch).unwrap()[0];
        let required = [(1, required)].into();
        let audit = audit(function, &target.arch, Placement::Default, &required).unwrap();
        assert_eq!(audit.barriers[0].violated, [local]);
    }

    /// What a requirement at the instruction at 0 lacks.
    fn lacks(gpu: &str, text: &str, requirement: FenceRequirement) -> Vec<FindingKind> {
        let target = Target::by_name(gpu).unwrap();
        let text = format!("\t.type\tk,@function\nk:\n\t.loc\t1 21 0\n{text}\ts_endpgm\n");
        let function = &asm::parse(&text, &target.arch).unwrap()[0];
        let required = RequiredOrdering {
            release: Vec::new(),
            acquire: vec![requirement],
        };
        let required = [(0, required)].into();
        let audit = audit(function, &target.arch, Placement::Default, &required).unwrap();
        audit.findings.iter().map(|finding| finding.kind).collect()
    }

    fn acquire(scope: FenceScope, memory: FenceMemory, word: u32) -> FenceRequirement {
        let order = FenceOrder::Acquire;
        FenceRequirement {
            word: Some(WordOffset::new(word)),
            ..FenceRequirement::everything(Fence {
                order,
                scope,
                memory,
            })
        }
    }

    /// LLVM waits for an atomic operation at a fence that names its memory (AMDGPUUsage, "Memory
    /// Model": a fence of one address space leaves out the waits for the others).
    #[test]
    fn a_fence_counts_for_an_atomic_operation_in_its_memory() {
        let of = |scope, memory, word| {
            let text = "\tglobal_atomic_add v0, v1, s[0:1]\n\t.loc\t1 41 0\n\tds_read_b32 v2, v3\n";
            lacks("gfx1030", text, acquire(scope, memory, word))
        };
        let workgroup = FenceScope::Workgroup;
        assert_eq!(of(workgroup, FenceMemory::Local, 30), []);
        assert_eq!(of(workgroup, FenceMemory::All, 30), [FindingKind::Wait]);
        let own = "the order of the atomic operation itself";
        assert_eq!(
            of(workgroup, FenceMemory::Local, 20),
            [FindingKind::Wait],
            "{own}"
        );
    }

    /// The invalidation for a workgroup is not waited for (gfx13), that for the device is.
    #[test]
    fn an_invalidation_is_waited_for_from_the_device_on() {
        let of = |gpu, scope, inv: &str| {
            let text = format!(
                "\ts_barrier_wait -1\n\t.loc\t1 31 0\n{inv}\t.loc\t1 41 0\n\tglobal_load_b32 v2, v3, s[0:1]\n"
            );
            lacks(gpu, &text, acquire(scope, FenceMemory::Global, 30))
        };
        let (workgroup, device) = (FenceScope::Workgroup, FenceScope::Device);
        assert_eq!(
            of("gfx1310", workgroup, "\tglobal_inv scope:SCOPE_SE\n"),
            []
        );
        assert_eq!(of("gfx1310", workgroup, ""), [FindingKind::Invalidation]);
        for gpu in ["gfx1250", "gfx1310"] {
            let inv = "\tglobal_inv scope:SCOPE_DEV\n";
            assert_eq!(of(gpu, device, inv), [FindingKind::Invalidation], "{gpu}");
            let waited = format!("{inv}\ts_wait_loadcnt 0x0\n");
            assert_eq!(of(gpu, device, &waited), [], "{gpu}");
        }
    }
}
