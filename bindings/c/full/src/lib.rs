//! The shared library libsplitbar: the C interface with LLVM, which it hides.

pub use splitbar_c::*;
