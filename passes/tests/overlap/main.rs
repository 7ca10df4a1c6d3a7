//! Does a pipelined loop compute what the loop did? Both modules are executed on expressions
//! (`machine.rs`), with the same answers to the same questions, and compared by what others see:
//!
//! - effects on memory are the same, in the same order, and of the same values: what a read of a
//!   shared array gives is an expression over all that its buffer holds, so each read reads what
//!   that iteration wrote;
//! - arrives and waits alternate, and nothing is open at the end;
//! - a store to a buffer and a read of it have a barrier between them, whichever comes first;
//! - accesses to other memory that the original's barriers keep apart are kept apart.
//!
//! Of the pass the checker knows which arrays have buffers, by their types. Mutants of the
//! modules that the pass makes are all noticed.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, missing_docs)]

#[path = "../corpus/mod.rs"]
mod corpus;
mod machine;
mod mutants;
mod protocol;
mod sized;
mod term;
#[path = "../corpus/workgroup.rs"]
mod workgroup;

use anyhow::{Context, Result, ensure};
use machine::{Decisions, Event, MOST_STEPS, Machine, Trace};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Declarations, Id, Module, Type, assemble};
use splitbar_passes::pipeline::{self, Settings, Step};
use splitbar_passes::transform::{Ahead, Buffers, PipelineLoops, pipelined_loops};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use term::{Term, Terms};

/// Forms that loops are made into.
const FORMS: &[&str] = &[
    "pipeline-barrier-loops",
    "pipeline-barrier-loops=stage",
    "pipeline-barrier-loops=loads",
    "pipeline-barrier-loops=plain",
    "pipeline-barrier-loops=stage,plain,memory:65536",
    "pipeline-barrier-loops=always-store",
    "pipeline-barrier-loops=one-buffer",
    "pipeline-barrier-loops=one-buffer,always-store,plain",
    "pipeline-barrier-loops=alternate",
    "pipeline-barrier-loops=3",
    "pipeline-barrier-loops=3,plain,always-store",
    "pipeline-barrier-loops=3,stage",
    "pipeline-barrier-loops=3,stage,plain",
    "pipeline-barrier-loops=4",
    "pipeline-barrier-loops=4,always-store",
    "pipeline-barrier-loops=4,stage",
];

/// Those that the loops of published modules are made into.
const PUBLISHED: &[&str] = &[
    "pipeline-barrier-loops",
    "pipeline-barrier-loops=stage",
    "pipeline-barrier-loops=always-store",
    "pipeline-barrier-loops=one-buffer",
    "pipeline-barrier-loops=alternate",
    "pipeline-barrier-loops=3",
    "pipeline-barrier-loops=3,stage",
    "pipeline-barrier-loops=4",
    "pipeline-barrier-loops=4,stage",
];

/// Runs of a kernel with different decisions.
const RUNS: u64 = 48;

fn declared<'m>(module: &'m Module<'m>) -> Result<Declarations<'m>> {
    let mut diagnostics = Diagnostics::new();
    let declarations = Declarations::new(module, &mut diagnostics);
    ensure!(!diagnostics.has_errors(), "the module has errors");
    Ok(declarations)
}

