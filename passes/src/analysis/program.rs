//! A module as rules, plan and lowering look at it: every barrier stands in an entry function, and
//! which of them belong together is worked out once.

use crate::analysis::pairing::Pairing;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{Constants, Declarations, EntryPoint, Id};
use std::collections::BTreeMap;

/// A module whose barrier functions were inlined.
#[derive(Debug)]
pub struct Program<'p> {
    declarations: &'p Declarations<'p>,
    constants: &'p Constants,
    /// By entry function, each with what its analysis reported.
    pairings: BTreeMap<Id, (Pairing, Diagnostics)>,
}

impl<'p> Program<'p> {
    /// The module behind `declarations`, with `constants` of its own or of the module that it was
    /// inlined from: inlining adds no constants. Analyses the pairing of every entry function.
    pub fn new(declarations: &'p Declarations<'p>, constants: &'p Constants) -> Self {
        let mut pairings = BTreeMap::new();
        for entry in &declarations.entry_points {
            pairings.entry(entry.function).or_insert_with(|| {
                let mut found = Diagnostics::new();
                let pairing = Pairing::analyse(declarations, constants, entry, &mut found);
                (pairing, found)
            });
        }
        Program {
            declarations,
            constants,
            pairings,
        }
    }

    /// What the module declares.
    pub fn declarations(&self) -> &'p Declarations<'p> {
        self.declarations
    }

    /// Its constants.
    pub fn constants(&self) -> &'p Constants {
        self.constants
    }

    /// The pairing of `entry`, one of the module's entry points, and what [`Pairing::analyse`]
    /// reported.
    ///
    /// # Errors
    /// `Internal` for an entry point of another module.
    pub fn pairing(&self, entry: &EntryPoint<'_>) -> Result<(&Pairing, &Diagnostics), Diagnostic> {
        let paired = self.pairings.get(&entry.function);
        let (pairing, found) = paired.ok_or_else(|| {
            Diagnostic::bug("the entry point is one of another module").at_word(entry.inst.offset)
        })?;
        Ok((pairing, found))
    }
}
