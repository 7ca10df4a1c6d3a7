//! Copies to workgroup memory through registers, with outstanding loads: the load stays at the
//! place of the copy, and the store moves to its first use.
//!
//! Between a copy and the wait that completes it nobody looks at the destination or writes it
//! (OpGroupAsyncCopy asks that of the program; of plain copies the analysis has proved it), so the
//! store may stand at any place between the two. It stands at the last of them at which nothing is
//! lost:
//!
//! - at a wait that completes the copy, before the wait's fence;
//! - at the next copy into the same registers. In a loop that is the iteration after: the loads are
//!   in flight for one iteration, over all of its barriers. A ring of more stages could have more
//!   iterations in flight, but to alternate between two sets of registers the set has to be moved,
//!   and a move waits for the load;
//! - where control enters a loop that would have to store it in its first iteration alone;
//! - nowhere before a return: workgroup memory ends with the workgroup.
//!
//! Each set of registers has a note that it holds something, per invocation: one that did not copy
//! does not store. The optimiser folds the note wherever all paths agree, and turns the registers
//! into phis.
//!
//! Registers are dear: copies take at most [`MOST_REGISTERS`] of an invocation, in the order in
//! which they stand; what does not fit is stored at once.

use splitbar_passes::analysis::cfg::Cfg;
use splitbar_passes::analysis::dataflow::{self, Analysis, Direction};
use splitbar_passes::analysis::dominance::Dominators;
use splitbar_passes::analysis::loops::{self, Loop};
use splitbar_passes::module::{BlockIndex, BlockMap, WordOffset};
use std::collections::{BTreeMap, BTreeSet};

/// Most 32-bit registers of an invocation that hold what is being copied, and where it goes.
pub const MOST_REGISTERS: u32 = 32;

/// Most copies of a function that are held.
const MOST_COPIES: usize = 64;

/// Blocks times copies above which nothing is held.
const LIMIT: usize = 1 << 22;

/// Loops that are looked at; where there are more, nothing is stored before one.
const MOST_LOOPS: usize = 256;

/// The contents of a set of registers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct StagedShape {
    /// Bytes of each value: 1, 2, 4, 8 or 16. Its place in workgroup memory is aligned to them.
    pub unit: u32,
    /// The number of values.
    pub rounds: u32,
    /// The units of the copy of a group, of which invocation `i` moves those with the numbers `i`,
    /// `i` and the size of the workgroup, and so on; `None` for a store, whose one value goes to an
    /// address of its own.
    pub units: Option<u32>,
}

impl StagedShape {
    /// Registers for the values and the address.
    pub(crate) fn registers(self) -> u32 {
        let words = self.unit.div_ceil(4);
        self.rounds.saturating_mul(words).saturating_add(1)
    }
}

/// What happens before an instruction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The copy with this number.
    Copy(usize),
    /// A mark behind the copies before it.
    Mark,
    /// All but the newest marks are complete from here on.
    Wait(u8),
    /// The set of registers with this number is stored: what [`hold`] adds.
    Store(usize),
}

/// A function as this analysis sees it.
#[derive(Clone)]
pub(crate) struct Timeline<'t> {
    pub cfg: &'t Cfg,
    /// Per block the moments in order, with the word offset of the instruction.
    pub moments: BlockMap<Vec<(WordOffset, Moment)>>,
    /// For each block, the word offset of the last instruction before which steps can be inserted:
    /// its merge instruction or its terminator.
    pub ends: &'t BlockMap<WordOffset>,
    /// The registers of each copy, in module order.
    pub shapes: &'t [StagedShape],
}

/// Which copies are held, and where they are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Staged {
    /// The sets of registers.
    pub slots: Vec<StagedShape>,
    /// By copy: the set that it takes; `None` when it is stored at once.
    pub of_copy: Vec<Option<usize>>,
    /// By word offset: the sets whose contents are stored before the instruction.
    pub stores: BTreeMap<WordOffset, BTreeSet<usize>>,
}

/// Gives the copies of `timeline` registers, of which `free` are left.
pub(crate) fn stage(mut timeline: Timeline<'_>, free: u32) -> Staged {
    let copies = timeline.shapes.len().min(MOST_COPIES);
    let mut alone = vec![None; timeline.shapes.len()];
    if copies.saturating_mul(timeline.cfg.len()) > LIMIT {
        return Staged {
            of_copy: alone,
            ..Staged::default()
        };
    }
    for (copy, slot) in alone.iter_mut().enumerate().take(copies) {
        *slot = Some(copy);
    }
    let shared = share(&timeline, &alone);
    let mut staged = assign(timeline.shapes, &shared, free);
    for (block, slot) in before_loops(&timeline, &staged) {
        let end = timeline.ends.get(block);
        if let Some((moments, end)) = timeline.moments.get_mut(block).zip(end) {
            moments.push((*end, Moment::Store(slot)));
        }
    }
    for store in Flow::analyze(&timeline, &staged.of_copy).stores() {
        staged
            .stores
            .entry(store.offset)
            .or_default()
            .insert(store.slot);
    }
    staged
}

