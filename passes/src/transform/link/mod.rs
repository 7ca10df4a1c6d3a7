//! Several modules made into one: what one imports becomes what another exports (SPIR-V 1.6,
//! decoration LinkageAttributes and section 3.17, "Linkage Type").
//!
//! | room | what it does |
//! |---|---|
//! | [`symbols`] | what each module imports and exports; who provides what |
//! | [`merge`] | new ids for all modules; types, constants and instruction sets that are equal get one |
//! | [`sections`] | the sections of a module, in their order |
//!
//! An import without a provider stays an import. A function or variable of linkage LinkOnceODR that
//! several modules bring is kept once.

mod conflict;
mod merge;
mod sections;
mod symbols;

use super::edit::{Edit, extend_interface_of};
use crate::diagnostic::Diagnostics;
use crate::module::{Declarations, Id, Module};
use conflict::conflict;
use merge::Merge;
use std::collections::BTreeSet;
use symbols::Symbols;

/// The first version whose entry points list all the module-scope variables that they use.
const ALL_VARIABLES: u32 = 0x0001_0400;

/// Links `modules`, in their order; one alone comes back as it is.
///
/// # Errors
/// `LinkConflict` where modules do not fit together: addressing or memory models, the types of an
/// import and its export, two exports of a name, two entry points of a name. What the modules
/// themselves declare wrongly is reported too.
pub fn link(modules: &[Module<'_>]) -> Result<Module<'static>, Diagnostics> {
    if let [one] = modules {
        return Ok(one.clone().into_owned());
    }
    let mut diagnostics = Diagnostics::new();
    let units: Vec<Declarations<'_>> = modules
        .iter()
        .map(|module| Declarations::new(module, &mut diagnostics))
        .collect();
    check(&units, &mut diagnostics);
    let symbols = Symbols::collect(&units, &mut diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    let mut merge = Merge::new(&units, &symbols);
    for unit in symbols.order(&units) {
        merge.globals(unit)?;
    }
    for unit in 0..units.len() {
        merge.functions(unit)?;
    }
    merge.check_types(&mut diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    complete_interfaces(merge.finish()?)
}

/// What has to be the same in all modules, or must not be.
fn check(units: &[Declarations<'_>], diagnostics: &mut Diagnostics) {
    let Some(first) = units.first() else {
        diagnostics.push(conflict("there is no module to link"));
        return;
    };
    let mut entries = BTreeSet::new();
    for (number, unit) in (1..).zip(units) {
        if (unit.addressing, unit.memory_model) != (first.addressing, first.memory_model) {
            diagnostics.push(
                conflict(format!(
                    "the addressing or memory model of module {number} is not that of module 1"
                ))
                .help("compile all modules for one environment"),
            );
        }
        for entry in &unit.entry_points {
            let model = entry.model.map(|model| model as u32);
            if !entries.insert((model, entry.name.clone())) {
                diagnostics.push(conflict(format!(
                    "module {number} has an entry point {} that an earlier module also has",
                    entry.name
                )));
            }
        }
    }
}

/// From version 1.4 on an entry point lists the variables of the functions that it calls, those of
/// other modules now too.
fn complete_interfaces(module: Module<'static>) -> Result<Module<'static>, Diagnostics> {
    if module.header().version < ALL_VARIABLES {
        return Ok(module);
    }
    let mut diagnostics = Diagnostics::new();
    let declarations = Declarations::new(&module, &mut diagnostics);
    let mut edit = Edit::new(&declarations);
    for entry in &declarations.entry_points {
        // A circle of calls is reported by who compiles the module.
        let Ok(functions) = declarations.reachable_functions(entry.function) else {
            continue;
        };
        let used: BTreeSet<u32> = functions
            .iter()
            .filter_map(|id| declarations.function(*id))
            .flat_map(|function| function.blocks.iter().flat_map(|block| &block.insts))
            .flat_map(|inst| module.ids(*inst))
            .map(|(_, id): (usize, Id)| id)
            .filter(|id| declarations.variable(*id).is_some())
            .map(|id| id.0)
            .collect();
        let used: Vec<u32> = used.into_iter().collect();
        extend_interface_of(&mut edit, entry, &used)?;
    }
    let edited = edit.finish()?;
    Ok(match edited {
        Some(edited) => edited.module,
        None => module,
    })
}
