//! The reader, declarations and constants, on real modules and on hostile ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod asm;
mod constants;
#[path = "../corpus/mod.rs"]
mod corpus;
mod hostile;
mod malformed;
mod places;
mod real;
mod unsupported;
