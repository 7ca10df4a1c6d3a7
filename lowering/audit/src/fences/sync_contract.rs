//! The orderings that the fences of a plan require, by their synchronisation.

use super::beside::{Beside, Searcher, Syncs};
use super::shape::{ControlFlowSummary, Words};
use serde::{Deserialize, Serialize};
use splitbar_passes::analysis::pairing::SiteKind;
use splitbar_passes::module::WordOffset;
use splitbar_plan::{
    AmdgpuStep, EntryPlan, Fence, FenceOrder, FenceScope, NvptxStep, Step, Target,
};
use std::collections::{BTreeMap, BTreeSet};

/// The requirement of a fence for a synchronisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FenceObligation {
    /// The fence.
    pub fence: Fence,
    /// The word of the instruction that the plan has it for.
    pub word: WordOffset,
    /// Words of accesses that it does not order with the synchronisation.
    pub exempt: Words,
    /// True if some of these access memory, so that an access that has lost its word may be one of
    /// them.
    pub unknown: bool,
}

/// The way to find a synchronisation in the code.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SyncKind {
    /// Barrier instructions.
    Barrier,
    /// Accesses of a counter in workgroup memory.
    Counter,
    /// An atomic operation of the program.
    Atomic,
}

/// The fences that one synchronisation promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncContract {
    /// The way to find it.
    pub means: SyncKind,
    /// The operations that must be complete and visible to others before it.
    pub release: Vec<FenceObligation>,
    /// The operations of others that must be visible after it.
    pub acquire: Vec<FenceObligation>,
}

/// The promises of an entry point, by the word of the synchronisation; and whether some fence has
/// none because there was too much to look at.
#[derive(Clone, Debug, Default)]
pub struct SyncContracts {
    /// By word.
    pub by_word: BTreeMap<WordOffset, SyncContract>,
    /// Words of everything that accesses memory, steps of the plan included.
    pub accesses: BTreeSet<WordOffset>,
    /// Some fences were not looked at.
    pub cut: bool,
}

/// A place of the plan: its fences and how it synchronises.
struct FencePoint<'p> {
    word: WordOffset,
    /// Those before its last synchronising step, and those behind its first.
    before: Vec<&'p Fence>,
    after: Vec<&'p Fence>,
    means: Option<SyncKind>,
    /// It always synchronises.
    sure: bool,
    /// It is an OpMemoryBarrier or something like it.
    alone: bool,
}

