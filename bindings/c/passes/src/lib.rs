//! The shared library libsplitbar_passes: the C interface without LLVM.

pub use splitbar_c::*;
