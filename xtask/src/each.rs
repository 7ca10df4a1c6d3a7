//! Many jobs, several at once, with a progress bar.

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

/// Does `work` on all jobs, `workers` at once (`None`: one per processor), and gives the results in
/// the order of the jobs. No job is begun after one has failed.
pub(crate) fn each<J: Sync, R: Send>(
    jobs: &[J],
    workers: Option<usize>,
    work: impl Fn(&J, &ProgressBar) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let workers = workers
        .or_else(|| available_parallelism().ok().map(usize::from))
        .unwrap_or(1)
        .clamp(1, jobs.len().max(1));
    let bar = ProgressBar::new(jobs.len() as u64).with_style(
        ProgressStyle::with_template("{wide_bar} {pos}/{len} {elapsed} (left {eta}) {msg}")
            .context("the progress bar")?,
    );
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let keep = |place: usize, result: Result<R>| {
        let mut done = done
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        done.push((place, result));
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(place) else { return };
                    let result = work(job, &bar);
                    if result.is_err() {
                        next.store(jobs.len(), Ordering::Relaxed);
                    }
                    keep(place, result);
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    let mut done = done
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}