/// The module that a pass makes; `None` if it changes nothing.
fn made(original: &Declarations<'_>, flag: &str) -> Result<Option<Module<'static>>> {
    let step: Step = flag
        .parse()
        .map_err(|_| anyhow::anyhow!("{flag} is no pass"))?;
    let rewritten = pipeline::rewrite(original, &[step], Settings::default(), &mut |_, _| ());
    let rewritten = rewritten.map_err(|_| anyhow::anyhow!("{flag} fails"))?;
    Ok(rewritten.edited.map(|edited| edited.module))
}

/// The workgroup variables that are arrays of what they were.
fn buffered(original: &Declarations<'_>, made: &Declarations<'_>) -> BTreeSet<Id> {
    let mut found = BTreeSet::new();
    for inst in original.module.instructions() {
        let Some(id) = inst
            .result()
            .filter(|_| inst.op() == Some(spirv::Op::Variable))
        else {
            continue;
        };
        let (Some(before), Some(after)) = (original.pointee_of(id), made.pointee_of(id)) else {
            continue;
        };
        if let Some(Type::Array { element, .. }) = made.ty(after)
            && *element == before
            && before != after
        {
            found.insert(id);
        }
    }
    found
}

/// The result of a comparison.
#[derive(Default)]
struct Compared {
    /// Numbers of barriers that were executed.
    barriers: BTreeSet<usize>,
    /// Runs that came to an end.
    runs: usize,
}

/// Compares two modules by several runs.
fn compare(original: &Declarations<'_>, made: &Declarations<'_>) -> Result<Compared> {
    compare_by(RUNS, original, made)
}

/// Compares two modules by this many runs.
fn compare_by(runs: u64, original: &Declarations<'_>, made: &Declarations<'_>) -> Result<Compared> {
    let buffered = buffered(original, made);
    let mut compared = Compared::default();
    for entry in &original.entry_points {
        for seed in 0..runs {
            let decisions = Decisions {
                seed,
                true_of_16: [4, 8, 12][seed as usize % 3],
            };
            let mut terms = Terms::default();
            let none = BTreeSet::new();
            let before =
                Machine::new(original, &mut terms, decisions, &none).run(entry.function)?;
            let Some(before) = before else { continue };
            let after = Machine::new(made, &mut terms, decisions, &buffered)
                .within(4 * MOST_STEPS)
                .run(entry.function)?;
            let after = after.context("it does not come to an end")?;
            let buffers = roots(&mut terms, &buffered);
            check(&terms, &before, &after, &buffers)
                .with_context(|| format!("with the decisions {seed}"))?;
            compared.barriers.insert(before.barriers());
            compared.runs += 1;
        }
    }
    Ok(compared)
}

fn roots(terms: &mut Terms, ids: &BTreeSet<Id>) -> BTreeSet<Term> {
    ids.iter()
        .map(|id| terms.make(vec![term::head::ID, id.0], vec![]))
        .collect()
}

fn check(terms: &Terms, before: &Trace, after: &Trace, buffered: &BTreeSet<Term>) -> Result<()> {
    let pairs = before.effects.iter().zip(&after.effects);
    for (number, (one, other)) in pairs.enumerate() {
        ensure!(
            one == other,
            "effect {number} differs: {}",
            terms.difference(*one, *other)
        );
    }
    ensure!(
        before.effects.len() == after.effects.len(),
        "{} effects, and {}",
        before.effects.len(),
        after.effects.len()
    );
    alternate(after)?;
    let (kept_apart, all) = (orders(before), orders(after));
    for (access, order) in &all {
        let is_buffered = buffered.contains(&access.0);
        if is_buffered {
            ensure!(
                order.iter().all(|(_, is_apart)| *is_apart),
                "a conflict over a buffer"
            );
        } else {
            let given = kept_apart.get(access).map_or(0, |order| together(order));
            ensure!(
                together(order) <= given,
                "accesses are not kept apart any more"
            );
        }
    }
    Ok(())
}

/// How many accesses have no barrier between them and the last one of the other kind.
fn together(order: &[(bool, bool)]) -> usize {
    order.iter().filter(|(_, is_apart)| !is_apart).count()
}

/// That arrives and waits take turns.
fn alternate(trace: &Trace) -> Result<()> {
    let mut open = false;
    for event in &trace.events {
        match event {
            Event::Arrive => {
                ensure!(!open, "an arrive while another is open");
                open = true;
            }
            Event::Wait => {
                ensure!(open, "a wait without arrive");
                open = false;
            }
            Event::Access { .. } => {}
        }
    }
    ensure!(!open, "an arrive is open at the end");
    Ok(())
}

/// By memory: the accesses in order, each with whether it stores, and whether a whole barrier, from
/// an arrive to its wait, is between it and the last access of the other kind.
fn orders(trace: &Trace) -> BTreeMap<(Term, u64), Vec<(bool, bool)>> {
    let mut orders: BTreeMap<(Term, u64), Vec<(bool, bool)>> = BTreeMap::new();
    // The number of the next arrive after the last load and the last store.
    let mut last: BTreeMap<(Term, u64), [Option<usize>; 2]> = BTreeMap::new();
    let (mut arrives, mut waits) = (0, 0);
    for event in &trace.events {
        match event {
            Event::Arrive => arrives += 1,
            Event::Wait => waits += 1,
            Event::Access {
                root,
                buffer,
                is_store,
            } => {
                let place = (*root, *buffer);
                let last = last.entry(place).or_default();
                let other = last[usize::from(!*is_store)];
                let is_apart = other.is_none_or(|arrive| waits > arrive);
                orders.entry(place).or_default().push((*is_store, is_apart));
                last[usize::from(*is_store)] = Some(arrives);
            }
        }
    }
    orders
}

/// The cases of the pass, as modules.
fn cases() -> Result<Vec<(String, Module<'static>)>> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/passes/pipeline-barrier-loops");
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(&folder).context("no cases")? {
        let path = entry?.path();
        let name = path
            .file_name()
            .context("no name")?
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&path)?;
        let assembled =
            assemble(&text).map_err(|_| anyhow::anyhow!("{name} cannot be assembled"))?;
        let module = assembled
            .module()
            .map_err(|_| anyhow::anyhow!("{name} is no module"))?;
        cases.push((name, module));
    }
    cases.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(cases)
}

