//! The expected time of compiled code.

use crate::compile::{By, Expected, Output};

/// The expected time of entry point number `entry` of `output`, by a launch.
#[cfg(feature = "llvm")]
pub(crate) fn expect(output: &Output, entry: usize, by: By<'_>) -> Expected {
    match crate::simulate::Job::expected(output, entry, by) {
        Ok(cycles) => Expected::Cycles(cycles),
        Err(why) => Expected::Unknown {
            unknown: why.to_string(),
        },
    }
}

/// The expected time of entry point number `entry` of `output`: without LLVM there is no code.
#[cfg(not(feature = "llvm"))]
pub(crate) fn expect(_: &Output, _: usize, _: By<'_>) -> Expected {
    Expected::Unknown {
        unknown: "this build has no LLVM".to_owned(),
    }
}
