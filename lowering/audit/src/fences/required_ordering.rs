//! From words to positions: the orderings that contracts require of one function's instructions.

use super::sync_contract::{FenceObligation, SyncContracts, SyncKind};
use crate::asm::{Flow, Function, Instruction, Role};
use crate::waits::counter::waits;
use crate::waits::operation::{Memory, operation};
use crate::word_of;
use serde::{Deserialize, Serialize};
use splitbar_passes::module::WordOffset;
use splitbar_plan::target::Arch;
use splitbar_plan::{Fence, FenceScope};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// A fence that a machine instruction has to act as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FenceRequirement {
    /// The fence.
    pub fence: Fence,
    /// The word of the instruction that the plan has it for; `None` where it is not known.
    pub word: Option<WordOffset>,
    /// Positions of accesses that it does not order with the instruction.
    pub exempt: BTreeSet<usize>,
}

impl FenceRequirement {
    /// A fence without a place, from which nothing is exempt.
    pub fn everything(fence: Fence) -> FenceRequirement {
        FenceRequirement {
            fence,
            word: None,
            exempt: BTreeSet::new(),
        }
    }
}

/// The ordering that one machine instruction that synchronises has to give.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequiredOrdering {
    /// Fences before the instruction: earlier accesses are finished, where others find them.
    pub release: Vec<FenceRequirement>,
    /// Fences after it: later accesses see what others released.
    pub acquire: Vec<FenceRequirement>,
}

impl RequiredOrdering {
    /// Returns true if no ordering is required.
    pub fn is_empty(&self) -> bool {
        self.release.is_empty() && self.acquire.is_empty()
    }
}

/// Which sides of a synchronisation an instruction is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sides {
    /// Others learn of this one.
    pub arrives: bool,
    /// This one learns of others.
    pub waits: bool,
}

/// The sides of an instruction of a synchronisation that is found by `means`.
pub(crate) fn sides(inst: &Instruction, means: SyncKind, arch: &Arch) -> Sides {
    match means {
        SyncKind::Barrier => barrier_sides(inst),
        SyncKind::Counter => Sides {
            arrives: inst.is_local_add(),
            waits: inst.is_local_load(),
        },
        // Waits and cache operations around it came from it too.
        SyncKind::Atomic if inst.role != Role::Work => Sides {
            arrives: false,
            waits: false,
        },
        SyncKind::Atomic => {
            let (reads, writes) = match arch {
                Arch::Amdgpu(gpu) => operation(gpu, &inst.mnemonic, &inst.operands)
                    .map_or((false, false), |it| (it.reads, it.writes)),
                Arch::Nvptx(_) => splitbar_assembly::ptx::access(&inst.mnemonic, &inst.operands)
                    .map_or((false, false), |it| (it.reads, it.writes)),
            };
            Sides {
                arrives: writes,
                waits: reads,
            }
        }
    }
}

/// The sides of a barrier instruction, neither for another one.
pub(crate) fn barrier_sides(inst: &Instruction) -> Sides {
    let whole_warp = inst.mnemonic.starts_with("bar.warp.sync");
    Sides {
        arrives: matches!(inst.role, Role::Arrive | Role::ArriveAndWait) || whole_warp,
        waits: matches!(inst.role, Role::Wait | Role::ArriveAndWait) || whole_warp,
    }
}

/// Returns true if the barrier instruction at `position` tells of others what the synchronisation
/// at `sync` has to pass on. A part of `sync` itself that comes before it does not: invocations
/// meet there behind their fences, before one of them arrives for all.
pub(super) fn tells_of_others(function: &Function, position: usize, sync: usize) -> bool {
    let waits = |inst: &Instruction| barrier_sides(inst).waits;
    function.instructions.get(position).is_some_and(waits)
        && !is_part_before(function, position, sync)
}

/// Returns true if `position` is a part of what `sync` came from that comes before it: it stands
/// before it, or control comes from there through nothing that came from another instruction of the
/// program.
fn is_part_before(function: &Function, position: usize, sync: usize) -> bool {
    let word = |at: usize| function.instructions.get(at).and_then(word_of);
    if word(sync).is_none() || word(position) != word(sync) {
        return false;
    }
    match position.cmp(&sync) {
        Ordering::Less => return true,
        Ordering::Equal => return false,
        // It may be laid behind, where it is seldom executed.
        Ordering::Greater => {}
    }
    let mut seen = BTreeSet::new();
    let mut todo = vec![position];
    while let Some(at) = todo.pop() {
        for next in function.successors(at) {
            if next == sync {
                return true;
            }
            if word(next).is_none_or(|its| Some(its) == word(sync)) && seen.insert(next) {
                todo.push(next);
            }
        }
    }
    false
}