/// For each copy the one whose registers it takes: itself, or, for one that a copy in a loop finds
/// still held when it also finds its own of the iteration before, that copy. Each shares with one
/// at most, the newest. So the loop's registers are filled on every path into it.
fn share(timeline: &Timeline<'_>, alone: &[Option<usize>]) -> Vec<Option<usize>> {
    let copies = alone.len();
    let mut found = BTreeSet::new();
    Flow::analyze(timeline, alone).visit(|_, (_, moment), ages, _| {
        if let Moment::Copy(copy) = moment {
            let staged = ages.iter().enumerate().filter(|(_, age)| **age > 0);
            found.extend(staged.map(|(other, _)| (copy, other)));
        }
    });
    let finds = |copy: usize, other: usize| found.contains(&(copy, other));
    let mut shared = alone.to_vec();
    for copy in (0..copies).rev().filter(|copy| finds(*copy, *copy)) {
        let earlier = (0..copy).rev().find(|other| {
            timeline.shapes.get(*other) == timeline.shapes.get(copy)
                && shared.get(*other) == Some(&Some(*other))
                && finds(copy, *other)
                && !finds(*other, copy)
        });
        if let Some(slot) = earlier.and_then(|earlier| shared.get_mut(earlier)) {
            *slot = Some(copy);
        }
    }
    shared
}

/// Numbers the sets of registers in the order of the copies, as long as there are registers.
fn assign(shapes: &[StagedShape], shared: &[Option<usize>], free: u32) -> Staged {
    let mut staged = Staged::default();
    let mut left = free;
    let mut numbers: BTreeMap<usize, Option<usize>> = BTreeMap::new();
    for (owner, shape) in shared.iter().zip(shapes) {
        let slot = owner.and_then(|owner| {
            *numbers.entry(owner).or_insert_with(|| {
                left = left.checked_sub(shape.registers())?;
                staged.slots.push(*shape);
                Some(staged.slots.len() - 1)
            })
        });
        staged.of_copy.push(slot);
    }
    staged
}

/// Blocks that lead into a loop, and the sets that are stored at their ends: those that the loop
/// stores and does not fill.
fn before_loops(timeline: &Timeline<'_>, staged: &Staged) -> BTreeSet<(BlockIndex, usize)> {
    let cfg = timeline.cfg;
    let Some(loops) = loops::natural(cfg, &Dominators::analyze(cfg), MOST_LOOPS) else {
        return BTreeSet::new();
    };
    let flow = Flow::analyze(timeline, &staged.of_copy);
    let stored: BTreeSet<(BlockIndex, usize)> = flow
        .stores()
        .iter()
        .map(|store| (store.block, store.slot))
        .collect();
    let moments = timeline.moments.iter();
    let filled: BTreeSet<(BlockIndex, usize)> = moments
        .flat_map(|(block, moments)| moments.iter().map(move |(_, moment)| (block, moment)))
        .filter_map(|(block, moment)| Some((block, flow.filled(moment)?)))
        .collect();
    let mut entries = BTreeSet::new();
    for Loop { header, body } in &loops {
        let inside = |places: &BTreeSet<(BlockIndex, usize)>| -> BTreeSet<usize> {
            let places = places.iter().filter(|(block, _)| body.contains(block));
            places.map(|(_, slot)| *slot).collect()
        };
        for slot in inside(&stored).difference(&inside(&filled)) {
            let from = cfg.preds(*header).iter();
            let from = from.filter(|block| cfg.is_reachable(**block) && !body.contains(block));
            entries.extend(from.map(|block| (*block, *slot)));
        }
    }
    entries
}

/// A store of what a set holds.
struct Store {
    block: BlockIndex,
    /// The word offset of the instruction that it stands before.
    offset: WordOffset,
    slot: usize,
}

/// How many marks were made since each set was filled, at most.
struct Flow<'f> {
    timeline: &'f Timeline<'f>,
    of_copy: &'f [Option<usize>],
    slots: usize,
    /// Ages are not told apart from here on: every wait stores what is so old.
    oldest: u8,
    /// At the starts of blocks.
    at_start: BlockMap<Ages>,
}

