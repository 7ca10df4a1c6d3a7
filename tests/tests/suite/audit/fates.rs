//! The findings of the audit after an instruction that a fence generated is removed.

use anyhow::{Context, Result, ensure};
use splitbar::Target;
use splitbar::asm::{Function, Instruction, Role};
use splitbar::verdict::Audit;
use splitbar::waits::counter::{Counter, waits};
use splitbar::waits::operation::Memory;
use splitbar_plan::target::{Amdgpu, Arch};
use splitbar_plan::{FenceMemory, FenceScope};
use std::collections::{BTreeMap, BTreeSet};

/// The kind of the removed instruction.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A wait of a release.
    Wait,
    /// An invalidation.
    Invalidation,
    /// A write-back.
    WriteBack,
    /// A fence of PTX.
    Fence,
}

/// The fate of the code without it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    /// The audit misses it.
    Noticed,
    /// There is no access that it could order.
    Needless,
    /// The audit does not miss it.
    Survives,
}

/// Removes each instruction in turn: its kind, and its fate.
pub(super) fn of(
    function: &Function,
    audit: &Audit,
    target: &Target,
) -> Result<Vec<(Kind, Fate, String)>> {
    let mut found = Vec::new();
    for (position, kind) in chosen(function, audit, target) {
        let inst = function
            .instructions
            .get(position)
            .context("no such place")?;
        let what = format!("{position}: {} {}", inst.mnemonic, inst.operands);
        let mut without = function.clone();
        if let Some(inst) = without.instructions.get_mut(position) {
            "s_nop".clone_into(&mut inst.mnemonic);
        }
        let judged = audit.of_changed(&without, &target.arch);
        let judged = judged.map_err(anyhow::Error::msg)?;
        let fate = if !judged.is_clean() {
            Fate::Noticed
        } else if is_needless(function, audit, position, kind)
            || kind == Kind::Wait && is_idle(audit, &judged, target)
        {
            Fate::Needless
        } else {
            Fate::Survives
        };
        found.push((kind, fate, what));
    }
    Ok(found)
}

fn chosen(function: &Function, audit: &Audit, target: &Target) -> Vec<(usize, Kind)> {
    let mut found = Vec::new();
    if let Arch::Amdgpu(gpu) = &target.arch {
        // Without BackOffBarrier LLVM puts a wait for everything before a barrier, whatever is
        // released.
        if gpu.back_off_barrier {
            let waits = release_waits(function, audit, gpu);
            found.extend(waits.into_iter().map(|position| (position, Kind::Wait)));
        }
    }
    for (position, inst) in function.instructions.iter().enumerate() {
        found.extend(kind(inst).map(|kind| (position, kind)));
    }
    found
}

fn kind(inst: &Instruction) -> Option<Kind> {
    const STARTS: [(&str, Kind); 8] = [
        ("buffer_wbinvl1", Kind::Invalidation),
        ("buffer_inv", Kind::Invalidation),
        ("buffer_gl", Kind::Invalidation),
        ("global_inv", Kind::Invalidation),
        ("buffer_wbl2", Kind::WriteBack),
        ("global_wb", Kind::WriteBack),
        ("fence.", Kind::Fence),
        ("membar.", Kind::Fence),
    ];
    // Without a scope it is the way around a hazard at the beginning of every kernel.
    if inst.mnemonic == "global_wb" && inst.operands.is_empty() {
        return None;
    }
    let is_proxy =
        inst.mnemonic.starts_with("fence.proxy") || inst.mnemonic.contains("mbarrier_init");
    STARTS
        .iter()
        .find(|(start, _)| inst.mnemonic.starts_with(start) && !is_proxy)
        .map(|(_, kind)| *kind)
}

