//! Checks that barriers still order the accesses that they ordered before code motion. It shares no
//! code with the motion itself.
//!
//! All invocations come to the same arrives, waits and OpControlBarriers, in one order. These cut
//! an execution into stretches that have the same ends in all invocations. Accesses of one stretch
//! are concurrent; an access is also concurrent with those of a later stretch if no barrier that
//! orders their memory has its arrive and its wait between the two. Conflicting accesses that are
//! concurrent after a motion have to be among those that were before it.
//!
//! A barrier that orders nothing of the memory still holds the whole workgroup. Accesses that
//! follow two such barriers, on two branches, are not concurrent: the workgroup goes through one
//! of the branches. Afterwards, every barrier therefore ends a stretch. Before, only those that
//! order the memory do: a pass may move or remove a barrier without order, and no order is lost.

use super::body::{Body, Item, Role, Side};
use super::effects::Effect;
use super::memory_regions::MemoryRegions;
use crate::analysis::cfg::Cfg;
use crate::module::{BlockIndex, BlockMap, WordOffset};
use std::collections::{BTreeMap, BTreeSet};

/// A block, and the place of an item in it.
type Spot = (BlockIndex, usize);

/// Instructions times starting places, and accesses times accesses, that are looked at.
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
        let then = Walk::new(before, &old, classes, Ends::Ordering).concurrent()?;
        for (one, other) in Walk::new(after, &new, classes, Ends::All).concurrent()? {
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

/// All items with their blocks and places.
fn items(body: &Body) -> impl Iterator<Item = (BlockIndex, usize, Item)> {
    let blocks = body.blocks.iter();
    blocks.flat_map(|(block, items)| {
        let items = items.iter().enumerate();
        items.map(move |(index, item)| (block, index, *item))
    })
}

/// The barriers that end a stretch.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Ends {
    /// Those that order the memory in question.
    Ordering,
    /// Every barrier of the workgroup.
    All,
}

/// A place where a stretch begins or ends.
struct End {
    /// Its half; none at the beginning and at the end of the function.
    half: Option<(usize, Side)>,
    /// Accesses that control can come to from here before another end.
    on: BTreeSet<usize>,
    /// Accesses from which control can come here before another end.
    back: BTreeSet<usize>,
    /// The ends of the stretches that begin here.
    next: BTreeSet<usize>,
    /// Accesses of the stretches that begin here.
    starts: BTreeSet<usize>,
}

struct Walk<'w> {
    body: &'w Body,
    accesses: &'w Accesses,
    cfg: &'w Cfg,
    classes: &'w [MemoryRegions],
    ends: Ends,
    found: BTreeSet<(usize, usize)>,
    work: usize,
}

