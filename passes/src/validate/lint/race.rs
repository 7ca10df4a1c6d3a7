//! Data races on workgroup memory inside of a window, in the simple cases.
//!
//! A pair orders what stands before the arrive with what stands after the wait. A load inside of the window from a variable that invocations
//! have written before the arrive, at an address of another invocation, can see the old value.

use super::{Entry, site};
use crate::analysis::pairing::Pair;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::{Block, Id, Inst, Scope};
use spirv::{Op, StorageClass};

/// The workgroup variable that an address is in, and the address.
fn target(entry: &Entry<'_, '_>, inst: Inst<'_>) -> Option<(Id, Id)> {
    if !matches!(inst.op(), Some(Op::Load | Op::Store)) {
        return None;
    }
    let pointer = inst.id(0).ok()?;
    let mut at = pointer;
    for _ in 0..8 {
        let def = entry.declarations.module.def(at)?;
        match def.op()? {
            Op::Variable => break,
            Op::AccessChain | Op::InBoundsAccessChain => at = def.id(0).ok()?,
            _ => return None, // not a simple case
        }
    }
    let variable = entry.declarations.variable(at)?;
    (variable.class == StorageClass::Workgroup).then_some((at, pointer))
}

/// Indices of an address; equal ones stand for the same element.
fn indices(entry: &Entry<'_, '_>, pointer: Id) -> Vec<u32> {
    let def = entry.declarations.module.def(pointer);
    def.filter(|def| matches!(def.op(), Some(Op::AccessChain | Op::InBoundsAccessChain)))
        .map_or_else(Vec::new, |def| def.operands().to_vec())
}

/// A store before the arrive in its block, with no barrier between, and a load of another element in the window: in one block.
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
        let Some(block) = entry
            .function
            .blocks
            .iter()
            .find(|block| block.label == arrive.block)
        else {
            continue;
        };
        let stores = stores_before(entry, block, arrive.offset);
        let window = block
            .insts
            .iter()
            .skip_while(|inst| inst.offset <= arrive.offset)
            .take_while(|inst| !is_barrier(**inst));
        for inst in window {
            let Some((variable, pointer)) =
                target(entry, *inst).filter(|_| inst.op() == Some(Op::Load))
            else {
                continue;
            };
            let loaded = indices(entry, pointer);
            let Some((_, stored)) = stores.iter().find(|(written, address)| {
                *written == variable && indices(entry, *address) != loaded
            }) else {
                continue;
            };
            // An element that the invocation has written itself is read safely, whatever its index is called.
            if same_value(entry, *stored, pointer) {
                continue;
            }
            let name = entry.original.name(variable).map_or_else(
                || variable.to_string(),
                |name| format!("{variable} ({name})"),
            );
            diagnostics.push(
                Diagnostic::warning(Code::WindowRace, format!("the workgroup variable {name} is read between the arrive and the wait"))
                    .at_word(entry.word(inst.offset))
                    .because(format!("it is written before the arrive at word {}; what other invocations write there is visible only after the wait", entry.word(arrive.offset)))
                    .help("move the load after the wait"),
            );
        }
    }
}

fn is_barrier(inst: Inst<'_>) -> bool {
    crate::analysis::pairing::SiteKind::of(inst).is_some()
}

fn stores_before(entry: &Entry<'_, '_>, block: &Block<'_>, arrive: u32) -> Vec<(Id, Id)> {
    let before: Vec<Inst<'_>> = block
        .insts
        .iter()
        .take_while(|inst| inst.offset < arrive)
        .copied()
        .collect();
    before
        .into_iter()
        .rev()
        .take_while(|inst| !is_barrier(*inst))
        .filter(|inst| inst.op() == Some(Op::Store))
        .filter_map(|inst| target(entry, inst))
        .collect()
}

/// Whether two addresses have indices that are loads of the same variable, or the same ids.
fn same_value(entry: &Entry<'_, '_>, a: Id, b: Id) -> bool {
    let (a, b) = (indices(entry, a), indices(entry, b));
    let key = |id: u32| match entry.declarations.module.def(Id(id)) {
        Some(inst) if inst.op() == Some(Op::Load) => inst.operands().first().copied().unwrap_or(id),
        _ => id, // compared as it is
    };
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| key(*a) == key(*b))
}
