//! What a kernel is on a target before anything is planned or generated: its types and where they
//! lie, where pointers point, its workgroup memory, its arguments. No LLVM.
//!
//! Data flows one way: a module that was read and a row of the targets go in. The plan, the
//! lowering and the reflection ask here, so that each fact has one answer.
#![cfg_attr(not(test), warn(clippy::indexing_slicing))] // input must never reach one

pub mod abi;
mod copies;
pub mod image;
mod kernel;
pub mod matrix;
pub mod pointers;
pub mod scratch;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod testing;
pub mod types;

pub use copies::Copies;
pub use kernel::{Kernel, Wanted};

use splitbar_passes::diagnostic::Diagnostic;

/// A result whose error is one diagnostic (boxed: it is large and rare).
pub type Result<T> = std::result::Result<T, Box<Diagnostic>>;
