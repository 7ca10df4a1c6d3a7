//! Computes the layout of a kernel on a target: its types, the address spaces of its pointers, its
//! workgroup memory and its arguments. The crate does not use LLVM. Read [`Kernel::analyze`] first.
//!
//! Data flows one way: from a module and a row of the targets to a [`Kernel`]. The plan, the
//! lowering and the reflection all use this crate, so each fact is computed in one place.
//!
//! ```
//! use splitbar_passes::analysis::program::Program;
//! use splitbar_passes::diagnostic::Diagnostics;
//! use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};
//! use splitbar_target::Target;
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
//! assert_eq!((kernel.workgroup_size, kernel.shared_bytes), (Some([16, 16, 1]), 4096));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(test), warn(clippy::indexing_slicing))] // input must never reach one

pub mod abi;
mod copies;
pub mod exchange;
pub mod image;
mod kernel;
pub mod matrix;
pub mod pointers;
mod scalar;
pub mod scratch;
pub mod tensor;
pub mod tensor_layout;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod testing;
pub mod types;
mod waves;

pub use copies::Copies;
pub use kernel::{Kernel, KernelOptions};

use splitbar_passes::diagnostic::Diagnostic;

/// A result whose error is one diagnostic (boxed: it is large and rare).
pub type Result<T> = std::result::Result<T, Box<Diagnostic>>;
