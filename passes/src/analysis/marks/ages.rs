//! The minimum number of marks since a copy: a shortest path from the copy, in a graph whose edges
//! cost the marks on them.
//!
//! The nodes are the pairs of a block and a group, at the start of the block. A block leads a group
//! on to its successors at the cost of its marks, unless it needs the group: then nothing of it is
//! outstanding any more. A copy begins a path. Ages are small, so nodes wait in one bucket per age
//! (Dial, 1969), and time is linear in nodes and edges.

use super::{Event, EventPlace, Group, LIMIT, MAX_MARKS, Move, Wait};
use crate::analysis::cfg::Cfg;
use crate::module::{BlockIndex, BlockMap};
use std::collections::{BTreeMap, BTreeSet};

/// No copy of the group is outstanding.
const NONE: u8 = u8::MAX;

/// Groups as numbers.
struct Columns {
    numbers: BTreeMap<Group, usize>,
    /// True if there are too many: all have the number 0.
    one: bool,
}

impl Columns {
    fn analyze(cfg: &Cfg, events: &BlockMap<Vec<Event>>, moves: &[Move]) -> Columns {
        let copied = events.values().flatten().filter_map(|event| match event {
            Event::Copy(group) => Some(*group),
            Event::Mark | Event::Need(_) | Event::NeedAll => None,
        });
        let moved = moves.iter().map(|given| given.to);
        let groups: BTreeSet<Group> = copied.chain(moved).collect();
        let one = groups.len().saturating_mul(cfg.len()) > LIMIT;
        Columns {
            numbers: groups.into_iter().zip(0..).collect(),
            one,
        }
    }

    fn len(&self) -> usize {
        if self.one { 1 } else { self.numbers.len() }
    }

    /// The number of a group; none when no copy ever has the name.
    fn get(&self, group: Group) -> Option<usize> {
        let number = *self.numbers.get(&group)?;
        Some(if self.one { 0 } else { number })
    }

    /// The groups that are complete behind an event that needs some. When all have one number,
    /// nobody knows which of them remain.
    fn completed(&self, event: &Event) -> Vec<usize> {
        match event {
            Event::Need(groups) if !self.one => {
                groups.iter().filter_map(|group| self.get(*group)).collect()
            }
            Event::NeedAll => (0..self.len()).collect(),
            Event::Need(_) | Event::Copy(_) | Event::Mark => Vec::new(),
        }
    }
}

/// What a block does to groups.
#[derive(Default)]
struct Effect {
    /// How many marks it makes.
    marks: usize,
    /// The groups that it needs, on their way from its start to its end.
    completes: BTreeSet<usize>,
    /// The groups that it copies and leaves outstanding, with the marks made since.
    copies: BTreeMap<usize, usize>,
}

impl Effect {
    fn analyze(columns: &Columns, events: &[Event]) -> Effect {
        let mut effect = Effect::default();
        for event in events.iter().rev() {
            match event {
                Event::Mark => effect.marks += 1,
                Event::Copy(group) => {
                    if let Some(column) = columns.get(*group)
                        && !effect.completes.contains(&column)
                    {
                        effect.copies.entry(column).or_insert(effect.marks);
                    }
                }
                Event::Need(_) | Event::NeedAll => {
                    effect.completes.extend(columns.completed(event));
                }
            }
        }
        effect
    }
}

/// Ages of groups at the starts of blocks.
pub(super) struct Ages {
    columns: Columns,
    /// Per block and group.
    at_start: Vec<u8>,
}

impl Ages {
    /// Ages at the starts of the blocks of `cfg`.
    pub(super) fn analyze(cfg: &Cfg, events: &BlockMap<Vec<Event>>, moves: &[Move]) -> Ages {
        let columns = Columns::analyze(cfg, events, moves);
        let effects: BlockMap<Effect> = cfg
            .blocks()
            .map(|block| events.get(block).map_or(&[][..], Vec::as_slice))
            .map(|events| Effect::analyze(&columns, events))
            .collect();
        let mut search = Search {
            cfg,
            edges: Edges::analyze(&columns, moves),
            width: columns.len(),
            at_start: vec![NONE; cfg.len() * columns.len()],
            buckets: vec![Vec::new(); usize::from(MAX_MARKS) + 1],
        };
        for block in cfg.reverse_postorder() {
            for (column, age) in &effects[*block].copies {
                search.leave(*block, *column, *age);
            }
        }
        search.run(&effects);
        Ages {
            at_start: search.at_start,
            columns,
        }
    }

