//! Simulates the code of AMD and NVIDIA GPUs under hostile but legal schedules, and reports races,
//! missing waits and deadlocks. Read [`run`], [`Schedule`] and [`Finding`] first.
//!
//! A [`Schedule`] chooses the workgroup and the wave that execute next, and how late outstanding
//! memory operations take effect. Every choice follows from a seed, so each finding can be
//! replayed. A front end ([`Program`]) executes the instructions of one wave. The machine contains
//! everything that waves share: [`memory`], [`barrier`] objects, and the happens-before relation
//! between waves ([`clock`], [`race`]).
//!
//! ```text
//! machine code, PTX -> front end's program --+
//! buffers, groups ---> Launch ---------------+--> machine::run --> Report: findings, steps; the buffers changed in place
//! seed --------------> Schedule -------------+
//! ```
//!
//! A fault of a kernel is a [`Finding`], never an error of the library, also for hostile programs.
//!
//! In this example, two warps store to the same word without an order between the stores:
//!
//! ```
//! use splitbar_sim::memory::Global;
//! use splitbar_sim::{Clocks, FindingKind, Launch, Limits, Schedule, ptx};
//!
//! let text = ".version 8.0
//! .target sm_80
//! .address_size 64
//! .visible .entry k(.param .u64 k_out)
//! {
//! .reg .b64 %out;
//! .reg .b32 %t;
//! ld.param.u64 %out, [k_out];
//! mov.u32 %t, %tid.x;
//! st.global.u32 [%out], %t;
//! ret;
//! }
//! ";
//! let mut kernel = ptx::kernel(text, None).map_err(|error| error.to_string())?;
//! let mut global = Global::default();
//! let out = global.add("out", vec![0; 4], true);
//! kernel.set_parameters(&global.base(out).to_le_bytes());
//! kernel.load(&mut global);
//! let launch = Launch {
//!     groups: [1, 1, 1],
//!     cluster: [1; 3],
//!     workgroup_size: [64, 1, 1],
//!     shared_bytes: kernel.shared_bytes() as usize,
//!     clocks: Clocks::Machine,
//!     limits: Limits::default(),
//! };
//! let report = splitbar_sim::run(&kernel, &mut global, &launch, Schedule::nth(0, 1));
//! assert!(report.findings.iter().any(|finding| finding.kind == FindingKind::GlobalRace));
//! # Ok::<(), String>(())
//! ```
#![forbid(unsafe_code)]

mod accesses;
pub mod amdgpu;
pub mod barrier;
mod bulk;
mod bulk_copy;
pub mod cache;
pub mod clock;
mod cluster;
mod context;
mod coverage;
mod directed;
mod finding;
mod float8;
mod foreign;
pub mod image;
mod journal;
mod lane;
mod launch;
mod machine;
mod matrix;
pub mod memory;
mod observe;
mod program;
pub mod ptx;
pub mod queue;
pub mod race;
mod report;
mod resident;
mod running;
pub mod sampler;
mod schedule;
mod times;
pub mod timing;
mod trace;
mod uses;

pub use accesses::Accesses;
pub use clock::Scope;
pub use context::{Access, At, Context, Group};
pub use coverage::Coverage;
pub use finding::{CodeLocation, Finding, FindingKind, Findings, Site};
pub use journal::Journal;
pub use lane::Lane;
pub use launch::{Clocks, Launch, Limits};
pub use machine::{run, run_observed, run_watched};
pub use observe::{Cause, Observed, Observer, WaveId};
pub use program::{Program, Step, WaveStart};
pub use report::{Accessed, Progress, Report};
pub use schedule::{Completion, Policy, Schedule};
