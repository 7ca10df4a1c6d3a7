//! Advice on entry points with plain barriers: what splitting them by choice brings.
//!
//! The module as it is stands beside what [`SplitBarriers::Auto`](crate::SplitBarriers::Auto) makes
//! of it, and beside every other strategy with all barriers split. Options that give windows more
//! work are tried too.

use super::advice::{Advice, Candidate, Estimator, NOTABLE, ratio};
use super::strategies::{Compiled, candidate, waves, with_barriers};
use crate::compile::{
    Barrier, BarrierKind, Entry, Known, Output, SplitDecisions, can_be_pipelined,
};
use crate::compiler::Compiler;
use crate::failure::{Failure, exit};
use crate::options::{Choice, Options, PipelineLoops};
use crate::usage::registers_that_keep;
use spirv::Op;
use splitbar_plan::{Overlap, Strategy};

/// The name of the version that splits no barrier and has fewer.
const AUTO: &str = "auto";

/// Options that give windows more work, as people read them, and how they are set.
type Variant = (&'static str, fn(&mut Options));

/// In the order in which they are tried.
const VARIANTS: [Variant; 3] = [
    ("`Options::fill_windows`", |options| {
        options.fill_windows = Some(96);
    }),
    ("`Options::prefetch_loop_loads`", |options| {
        options.prefetch_loop_loads = true;
    }),
    (
        "`Options::prefetch_loop_loads`, `Options::fill_windows` and `Options::unroll_barrier_loops` of 2048",
        |options| {
            options.prefetch_loop_loads = true;
            options.fill_windows = Some(96);
            options.unroll_barrier_loops = Some(2048);
        },
    ),
];

/// The advice on each entry point with OpControlBarriers of the workgroup, beside its position.
/// `full` is the module as it is. An `estimator` is asked for the time of each version.
///
/// # Errors
/// As [`Compiled::with_each`].
pub(super) fn plain(
    bytes: &[u8],
    options: &Options,
    full: &Output,
    known: Known<'_>,
    estimator: &mut Option<Estimator<'_>>,
) -> Result<Vec<(usize, Advice)>, Failure> {
    let mut insts = known.given.instructions();
    if !insts.any(|inst| inst.op() == Some(Op::ControlBarrier)) {
        return Ok(Vec::new());
    }
    let chosen = chosen(bytes, options)?;
    let is_plain = |(_, entry): &(usize, &Entry)| barriers(entry) > 0;
    let entries = chosen.entries().iter().enumerate();
    let entries: Vec<(usize, &Entry)> = entries.filter(is_plain).collect();
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let others = Compiled::with_each(bytes, options)?;
    let mut variants = Vec::new();
    let may_gain = |(_, entry): &(usize, &Entry)| split(entry) < barriers(entry);
    if estimator.is_some() || entries.iter().any(may_gain) {
        for (name, set) in VARIANTS {
            let mut varied = options.clone();
            set(&mut varied);
            variants.extend(possible(bytes, &varied)?.map(|output| (name, output)));
        }
    }
    let pipelined = pipelined(bytes, options)?;
    let mut all = Vec::new();
    for (index, entry) in entries {
        let Some(given) = full.entries().get(index) else {
            continue; // the entry points are the same in all versions
        };
        let mut versions = vec![(candidate(Strategy::Fused, given, known), full)];
        let choice = choice(entry);
        if choice == AUTO {
            let removed = with_barriers(Strategy::Fused, entry, Vec::new(), known);
            let removed = Candidate {
                strategy: AUTO,
                ..removed
            };
            versions.push((removed, &chosen));
        }
        for (strategy, output) in &others.outputs {
            if strategy.name() == choice {
                let decided = decided(entry).cloned().collect();
                let version = with_barriers(*strategy, entry, decided, known);
                versions.push((version, &chosen));
            } else if let Some(other) = output.entries().get(index) {
                let version = candidate(*strategy, other, known);
                // Where every window is too narrow it is the kernel with full barriers.
                if !version.barriers.is_empty() {
                    versions.push((version, output));
                }
            }
        }
        let (candidates, code): (Vec<Candidate>, Vec<&Output>) = versions.into_iter().unzip();
        let mut advice = Advice {
            entry: entry.plan.entry.clone(),
            target: options.target.name,
            waves: waves(entry),
            wave_size: entry.plan.wave_size,
            split_barriers: options.split_barriers.name(),
            choice,
            reasons: reasons(entry, given, &candidates, options),
            candidates,
            refused: others.refused.clone(),
            unsplit: entry.unsplit.clone(),
            places: entry.places.clone(),
            improvements: Vec::new(),
            faster: None,
        };
        if let Some(estimator) = estimator.as_mut() {
            advice.estimate(index, code.into_iter(), estimator);
        }
        for (name, output) in &variants {
            let Some(varied) = output.entries().get(index) else {
                continue; // as above
            };
            let cycles = match estimator.as_mut() {
                Some(estimator) => estimator(output, index).cycles(),
                None => None,
            };
            advice
                .improvements
                .extend(improvement(name, entry, varied, &advice, cycles));
        }
        if let Some((why, output)) = &pipelined {
            let cycles = estimator.as_mut().map(|estimator| estimator(output, index));
            let cycles = cycles.map(|estimated| estimated.cycles());
            advice
                .improvements
                .extend(faster_loops(why, &advice, cycles));
        }
        all.push((index, advice));
    }
    Ok(all)
}

/// The module with pipelined loops, and how they are pipelined, if that is expected to save cycles
/// and the options do not have it already.
fn pipelined(bytes: &[u8], options: &Options) -> Result<Option<(String, Output)>, Failure> {
    if options.pipeline_loops != PipelineLoops::Never || !can_be_pipelined(bytes, options) {
        return Ok(None);
    }
    let auto = Options {
        pipeline_loops: PipelineLoops::Auto,
        ..options.clone()
    };
    Ok(possible(bytes, &auto)?.and_then(|output| {
        let why = output.reasons().loops.clone();
        let why = why.filter(|why| why.starts_with("pipelined "));
        Some((why?, output))
    }))
}

/// As [`chosen`]; `None` where that is refused: it may be too many instructions, for example.
///
/// # Errors
/// Bugs.
fn possible(bytes: &[u8], options: &Options) -> Result<Option<Output>, Failure> {
    match chosen(bytes, options) {
        Ok(output) => Ok(Some(output)),
        Err(failure) if failure.exit_code() == exit::BUG => Err(failure),
        Err(_) => Ok(None),
    }
}

/// Compiles as the options choose, and measures.
fn chosen(bytes: &[u8], options: &Options) -> Result<Output, Failure> {
    let options = Options {
        measure: true,
        strategy: None,
        choice: Choice::Balanced,
        ..options.clone()
    };
    Compiler::new(&options).compile(bytes)
}

/// The plain barriers of `entry` that it was decided about.
fn decided(entry: &Entry) -> impl Iterator<Item = &Barrier> {
    let barriers = entry
        .decisions
        .iter()
        .flat_map(|one: &SplitDecisions| &one.barriers);
    barriers.filter(|barrier| barrier.kind == BarrierKind::Full)
}

/// How many plain barriers `entry` splits.
fn split(entry: &Entry) -> usize {
    decided(entry).filter(|barrier| barrier.split).count()
}

/// How many plain barriers it has.
fn barriers(entry: &Entry) -> usize {
    split(entry) + entry.unsplit.len()
}

/// The strategy that was chosen for `entry`.
fn choice(entry: &Entry) -> &'static str {
    let mut split = decided(entry).filter(|barrier| barrier.split);
    let removes = || entry.unsplit.iter().any(|barrier| barrier.removed);
    match split.next() {
        Some(barrier) => barrier.strategy,
        None if removes() => AUTO,
        None => Strategy::Fused.name(),
    }
}

