//! How far a batch is: a bar on a terminal, or lines where somebody asked for them.

use super::jobs::Job;
use super::pool::Outcome;
use super::summary::kind;
use crate::values::Format;
use crate::write;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;

/// Says on the standard error which jobs are done.
pub(super) enum Progress {
    /// Nobody reads it: the output is for programs, or the standard error is a file.
    Silent,
    /// On a terminal.
    Bar { bar: ProgressBar, failed: usize },
    /// Elsewhere, with `--verbose`.
    Lines { jobs: usize, done: usize },
}

impl Progress {
    /// Before the first of so many jobs.
    pub(super) fn new(jobs: usize, verbose: bool, format: Format) -> Progress {
        if format == Format::Text && std::io::stderr().is_terminal() {
            let bar = ProgressBar::new(jobs as u64);
            let style = ProgressStyle::with_template(
                "[{elapsed}] {wide_bar} {pos} of {len} jobs{msg}, {eta} left",
            );
            let bar = match style {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            };
            Progress::Bar { bar, failed: 0 }
        } else if format == Format::Text && verbose {
            Progress::Lines { jobs, done: 0 }
        } else {
            Progress::Silent
        }
    }

    /// A job has ended.
    pub(super) fn done(&mut self, job: &Job, outcome: &Outcome) {
        match self {
            Progress::Silent => {}
            Progress::Bar { bar, failed } => {
                *failed += usize::from(outcome.result.is_err());
                if *failed > 0 {
                    bar.set_message(format!(", {failed} without outputs"));
                }
                bar.inc(1);
            }
            Progress::Lines { jobs, done } => {
                *done += 1;
                let (target, name) = (job.target.name, &job.name);
                let said = kind(Some(outcome));
                let stored = if outcome.was_stored {
                    ", from the store"
                } else {
                    ""
                };
                write::stderr(&format!(
                    "{done} of {jobs}: {target}/{name}: {said}{stored}\n"
                ));
            }
        }
    }

    /// Clears the terminal's line.
    pub(super) fn end(self) {
        if let Progress::Bar { bar, .. } = self {
            bar.finish_and_clear();
        }
    }
}
