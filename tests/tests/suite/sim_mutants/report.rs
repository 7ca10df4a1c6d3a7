//! The fates of the mutants: the list of survivors, and the table of docs/simulation.md.

use super::mutant::{Fate, Mutant};
use super::rows::ROWS;
use crate::model::filled;
use crate::support::confirm;
use anyhow::{Context, Result, ensure};
use splitbar_tests::fixture;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Mutex;

/// The minimum share of the mutants that are not equivalent that must be noticed, in percent.
const LEAST: usize = 95;

const PAGE: &str = "docs/simulation.md";

/// A row of `survivors.toml`: mutants that nothing notices.
#[derive(serde::Deserialize)]
struct Survivor {
    /// Rows of the table.
    on: BTreeSet<String>,
    kernel: String,
    /// The removed part.
    what: String,
    /// The number of instructions or steps with this text; the default is 1.
    #[serde(default = "one")]
    times: usize,
    /// The reason why no test detects it.
    why: String,
}

fn one() -> usize {
    1
}

#[derive(serde::Deserialize)]
struct List {
    #[serde(default)]
    survivor: Vec<Survivor>,
}

fn list() -> Result<Vec<Survivor>> {
    let list: List = toml::from_str(include_str!("survivors.toml"))?;
    Ok(list.survivor)
}

/// The mutants of one row.
#[derive(Default)]
pub(super) struct Tally {
    kernels: BTreeSet<String>,
    fates: BTreeMap<Fate, usize>,
    survivors: BTreeMap<(String, String), usize>,
}

/// Rows that are done, for the table.
static DONE: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

impl Tally {
    pub(super) fn add(&mut self, kernel: &str, mutants: Vec<Mutant>) {
        self.kernels.insert(kernel.to_owned());
        for mutant in mutants {
            *self.fates.entry(mutant.fate).or_default() += 1;
            if mutant.fate == Fate::Survives {
                let key = (mutant.kernel, mutant.what);
                *self.survivors.entry(key).or_default() += 1;
            }
        }
    }

    fn of(&self, fates: &[Fate]) -> usize {
        fates.iter().filter_map(|fate| self.fates.get(fate)).sum()
    }

    /// Checks that the survivors are the listed ones, and few.
    pub(super) fn judge(&self, row: &str, all: bool) -> Result<()> {
        let listed: BTreeMap<(String, String), usize> = list()?
            .into_iter()
            .filter(|s| s.on.contains(row) && self.kernels.contains(&s.kernel))
            .map(|s| ((s.kernel, s.what), s.times))
            .collect();
        let mut wrong = String::new();
        for ((kernel, what), times) in &self.survivors {
            let known = listed.get(&(kernel.clone(), what.clone())).unwrap_or(&0);
            if known < times {
                writeln!(
                    wrong,
                    "not noticed: {kernel}: {what} ({times}, {known} listed)"
                )?;
            }
        }
        for ((kernel, what), times) in &listed {
            let found = self.survivors.get(&(kernel.clone(), what.clone()));
            let found = found.unwrap_or(&0);
            if found < times {
                writeln!(
                    wrong,
                    "listed, but noticed: {kernel}: {what} ({times} listed, {found} not noticed)"
                )?;
            }
        }
        let line = self.line(row);
        ensure!(
            wrong.is_empty(),
            "{row}: survivors.toml is not true:\n{wrong}"
        );
        if !all {
            return Ok(());
        }
        let (noticed, survivors) = (self.noticed(), self.of(&[Fate::Survives]));
        ensure!(
            noticed * 100 >= (noticed + survivors) * LEAST,
            "{row}: only {noticed} of {} are noticed",
            noticed + survivors
        );
        document(row, line)
    }

    fn noticed(&self) -> usize {
        self.of(&[
            Fate::Finding,
            Fate::WrongResult,
            Fate::Audit,
            Fate::Explorer,
        ])
    }

    fn line(&self, row: &str) -> String {
        let one = |fate| self.of(&[fate]);
        let (noticed, survivors) = (self.noticed(), one(Fate::Survives));
        let share = match noticed + survivors {
            0 => 100.0,
            all => noticed as f64 * 100.0 / all as f64,
        };
        let numbers = [
            self.fates.values().sum(),
            one(Fate::Finding),
            one(Fate::WrongResult),
            one(Fate::Audit),
            one(Fate::Explorer),
            one(Fate::NotExecuted),
            one(Fate::SameCode),
            one(Fate::Idle),
            one(Fate::MadeUpFor),
            one(Fate::Separated),
            survivors,
        ];
        let cells: Vec<String> = numbers.iter().map(usize::to_string).collect();
        format!("| {row} | {} | {share:.1} % |", cells.join(" | "))
    }
}

/// Compares the table with the page once all of its rows are done.
fn document(row: &str, line: String) -> Result<()> {
    let mut rows = ROWS.iter().flat_map(|(way, targets, _)| {
        let targets = targets.iter();
        targets.map(move |target| format!("{way} {target}"))
    });
    if !rows.any(|one| one == row) {
        return Ok(());
    }
    let mut done = DONE
        .lock()
        .map_err(|_| anyhow::anyhow!("another row failed"))?;
    done.insert(row.to_owned(), line);
    let mut table = String::from(
        "| | mutants | finding | wrong result | audit | model | not executed | same code | idle | made up for | separated | survive | noticed |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (way, targets, _) in ROWS {
        for target in *targets {
            let Some(line) = done.get(&format!("{way} {target}")) else {
                return Ok(());
            };
            table += line;
            table.push('\n');
        }
    }
    page("mutants", &table)
}

/// The page has the reason for each survivor.
pub(super) fn survivors_are_documented() -> Result<()> {
    let survivors = list()?;
    if survivors.is_empty() {
        return page("survivors", "None.");
    }
    let mut text =
        String::from("| where | kernel | left out | why nothing notices |\n|---|---|---|---|\n");
    for survivor in survivors {
        let on: Vec<String> = survivor.on.into_iter().collect();
        let times = match survivor.times {
            1 => String::new(),
            times => format!(" ({times})"),
        };
        let (on, kernel, what, why) = (on.join(", "), survivor.kernel, survivor.what, survivor.why);
        writeln!(text, "| {on} | {kernel} | `{what}`{times} | {why} |")?;
    }
    page("survivors", &text)
}

fn page(name: &str, text: &str) -> Result<()> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    let path = fixture::root().join(PAGE);
    let before = std::fs::read_to_string(&path).context(PAGE)?;
    confirm(&path, &filled(&before, name, text)?)
}
