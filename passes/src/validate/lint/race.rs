//! Data races on workgroup memory inside of a window, in the simple cases.
//!
//! A pair orders what stands before the arrive with what stands after the wait. A load inside of
//! the window from a variable that invocations have written before the arrive, at an address of
//! another invocation, can see the old value.

use super::{Entry, site};
use crate::analysis::pairing::Pair;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::facts::Chain;
use crate::module::{Id, Inst, Scope};
use spirv::{Op, StorageClass};
use std::collections::BTreeMap;

/// The workgroup variable that an address is in, and the address.
fn target(entry: &Entry<'_, '_>, inst: Inst<'_>) -> Option<(Id, Id)> {
    if !matches!(inst.op(), Some(Op::Load | Op::Store)) {
        return None;
    }
    let pointer = inst.id(0).ok()?;
    let mut at = pointer;
    for _ in 0..8 {
        let def = entry.declarations.module.def(at)?;
        if def.op()? == Op::Variable {
            break;
        }
        at = plain_chain(def)?.base;
    }
    let variable = entry.declarations.variable(at)?;
    (variable.class == StorageClass::Workgroup).then_some((at, pointer))
}

/// The operands of a chain from a typed pointer to members and elements: the simple case.
fn plain_chain(inst: Inst<'_>) -> Option<Chain<'_>> {
    let chain = inst.chain()?;
    (chain.base_type.is_none() && chain.element.is_none()).then_some(chain)
}

/// Base and indices of an address; equal ones stand for the same element.
fn indices(entry: &Entry<'_, '_>, pointer: Id) -> Vec<u32> {
    let def = entry.declarations.module.def(pointer);
    let chain = def
        .and_then(plain_chain)
        .map(|chain| (chain.base.0, chain.indexes));
    chain.map_or_else(Vec::new, |(base, indexes)| [&[base], indexes].concat())
}

/// A store before the arrive in its block, with no barrier between, and a load of another element
/// in the window: in one block.
pub(super) fn check(entry: &Entry<'_, '_>, pair: &Pair, diagnostics: &mut Diagnostics) {
    if pair.scope != Scope::Workgroup
        || pair.waits.is_empty()
        || entry.size.is_some_and(|size| size == [1; 3])
    {
        return;
    }
    for arrive in pair
        .arrives
        .iter()
        .filter_map(|id| site(entry, *id))
        .filter(|site| site.reachable)
    {
        let Some((before, after)) = entry.around(arrive) else {
            continue;
        };
        let stores = Stores::collect(entry, before);
        let window = after.iter().take_while(|inst| !is_barrier(**inst));
        for inst in window {
            let Some((variable, pointer)) =
                target(entry, *inst).filter(|_| inst.op() == Some(Op::Load))
            else {
                continue;
            };
            let loaded = indices(entry, pointer);
            let Some(stored) = stores.elsewhere(variable, &loaded) else {
                continue;
            };
            // An element that the invocation has written itself is read safely, whatever its index
            // is called.
            if same_value(entry, stored, pointer) {
                continue;
            }
            let name = entry.original.name(variable).map_or_else(
                || variable.to_string(),
                |name| format!("{variable} ({name})"),
            );
            diagnostics.push(
                Diagnostic::warning(Code::WindowRace, format!("the workgroup variable {name} is read between the arrive and the wait"))
                    .at_word(entry.word(inst.offset))
                    .because(format!("it is written before the arrive at word {}; writes of other invocations become visible only after the wait", entry.word(arrive.offset)))
                    .help("move the load after the wait"),
            );
        }
    }
}

pub(super) fn is_barrier(inst: Inst<'_>) -> bool {
    crate::analysis::pairing::SiteKind::from_inst(inst).is_some()
}

/// Stores to workgroup variables since the last barrier: of each variable, the last one, and the
/// last one to another element than that.
struct Stores {
    by_variable: ByVariable,
}

/// Of each variable two stores: the pointer, and the constant indexes of the element.
type ByVariable = BTreeMap<Id, [Option<(Id, Vec<u32>)>; 2]>;

impl Stores {
    /// Of the instructions `before` an arrive, in its block.
    fn collect(entry: &Entry<'_, '_>, before: &[Inst<'_>]) -> Stores {
        let mut by_variable = ByVariable::new();
        let since = before.iter().rev().take_while(|inst| !is_barrier(**inst));
        for inst in since.filter(|inst| inst.op() == Some(Op::Store)) {
            let Some((variable, pointer)) = target(entry, *inst) else {
                continue;
            };
            let element = indices(entry, pointer);
            match by_variable.entry(variable).or_default() {
                [last @ None, _] => *last = Some((pointer, element)),
                [Some((_, last)), other @ None] if *last != element => {
                    *other = Some((pointer, element));
                }
                _ => {} // an element is told from these two
            }
        }
        Stores { by_variable }
    }

    /// The address of the last store to an element of `variable` whose indices are not `loaded`.
    fn elsewhere(&self, variable: Id, loaded: &[u32]) -> Option<Id> {
        let stores = self.by_variable.get(&variable)?.iter().flatten();
        let mut elsewhere = stores.filter(|(_, element)| element != loaded);
        elsewhere.next().map(|(pointer, _)| *pointer)
    }
}

/// Returns true if the indices of two addresses are loads of the same variable, or the same ids.
fn same_value(entry: &Entry<'_, '_>, a: Id, b: Id) -> bool {
    let (a, b) = (indices(entry, a), indices(entry, b));
    let key = |id: u32| match entry.declarations.module.def(Id(id)) {
        Some(inst) if inst.op() == Some(Op::Load) => inst.operands().first().copied().unwrap_or(id),
        _ => id, // compared as it is
    };
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| key(*a) == key(*b))
}
