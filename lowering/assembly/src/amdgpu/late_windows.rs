//! Moves signals up and waits down in final code of GPUs whose barriers are split: behind register
//! allocation and scheduling, so that it costs no register and nothing closes the window again.
//!
//! A half stays in its block and passes only what `passable.rs` knows to be free of the
//! barrier. A signal stays behind what waits for the accesses that its barrier orders. Where the
//! last of these is long ago, that wait goes up with it. Nothing else moves.

use super::passable::Passage;
use super::{ROLES, Statement, parse};
use crate::{Flow, Function, Instruction, Role};
use splitbar_target::timing::Timing;
use splitbar_target::{Amdgpu, Counter, Target};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

pub use super::passable::Ordered;

/// `text` for `target` with the windows of the kernels in `kernels` widened, each of which says
/// what its barriers order.
pub fn widen<'t>(
    text: &'t str,
    target: &Target,
    kernels: &BTreeMap<String, Ordered>,
) -> Cow<'t, str> {
    let Some(gpu) = target.amdgpu() else {
        return Cow::Borrowed(text);
    };
    let latency = Timing::of(target).map(|timing| timing.shared.latency as usize);
    let lines: Vec<&str> = text.lines().collect();
    let targets = referenced_labels(&lines);
    let mut edits = Edits::default();
    let mut announced = None;
    let mut open = None;
    let mut place = None;
    let mut block = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let statement = Statement::of(line);
        let continues = match statement {
            Statement::Nothing | Statement::Instruction(..) => true,
            // Nobody comes to it from elsewhere: it is there for debuggers.
            Statement::Label(label) => announced != Some(label) && !targets.contains(label),
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
                open = kernels.get(label).copied();
                (announced, place) = (None, None);
            }
            Statement::Label(_) if statement.ends_function() => open = None,
            Statement::Directive("type", _) => announced = statement.announced(),
            Statement::Instruction(mnemonic, operands) if open.is_some() => block.push(Item {
                at,
                place,
                passage: open.map_or(Passage::Stop, |ordered| {
                    Passage::of(gpu, ordered, mnemonic, operands)
                }),
                works: Role::of(mnemonic, ROLES) == Role::Work,
                half: Half::of(mnemonic, operands),
                glued: false,
                group: group(mnemonic, operands),
            }),
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
    match same {
        true => Cow::Owned(widened),
        false => Cow::Borrowed(text),
    }
}

/// Labels that an instruction names: control may come to them.
fn referenced_labels<'t>(lines: &[&'t str]) -> BTreeSet<&'t str> {
    let statements = lines.iter().map(|line| Statement::of(line));
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

/// Half of the barrier of the workgroup.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Half {
    Signal,
    Wait,
}

impl Half {
    /// Other barriers, and a signal that says whether it was the first, stay where they are.
    fn of(mnemonic: &str, operands: &str) -> Option<Half> {
        match (mnemonic, operands) {
            ("s_barrier_signal", "-1") => Some(Half::Signal),
            ("s_barrier_wait", "-1" | "0xffff") => Some(Half::Wait),
            _ => None,
        }
    }
}

/// An instruction of a block.
#[derive(Clone, Debug)]
struct Item {
    /// Its line.
    at: usize,
    /// The line of the `.loc` in force.
    place: Option<usize>,
    passage: Passage,
    /// Whether it does work; what does none is not worth being passed by a wait.
    works: bool,
    half: Option<Half>,
    /// Whether nothing may come right before it.
    glued: bool,
    /// How many instructions behind it nothing may come before.
    group: usize,
}

/// How many instructions behind one belong to it: a clause's, and those that a delay counts.
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

/// What a delay may say of how far its second instruction stands behind its first.
const SKIPS: [&str; 6] = ["SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"];

/// The word for how far behind the first instruction of a delay its second is, if it has one.
fn skip(operands: &str) -> Option<&str> {
    let (_, rest) = operands.split_once("instskip(")?;
    Some(rest.split_once(')')?.0)
}

/// The number of instructions that the word stands for.
fn steps(skip: &str) -> Option<usize> {
    SKIPS.iter().position(|word| *word == skip)
}

/// Moves the halves in a block, in order of the text. `latency` is how many instructions an access
/// of workgroup memory may take to finish, where that is known.
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