/// Waits for operations that an arrival releases, with only housekeeping between the two. A wait
/// that retires nothing does not count. If only LDS is released, or vector memory is in order
/// anyway, waits for the other counters do not count either (GPUs without BackOffBarrier wait for
/// all of them).
fn release_waits(function: &Function, audit: &Audit, gpu: &Amdgpu) -> Vec<usize> {
    let mut found = BTreeSet::new();
    for barrier in &audit.barriers {
        let requirements = barrier
            .required_ordering
            .as_ref()
            .map_or(&[][..], |required| required.release.as_slice());
        let Some(only_lds) = requirements
            .iter()
            .map(|requirement| gpu.ordered_vmem || requirement.fence.memory == FenceMemory::Local)
            .reduce(|a, b| a && b)
        else {
            continue;
        };
        let is_release = |position: &usize| {
            let inst = &function.instructions[*position];
            waits(&inst.mnemonic, &inst.operands)
                .iter()
                .any(|wait| !only_lds || matches!(wait.counter, Counter::Ds | Counter::Lgkm))
                && !audit
                    .redundant_waits
                    .iter()
                    .any(|redundant| redundant.position == *position)
        };
        found.extend(
            (0..barrier.at.position)
                .rev()
                .take_while(|position| function.instructions[*position].role == Role::Housekeeping)
                .filter(is_release),
        );
    }
    found.into_iter().collect()
}

/// Returns true if the code without a wait has no more outstanding operations at any arrival that
/// the wait releases: copies that marks wait for, and memory that no fence there names.
fn is_idle(whole: &Audit, without: &Audit, target: &Target) -> bool {
    let Arch::Amdgpu(gpu) = &target.arch else {
        return false;
    };
    whole
        .barriers
        .iter()
        .zip(&without.barriers)
        .all(|(before, after)| {
            let fences = before
                .required_ordering
                .iter()
                .flat_map(|required| &required.release);
            let memories: Vec<FenceMemory> = fences
                .filter(|requirement| requirement.fence.scope != FenceScope::Subgroup)
                .map(|requirement| requirement.fence.memory)
                .collect();
            let local = memories.iter().any(|memory| *memory != FenceMemory::Global);
            let global = memories.iter().any(|memory| *memory != FenceMemory::Local);
            let mut more = after
                .outstanding
                .iter()
                .filter(|flying| !before.outstanding.contains(flying));
            more.all(|flying| match flying.memory {
                Memory::Own => true,
                Memory::Local => !local,
                Memory::Scalar => !global,
                Memory::Global => !global || gpu.ordered_vmem,
                // A copy into LDS, which its mark waits for, or a flat access.
                Memory::Both => !flying.at.mnemonic.starts_with("flat") || !(local || global),
            })
        })
}

