//! The processor time of a thread or a process, which the load of the machine hardly changes.

use std::time::Duration;

/// Runs `work`. Returns its result, and the processor time of this thread; if the system does not
/// count that, the elapsed time.
pub fn cpu_time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    timed(Of::Thread, work)
}

/// As [`cpu_time`], for all threads of this process.
pub fn process_cpu_time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    timed(Of::Process, work)
}

/// The threads whose time is counted.
#[derive(Copy, Clone)]
enum Of {
    Thread,
    Process,
}

#[cfg(unix)]
fn timed<T>(of: Of, work: impl FnOnce() -> T) -> (T, Duration) {
    use rustix::time::{ClockId, clock_gettime};
    let now = || {
        let time = clock_gettime(match of {
            Of::Thread => ClockId::ThreadCPUTime,
            Of::Process => ClockId::ProcessCPUTime,
        });
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
        Duration::new(seconds, nanoseconds)
    };
    let begin = now();
    let result = work();
    (result, now().saturating_sub(begin))
}

#[cfg(not(unix))]
fn timed<T>(_: Of, work: impl FnOnce() -> T) -> (T, Duration) {
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

    #[cfg(unix)]
    #[test]
    fn the_process_works_on_all_its_threads() {
        let sum = || (0..5_000_000u64).fold(0, |sum, n| sum ^ (n * n));
        let elsewhere = || std::thread::spawn(sum).join();
        let (result, worked) = process_cpu_time(|| cpu_time(elsewhere));
        let (_, here) = result;
        assert!(worked > here, "{worked:?}, {here:?}");
    }
}
