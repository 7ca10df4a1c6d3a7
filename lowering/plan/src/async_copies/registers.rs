//! Copies that no instruction makes: which of them are held in registers, and where the plan stores
//! them.

use super::{Copies, CopyPlan, Engine, MOST_ROUNDS, Planned, allowed, plan_of};
use crate::staged::{self, Moment, Staged, StagedShape, Timeline};
use crate::step::Step;
use splitbar_passes::analysis::async_copy::AsyncCopy;
use splitbar_passes::analysis::group_copies::{Direction, GroupCopy};
use splitbar_passes::analysis::marks::{Event, Wait};
use splitbar_passes::module::WordOffset;

/// Holds copies of groups in registers that no instruction makes: those whose rounds are known.
pub(super) fn hold_group(planned: &mut Planned, copies: &Copies, invocations: Option<u64>) {
    let shape_of = |copy: &GroupCopy| {
        let plan = planned.copies.get(&copy.offset)?;
        staged_shape(copy, plan, invocations)
    };
    let chosen = copies.group.copies.iter();
    let (offsets, shapes): (Vec<WordOffset>, Vec<StagedShape>) = chosen
        .filter_map(|copy| Some((copy.offset, shape_of(copy)?)))
        .unzip();
    if offsets.is_empty() {
        return;
    }
    let number = |offset: &WordOffset| offsets.binary_search(offset).ok(); // copies are in module order
    let counted = copies
        .group
        .counted(&copies.cfg, |copy| number(&copy.offset).is_some());
    let moment = |place, offset, event: &Event| match event {
        Event::Copy(_) => number(offset).map(Moment::Copy),
        Event::Mark => Some(Moment::Mark),
        Event::Need(_) | Event::NeedAll => match counted.marks.waits.get(&place)? {
            Wait::Nothing => None,
            Wait::AtMost(outstanding) => Some(Moment::Wait(*outstanding)),
            Wait::Unmarked => Some(Moment::Wait(0)), // every copy has its mark
        },
    };
    let moments = counted.events.iter().map(|(block, events)| {
        let events = events.iter().enumerate();
        let moments = events.filter_map(|(index, (offset, event))| {
            Some((*offset, moment((block, index), offset, event)?))
        });
        moments.collect()
    });
    let timeline = Timeline {
        cfg: &copies.cfg,
        moments: moments.collect(),
        ends: &copies.ends,
        shapes: &shapes,
    };
    let staged = staged::stage(timeline, planned.free_registers());
    planned.keep(&offsets, staged);
}

/// What a copy of a group that goes through registers takes there.
fn staged_shape(
    copy: &GroupCopy,
    plan: &CopyPlan,
    invocations: Option<u64>,
) -> Option<StagedShape> {
    invocations?;
    let units = copy
        .elements?
        .checked_mul(plan.element_bytes / plan.unit.max(1))?;
    let rounds = plan.rounds.filter(|rounds| *rounds <= MOST_ROUNDS)?;
    let is_held = plan.engine == Engine::Registers && plan.direction == Direction::ToWorkgroup;
    is_held.then_some(StagedShape {
        unit: plan.unit,
        rounds,
        units: Some(units),
    })
}

/// Holds the plain copies in registers that nothing asynchronous makes. Marks and waits are those
/// of the analysis: they count all copies that it has found.
pub(super) fn hold_promoted(planned: &mut Planned, copies: &Copies) {
    let promoted = &copies.promoted;
    let copied = promoted.copies.iter();
    let left: Vec<&AsyncCopy> = copied
        .filter(|copy| !planned.copies.contains_key(&copy.store))
        .collect();
    if left.is_empty() {
        return;
    }
    let offsets: Vec<WordOffset> = left.iter().map(|copy| copy.store).collect();
    let shapes: Vec<StagedShape> = left
        .iter()
        .map(|copy| StagedShape {
            unit: copy.bytes,
            rounds: 1,
            units: None,
        })
        .collect();
    // Before one instruction: mark, wait, copy.
    let marks = promoted.marks.iter().map(|mark| (*mark, Moment::Mark));
    let waits = promoted.waits.iter();
    let waits = waits.map(|wait| (wait.before, Moment::Wait(allowed(wait))));
    let copied = offsets.iter().zip(0..);
    let copied = copied.map(|(offset, number)| (*offset, Moment::Copy(number)));
    let timeline = Timeline {
        cfg: &copies.cfg,
        moments: copies.by_block(marks.chain(waits).chain(copied).collect()),
        ends: &copies.ends,
        shapes: &shapes,
    };
    let staged = staged::stage(timeline, planned.free_registers());
    for (copy, slot) in left.iter().zip(&staged.of_copy) {
        if slot.is_some() {
            let plan = plan_of(copy, Engine::Registers);
            planned.copies.insert(copy.store, plan);
        }
    }
    planned.keep(&offsets, staged);
}

impl Planned {
    /// Registers of an invocation that copies may still take.
    fn free_registers(&self) -> u32 {
        let taken = self.staged.iter().map(|shape| shape.registers());
        staged::MOST_REGISTERS.saturating_sub(taken.sum())
    }

    /// Writes down which of the copies at `offsets` are held, and where they are stored.
    fn keep(&mut self, offsets: &[WordOffset], staged: Staged) {
        let first = self.staged.len();
        for (offset, slot) in offsets.iter().zip(&staged.of_copy) {
            if let Some(copy) = self.copies.get_mut(offset) {
                copy.staged = slot.map(|slot| first + slot);
            }
        }
        for (offset, slots) in staged.stores {
            let stores = slots
                .into_iter()
                .map(|slot| Step::StoreStaged(first + slot));
            let steps = match self.waits.get_mut(&offset) {
                Some((wait, _)) => wait,
                None => self.before.entry(offset).or_default(),
            };
            steps.splice(0..0, stores); // before a wait for marks: the stores take their time as well
        }
        self.in_flight |= !staged.slots.is_empty();
        self.staged.extend(staged.slots);
    }
}