/// The memory accesses that have lost their word: they have none, or that of something that
/// accesses no memory, a neighbour's. LLVM folds a conversion into a load and gives it the
/// conversion's place, which is that of what stood behind the load.
fn lost(function: &Function, contracts: &SyncContracts, arch: &Arch) -> BTreeSet<usize> {
    let instructions = function.instructions.iter().enumerate();
    instructions
        .filter(|(_, inst)| word_of(inst).is_none_or(|word| !contracts.accesses.contains(&word)))
        .filter(|(_, inst)| inst.role == Role::Work && accesses(inst, arch))
        .map(|(position, _)| position)
        .collect()
}

/// Returns true if an instruction accesses memory that others can see.
fn accesses(inst: &Instruction, arch: &Arch) -> bool {
    match arch {
        Arch::Amdgpu(gpu) => operation(gpu, &inst.mnemonic, &inst.operands)
            .is_some_and(|operation| operation.memory != Memory::Own),
        Arch::Nvptx(_) => splitbar_assembly::ptx::access(&inst.mnemonic, &inst.operands).is_some(),
    }
}

/// Returns true if `inst` waits until what is at `position` has finished: then nothing is wrong
/// with it, unless the wait is the fence's and goes missing.
fn waits_for(function: &Function, position: usize, inst: &Instruction, arch: &Arch) -> bool {
    let Arch::Amdgpu(gpu) = arch else {
        return false; // PTX has no such waits
    };
    let access = function.instructions.get(position);
    let operation = access.and_then(|it| operation(gpu, &it.mnemonic, &it.operands));
    let counted = operation.map_or(&[][..], |operation| operation.counted);
    let waits = waits(&inst.mnemonic, &inst.operands);
    let mut complete = waits.iter().filter(|wait| wait.at_most == 0);
    complete.any(|wait| counted.iter().any(|(counter, _)| *counter == wait.counter))
}

/// Returns true if what is at `position`, between a fence and its synchronisation or beyond the
/// fence, is surely beyond: so it is where the fence, or what is known to be beyond, comes next on
/// the way to the synchronisation (`forward` or back). Neither this nor that is moved over a fence.
fn is_beyond(
    function: &Function,
    position: usize,
    forward: bool,
    is_beyond: impl Fn(usize, &Instruction) -> Option<bool>,
) -> bool {
    let mut at = position;
    loop {
        let next = if forward {
            at.checked_add(1)
        } else {
            at.checked_sub(1)
        };
        let found = next.and_then(|next| Some((next, function.instructions.get(next)?)));
        let Some((next, inst)) = found else {
            return false; // the function ends there
        };
        if let Some(known) = is_beyond(next, inst) {
            return known;
        }
        if inst.flow != Flow::Next {
            return false;
        }
        at = next;
    }
}

/// The requirements as far as they are about the workgroup.
fn narrowed(requirements: &[FenceRequirement]) -> Vec<FenceRequirement> {
    let mut requirements = requirements.to_vec();
    for requirement in &mut requirements {
        requirement.fence.scope = requirement.fence.scope.min(FenceScope::Workgroup);
    }
    requirements
}

