//! Moves signals up and waits down in the final code of GPUs with split barriers. This runs after
//! register allocation and scheduling, so it needs no register, and no later pass closes the window
//! again.
//!
//! A signal or a wait passes only instructions that `passable.rs` knows to be independent of the
//! barrier. It stays in its block, or passes a whole region of branches that every wave enters and
//! leaves once (`regions.rs`). A signal stays after the waits for the accesses that its barrier
//! orders. If the last of these accesses is long ago, that wait moves up with it. Nothing else
//! moves.

mod bounds;
mod half;
mod kept;
mod regions;

use self::bounds::{Bounds, add, hold};
use self::half::Half;
use self::kept::differs_in_halves_alone;
use self::regions::Regions;
use super::passable::Passage;
use super::{ROLES, Statement, parse};
use crate::Role;
use splitbar_target::timing::Timing;
use splitbar_target::{Amdgpu, Counter, Target};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

pub use super::passable::Ordered;

/// Returns `text` for `target` with wider windows in the kernels of `kernels`, which has the memory
/// that the barriers of each kernel order.
pub fn widen<'t>(
    text: &'t str,
    target: &Target,
    kernels: &BTreeMap<String, Ordered>,
) -> Cow<'t, str> {
    let Some(gpu) = target.amdgpu() else {
        return Cow::Borrowed(text);
    };
    // No code depends on figures that are taken from another GPU.
    let timing = Timing::for_target(target).filter(|timing| !timing.estimated);
    let latency = timing.map(|timing| timing.shared.latency as usize);
    let lines: Vec<&str> = text.lines().collect();
    let targets = referenced_labels(&lines);
    let mut edits = Edits::default();
    let regions = regions(text, gpu, kernels);
    let mut announced = None;
    let mut open: Option<Open<'_>> = None;
    let mut place = None;
    let mut block = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let statement = Statement::parse(line);
        let continues = match statement {
            Statement::Nothing | Statement::Instruction(..) => true,
            // Nobody comes to it from elsewhere: it is there for debuggers.
            Statement::Label(label) => {
                let within = |open: &Open<'_>| open.regions.have_label(open.count);
                announced != Some(label)
                    && (!targets.contains(label) || open.as_ref().is_some_and(within))
            }
            Statement::Directive("loc", _) => {
                place = Some(at);
                true
            }
            Statement::Directive(name, _) => name.starts_with("cfi_"),
        };
        if !continues || statement.ends_function() {
            if open.is_some() {
                widen_block(&mut block, latency, &lines, &mut edits);
            }
            block.clear();
        }
        match statement {
            Statement::Label(label) if announced == Some(label) => {
                let known = kernels.get(label).zip(regions.get(label));
                open = known.map(|(ordered, regions)| Open {
                    ordered: *ordered,
                    regions,
                    count: 0,
                });
                (announced, place) = (None, None);
            }
            Statement::Label(_) if statement.ends_function() => open = None,
            Statement::Label(_) if continues => {
                if let Some(open) = open
                    .as_ref()
                    .filter(|open| open.regions.have_label(open.count))
                {
                    let in_region = open.regions.contain(open.count);
                    let in_region = in_region && !open.regions.begin_at(open.count);
                    block.push(Item::label(at, place, in_region));
                }
            }
            Statement::Directive("type", _) => announced = statement.announced(),
            Statement::Instruction(mnemonic, operands) => {
                if let Some(open) = &mut open {
                    block.push(open.item(gpu, at, place, mnemonic, operands));
                }
            }
            _ => {}
        }
    }
    if edits.removed.is_empty() {
        return Cow::Borrowed(text);
    }
    let widened = edits.apply(&lines);
    // Another look at the text that came out, which knows nothing of how it was made.
    let same = differs_in_halves_alone(text, &widened, gpu, kernels);
    debug_assert!(
        same,
        "late windows have changed more than windows:\n{text}\n{widened}"
    );
    if same {
        Cow::Owned(widened)
    } else {
        Cow::Borrowed(text)
    }
}

/// The kernel whose lines are read.
struct Open<'k> {
    ordered: Ordered,
    regions: &'k Regions,
    /// The instructions so far.
    count: usize,
}

