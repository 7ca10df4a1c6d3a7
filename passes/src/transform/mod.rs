//! SPIR-V to SPIR-V: one file (or folder) per pass, and the layers that they write new modules
//! with.
//!
//! [`registry`] names the passes, [`crate::pipeline`] runs them. [`link()`] is no pass: it makes
//! one module of several.

mod barrier_loop;
mod branch_on_predicates;
mod built_ins;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod cases;
mod edit;
mod eliminate_redundant_control_barriers;
mod eliminate_redundant_split_barriers;
mod fill_split_barrier_windows;
mod freeze_specialization_constants;
mod fuse_narrow_split_barriers;
mod fuse_split_barriers;
pub mod inline;
mod inlined;
mod instrument_barrier_skew;
mod instrument_split_barriers;
mod link;
mod link_device_library;
mod local_accesses;
mod modernize_cooperative_matrices;
mod move_split_barriers;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod mutants;
mod narrow_barrier_semantics;
mod narrow_barriers_to_subgroups;
mod operands;
mod options;
mod order_split_barriers;
mod pipeline_barrier_loops;
mod prefetch_barrier_loop_loads;
mod promote_async_copies;
pub mod registry;
mod report_buffer;
mod rewrite;
mod scalarize_pointer_vectors;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod short;
mod split_control_barriers;
mod strip_split_barrier_alias;
mod unroll_barrier_loops;
mod whole_variables;

pub use barrier_loop::reason::Reason as LoopReason;
pub use link::link;
pub(crate) use move_split_barriers::keeps_order;
pub use move_split_barriers::{Stop, Stopped, stops};
pub use options::{Ahead, Buffers, Fill, FuseAt, PipelineLoops};
pub use pipeline_barrier_loops::{LoopOutcome, pipelined_loops};
pub use rewrite::{RewrittenModule, SourceMap, Writer};
