//! Final assembly, read back: what the back end made of a plan.
//!
//! [`asm`] reads the text, [`window`] counts what is left between arrive and wait, [`waits`] finds what may be outstanding at each barrier.

pub mod asm;
pub mod waits;
pub mod window;
