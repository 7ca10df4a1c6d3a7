//! Places marks, and counts the marks that each wait may leave outstanding.
//!
//! A mark closes a group: the copies that are asked for at the same places. It stands before a
//! release, where copies without a mark may be outstanding, and before a copy that is asked for
//! elsewhere than those before it. Where that copy stands in a loop or behind a branch, the mark
//! goes to a block before it that every path goes through, so that all paths count the same marks;
//! a mark that only some paths have makes a wait wait for more.

use super::flow::Flow;
use super::flow::{Event, Slots, What, pass};
use super::scan::Act;
use super::scan::Scan;
use super::split::Split;
use crate::analysis::dataflow::{Direction, at, solve_any};
use crate::analysis::loops::Loops;
use crate::analysis::marks::{self, Group, Tick};
use crate::analysis::uniformity::Model;
use crate::module::{BlockIndex, BlockMap, Function, WordOffset};
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// How often marks are placed between copies; behind that a wait makes its own mark.
const MOST_ROUNDS: usize = 128;

/// What the order is made from.
#[derive(Copy, Clone)]
pub(super) struct Input<'i, 'm> {
    pub(super) function: &'i Function<'m>,
    pub(super) scan: &'i Scan,
    pub(super) model: &'i Model,
    pub(super) loops: &'i Loops,
    pub(super) split: &'i Split,
    pub(super) flow: &'i Flow,
}

/// Marks and waits by the word offset of the instruction that they stand before.
pub(super) fn order(input: Input<'_, '_>) -> (Vec<WordOffset>, Vec<Wait>) {
    let marks = place(input);
    let mut waits = least(input, &marks);
    let mut marks = marks;
    // A wait with copies that no mark covers brings its own.
    for (offset, (_, unmarked)) in &waits {
        if *unmarked {
            marks.insert(*offset);
        }
    }
    prune(input, &mut marks, &mut waits);
    let waits = waits.into_iter().map(|(before, (outstanding, _))| Wait {
        before,
        outstanding: u32::from(outstanding),
    });
    (marks.into_iter().collect(), waits.collect())
}

/// An event of the order in one node.
enum Moment<'e> {
    Mark(WordOffset),
    Event(&'e Event),
}

/// The events of `node` and the marks of its block, in order.
fn moments<'e>(
    input: Input<'e, '_>,
    marks: &BTreeSet<WordOffset>,
    node: BlockIndex,
) -> Vec<Moment<'e>> {
    let block = at(&input.split.blocks, node);
    let events = input.flow.events.get(node).map_or(&[][..], Vec::as_slice);
    let code = input.function.block(block);
    let first = code.map_or(WordOffset::default(), |block| block.offset);
    let last = code
        .and_then(|block| block.terminator())
        .map_or(first, |inst| inst.offset);
    let mut moments = Vec::with_capacity(events.len());
    let mut events = events.iter().peekable();
    for mark in marks.range(first..=last) {
        while let Some(event) = events.next_if(|event| event.offset < *mark) {
            moments.push(Moment::Event(event));
        }
        moments.push(Moment::Mark(*mark));
    }
    moments.extend(events.map(Moment::Event));
    moments
}

/// Places marks: first before releases, for most copies have one behind them on every path; then
/// between copies, in each round those that the first node without its marks needs.
fn place(input: Input<'_, '_>) -> BTreeSet<WordOffset> {
    let classes = input.flow.classes();
    let mut marks = BTreeSet::new();
    let found = all_missing(input, &marks, &classes, |missing| !missing.is_copy);
    marks.extend(found.iter().flatten().map(|missing| missing.offset));
    drop_empty(input, &mut marks);
    let depths = depths(input);
    for _ in 0..MOST_ROUNDS {
        let found = all_missing(input, &marks, &classes, |missing| missing.is_copy);
        let Some(found) = found.into_iter().next() else {
            break;
        };
        for missing in found {
            let up = missing
                .elsewhere
                .zip(depths.as_ref())
                .and_then(|(slots, depths)| hoisted(input, depths, missing.offset, slots))
                .filter(|offset| !marks.contains(offset));
            marks.insert(up.unwrap_or(missing.offset));
        }
    }
    drop_empty(input, &mut marks);
    marks
}

/// The marks that are missing, by node in reverse postorder; nodes that miss none are left out.
fn all_missing(
    input: Input<'_, '_>,
    marks: &BTreeSet<WordOffset>,
    classes: &[usize],
    keep: impl Fn(&Missing) -> bool,
) -> Vec<Vec<Missing>> {
    let unmarked = unmarked(input, marks);
    let of_node = |node: &BlockIndex| {
        let state = at(&unmarked, *node);
        let mut found = missing(input, marks, classes, *node, state);
        found.retain(&keep);
        (!found.is_empty()).then_some(found)
    };
    let nodes = input.split.cfg.reverse_postorder().iter();
    nodes.filter_map(of_node).collect()
}

