//! Plans the barriers of a kernel: chooses a strategy for each pair, and the steps that implement
//! it. The crate uses neither LLVM nor SPIR-V words. Read [`plan()`], [`EntryPlan`] and
//! [`Strategy`] first.
//!
//! Data flows one way: from a [`splitbar_layout::Kernel`] to an [`EntryPlan`]. Each strategy is a
//! row of a table and a file, which contains the steps of its arrive and of its wait, and its
//! behaviour next to a full barrier. The planner adds the fences that the semantics require. The
//! emitter translates the steps to instructions of the target, and makes no decisions.
//!
//! ```
//! use splitbar_passes::analysis::program::Program;
//! use splitbar_passes::diagnostic::Diagnostics;
//! use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};
//! use splitbar_plan::{PlanOptions, Strategy, Target};
//! use splitbar_layout::{Kernel, KernelOptions};
//!
//! let bytes = include_bytes!("../../../fixtures/kernels/tiled_matmul/tiled_matmul.spv");
//! let module = Module::parse(bytes)?;
//! let mut problems = Diagnostics::new();
//! let declarations = Declarations::new(&module, &mut problems);
//! let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
//! let program = Program::new(&declarations, &constants);
//! let entry = declarations.entry_points.first().ok_or("no entry point")?;
//! let target = Target::by_name("gfx1201").ok_or("no such target")?;
//! let kernel = Kernel::analyze(&program, entry, target, KernelOptions::default(), &mut problems)?;
//! let plan = splitbar_plan::plan(&kernel, PlanOptions::default(), &mut problems);
//! assert_eq!(plan.pairs[0].strategy, Strategy::Native);
//! println!("{plan}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(test), warn(clippy::indexing_slicing))] // input must never reach one

mod access_mark;
pub mod async_copies;
pub mod backend;
mod bulk_copies;
mod deferred;
pub mod faults;
mod fences;
mod fuse_at;
mod groups;
pub mod model;
mod neighbours;
mod optimization;
mod options;
mod plan;
mod plan_check;
mod planner;
mod protocol;
mod shape;
mod show;
pub mod staged;
mod step;
mod strategy;
mod waits;

pub use access_mark::AccessMark;
pub use async_copies::{CopyPlan, Engine, copies_to_workgroup_memory};
pub use fences::around_barrier;
pub use fuse_at::FuseAt;
pub use groups::WarpGroups;
pub use optimization::Optimization;
pub use options::{PlanOptions, Waits};
pub use plan::{BarrierState, EntryPlan, PairPlan, waves};
pub use planner::plan;
pub use splitbar_target as target;
pub use splitbar_target::{FenceScope, Placement, Target, UnknownTarget};
pub use staged::StagedShape;
pub use step::{AmdgpuStep, Fence, FenceMemory, FenceOrder, NvptxStep, Step, WarpMask};
pub use strategy::cost::{PhaseCycles, min_window};
pub use strategy::{MeetsAt, Overlap, Strategy};
pub use waits::release_waits;