#[test]
fn cases_of_the_pass_compute_the_same() {
    let mut pipelined = 0;
    for (name, module) in cases().unwrap() {
        let original = declared(&module).unwrap();
        for flag in FORMS {
            let Some(made) = made(&original, flag).unwrap() else {
                continue;
            };
            let made = declared(&made).unwrap();
            let compared = compare(&original, &made);
            let compared = compared.unwrap_or_else(|error| panic!("{name}, {flag}: {error:#}"));
            assert!(compared.runs > 0, "{name}, {flag}: no run");
            pipelined += 1;
        }
    }
    assert!(pipelined > 150, "{pipelined} modules were pipelined");
}

/// Loops with any number of iterations: 0, 1, and up to two more than there are buffers.
#[test]
fn loops_run_zero_to_six_times() {
    let cases = cases().unwrap();
    let (name, module) = cases
        .iter()
        .find(|(name, _)| name.starts_with("any_trips"))
        .unwrap();
    let original = declared(module).unwrap();
    for flag in FORMS {
        let made = made(&original, flag).unwrap().unwrap();
        let compared = compare_by(16 * RUNS, &original, &declared(&made).unwrap());
        let compared = compared.unwrap_or_else(|error| panic!("{name}, {flag}: {error:#}"));
        let trips: BTreeSet<usize> = compared
            .barriers
            .iter()
            .map(|barriers| barriers / 2)
            .collect();
        for wanted in 0..=6 {
            assert!(
                trips.contains(&wanted),
                "{name}, {flag}: no run of {wanted}: {trips:?}"
            );
        }
    }
}

#[test]
fn mutants_are_noticed() {
    let mut noticed: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, module) in cases().unwrap() {
        let original = declared(&module).unwrap();
        for flag in [
            "pipeline-barrier-loops",
            "pipeline-barrier-loops=stage",
            "pipeline-barrier-loops=one-buffer",
            "pipeline-barrier-loops=alternate",
            "pipeline-barrier-loops=3",
            "pipeline-barrier-loops=3,stage",
            "pipeline-barrier-loops=4",
            "pipeline-barrier-loops=4,stage",
        ] {
            let Some(made) = made(&original, flag).unwrap() else {
                continue;
            };
            let made = declared(&made).unwrap();
            let buffered = buffered(&original, &made);
            for (kind, mutant) in mutants::of(&made, &buffered) {
                let mutant = declared(&mutant).unwrap();
                let result = compare(&original, &mutant);
                if kind == mutants::NO_END && result.is_ok() {
                    continue;
                }
                assert!(result.is_err(), "{name}, {flag}: {kind} is not noticed");
                *noticed.entry(kind).or_default() += 1;
            }
        }
    }
    for kind in mutants::KINDS {
        assert!(
            noticed.contains_key(kind),
            "no case has a mutant of the kind: {kind}"
        );
    }
}

