//! Inlining and pairing on the modules of the corpus.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../corpus/mod.rs"]
mod corpus;

use splitbar_passes::analysis::pairing::{Open, Pairing, SiteKind};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Constants, Declarations, Module, Scope, SpecValues};
use splitbar_passes::transform::inline::inline_barrier_functions;

fn declared<'m>(module: &'m Module<'m>, path: &str) -> Declarations<'m> {
    let mut diagnostics = Diagnostics::new();
    let declarations = Declarations::new(module, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{path}: {diagnostics}");
    declarations
}

/// Barriers of the entry points of a module, callees included, each call counted: what inlining
/// must not change.
fn barriers_by_calls(declarations: &Declarations<'_>) -> Vec<[usize; 3]> {
    let count = |entry: splitbar_passes::module::Id| {
        let mut by_function = std::collections::BTreeMap::new();
        for id in declarations.reachable_functions(entry).unwrap() {
            let mut sum = [0; 3];
            for inst in declarations.function(id).unwrap().insts() {
                let add: [usize; 3] = match inst.opcode() {
                    224 => [1, 0, 0],
                    6142 => [0, 1, 0],
                    6143 => [0, 0, 1],
                    57 => by_function[&inst.id(0).unwrap()],
                    _ => continue,
                };
                sum.iter_mut().zip(add).for_each(|(sum, add)| *sum += add);
            }
            by_function.insert(id, sum);
        }
        by_function[&entry]
    };
    declarations
        .entry_points
        .iter()
        .map(|entry| count(entry.function))
        .collect()
}

/// Numbers that look random and are the same every time (xorshift, Marsaglia 2003).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end).unwrap()).unwrap()
    }
}

/// Damages a module the way that keeps most of it readable: words of function bodies are swapped,
/// replaced by a neighbour or by a small number.
fn damage(words: &mut [u32], first: usize, numbers: &mut Numbers) {
    for _ in 0..1 + numbers.below(3) {
        let at = first + numbers.below(words.len() - first);
        let other = first + numbers.below(words.len() - first);
        match numbers.below(3) {
            0 => words.swap(at, other),
            1 => words[at] = words[other],
            _ => words[at] = u32::try_from(numbers.below(400)).unwrap(),
        }
    }
}

#[test]
fn damaged_modules_are_no_reason_to_panic() {
    let mut numbers = Numbers(0x5eed);
    let (mut read, mut sound, mut inlined) = (0, 0, 0);
    let small = corpus::modules()
        .unwrap()
        .into_iter()
        .filter(|file| file.bytes.len() < 12_000);
    for file in small.filter(|file| barriers_in_callees(&file.bytes)) {
        let module = Module::parse(&file.bytes).unwrap();
        let first = module
            .instructions()
            .find(|inst| inst.opcode() == 54)
            .unwrap()
            .offset
            .index();
        for _ in 0..60 {
            let mut words = module.words().to_vec();
            damage(&mut words, first, &mut numbers);
            let Ok(damaged) = Module::from_words(words) else {
                continue;
            };
            read += 1;
            let mut diagnostics = Diagnostics::new();
            let declarations = Declarations::new(&damaged, &mut diagnostics);
            let constants =
                Constants::evaluate(&declarations, &SpecValues::default(), &mut diagnostics);
            sound += usize::from(!diagnostics.has_errors());
            // What follows does not count on sound declarations: it may report, it must come back.
            inlined += usize::from(matches!(
                inline_barrier_functions(&damaged, &declarations),
                Ok(Some(_))
            ));
            for entry in &declarations.entry_points {
                let pairing = Pairing::analyse(&declarations, &constants, entry, &mut diagnostics);
                for site in &pairing.sites {
                    pairing.open_before(Scope::Workgroup, site.offset);
                    pairing.reaching_arrives(site.id);
                }
            }
        }
    }
    assert!(
        read > 100 && sound > 50 && inlined > 20,
        "the damage is too heavy to test anything: {read} read, {sound} sound, {inlined} inlined"
    );
}

fn barriers_in_callees(bytes: &[u8]) -> bool {
    let module = Module::parse(bytes).unwrap();
    let mut diagnostics = Diagnostics::new();
    let declarations = Declarations::new(&module, &mut diagnostics);
    matches!(
        inline_barrier_functions(&module, &declarations),
        Ok(Some(_))
    )
}

#[test]
fn every_module_is_inlined_and_paired() {
    let (mut inlined, mut pairs, mut dangling) = (0, 0, 0);
    for file in corpus::modules().unwrap() {
        let module = Module::parse(&file.bytes).unwrap();
        let declarations = declared(&module, &file.path);
        let edited = inline_barrier_functions(&module, &declarations).unwrap();
        let new = edited.as_ref().map_or(&module, |edited| &edited.module);
        let after = declared(new, &file.path);
        if let Some(edited) = &edited {
            inlined += 1;
            assert_eq!(
                barriers_by_calls(&after),
                barriers_by_calls(&declarations),
                "{}",
                file.path
            );
            assert!(
                inline_barrier_functions(new, &after).unwrap().is_none(),
                "{}: a second run changes something",
                file.path
            );
            for (new, old) in edited.source_map.iter() {
                assert!(
                    edited.module.at(new).is_some() && module.at(old).is_some(),
                    "{}: {new} from {old}",
                    file.path
                );
            }
        }
        let mut diagnostics = Diagnostics::new();
        let constants = Constants::evaluate(&after, &SpecValues::default(), &mut diagnostics);
        for entry in &after.entry_points {
            let pairing = Pairing::analyse(&after, &constants, entry, &mut diagnostics);
            pairs += pairing.pairs.len();
            dangling += pairing
                .pairs
                .iter()
                .filter(|pair| pair.waits.is_empty())
                .count();
            for site in pairing
                .sites
                .iter()
                .filter(|site| site.kind == SiteKind::Wait && site.reachable)
            {
                // The split twins have their arrive and wait in one block.
                assert_eq!(
                    pairing.open_before(site.execution.unwrap(), site.offset),
                    Open::Always,
                    "{}",
                    file.path
                );
            }
            for offset in &pairing.returns {
                assert_eq!(
                    pairing.open_before(Scope::Workgroup, *offset),
                    Open::Never,
                    "{}",
                    file.path
                );
            }
        }
        assert!(diagnostics.is_empty(), "{}: {diagnostics}", file.path);
    }
    assert_eq!((inlined, pairs, dangling), (161, 1734, 0));
}