/// Why that strategy was chosen: what is hidden and what it costs, and what fits at once beside
/// full barriers.
fn reasons(
    entry: &Entry,
    full: &Entry,
    candidates: &[Candidate],
    options: &Options,
) -> Vec<String> {
    let mut reasons = Vec::new();
    let mut split = decided(entry).filter(|barrier| barrier.split);
    if let Some(first) = split.next() {
        reasons.push(format!(
            "{}: {} of {} full barriers; {}",
            first.strategy,
            split.count() + 1,
            barriers(entry),
            first.reason
        ));
    }
    let removed = entry.unsplit.iter().filter(|barrier| barrier.removed);
    reasons.extend(counted(
        removed.count(),
        "barrier that orders no accesses is removed",
        "barriers that order no accesses are removed",
    ));
    let narrowed = entry.unsplit.iter().filter(|barrier| barrier.narrowed);
    reasons.extend(counted(
        narrowed.count(),
        "barrier of one wave becomes a barrier of the subgroup",
        "barriers of one wave become barriers of the subgroup",
    ));
    if reasons.is_empty()
        && let Some(words) = registers(candidates, full, options)
    {
        reasons.push(words);
    }
    if reasons.is_empty() {
        reasons.push("no split of a full barrier is expected to save cycles".to_owned());
    }
    reasons
}

