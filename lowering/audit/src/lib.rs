//! Final assembly, read back: what the back end made of a plan.
//!
//! [`asm`] reads the text, [`window`] counts what is left between arrive and wait.

pub mod asm;
pub mod window;
