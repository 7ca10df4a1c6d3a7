//! Checks that barriers still order the accesses that they ordered before code motion. It shares no
//! code with the motion itself.
//!
//! Number the phases that a workgroup goes through. An access happens behind wait number w of its
//! invocation and before arrive number a; two accesses of different invocations may happen at once
//! when neither's arrive is at or before the other's wait. All invocations come to the same arrives
//! and waits. So that is true for accesses between one wait and one arrive, and for those in the
//! window that an arrive opens beside these and beside all up to the wait that follows. Conflicting
//! accesses that may happen at once after a motion have to be among those that might before it.

use super::body::{Body, Item, Role, Side};
use super::effects::Effect;
use super::memory_regions::MemoryRegions;
use crate::analysis::cfg::Cfg;
use crate::module::{BlockIndex, BlockMap, WordOffset};
use std::collections::{BTreeMap, BTreeSet};

/// A block, and the place of an item in it.
type Spot = (BlockIndex, usize);

/// Accesses times starting places, and accesses times accesses, that are looked at.
const MOST_WORK: usize = 1 << 24;

/// Classes of memory, and those of two that may be the same memory: a barrier keeps two accesses
/// apart that orders both of their classes.
const CLASSES: [&[MemoryRegions]; 7] = [
    &[MemoryRegions::WORKGROUP],
    &[MemoryRegions::BUFFERS],
    &[MemoryRegions::CROSS_WORKGROUP],
    &[MemoryRegions::IMAGES],
    &[MemoryRegions::BUFFERS, MemoryRegions::CROSS_WORKGROUP],
    &[MemoryRegions::BUFFERS, MemoryRegions::IMAGES],
    &[MemoryRegions::CROSS_WORKGROUP, MemoryRegions::IMAGES],
];

/// Checks that the barriers of `after` order every two conflicting accesses that those of `before`
/// order. Each access of `after` is one of `before` or a copy of one: `origin` maps the words of
/// the former to those of the latter. Each body comes with its control-flow graph.
///
/// `None`: the function is too large to say, or accesses are not those that there were. Otherwise
/// the places, in words of `after`, of the accesses that have lost their order.
pub fn still_ordered(
    before: (&Body, &Cfg),
    after: (&Body, &Cfg),
    origin: &dyn Fn(WordOffset) -> Option<WordOffset>,
) -> Option<Vec<(WordOffset, WordOffset)>> {
    let (old, new) = (Accesses::analyze(before.0), Accesses::analyze(after.0));
    let numbers: BTreeMap<WordOffset, usize> = old.offsets.iter().copied().zip(0..).collect();
    let number = |(offset, effect): (&WordOffset, &Effect)| {
        let number = *numbers.get(&origin(*offset)?)?;
        let before = old.effects.get(number)?;
        effect.is_part_of(*before).then_some(number)
    };
    let origins: Option<Vec<usize>> = new.offsets.iter().zip(&new.effects).map(number).collect();
    let Some(origins) = origins else {
        debug_assert!(false, "accesses came from nowhere");
        return None;
    };
    let mut lost = BTreeSet::new();
    for classes in CLASSES {
        let then = at_once(before.0, &old, before.1, classes)?;
        for (one, other) in at_once(after.0, &new, after.1, classes)? {
            let (first, second) = (*origins.get(one)?, *origins.get(other)?);
            if !then.contains(&(first.min(second), first.max(second))) {
                lost.insert((*new.offsets.get(one)?, *new.offsets.get(other)?));
            }
        }
    }
    Some(lost.into_iter().collect())
}

/// The accesses of a body, numbered in its order.
struct Accesses {
    effects: Vec<Effect>,
    offsets: Vec<WordOffset>,
    /// By block: the number of each item that is an access.
    blocks: BlockMap<Vec<Option<usize>>>,
}

impl Accesses {
    fn analyze(body: &Body) -> Accesses {
        let mut accesses = Accesses {
            effects: Vec::new(),
            offsets: Vec::new(),
            blocks: BlockMap::default(),
        };
        for block in body.blocks.values() {
            let numbers = block.iter().map(|item| accesses.number(*item)).collect();
            accesses.blocks.push(numbers);
        }
        accesses
    }

