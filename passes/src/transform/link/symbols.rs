//! The imports and exports of modules, and the definition of each import.

use super::conflict;
use crate::diagnostic::Diagnostics;
use crate::module::{Declarations, Id, Inst};
use spirv::{Decoration, LinkageType, Op};
use std::collections::{BTreeMap, BTreeSet};

/// A function or variable of one of the modules.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Symbol {
    /// The module's number, from 0.
    pub(super) unit: usize,
    /// Its id there.
    pub(super) id: Id,
}

/// Who provides what.
#[derive(Default)]
pub(super) struct Symbols {
    /// What goes, and what stands in for it: imports with a provider, and definitions that an
    /// earlier module brings too.
    pub(super) replaced: BTreeMap<Symbol, Symbol>,
    /// The names of the symbols that stand in.
    pub(super) names: BTreeMap<Symbol, String>,
}

/// The name and linkage type of an OpDecorate LinkageAttributes.
fn linkage(inst: Inst<'_>) -> Option<(Id, String, LinkageType)> {
    let is_linkage = inst.op() == Some(Op::Decorate)
        && inst.operands().get(1) == Some(&(Decoration::LinkageAttributes as u32));
    if !is_linkage {
        return None;
    }
    let kind = LinkageType::from_u32(*inst.operands().last()?)?;
    Some((inst.id(0).ok()?, inst.string(2), kind))
}

impl Symbols {
    /// Finds a provider for every import.
    pub(super) fn collect(units: &[Declarations<'_>], diagnostics: &mut Diagnostics) -> Symbols {
        let mut provided: BTreeMap<String, (Symbol, LinkageType)> = BTreeMap::new();
        let mut symbols = Symbols::default();
        let mut imports = Vec::new();
        for (unit, declarations) in units.iter().enumerate() {
            for inst in declarations.module.instructions() {
                if inst.op() == Some(Op::Function) {
                    break;
                }
                let Some((id, name, kind)) = linkage(inst) else {
                    continue; // says nothing of linkage
                };
                let symbol = Symbol { unit, id };
                if kind == LinkageType::Import {
                    imports.push((symbol, name));
                    continue;
                }
                match provided.get(&name).copied() {
                    None => {
                        provided.insert(name, (symbol, kind));
                    }
                    Some((first, LinkageType::LinkOnceODR)) if kind == LinkageType::LinkOnceODR => {
                        symbols.replaced.insert(symbol, first);
                        symbols.names.insert(first, name);
                    }
                    Some(_) => diagnostics.push(
                        conflict(format!("two modules export {name}"))
                            .because(format!("module {} is the second", unit + 1)),
                    ),
                }
            }
        }
        for (import, name) in imports {
            if let Some((export, _)) = provided.get(&name)
                && export.unit != import.unit
            {
                symbols.replaced.insert(import, *export);
                symbols.names.insert(*export, name);
            }
        }
        symbols
    }

    /// The modules in an order in which variables are declared before other modules' globals name
    /// them, as far as there is one.
    pub(super) fn order(&self, units: &[Declarations<'_>]) -> Vec<usize> {
        let mut after: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (import, export) in &self.replaced {
            let is_variable = units
                .get(import.unit)
                .is_some_and(|unit| unit.variable(import.id).is_some());
            if is_variable {
                after.entry(import.unit).or_default().insert(export.unit);
            }
        }
        let mut rest: Vec<usize> = (0..units.len()).collect();
        let mut order = Vec::new();
        while !rest.is_empty() {
            let ready = |unit: &usize| {
                after
                    .get(unit)
                    .is_none_or(|others| others.iter().all(|other| !rest.contains(other)))
            };
            // None is ready where modules name each other's variables: the first one is taken.
            let next = rest.iter().position(ready).unwrap_or(0);
            order.push(rest.remove(next));
        }
        order
    }
}
