//! How far a simulation is: a line on a terminal that is written again and again, or lines where
//! somebody asked for them.

use super::values::Format;
use super::write;
use indicatif::{ProgressBar, ProgressStyle};
use splitbar::simulate::machine::Progress;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Between two lines within one schedule.
const PERIOD: Duration = Duration::from_secs(2);

/// Says on the standard error how far the schedules are. Dropping it clears the terminal's line.
pub(super) enum Meter {
    /// Nobody reads it: the output is for programs, or the standard error is a file.
    Silent,
    /// On a terminal.
    Bar(ProgressBar),
    /// Elsewhere, with `--verbose`.
    Lines(Lines),
}

/// What the next line says.
pub(super) struct Lines {
    schedules: u32,
    done: u32,
    start: Instant,
    said: Instant,
}

impl Meter {
    /// Before the first of so many schedules.
    pub(super) fn new(schedules: u32, verbose: bool, format: Format) -> Meter {
        if format != Format::Text {
            return Meter::Silent;
        }
        if std::io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("[{elapsed}] schedule {pos} of {len}{msg}");
            let bar = ProgressBar::new(schedules.into());
            return Meter::Bar(match style {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            });
        }
        if !verbose {
            return Meter::Silent;
        }
        let now = Instant::now();
        Meter::Lines(Lines {
            schedules,
            done: 0,
            start: now,
            said: now,
        })
    }

    /// Within a schedule.
    pub(super) fn within(&mut self, progress: Progress) {
        match self {
            Meter::Silent => {}
            Meter::Bar(bar) => bar.set_message(format!(
                ": {} workgroups done, {} instructions",
                progress.workgroups, progress.steps
            )),
            Meter::Lines(lines) if lines.said.elapsed() >= PERIOD => lines.say(&format!(
                "{} workgroups done, {} instructions",
                progress.workgroups, progress.steps
            )),
            Meter::Lines(_) => {}
        }
    }

    /// A schedule is done, which took so many instructions.
    pub(super) fn next(&mut self, steps: u64) {
        match self {
            Meter::Silent => {}
            Meter::Bar(bar) => bar.inc(1),
            Meter::Lines(lines) => {
                lines.say(&format!("done, {steps} instructions"));
                lines.done += 1;
            }
        }
    }
}

impl Lines {
    fn say(&mut self, what: &str) {
        self.said = Instant::now();
        write::stderr(&format!(
            "{:>7.1} s  schedule {} of {}: {what}\n",
            self.start.elapsed().as_secs_f64(),
            self.done + 1,
            self.schedules
        ));
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let Meter::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
