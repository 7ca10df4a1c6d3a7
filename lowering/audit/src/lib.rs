//! Final assembly, read back: what the back end made of a plan.
//!
//! [`asm`] (the crate splitbar-assembly) reads the text, [`window`] counts what is left between
//! arrive and wait, [`waits`] finds what may be outstanding at each barrier, and [`fences`] what is
//! left of the plan's fences.

pub mod fences;
pub mod waits;
pub mod window;

pub use splitbar_assembly as asm;
