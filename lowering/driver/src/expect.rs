//! The expected time of compiled code.

use crate::compile::{By, Expected, Output};
#[cfg(feature = "sim")]
use crate::simulate::timeline::Timeline;

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

/// The timeline of the first launch that is made up and comes to a barrier, from number `first` on,
/// of an output with debug lines.
///
/// # Errors
/// The part that the model does not know.
#[cfg(all(feature = "llvm", feature = "sim"))]
pub(crate) fn expected_timeline(
    output: &Output,
    entry: usize,
    first: usize,
) -> Result<Timeline, String> {
    let timeline = crate::simulate::Job::expected_timeline(output, entry, first);
    timeline.map_err(|why| why.to_string())
}

/// The same: without LLVM there is no code.
#[cfg(all(not(feature = "llvm"), feature = "sim"))]
pub(crate) fn expected_timeline(_: &Output, _: usize, _: usize) -> Result<Timeline, String> {
    Err("this build has no LLVM".to_owned())
}

/// The expected time of entry point number `entry` of `output`: without LLVM there is no code.
#[cfg(not(feature = "llvm"))]
pub(crate) fn expect(_: &Output, _: usize, _: By<'_>) -> Expected {
    Expected::Unknown {
        unknown: "this build has no LLVM".to_owned(),
    }
}