impl Open<'_> {
    /// The next instruction, which is in line `at`.
    fn item(
        &mut self,
        gpu: &Amdgpu,
        at: usize,
        place: Option<usize>,
        mnemonic: &str,
        operands: &str,
    ) -> Item {
        let in_region = self.regions.contain(self.count);
        let begins = self.regions.begin_at(self.count);
        self.count += 1;
        Item {
            at,
            place,
            passage: if in_region {
                Passage::Free
            } else {
                Passage::classify(gpu, self.ordered, mnemonic, operands)
            },
            works: Role::from_mnemonic(mnemonic, ROLES) == Role::Work,
            half: Half::parse(mnemonic, operands),
            in_region,
            glued: in_region && !begins,
            group: group(mnemonic, operands),
        }
    }
}

/// The regions that signals and waits may pass, by kernel.
fn regions<'k>(
    text: &str,
    gpu: &Amdgpu,
    kernels: &'k BTreeMap<String, Ordered>,
) -> BTreeMap<&'k str, Regions> {
    let functions = parse(text);
    let function = |name: &str| functions.iter().find(|function| function.name == name);
    let regions = |(name, ordered): (&'k String, &Ordered)| {
        let regions = Regions::analyze(function(name)?, |inst| {
            Passage::classify(gpu, *ordered, &inst.mnemonic, &inst.operands) == Passage::Free
        });
        Some((name.as_str(), regions))
    };
    kernels.iter().filter_map(regions).collect()
}

/// Labels that an instruction names: control may come to them.
fn referenced_labels<'t>(lines: &[&'t str]) -> BTreeSet<&'t str> {
    let statements = lines.iter().map(|line| Statement::parse(line));
    let operands = statements.filter_map(|statement| match statement {
        Statement::Instruction(_, operands) => Some(operands),
        _ => None,
    });
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    operands
        .flat_map(|operands| operands.split(move |c| !is_of_name(c)))
        .filter(|word| word.starts_with(".L"))
        .collect()
}

/// An instruction of a block.
#[derive(Clone, Debug)]
struct Item {
    /// Its line.
    at: usize,
    /// The line of the `.loc` in force.
    place: Option<usize>,
    passage: Passage,
    /// True if it does work. It is not worth moving a wait past other instructions.
    works: bool,
    half: Option<Half>,
    /// True if it is part of a region that is passed as a whole.
    in_region: bool,
    /// True if nothing may be placed directly before it.
    glued: bool,
    /// The number of instructions after it before which nothing may be placed.
    group: usize,
}

impl Item {
    /// A label in a region or at its end. Nothing is placed directly before it, but after the end
    /// of a region.
    fn label(at: usize, place: Option<usize>, in_region: bool) -> Item {
        Item {
            at,
            place,
            passage: Passage::Free,
            works: true,
            half: None,
            in_region,
            glued: true,
            group: 0,
        }
    }
}

/// The number of instructions that belong to the one before them: the instructions of a clause, or
/// those that a delay counts.
fn group(mnemonic: &str, operands: &str) -> usize {
    match mnemonic {
        "s_clause" => {
            let digits = operands.strip_prefix("0x");
            let number = digits.and_then(|digits| usize::from_str_radix(digits, 16).ok());
            1 + number.unwrap_or(63).min(63)
        }
        "s_delay_alu" => 1 + skip(operands).map_or(0, |skip| steps(skip).unwrap_or(SKIPS.len())),
        _ => 0,
    }
}

/// The words of a delay for the distance from its first instruction to its second.
const SKIPS: [&str; 6] = ["SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"];

/// The word for the distance from the first instruction of a delay to its second, if it has one.
fn skip(operands: &str) -> Option<&str> {
    let (_, rest) = operands.split_once("instskip(")?;
    Some(rest.split_once(')')?.0)
}

/// The number of instructions that the word means.
fn steps(skip: &str) -> Option<usize> {
    SKIPS.iter().position(|word| *word == skip)
}