/// All loops of published modules that are pipelined; a plain run takes one module in eight,
/// `SPLITBAR_CORPUS=all` all.
#[test]
fn published_modules_compute_the_same() {
    let all = std::env::var("SPLITBAR_CORPUS").is_ok_and(|value| value == "all");
    let (mut compared, mut cut) = (0, 0);
    for (number, file) in corpus::modules().unwrap().iter().enumerate() {
        if !all && number % 8 != 0 {
            continue;
        }
        let Ok(module) = Module::parse(&file.bytes) else {
            continue;
        };
        let Ok(given) = declared(&module) else {
            continue;
        };
        let Ok(sized) = sized::sized(&given) else {
            continue;
        };
        let original = declared(sized.as_ref().unwrap_or(&module)).unwrap();
        for flag in PUBLISHED {
            let Ok(Some(made)) = made(&original, flag) else {
                continue;
            };
            let made = declared(&made).unwrap();
            let result = compare(&original, &made);
            let result = result.unwrap_or_else(|error| panic!("{}, {flag}: {error:#}", file.path));
            if result.runs > 0 {
                compared += 1;
            } else {
                cut += 1;
            }
        }
    }
    eprintln!("{compared} pipelined modules compared, {cut} without a run that ends");
    assert!(compared > 0, "no module was compared");
}

/// The loops of published modules, and what becomes of them.
#[test]
fn the_table_of_the_corpus_is_fresh() {
    let with = |most_memory, ahead| PipelineLoops {
        most_memory,
        ahead,
        ..PipelineLoops::default()
    };
    let three = PipelineLoops {
        buffers: Buffers::Three,
        ..with(64 << 10, Ahead::Either)
    };
    let columns = [
        with(32 << 10, Ahead::Either),
        with(64 << 10, Ahead::Either),
        with(32 << 10, Ahead::LoadsOfOneBuffer),
        three,
    ];
    let mut counts: BTreeMap<(u8, String), [usize; 4]> = BTreeMap::new();
    for file in corpus::modules().unwrap() {
        let Ok(module) = Module::parse(&file.bytes) else {
            continue;
        };
        let Ok(sized) = declared(&module).and_then(|given| sized::sized(&given)) else {
            continue;
        };
        let module = sized.as_ref().unwrap_or(&module);
        for (column, options) in columns.into_iter().enumerate() {
            let Ok(found) = pipelined_loops(module, options) else {
                continue;
            };
            for outcome in found {
                let row = match outcome.stays {
                    None if outcome.alternates => (
                        1,
                        "pipelined: its second barrier is removed, and nothing moves".to_owned(),
                    ),
                    None => (0, "pipelined".to_owned()),
                    Some(reason) => (2, format!("not pipelined: {reason}")),
                };
                counts.entry(row).or_default()[column] += 1;
            }
        }
    }
    let mut rows: Vec<((u8, String), [usize; 4])> = counts.into_iter().collect();
    rows.sort_by_key(|((kind, text), [few, ..])| (*kind, std::cmp::Reverse(*few), text.clone()));
    let mut table = String::new();
    for ((_, text), [few, many, one, three]) in rows {
        table += &format!("| {text} | {few} | {many} | {one} | {three} |\n");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pipelining.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let head = "| outcome | 32 KiB | 64 KiB | one buffer | three buffers, 64 KiB |\n| --- | --- | --- | --- | --- |\n";
    let (before, after) = page.split_once(head).unwrap();
    let (known, after) = after.split_at(after.find("\n\n").unwrap_or(0));
    let known = known.trim_start_matches('\n');
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let page = format!("{before}{head}{}{after}", table.trim_end());
        std::fs::write(&path, page).unwrap();
    } else {
        assert!(
            known == table.trim_end(),
            "the table of docs/pipelining.md is not fresh:\n{table}"
        );
    }
}
