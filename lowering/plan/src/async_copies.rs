//! Asynchronous copies between global and workgroup memory: what makes them on a target, where marks stand, and how many of them each wait leaves outstanding.
//!
//! A copy of a group is complete for all only behind a barrier: every invocation waits for what it has copied itself, releases it, and meets the others. So the wait
//! of OpGroupWaitEvents is a wait for marks, a release, the workgroup's barrier and an acquire.
//!
//! Hazards that are closed here (LLVM 23.1.1 measured; AMDGPUDMAOperations): nothing orders an access to workgroup memory before an asynchronous copy into the same bytes
//! but a release fence, so one stands before each copy; a copy that no mark follows is covered by no wait, so each has its own mark; a counter
//! that overflows must not be asked for more than it holds.

use crate::step::{Fence, FenceMemory, FenceOrder, FenceScope, Step};
use crate::target::{Amdgpu, Arch, Counter, Target};
use splitbar_passes::analysis::cfg::Cfg;
use splitbar_passes::analysis::group_copies::{Direction, GroupCopies, GroupCopy};
use splitbar_passes::analysis::marks::{self, Event, Marks, Wait};
use splitbar_passes::module::{Constants, Declarations, EntryPoint, Scope};
use std::collections::BTreeMap;
use std::fmt;

/// The asynchronous copies of an entry point's function, as analyses of the module found them.
#[derive(Clone, Debug)]
pub struct Copies {
    cfg: Cfg,
    group: GroupCopies,
}

impl Copies {
    /// Those of `entry`.
    pub fn of(
        declarations: &Declarations<'_>,
        constants: &Constants,
        entry: &EntryPoint<'_>,
    ) -> Option<Copies> {
        let function = declarations.function(entry.function)?;
        let cfg = Cfg::of(declarations.module, function);
        let group = GroupCopies::of(declarations, constants, function, &cfg);
        Some(Copies { cfg, group })
    }
}

/// What makes a copy.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// Loads and stores: nothing asynchronous is left to wait for.
    Registers,
    /// AMDGPU: LDS DMA. The destination is one address for the wave; lane `n` writes `n` times 4 bytes behind it (16 where 12 or 16 bytes are copied).
    LdsDma,
    /// AMDGPU gfx12.5: loads to and stores from LDS, with an LDS address for each lane.
    AsyncLds,
    /// NVPTX sm_80+: `cp.async`.
    CpAsync,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Engine::Registers => "registers",
            Engine::LdsDma => "lds-dma",
            Engine::AsyncLds => "async-lds",
            Engine::CpAsync => "cp-async",
        })
    }
}

/// How one copy is made.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CopyPlan {
    /// By what.
    pub engine: Engine,
    /// Which way.
    pub direction: Direction,
    /// Bytes that an invocation copies at once.
    pub unit: u32,
    /// Elements of this many bytes.
    pub element_bytes: u32,
    /// How often all invocations copy a unit each until everything is copied; `None` when that is not known.
    pub rounds: Option<u32>,
}

impl fmt::Display for CopyPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} bytes at once", self.engine, self.unit)?;
        match self.rounds {
            Some(rounds) => write!(f, ", {rounds} rounds"),
            None => Ok(()),
        }
    }
}

/// What the planner makes of the copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Planned {
    /// By word offset of the instruction.
    pub copies: BTreeMap<u32, CopyPlan>,
    /// By word offset of the instruction: steps before it.
    pub before: BTreeMap<u32, Vec<Step>>,
    /// By word offset of an OpGroupAsyncCopy: the steps behind it.
    pub after: BTreeMap<u32, Vec<Step>>,
    /// By word offset of an OpGroupWaitEvents: the step that waits for the copies of the invocation itself, and what the barrier behind it orders.
    pub waits: BTreeMap<u32, (Option<Step>, FenceMemory)>,
    /// A wait leaves copies outstanding over a barrier.
    pub in_flight: bool,
}

/// Plans the copies of an entry point for `target`, whose workgroups have so many invocations, if that is known.
pub(crate) fn plan(copies: &Copies, target: &Target, invocations: Option<u64>) -> Planned {
    let mut planned = Planned::default();
    let mut events = vec![Vec::new(); copies.cfg.len()];
    for copy in &copies.group.copies {
        let Some(plan) = copy_plan(copy, target, invocations) else {
            continue; // the emitter says what is wrong with it
        };
        planned.copies.insert(copy.offset, plan);
        if plan.engine != Engine::Registers {
            let copied = (copy.offset, Event::Copy(copy.event));
            events[copy.block].extend([copied, (copy.offset, Event::Mark)]);
        }
    }
    for wait in &copies.group.waits {
        let need = wait.events.clone().map_or(Event::NeedAll, Event::Need);
        events[wait.block].push((wait.offset, need));
    }
    let mut offsets = Vec::with_capacity(events.len());
    let events: Vec<Vec<Event>> = events
        .into_iter()
        .map(|mut block| {
            block.sort_by_key(|(offset, _)| *offset); // stable: a mark stays behind its copy
            offsets.push(block.iter().map(|(offset, _)| *offset).collect::<Vec<_>>());
            block.into_iter().map(|(_, event)| event).collect()
        })
        .collect();
    let found = marks::solve(&copies.cfg, &events, &copies.group.moves);
    let most = most_outstanding(&planned, target);
    let to_global = copies
        .group
        .copies
        .iter()
        .any(|copy| copy.direction != Some(Direction::ToWorkgroup));
    for (block, events) in events.iter().enumerate() {
        for (index, event) in events.iter().enumerate() {
            let offset = offsets[block][index];
            match event {
                Event::Copy(_) => before_copy(&mut planned, offset, target),
                Event::Mark => {
                    if !found.dead_marks.contains(&(block, index)) {
                        planned.after.insert(offset, vec![Step::AsyncMark]);
                    }
                }
                Event::Need(_) | Event::NeedAll => {
                    let wait = wait(&found, (block, index), most);
                    planned.in_flight |= matches!(wait, Some(Step::AsyncWait(1..)));
                    let memory = if to_global {
                        FenceMemory::All
                    } else {
                        FenceMemory::Local
                    };
                    planned.waits.insert(offset, (wait, memory));
                }
            }
        }
    }
    planned
}

