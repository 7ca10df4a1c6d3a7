//! The original kernel, with which its mutants are compared.

use super::mutant::Fate;
use crate::sim::{compare, inputs};
use anyhow::{Context, Result, bail, ensure};
use splitbar::Output;
use splitbar::simulate::machine::{Coverage, Limits, Schedule};
use splitbar::simulate::{Inputs, Job, Outcome};
use splitbar_tests::fixture::Fixture;
use splitbar_tests::reference::{self, Case};

/// All kinds of schedule once.
pub(super) const SCHEDULES: u32 = 8;

/// More entries than any kernel here makes.
pub(super) const JOURNAL: usize = 1 << 22;

/// The original kernel, with its launch, and the instructions that it executes.
pub(super) struct Subject {
    pub(super) job: Job,
    pub(super) case: Case,
    pub(super) inputs: Inputs,
    pub(super) covered: Coverage,
}

impl Subject {
    pub(super) fn new(fixture: &Fixture, output: &Output) -> Result<Subject> {
        let case = reference::case(&fixture.name).context("no host reference")?;
        Subject::prepare(&fixture.name, case, output)
    }

    /// As [`Subject::new`], with another launch.
    pub(super) fn prepare(name: &str, case: Case, output: &Output) -> Result<Subject> {
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
    pub(super) fn run(&self, mutant: &Job) -> Result<Run> {
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

    pub(super) fn noticed(&self, outcome: &Outcome) -> Option<Fate> {
        if !outcome.report.findings.is_empty() {
            Some(Fate::Finding)
        } else {
            compare(&self.case, outcome)
                .is_err()
                .then_some(Fate::WrongResult)
        }
    }

    /// Returns true if barriers separate all conflicting accesses of a mutant.
    pub(super) fn is_separated(&self, mutant: &Job) -> Result<bool> {
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

/// The result of running a mutant under all schedules.
pub(super) enum Run {
    Noticed(Fate),
    Unnoticed(Coverage),
}

pub(super) fn schedules() -> impl Iterator<Item = Schedule> {
    (0..SCHEDULES).map(|index| Schedule::nth(index, 1))
}
