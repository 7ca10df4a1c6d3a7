//! From words to positions: what the promises ask of one function's instructions.

use super::promise::{Ask, Means, Promises};
use crate::asm::{Function, Instruction, Role};
use crate::waits::operation::operation;
use serde::{Deserialize, Serialize};
use splitbar_plan::target::Arch;
use splitbar_plan::{Fence, FenceScope};
use std::collections::{BTreeMap, BTreeSet};

/// One fence that counts for a machine instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clause {
    /// The fence.
    pub fence: Fence,
    /// The word of the instruction that the plan has it for; `None` where nobody said.
    pub word: Option<u32>,
    /// Positions of accesses that it does not order with the instruction.
    pub exempt: BTreeSet<usize>,
}

impl Clause {
    /// A fence without a place, from which nothing is exempt.
    pub fn everything(fence: Fence) -> Clause {
        Clause {
            fence,
            word: None,
            exempt: BTreeSet::new(),
        }
    }
}

/// What is asked of one machine instruction that synchronises.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demand {
    /// What must be finished, and where others find it, before the instruction.
    pub release: Vec<Clause>,
    /// What must be seen behind it.
    pub acquire: Vec<Clause>,
}

impl Demand {
    /// Whether nothing is asked.
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
pub(crate) fn sides(inst: &Instruction, means: Means, arch: &Arch) -> Sides {
    match means {
        Means::Barrier => barrier_sides(inst),
        Means::Counter => Sides {
            arrives: inst.is_local_add(),
            waits: inst.is_local_load(),
        },
        // Waits and cache operations around it came from it too.
        Means::Atomic if inst.role != Role::Work => Sides {
            arrives: false,
            waits: false,
        },
        Means::Atomic => {
            let (reads, writes) = match arch {
                Arch::Amdgpu(gpu) => operation(gpu, &inst.mnemonic, &inst.operands)
                    .map_or((false, false), |it| (it.reads, it.writes)),
                Arch::Nvptx(_) => super::ptx::access(&inst.mnemonic, &inst.operands)
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

/// Whether the barrier instruction at `position` tells of others what the synchronisation at `sync` has to pass on. A part of `sync` itself that stands before it does
/// not: invocations meet there behind their fences, before one of them arrives for all.
pub(super) fn tells_of_others(function: &Function, position: usize, sync: usize) -> bool {
    let at = |position: usize| function.instructions.get(position);
    let (Some(inst), Some(other)) = (at(position), at(sync)) else {
        return false;
    };
    let own = position < sync && inst.word.is_some() && inst.word == other.word;
    barrier_sides(inst).waits && !own
}

/// The instructions that have lost their word, with those of their neighbours: where LLVM makes one access of several, it stands where one of these stood.
fn unknown(function: &Function) -> Vec<(usize, [Option<u32>; 2])> {
    let instructions = &function.instructions;
    let mut before = None;
    let mut found = Vec::new();
    for (position, inst) in instructions.iter().enumerate() {
        match inst.word {
            Some(word) => before = Some(word),
            None => found.push((position, [before, None])),
        }
    }
    let mut known = instructions.iter().map(|inst| inst.word).enumerate().rev();
    let mut after = None;
    for (position, words) in found.iter_mut().rev() {
        for (at, word) in known.by_ref() {
            if at == *position {
                break;
            }
            after = word.or(after);
        }
        words[1] = after;
    }
    found
}

/// The demands on the instructions of `function` by position. A synchronisation whose origin is lost has none.
pub fn demands(function: &Function, promises: &Promises, arch: &Arch) -> BTreeMap<usize, Demand> {
    let mut by_word: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (position, inst) in function.instructions.iter().enumerate() {
        if let Some(word) = inst.word {
            by_word.entry(word).or_default().push(position);
        }
    }
    let unknown = unknown(function);
    // Notes of barriers, and what a counter (of any barrier) or an atomic operation is made of.
    let own_work = |word: u32, means: Means| {
        let positions = by_word.get(&word).into_iter().flatten().copied();
        positions.filter(move |position| {
            let inst = function.instructions.get(*position);
            inst.is_some_and(|inst| match means {
                Means::Barrier => inst.mnemonic.starts_with("buffer_"),
                Means::Counter | Means::Atomic => true,
            } && inst.role == Role::Work)
        })
    };
    let all_counters = promises.by_word.iter();
    let counters: BTreeSet<usize> = all_counters
        .filter(|(_, promise)| promise.means == Means::Counter)
        .flat_map(|(word, _)| own_work(*word, Means::Counter))
        .collect();
    let clause = |ask: &Ask, sync: u32, means: Means| {
        let ranges = ask.exempt.iter().filter(|words| words.start < words.end);
        let mut exempt: BTreeSet<usize> = ranges
            .flat_map(|words| by_word.range(words.clone()))
            .flat_map(|(_, positions)| positions.iter().copied())
            .collect();
        exempt.extend(own_work(sync, means));
        exempt.extend(&counters);
        exempt.extend(own_work(ask.word, Means::Barrier));
        if ask.unknown {
            let is_exempt = |word: &u32| {
                let mut ranges = ask.exempt.iter();
                *word != ask.word && *word != sync && ranges.any(|words| words.contains(word))
            };
            let beside = unknown
                .iter()
                .filter(|(_, words)| words.iter().flatten().any(is_exempt));
            exempt.extend(beside.map(|(position, _)| *position));
        }
        Clause {
            fence: ask.fence,
            word: Some(ask.word),
            exempt,
        }
    };
    let mut found = BTreeMap::new();
    for (word, promise) in &promises.by_word {
        let positions = by_word.get(word).into_iter().flatten();
        let clauses = |asks: &[Ask]| -> Vec<Clause> {
            let asks = asks.iter();
            asks.map(|ask| clause(ask, *word, promise.means)).collect()
        };
        let (release, acquire) = (clauses(&promise.release), clauses(&promise.acquire));
        for position in positions {
            let Some(inst) = function.instructions.get(*position) else {
                continue;
            };
            let sides = sides(inst, promise.means, arch);
            // Only a workgroup shares LDS: an atomic operation there synchronises nobody else.
            let narrow = promise.means == Means::Atomic && inst.mnemonic.starts_with("ds_");
            let of_side = |is_side: bool, clauses: &[Clause]| -> Vec<Clause> {
                let mut clauses = if is_side {
                    clauses.to_vec()
                } else {
                    Vec::new()
                };
                for clause in clauses.iter_mut().filter(|_| narrow) {
                    clause.fence.scope = clause.fence.scope.min(FenceScope::Workgroup);
                }
                clauses
            };
            let demand = Demand {
                release: of_side(sides.arrives, &release),
                acquire: of_side(sides.waits, &acquire),
            };
            if sides.arrives || sides.waits {
                found.insert(*position, demand);
            }
        }
    }
    found
}

#[cfg(test)]
#[expect(clippy::panic, reason = "tests")]
mod tests {
    use super::*;
    use crate::asm::{amdgpu, ptx};
    use crate::fences::promise::Promise;
    use crate::fences::shape::Words;
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
        let function = &ptx::parse(text)[0];
        let told: Vec<usize> = (0..function.instructions.len())
            .filter(|position| tells_of_others(function, *position, 3))
            .collect();
        assert_eq!(told, [0]);
        // In a loop, a barrier tells itself of others.
        assert!(tells_of_others(function, 0, 0));
    }

    #[test]
    fn lds_atomics_synchronise_a_workgroup_at_most() {
        let ask = Ask {
            fence: Fence {
                order: FenceOrder::Acquire,
                scope: FenceScope::Device,
                memory: FenceMemory::Global,
            },
            word: 20,
            exempt: Words::new(),
            unknown: false,
        };
        let promise = Promise {
            means: Means::Atomic,
            release: Vec::new(),
            acquire: vec![ask],
        };
        let mut promises = Promises::default();
        promises.by_word.insert(20, promise);
        let Some(target) = Target::by_name("gfx1030") else {
            panic!("no such target");
        };
        for (atomic, expected) in [
            ("ds_add_u32 v0, v1", FenceScope::Workgroup),
            ("global_atomic_add v0, v1, s[4:5]", FenceScope::Device),
        ] {
            let text =
                format!("\t.type\tk,@function\nk:\n\t.loc\t1 21 0\n\t{atomic}\n\ts_endpgm\n");
            let found = demands(&amdgpu::parse(&text)[0], &promises, &target.arch);
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
        let ask = |word| Ask {
            fence: Fence {
                order: FenceOrder::Release,
                scope: FenceScope::Workgroup,
                memory: FenceMemory::Local,
            },
            word,
            exempt: Words::new(),
            unknown: false,
        };
        let mut promises = Promises::default();
        for word in [20, 40] {
            let promise = Promise {
                means: Means::Counter,
                release: vec![ask(word)],
                acquire: Vec::new(),
            };
            promises.by_word.insert(word, promise);
        }
        let Some(target) = Target::by_name("gfx906") else {
            panic!("no such target");
        };
        let found = demands(&amdgpu::parse(text)[0], &promises, &target.arch);
        let release = &found[&3].release;
        assert!(release[0].exempt.contains(&0) && !release[0].exempt.contains(&2));
    }
}
