//! The time that each family of tests needs.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Families in the summary.
const MOST: usize = 12;

/// The time of each family's tests, as the sum of tests that ran in parallel.
static TIMES: Mutex<BTreeMap<String, Duration>> = Mutex::new(BTreeMap::new());

/// The family of a trial: its name up to the first slash.
pub(crate) fn family(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

/// Runs a trial of `family` and counts its time.
pub(crate) fn timed<T>(family: String, run: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let result = run();
    let mut times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
    *times.entry(family).or_default() += begin.elapsed();
    result
}

/// The families that took longest, as one line.
pub(crate) fn summary() -> String {
    let times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
    let mut sorted: Vec<(&String, &Duration)> = times.iter().collect();
    sorted.sort_by_key(|(_, time)| std::cmp::Reverse(**time));
    let parts: Vec<String> = sorted
        .iter()
        .take(MOST)
        .map(|(family, time)| format!("{family} {:.0}", time.as_secs_f64()))
        .collect();
    format!("seconds by family: {}", parts.join(", "))
}