/// Moves the signals and waits of a block, in order of the text. `latency` is the number of
/// instructions that an access of workgroup memory may need to finish, if known.
fn widen_block(block: &mut [Item], latency: Option<usize>, lines: &[&str], edits: &mut Edits) {
    for at in 0..block.len() {
        let group = block.get(at).map_or(0, |item| item.group);
        for item in block.iter_mut().skip(at + 1).take(group) {
            item.glued = true;
        }
    }
    let mut at = 0;
    while let Some(item) = block.get(at) {
        match item.half {
            Some(Half::Wait) => match below(block, at) {
                // What followed it has its place then.
                Some(to) => shift(block, at, to, lines, edits),
                None => at += 1,
            },
            Some(Half::Signal) => {
                let Above { to, waits } = above(block, at, latency);
                // Those that go along, and the signal behind them.
                for (moved, wait) in waits.clone().enumerate() {
                    shift(block, wait, to + moved, lines, edits);
                }
                shift(block, at, to + waits.len(), lines, edits);
                at += 1;
            }
            None => at += 1,
        }
    }
}

/// The lowest place for a wait. It stays before waits for loads that are followed by no work for it
/// to pass.
fn below(block: &[Item], at: usize) -> Option<usize> {
    let passed = block.iter().enumerate().skip(at + 1);
    let passed = passed.take_while(|(_, item)| item.passage == Passage::Free);
    let parts = |to: usize| block.get(to + 1).is_none_or(|next| !next.glued);
    let free = passed.filter(|(to, item)| item.works && !item.in_region && parts(*to));
    free.map(|(to, _)| to).last()
}

/// The new place of a signal.
struct Above {
    /// The place.
    to: usize,
    /// The waits that go there before it.
    waits: Range<usize>,
}

/// The highest place for a signal. It is directly after a wait for accesses that its barrier
/// orders; or the signal moves together with that wait, up to where such accesses have had time to
/// finish.
fn above(block: &[Item], at: usize, latency: Option<usize>) -> Above {
    let is = |at: &usize, holds: &dyn Fn(&Passage) -> bool| {
        block.get(*at).is_some_and(|item| holds(&item.passage))
    };
    let is_wait = |at: &usize| is(at, &|passage| matches!(passage, Passage::Waits(_)));
    // The first place behind the last in front of `end` where `holds` does not hold.
    let back = |end: usize, holds: &dyn Fn(&usize) -> bool| {
        (0..end)
            .rev()
            .find(|at| !holds(at))
            .map_or(0, |stop| stop + 1)
    };
    // Where nothing is in front of it that may not be parted from what follows.
    let loose = |from: usize, end: usize| {
        (from..end).find(|at| block.get(*at).is_some_and(|item| !item.glued))
    };
    let mut behind = back(at, &|at| is(at, &|passage| *passage == Passage::Free));
    let mut first = back(behind, &is_wait);
    let needed = bounds(block.get(first..behind).unwrap_or_default());
    let implied = |at: &usize| {
        is(at, &|passage| match passage {
            Passage::Free => true,
            Passage::Waits(waits) => waits
                .iter()
                .all(|(counter, left)| needed.get(counter).is_some_and(|needed| needed <= left)),
            Passage::Stop => false,
        })
    };
    let stop = back(first, &implied);
    // A wait that is enough already: the others retire nothing. What stopped it may be one.
    let enough = (stop.saturating_sub(1)..first).find(|at| {
        let waits = block.get(*at..*at + 1).unwrap_or_default();
        !needed.is_empty() && hold(&needed, &bounds(waits))
    });
    if let Some(enough) = enough {
        (behind, first) = (enough + 1, enough);
    }
    let signal = loose(behind, at).unwrap_or(at);
    let short = needed.keys().all(|counter| *counter == Counter::Dscnt) && !needed.is_empty();
    let ready = latency.filter(|_| short).and_then(|latency| {
        let works = block.iter().enumerate().take(first).skip(stop);
        let mut works = works.filter(|(_, item)| item.works).map(|(at, _)| at + 1);
        let to = loose(works.nth(latency.checked_sub(1)?)?, first)?;
        // Waits stay on their side of branches.
        let mut between = block.get(to..first)?.iter();
        between.all(|item| !item.in_region).then_some(to)
    });
    match ready {
        Some(to) => Above {
            to,
            waits: first..behind,
        },
        None => Above {
            to: signal,
            waits: signal..signal,
        },
    }
}

