//! Lints: code that is legal, but probably a mistake or expensive.

mod counted;
mod order;
mod race;
mod site;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod write;

use super::flow::Entry;
use super::flow::paths::Paths;
use crate::analysis::pairing::{Pair, SiteId, SiteKind};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use crate::module::{Scope, WordOffset};
use site::{name, site};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(entry: &Entry<'_, '_>, paths: &Paths, diagnostics: &mut Diagnostics) {
    let pairs = &entry.pairing.pairs;
    let mut of_scope: BTreeMap<Scope, usize> = BTreeMap::new();
    for pair in pairs {
        *of_scope.entry(pair.scope).or_default() += 1;
    }
    let before_barriers = entry.pairing.arrives_before_barriers();
    let mut order = order::Disjoint::new(entry);
    for pair in pairs {
        dangling(
            entry,
            paths,
            pair,
            of_scope.get(&pair.scope) == Some(&1),
            diagnostics,
        );
        empty(entry, pair, &before_barriers, diagnostics);
        order.check(pair, diagnostics);
        race::check(entry, pair, diagnostics);
    }
    write::check(entry, diagnostics);
    inside(entry, diagnostics);
    order::fences(entry, diagnostics);
}

fn note(code: Code, message: impl Into<String>) -> Diagnostic {
    Diagnostic {
        severity: Severity::Note,
        ..Diagnostic::error(code, message)
    }
}

/// An arrive without a wait. It is legal; the lowering completes the barrier at the end of the
/// shader, and it orders nothing. `is_alone` is true if the pair is the only one of its scope.
fn dangling(
    entry: &Entry<'_, '_>,
    paths: &Paths,
    pair: &Pair,
    is_alone: bool,
    diagnostics: &mut Diagnostics,
) {
    let first = pair
        .arrives
        .iter()
        .filter_map(|id| site(entry, *id))
        .find(|site| site.reachable);
    let Some(arrive) = first else { return };
    let word = entry.word(arrive.offset);
    let name = name(entry, arrive.offset);
    let problem = if pair.waits.is_empty() {
        Diagnostic::warning(Code::DanglingArrive, format!("{name} has no wait")).because(
            "Vulkan allows an arrive without a wait, but earlier writes of other invocations do not become visible to this one",
        )
    } else if is_alone && paths.may_dangle(pair.scope) {
        note(
            Code::DanglingArrive,
            format!("{name} has no wait on some paths"),
        )
        .because("Vulkan allows it: the barrier completes when the shader ends")
    } else {
        return;
    };
    diagnostics.push(
        problem
            .at_word(word)
            .help("wait before the shader ends, or remove the arrive"),
    );
}

/// A window without work, where the split gains nothing. `before_barriers` are the arrives that
/// control barriers follow.
fn empty(
    entry: &Entry<'_, '_>,
    pair: &Pair,
    before_barriers: &BTreeSet<SiteId>,
    diagnostics: &mut Diagnostics,
) {
    let works = |offset: &WordOffset| {
        entry.declarations.module.at(*offset).is_some_and(|inst| {
            !matches!(
                inst.op(),
                Some(
                    spirv::Op::Branch
                        | spirv::Op::SelectionMerge
                        | spirv::Op::LoopMerge
                        | spirv::Op::Phi
                        | spirv::Op::Nop
                )
            )
        })
    };
    let (Some(arrive), false) = (
        pair.arrives.first().and_then(|id| site(entry, *id)),
        pair.waits.is_empty(),
    ) else {
        return;
    };
    if pair.window.iter().any(works) || !arrive.reachable {
        return;
    }
    if pair
        .arrives
        .iter()
        .any(|arrive| before_barriers.contains(arrive))
    {
        return;
    }
    diagnostics.push(
        note(Code::EmptyWindow, format!("there is no work between {} and its wait", name(entry, arrive.offset)))
            .at_word(entry.word(arrive.offset))
            .because("a split barrier hides latency with the work in its window; with an empty window it is a full barrier in two instructions")
            .help("move independent work into the window, or use OpControlBarrier"),
    );
}

/// A control barrier while a split barrier is open.
fn inside(entry: &Entry<'_, '_>, diagnostics: &mut Diagnostics) {
    for site in &entry.pairing.sites {
        if site.kind != SiteKind::ControlBarrier
            || !site.reachable
            || entry.pairing.reaching_arrives(site.id).is_empty()
        {
            continue;
        }
        diagnostics.push(
            note(Code::BarrierInWindow, "OpControlBarrier is between an arrive and its wait")
                .at_word(entry.word(site.offset))
                .because("it is legal, but a target with one barrier object for each workgroup must complete the split barrier first, so the window has no effect")
                .help("move it before the arrive or after the wait, or remove it if the split barrier is enough"),
        );
    }
}
