//! What became of a batch: a table for people, and JSON that is the same however often the run was
//! interrupted.

use super::jobs::Job;
use super::pool::Outcome;
use crate::stop::Stop;
use crate::table::columns;
use serde::Serialize;
use serde_json::Value;
use splitbar::diagnostic::{Code, Diagnostic, Diagnostics, Subject, json};
use splitbar::exit;
use std::collections::BTreeMap;
use std::path::Path;

/// What can become of a job, in the order of the table.
const KINDS: [&str; 6] = [
    "done",
    "invalid",
    "wrong usage",
    "unsupported",
    "bug",
    "not run",
];

/// What became of a job.
pub(super) fn kind(outcome: Option<&Outcome>) -> &'static str {
    match outcome.map(Outcome::exit_code) {
        Some(exit::DONE) => "done",
        Some(exit::INVALID) => "invalid",
        Some(exit::USAGE) => "wrong usage",
        Some(exit::UNSUPPORTED) => "unsupported",
        Some(_) => "bug",
        None => "not run",
    }
}

/// All jobs.
#[derive(Serialize)]
pub(super) struct Summary {
    /// Of splitbar.
    version: &'static str,
    /// How many jobs ended in which way.
    counts: BTreeMap<&'static str, usize>,
    jobs: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    name: String,
    module: String,
    target: &'static str,
    result: &'static str,
    /// Below the folder of the outputs.
    outputs: Vec<String>,
    diagnostics: Vec<Value>,
    #[serde(skip)]
    was_stored: bool,
}

impl Summary {
    pub(super) fn new(jobs: &[Job], outcomes: &[Option<Outcome>]) -> Summary {
        let lines = jobs.iter().zip(outcomes);
        let jobs: Vec<Line> = lines
            .map(|(job, outcome)| Line::new(job, outcome.as_ref()))
            .collect();
        let mut counts: BTreeMap<_, _> = KINDS.map(|kind| (kind, 0)).into();
        for job in &jobs {
            *counts.entry(job.result).or_default() += 1;
        }
        Summary {
            version: env!("CARGO_PKG_VERSION"),
            counts,
            jobs,
        }
    }

    /// One object, a line for each job.
    pub(super) fn json(&self) -> String {
        let jobs = self.jobs.iter();
        let jobs: Vec<String> = jobs.map(|job| serde_json::json!(job).to_string()).collect();
        let (version, counts) = (self.version, serde_json::json!(self.counts));
        format!(
            "{{\"version\":\"{version}\",\"counts\":{counts},\"jobs\":[\n{}\n]}}\n",
            jobs.join(",\n")
        )
    }

    /// A line for each target, and one for all.
    pub(super) fn table(&self) -> String {
        let mut targets: Vec<&str> = self.jobs.iter().map(|job| job.target).collect();
        targets.sort_unstable();
        targets.dedup();
        let head = ["target", "jobs"].into_iter().chain(KINDS);
        let head: Vec<String> = head.chain(["from the store"]).map(str::to_owned).collect();
        let mut lines = vec![head];
        for target in &targets {
            lines.push(self.row(target, |job| job.target == *target));
        }
        if targets.len() > 1 {
            lines.push(self.row("all", |_| true));
        }
        let lines: Vec<[String; 9]> = lines
            .into_iter()
            .filter_map(|line| line.try_into().ok())
            .collect();
        columns(&lines)
    }

    fn row(&self, name: &str, is_of_row: impl Fn(&Line) -> bool) -> Vec<String> {
        let jobs: Vec<&Line> = self.jobs.iter().filter(|job| is_of_row(job)).collect();
        let count = |is: &dyn Fn(&Line) -> bool| jobs.iter().filter(|job| is(job)).count();
        let kinds = KINDS.map(|kind| count(&|job| job.result == kind));
        let stored = count(&|job| job.was_stored);
        let numbers = [jobs.len()].into_iter().chain(kinds).chain([stored]);
        let cells = numbers.map(|number| number.to_string());
        [name.to_owned()].into_iter().chain(cells).collect()
    }
}

impl Line {
    fn new(job: &Job, outcome: Option<&Outcome>) -> Line {
        let diagnostics = match outcome.map(|outcome| &outcome.result) {
            Some(Ok(warnings)) => warnings.clone(),
            Some(Err(Stop::Problems(failure))) => failure.diagnostics.clone(),
            Some(Err(Stop::Usage(text))) => {
                Diagnostic::error(Code::WrongUsage, text.as_str()).into()
            }
            None => Diagnostics::new(),
        };
        let subject = Subject::new(&job.module).with_target(Some(job.target.name));
        let lines = json::render(&diagnostics, subject);
        let is_made = outcome.is_some_and(|outcome| outcome.result.is_ok());
        let outputs = job.outputs.iter().filter(|_| is_made);
        Line {
            name: job.name.clone(),
            module: job.module.clone(),
            target: job.target.name,
            result: kind(outcome),
            outputs: outputs
                .filter_map(|output| {
                    let extension = output.file.as_deref().and_then(Path::extension)?;
                    let extension = extension.to_string_lossy();
                    Some(format!("{}/{}.{extension}", job.target.name, job.name))
                })
                .collect(),
            // Each line is an object that was just written.
            diagnostics: lines
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect(),
            was_stored: outcome.is_some_and(|outcome| outcome.was_stored),
        }
    }
}
