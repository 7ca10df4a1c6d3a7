//! Stages that asynchronous copies can make.

use crate::analysis::async_copy::{self, Input, Reason};
use crate::module::WordOffset;
use crate::transform::barrier_loop::shape::Shape;
use crate::transform::whole_variables::Spot;
use std::collections::BTreeSet;

/// Returns true if each of the stores of `function` at `spots` copies what an invocation has
/// loaded, and can be asynchronous once the barrier that publishes it no longer follows
/// immediately.
pub(super) fn are_copies(function: Input<'_, '_>, shape: &Shape<'_, '_>, spots: &[Spot]) -> bool {
    let found = async_copy::find(function);
    let waited = |reason| match reason {
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
    let refused = found.refused.iter().filter(|one| waited(one.reason));
    let stores: BTreeSet<WordOffset> = refused
        .map(|one| one.store)
        .chain(found.copies.iter().map(|copy| copy.store))
        .collect();
    let mut places = spots.iter().filter_map(|spot| shape.inst(*spot));
    places.all(|store| stores.contains(&store.offset))
}