/// Where a wait goes, as far down as it may. It stays in front of waits for loads behind which
/// there is no work for it to pass.
fn below(block: &[Item], at: usize) -> Option<usize> {
    let passed = block.iter().enumerate().skip(at + 1);
    let passed = passed.take_while(|(_, item)| item.passage == Passage::Free);
    let free =
        passed.filter(|(to, item)| item.works && block.get(to + 1).is_none_or(|next| !next.glued));
    free.map(|(to, _)| to).last()
}

/// Where a signal goes.
struct Above {
    /// The place.
    to: usize,
    /// The waits that go there before it.
    waits: Range<usize>,
}

/// Where a signal goes, as far up as it may: right behind a wait for what its barrier orders, or
/// with that wait to where such accesses have had time to finish.
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
        loose(works.nth(latency.checked_sub(1)?)?, first)
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

/// How many operations may be outstanding behind waits, by counter.
type Bounds = BTreeMap<Counter, u32>;

fn bounds(waits: &[Item]) -> Bounds {
    let mut bounds = Bounds::new();
    for wait in waits {
        add(&mut bounds, &wait.passage);
    }
    bounds
}

fn add(bounds: &mut Bounds, passage: &Passage) {
    if let Passage::Waits(waits) = passage {
        for (counter, left) in waits {
            let bound = bounds.entry(*counter).or_insert(*left);
            *bound = (*bound).min(*left);
        }
    }
}

/// Whether `bounds` are at least as strict as `needed`.
fn hold(needed: &Bounds, bounds: &Bounds) -> bool {
    let mut needed = needed.iter();
    needed.all(|(counter, needed)| bounds.get(counter).is_some_and(|bound| bound <= needed))
}

/// Moves what is at `from` to `to`.
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
        match up {
            true => passed.rotate_right(1),
            false => passed.rotate_left(1),
        }
    }
    if let Some(moved) = block.get_mut(to) {
        moved.glued = false;
    }
}