/// The orderings that the instructions of `function` have to give, by position. A synchronisation
/// whose origin is lost has none.
pub fn required_orderings(
    function: &Function,
    contracts: &SyncContracts,
    arch: &Arch,
) -> BTreeMap<usize, RequiredOrdering> {
    let mut by_word: BTreeMap<WordOffset, Vec<usize>> = BTreeMap::new();
    for (position, inst) in function.instructions.iter().enumerate() {
        if let Some(word) = word_of(inst) {
            by_word.entry(word).or_default().push(position);
        }
    }
    let lost = lost(function, contracts, arch);
    // Notes of barriers, and what a counter (of any barrier) or an atomic operation is made of.
    let own_work = |word: WordOffset, means: SyncKind| {
        let positions = by_word.get(&word).into_iter().flatten().copied();
        positions.filter(move |position| {
            let inst = function.instructions.get(*position);
            inst.is_some_and(|inst| match means {
                SyncKind::Barrier => inst.mnemonic.starts_with("buffer_"),
                SyncKind::Counter | SyncKind::Atomic => true,
            } && inst.role == Role::Work)
        })
    };
    let all_counters = contracts.by_word.iter();
    let counters: BTreeSet<usize> = all_counters
        .filter(|(_, contract)| contract.means == SyncKind::Counter)
        .flat_map(|(word, _)| own_work(*word, SyncKind::Counter))
        .collect();
    let requirement = |ask: &FenceObligation, sync: WordOffset, means: SyncKind, forward: bool| {
        let ranges = ask.exempt.iter().filter(|words| words.start < words.end);
        let mut exempt: BTreeSet<usize> = ranges
            .flat_map(|words| by_word.range(words.clone()))
            .flat_map(|(_, positions)| positions.iter().copied())
            .collect();
        exempt.extend(own_work(sync, means));
        exempt.extend(&counters);
        exempt.extend(own_work(ask.word, SyncKind::Barrier));
        if ask.unknown {
            let known = |of: usize, position: usize, inst: &Instruction| {
                let word = word_of(inst).filter(|_| !lost.contains(&position));
                if word == Some(ask.word) || forward && waits_for(function, of, inst, arch) {
                    return Some(true);
                }
                if word? == sync {
                    return Some(false);
                }
                let access = inst.role == Role::Work && accesses(inst, arch);
                access.then(|| !exempt.contains(&position))
            };
            let is_within = |at: &usize| {
                !is_beyond(function, *at, forward, |position, inst| {
                    known(*at, position, inst)
                })
            };
            let within: Vec<usize> = lost.iter().copied().filter(is_within).collect();
            exempt.extend(within);
        }
        FenceRequirement {
            fence: ask.fence,
            word: Some(ask.word),
            exempt,
        }
    };
    let mut found = BTreeMap::new();
    for (word, contract) in &contracts.by_word {
        let positions = by_word.get(word).into_iter().flatten();
        let requirements = |asks: &[FenceObligation], forward: bool| -> Vec<FenceRequirement> {
            let asks = asks.iter();
            asks.map(|ask| requirement(ask, *word, contract.means, forward))
                .collect()
        };
        let release = requirements(&contract.release, true);
        let acquire = requirements(&contract.acquire, false);
        for position in positions {
            let Some(inst) = function.instructions.get(*position) else {
                debug_assert!(false, "the function has no instruction {position}");
                continue;
            };
            let sides = sides(inst, contract.means, arch);
            // Only a workgroup shares LDS: an atomic operation there synchronises nobody else.
            let narrow = contract.means == SyncKind::Atomic && inst.mnemonic.starts_with("ds_");
            let of_side = |is_side: bool, requirements: &[FenceRequirement]| match is_side {
                true if narrow => narrowed(requirements),
                true => requirements.to_vec(),
                false => Vec::new(),
            };
            let required = RequiredOrdering {
                release: of_side(sides.arrives, &release),
                acquire: of_side(sides.waits, &acquire),
            };
            if sides.arrives || sides.waits {
                found.insert(*position, required);
            }
        }
    }
    found
}

