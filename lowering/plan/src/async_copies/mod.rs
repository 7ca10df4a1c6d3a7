//! Asynchronous copies between global and workgroup memory: the instructions of a target for them,
//! the places of marks, and the number of marks that each wait leaves outstanding.
//!
//! A copy of a group is complete for all only behind a barrier: every invocation waits for what it
//! has copied itself, releases it, and meets the others. So the wait of OpGroupWaitEvents is a wait
//! for marks, a release, the workgroup's barrier and an acquire.
//!
//! Hazards that are closed here (LLVM 23.1.1 measured; AMDGPUDMAOperations): nothing orders an
//! access to workgroup memory before an asynchronous copy into the same bytes but a release fence,
//! so one stands before each copy; a copy that no mark follows is covered by no wait, so each has
//! its own mark; a counter that overflows must not be asked for more than it holds.

mod copy_plan;
mod planned;
mod registers;

use crate::bulk_copies;
use crate::shape::SubgroupShape;
use crate::step::{Fence, FenceMemory, FenceOrder, NvptxStep, Step};
use crate::target::{Amdgpu, Arch, Counter, FenceScope, Target};
use crate::waits::Waiting;
use copy_plan::plan_of;
pub use copy_plan::{CopyPlan, Engine, MOST_ROUNDS};
pub(crate) use planned::Planned;
use planned::allowed;
use splitbar_layout::Copies;
use splitbar_passes::analysis::async_copy::{AsyncCopy, Zeros};
use splitbar_passes::analysis::copy_order::Mention;
use splitbar_passes::analysis::group_copies::{Direction, GroupCopy};
use splitbar_passes::analysis::marks::{self, Event, Marks, Moment, Wait};
use splitbar_passes::module::{Scope, WordOffset};
use std::collections::BTreeMap;

/// Plans the copies of an entry point, whose workgroups have so many invocations, if that is known,
/// and so many bytes of workgroup memory left.
pub(crate) fn plan(
    copies: &Copies,
    waiting: Waiting,
    shape: SubgroupShape,
    invocations: Option<u64>,
    free_shared_bytes: u32,
) -> Planned {
    let target = waiting.target;
    let mut planned = Planned::default();
    promote(&mut planned, copies, target, shape);
    let bulk = bulk_copies::plan(&copies.cfg, &copies.group, target, free_shared_bytes);
    planned.bulk_slots = bulk.slots;
    planned.at_entry.extend(
        bulk.slots
            .map(|slots| Step::Nvptx(NvptxStep::BulkInit(slots))),
    );
    for copy in &copies.group.copies {
        let plan = bulk.copies.get(&copy.offset).copied();
        // One that has none: the emitter says what is wrong with it.
        if let Some(plan) = plan.or_else(|| copy_plan(copy, target, invocations)) {
            planned.copies.insert(copy.offset, plan);
        }
    }
    let counted = copies.group.counted(&copies.cfg, |copy| {
        let plan = planned.copies.get(&copy.offset);
        plan.is_some_and(|plan| plan.engine.has_marks())
    });
    let found = &counted.marks;
    let most = most_outstanding(&planned, target);
    let to_global = copies
        .group
        .copies
        .iter()
        .any(|copy| copy.direction != Some(Direction::ToWorkgroup));
    for (block, events) in counted.events.iter() {
        for (index, (offset, event)) in events.iter().enumerate() {
            let offset = *offset;
            match event {
                Event::Copy(_) => {}
                Event::Mark => {
                    if !found.dead_marks.contains(&(block, index)) {
                        planned.after.insert(offset, vec![Step::AsyncMark]);
                    }
                }
                Event::Need(_) | Event::NeedAll => {
                    let wait = wait(found, (block, index), most);
                    planned.in_flight |= matches!(wait, Some(Step::AsyncWait(1..)));
                    let memory = if to_global {
                        FenceMemory::All
                    } else {
                        FenceMemory::Local
                    };
                    let bulk = bulk
                        .waits
                        .get(&offset)
                        .copied()
                        .map(|most| Step::Nvptx(NvptxStep::BulkWait(most)));
                    planned
                        .waits
                        .insert(offset, (wait.into_iter().chain(bulk).collect(), memory));
                }
            }
        }
    }
    fence_copies(&mut planned, copies, waiting);
    keep_marks(&mut planned, target);
    registers::hold_group(&mut planned, copies, invocations);
    registers::hold_promoted(&mut planned, copies);
    planned
}

