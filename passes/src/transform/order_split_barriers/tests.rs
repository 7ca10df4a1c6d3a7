//! Runs of the cases of `fixtures/passes` before and after: the same stores, and no barrier in an
//! open pair.

use super::*;
use crate::analysis::testing::declared;
use crate::transform::cases::cases;
use crate::transform::inline::interpret::{Deed, Machine};

const ARRIVE: u16 = 6142;
const WAIT: u16 = 6143;
const BARRIER: u16 = 224;

/// Compares runs of a module with those of what the pass makes of it.
fn compare(old: &Module<'_>, cond: crate::module::Id, name: &str) {
    let (before, _) = declared(old);
    let mut found = Diagnostics::new();
    let edited = super::run(old, &before, &PassOptions::None, &mut found).unwrap();
    let edited = edited.unwrap_or_else(|| panic!("{name}: nothing was done"));
    let (after, _) = declared(&edited.module);
    let stores = |deeds: &[Deed]| {
        let stores = deeds.iter().filter(|deed| matches!(deed, Deed::Store(_)));
        stores.copied().collect::<Vec<_>>()
    };
    let many = |deeds: &[Deed], opcode| {
        let barriers = deeds.iter();
        barriers
            .filter(|deed| **deed == Deed::Barrier(opcode))
            .count()
    };
    for value in 0..3 {
        let first = Machine::run(&before, cond, value);
        let second = Machine::run(&after, cond, value);
        assert_eq!(stores(&first), stores(&second), "{name}");
        for opcode in [ARRIVE, BARRIER] {
            let (first, second) = (many(&first, opcode), many(&second, opcode));
            assert_eq!(first, second, "{opcode} {name}");
        }
        let (arrives, waits) = (many(&second, ARRIVE), many(&second, WAIT));
        assert_eq!(arrives, waits, "{name}: every arrive is waited for");
        let mut open = false;
        for deed in &second {
            let allowed = match deed {
                Deed::Barrier(ARRIVE) => !std::mem::replace(&mut open, true),
                Deed::Barrier(WAIT) => std::mem::replace(&mut open, false),
                Deed::Barrier(_) => !open,
                Deed::Store(_) => true,
            };
            assert!(allowed, "{name} with {value}: {second:?}");
        }
    }
}

#[test]
fn runs_are_the_same_and_pairs_are_closed() {
    let mut compared = 0;
    for (name, case) in cases("order-split-barriers") {
        // The others read what the interpreter has not.
        if let Some(cond) = case.names.get("cond") {
            compare(&case.module().unwrap(), *cond, &name);
            compared += 1;
        }
    }
    assert!(compared >= 6, "{compared} cases");
}
