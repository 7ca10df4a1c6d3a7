//! The passes and `splitbar-opt` on real modules.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod async_copies;
mod command;
#[path = "../corpus/mod.rs"]
mod corpus;
mod kept;
mod link;
mod passes;
mod skew;
mod support;