/// On AMDGPU no path may come to a join without a mark when others have some: LLVM 23.1 then counts
/// the others' copies wrongly (fixed later: llvm-project pull request 211688). So there is one at
/// the entry, and one behind each wait for all marks. Nobody ever waits for them: what is before
/// them is complete.
fn keep_marks(planned: &mut Planned, target: &Target) {
    if target.amdgpu().is_none() {
        return;
    }
    let waits = planned.waits.values_mut();
    let steps = waits
        .map(|(wait, _)| wait)
        .chain(planned.before.values_mut());
    let mut any = false;
    for steps in steps {
        any |= steps.iter().any(|step| matches!(step, Step::AsyncWait(_)));
        if let Some(at) = steps.iter().position(|step| *step == Step::AsyncWait(0)) {
            steps.insert(at + 1, Step::AsyncMark);
        }
    }
    if any {
        planned.at_entry.push(Step::AsyncMark);
    }
}

/// Plans the stores that become copies. Marks and waits stay where the analysis has put them: who
/// makes fewer copies, or more marks, waits for no less.
fn promote(planned: &mut Planned, copies: &Copies, target: &Target, shape: SubgroupShape) {
    for copy in &copies.promoted.copies {
        if let Some(plan) = promoted_plan(copy, target, shape) {
            planned.copies.insert(copy.store, plan);
        }
    }
    if planned.copies.is_empty() {
        return;
    }
    let most = match &target.arch {
        // LLVM asks this counter for more than it holds; as many copies as there are may stand
        // before each mark. Nothing stays outstanding on a counter of unknown size.
        Arch::Amdgpu(gpu) if gpu.async_counter => {
            let copies = u32::try_from(planned.copies.len()).unwrap_or(u32::MAX);
            gpu.most_outstanding(Counter::Asynccnt)
                .unwrap_or(0)
                .saturating_sub(1)
                / copies
        }
        Arch::Amdgpu(_) | Arch::Nvptx(_) => u32::from(marks::MAX_MARKS),
    };
    let most = u8::try_from(most).unwrap_or(marks::MAX_MARKS);
    let (marks, waits) = counted(planned, copies, target);
    for mark in marks {
        planned
            .before
            .entry(mark)
            .or_default()
            .push(Step::AsyncMark);
    }
    for (before, outstanding) in waits {
        let wait = Step::AsyncWait(outstanding.min(most));
        planned.before.entry(before).or_default().push(wait);
    }
    // A copy may be outstanding at a barrier that has no wait.
    planned.in_flight = true;
}

/// Marks and waits of the analysis, by the offset of the instruction that they stand before. On
/// AMDGPU without the marks that cover no copy of the plan: a wait for such a mark is none in LLVM
/// 23.1, not even for the copies before it (fixed later: llvm-project pull request 213144).
fn counted(
    planned: &Planned,
    copies: &Copies,
    target: &Target,
) -> (Vec<WordOffset>, Vec<(WordOffset, u8)>) {
    let promoted = &copies.promoted;
    if target.nvptx().is_some() {
        let waits = promoted.waits.iter();
        let waits = waits.map(|wait| (wait.before, allowed(wait)));
        return (promoted.marks.clone(), waits.collect());
    }
    // Before one instruction: mark, wait, copy.
    let mut moments: Vec<(WordOffset, Moment)> = Vec::new();
    moments.extend(promoted.marks.iter().map(|mark| (*mark, Moment::Mark)));
    let waits = promoted.waits.iter();
    moments.extend(waits.map(|wait| (wait.before, Moment::Wait(allowed(wait)))));
    moments.extend(planned.copies.keys().map(|copy| (*copy, Moment::Copy)));
    let by_block = copies.by_block(moments);
    let bare = |moments: &Vec<(_, Moment)>| moments.iter().map(|(_, moment)| *moment).collect();
    let found = marks::without_empty(&copies.cfg, &by_block.values().map(bare).collect());
    let left: BTreeMap<_, _> = found.waits.into_iter().collect();
    let (mut marks, mut waits) = (Vec::new(), Vec::new());
    for (block, moments) in by_block.iter() {
        for (index, (offset, moment)) in moments.iter().enumerate() {
            let place = (block, index);
            if *moment == Moment::Mark && !found.empty.contains(&place) {
                marks.push(*offset);
            }
            waits.extend(left.get(&place).map(|left| (*offset, *left)));
        }
    }
    (marks, waits)
}

