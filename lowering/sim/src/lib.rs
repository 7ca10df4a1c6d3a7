//! A SIMT machine for programs of two vendors: what would a hostile but lawful GPU do with this
//! kernel?
//!
//! A [`Schedule`] chooses which workgroup goes on, which of its waves, and how late outstanding
//! memory operations take effect; all follow from a seed, so that every finding can be replayed. A
//! front end ([`Program`]) says what one instruction of one wave does; the machine has what waves
//! share: [`memory`], [`barrier`] objects, and the happens-before relation between waves
//! ([`clock`], [`race`]).
//!
//! ```text
//! machine code, PTX -> front end's program --+
//! buffers, groups ---> Launch ---------------+--> machine::run --> Report: findings, steps; the buffers changed in place
//! seed --------------> Schedule -------------+
//! ```
//!
//! What is wrong with a kernel is a [`Finding`], never an error of the library: hostile programs
//! end with one too.
#![forbid(unsafe_code)]

pub mod amdgpu;
pub mod barrier;
mod bulk;
pub mod cache;
pub mod clock;
mod cluster;
mod context;
mod coverage;
mod directed;
mod finding;
mod foreign;
pub mod image;
mod journal;
mod launch;
mod machine;
mod matrix;
pub mod memory;
pub mod ptx;
pub mod queue;
pub mod race;
mod resident;
mod schedule;
pub mod timing;
mod trace;

pub use clock::Scope;
pub use context::{Access, At, Context, Group};
pub use coverage::Coverage;
pub use finding::{CodeLocation, Finding, FindingKind, Findings, Site};
pub use journal::Journal;
pub use launch::{Clocks, Launch, Limits};
pub use machine::{Program, Progress, Report, Step, WaveStart, run, run_watched};
pub use schedule::{Completion, Policy, Schedule};
