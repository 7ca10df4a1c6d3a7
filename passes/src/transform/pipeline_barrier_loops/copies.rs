//! Stages that asynchronous copies can make.

use crate::analysis::async_copy::{self, Input, Reason};
use crate::module::WordOffset;
use std::collections::BTreeSet;

/// The stores of a function that copy what an invocation has loaded, and can be asynchronous once
/// the barrier that publishes the copy no longer follows immediately.
pub(super) fn copying_stores(function: Input<'_, '_>) -> BTreeSet<WordOffset> {
    let found = async_copy::find(function);
    let is_waited = |reason| match reason {
        Reason::WaitedAtOnce => true,
        Reason::OtherBlock
        | Reason::UsedTwice
        | Reason::Qualified
        | Reason::Size(_)
        | Reason::Shape
        | Reason::Unaligned
        | Reason::Separated
        | Reason::Destination
        | Reason::TooMany => false,
    };
    let refused = found.refused.iter().filter(|one| is_waited(one.reason));
    refused
        .map(|one| one.store)
        .chain(found.copies.iter().map(|copy| copy.store))
        .collect()
}
