//! A module as rules, plan and lowering see it: every barrier is in an entry function, and the
//! pairs are computed once.

use crate::analysis::cfg::Cfg;
use crate::analysis::pairing::Pairing;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{Constants, Declarations, EntryPoint, Id};
use std::collections::BTreeMap;

/// A module whose barrier functions were inlined.
#[derive(Debug)]
pub struct Program<'p> {
    declarations: &'p Declarations<'p>,
    constants: &'p Constants,
    /// By id.
    entries: BTreeMap<Id, Entry>,
}

/// What is known of an entry function.
#[derive(Debug)]
struct Entry {
    cfg: Cfg,
    pairing: Pairing,
    /// What the analysis of the pairing reported.
    found: Diagnostics,
}

impl<'p> Program<'p> {
    /// Analyses the module of `declarations`, with its own `constants` or those of the module that
    /// it was inlined from: inlining adds no constants. Pairs the barriers of every entry function.
    pub fn new(declarations: &'p Declarations<'p>, constants: &'p Constants) -> Self {
        let mut entries = BTreeMap::new();
        for entry in &declarations.entry_points {
            entries.entry(entry.function).or_insert_with(|| {
                let function = declarations.function(entry.function);
                let cfg = function.map(|function| Cfg::analyze(declarations.module, function));
                let cfg = cfg.unwrap_or_default();
                let mut found = Diagnostics::new();
                let pairing = Pairing::analyse_in(declarations, constants, entry, &cfg, &mut found);
                Entry {
                    cfg,
                    pairing,
                    found,
                }
            });
        }
        Program {
            declarations,
            constants,
            entries,
        }
    }

    /// The declarations of the module.
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
        let entry = self.entry(entry)?;
        Ok((&entry.pairing, &entry.found))
    }

    /// The control-flow graph of the function of `entry`, one of the module's entry points.
    ///
    /// # Errors
    /// As [`Program::pairing`].
    pub fn cfg(&self, entry: &EntryPoint<'_>) -> Result<&Cfg, Diagnostic> {
        Ok(&self.entry(entry)?.cfg)
    }

    fn entry(&self, entry: &EntryPoint<'_>) -> Result<&Entry, Diagnostic> {
        self.entries.get(&entry.function).ok_or_else(|| {
            Diagnostic::bug("the entry point is one of another module").at_word(entry.inst.offset)
        })
    }
}