/// Returns true if the instruction can order nothing: no access reaches it or is reached from it,
/// up to the next instruction of the same kind.
fn is_needless(function: &Function, audit: &Audit, position: usize, kind: Kind) -> bool {
    // Barriers that tell of nothing but LDS.
    let local: BTreeSet<usize> = audit
        .barriers
        .iter()
        .filter(|barrier| {
            let release = barrier
                .required_ordering
                .iter()
                .flat_map(|required| &required.release);
            let mut memories = release.map(|requirement| requirement.fence.memory);
            memories.all(|memory| memory == FenceMemory::Local)
        })
        .map(|barrier| barrier.at.position)
        .collect();
    let own = &function.instructions[position];
    let starts = |inst: &Instruction, names: &[&str]| {
        names.iter().any(|name| inst.mnemonic.starts_with(name))
    };
    // Loads of coherent memory pass by the caches that are not of the whole device.
    let passes_by = |inst: &Instruction| {
        const BITS: [&str; 5] = ["glc", "sc0", "sc1", "SCOPE_DEV", "SCOPE_SYS"];
        BITS.iter().any(|bit| inst.operands.contains(bit))
    };
    // The stack, before gfx11: no other invocation sees it.
    let is_stack = |inst: &Instruction| {
        inst.mnemonic.starts_with("buffer_") && inst.operands.contains(", s[0:3], 0")
    };
    let loads = |inst: &Instruction| {
        !passes_by(inst)
            && !is_stack(inst)
            && starts(
                inst,
                &[
                    "global_load",
                    "buffer_load",
                    "flat_load",
                    "image_",
                    "tbuffer_load",
                ],
            )
    };
    // What is written through has nothing to write back.
    let stores = |inst: &Instruction| {
        let stored = starts(
            inst,
            &[
                "global_store",
                "global_atomic",
                "buffer_store",
                "flat_store",
                "image_",
            ],
        );
        stored && !passes_by(inst) || inst.role != Role::Work && inst.role != Role::Housekeeping
    };
    let accesses = |inst: &Instruction| {
        let mnemonic = &inst.mnemonic;
        let own = [".param", ".const", ".local", ".nc"]
            .iter()
            .any(|part| mnemonic.contains(part));
        starts(inst, &["ld.", "st.", "atom.", "red."]) && !own
    };
    let mut predecessors: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for from in 0..function.instructions.len() {
        for to in function.successors(from) {
            predecessors.entry(to).or_default().push(from);
        }
    }
    let finds = |forward: bool, wanted: &dyn Fn(&Instruction) -> bool| {
        let mut seen = BTreeSet::new();
        let mut todo = vec![position];
        while let Some(at) = todo.pop() {
            let next = if forward {
                function.successors(at)
            } else {
                predecessors.get(&at).cloned().unwrap_or_default()
            };
            for next in next {
                let inst = &function.instructions[next];
                let same = (&inst.mnemonic, &inst.operands) == (&own.mnemonic, &own.operands);
                if same || !seen.insert(next) {
                    continue;
                }
                let only_lds = kind == Kind::WriteBack && local.contains(&next);
                if !only_lds && wanted(inst) {
                    return true;
                }
                todo.push(next);
            }
        }
        false
    };
    match kind {
        Kind::Wait => false,
        Kind::Invalidation => !finds(true, &loads),
        Kind::WriteBack => !finds(false, &stores),
        Kind::Fence => {
            let of_cta = own.mnemonic.ends_with(".cta");
            let synchronises =
                |inst: &Instruction| inst.role != Role::Work && inst.role != Role::Housekeeping;
            let relaxed =
                |inst: &Instruction| synchronises(inst) && inst.mnemonic.contains("relaxed");
            let ordered = |inst: &Instruction| synchronises(inst) && !relaxed(inst);
            // A barrier of the CTA or of the cluster orders as much by itself, unless it is
            // relaxed.
            let beside = [true, false]
                .into_iter()
                .any(|forward| finds(forward, &ordered));
            let other = [true, false]
                .into_iter()
                .any(|forward| finds(forward, &relaxed));
            !finds(true, &accesses) || !finds(false, &accesses) || of_cta && beside && !other
        }
    }
}

/// The fates of all instructions on one target.
#[derive(Default)]
pub(super) struct Tally {
    counts: BTreeMap<(Kind, Fate), usize>,
    survivors: Vec<String>,
}

impl Tally {
    pub(super) fn add(&mut self, kernel: &str, fates: Vec<(Kind, Fate, String)>) {
        for (kind, fate, what) in fates {
            *self.counts.entry((kind, fate)).or_default() += 1;
            if fate == Fate::Survives {
                self.survivors.push(format!("{kernel} {what}"));
            }
        }
    }

    /// At least 95 of 100 are noticed of every kind, and so many in all.
    pub(super) fn judge(&self, target: &str, least: usize) -> Result<()> {
        let count = |kind, fate| self.counts.get(&(kind, fate)).copied().unwrap_or(0);
        for kind in [Kind::Wait, Kind::Invalidation, Kind::WriteBack, Kind::Fence] {
            let (noticed, survive) = (count(kind, Fate::Noticed), count(kind, Fate::Survives));
            ensure!(
                survive * 20 <= noticed + survive,
                "{target}: {survive} of {} are not missed ({:?}):\n{}",
                noticed + survive,
                self.counts,
                self.survivors.join("\n")
            );
        }
        // A target without anything to take away would prove nothing.
        let all: usize = self
            .counts
            .iter()
            .filter(|((_, fate), _)| *fate == Fate::Noticed)
            .map(|(_, n)| n)
            .sum();
        ensure!(
            all >= least,
            "{target}: only {all} were noticed: {:?}",
            self.counts
        );
        println!("{target}: {:?} {}", self.counts, self.survivors.join("; "));
        Ok(())
    }
}
