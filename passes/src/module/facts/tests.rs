//! The table against the grammar, and the questions to it.
#![allow(clippy::unwrap_used)]

use super::{Access, Calls, Class, Extent, Facts, Operand, Role, core};
use crate::analysis::testing::{assemble, declared};
use crate::module::{Inst, WordOffset, grammar};
use rspirv::grammar::OperandKind;
use std::collections::BTreeMap;

#[test]
fn every_opcode_of_the_grammar_has_one_row() {
    let mut rows: BTreeMap<u16, u32> = BTreeMap::new();
    for (opcode, _) in core::rows() {
        *rows.entry(opcode).or_default() += 1;
    }
    for opcode in 0..=u16::MAX {
        let is_known = grammar::pattern(opcode).is_some();
        let expected = u32::from(is_known);
        let found = rows.get(&opcode).copied().unwrap_or(0);
        assert_eq!(found, expected, "{}", grammar::name(opcode));
    }
}

#[test]
fn operands_of_rows_are_ids() {
    for (opcode, facts) in core::rows() {
        let pattern = grammar::pattern(opcode).unwrap();
        let operands: Vec<OperandKind> = pattern
            .iter()
            .map(|operand| operand.kind)
            .filter(|kind| !matches!(kind, OperandKind::IdResultType | OperandKind::IdResult))
            .collect();
        let kind = |operand: u8| operands.get(usize::from(operand));
        let name = grammar::name(opcode);
        for access in facts.accesses {
            assert_eq!(kind(access.operand), Some(&OperandKind::IdRef), "{name}");
            if let Extent::Bytes(operand) | Extent::Elements(operand) = access.extent {
                assert_eq!(kind(operand), Some(&OperandKind::IdRef), "{name}");
            }
        }
        if let Calls::Once(operand) = facts.calls {
            assert_eq!(kind(operand), Some(&OperandKind::IdRef), "{name}");
        }
    }
}

/// The grammar knows which instructions have semantics or memory operands: their rows may not say
/// that they are values.
#[test]
fn rows_agree_with_the_grammar() {
    for (opcode, facts) in core::rows() {
        let shape = grammar::shape(opcode);
        let name = grammar::name(opcode);
        let has = |kind| {
            grammar::pattern(opcode)
                .unwrap()
                .iter()
                .any(|one| one.kind == kind)
        };
        if has(OperandKind::IdMemorySemantics) {
            assert!(facts.is_synchronizing(), "{name}");
            assert!(shape.sync.semantics.is_some(), "{name}");
        }
        let is_lowered = !matches!(facts.class, Class::Declaration | Class::Refused(_));
        if has(OperandKind::IdScope) && is_lowered {
            let has_scope = shape.sync.execution.or(shape.sync.memory).is_some();
            assert!(has_scope || matches!(facts.class, Class::Clock), "{name}");
        }
        if has(OperandKind::MemoryAccess) && !matches!(facts.class, Class::Refused(_)) {
            let accesses = matches!(
                facts.class,
                Class::Memory | Class::AsyncCopy | Class::Marker
            );
            assert!(accesses, "{name}");
        }
        assert_eq!(
            shape.is_terminator,
            matches!(facts.class, Class::Exit | Class::Branch)
                || (shape.is_terminator && matches!(facts.class, Class::Refused(_))),
            "{name}"
        );
        let reads_or_writes = facts.accesses.iter().any(|one| one.role != Role::Forward);
        let may = matches!(
            facts.class,
            Class::Memory | Class::Atomic(_) | Class::AsyncCopy | Class::Sample
        );
        assert_eq!(reads_or_writes, may, "{name}");
    }
}

#[test]
fn pointers_of_unknown_instructions_are_read_and_written() {
    let words = [2 << 16 | 0xfffe, 1];
    let inst = Inst {
        offset: WordOffset::FIRST,
        words: &words,
    };
    assert_eq!(inst.facts(), &Facts::UNKNOWN);
    // An extended set that is not known, with the pointer %out and a value.
    let module = assemble(
        "%set = OpExtInstImport 'Other.set'\n",
        "%main = OpFunction %void 0 %fn\n%entry = OpLabel\n%a = OpExtInst %uint %set 7 %out %u1\nOpReturn\nOpFunctionEnd",
    );
    let (declarations, _) = declared(&module.module);
    let function = declarations.function(module.id("main")).unwrap();
    let extended = function
        .insts()
        .find(|inst| inst.facts().class == Class::Extended)
        .unwrap();
    let mut found = Vec::new();
    declarations.accesses(extended, |id, access| found.push((id, access)));
    let unknown = Access {
        operand: 0,
        role: Role::Update,
        kind: Operand::Pointer,
        extent: Extent::Any,
    };
    assert_eq!(found, [(module.id("out"), unknown)]);
    assert!(!declarations.facts(extended).is_described());
}
