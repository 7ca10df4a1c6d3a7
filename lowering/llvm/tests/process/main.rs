//! Tests that need a process of their own. They are one program, because linking LLVM takes time
//! and a hundred megabytes; it starts itself again for each test.
#![expect(clippy::unwrap_used, reason = "tests")]

mod costs;
mod host;
mod residency;
mod support;