/// Takes the half at `at` out of what a delay before it counts.
fn unhook(block: &[Item], at: usize, lines: &[&str], edits: &mut Edits) {
    for (back, delay) in block.iter().take(at).rev().take(SKIPS.len()).enumerate() {
        let line = edits.line(lines, delay.at);
        let Statement::Instruction("s_delay_alu", operands) = Statement::of(line) else {
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

/// On which side of its anchor a half comes to stand.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Before,
    Behind,
}

/// A half at its new place.
#[derive(Copy, Clone, Debug)]
struct Moved {
    line: usize,
    /// The `.loc` that is about it.
    place: Option<usize>,
    /// The one in force where it comes to.
    anchor_place: Option<usize>,
}

/// What is changed, by line.
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

    /// The halves that come to a place, each between the `.loc` that is about it and what is in
    /// force there.
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

/// Whether `widened` has the instructions of `text`, each with its place in the source, in an order
/// that only halves and waits have changed; no half has passed anything but what is free, and
/// behind waits no more is outstanding anywhere than was.
fn differs_in_halves_alone(
    text: &str,
    widened: &str,
    gpu: &Amdgpu,
    kernels: &BTreeMap<String, Ordered>,
) -> bool {
    let (before, after) = (parse(text), parse(widened));
    before.len() == after.len()
        && before.iter().zip(&after).all(|(before, after)| {
            before.name == after.name
                && match kernels.get(&before.name) {
                    None => before == after,
                    Some(ordered) => {
                        let [before, after] =
                            [before, after].map(|function| Sight::of(function, gpu, *ordered));
                        before.is_kept_by(&after)
                    }
                }
        })
}

/// What an instruction is: its text, without what a delay counts, and where it came from.
type Identity<'f> = (&'f str, &'f str, Option<u32>, u32);

fn identity(inst: &Instruction) -> Identity<'_> {
    let operands = match inst.mnemonic.as_str() {
        "s_delay_alu" => "",
        _ => inst.operands.as_str(),
    };
    (&inst.mnemonic, operands, inst.word, inst.column)
}

/// What of a function must stay as it is.
struct Sight<'f> {
    /// All but halves and waits, and what may be outstanding there.
    others: Vec<(Identity<'f>, Bounds)>,
    /// What no half may pass, halves included, and what may be outstanding there; each with the
    /// number of such instructions in front of every place that it leads to.
    fixed: Vec<(Identity<'f>, Vec<usize>, Bounds)>,
    /// The waits, sorted.
    waits: Vec<Identity<'f>>,
}

impl<'f> Sight<'f> {
    fn of(function: &'f Function, gpu: &Amdgpu, ordered: Ordered) -> Self {
        let mut sight = Sight {
            others: Vec::new(),
            fixed: Vec::new(),
            waits: Vec::new(),
        };
        let targets = |flow: &'f Flow| match flow {
            Flow::Next | Flow::End => &[][..],
            Flow::Jump(targets) | Flow::Branch(targets) => targets,
        };
        let all = || function.instructions.iter();
        let entered: BTreeSet<usize> = all()
            .flat_map(|inst| targets(&inst.flow))
            .copied()
            .collect();
        let mut bounds = Bounds::new();
        let mut ranks = Vec::new();
        for (at, inst) in all().enumerate() {
            if entered.contains(&at) {
                bounds.clear();
            }
            ranks.push(sight.fixed.len());
            let half = Half::of(&inst.mnemonic, &inst.operands);
            let passage = Passage::of(gpu, ordered, &inst.mnemonic, &inst.operands);
            if half.is_some() || passage == Passage::Stop {
                sight
                    .fixed
                    .push((identity(inst), Vec::new(), bounds.clone()));
            }
            match passage {
                Passage::Waits(_) => {
                    add(&mut bounds, &passage);
                    sight.waits.push(identity(inst));
                }
                _ if half.is_some() => {}
                Passage::Free => sight.others.push((identity(inst), bounds.clone())),
                Passage::Stop => {
                    sight.others.push((identity(inst), bounds.clone()));
                    bounds.clear();
                }
            }
        }
        for (at, inst) in all().enumerate() {
            let leads = targets(&inst.flow).iter();
            let leads = leads.filter_map(|to| ranks.get(*to).copied()).collect();
            let rank = ranks.get(at).copied();
            // Whoever leads somewhere is fixed.
            if let Some(fixed) = rank.and_then(|rank| sight.fixed.get_mut(rank))
                && !targets(&inst.flow).is_empty()
            {
                fixed.1 = leads;
            }
        }
        sight.waits.sort_unstable();
        sight
    }

    fn is_kept_by(&self, other: &Sight<'_>) -> bool {
        let others = self.others.iter().zip(&other.others);
        let fixed = self.fixed.iter().zip(&other.fixed);
        self.others.len() == other.others.len()
            && self.fixed.len() == other.fixed.len()
            && self.waits == other.waits
            && others
                .into_iter()
                .all(|(before, after)| before.0 == after.0 && hold(&before.1, &after.1))
            && fixed.into_iter().all(|(before, after)| {
                (before.0, &before.1) == (after.0, &after.1) && hold(&before.2, &after.2)
            })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use splitbar_target::Target;

    /// The lines of a kernel that orders `ordered`, widened.
    fn widened(ordered: Ordered, code: &str) -> Vec<String> {
        let target = Target::by_name("gfx1201").unwrap();
        let text = format!("\t.type\tk,@function\nk:\n{code}\n.Lfunc_end0:\n");
        let kernels = [("k".to_owned(), ordered)].into();
        let wide = widen(&text, target, &kernels);
        let lines = wide.lines().map(|line| line.trim().to_owned());
        lines
            .skip(2)
            .filter(|line| line != ".Lfunc_end0:")
            .collect()
    }

    /// Lines separated by `/`: what comes of the first is the second.
    fn check(ordered: Ordered, before: &str, after: &str) {
        let lines = before.replace(" / ", "\n");
        assert_eq!(widened(ordered, &lines).join(" / "), after);
    }

    const SIGNAL: &str = "s_barrier_signal -1";
    const WAIT: &str = "s_barrier_wait -1";
    const WORK: &str = "v_add_f32_e32 v0, v1, v2";

    #[test]
    fn signals_go_up_and_waits_down_to_what_is_ordered() {
        check(
            Ordered::Local,
            &format!(
                "ds_load_b32 v1, v0 / s_wait_dscnt 0x0 / {WORK} / global_load_b32 v3, v4, s[0:1] / {SIGNAL} / {WAIT} / s_wait_loadcnt 0x0 / {WORK} / ds_store_b32 v0, v1 / s_endpgm"
            ),
            &format!(
                "ds_load_b32 v1, v0 / s_wait_dscnt 0x0 / {SIGNAL} / {WORK} / global_load_b32 v3, v4, s[0:1] / s_wait_loadcnt 0x0 / {WORK} / {WAIT} / ds_store_b32 v0, v1 / s_endpgm"
            ),
        );
        check(
            Ordered::All,
            &format!(
                "{WORK} / global_load_b32 v3, v4, s[0:1] / {WORK} / {SIGNAL} / {WAIT} / {WORK} / s_wait_loadcnt 0x0 / {WORK} / s_endpgm"
            ),
            &format!(
                "{WORK} / global_load_b32 v3, v4, s[0:1] / {SIGNAL} / {WORK} / {WORK} / {WAIT} / s_wait_loadcnt 0x0 / {WORK} / s_endpgm"
            ),
        );
    }

    #[test]
    fn waits_that_retire_nothing_are_passed() {
        check(
            Ordered::Local,
            &format!(
                "ds_load_b32 v1, v0 / s_wait_dscnt 0x0 / {WORK} / s_wait_dscnt 0x0 / {WORK} / s_wait_dscnt 0x0 / {SIGNAL} / s_endpgm"
            ),
            &format!(
                "ds_load_b32 v1, v0 / s_wait_dscnt 0x0 / {SIGNAL} / {WORK} / s_wait_dscnt 0x0 / {WORK} / s_wait_dscnt 0x0 / s_endpgm"
            ),
        );
        // One that is stricter than the others stays in front.
        check(
            Ordered::Local,
            &format!(
                "ds_load_b32 v1, v0 / s_wait_dscnt 0x1 / {WORK} / s_wait_dscnt 0x0 / {WORK} / s_wait_dscnt 0x1 / {SIGNAL} / s_endpgm"
            ),
            &format!(
                "ds_load_b32 v1, v0 / s_wait_dscnt 0x1 / {WORK} / s_wait_dscnt 0x0 / {SIGNAL} / {WORK} / s_wait_dscnt 0x1 / s_endpgm"
            ),
        );
        // One that leaves an access outstanding is not enough, nor is one for something else.
        for other in ["s_wait_dscnt 0x1", "s_wait_loadcnt_dscnt 0x1"] {
            let code = format!(
                "ds_load_b32 v1, v0 / {other} / {WORK} / s_wait_dscnt 0x0 / {SIGNAL} / s_endpgm"
            );
            check(Ordered::Local, &code, &code);
        }
    }

    #[test]
    fn waits_go_along_where_accesses_have_had_time() {
        let code = |works: usize, late: &str| {
            let mut code = vec!["ds_load_b32 v1, v0"];
            code.extend([WORK].repeat(works));
            code.extend(["s_wait_dscnt 0x1", WORK, late, SIGNAL, "s_endpgm"]);
            code.join(" / ")
        };
        let release = "s_wait_dscnt 0x0";
        let early = format!("{WORK} / {release} / {SIGNAL} / {WORK} / s_wait_dscnt 0x1");
        for works in [10, 59, 60, 100] {
            let before = code(works, release);
            let after = widened(Ordered::Local, &before.replace(" / ", "\n"));
            let at = after.iter().position(|line| line == SIGNAL).unwrap();
            if works <= 60 {
                // The wait for one less counts as no work.
                let moved = works == 60;
                assert_eq!(at, if moved { 62 } else { works + 4 }, "{works}");
            } else {
                assert_eq!(
                    after.get(60..63).unwrap().join(" / "),
                    format!("{WORK} / {release} / {SIGNAL}")
                );
                assert!(!after.join(" / ").contains(&early));
            }
        }
        // How long global memory takes nobody knows.
        let before = code(100, "s_wait_loadcnt_dscnt 0x0");
        check(Ordered::Local, &before, &before);
    }

    #[test]
    fn loads_stay_in_flight_over_a_wait() {
        let load = "global_load_b32 v3, v4, s[0:1]";
        check(
            Ordered::Local,
            &format!("{WAIT} / {load} / s_wait_loadcnt 0x0 / ds_store_b32 v0, v3 / s_endpgm"),
            &format!("{load} / {WAIT} / s_wait_loadcnt 0x0 / ds_store_b32 v0, v3 / s_endpgm"),
        );
    }

    #[test]
    fn halves_stay_in_their_block() {
        let code = format!(
            "s_cbranch_scc1 .LBB0_1 / {WORK} / .LBB0_1: / {WORK} / {SIGNAL} / {WORK} / {WAIT} / {WORK} / s_cbranch_scc1 .LBB0_2 / .LBB0_2: / {WORK} / s_endpgm"
        );
        let wide = format!(
            "s_cbranch_scc1 .LBB0_1 / {WORK} / .LBB0_1: / {SIGNAL} / {WORK} / {WORK} / {WORK} / {WAIT} / s_cbranch_scc1 .LBB0_2 / .LBB0_2: / {WORK} / s_endpgm"
        );
        check(Ordered::Local, &code, &wide);
        // The end of a block that falls through into one that control comes to.
        check(
            Ordered::Local,
            &format!("{WAIT} / {WORK} / .LBB0_1: / {WORK} / s_branch .LBB0_1"),
            &format!("{WORK} / {WAIT} / .LBB0_1: / {WORK} / s_branch .LBB0_1"),
        );
        // Data among the code.
        check(
            Ordered::Local,
            &format!("{WAIT} / {WORK} / .long 0xbf800000 / {WORK} / s_endpgm"),
            &format!("{WORK} / {WAIT} / .long 0xbf800000 / {WORK} / s_endpgm"),
        );
        // Nobody comes to this label, which only debuggers know.
        check(
            Ordered::Local,
            &format!("{WAIT} / {WORK} / .Ltmp0: / {WORK} / s_endpgm"),
            &format!("{WORK} / .Ltmp0: / {WORK} / {WAIT} / s_endpgm"),
        );
    }

    #[test]
    fn halves_of_two_barriers_do_not_pass_each_other() {
        check(
            Ordered::Local,
            &format!("{SIGNAL} / {WAIT} / {WORK} / {WORK} / {SIGNAL} / {WAIT} / s_endpgm"),
            &format!("{SIGNAL} / {WORK} / {WORK} / {WAIT} / {SIGNAL} / {WAIT} / s_endpgm"),
        );
        check(
            Ordered::Local,
            &format!("s_barrier_wait 1 / {WORK} / {SIGNAL} / s_endpgm"),
            &format!("s_barrier_wait 1 / {SIGNAL} / {WORK} / s_endpgm"),
        );
    }

    #[test]
    fn other_barriers_and_other_functions_stay() {
        for half in [
            "s_barrier_signal -3",
            "s_barrier_signal m0",
            "s_barrier_signal_isfirst -1",
            "s_barrier_wait 1",
            "s_barrier_join m0",
        ] {
            let code = format!("{WORK} / {half} / {WORK} / s_endpgm");
            check(Ordered::Local, &code, &code);
        }
        let target = Target::by_name("gfx1201").unwrap();
        let text =
            format!("\t.type\tk,@function\nk:\n{WORK}\n{SIGNAL}\n{WAIT}\n{WORK}\ns_endpgm\n");
        let others = [("f".to_owned(), Ordered::Local)].into();
        assert!(matches!(widen(&text, target, &others), Cow::Borrowed(_)));
    }

    #[test]
    fn a_clause_is_not_broken() {
        check(
            Ordered::Local,
            &format!(
                "{WAIT} / s_clause 0x1 / global_load_b32 v1, v0, s[0:1] / global_load_b32 v2, v0, s[2:3] / ds_store_b32 v0, v1 / s_endpgm"
            ),
            &format!(
                "s_clause 0x1 / global_load_b32 v1, v0, s[0:1] / global_load_b32 v2, v0, s[2:3] / {WAIT} / ds_store_b32 v0, v1 / s_endpgm"
            ),
        );
        // Its second load stops the wait, which stays in front of all of it.
        let code = format!(
            "{WAIT} / {WORK} / s_clause 0x1 / global_load_b32 v1, v0, s[0:1] / global_load_b32 v2, v0, s[2:3] scope:SCOPE_SYS / s_endpgm"
        );
        let wide = code.replace(&format!("{WAIT} / {WORK}"), &format!("{WORK} / {WAIT}"));
        check(Ordered::Local, &code, &wide);
        let code = format!(
            "s_clause 0x1 / global_load_b32 v1, v0, s[0:1] scope:SCOPE_SYS / global_load_b32 v2, v0, s[2:3] / {SIGNAL} / s_endpgm"
        );
        check(Ordered::Local, &code, &code);
    }

    #[test]
    fn delays_count_the_instructions_that_are_there() {
        let delay = |skip| {
            format!("s_delay_alu instid0(VALU_DEP_1) | instskip({skip}) | instid1(VALU_DEP_2)")
        };
        // From the inside of what it counts.
        check(
            Ordered::Local,
            &format!(
                "{} / {WORK} / {WAIT} / {WORK} / {WORK} / ds_store_b32 v0, v1 / s_endpgm",
                delay("SKIP_1")
            ),
            &format!(
                "{} / {WORK} / {WORK} / {WORK} / {WAIT} / ds_store_b32 v0, v1 / s_endpgm",
                delay("NEXT")
            ),
        );
        // Over all of it, or to its front.
        for (last, wide) in [
            (
                WORK,
                format!("{} / {WORK} / {WORK} / {WAIT} / s_endpgm", delay("NEXT")),
            ),
            (
                "v_cmpx_eq_u32_e32 0, v0",
                format!(
                    "{WAIT} / {} / {WORK} / v_cmpx_eq_u32_e32 0, v0 / s_endpgm",
                    delay("NEXT")
                ),
            ),
        ] {
            let code = format!("{WAIT} / {} / {WORK} / {last} / s_endpgm", delay("NEXT"));
            check(Ordered::Local, &code, &wide);
        }
    }

    #[test]
    fn a_half_takes_its_place_in_the_source_along() {
        let text = format!(
            ".loc 1 21 0 prologue_end\n{WORK}\n.loc 1 31 0\n{SIGNAL}\n{WAIT}\n.loc 1 41 0\n{WORK}\n.loc 1 51 0\ns_endpgm"
        );
        let expected = [
            ".loc 1 21 0 prologue_end",
            ".loc 1 31 0",
            SIGNAL,
            ".loc 1 21 0",
            WORK,
            ".loc 1 31 0",
            ".loc 1 41 0",
            WORK,
            ".loc 1 31 0",
            WAIT,
            ".loc 1 41 0",
            ".loc 1 51 0",
            "s_endpgm",
        ];
        assert_eq!(widened(Ordered::Local, &text), expected);
    }

    #[test]
    fn what_changes_more_than_halves_is_noticed() {
        let gpu = Target::by_name("gfx1201").unwrap().amdgpu().unwrap();
        let kernels = [("k".to_owned(), Ordered::Local)].into();
        let text = |code: &[&str]| {
            format!(
                "\t.type\tk,@function\nk:\n.loc 1 2 0\n{}\n",
                code.join("\n")
            )
        };
        let load = "ds_load_b32 v0, v1";
        let (label, branch) = (".LBB0_1:", "s_cbranch_scc1 .LBB0_1");
        let before = text(&[WORK, label, load, WORK, SIGNAL, branch, WAIT]);
        let same = |code: &[&str]| differs_in_halves_alone(&before, &text(code), gpu, &kernels);
        assert!(same(&[WORK, label, load, SIGNAL, WORK, branch, WAIT]));
        for wrong in [
            // Over an access, over a branch, over a label.
            &[WORK, label, SIGNAL, load, WORK, branch, WAIT][..],
            &[WORK, label, load, WORK, branch, SIGNAL, WAIT],
            &[WORK, SIGNAL, label, load, WORK, branch, WAIT],
            // Another order of the work, one less, another place.
            &[WORK, label, WORK, load, SIGNAL, branch, WAIT],
            &[WORK, label, load, SIGNAL, branch, WAIT],
            &[WORK, label, load, WORK, SIGNAL, branch],
            &[WORK, label, load, ".loc 1 3 0", SIGNAL, WORK, branch, WAIT],
        ] {
            assert!(!same(wrong), "{wrong:?}");
        }
        let wait = "s_wait_dscnt 0x0";
        for (right, wrong) in [
            // Work without the wait in front of it, a signal without it, a wait less.
            (
                [load, wait, WORK, SIGNAL, branch],
                vec![load, WORK, wait, SIGNAL, branch],
            ),
            (
                [load, wait, SIGNAL, WORK, branch],
                vec![load, SIGNAL, wait, WORK, branch],
            ),
            (
                [load, wait, WORK, wait, SIGNAL],
                vec![load, wait, WORK, SIGNAL],
            ),
            // A wait that control passes by.
            (
                [load, label, wait, SIGNAL, branch],
                vec![load, wait, label, SIGNAL, branch],
            ),
            (
                [load, label, wait, WORK, branch],
                vec![load, wait, label, WORK, branch],
            ),
        ] {
            let right = text(&right);
            let same = differs_in_halves_alone(&right, &text(&wrong), gpu, &kernels);
            assert!(!same, "{wrong:?}");
        }
    }
}
