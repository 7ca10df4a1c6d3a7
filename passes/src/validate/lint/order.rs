//! Memory order that does not do what it seems to.
//!
//! A release orders what was written before it, and takes effect with the arrive: after the arrive it is too late. An acquire takes effect
//! after the wait: before it, it is too early (Vulkan memory model, synchronizes-with of control barrier arrivals and waits). What
//! the two sides order is what both name.

use super::{Entry, name, site};
use crate::analysis::pairing::{Pair, Site, SiteKind};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::{Classes, Function, Inst, Order, Scope};
use spirv::Op;

fn bits(classes: Classes) -> u8 {
    let flags = [
        classes.uniform,
        classes.workgroup,
        classes.cross_workgroup,
        classes.image,
        classes.output,
    ];
    flags.iter().fold(0, |bits, set| bits << 1 | u8::from(*set))
}

/// Sides that name storage classes, and none that both name.
pub(super) fn disjoint(entry: &Entry<'_, '_>, pair: &Pair, diagnostics: &mut Diagnostics) {
    for wait in pair.waits.iter().filter_map(|id| site(entry, *id)) {
        let arrives = entry
            .pairing
            .reaching_arrives(wait.id)
            .iter()
            .filter_map(|id| site(entry, *id));
        let Some(arrive) = arrives.into_iter().find(|arrive| apart(arrive, wait)) else {
            continue;
        };
        diagnostics.push(
            Diagnostic::warning(
                Code::DisjointClasses,
                format!(
                    "{} acquires other storage classes than its arrive releases",
                    name(entry, wait.offset)
                ),
            )
            .at_word(entry.word(wait.offset))
            .because(format!(
                "the arrive at word {} has {}, the wait has {}",
                entry.word(arrive.offset),
                arrive.semantics,
                wait.semantics
            ))
            .because(
                "memory is ordered for the storage classes that both sides name: for none here",
            )
            .help("name the same storage classes on both sides"),
        );
    }
}

fn apart(arrive: &Site, wait: &Site) -> bool {
    let (a, b) = (bits(arrive.semantics.classes), bits(wait.semantics.classes));
    arrive.semantics.order != Order::Relaxed
        && wait.semantics.order != Order::Relaxed
        && a != 0
        && b != 0
        && a & b == 0
}

/// OpMemoryBarriers on the wrong side of a relaxed arrive or wait.
pub(super) fn fences(entry: &Entry<'_, '_>, diagnostics: &mut Diagnostics) {
    for fence in &entry.pairing.sites {
        if fence.kind != SiteKind::MemoryBarrier
            || !fence.reachable
            || fence.function != entry.function.id
        {
            continue;
        }
        let order = fence.semantics.order;
        let after = neighbour(entry.function, fence.offset, false)
            .and_then(|offset| relaxed(entry, offset, SiteKind::Arrive));
        let before = neighbour(entry.function, fence.offset, true)
            .and_then(|offset| relaxed(entry, offset, SiteKind::Wait));
        let (what, side) = match (after, before) {
            (Some(arrive), _) if order.releases() && !order.acquires() => {
                ("release fence stands after the arrive", arrive)
            }
            (_, Some(wait)) if order.acquires() && !order.releases() => {
                ("acquire fence stands before the wait", wait)
            }
            _ => continue, // it may order something else
        };
        diagnostics.push(
            Diagnostic::warning(Code::FenceOutsideSplit, format!("the {what} and orders nothing through this barrier"))
                .at_word(entry.word(fence.offset))
                .because(format!("{} at word {} is relaxed, and a split barrier orders what is released before its arrive with what is acquired after its wait", name(entry, side), entry.word(side)))
                .help("put the release before the arrive and the acquire after the wait, or give the order to the barrier itself"),
        );
    }
}

/// The next instruction after (or before) the one at `offset`, in its block, that is a barrier or accesses memory.
fn neighbour(function: &Function<'_>, offset: u32, after: bool) -> Option<u32> {
    let counts = |inst: &&Inst<'_>| {
        SiteKind::of(**inst).is_some()
            || inst.op().is_some_and(|op| {
                matches!(
                    op,
                    Op::Load
                        | Op::Store
                        | Op::FunctionCall
                        | Op::CopyMemory
                        | Op::ImageRead
                        | Op::ImageWrite
                ) || matches!(op as u32, 227..=242)
            })
    };
    for block in &function.blocks {
        let Some(place) = block.insts.iter().position(|inst| inst.offset == offset) else {
            continue;
        };
        let (before, from) = block.insts.split_at_checked(place)?;
        let found = if after {
            from.iter().skip(1).find(counts)
        } else {
            before.iter().rev().find(counts)
        };
        return found.map(|inst| inst.offset);
    }
    None
}

fn relaxed(entry: &Entry<'_, '_>, offset: u32, kind: SiteKind) -> Option<u32> {
    let site = entry
        .pairing
        .sites
        .iter()
        .find(|site| site.offset == offset)?;
    let split = site.kind == kind
        && site.execution == Some(Scope::Workgroup)
        && site.semantics.order == Order::Relaxed;
    split.then_some(offset)
}