fn wait(found: &Marks, place: marks::Place, most: u8) -> Option<Step> {
    match found.waits.get(&place)? {
        Wait::Nothing => None,
        Wait::AtMost(outstanding) => Some(Step::AsyncWait((*outstanding).min(most))),
        // Every copy has its mark.
        Wait::Unmarked => Some(Step::AsyncWait(0)),
    }
}

/// What must be between earlier accesses to workgroup memory and a copy.
fn before_copy(planned: &mut Planned, offset: u32, target: &Target) {
    match target.arch {
        Arch::Amdgpu(_) => {
            let fence = Fence {
                order: FenceOrder::Release,
                scope: FenceScope::Workgroup,
                memory: FenceMemory::Local,
            };
            planned.before.insert(offset, vec![Step::Fence(fence)]);
        }
        // ptxas orders an invocation's reads of shared memory before its own cp.async.
        Arch::Nvptx(_) => {}
    }
}

/// The most marks that a wait may leave outstanding, so that the copies behind them are no more than the counter holds.
fn most_outstanding(planned: &Planned, target: &Target) -> u8 {
    let held = match &target.arch {
        Arch::Amdgpu(gpu) => gpu.most_outstanding(counter(gpu)).unwrap_or(0),
        Arch::Nvptx(_) => u32::from(marks::MAX_MARKS),
    };
    let copies = planned.copies.values();
    let asynchronous = copies.filter(|plan| plan.engine != Engine::Registers);
    // LLVM counts what is outstanding itself, and where it cannot it waits for everything; what it counts may be more than the counter of gfx12.5 holds.
    let per_mark = asynchronous.filter_map(|plan| plan.rounds).max();
    let most = held.saturating_sub(1) / per_mark.unwrap_or(1).max(1);
    u8::try_from(most).unwrap_or(marks::MAX_MARKS)
}

/// The counter of asynchronous copies.
fn counter(gpu: &Amdgpu) -> Counter {
    if gpu.async_counter {
        Counter::Asynccnt
    } else {
        Counter::Vmcnt
    }
}

/// How an OpGroupAsyncCopy is made; `None` when it is none that can be.
fn copy_plan(copy: &GroupCopy, target: &Target, invocations: Option<u64>) -> Option<CopyPlan> {
    let (direction, element_bytes) = (copy.direction?, copy.element_bytes?);
    if copy.scope != Some(Scope::Workgroup) {
        return None;
    }
    let (engine, unit) = engine(target, direction, element_bytes);
    let rounds = copy.elements.zip(invocations).and_then(|(elements, each)| {
        let units = u64::from(elements) * u64::from(element_bytes / unit.max(1));
        u32::try_from(units.div_ceil(each.max(1))).ok()
    });
    Some(CopyPlan {
        engine,
        direction,
        unit,
        element_bytes,
        rounds,
    })
}

/// What copies elements of this size, and how many bytes of one at once. Both sides are aligned to the element.
fn engine(target: &Target, direction: Direction, element_bytes: u32) -> (Engine, u32) {
    let to_workgroup = direction == Direction::ToWorkgroup;
    let (engine, sizes): (Engine, &[u32]) = match &target.arch {
        Arch::Amdgpu(gpu) if !gpu.async_marks => (Engine::Registers, &[]),
        Arch::Amdgpu(gpu) if gpu.async_counter => (Engine::AsyncLds, gpu.lds_dma_bytes),
        Arch::Amdgpu(gpu) if to_workgroup => (Engine::LdsDma, gpu.lds_dma_bytes),
        Arch::Nvptx(gpu) if gpu.cp_async && to_workgroup => (Engine::CpAsync, &[4, 8, 16]),
        Arch::Amdgpu(_) | Arch::Nvptx(_) => (Engine::Registers, &[]),
    };
    let fits = |bytes: &u32| {
        // LDS DMA of one or two bytes still steps by four from lane to lane.
        element_bytes.is_multiple_of(*bytes) && (engine != Engine::LdsDma || *bytes >= 4)
    };
    match sizes.iter().copied().filter(fits).max() {
        // Two bytes as two of one would be two operations instead of a load and a store.
        Some(1) if element_bytes > 1 => (Engine::Registers, element_bytes),
        Some(unit) => (engine, unit),
        None => (Engine::Registers, element_bytes.min(16)),
    }
}
