//! The jobs of a batch on several worker processes. A process that dies is started again, and its
//! job tried once more.

use super::args::BatchArgs;
use super::jobs::Job;
use crate::lower::{self, Request};
use crate::stop::Stop;
use crate::write;
use splitbar::diagnostic::Diagnostics;
use splitbar::{Choice, Failure, Isolated, Store, Worker, exit};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;

/// What became of a job.
pub(super) struct Outcome {
    /// Warnings, or why there are no outputs.
    pub(super) result: Result<Diagnostics, Stop>,
    /// True if the store had the result.
    pub(super) was_stored: bool,
}

impl Outcome {
    /// The exit code that `splitbar lower` would have.
    pub(super) fn exit_code(&self) -> u8 {
        match &self.result {
            Ok(_) => exit::DONE,
            Err(Stop::Problems(failure)) => failure.exit_code(),
            Err(Stop::Usage(_)) => exit::USAGE,
        }
    }
}

/// Runs `jobs`, so many `at_once`; `each` is told of every one that has ended. The outcomes come in
/// the order of the jobs: none for one that did not begin, because another one had failed.
pub(super) fn run(
    jobs: &[Job],
    store: &Store,
    args: &BatchArgs,
    at_once: usize,
    each: &mut dyn FnMut(&Job, &Outcome),
) -> Vec<Option<Outcome>> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut outcomes: Vec<Option<Outcome>> = jobs.iter().map(|_| None).collect();
    let (sender, ended) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..at_once.min(jobs.len()) {
            let sender = sender.clone();
            let (next, failed) = (&next, &failed);
            scope.spawn(move || {
                let mut worker = Worker::new(args.limits.isolation());
                while args.keep_going || !failed.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(number) else { break };
                    let outcome = one(job, store, &mut worker, args);
                    if outcome.result.is_err() {
                        failed.store(true, Ordering::Relaxed);
                    }
                    if sender.send((number, outcome)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (number, outcome) in ended {
            if let (Some(job), Some(place)) = (jobs.get(number), outcomes.get_mut(number)) {
                each(job, &outcome);
                *place = Some(outcome);
            }
        }
    });
    outcomes
}

/// Compiles, or takes from the store, and writes the outputs.
fn one(job: &Job, store: &Store, worker: &mut Worker, args: &BatchArgs) -> Outcome {
    let mut was_stored = false;
    let result = made(job, store, worker, args, &mut was_stored);
    if result.is_err() {
        for file in files(job) {
            // An output of an earlier run is not one of this module. It need not be there.
            let _ = std::fs::remove_file(file);
        }
    }
    Outcome { result, was_stored }
}

fn made(
    job: &Job,
    store: &Store,
    worker: &mut Worker,
    args: &BatchArgs,
    was_stored: &mut bool,
) -> Result<Diagnostics, Stop> {
    let mut request = lower::request(&job.lower, &job.outputs)?;
    if args.check {
        // Nothing is compiled to choose by.
        request.options.choice = Choice::AlwaysSplit;
    }
    let key = store.key(&request.source, &request.options, &request.products);
    let made = match store.get(&key) {
        Some(made) => {
            *was_stored = true;
            made
        }
        None => {
            let made = compiled(&request, worker, args);
            store.put(&key, &made).map_err(|error| error.to_string())?;
            made
        }
    };
    let warnings = &job.lower.code.warnings;
    let made = made.map_err(|failure| warnings.failure(&failure))?;
    let judged = warnings.judge(&made.warnings);
    if judged.has_errors() {
        return Err(judged.into());
    }
    for (file, product) in files(job).zip(&made.products) {
        make_folder(file.parent().unwrap_or(Path::new("")))?;
        write::if_changed(file, product)?;
    }
    Ok(judged)
}

fn files(job: &Job) -> impl Iterator<Item = &Path> {
    let outputs = job.outputs.iter();
    outputs.filter_map(|output| output.file.as_deref())
}

/// The folders that `jobs` write to.
pub(super) fn folders(jobs: &[Job]) -> impl Iterator<Item = &Path> {
    let folders: BTreeSet<_> = jobs
        .iter()
        .flat_map(files)
        .filter_map(Path::parent)
        .collect();
    folders.into_iter()
}

/// Compiles; once more if the process died, for it need not have died of this module.
fn compiled(request: &Request, worker: &mut Worker, args: &BatchArgs) -> Result<Isolated, Failure> {
    let (start, limit) = (Instant::now(), args.limits.isolation().time);
    let made = request.perform(worker, &mut ());
    let is_late = limit.is_some_and(|limit| start.elapsed() >= limit);
    if made.is_ok() || worker.process().is_some() || is_late {
        return made;
    }
    request.perform(worker, &mut ())
}

/// Makes a folder, and those that it is in.
pub(super) fn make_folder(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}