/// A number of barriers with the words for `one` or for `several`; nothing if there are none.
fn counted(number: usize, one: &str, several: &str) -> Option<String> {
    match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{number} {several}")),
    }
}

/// How few registers a split must take so that as many workgroups fit as with full barriers, where
/// too many are what is wrong with it.
fn registers(candidates: &[Candidate], full: &Entry, options: &Options) -> Option<String> {
    let (first, others) = candidates.split_first()?;
    let mut others = others.iter();
    let split = others.find(|one| one.overlap == Overlap::Split)?;
    let lost = split.version.loses_to(&first.version)?;
    let (usage, wanted) = (split.version.usage?, first.version.resident.as_ref()?);
    let most = registers_that_keep(usage, wanted.workgroups, &full.plan, options.target)?;
    Some(format!(
        "{}: {lost}; with at most {most} registers, as many would be resident",
        split.strategy
    ))
}

/// The gain of pipelined loops, and `why` they are taken; nothing if a launch does not gain. Its
/// `cycles` are `None` without a launch, and `Some(None)` if nothing is known of it.
fn faster_loops(why: &str, advice: &Advice, cycles: Option<Option<u64>>) -> Option<String> {
    let text = format!("with `Options::pipeline_loops` of `auto` the loops are {why}");
    let Some(cycles) = cycles else {
        return Some(text);
    };
    let ratio = ratio(cycles?, candidate_of_choice(advice)?.cycles()?);
    (ratio < 1.0 - NOTABLE).then(|| with_launch(&text, ratio))
}

/// The candidate that was chosen.
fn candidate_of_choice(advice: &Advice) -> Option<&Candidate> {
    let mut candidates = advice.candidates.iter();
    candidates.find(|candidate| candidate.strategy == advice.choice)
}

/// An improvement with the cycles of the launch.
fn with_launch(text: &str, ratio: f64) -> String {
    format!(
        "{text}, and the launch takes {:.1} % of the cycles",
        100.0 * ratio
    )
}

/// What the options called `name` bring: more barriers that are split, or fewer cycles than the
/// choice takes.
fn improvement(
    name: &str,
    entry: &Entry,
    varied: &Entry,
    advice: &Advice,
    cycles: Option<u64>,
) -> Option<String> {
    let chosen = candidate_of_choice(advice)?;
    let of_choice = cycles
        .zip(chosen.cycles())
        .map(|(own, others)| ratio(own, others));
    let splits_more = split(varied) > split(entry);
    let is_faster = of_choice.is_some_and(|ratio| ratio < 1.0 - NOTABLE);
    if !is_faster && (!splits_more || of_choice.is_some()) {
        return None;
    }
    let text = format!(
        "with {name} {} of {} barriers are split",
        split(varied),
        barriers(varied)
    );
    Some(match of_choice {
        Some(ratio) => with_launch(&text, ratio),
        None => text,
    })
}