/// The slots that are outstanding without a mark behind them at the start of each node.
fn unmarked(input: Input<'_, '_>, marks: &BTreeSet<WordOffset>) -> BlockMap<Slots> {
    solve_any(&input.split.cfg, Direction::Forward, |node, mut state| {
        for moment in moments(input, marks, node) {
            match moment {
                Moment::Mark(_) => state = 0,
                Moment::Event(event) => pass(&mut state, event),
            }
        }
        state
    })
}

/// Takes out the marks that stand behind no copy.
fn drop_empty(input: Input<'_, '_>, marks: &mut BTreeSet<WordOffset>) {
    let unmarked = unmarked(input, marks);
    let mut used = BTreeSet::new();
    for (node, state) in unmarked.iter() {
        let mut state = *state;
        for moment in moments(input, marks, node) {
            match moment {
                Moment::Mark(offset) => {
                    if state != 0 {
                        used.insert(offset);
                    }
                    state = 0;
                }
                Moment::Event(event) => pass(&mut state, event),
            }
        }
    }
    *marks = used;
}

/// A mark that is missing.
struct Missing {
    /// The instruction that it has to stand before.
    offset: WordOffset,
    /// True if that is a copy.
    is_copy: bool,
    /// For one before a copy: the slots that it would cover, where all of them come from before its
    /// block.
    elsewhere: Option<Slots>,
}

/// The marks that `node` needs, when `state` is outstanding without one at its start.
fn missing(
    input: Input<'_, '_>,
    marks: &BTreeSet<WordOffset>,
    classes: &[usize],
    node: BlockIndex,
    mut state: Slots,
) -> Vec<Missing> {
    let class = |slot: usize| classes.get(slot).copied();
    let mut found: Vec<Missing> = Vec::new();
    let mut from_before = state;
    for moment in moments(input, marks, node) {
        let event = match moment {
            Moment::Mark(_) => {
                state = 0;
                from_before = 0;
                continue;
            }
            Moment::Event(event) => event,
        };
        let needs = match event.what {
            What::Copy { slot, .. } => {
                state & event.need != 0 || bits(state).any(|other| class(other) != class(slot))
            }
            What::Touch(_) | What::Release(Act::Write) => state & event.need != 0,
            What::Release(Act::Arrive { .. } | Act::Barrier { .. } | Act::Fence) => state != 0,
            What::Release(Act::Wait | Act::Copy(_) | Act::Access(_)) => false,
        };
        if needs {
            let is_copy = matches!(event.what, What::Copy { .. });
            found.push(Missing {
                offset: event.offset,
                is_copy,
                elsewhere: (is_copy && state == from_before).then_some(state),
            });
            state = 0;
            from_before = 0;
        }
        pass(&mut state, event);
    }
    found
}

/// The numbers in a set.
fn bits(slots: Slots) -> impl Iterator<Item = usize> {
    (0..128).filter(move |slot| slots >> slot & 1 == 1)
}

/// How many natural loops each block is in; `None` when there are too many.
fn depths(input: Input<'_, '_>) -> Option<BlockMap<u32>> {
    let mut depth = BlockMap::filled(input.model.cfg.len(), 0);
    for inside in input.loops.natural.as_ref()? {
        for block in &inside.body {
            if let Some(depth) = depth.get_mut(*block) {
                *depth += 1;
            }
        }
    }
    Some(depth)
}

/// A place for the mark behind the copies of `slots`, before the copy at `offset`: the end of a
/// block that all paths from the former go through, and all paths to the latter, in as few loops as
/// there is one.
fn hoisted(
    input: Input<'_, '_>,
    depths: &BlockMap<u32>,
    offset: WordOffset,
    slots: Slots,
) -> Option<WordOffset> {
    let candidate = |slot: usize| input.scan.candidates.get(*input.flow.copies.get(slot)?);
    let from: BTreeSet<BlockIndex> = bits(slots)
        .map(|slot| candidate(slot).map(|copy| copy.block))
        .collect::<Option<_>>()?;
    let block = input
        .scan
        .candidates
        .iter()
        .find(|copy| copy.store == offset)?
        .block;
    let mut best: Option<(u32, BlockIndex)> = None;
    let mut at = input.loops.dominators.immediate(block);
    while let Some(above) = at {
        let covers = from
            .iter()
            .all(|from| *from == above || input.model.post.post_dominates(above, *from));
        let depth = depths.get(above).copied()?;
        if covers && best.is_none_or(|(least, _)| depth <= least) {
            best = Some((depth, above));
        }
        at = input.loops.dominators.immediate(above);
    }
    let (_, above) = best?;
    Some(input.function.block(above)?.end()?.offset)
}

