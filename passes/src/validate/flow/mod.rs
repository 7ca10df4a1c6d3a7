//! The common input of the run-time rules: an entry point with its barrier functions inlined, its
//! values, its control flow, and its sites.
//!
//! Needs declarations without errors. Offsets and ids in diagnostics are those of the module that
//! was given, not of the one with inlined functions.

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod against_paths;
mod entry;
pub(super) mod explain;
pub(super) mod paths;
pub mod rules;
mod severity;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod testing;
pub(super) mod trace;

use super::{Inlined, Settings};
use crate::analysis::pairing::SiteKind;
use crate::analysis::program::Program;
use crate::analysis::uniformity::memory::Memory;
use crate::diagnostic::Diagnostics;
use crate::module::{Constants, Declarations, Scope};
use entry::stops;
pub(super) use entry::{Entry, Event, SCOPES};
pub(super) use severity::severity;
use std::collections::BTreeSet;

/// Checks the run-time rules of every entry point: uniform control flow
/// (VUID-RuntimeSpirv-OpControlBarrierArriveEXT-13558; SPIR-V, OpControlBarrier), pairing (13559 to
/// 13561), and what the lints know. Of `settings` it takes whether what can be neither proved nor
/// refuted is an error, and whether specialization constants that were given no value have their
/// defaults.
///
/// An error says that every execution breaks the rule, a warning that some may. Control flow is
/// looked at where a module has split barriers, or control barriers that are conditional or in a
/// loop. When barrier functions cannot be inlined (recursion), nothing is said here.
///
/// Modules that break static rules are looked at as well: a barrier with an operand that is wrong
/// is left to those rules, and what depends on it is not guessed.
pub fn check(
    declarations: &Declarations<'_>,
    constants: &Constants,
    settings: &Settings,
    diagnostics: &mut Diagnostics,
) {
    if !has_barriers(declarations) {
        return;
    }
    let Ok(inlined) = Inlined::new(declarations) else {
        return; // what cannot be inlined is refused by those who lower
    };
    let after = inlined.edited().map(|edited| {
        // What a pass leaves can be read.
        Declarations::new(&edited.module, &mut Diagnostics::new())
    });
    let program = Program::new(after.as_ref().unwrap_or(declarations), constants);
    check_program(&inlined, &program, settings, diagnostics);
}

fn has_barriers(declarations: &Declarations<'_>) -> bool {
    let functions = declarations.functions.iter();
    let mut syncs = functions.flat_map(|function| &function.syncs);
    syncs.any(|inst| SiteKind::from_inst(*inst).is_some_and(stops))
}

/// As [`check`], of a module that was inlined already.
pub(super) fn check_program(
    inlined: &Inlined<'_>,
    program: &Program<'_>,
    settings: &Settings,
    diagnostics: &mut Diagnostics,
) {
    if !has_barriers(inlined.original()) {
        return;
    }
    let without_defaults;
    let fixed = if settings.assume_default_spec {
        program.constants()
    } else {
        without_defaults = program.constants().without_defaults();
        &without_defaults
    };
    let strict = settings.strict;
    let (declarations, original) = (program.declarations(), inlined.original());
    let source_map = inlined.edited().map(|edited| &edited.source_map);
    let memory = Memory::analyze(declarations);
    let mut seen = BTreeSet::new();
    for entry in &declarations.entry_points {
        // Entry points that share a function share its execution modes, and so all that is said of
        // it.
        if !seen.insert(entry.function) {
            continue;
        }
        let entry = Entry::analyze(
            program,
            fixed,
            original,
            source_map,
            &memory,
            entry,
            diagnostics,
        );
        let Some(entry) = entry else {
            continue;
        };
        let paths = paths::Paths::analyze(&entry);
        let proved = entry.events.iter().enumerate().all(|(site, event)| {
            !paths.is_broken(site)
                && (event.scope != Scope::Workgroup
                    || entry.uniformity.block(event.block).is_none())
        });
        let trace = if proved {
            None
        } else {
            Some(trace::Trace::analyze(&entry))
        };
        for offset in &entry.open_scopes {
            diagnostics.push(severity(entry.open_scope(*offset), false, strict));
        }
        super::uniform::check(&entry, trace.as_ref(), strict, diagnostics);
        if entry.has_all_events {
            super::pairs::check(&entry, &paths, trace.as_ref(), strict, diagnostics);
        }
        if entry.has_all_sites {
            super::lint::check(&entry, &paths, diagnostics);
        }
    }
}
