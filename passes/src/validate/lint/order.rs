//! Memory order that does not do what it seems to.
//!
//! A release orders what was written before it, and takes effect with the arrive: after the arrive
//! it is too late. An acquire takes effect after the wait: before it, it is too early (Vulkan
//! memory model, synchronizes-with of control barrier arrivals and waits). What the two sides order
//! is what both name.

use super::{Entry, name, site};
use crate::analysis::pairing::{Pair, Site, SiteId, SiteKind};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::facts::Class;
use crate::module::{Classes, Inst, Order, Scope, WordOffset};
use std::collections::HashMap;

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

/// Pairs whose arrive and wait name storage classes, but none in common.
pub(super) struct Disjoint<'d, 'e, 'm> {
    entry: &'d Entry<'e, 'm>,
    /// By what a wait looks like from its arrives (their set and the wait's classes): the first
    /// arrive that shares none. Many waits may have one set of many arrives. Looked up, never
    /// iterated.
    known: HashMap<(*const SiteId, u8), Option<&'d Site>>,
}

impl<'d, 'e, 'm> Disjoint<'d, 'e, 'm> {
    pub(super) fn new(entry: &'d Entry<'e, 'm>) -> Self {
        let known = HashMap::new();
        Disjoint { entry, known }
    }

    fn arrive(&mut self, wait: &Site) -> Option<&'d Site> {
        let entry = self.entry;
        let classes = bits(wait.semantics.classes);
        if wait.semantics.order == Order::Relaxed || classes == 0 {
            return None;
        }
        let arrives = entry.pairing.reaching_arrives(wait.id);
        let first = || {
            let mut sites = arrives.iter().filter_map(|id| site(entry, *id));
            sites.find(|arrive| apart(arrive, classes))
        };
        *self
            .known
            .entry((arrives.as_ptr(), classes))
            .or_insert_with(first)
    }

    pub(super) fn check(&mut self, pair: &Pair, diagnostics: &mut Diagnostics) {
        let entry = self.entry;
        for wait in pair.waits.iter().filter_map(|id| site(entry, *id)) {
            let Some(arrive) = self.arrive(wait) else {
                continue;
            };
            diagnostics.push(
                Diagnostic::warning(
                    Code::DisjointClasses,
                    format!(
                        "{} acquires only storage classes that its arrive does not release",
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
                    "a split barrier orders the storage classes that both sides name, and here they have none in common",
                )
                .help("name the same storage classes on both sides"),
            );
        }
    }
}

/// Returns true if the arrive orders memory, but none of the storage classes `of_wait`.
fn apart(arrive: &Site, of_wait: u8) -> bool {
    let classes = bits(arrive.semantics.classes);
    arrive.semantics.order != Order::Relaxed && classes != 0 && classes & of_wait == 0
}

/// OpMemoryBarriers on the wrong side of a relaxed arrive or wait.
pub(super) fn fences(entry: &Entry<'_, '_>, diagnostics: &mut Diagnostics) {
    let by_offset: HashMap<WordOffset, &Site> = entry
        .pairing
        .sites
        .iter()
        .map(|site| (site.offset, site))
        .collect(); // looked up, never iterated
    let relaxed = |offset: WordOffset, kind| {
        let site = by_offset.get(&offset)?;
        let split = site.kind == kind
            && site.execution == Some(Scope::Workgroup)
            && site.semantics.order == Order::Relaxed;
        split.then_some(offset)
    };
    for fence in &entry.pairing.sites {
        if fence.kind != SiteKind::MemoryBarrier
            || !fence.reachable
            || fence.function != entry.function.id
        {
            continue;
        }
        let order = fence.semantics.order;
        let after =
            neighbour(entry, fence, false).and_then(|offset| relaxed(offset, SiteKind::Arrive));
        let before =
            neighbour(entry, fence, true).and_then(|offset| relaxed(offset, SiteKind::Wait));
        let (what, side) = match (after, before) {
            (Some(arrive), _) if order.releases() && !order.acquires() => {
                ("release fence is after the arrive", arrive)
            }
            (_, Some(wait)) if order.acquires() && !order.releases() => {
                ("acquire fence is before the wait", wait)
            }
            _ => continue, // it may order something else
        };
        diagnostics.push(
            Diagnostic::warning(Code::FenceOutsideSplit, format!("the {what}, so the barrier does not order its accesses"))
                .at_word(entry.word(fence.offset))
                .because(format!("{} at word {} has no memory order; such a split barrier orders only a release fence before its arrive with an acquire fence after its wait", name(entry, side), entry.word(side)))
                .help("put the release fence before the arrive and the acquire fence after the wait, or set the memory orders of arrive and wait"),
        );
    }
}

/// The next instruction after (or before) the one of `site`, in its block, that is a barrier or
/// accesses memory.
fn neighbour<'m>(entry: &Entry<'_, 'm>, site: &Site, after: bool) -> Option<WordOffset> {
    let counts = |inst: &&Inst<'m>| {
        let facts = entry.declarations.facts(**inst);
        match facts.class {
            Class::Group(_) | Class::Exit | Class::Clock => false,
            _ => !facts.touches_no_memory(),
        }
    };
    let (before, from) = entry.around(site)?;
    let found = if after {
        from.iter().find(counts)
    } else {
        before.iter().rev().find(counts)
    };
    found.map(|inst| inst.offset)
}