/// By set: 0 when it holds nothing on any path, else one more than the greatest number of marks
/// since it was filled.
type Ages = Vec<u8>;

impl<'f> Flow<'f> {
    fn analyze(timeline: &'f Timeline<'f>, of_copy: &'f [Option<usize>]) -> Flow<'f> {
        let waits = timeline.moments.values().flatten();
        let most = waits.filter_map(|(_, moment)| match moment {
            Moment::Wait(outstanding) => Some(*outstanding),
            Moment::Copy(_) | Moment::Mark | Moment::Store(_) => None,
        });
        let last = of_copy.iter().flatten().max();
        let mut flow = Flow {
            timeline,
            of_copy,
            slots: last.map_or(0, |last| last + 1),
            oldest: most.max().unwrap_or(0).saturating_add(2),
            at_start: BlockMap::default(),
        };
        flow.at_start = dataflow::solve(timeline.cfg, &flow);
        flow
    }

    /// The set that a moment fills.
    fn filled(&self, moment: &Moment) -> Option<usize> {
        match moment {
            Moment::Copy(copy) => self.of_copy.get(*copy).copied().flatten(),
            Moment::Mark | Moment::Wait(_) | Moment::Store(_) => None,
        }
    }

    /// The sets that are stored at a moment that finds them at these ages.
    fn stored(&self, moment: &Moment, ages: &Ages) -> Vec<usize> {
        let is_held = |slot: &usize| ages.get(*slot).is_some_and(|age| *age > 0);
        match moment {
            Moment::Copy(_) => self.filled(moment).into_iter().filter(is_held).collect(),
            Moment::Store(slot) => Some(*slot).into_iter().filter(is_held).collect(),
            Moment::Wait(outstanding) => {
                let is_old = |age: u8| age > outstanding.saturating_add(1);
                let ages = ages.iter().enumerate();
                ages.filter_map(|(slot, age)| is_old(*age).then_some(slot))
                    .collect()
            }
            Moment::Mark => Vec::new(),
        }
    }

    /// Goes over a block from the `ages` at its start to those at its end. `see` gets each moment
    /// with the ages before it and the sets that are stored there.
    fn walk(
        &self,
        block: BlockIndex,
        ages: &mut Ages,
        mut see: impl FnMut((WordOffset, Moment), &Ages, &[usize]),
    ) {
        for (offset, moment) in self.timeline.moments.get(block).into_iter().flatten() {
            let stored = self.stored(moment, ages);
            see((*offset, *moment), ages, &stored);
            for slot in stored {
                if let Some(age) = ages.get_mut(slot) {
                    *age = 0;
                }
            }
            if let Some(age) = self.filled(moment).and_then(|slot| ages.get_mut(slot)) {
                *age = 1;
            }
            if *moment == Moment::Mark {
                for age in ages.iter_mut().filter(|age| **age > 0) {
                    *age = age.saturating_add(1).min(self.oldest);
                }
            }
        }
    }

    /// All moments in blocks that control can reach, with their blocks, as [`Flow::walk`] shows
    /// them.
    fn visit(&self, mut see: impl FnMut(BlockIndex, (WordOffset, Moment), &Ages, &[usize])) {
        for block in self.timeline.cfg.reverse_postorder() {
            // Every block of the graph has ages at its start.
            let mut ages = self.at_start.get(*block).cloned().unwrap_or_default();
            self.walk(*block, &mut ages, |moment, ages, stored| {
                see(*block, moment, ages, stored);
            });
        }
    }

    /// All stores. None stands before a return.
    fn stores(&self) -> Vec<Store> {
        let mut stores = Vec::new();
        self.visit(|block, (offset, _), _, stored| {
            let is_exit = self.timeline.cfg.succs(block).is_empty();
            if is_exit && self.timeline.ends.get(block) == Some(&offset) {
                return;
            }
            stores.extend(stored.iter().map(|slot| Store {
                block,
                offset,
                slot: *slot,
            }));
        });
        stores
    }
}

impl Analysis for Flow<'_> {
    type State = Ages;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Ages {
        vec![0; self.slots]
    }

    fn boundary(&self) -> Ages {
        self.bottom()
    }

    fn join(&self, state: &mut Ages, other: &Ages) -> bool {
        let mut changed = false;
        for (age, other) in state.iter_mut().zip(other) {
            changed |= *other > *age;
            *age = (*age).max(*other);
        }
        changed
    }

    fn transfer(&self, block: BlockIndex, mut state: Ages) -> Ages {
        self.walk(block, &mut state, |_, _, _| {});
        state
    }
}

#[cfg(test)]
mod tests;
