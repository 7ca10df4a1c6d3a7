//! Estimates the time of a launch from executed instructions.
//!
//! The machine executes as ever; what is different is who goes next. A wave issues when its turn
//! comes by the clock of the unit (a multiprocessor, a compute unit, a WGP), not by a hostile
//! schedule, so skew between waves is that of their work, and polling costs what it executes.
//!
//! ```text
//! front end: Timed::costs --> Cost of each instruction: unit, registers, counters --+
//! target: Timing (fixtures/targets/timing.toml): intervals, latencies, caches ------+--> run: events in time --> Estimate
//! machine: step of a wave --> Trace: memory touched, barriers arrived at -----------+
//! ```
//!
//! What is modelled:
//!
//! - One unit with all workgroups of the launch, so many resident at once ([`Setup::resident`]);
//!   the next one begins when one ends. Waves belong to schedulers in turn, and each scheduler
//!   issues one instruction a cycle: of the wave that it issued last, then by age.
//! - Waves issue in order. An instruction waits for its registers (a scoreboard), for the counters
//!   that it names (AMD), and for its unit of execution.
//! - Shared memory by 128 bytes an interval, with conflicts of its 32 banks. Global memory by
//!   lines: the unit's own cache, the shared cache, and memory, the last two with a bandwidth. The
//!   shared cache holds all buffers from the start where they fit; the own cache begins empty.
//! - A barrier instruction occupies one port of the unit; who waits goes on a latency after the
//!   last arrival. Operations on barrier objects in shared memory are accesses, with the fence that
//!   an arrival may have, and a wait that suspends (`try_wait`) sleeps until the phase is complete.
//!
//! What is not: fetching instructions, register banks, replays, other units that contend for the
//! shared cache, clusters of several workgroups, the compiler behind PTX (`ptxas` orders
//! instructions anew; here they issue in the order of the text). Bulk copies take no time.

mod cache;
mod cost;
mod memory;
mod progress;
mod run;

pub use cost::{Cost, Timed, Unit};
pub use progress::Progress;
pub use run::estimate;

use crate::report::Report;
use splitbar_target::timing::Timing;

/// The input of an estimate.
#[derive(Copy, Clone, Debug)]
pub struct Setup {
    /// The times of the GPU.
    pub timing: Timing,
    /// Workgroups that are resident at once; at least 1.
    pub resident: u32,
    /// Looks for races, missing waits and accesses beyond buffers too, which takes about as long as
    /// the rest. Without it, [`Estimate::progress`] is noted.
    pub checks: bool,
}

/// The result of an estimate. All times are in cycles of the unit.
#[derive(Clone, Debug, Default)]
pub struct Estimate {
    /// From the start of the first workgroup to the end of the last one.
    pub cycles: u64,
    /// Instructions of waves that were issued, polls among them.
    pub issued: u64,
    /// Places to issue an instruction that were used, of 1.
    pub utilisation: f64,
    /// Lines that loads found in the unit's own cache, in the shared one, and in memory.
    pub lines: [u64; 3],
    /// The time of each instruction, by the program's numbers.
    pub spent: Vec<Spent>,
    /// The progress of the launch over time, if accesses are not checked.
    pub progress: Progress,
    /// The findings of the run: an estimate of a run with findings is unreliable.
    pub report: Report,
}

/// The time of one instruction, summed over all waves.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The number of times it was issued.
    pub issued: u64,
    /// Wave-cycles: from when the instruction before let the wave go on, until this one did.
    pub cycles: u64,
    /// Of these, cycles that the wave waited for others at a barrier.
    pub stalled: u64,
}
