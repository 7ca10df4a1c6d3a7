//! The C interface of splitbar, version 1: the functions of `include/splitbar.h`, which is
//! generated from this crate (`cargo xtask header`).
//!
//! Two libraries export the same functions. `libsplitbar` has LLVM in it, and hides it.
//! `libsplitbar_passes` has none: it makes plans, but code only in the process of a worker.
//!
//! Rules of the interface (docs/c.md):
//! - Structures begin with their size, which the caller sets: fields are only ever added at the
//!   end, and a field that is zero has its default.
//! - Handles are opaque. What a function gives belongs to a handle and lives as long as it.
//! - No input ends the process or is undefined: null pointers, sizes and names that are wrong are
//!   errors. A panic stops at the boundary and is reported as a bug. LLVM may end the process
//!   where a module triggers a bug of it; a worker shields from that.
//! - All functions may be called from any threads at the same time. A result may be read by
//!   several threads; it is freed by one when no other uses it.

mod ffi;

pub use ffi::*;