fn wait(found: &Marks, place: marks::EventPlace, most: u8) -> Option<Step> {
    match found.waits.get(&place)? {
        Wait::Nothing => None,
        Wait::AtMost(outstanding) => Some(Step::AsyncWait((*outstanding).min(most))),
        // Every copy has its mark.
        Wait::Unmarked => Some(Step::AsyncWait(0)),
    }
}

/// Puts what must be between earlier accesses to workgroup memory and a copy before each copy that
/// such an access may come before in its block, and before the first of each block.
fn fence_copies(planned: &mut Planned, copies: &Copies, waiting: Waiting) {
    match waiting.target.arch {
        Arch::Amdgpu(_) => {}
        // ptxas orders an invocation's reads of shared memory before its own cp.async.
        Arch::Nvptx(_) => return,
    }
    let fence = Fence {
        order: FenceOrder::Release,
        scope: FenceScope::Workgroup,
        memory: FenceMemory::Local,
    };
    for block in &copies.order {
        let mut accessed = true;
        for mention in block {
            match mention {
                Mention::Access => accessed = true,
                Mention::Copy(offset) => {
                    let plan = planned.copies.get(offset);
                    if plan.is_none_or(|plan| plan.engine == Engine::Registers) {
                        accessed = true;
                    } else if std::mem::replace(&mut accessed, false) {
                        let before = planned.before.entry(*offset).or_default();
                        before.extend(waiting.around(fence));
                    }
                }
            }
        }
    }
}

/// How a store becomes a copy; `None` when the target has nothing for it.
fn promoted_plan(copy: &AsyncCopy, target: &Target, shape: SubgroupShape) -> Option<CopyPlan> {
    let direction = Direction::ToWorkgroup;
    let (engine, unit) = engine(target, direction, copy.bytes);
    let fits = match engine {
        Engine::Registers => false,
        // Lanes of a wave of several subgroups may lie apart where those of each one do not.
        Engine::LdsDma => copy.lane_linear && shape.is_wave(),
        Engine::AsyncLds | Engine::CpAsync => true,
        Engine::Bulk => false,
    };
    (fits && unit == copy.bytes).then(|| plan_of(copy, engine))
}

/// The most marks that a wait may leave outstanding, so that the copies behind them are no more
/// than the counter holds.
fn most_outstanding(planned: &Planned, target: &Target) -> u8 {
    let held = match &target.arch {
        // Nothing stays outstanding on a counter of unknown size.
        Arch::Amdgpu(gpu) => gpu.most_outstanding(counter(gpu)).unwrap_or(0),
        Arch::Nvptx(_) => u32::from(marks::MAX_MARKS),
    };
    let copies = planned.copies.values();
    let asynchronous = copies.filter(|plan| plan.engine != Engine::Registers);
    // LLVM counts what is outstanding itself, and where it cannot it waits for everything; what it
    // counts may be more than the counter of gfx12.5 holds.
    let per_mark = asynchronous.filter_map(|plan| plan.rounds).max();
    // Where no copy is asynchronous, no wait asks.
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
        load: None,
        zeros: Zeros::default(),
        rounds,
        staged: None,
    })
}

/// Returns true if the target has instructions that copy from global to workgroup memory while the
/// invocation continues, at least four bytes at once.
pub fn copies_to_workgroup_memory(target: &Target) -> bool {
    let (engine, _) = engine(target, Direction::ToWorkgroup, 4);
    engine != Engine::Registers
}

/// What copies elements of this size, and how many bytes of one at once. Both sides are aligned to
/// the element.
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
