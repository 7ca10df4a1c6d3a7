//! Mutants: every wait, every fence and every barrier is left out in turn, and something has to
//! notice.
//!
//! From the machine code of AMD GPUs (`amdgpu.rs`), from PTX (`ptx.rs`), and from the plan's steps
//! before they are lowered (`steps.rs`), of kernels in SPIR-V and in LLVM IR. A mutant is noticed
//! by a finding of the simulator, by a wrong result, by the audit of waits, or by the explorer of
//! barriers. One that is not noticed is equivalent where that can be proved ([`Fate`]); whatever
//! else survives stands in `survivors.toml` with its reason, and nothing else does.
//!
//! A plain run takes a third of the kernels on each target, another third on the next one.
//! `SPLITBAR_MUTANTS=all` takes all, asks that 95 of 100 be noticed, and compares with the tables
//! of docs/simulation.md (`cargo xtask bless` writes them).

mod amdgpu;
mod ptx;
mod report;
mod steps;

use crate::sim::{compare, inputs};
use crate::support::trial;
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use report::Tally;
use splitbar::Output;
use splitbar::simulate::machine::{Coverage, Limits, Schedule};
use splitbar::simulate::{Inputs, Job, Outcome};
use splitbar_tests::fixture::Fixture;
use splitbar_tests::reference::{self, Case};

/// All kinds of schedule once.
const SCHEDULES: u32 = 8;

/// More entries than any kernel here makes.
const JOURNAL: usize = 1 << 22;

/// One kernel in so many is taken on a target, unless all are.
const SAMPLE: usize = 3;

/// What became of a mutant.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    /// Noticed: the simulator has a finding.
    Finding,
    /// Noticed: a buffer holds something else than the host reference says.
    WrongResult,
    /// Noticed: at a barrier something may be outstanding that the plan asks to be finished.
    Audit,
    /// Noticed: some interleaving of the waves is wrong.
    Explorer,
    /// Equivalent: no launch of the suite executes the instruction.
    NotExecuted,
    /// Equivalent: in every execution the wait retires nothing, or nobody learns anything through
    /// the fence.
    Idle,
    /// Equivalent: in every execution other waits retire the same operations before they are used
    /// and before the wave tells others of them.
    MadeUpFor,
    /// Equivalent: the machine code is the same without it.
    SameCode,
    /// Equivalent: in every execution without it, other barriers stand between all conflicting
    /// accesses of different waves (of different lanes, on NVIDIA).
    Separated,
    /// Not noticed.
    Survives,
}

/// A mutant and what became of it.
pub(crate) struct Mutant {
    /// The kernel.
    pub kernel: String,
    /// What was left out.
    pub what: String,
    /// What became of it.
    pub fate: Fate,
}

/// A way to make mutants of a kernel.
type Maker = fn(&Fixture, &'static str) -> Result<Vec<Mutant>>;

/// Ways and targets: the rows of the table.
const ROWS: &[(&str, &[&str], Maker)] = &[
    ("machine code", &amdgpu::TARGETS, amdgpu::mutants),
    ("PTX", &ptx::TARGETS, ptx::mutants),
    ("steps", &steps::TARGETS, steps::mutants),
];

/// Kernels in LLVM IR, which are judged the same and are not in the table.
const IR_ROWS: &[(&str, &[&str], Maker)] =
    &[("steps of LLVM IR", &steps::IR_TARGETS, steps::ir_mutants)];

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let all = std::env::var("SPLITBAR_MUTANTS").is_ok_and(|value| value == "all");
    let mut trials = vec![trial(
        "sim_mutants/survivors".to_owned(),
        report::survivors_are_documented,
    )];
    let rows = ROWS
        .iter()
        .chain(IR_ROWS)
        .flat_map(|(way, targets, maker)| targets.iter().map(move |target| (*way, *target, maker)));
    for (number, (way, target, maker)) in rows.enumerate() {
        let chosen: Vec<Fixture> = fixtures
            .iter()
            .enumerate()
            .filter(|(at, _)| all || (at + number).is_multiple_of(SAMPLE))
            .map(|(_, fixture)| fixture.clone())
            .collect();
        let row = format!("{way} {target}");
        let name = format!("sim_mutants/{}", row.replace(' ', "_"));
        trials.push(trial(name, move || {
            let mut tally = Tally::default();
            for fixture in &chosen {
                tally.add(&fixture.name, maker(fixture, target)?);
            }
            tally.judge(&row, all)
        }));
    }
    trials
}

/// A kernel as it is, with its launch, and what that executes.
struct Subject {
    job: Job,
    case: Case,
    inputs: Inputs,
    covered: Coverage,
}

impl Subject {
    fn new(fixture: &Fixture, output: &Output) -> Result<Subject> {
        let case = reference::case(&fixture.name).context("no host reference")?;
        Subject::of(&fixture.name, case, output)
    }

    /// As [`Subject::new`], with another launch.
    fn of(name: &str, case: Case, output: &Output) -> Result<Subject> {
        let job = Job::compiled(output, 0)?;
        let mut subject = Subject {
            inputs: inputs(&case),
            job,
            case,
            covered: Coverage::default(),
        };
        let mut steps = 0;
        for schedule in schedules() {
            let outcome = subject.job.run(&subject.inputs, schedule)?;
            if let Some(finding) = outcome.report.findings.first() {
                bail!("{name} as it is: {schedule}:\n{finding}");
            }
            if let Err(difference) = compare(&subject.case, &outcome) {
                bail!("{schedule}: {difference}");
            }
            subject.covered.join(&outcome.report.coverage);
            steps = steps.max(outcome.report.steps);
        }
        ensure!(steps > 0);
        // What goes on much longer than the whole kernel waits for ever.
        subject.inputs.limits = Limits {
            steps: 4 * steps + 10_000,
            ..subject.inputs.limits
        };
        Ok(subject)
    }

    /// Runs a mutant until somebody notices.
    fn run(&self, mutant: &Job) -> Result<Run> {
        let mut covered = Coverage::default();
        for schedule in schedules() {
            let outcome = mutant.run(&self.inputs, schedule)?;
            if let Some(fate) = self.noticed(&outcome) {
                return Ok(Run::Noticed(fate));
            }
            covered.join(&outcome.report.coverage);
        }
        Ok(Run::Unnoticed(covered))
    }

    fn noticed(&self, outcome: &Outcome) -> Option<Fate> {
        if !outcome.report.findings.is_empty() {
            Some(Fate::Finding)
        } else {
            compare(&self.case, outcome)
                .is_err()
                .then_some(Fate::WrongResult)
        }
    }

    /// Whether barriers keep all conflicting accesses of a mutant apart.
    fn is_separated(&self, mutant: &Job) -> Result<bool> {
        let mut inputs = self.inputs.clone();
        inputs.limits.journal = JOURNAL;
        for schedule in schedules() {
            let journal = mutant.run(&inputs, schedule)?.report.journal;
            if !journal.is_separated().context("the journal is cut")? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// What came of running a mutant under all schedules.
enum Run {
    Noticed(Fate),
    Unnoticed(Coverage),
}

fn schedules() -> impl Iterator<Item = Schedule> {
    (0..SCHEDULES).map(|index| Schedule::nth(index, 1))
}
