//! Cache operations of AMDGPU code: write-backs before a release, invalidations after an acquire.
//!
//! What a fence needs is in the target's row ([`Amdgpu::acquire`], [`Amdgpu::release`]); what is in
//! the code is read here. An invalidation counts for an atomic operation only when that has
//! returned.

use super::required_ordering::{FenceRequirement, RequiredOrdering, tells_of_others};
use super::walk::Walker;
use super::{Finding, FindingKind};
use crate::asm::Instruction;
use crate::waits::counter::{Counter, waits};
use crate::waits::operation::{Memory, Operation};
use crate::waits::outstanding::Outstanding;
use crate::waits::place;
use crate::word_of;
use splitbar_plan::target::Amdgpu;
use splitbar_plan::{FenceMemory, FenceScope, Placement};
use std::collections::BTreeSet;

/// An instruction that looks after caches.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct CacheOp<'t> {
    name: &'t str,
    level: u8,
}

/// Source: LLVM AMDGPUUsage, "Memory Model" of each generation.
const NAMES: &[&str] = &[
    "buffer_gl0_inv",
    "buffer_gl1_inv",
    "buffer_wbinvl1",
    "buffer_wbinvl1_vol",
    "buffer_invl2",
    "buffer_inv",
    "buffer_wbl2",
    "global_inv",
    "global_wb",
    "global_wbinv",
];

/// Scopes as instructions spell them, by how far they reach: `SCOPE_CU` and nothing at all are 0.
/// Source: as above, and "GFX12 cache controls"; `sc0` and `sc1` of gfx942 are the bits of the
/// scope.
fn level(operands: &str) -> u8 {
    operands
        .split([' ', ',', '\t'])
        .map(|word| match word {
            "sc0" | "scope:SCOPE_SE" => 1,
            "sc1" | "scope:SCOPE_DEV" => 2,
            "scope:SCOPE_SYS" => 3,
            _ => 0,
        })
        .fold(0, |level, bits| level | bits)
}

