//! The execution model of barriers, executable: an explorer of protocols and a checker of executions.
//!
//! The model is the one of LLVM's "AMDGPU Execution Synchronization": barrier *objects* with an expected count and an arrive count, operations on them, and the relations that say
//! which waits depend on which arrives. The barriers of both vendors are instances of it ([`Object`]): AMDGPU's workgroup, cluster, named and NULL barriers, and the CTA
//! barriers and mbarriers of PTX.
//!
//! [`explore`] takes a [`System`], a small program per thread, and looks at every interleaving: does it always end, is the behaviour defined, does no wait return before its arrives.
//!
//! ```
//! use splitbar_passes::model::{Object, Op, Program, Sequence, System, Verdict, explore};
//!
//! // Three waves use one named barrier of the CTA for both halves of a split barrier: arrive, work, sync.
//! let (bar, promise) = (0, Sequence(0));
//! let arrive = || Op::Arrive { object: bar.into(), expected: None };
//! let wave: Program = [
//!     Op::Arrived(promise),
//!     arrive(),            // bar.arrive
//!     arrive(),            // bar.sync arrives too,
//!     Op::Wait(bar.into()), // and waits
//!     Op::Waited(promise),
//! ]
//! .into_iter()
//! .collect();
//! let report = explore(&System::of_workgroup(vec![Object::cta(1, 3)], vec![], 3, |_| wave.clone()));
//! // Two waves make four arrivals, and the third is not waited for.
//! assert!(matches!(report.verdict, Verdict::Early { .. }));
//! ```

mod axiom;
mod barrier;
pub mod catalogue;
mod code;
mod explore;
mod machine;
mod object;
mod program;
pub mod protocol;
mod reduce;
pub mod skeleton;
mod state;
mod trace;
mod verdict;

pub use axiom::Axiom;
pub use explore::{Options, explore, explore_with};
pub use object::{Object, Scope};
pub use program::{Label, Op, Program, Register, Sequence, System, Thread, Value, Word};
pub use trace::{Line, Trace};
pub use verdict::{Report, Verdict};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