/// The orderings that the fences of `plan` require.
pub fn contracts(plan: &EntryPlan, shape: &ControlFlowSummary) -> SyncContracts {
    let places: Vec<FencePoint<'_>> = plan
        .at_instruction
        .iter()
        .filter(|(word, _)| shape.block_of(**word).is_some())
        .map(|(word, steps)| place(plan, *word, steps))
        .collect();
    let mut contracts = SyncContracts {
        accesses: shape
            .accesses
            .union(&steps_that_access(plan))
            .copied()
            .collect(),
        ..SyncContracts::default()
    };
    let words = |accept: &dyn Fn(&FencePoint<'_>) -> bool| -> BTreeSet<WordOffset> {
        let chosen = places.iter().filter(|place| accept(place));
        chosen.map(|place| place.word).collect()
    };
    let barriers = words(&|place| place.means.is_some());
    let sure = words(&|place| place.means.is_some() && place.sure);
    let with_atomics = |words: &BTreeSet<WordOffset>| -> BTreeSet<WordOffset> {
        words.iter().chain(shape.atomics.keys()).copied().collect()
    };
    let (atomics, sure_atomics) = (with_atomics(&barriers), with_atomics(&sure));
    for (word, atomic) in &shape.atomics {
        let own = |fence: &Fence| FenceObligation {
            fence: *fence,
            word: *word,
            exempt: Words::new(),
            unknown: false,
        };
        let (before, after) = (atomic.before.iter(), atomic.after.iter());
        let release: Vec<FenceObligation> =
            before.filter(|fence| releases(fence)).map(own).collect();
        let acquire: Vec<FenceObligation> =
            after.filter(|fence| acquires(fence)).map(own).collect();
        if !(release.is_empty() && acquire.is_empty()) {
            let contract = contracts.of(*word, SyncKind::Atomic);
            contract.release.extend(release);
            contract.acquire.extend(acquire);
        }
    }
    for place in &places {
        if let Some(means) = place.means {
            let contract = contracts.of(place.word, means);
            let own = |fence: &Fence| FenceObligation {
                fence: *fence,
                word: place.word,
                exempt: Words::new(),
                unknown: false,
            };
            let release = place.before.iter().filter(|fence| releases(fence));
            contract.release.extend(release.map(|fence| own(fence)));
            let acquire = place.after.iter().filter(|fence| acquires(fence));
            contract.acquire.extend(acquire.map(|fence| own(fence)));
        }
    }
    let mut searcher = Searcher { shape, visits: 0 };
    for place in &places {
        if place.means.is_some() && place.sure {
            continue;
        }
        // Barriers are passed by atomics and the other way round: each is looked for by itself.
        let mut kinds = vec![Syncs {
            all: &barriers,
            sure: &sure,
        }];
        if place.alone {
            kinds.push(Syncs {
                all: &atomics,
                sure: &sure_atomics,
            });
        }
        for syncs in kinds {
            for (fences, forward) in [(&place.before, true), (&place.after, false)] {
                let asked = |fence: &&&Fence| {
                    let side = if forward {
                        releases(fence)
                    } else {
                        acquires(fence)
                    };
                    side && !within_one_wave(plan, fence)
                };
                let fences: Vec<&Fence> = fences.iter().filter(asked).copied().collect();
                if fences.is_empty() {
                    continue;
                }
                for beside in searcher.beside(place.word, syncs, forward) {
                    let means = places
                        .binary_search_by_key(&beside.word, |place| place.word)
                        .ok()
                        .and_then(|at| places.get(at)?.means)
                        // What synchronises and is not a place of the plan is an atomic operation.
                        .unwrap_or(SyncKind::Atomic);
                    let contract = contracts.of(beside.word, means);
                    let asks = fences
                        .iter()
                        .map(|fence| standing_apart(fence, place.word, &beside, shape));
                    if forward {
                        contract.release.extend(asks);
                    } else {
                        contract.acquire.extend(asks);
                    }
                }
            }
        }
    }
    for (word, contract) in &mut contracts.by_word {
        let elsewhere = searcher.elsewhere(*word);
        for ask in contract.release.iter_mut().chain(&mut contract.acquire) {
            ask.exempt.extend(elsewhere.iter().cloned());
        }
    }
    contracts.cut = searcher.gave_up();
    for contract in contracts.by_word.values_mut() {
        for asks in [&mut contract.release, &mut contract.acquire] {
            let mut seen = Vec::new();
            asks.retain(|ask| {
                let key = (ask.fence, ask.word);
                let new = !seen.contains(&key);
                seen.push(key);
                new
            });
        }
    }
    contracts
}

impl SyncContracts {
    fn of(&mut self, word: WordOffset, means: SyncKind) -> &mut SyncContract {
        self.by_word.entry(word).or_insert_with(|| SyncContract {
            means,
            release: Vec::new(),
            acquire: Vec::new(),
        })
    }
}

fn standing_apart(
    fence: &Fence,
    word: WordOffset,
    beside: &Beside,
    shape: &ControlFlowSummary,
) -> FenceObligation {
    FenceObligation {
        fence: *fence,
        word,
        unknown: shape.accesses_in(&beside.exempt),
        exempt: beside.exempt.clone(),
    }
}

fn place<'p>(plan: &EntryPlan, word: WordOffset, steps: &'p [Step]) -> FencePoint<'p> {
    let mut flat = Vec::new();
    flatten(steps, true, &mut flat);
    let means = flat.iter().find_map(|(step, _)| means(step));
    let syncs = |(step, _): &(&Step, bool)| self::means(step).is_some();
    let first = flat.iter().position(syncs);
    let last = flat.iter().rposition(syncs);
    let fence = |(step, _): &(&'p Step, bool)| match step {
        Step::Fence(fence) => Some(fence),
        _ => None, // no other step is a fence
    };
    // Where nothing synchronises, every fence is on both sides.
    let before = last.unwrap_or(flat.len());
    let after = first.unwrap_or(0);
    FencePoint {
        word,
        before: flat.iter().take(before).filter_map(fence).collect(),
        after: flat.iter().skip(after).filter_map(fence).collect(),
        sure: flat
            .iter()
            .any(|(step, sure)| *sure && self::means(step).is_some()),
        means,
        alone: plan
            .sites
            .iter()
            .any(|site| site.offset == word && site.kind == SiteKind::MemoryBarrier),
    }
}

