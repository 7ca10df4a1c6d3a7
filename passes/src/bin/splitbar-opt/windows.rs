//! Counts the instructions in the windows of a module's barriers.

use splitbar_passes::analysis::pairing::SiteKind;
use splitbar_passes::analysis::program::Program;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Constants, Declarations, Module, Scope, SpecValues, WordOffset};
use std::fmt::Write;

/// A line for each barrier of the workgroup in each entry point: instructions in its window, how
/// many arrives and waits it is (none: it is an OpControlBarrier, and has no window), the word
/// where it begins, the entry point. Functions that contain barriers have to be inlined.
pub(crate) fn report(module: &Module<'_>) -> String {
    let mut ignored = Diagnostics::new();
    let declarations = Declarations::new(module, &mut ignored);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut ignored);
    let program = Program::new(&declarations, &constants);
    let mut text = format!(
        "{:>12}  {:>7}  {:>5}  {:>8}  entry point\n",
        "instructions", "arrives", "waits", "word"
    );
    for entry in &declarations.entry_points {
        let Ok((pairing, _)) = program.pairing(entry) else {
            continue; // reported when the module was read
        };
        let place = |id: &splitbar_passes::analysis::pairing::SiteId| {
            pairing
                .site(*id)
                .map_or(WordOffset::default(), |site| site.offset)
        };
        let pairs = pairing.pairs.iter();
        let pairs = pairs
            .filter(|pair| pair.scope == Scope::Workgroup)
            .map(|pair| {
                let word = pair.arrives.first().map(place).unwrap_or_default();
                (
                    word,
                    pair.operations(module),
                    pair.arrives.len(),
                    pair.waits.len(),
                )
            });
        let whole = pairing.sites.iter().filter(|site| {
            site.kind == SiteKind::ControlBarrier && site.execution == Some(Scope::Workgroup)
        });
        let mut lines: Vec<_> = pairs
            .chain(whole.map(|site| (site.offset, 0, 0, 0)))
            .collect();
        lines.sort_unstable();
        for (word, operations, arrives, waits) in lines {
            let _ = writeln!(
                text,
                "{operations:>12}  {arrives:>7}  {waits:>5}  {word:>8}  {}",
                entry.name
            );
        }
    }
    text
}