fn bounds(waits: &[Item]) -> Bounds {
    let mut bounds = Bounds::new();
    for wait in waits {
        add(&mut bounds, &wait.passage);
    }
    bounds
}

/// Moves the item at `from` to `to`.
fn shift(block: &mut [Item], from: usize, to: usize, lines: &[&str], edits: &mut Edits) {
    if from == to {
        return;
    }
    unhook(block, from, lines, edits);
    let up = to < from;
    let side = if up { Side::Before } else { Side::Behind };
    if let (Some(item), Some(anchor)) = (block.get(from), block.get(to)) {
        edits.removed.insert(item.at);
        let moved = Moved {
            line: item.at,
            place: item.place,
            anchor_place: anchor.place,
        };
        let there = edits.inserted.entry((anchor.at, side)).or_default();
        there.push(moved);
    }
    if let Some(passed) = block.get_mut(from.min(to)..from.max(to) + 1) {
        if up {
            passed.rotate_right(1)
        } else {
            passed.rotate_left(1)
        }
    }
    if let Some(moved) = block.get_mut(to) {
        moved.glued = false;
    }
}

/// Removes the signal or wait at `at` from the instructions that a delay before it counts.
fn unhook(block: &[Item], at: usize, lines: &[&str], edits: &mut Edits) {
    for (back, delay) in block.iter().take(at).rev().take(SKIPS.len()).enumerate() {
        let line = edits.line(lines, delay.at);
        let Statement::Instruction("s_delay_alu", operands) = Statement::parse(line) else {
            continue;
        };
        // The delay's first instruction is right behind it.
        if let Some(word) = skip(operands)
            && let Some(steps) = steps(word)
            && (1..=steps).contains(&back)
            && let Some(fewer) = SKIPS.get(steps - 1)
        {
            let told = line.replacen(word, fewer, 1);
            edits.rewritten.insert(delay.at, told);
        }
    }
}

/// The side of its anchor on which a signal or wait is inserted.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Before,
    Behind,
}

/// A signal or wait at its new place.
#[derive(Copy, Clone, Debug)]
struct Moved {
    line: usize,
    /// The `.loc` of the instruction.
    place: Option<usize>,
    /// The `.loc` that is in force at the new place.
    anchor_place: Option<usize>,
}

/// The changes, by line.
#[derive(Debug, Default)]
struct Edits {
    removed: BTreeSet<usize>,
    rewritten: BTreeMap<usize, String>,
    inserted: BTreeMap<(usize, Side), Vec<Moved>>,
}

impl Edits {
    /// A line as it is now.
    fn line<'l>(&'l self, lines: &[&'l str], at: usize) -> &'l str {
        let rewritten = self.rewritten.get(&at).map(String::as_str);
        rewritten.or_else(|| lines.get(at).copied()).unwrap_or("")
    }

    fn apply(&self, lines: &[&str]) -> String {
        let length = lines.iter().map(|line| line.len() + 1).sum();
        let mut text = String::with_capacity(length);
        for at in 0..lines.len() {
            self.insert(&mut text, lines, (at, Side::Before));
            if !self.removed.contains(&at) {
                push_line(&mut text, self.line(lines, at));
            }
            self.insert(&mut text, lines, (at, Side::Behind));
        }
        text
    }

    /// Inserts the signals and waits of a place, each between its own `.loc` and the `.loc` that is
    /// in force there.
    fn insert(&self, text: &mut String, lines: &[&str], at: (usize, Side)) {
        for moved in self.inserted.get(&at).into_iter().flatten() {
            let located = moved.place != moved.anchor_place && moved.anchor_place.is_some();
            let place = |place: Option<usize>| {
                let line = place.filter(|_| located).and_then(|at| lines.get(at));
                // A function has one end of its prologue.
                line.map(|line| line.replace(" prologue_end", ""))
            };
            if let Some(line) = place(moved.place) {
                push_line(text, &line);
            }
            push_line(text, self.line(lines, moved.line));
            if let Some(line) = place(moved.anchor_place) {
                push_line(text, &line);
            }
        }
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

#[cfg(test)]
mod tests;
