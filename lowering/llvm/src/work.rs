//! How often LLVM was asked for what takes time in this process, for tests that pin it.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What LLVM was asked for since the process began.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Target machines that were made.
    pub machines: usize,
    /// Modules that were read from bitcode.
    pub reads: usize,
    /// Pipelines of passes that ran over a module.
    pub pipelines: usize,
    /// Modules that code was generated for, or assembled.
    pub generations: usize,
    /// Threads that were started.
    pub threads: usize,
}

/// A count of the process.
pub(crate) struct Counter(AtomicUsize);

impl Counter {
    const fn new() -> Counter {
        Counter(AtomicUsize::new(0))
    }

    /// One more.
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) static MACHINES: Counter = Counter::new();
pub(crate) static READS: Counter = Counter::new();
pub(crate) static PIPELINES: Counter = Counter::new();
pub(crate) static GENERATIONS: Counter = Counter::new();
pub(crate) static THREADS: Counter = Counter::new();

/// What LLVM was asked for in this process so far.
pub fn work() -> Work {
    Work {
        machines: MACHINES.get(),
        reads: READS.get(),
        pipelines: PIPELINES.get(),
        generations: GENERATIONS.get(),
        threads: THREADS.get(),
    }
}
