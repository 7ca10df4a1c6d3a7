//! The time that a processor has worked on a thread: what a busy machine does not change much.

use std::time::Duration;

/// Runs `work` and gives its result, and for how long a processor worked on this thread for it;
/// where the system does not count that, how long it took.
#[cfg(unix)]
pub fn cpu_time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    use rustix::time::{ClockId, clock_gettime};
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
        Duration::new(seconds, nanoseconds)
    };
    let begin = now();
    let result = work();
    (result, now().saturating_sub(begin))
}

/// Runs `work` and gives its result, and how long it took.
#[cfg(not(unix))]
pub fn cpu_time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begin = std::time::Instant::now();
    let result = work();
    (result, begin.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn sleep_is_no_work() {
        let long = Duration::from_millis(300);
        let ((), slept) = cpu_time(|| std::thread::sleep(long));
        assert!(slept < long / 2, "{slept:?}");
        let (sum, worked) = cpu_time(|| (0..5_000_000u64).fold(0, |sum, n| sum ^ (n * n)));
        assert!(worked > Duration::ZERO, "{sum} in {worked:?}");
    }
}