    fn number(&mut self, item: Item) -> Option<usize> {
        let is_access = !item.effect.touches().is_empty() || !item.effect.publishes.is_empty();
        // At the end of a function nothing is read: what follows the kernel does.
        (is_access && item.role != Role::Last).then(|| {
            self.effects.push(item.effect);
            self.offsets.push(item.offset);
            self.effects.len() - 1
        })
    }
}

/// The conflicting accesses to `classes` that may happen at once, the smaller number first.
fn at_once(
    body: &Body,
    accesses: &Accesses,
    cfg: &Cfg,
    classes: &[MemoryRegions],
) -> Option<BTreeSet<(usize, usize)>> {
    let mut walk = Walk {
        body,
        accesses,
        cfg,
        classes,
        found: BTreeSet::new(),
        work: 0,
    };
    // Accesses up to the next wait, by the place of the wait that they are behind.
    let mut phases = BTreeMap::from([(None, walk.on_to_wait((BlockIndex::ENTRY, 0))?)]);
    for (block, index, item) in items(body) {
        let Role::Half(number, side) = item.role else {
            continue;
        };
        if walk.orders(number) && side != Side::Arrive {
            phases.insert(Some((block, index)), walk.on_to_wait((block, index + 1))?);
        }
    }
    for (block, index, item) in items(body) {
        if cfg.is_exit(block) && index + 1 == body.block(block).len() {
            let end = walk.back_to_wait((block, index))?;
            walk.phase(&phases, &end)?;
        }
        let Role::Half(number, side) = item.role else {
            continue;
        };
        if !walk.orders(number) || side == Side::Wait {
            continue;
        }
        let before = walk.back_to_wait((block, index))?;
        walk.phase(&phases, &before)?;
        if side == Side::Arrive {
            let window = walk.on_from_arrive((block, index + 1), number)?;
            walk.pair(&window, &before)?;
            for wait in walk.waits((block, index + 1), number)? {
                // All invocations come to the same wait.
                let last = walk.back_to_arrive(wait, number)?;
                let both: BTreeSet<usize> = window.intersection(&last).copied().collect();
                walk.pair(&both, &both)?;
                // Accesses between an OpControlBarrier in the window and the wait.
                let rest: BTreeSet<usize> = last.difference(&window).copied().collect();
                walk.phase(&phases, &rest)?;
                walk.pair(&last, phases.get(&Some(wait))?)?;
            }
        }
    }
    Some(walk.found)
}

/// All items with their blocks and places.
fn items(body: &Body) -> impl Iterator<Item = (BlockIndex, usize, Item)> {
    let blocks = body.blocks.iter();
    blocks.flat_map(|(block, items)| {
        let items = items.iter().enumerate();
        items.map(move |(index, item)| (block, index, *item))
    })
}

struct Walk<'w> {
    body: &'w Body,
    accesses: &'w Accesses,
    cfg: &'w Cfg,
    classes: &'w [MemoryRegions],
    found: BTreeSet<(usize, usize)>,
    work: usize,
}

