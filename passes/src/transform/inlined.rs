//! A module with its barriers inlined into entry functions, for passes that need the pairing of
//! arrives and waits.

use super::inline::{inline_barrier_functions, inline_functions};
use super::rewrite::RewrittenModule;
use crate::analysis::pairing::{Open, Pairing, SiteKind};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{
    Constants, Declarations, EntryPoint, Function, Module, Scope, SpecValues, WordOffset,
};
use std::collections::BTreeSet;

/// Runs `pass` on the module with its barrier functions inlined. When `pass` finds nothing to do
/// the module stays as it was, calls and all.
pub(super) fn inlined(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    pass: impl FnOnce(&Declarations<'_>) -> Result<Option<RewrittenModule>, Diagnostics>,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    match inline_barrier_functions(module, declarations)? {
        None => pass(declarations),
        Some(first) => follow(&first, pass),
    }
}

/// As [`inlined`], with all functions inlined.
pub(super) fn inlined_all(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    pass: impl FnOnce(&Declarations<'_>) -> Result<Option<RewrittenModule>, Diagnostics>,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    match inline_functions(module, declarations, |_| true)? {
        None => pass(declarations),
        Some(first) => follow(&first, pass),
    }
}

/// Runs `pass` on the module that `first` made.
pub(super) fn follow(
    first: &RewrittenModule,
    pass: impl FnOnce(&Declarations<'_>) -> Result<Option<RewrittenModule>, Diagnostics>,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let declarations = Declarations::of_made(&first.module, "inlining")?;
    let second =
        pass(&declarations).map_err(|problems| problems.moved(|word| first.source_map.of(word)))?;
    Ok(second.map(|second| RewrittenModule {
        source_map: second.source_map.through(&first.source_map),
        module: second.module,
    }))
}

/// Runs `pass` on the module that it made `first`, and again on what it makes, until it finds
/// nothing more to do or has run `most` times.
pub(super) fn repeat(
    first: Option<RewrittenModule>,
    most: usize,
    pass: impl Fn(&Declarations<'_>) -> Result<Option<RewrittenModule>, Diagnostics>,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let mut done = first;
    for _ in 0..most {
        let Some(first) = &done else {
            break;
        };
        match follow(first, &pass)? {
            Some(next) => done = Some(next),
            None => break,
        }
    }
    Ok(done)
}

/// Entry points and their functions, each function once.
pub(super) fn entries<'d, 'm>(
    declarations: &'d Declarations<'m>,
) -> Vec<(&'d EntryPoint<'m>, &'d Function<'m>)> {
    let mut seen = BTreeSet::new();
    declarations
        .entry_points
        .iter()
        .filter(|entry| seen.insert(entry.function))
        .filter_map(|entry| Some((entry, declarations.function(entry.function)?)))
        .collect()
}

/// Shows `look` every function whose pairs are known, with them: entry functions, and exported
/// functions that begin and end with nothing outstanding and have no wait of their caller's
/// arrives. Functions are to be inlined.
///
/// # Errors
/// What the pairing of an entry function has against it, and what `look` says.
pub(super) fn each_paired(
    declarations: &Declarations<'_>,
    mut look: impl FnMut(&Function<'_>, &Pairing) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let constants = Constants::evaluate(declarations, &SpecValues::default(), &mut diagnostics);
    let entries = entries(declarations);
    let mut done = BTreeSet::new();
    for (entry, function) in entries {
        let pairing = Pairing::analyse(declarations, &constants, entry, &mut diagnostics);
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        done.insert(function.id);
        look(function, &pairing)?;
    }
    for function in declarations
        .functions
        .iter()
        .filter(|function| !done.contains(&function.id))
    {
        if !function
            .syncs
            .iter()
            .filter_map(|inst| SiteKind::from_inst(*inst))
            .any(|kind| kind != SiteKind::MemoryBarrier)
        {
            continue;
        }
        let Some(inst) = declarations.module.at(function.offset) else {
            let missing = Diagnostic::bug("a function is not where it was found");
            return Err(missing.at_word(function.offset).into());
        };
        let entry = EntryPoint {
            model: None,
            function: function.id,
            name: String::new(),
            interface: Vec::new(),
            modes: Vec::new(),
            inst,
        };
        let mut found = Diagnostics::new();
        let pairing = Pairing::analyse(declarations, &constants, &entry, &mut found);
        let is_open = |offset: &WordOffset| {
            [Scope::Workgroup, Scope::Subgroup]
                .into_iter()
                .any(|scope| pairing.open_before(scope, *offset) != Open::Never)
        };
        // A wait that some path leads to without an arrive may be meant for an arrive of the
        // caller.
        let is_callers = pairing.sites.iter().any(|site| {
            site.kind == SiteKind::Wait
                && site.reachable
                && site
                    .execution
                    .is_some_and(|scope| pairing.open_before(scope, site.offset) != Open::Always)
        });
        if !found.has_errors() && !is_callers && !pairing.returns.iter().any(is_open) {
            look(function, &pairing)?;
        }
    }
    Ok(())
}
