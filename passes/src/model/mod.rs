//! The execution model of barriers, executable: an explorer of protocols and a checker of
//! executions.
//!
//! The model is the one of LLVM's "AMDGPU Execution Synchronization": barrier *objects* with an
//! expected count and an arrive count, operations on them, and the relations that say which waits
//! depend on which arrives. The barriers of both vendors are instances of it ([`Object`]): AMDGPU's
//! workgroup, cluster, named and NULL barriers, and the CTA barriers and mbarriers of PTX.
//!
//! [`explore`] takes a [`System`], a small program per thread, and looks at every interleaving:
//! does it always end, is the behaviour defined, does no wait return before its arrives.
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
//!
//! [`check`] takes an [`Execution`], what each thread did and in which order each object saw it,
//! and says which rules it breaks, and where.
//!
//! ```
//! use splitbar_passes::model::{Axiom, Event, EventId, Execution, Object, Operation, Trail, check};
//!
//! // One thread of two arrives and waits; nobody else comes.
//! let event = |operation| Event { object: 0, operation };
//! let execution = Execution {
//!     objects: vec![Object::workgroup(2)],
//!     threads: vec![Trail { workgroup: 0, events: vec![event(Operation::Arrive(None)), event(Operation::Wait)] }],
//!     orders: vec![vec![EventId { thread: 0, index: 0 }]],
//! };
//! let violations = check(&execution).unwrap_err();
//! assert_eq!(violations[0].axiom, Axiom::WaitCompletes);
//! ```

mod axiom;
mod barrier;
pub mod catalogue;
mod check;
mod code;
mod execution;
mod explore;
mod machine;
mod object;
mod program;
pub mod protocol;
mod reduce;
mod relations;
mod report;
mod sample;
pub mod skeleton;
mod state;
mod trace;
mod verdict;

pub use axiom::Axiom;
pub use check::{Relations, Violation, check};
pub use code::MOST as MOST_THREADS;
pub use execution::{Event, EventId, Execution, Operation, Trail};
pub use explore::{Options, explore, explore_with};
pub use object::{Object, Scope};
pub use program::{Label, Op, Program, Register, Sequence, System, Thread, Value, Word};
pub use report::Report;
pub use sample::{Sample, sample};
pub use trace::{Line, Trace};
pub use verdict::Verdict;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