impl Walk<'_> {
    /// Returns true if the barrier orders all of the classes.
    fn orders(&self, number: usize) -> bool {
        let barrier = self.body.barriers.get(number);
        barrier.is_some_and(|barrier| {
            self.classes
                .iter()
                .all(|class| !(barrier.may_order & *class).is_empty())
        })
    }

    /// Accesses from `start` on up to the next wait that orders the classes.
    fn on_to_wait(&mut self, start: Spot) -> Option<BTreeSet<usize>> {
        self.reach(start, true, |walk, number, side| {
            side != Side::Arrive && walk.orders(number)
        })
    }

    /// Accesses in front of `start` back to the last wait that orders the classes.
    fn back_to_wait(&mut self, start: Spot) -> Option<BTreeSet<usize>> {
        self.reach(start, false, |walk, number, side| {
            side != Side::Arrive && walk.orders(number)
        })
    }

    /// Accesses in front of `start`, a wait of barrier `own`, back to its arrives or to an
    /// OpControlBarrier in the window that orders the classes.
    fn back_to_arrive(&mut self, start: Spot, own: usize) -> Option<BTreeSet<usize>> {
        self.reach(start, false, |walk, number, side| {
            (number == own && side == Side::Arrive) || (side == Side::Both && walk.orders(number))
        })
    }

    /// Accesses from `start`, behind an arrive of barrier `own`, up to its waits or to an
    /// OpControlBarrier as above.
    fn on_from_arrive(&mut self, start: Spot, own: usize) -> Option<BTreeSet<usize>> {
        self.reach(start, true, |walk, number, side| {
            (number == own && side == Side::Wait) || (side == Side::Both && walk.orders(number))
        })
    }

    /// The waits of barrier `own` that control comes to from `start`, behind an arrive of it.
    fn waits(&mut self, start: Spot, own: usize) -> Option<Vec<Spot>> {
        let ends = |_: &Self, number, side| number == own && side == Side::Wait;
        let mut waits = Vec::new();
        self.walk(start, true, ends, |wait| waits.push(wait))?;
        Some(waits)
    }

    fn reach(
        &mut self,
        start: Spot,
        forward: bool,
        ends: impl Fn(&Self, usize, Side) -> bool,
    ) -> Option<BTreeSet<usize>> {
        self.walk(start, forward, ends, |_| ())
    }

    /// Accesses from `start` up to what ends the walk; `end` is told where that stands.
    fn walk(
        &mut self,
        start: Spot,
        forward: bool,
        ends: impl Fn(&Self, usize, Side) -> bool,
        mut end: impl FnMut(Spot),
    ) -> Option<BTreeSet<usize>> {
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut work = vec![start];
        while let Some((block, at)) = work.pop() {
            let items = self.body.block(block);
            let numbers = self.accesses.blocks.get(block)?;
            let range = if forward { at..items.len() } else { 0..at };
            let mut is_open = true;
            for step in 0..range.len() {
                let index = if forward {
                    range.start + step
                } else {
                    range.end - 1 - step
                };
                self.work += 1;
                let role = items.get(index)?.role;
                if matches!(role, Role::Half(number, side) if ends(self, number, side)) {
                    end((block, index));
                    is_open = false;
                    break;
                }
                found.extend(numbers.get(index).copied().flatten());
            }
            if !is_open {
                continue;
            }
            let next = if forward {
                self.cfg.succs(block)
            } else {
                self.cfg.preds(block)
            };
            for next in next.iter().filter(|next| self.cfg.is_reachable(**next)) {
                if seen.insert(*next) {
                    let at = if forward {
                        0
                    } else {
                        self.body.block(*next).len()
                    };
                    work.push((*next, at));
                }
            }
        }
        (self.work <= MOST_WORK).then_some(found)
    }

    /// Notes all conflicts among those of the accesses `before` an arrive or a wait that follow one
    /// wait or OpControlBarrier.
    fn phase(
        &mut self,
        phases: &BTreeMap<Option<Spot>, BTreeSet<usize>>,
        before: &BTreeSet<usize>,
    ) -> Option<()> {
        for phase in phases.values() {
            self.work += phase.len() + before.len();
            let here: BTreeSet<usize> = phase.intersection(before).copied().collect();
            self.pair(&here, &here)?;
        }
        Some(())
    }

    /// Notes all conflicts between `these` and `those`.
    fn pair(&mut self, these: &BTreeSet<usize>, those: &BTreeSet<usize>) -> Option<()> {
        self.work += these.len() * those.len();
        if self.work > MOST_WORK {
            return None;
        }
        // Of two classes, one is the one access's and the other the other's: what orders the one
        // class alone keeps accesses apart that are both of it.
        let [one_class, other_class] = match self.classes {
            [class] => [*class, *class],
            [one, other] => [*one, *other],
            _ => return None,
        };
        let effects = &self.accesses.effects;
        for one in these {
            let mine = effects.get(*one)?;
            for other in those {
                let its = effects.get(*other)?;
                let conflict = |a, b| mine.within(a).conflicts(its.within(b));
                if conflict(one_class, other_class) || conflict(other_class, one_class) {
                    self.found.insert((*one.min(other), *one.max(other)));
                }
            }
        }
        Some(())
    }
}