/// The waits by the offset that they stand before: how many marks may be outstanding in the worst
/// node, and whether copies without a mark may be.
fn least(input: Input<'_, '_>, marks: &BTreeSet<WordOffset>) -> BTreeMap<WordOffset, (u8, bool)> {
    let mut events = BlockMap::default();
    let mut offsets: BlockMap<Vec<WordOffset>> = BlockMap::default();
    for node in input.split.nodes() {
        let mut of_node = Vec::new();
        let mut offsets_of_node = Vec::new();
        for moment in moments(input, marks, node) {
            match moment {
                Moment::Mark(offset) => {
                    of_node.push(marks::Event::Mark);
                    offsets_of_node.push(offset);
                }
                Moment::Event(event) => {
                    if event.need == Slots::MAX {
                        of_node.push(marks::Event::NeedAll);
                        offsets_of_node.push(event.offset);
                    } else if event.need != 0 {
                        let groups = bits(event.need).map(group);
                        of_node.push(marks::Event::Need(groups.collect()));
                        offsets_of_node.push(event.offset);
                    }
                    if let What::Copy { slot, .. } = event.what {
                        of_node.push(marks::Event::Copy(group(slot)));
                        offsets_of_node.push(event.offset);
                    }
                }
            }
        }
        events.push(of_node);
        offsets.push(offsets_of_node);
    }
    let solved = marks::solve(&input.split.cfg, &events, &[]);
    let mut waits: BTreeMap<WordOffset, (u8, bool)> = BTreeMap::new();
    for ((node, index), wait) in solved.waits {
        let Some(offset) = offsets.get(node).and_then(|offsets| offsets.get(index)) else {
            debug_assert!(false, "no event {index} of node {node}");
            continue;
        };
        let (outstanding, unmarked) = match wait {
            marks::Wait::Nothing => continue,
            marks::Wait::AtMost(outstanding) => (outstanding, false),
            marks::Wait::Unmarked => (0, true),
        };
        let least = waits.entry(*offset).or_insert((outstanding, false));
        *least = (least.0.min(outstanding), least.1 || unmarked);
    }
    waits
}

fn group(slot: usize) -> Group {
    Group(u32::try_from(slot).unwrap_or(u32::MAX))
}

/// Takes out the marks that no wait counts and the waits that never block, in all nodes.
fn prune(
    input: Input<'_, '_>,
    marks: &mut BTreeSet<WordOffset>,
    waits: &mut BTreeMap<WordOffset, (u8, bool)>,
) {
    let mut ticks: BlockMap<Vec<Tick>> = BlockMap::default();
    let mut offsets: BlockMap<Vec<WordOffset>> = BlockMap::default();
    for (node, block) in input.split.blocks.iter() {
        let code = input.function.block(*block);
        let first = code.map_or(WordOffset::default(), |block| block.offset);
        let last = code
            .and_then(|block| block.terminator())
            .map_or(first, |inst| inst.offset);
        let mut of_block: Vec<(WordOffset, Tick)> = Vec::new();
        // By offset, a mark before the wait.
        of_block.extend(
            marks
                .range(first..=last)
                .map(|offset| (*offset, Tick::Mark)),
        );
        let waits = waits.range(first..=last);
        of_block
            .extend(waits.map(|(offset, (outstanding, _))| (*offset, Tick::Wait(*outstanding))));
        of_block.sort_by_key(|(offset, _)| *offset);
        offsets.push(of_block.iter().map(|(offset, _)| *offset).collect());
        let at = ticks.push(of_block.into_iter().map(|(_, tick)| tick).collect());
        debug_assert_eq!(at, node);
    }
    let pruned = marks::prune(&input.split.cfg, &ticks);
    let mut used_marks = BTreeSet::new();
    let mut used_waits = BTreeSet::new();
    for (node, ticks) in ticks.iter() {
        if !input.split.cfg.is_reachable(node) {
            continue;
        }
        for (index, tick) in ticks.iter().enumerate() {
            let Some(offset) = offsets.get(node).and_then(|offsets| offsets.get(index)) else {
                debug_assert!(false, "no event {index} of node {node}");
                continue;
            };
            match tick {
                Tick::Mark if !pruned.marks.contains(&(node, index)) => {
                    used_marks.insert(*offset);
                }
                Tick::Wait(_) if !pruned.waits.contains(&(node, index)) => {
                    used_waits.insert(*offset);
                }
                Tick::Mark | Tick::Wait(_) | Tick::Unknown => {}
            }
        }
    }
    marks.retain(|offset| used_marks.contains(offset));
    waits.retain(|offset, _| used_waits.contains(offset));
}

/// A wait for copies.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wait {
    /// Word offset of the instruction after it: a release point (before its fence), a return, or an
    /// access of the invocation itself.
    pub before: WordOffset,
    /// The number of newest marks that may still be outstanding after it.
    pub outstanding: u32,
}