impl<'w> Walk<'w> {
    fn new(
        (body, cfg): (&'w Body, &'w Cfg),
        accesses: &'w Accesses,
        classes: &'w [MemoryRegions],
        ends: Ends,
    ) -> Walk<'w> {
        Walk {
            body,
            accesses,
            cfg,
            classes,
            ends,
            found: BTreeSet::new(),
            work: 0,
        }
    }

    /// The conflicting accesses to the classes that are concurrent, the smaller number first.
    fn concurrent(mut self) -> Option<BTreeSet<(usize, usize)>> {
        let ends = self.stretches()?;
        for end in &ends {
            for next in &end.next {
                let these = self.between(end, ends.get(*next)?)?;
                if !these.is_empty() {
                    let mut those = these.clone();
                    self.add_unordered(&ends, *next, &mut those)?;
                    self.pair(&these, &those)?;
                }
            }
        }
        Some(self.found)
    }

    /// Returns true if the barrier orders all of the classes.
    fn orders(&self, number: usize) -> bool {
        let barrier = self.body.barriers.get(number);
        barrier.is_some_and(|barrier| {
            self.classes
                .iter()
                .all(|class| !(barrier.may_order & *class).is_empty())
        })
    }

    /// Returns true if the halves of the barrier end stretches.
    fn is_end(&self, number: usize) -> bool {
        self.ends == Ends::All || self.orders(number)
    }

    /// The beginning of the function, the halves, and the end of the function.
    fn stretches(&mut self) -> Option<Vec<End>> {
        let halves: Vec<(Spot, (usize, Side))> = items(self.body)
            .filter_map(|(block, index, item)| match item.role {
                Role::Half(number, side) if self.is_end(number) && self.cfg.is_reachable(block) => {
                    Some(((block, index), (number, side)))
                }
                Role::Half(..) | Role::First | Role::Plain | Role::Last => None,
            })
            .collect();
        let numbers: BTreeMap<Spot, usize> =
            halves.iter().map(|(spot, _)| *spot).zip(1..).collect();
        let last = halves.len() + 1;
        let mut ends = vec![self.end(None, vec![(BlockIndex::ENTRY, 0)], Vec::new(), &numbers)?];
        for ((block, index), half) in halves {
            let (on, back) = (vec![(block, index + 1)], vec![(block, index)]);
            ends.push(self.end(Some(half), on, back, &numbers)?);
        }
        let exits = self.cfg.blocks();
        let exits = exits.filter(|block| self.cfg.is_exit(*block) && self.cfg.is_reachable(*block));
        let exits = exits.map(|block| (block, self.body.block(block).len()));
        let exits = exits.collect();
        ends.push(self.end(None, Vec::new(), exits, &numbers)?);
        debug_assert_eq!(ends.len(), last + 1);
        for at in 0..last {
            let end = ends.get(at)?;
            let mut starts = BTreeSet::new();
            for next in &end.next {
                starts.extend(self.between(end, ends.get(*next)?)?);
            }
            ends.get_mut(at)?.starts = starts;
        }
        Some(ends)
    }

    /// The end of a stretch where control goes on from the places `on` and has come to `back`;
    /// `numbers` has the halves.
    fn end(
        &mut self,
        half: Option<(usize, Side)>,
        on: Vec<Spot>,
        back: Vec<Spot>,
        numbers: &BTreeMap<Spot, usize>,
    ) -> Option<End> {
        let (on, next) = self.walk(on, true, numbers)?;
        let (back, _) = self.walk(back, false, numbers)?;
        Some(End {
            half,
            on,
            back,
            next,
            starts: BTreeSet::new(),
        })
    }

    /// The accesses of the stretch from one end to another.
    fn between(&mut self, start: &End, end: &End) -> Option<BTreeSet<usize>> {
        self.spend(start.on.len() + end.back.len())?;
        Some(start.on.intersection(&end.back).copied().collect())
    }

    /// Adds the accesses of later stretches that no barrier orders after those of a stretch that
    /// ends at number `first` of `ends`.
    fn add_unordered(
        &mut self,
        ends: &[End],
        first: usize,
        found: &mut BTreeSet<usize>,
    ) -> Option<()> {
        // Each end with the pair that was arrived at since: its wait orders.
        let mut work = vec![(first, None)];
        let mut seen: BTreeSet<(usize, Option<usize>)> = work.iter().copied().collect();
        while let Some((at, arrived)) = work.pop() {
            let end = ends.get(at)?;
            let Some((number, side)) = end.half else {
                continue;
            };
            let arrived = match side {
                _ if !self.orders(number) => arrived,
                Side::Both => continue,
                Side::Wait if arrived == Some(number) => continue,
                Side::Wait => arrived,
                Side::Arrive => Some(number),
            };
            self.spend(1 + end.starts.len() + end.next.len())?;
            found.extend(&end.starts);
            let next = end.next.iter().map(|next| (*next, arrived));
            work.extend(next.filter(|state| seen.insert(*state)));
        }
        Some(())
    }

    /// Counts work; `None` when it is too much.
    fn spend(&mut self, work: usize) -> Option<()> {
        self.work += work;
        (self.work <= MOST_WORK).then_some(())
    }

    /// Accesses to the classes from `starts` up to the next halves of `numbers`, and which ends
    /// these are.
    fn walk(
        &mut self,
        starts: Vec<Spot>,
        forward: bool,
        numbers: &BTreeMap<Spot, usize>,
    ) -> Option<(BTreeSet<usize>, BTreeSet<usize>)> {
        let last = numbers.len() + 1;
        let (mut found, mut ends) = (BTreeSet::new(), BTreeSet::new());
        let mut seen = BTreeSet::new();
        let mut work = starts;
        while let Some((block, at)) = work.pop() {
            let len = self.body.block(block).len();
            let range = if forward { at..len } else { 0..at };
            self.spend(1 + range.len())?;
            let mut is_open = true;
            for step in 0..range.len() {
                let index = if forward {
                    range.start + step
                } else {
                    range.end - 1 - step
                };
                if let Some(number) = numbers.get(&(block, index)) {
                    ends.insert(*number);
                    is_open = false;
                    break;
                }
                let access = self
                    .accesses
                    .blocks
                    .get(block)?
                    .get(index)
                    .copied()
                    .flatten();
                found.extend(access.filter(|access| self.is_of_classes(*access)));
            }
            if !is_open {
                continue;
            }
            if forward && self.cfg.is_exit(block) {
                ends.insert(last);
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
        Some((found, ends))
    }

    /// Returns true if an access is to the classes, or makes known what is.
    fn is_of_classes(&self, access: usize) -> bool {
        let all = self
            .classes
            .iter()
            .fold(MemoryRegions::NONE, |all, class| all | *class);
        let effect = self.accesses.effects.get(access);
        effect.is_some_and(|effect| !((effect.touches() | effect.publishes) & all).is_empty())
    }

    /// Notes all conflicts between `these` and `those`.
    fn pair(&mut self, these: &BTreeSet<usize>, those: &BTreeSet<usize>) -> Option<()> {
        self.spend(these.len() * those.len())?;
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::aliasing::Aliasing;
    use super::super::effects::Effects;
    use super::*;
    use crate::analysis::pairing::Pairing;
    use crate::analysis::testing::{assemble, declared};
    use crate::diagnostic::Diagnostics;

    const GLOBALS: &str = "
        OpCapability 4
        %shared_ptr = OpTypePointer 4 %uint
        %one = OpVariable %shared_ptr 4
    ";

    /// The number of pairs of accesses of `lines` that lose their order when the barriers with
    /// these numbers order nothing. `w` writes a variable, `r` reads it.
    fn lost(lines: &str, unordered: &[usize]) -> usize {
        let mut reads = 0;
        let lines = lines.split(';').map(|line| match line.trim() {
            "w" => "OpStore %one %u1\n".to_owned(),
            "r" => {
                reads += 1;
                format!("%read{reads} = OpLoad %uint %one\n")
            }
            other => format!("{other}\n"),
        });
        let text = format!(
            "%main = OpFunction %void 0 %fn\n%entry = OpLabel\n{}OpReturn\nOpFunctionEnd",
            lines.collect::<String>()
        );
        let assembled = assemble(GLOBALS, &text);
        let (declarations, constants) = declared(&assembled.module);
        let entry = &declarations.entry_points[0];
        let function = declarations.function(entry.function).unwrap();
        let cfg = Cfg::analyze(declarations.module, function);
        let mut found = Diagnostics::new();
        let pairing = Pairing::analyse(&declarations, &constants, entry, &mut found);
        assert!(!found.has_errors(), "{found}");
        let effects = Effects::analyze(&declarations, &constants, function, Aliasing::Possible);
        let before = Body::analyze(&declarations, function, &effects, &pairing, false);
        let mut after = before.clone();
        for number in unordered {
            after.barriers[*number].may_order = MemoryRegions::NONE;
        }
        let lost = still_ordered((&before, &cfg), (&after, &cfg), &Some);
        lost.unwrap().len()
    }

    #[test]
    fn one_of_two_barriers_is_enough() {
        let whole = "w; barrier; barrier; r";
        assert_eq!(
            [lost(whole, &[0]), lost(whole, &[1]), lost(whole, &[0, 1])],
            [0, 0, 1]
        );
        // The store in the window is before the second pair alone.
        let pairs = "arrive; w; wait; arrive; wait; r";
        assert_eq!([lost(pairs, &[0]), lost(pairs, &[1])], [0, 1]);
        // The load in the window is after the first alone.
        let pairs = "w; arrive; wait; arrive; r; wait";
        assert_eq!([lost(pairs, &[0]), lost(pairs, &[1])], [1, 0]);
        // As above, with a barrier in the window that orders on.
        let inside = "arrive; w; barrier; r; wait";
        assert_eq!([lost(inside, &[0]), lost(inside, &[1])], [0, 1]);
    }

    const BRANCHES: &str = "
        %c = OpLoad %uint %cond; %is = OpIEqual %bool %c %u0
        OpSelectionMerge %met 0; OpBranchConditional %is %writes %reads
        %writes = OpLabel; barrier; w; OpBranch %met
        %reads = OpLabel; barrier; r; OpBranch %met; %met = OpLabel";

    #[test]
    fn the_workgroup_goes_through_one_branch() {
        let branches = BRANCHES.replace('\n', ";");
        assert_eq!(lost(&branches, &[0, 1]), 0);
        // A barrier on one branch says as much.
        let branches = branches.replacen("barrier; r", "r", 1);
        assert_eq!(lost(&format!("{branches}; barrier"), &[0]), 0);
    }

    #[test]
    fn of_branches_in_a_loop_one_barrier_orders() {
        let looped = format!(
            "OpBranch %head; %head = OpLabel; %i = OpPhi %uint %u0 %entry %j %next
            %more = OpULessThan %bool %i %u7
            OpLoopMerge %end %next 0; OpBranchConditional %more %work %end; %work = OpLabel
            {BRANCHES}; barrier; OpBranch %next
            %next = OpLabel; %j = OpIAdd %uint %i %u1; OpBranch %head; %end = OpLabel"
        );
        let looped = looped.replace('\n', ";");
        // The last barrier keeps the iterations apart, or those of the branches do.
        assert_eq!([lost(&looped, &[0, 1]), lost(&looped, &[2])], [0, 0]);
        // The store comes after the load of the iteration before.
        assert_eq!(lost(&looped, &[0, 2]), 1);
        assert_eq!(lost(&looped, &[0, 1, 2]), 1);
    }
}
