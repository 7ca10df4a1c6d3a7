//! What every pass keeps: names of ids that are still there, and the source line of every
//! instruction that it copies.

use super::support::{FLAGS, declared, instruments, kernels, once};
use splitbar_passes::module::{Id, Inst, Module};
use std::collections::BTreeMap;

const NAME: u16 = 5;
const STRING: u16 = 7;
const LINE: u16 = 8;
const FUNCTION: u16 = 54;
const FUNCTION_PARAMETER: u16 = 55;
const FUNCTION_END: u16 = 56;
const VARIABLE: u16 = 59;
const PHI: u16 = 245;
const LABEL: u16 = 248;

/// The module with a line of its own for every instruction of every body.
fn with_lines(module: &Module<'_>) -> Module<'static> {
    let file = module.header().bound;
    let mut words = module.words()[..5].to_vec();
    words[3] += 1;
    let (mut named, mut inside) = (false, false);
    for inst in module.instructions() {
        // Strings stand in front of names (SPIR-V 2.4).
        if inst.opcode() == NAME && !named {
            words.extend([
                3 << 16 | u32::from(STRING),
                file,
                u32::from_le_bytes(*b"a.c\0"),
            ]);
            named = true;
        }
        let opcode = inst.opcode();
        inside |= opcode == FUNCTION;
        let stands_alone = [
            FUNCTION,
            FUNCTION_PARAMETER,
            FUNCTION_END,
            LABEL,
            VARIABLE,
            PHI,
        ];
        if named && inside && !stands_alone.contains(&opcode) {
            words.extend([4 << 16 | u32::from(LINE), file, inst.offset.get(), 1]);
        }
        words.extend(inst.words);
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Module::parse(&bytes).unwrap().into_owned()
}

fn names(module: &Module<'_>) -> BTreeMap<Id, String> {
    let names = module.instructions().filter(|inst| inst.opcode() == NAME);
    names
        .map(|inst: Inst<'_>| (inst.id(0).unwrap(), inst.string(1)))
        .collect()
}

#[test]
fn names_and_lines_are_kept() {
    let mut compared: BTreeMap<&str, usize> = BTreeMap::new();
    for input in kernels() {
        let module = with_lines(&Module::parse(&input.bytes).unwrap());
        let before = declared(&module, &input.path);
        let mut flags = FLAGS.to_vec();
        flags.extend(instruments(&before));
        for flag in flags {
            let context = format!("{flag} on {}", input.path);
            let Some(edited) = once(flag, &before, &context) else {
                continue;
            };
            let after = declared(&edited.module, &context);
            let new_names = names(&edited.module);
            for (id, name) in names(&module) {
                let is_there = edited.module.def(id).is_some();
                assert!(
                    !is_there || new_names.get(&id) == Some(&name),
                    "{context}: {id} was {name}"
                );
            }
            for (new, old) in edited.source_map.iter() {
                let (new, old) = (edited.module.at(new).unwrap(), module.at(old).unwrap());
                if new.opcode() != old.opcode() || new.opcode() == LINE {
                    continue; // stands in for another one
                }
                let position = before.source_position(old.offset);
                if position.is_some() {
                    assert_eq!(
                        after.source_position(new.offset),
                        position,
                        "{context}: {}",
                        new.name()
                    );
                    *compared.entry(flag).or_default() += 1;
                }
            }
        }
    }
    assert!(
        compared.len() >= 6 && compared.values().all(|count| *count > 30),
        "{compared:?}"
    );
}
