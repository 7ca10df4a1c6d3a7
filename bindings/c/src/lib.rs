//! The C interface of splitbar, version 1: the functions of `include/splitbar.h`, which is
//! generated from this crate (`cargo xtask header`).
//!
//! Two libraries export the same functions. `libsplitbar` contains LLVM, and hides its symbols.
//! `libsplitbar_passes` does not contain LLVM: it makes plans, but needs a worker process for code.
//!
//! Rules of the interface (docs/c.md):
//! - Structures begin with their size, which the caller sets: fields are only ever added at the
//!   end, and a field that is zero has its default.
//! - Handles are opaque. Data that a function returns belongs to a handle, and is valid as long as
//!   the handle.
//! - No input ends the process or causes undefined behaviour: null pointers, wrong sizes and wrong
//!   names are errors. A panic stops at the boundary and is reported as a bug. LLVM may end the
//!   process if a module triggers a bug of LLVM; a worker process prevents that.
//! - Any thread may call any function at any time. Several threads may read a result. One thread
//!   frees it when no other thread uses it.

mod ffi;

pub use ffi::*;
