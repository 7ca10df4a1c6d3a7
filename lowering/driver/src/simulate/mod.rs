//! Kernels on the simulated machine: what is run, with which buffers, and what came of it.
//!
//! A [`Job`] is an executable for one GPU with the layout of its arguments. It comes from a
//! compilation or from a file that another compiler made, and is run once per schedule, each time
//! with fresh buffers.

pub mod amdgpu;
pub mod estimate;
mod inputs;
mod job;
mod launched;
#[cfg(feature = "llvm")]
mod made_up;
pub mod nvptx;
pub mod profile;
mod run;
mod samplers;
mod tables;
mod tensors;
pub mod timeline;
mod unit;

pub use crate::launch::BufferName;
pub use inputs::{Elements, Inputs, Refusal, Texels};
pub use job::{Job, PRINT_CAPACITY};
pub use run::Outcome;
pub use splitbar_sim as machine;