impl<'t> CacheOp<'t> {
    fn from_instruction(mnemonic: &'t str, operands: &str) -> Option<CacheOp<'t>> {
        NAMES.contains(&mnemonic).then(|| CacheOp {
            name: mnemonic,
            level: level(operands),
        })
    }

    fn parse(text: &'t str) -> Option<CacheOp<'t>> {
        let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
        CacheOp::from_instruction(mnemonic, operands)
    }

    /// Returns true if this does what `needed` does.
    fn does(&self, needed: &CacheOp<'_>) -> bool {
        let same = match (self.name, needed.name) {
            // All lines, and not only those that others may write.
            ("buffer_wbinvl1", "buffer_wbinvl1_vol") => true,
            ("global_wbinv", "global_inv" | "global_wb") => true,
            (name, needed) => name == needed,
        };
        same && self.level >= needed.level
    }
}

/// Which of `needed` remain, as bits, after an instruction.
fn remaining(state: u32, needed: &[CacheOp<'_>], inst: &Instruction) -> u32 {
    let Some(done) = CacheOp::from_instruction(&inst.mnemonic, &inst.operands) else {
        return state; // not an operation on caches
    };
    needed
        .iter()
        .enumerate()
        .filter(|(_, need)| done.does(need))
        .fold(state, |state, (bit, _)| state & !(1 << bit))
}

fn bits(needed: &[CacheOp<'_>]) -> u32 {
    needed
        .iter()
        .enumerate()
        .fold(0, |all, (bit, _)| all | 1 << bit)
}

/// How far an access reaches past the caches on its way: 1 past the workgroup's, 2 past the
/// device's, 3 to memory.
fn reaches(gpu: &Amdgpu, operands: &str) -> u8 {
    let has = |name: &str| operands.split([' ', ',']).any(|word| word == name);
    let glc = match (has("glc"), has("dlc")) {
        (false, _) => 0,
        (true, false) if gpu.acquire.device.contains(&"buffer_gl1_inv") => 1,
        (true, _) => 3,
    };
    level(operands).max(glc)
}

fn scope_level(scope: FenceScope) -> u8 {
    match scope {
        FenceScope::Subgroup => 0,
        FenceScope::Workgroup => 1,
        FenceScope::Device => 2,
        FenceScope::System => 3,
    }
}

/// An AMD kernel that is looked at.
pub(super) struct Caches<'a, 'f> {
    pub gpu: &'a Amdgpu,
    pub placement: Placement,
    pub outstanding: &'a Outstanding,
    pub walker: Walker<'f>,
}

impl Caches<'_, '_> {
    /// Adds a finding for each fence that the instruction at `position` lacks of `required`.
    pub(super) fn check(
        &mut self,
        position: usize,
        required: &RequiredOrdering,
        findings: &mut Vec<Finding>,
    ) {
        for requirement in &required.acquire {
            findings.extend(self.acquire(position, requirement));
        }
        for requirement in &required.release {
            findings.extend(self.release(position, requirement));
        }
    }

    fn touches(operation: &Operation, memory: FenceMemory) -> bool {
        let local = matches!(operation.memory, Memory::Local | Memory::Both);
        let global = matches!(operation.memory, Memory::Global | Memory::Both);
        match memory {
            FenceMemory::Local => local,
            FenceMemory::Global => global,
            FenceMemory::All => local || global,
        }
    }

    /// A load behind the synchronisation that a cache may answer with what it held before, or that
    /// may overtake the synchronisation itself.
    fn acquire(&mut self, sync: usize, requirement: &FenceRequirement) -> Option<Finding> {
        let names = match requirement.fence.memory {
            FenceMemory::Local => &[],
            FenceMemory::Global | FenceMemory::All => self
                .gpu
                .invalidates(requirement.fence.scope, self.placement),
        };
        let needed: Vec<CacheOp<'_>> = names
            .iter()
            .filter_map(|text| CacheOp::parse(text))
            .collect();
        let (gpu, placement) = (self.gpu, self.placement);
        let (outstanding, function) = (self.outstanding, self.walker.function);
        let atomic = outstanding.operation(sync).copied();
        // A fence apart from the atomic operation counts for it where it names its memory.
        let own = requirement.word.is_none()
            || function.instructions.get(sync).and_then(word_of) == requirement.word;
        let pairs =
            own || atomic.is_none_or(|atomic| Self::touches(&atomic, requirement.fence.memory));
        let in_flight = |position: usize| {
            atomic.is_some()
                && outstanding
                    .at(position)
                    .is_some_and(|facts| facts.iter().any(|fact| fact.position() == sync))
        };
        // The last bit: what was invalidated has yet to be waited for.
        const UNFINISHED: u32 = 1 << 31;
        let counted = gpu.invalidation_waits
            && requirement.fence.scope >= FenceScope::Device
            && !needed.is_empty();
        let begin = bits(&needed) | if counted { UNFINISHED } else { 0 };
        if begin == 0 && atomic.is_none() {
            return None;
        }
        let mut found: Option<(usize, FindingKind, u32)> = None;
        let wide = scope_level(requirement.fence.scope);
        self.walker.walk(sync, true, begin, |position, state| {
            let inst = function.instructions.get(position)?;
            if position == sync {
                return None;
            }
            let early = in_flight(position);
            if state == 0 && !early {
                return None;
            }
            if let Some(operation) = outstanding.operation(position) {
                let subject = operation.reads
                    && Self::touches(operation, requirement.fence.memory)
                    && !requirement.exempt.contains(&position);
                let of_memory = !matches!(operation.memory, Memory::Local)
                    && !inst.mnemonic.contains("atomic")
                    && reaches(gpu, &inst.operands) < wide;
                let overtakes = early
                    && pairs
                    && !keeps_order(gpu, placement, requirement, atomic.as_ref(), operation);
                let kind = match (state != 0 && of_memory, overtakes) {
                    (true, _) => Some(FindingKind::Invalidation),
                    (false, true) => Some(FindingKind::Wait),
                    (false, false) => None,
                };
                if let (true, Some(kind)) = (subject, kind) {
                    if found.is_none_or(|(first, _, _)| position < first) {
                        found = Some((position, kind, state));
                    }
                    return None;
                }
            }
            if early {
                return Some(state);
            }
            let mut state = remaining(state, &needed, inst);
            let waits_for_loads = || {
                waits(&inst.mnemonic, &inst.operands)
                    .iter()
                    .any(|wait| wait.counter == Counter::Load && wait.at_most == 0)
            };
            if state == UNFINISHED && waits_for_loads() {
                state = 0;
            }
            (state != 0).then_some(state)
        });
        let (access, kind, state) = found?;
        let missing = match kind {
            FindingKind::Wait => vec!["a wait for the atomic operation".to_owned()],
            _ if state == UNFINISHED => vec!["s_wait_loadcnt 0x0".to_owned()],
            _ => missing(names, state),
        };
        Some(Finding {
            kind,
            fence: requirement.fence,
            word: requirement.word,
            sync: place(function, sync),
            access: place(function, access),
            missing,
        })
    }

    /// A store before the synchronisation, or something that others made known, which stays where
    /// they do not look.
    fn release(&mut self, sync: usize, requirement: &FenceRequirement) -> Option<Finding> {
        let names = match requirement.fence.memory {
            FenceMemory::Local => &[],
            FenceMemory::Global | FenceMemory::All => self.gpu.release.at(requirement.fence.scope),
        };
        let needed: Vec<CacheOp<'_>> = names
            .iter()
            .filter_map(|text| CacheOp::parse(text))
            .collect();
        if needed.is_empty() {
            return None;
        }
        let (gpu, outstanding, function) = (self.gpu, self.outstanding, self.walker.function);
        let wide = scope_level(requirement.fence.scope);
        let mut found: Option<(usize, u32)> = None;
        self.walker
            .walk(sync, false, bits(&needed), |position, state| {
                let inst = function.instructions.get(position)?;
                let state = remaining(state, &needed, inst);
                let stores = outstanding.operation(position).is_some_and(|operation| {
                    operation.writes
                        && matches!(operation.memory, Memory::Global | Memory::Both)
                        && CacheOp::from_instruction(&inst.mnemonic, &inst.operands).is_none()
                        && reaches(gpu, &inst.operands) < wide
                });
                let known = stores || tells_of_others(function, position, sync);
                if state != 0 && known && !requirement.exempt.contains(&position) {
                    if found.is_none_or(|(last, _)| position > last) {
                        found = Some((position, state));
                    }
                    return None;
                }
                (state != 0 && position != sync).then_some(state)
            });
        let (access, state) = found?;
        Some(Finding {
            kind: FindingKind::WriteBack,
            fence: requirement.fence,
            word: requirement.word,
            sync: place(function, sync),
            access: place(function, access),
            missing: missing(names, state),
        })
    }

    /// Stores that are on their way when a cache is written back, where it does not wait for them.
    pub(super) fn early_write_backs(
        &self,
        findings: &mut Vec<Finding>,
        required: &[(usize, FenceRequirement)],
    ) {
        if !self.gpu.invalidation_waits {
            return;
        }
        let function = self.walker.function;
        let write_backs: BTreeSet<usize> = function
            .instructions
            .iter()
            .enumerate()
            .filter(|(_, inst)| {
                CacheOp::from_instruction(&inst.mnemonic, &inst.operands)
                    .is_some_and(|op| op.name.contains("wb") && op.level >= 2)
            })
            .map(|(position, _)| position)
            .collect();
        for (position, requirement) in required {
            // The last one before the synchronisation is the fence's.
            let Some(write_back) = write_backs.range(..*position).next_back() else {
                continue; // no write-back
            };
            let facts = self.outstanding.at(*write_back).into_iter().flatten();
            let stores = facts.map(|fact| fact.position()).filter_map(|older| {
                let operation = self.outstanding.operation(older)?;
                let inst = function.instructions.get(older)?;
                let stores = operation.writes
                    && !operation.asynchronous
                    && matches!(operation.memory, Memory::Global | Memory::Both)
                    && CacheOp::from_instruction(&inst.mnemonic, &inst.operands).is_none()
                    && !requirement.exempt.contains(&older);
                stores.then_some(older)
            });
            findings.extend(stores.take(1).map(|store| Finding {
                kind: FindingKind::Wait,
                fence: requirement.fence,
                word: requirement.word,
                sync: place(function, *write_back),
                access: place(function, store),
                missing: vec!["s_wait_storecnt 0x0".to_owned()],
            }));
        }
    }
}

/// Whether a load cannot overtake the atomic operation that was issued before it.
fn keeps_order(
    gpu: &Amdgpu,
    placement: Placement,
    requirement: &FenceRequirement,
    atomic: Option<&Operation>,
    load: &Operation,
) -> bool {
    let Some(atomic) = atomic else {
        return true; // nothing to overtake
    };
    match (atomic.memory, load.memory) {
        (Memory::Local, Memory::Local) => true,
        // The memory model has no wait where the waves of a workgroup share one cache: "If CU
        // `wavefront` execution mode, omit", "If not TgSplit execution mode, omit".
        (Memory::Global, _) => {
            let one_cache = match placement {
                Placement::ThreadgroupSplit => false,
                Placement::CuMode => true,
                Placement::Default => gpu.ordered_vmem,
            };
            one_cache && requirement.fence.scope <= FenceScope::Workgroup
        }
        _ => false,
    }
}

fn missing(names: &[&str], state: u32) -> Vec<String> {
    names
        .iter()
        .enumerate()
        .filter(|(bit, _)| state & (1 << bit) != 0)
        .map(|(_, name)| (*name).to_owned())
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use splitbar_plan::Target;

    #[test]
    fn stronger_instructions_do_what_weaker_ones_do() {
        let does = |there: &str, needed: &str| {
            CacheOp::parse(there)
                .unwrap()
                .does(&CacheOp::parse(needed).unwrap())
        };
        for (there, needed, expected) in [
            (
                "global_inv scope:SCOPE_SYS",
                "global_inv scope:SCOPE_DEV",
                true,
            ),
            (
                "global_inv scope:SCOPE_SE",
                "global_inv scope:SCOPE_DEV",
                false,
            ),
            ("global_inv", "global_inv scope:SCOPE_SE", false),
            (
                "global_wbinv scope:SCOPE_DEV",
                "global_wb scope:SCOPE_DEV",
                true,
            ),
            ("buffer_inv sc0 sc1", "buffer_inv sc1", true),
            ("buffer_inv sc0", "buffer_inv sc1", false),
            ("buffer_wbinvl1", "buffer_wbinvl1_vol", true),
            ("buffer_gl0_inv", "buffer_gl1_inv", false),
            ("buffer_wbl2 sc1", "buffer_wbl2 sc0 sc1", false),
        ] {
            assert_eq!(does(there, needed), expected, "{there} for {needed}");
        }
    }

    #[test]
    fn every_instruction_of_every_row_is_known() {
        let gpus = Target::all().iter().filter_map(Target::amdgpu);
        for text in gpus
            .flat_map(|gpu| [gpu.acquire, gpu.release])
            .flat_map(|ops| [ops.workgroup, ops.device, ops.system])
            .flatten()
        {
            assert!(CacheOp::parse(text).is_some(), "{text}");
        }
    }
}
