//! The expected time of compiled code.

use crate::compile::{Expected, Output};

/// The expected time of entry point number `entry` of `output`.
#[cfg(feature = "llvm")]
pub(crate) fn expect(output: &Output, entry: usize) -> Expected {
    match crate::simulate::Job::expected(output, entry) {
        Ok(cycles) => Expected::Cycles(cycles),
        Err(why) => Expected::Unknown {
            unknown: why.to_string(),
        },
    }
}

/// The expected time of entry point number `entry` of `output`: without LLVM there is no code.
#[cfg(not(feature = "llvm"))]
pub(crate) fn expect(_: &Output, _: usize) -> Expected {
    Expected::Unknown {
        unknown: "this build has no LLVM".to_owned(),
    }
}
