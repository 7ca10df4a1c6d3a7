//! The pairs of arrives and waits, without a target.

use crate::compile::{Source, SourceSlots};
use crate::failure::Failure;
use splitbar_passes::analysis::pairing::SiteId;
use splitbar_passes::analysis::program::Program;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Declarations, Scope, SpecValues, WordOffset};
use splitbar_passes::validate::Inlined;

/// Arrives and waits that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitPair {
    /// The name of the entry point.
    pub entry: String,
    /// The number of the pair in its entry point.
    pub id: u32,
    /// The execution scope: Workgroup or Subgroup.
    pub scope: Scope,
    /// Word offsets of the arrives in the module; several where control flow joins.
    pub arrives: Vec<WordOffset>,
    /// Word offsets of the waits.
    pub waits: Vec<WordOffset>,
    /// Instructions between them that compute, read or write.
    pub operations: u32,
}

/// The pairs of the module in `bytes`, by entry point, in the order of their first arrives.
///
/// # Errors
/// What makes the module unreadable, or what no function can be inlined for.
pub fn pairs(bytes: &[u8], spec: &SpecValues) -> Result<Vec<SplitPair>, Failure> {
    let slots = SourceSlots::default();
    let source = Source::read(&slots, bytes, spec, None, &mut ())?;
    let inlined = Inlined::new(source.declarations)?;
    let mut found = Diagnostics::new();
    let after = inlined
        .edited()
        .map(|edited| Declarations::new(&edited.module, &mut found));
    if found.has_errors() {
        return Err(found.into());
    }
    let declarations = after.as_ref().unwrap_or(source.declarations);
    let program = Program::new(declarations, source.constants);
    let mut pairs = Vec::new();
    for entry in &declarations.entry_points {
        let (pairing, _) = program.pairing(entry)?;
        let words = |ids: &[SiteId]| {
            let sites = ids.iter().filter_map(|id| pairing.site(*id));
            let words = sites.map(|site| site.offset);
            let mut words: Vec<WordOffset> = words
                .filter_map(|word| match inlined.edited() {
                    Some(edited) => edited.source_map.of(word),
                    None => Some(word),
                })
                .collect();
            words.sort_unstable();
            words.dedup();
            words
        };
        pairs.extend(pairing.pairs.iter().map(|pair| SplitPair {
            entry: entry.name.to_string(),
            id: pair.id.0,
            scope: pair.scope,
            arrives: words(&pair.arrives),
            waits: words(&pair.waits),
            operations: u32::try_from(pair.operations(declarations.module)).unwrap_or(u32::MAX),
        }));
    }
    Ok(pairs)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_by_word() {
        let module = include_bytes!("../../../fixtures/kernels/reduction/reduction.spv");
        let pairs = pairs(module, &SpecValues::default()).unwrap();
        assert!(!pairs.is_empty());
        for pair in &pairs {
            assert_eq!(pair.entry, "main");
            assert!(!pair.arrives.is_empty() && !pair.waits.is_empty());
            let opcode = |word: &WordOffset| {
                module[word.index() * 4] as u32 | (u32::from(module[word.index() * 4 + 1]) << 8)
            };
            assert!(
                pair.arrives.iter().all(|word| opcode(word) == 6142),
                "{pair:?}"
            );
            assert!(
                pair.waits.iter().all(|word| opcode(word) == 6143),
                "{pair:?}"
            );
        }
        assert!(super::pairs(b"x", &SpecValues::default()).is_err());
    }
}