fn flatten<'p>(steps: &'p [Step], sure: bool, into: &mut Vec<(&'p Step, bool)>) {
    for step in steps {
        match step {
            // The first wave's part is the workgroup's.
            Step::IfFirst(inner) => flatten(inner, sure, into),
            Step::IfOutstanding(inner) => flatten(inner, false, into),
            step => into.push((step, sure)),
        }
    }
}

/// How a step synchronises with other invocations; `None` if it does not, by an instruction of its
/// own.
fn means(step: &Step) -> Option<SyncKind> {
    let is_barrier = match step {
        Step::CounterArrive | Step::CounterWait => return Some(SyncKind::Counter),
        Step::ClusterArrive | Step::ClusterWait => true,
        Step::Amdgpu(step) => match step {
            AmdgpuStep::Signal
            | AmdgpuStep::SignalFirst
            | AmdgpuStep::WaitSignal
            | AmdgpuStep::NamedArrive
            | AmdgpuStep::NamedWait
            | AmdgpuStep::WorkgroupBarrier
            | AmdgpuStep::BareBarrier => true,
            AmdgpuStep::WaitZero(_)
            | AmdgpuStep::NamedInit
            | AmdgpuStep::NamedJoin
            | AmdgpuStep::NamedLeave
            | AmdgpuStep::WaveBarrier
            | AmdgpuStep::LeaveWindow => false,
        },
        Step::Nvptx(step) => match step {
            NvptxStep::CtaSync
            | NvptxStep::WarpSync(_)
            | NvptxStep::MbarrierArrive
            | NvptxStep::MbarrierWait { .. }
            | NvptxStep::GroupArrive(_)
            | NvptxStep::GroupSync(_) => true,
            NvptxStep::MbarrierInit { .. }
            | NvptxStep::CopiesArrive { .. }
            | NvptxStep::BulkInit(_)
            | NvptxStep::BulkWait(_) => false,
        },
        Step::Fence(_)
        | Step::CounterInit
        | Step::OpenWindow
        | Step::CloseWindow
        | Step::AsyncMark
        | Step::AsyncWait(_)
        | Step::StoreStaged(_)
        | Step::SetOutstanding(_)
        | Step::IfFirst(_)
        | Step::IfOutstanding(_) => false,
    };
    is_barrier.then_some(SyncKind::Barrier)
}

/// The words at which steps of the plan access memory.
fn steps_that_access(plan: &EntryPlan) -> BTreeSet<WordOffset> {
    let steps = plan.at_instruction.iter().chain(&plan.before_instruction);
    let accesses = |steps: &[Step]| {
        let mut flat = Vec::new();
        flatten(steps, true, &mut flat);
        flat.iter().any(|(step, _)| {
            let held = matches!(step, Step::StoreStaged(_));
            held || means(step) == Some(SyncKind::Counter)
        })
    };
    let found = steps.filter(|(_, steps)| accesses(steps));
    found.map(|(word, _)| *word).collect()
}

fn releases(fence: &Fence) -> bool {
    fence.order != FenceOrder::Acquire
}

fn acquires(fence: &Fence) -> bool {
    fence.order != FenceOrder::Release
}

/// Returns true if a fence orders no more than one wave of an AMD GPU does by itself: its lanes
/// share every cache and issue in one order.
fn within_one_wave(plan: &EntryPlan, fence: &Fence) -> bool {
    let is_amdgpu = Target::by_name(plan.target).is_some_and(|target| target.amdgpu().is_some());
    let one_wave = plan.workgroup_size.is_some_and(|size| {
        let invocations = size
            .iter()
            .fold(1_u64, |n, of| n.saturating_mul((*of).into()));
        invocations <= u64::from(plan.wave_size)
    });
    let scope = fence.scope;
    is_amdgpu && (scope == FenceScope::Subgroup || scope == FenceScope::Workgroup && one_wave)
}