#[cfg(test)]
#[expect(clippy::panic, clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::asm::{amdgpu, ptx};
    use crate::fences::shape::Words;
    use crate::fences::sync_contract::SyncContract;
    use splitbar_plan::{FenceMemory, FenceOrder, Target};

    #[test]
    fn parts_of_the_same_barrier_tell_nothing() {
        let text = "\
.visible .entry k(
)
{
\t.loc\t1 21 0
\tbar.sync 0;
\t.loc\t1 31 0
\tfence.acq_rel.gpu;
\tbar.warp.sync -1;
\tmbarrier.arrive.shared.b64 %rd11, [mb];
\tret;
}
";
        let function = &ptx::functions(text).unwrap()[0];
        let told: Vec<usize> = (0..function.instructions.len())
            .filter(|position| tells_of_others(function, *position, 3))
            .collect();
        assert_eq!(told, [0]);
        // In a loop, a barrier tells itself of others.
        assert!(tells_of_others(function, 0, 0));
    }

    #[test]
    fn parts_of_the_same_barrier_may_be_laid_behind_it() {
        // The loop's barrier first completes what an earlier arrive has left open; LLVM lays that
        // behind the loop.
        let text = "\
\t.type\tk,@function
k:
.LBB0_1:
\t.loc\t1 31 0
\ts_barrier_signal -1
\ts_barrier_wait -1
\t.loc\t1 41 0
\ts_add_i32 s0, s0, 1
\tglobal_wb scope:SCOPE_DEV
\t.loc\t1 31 0
\ts_cbranch_execz .LBB0_1
\ts_barrier_wait -1
\ts_branch .LBB0_1
";
        let function = &amdgpu::parse(text)[0];
        let told: Vec<usize> = (0..function.instructions.len())
            .filter(|position| tells_of_others(function, *position, 0))
            .collect();
        assert_eq!(told, [1]);
    }

    #[test]
    fn lds_atomics_synchronise_a_workgroup_at_most() {
        let ask = FenceObligation {
            fence: Fence {
                order: FenceOrder::Acquire,
                scope: FenceScope::Device,
                memory: FenceMemory::Global,
            },
            word: WordOffset::new(20),
            exempt: Words::new(),
            unknown: false,
        };
        let contract = SyncContract {
            means: SyncKind::Atomic,
            release: Vec::new(),
            acquire: vec![ask],
        };
        let mut contracts = SyncContracts::default();
        contracts.by_word.insert(WordOffset::new(20), contract);
        let Some(target) = Target::by_name("gfx1030") else {
            panic!("no such target");
        };
        for (atomic, expected) in [
            ("ds_add_u32 v0, v1", FenceScope::Workgroup),
            ("global_atomic_add v0, v1, s[4:5]", FenceScope::Device),
        ] {
            let text =
                format!("\t.type\tk,@function\nk:\n\t.loc\t1 21 0\n\t{atomic}\n\ts_endpgm\n");
            let found = required_orderings(&amdgpu::parse(&text)[0], &contracts, &target.arch);
            assert_eq!(found[&0].acquire[0].fence.scope, expected, "{atomic}");
        }
    }

    #[test]
    fn counters_of_other_barriers_are_exempt() {
        // Two sides of a branch, laid one after the other, arrive at a counter each.
        let text = "\
\t.type\tk,@function
k:
\t.loc\t1 21 0
\tds_add_u32 v0, v1
\tds_write_b32 v0, v1
\t.loc\t1 31 0
\tds_write_b32 v2, v1
\t.loc\t1 41 0
\tds_add_u32 v0, v1
\ts_endpgm
";
        let ask = |word| FenceObligation {
            fence: Fence {
                order: FenceOrder::Release,
                scope: FenceScope::Workgroup,
                memory: FenceMemory::Local,
            },
            word,
            exempt: Words::new(),
            unknown: false,
        };
        let mut contracts = SyncContracts::default();
        for word in [20, 40].map(WordOffset::new) {
            let contract = SyncContract {
                means: SyncKind::Counter,
                release: vec![ask(word)],
                acquire: Vec::new(),
            };
            contracts.by_word.insert(word, contract);
        }
        let Some(target) = Target::by_name("gfx906") else {
            panic!("no such target");
        };
        let found = required_orderings(&amdgpu::parse(text)[0], &contracts, &target.arch);
        let release = &found[&3].release;
        assert!(release[0].exempt.contains(&0) && !release[0].exempt.contains(&2));
    }

    #[test]
    fn an_access_with_a_word_that_accesses_nothing_may_be_any() {
        // Both loads stand behind the release of word 20; the second one has got the word of the
        // barrier, 40.
        let text = "\
\t.type\tk,@function
k:
\t.loc\t1 11 0
\tglobal_load_b32 v3, v0, s[0:1]
\t.loc\t1 31 0
\tglobal_load_b32 v1, v0, s[0:1]
\t.loc\t1 41 0
\tglobal_load_b32 v2, v0, s[0:1]
\ts_barrier_signal -1
\ts_barrier_wait -1
\ts_endpgm
";
        let exempt = |unknown| {
            let ask = FenceObligation {
                fence: Fence {
                    order: FenceOrder::Release,
                    scope: FenceScope::Device,
                    memory: FenceMemory::Global,
                },
                word: WordOffset::new(20),
                exempt: vec![WordOffset::new(20)..WordOffset::new(40)],
                unknown,
            };
            let contract = SyncContract {
                means: SyncKind::Barrier,
                release: vec![ask],
                acquire: Vec::new(),
            };
            let contracts = SyncContracts {
                by_word: [(WordOffset::new(40), contract)].into(),
                accesses: [10, 30].map(WordOffset::new).into(),
                cut: false,
            };
            let Some(target) = Target::by_name("gfx1201") else {
                panic!("no such target");
            };
            let found = required_orderings(&amdgpu::parse(text)[0], &contracts, &target.arch);
            found[&3].release[0].exempt.clone()
        };
        assert_eq!(exempt(true), [1, 2].into());
        // Nothing that the fence leaves out accesses memory, so the place does not matter.
        assert_eq!(exempt(false), [1].into());
    }
}