    /// The wait of every need in a block that control can reach.
    pub(super) fn waits(
        &self,
        cfg: &Cfg,
        events: &BlockMap<Vec<Event>>,
    ) -> BTreeMap<EventPlace, Wait> {
        let width = self.columns.len();
        let mut waits = BTreeMap::new();
        for block in cfg.reverse_postorder() {
            let Some(events) = events.get(*block) else {
                debug_assert!(false, "no events of block {block}");
                continue;
            };
            let mut row = Row::new(&self.at_start[block.index() * width..][..width]);
            for (index, event) in events.iter().enumerate() {
                let least = match event {
                    Event::Mark => {
                        row.marks += 1;
                        continue;
                    }
                    Event::Copy(group) => {
                        row.copy(self.columns.get(*group));
                        continue;
                    }
                    Event::Need(groups) => groups
                        .iter()
                        .filter_map(|group| row.age(self.columns.get(*group)?))
                        .min(),
                    Event::NeedAll => (0..width).filter_map(|column| row.age(column)).min(),
                };
                for column in self.columns.completed(event) {
                    row.complete(column);
                }
                let wait = match least {
                    None => Wait::Nothing,
                    Some(0) => Wait::Unmarked,
                    Some(age) => Wait::AtMost(age - 1),
                };
                waits.insert((*block, index), wait);
            }
        }
        waits
    }
}

/// Names that are given anew on the way from one block to another.
struct Edges {
    /// From the end of a block and a group there: blocks that know it by another name, and the
    /// name.
    moved: BTreeMap<(BlockIndex, usize), Vec<(BlockIndex, usize)>>,
    /// Blocks and names that are given at their start: what went by the name before goes by it no
    /// more.
    given: BTreeSet<(BlockIndex, usize)>,
}

impl Edges {
    fn analyze(columns: &Columns, moves: &[Move]) -> Edges {
        let mut edges = Edges {
            moved: BTreeMap::new(),
            given: BTreeSet::new(),
        };
        if columns.one {
            return edges; // one name for all: nothing is given anew
        }
        for given in moves {
            let Some(to) = columns.get(given.to) else {
                continue;
            };
            edges.given.insert((given.block, to));
            for (block, from) in &given.from {
                if let Some(from) = columns.get(*from) {
                    let targets = edges.moved.entry((*block, from)).or_default();
                    targets.push((given.block, to));
                }
            }
        }
        edges
    }
}

/// The search for shortest paths.
struct Search<'a> {
    cfg: &'a Cfg,
    edges: Edges,
    width: usize,
    at_start: Vec<u8>,
    /// Per age the nodes that have it, or had it before they were found to be younger.
    buckets: Vec<Vec<(BlockIndex, usize)>>,
}

impl Search<'_> {
    fn run(&mut self, effects: &BlockMap<Effect>) {
        for age in 0..=MAX_MARKS {
            // What follows from an age is as old or older, so a bucket that is empty stays so.
            while let Some((block, column)) = self.buckets[usize::from(age)].pop() {
                let effect = &effects[block];
                if self.at_start[block.index() * self.width + column] == age
                    && !effect.completes.contains(&column)
                {
                    self.leave(block, column, effect.marks + usize::from(age));
                }
            }
        }
    }

    /// The group leaves the block at this age.
    fn leave(&mut self, block: BlockIndex, column: usize, age: usize) {
        let age = u8::try_from(age).unwrap_or(MAX_MARKS).min(MAX_MARKS);
        let cfg = self.cfg;
        for succ in cfg.succs(block) {
            if !self.edges.given.contains(&(*succ, column)) {
                self.reach(*succ, column, age);
            }
        }
        let moved = self.edges.moved.get(&(block, column));
        for (succ, to) in moved.cloned().unwrap_or_default() {
            if cfg.succs(block).contains(&succ) {
                self.reach(succ, to, age);
            }
        }
    }

    fn reach(&mut self, block: BlockIndex, column: usize, age: u8) {
        let known = &mut self.at_start[block.index() * self.width + column];
        if age < *known {
            *known = age;
            self.buckets[usize::from(age)].push((block, column));
        }
    }
}

/// Ages within a block. They are kept less the marks made in the block so far, so that a mark costs
/// nothing.
struct Row {
    ages: Vec<Option<isize>>,
    marks: isize,
}

impl Row {
    fn new(start: &[u8]) -> Row {
        Row {
            ages: start
                .iter()
                .map(|age| (*age != NONE).then_some(isize::from(*age)))
                .collect(),
            marks: 0,
        }
    }

    fn age(&self, column: usize) -> Option<u8> {
        let age = (*self.ages.get(column)?)? + self.marks;
        Some(u8::try_from(age).unwrap_or(MAX_MARKS).min(MAX_MARKS))
    }

    fn copy(&mut self, column: Option<usize>) {
        if let Some(age) = column.and_then(|column| self.ages.get_mut(column)) {
            *age = Some(-self.marks);
        }
    }

    fn complete(&mut self, column: usize) {
        if let Some(age) = self.ages.get_mut(column) {
            *age = None;
        }
    }
}
