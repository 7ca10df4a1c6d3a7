//! Inlines every function that contains a control barrier (or an asynchronous copy of a group), or
//! calls one that does, into its callers, until only entry points (and functions that the module
//! exports or takes the address of) contain any.
//!
//! Needs: declarations without errors. Gives: a module in which the barriers of an entry point
//! stand in its own function, so that pairing and planning look at one graph. Why here: arrive and
//! wait may stand in different functions, and what is outstanding at a call depends on the caller.
//!
//! Functions that are inlined everywhere are removed with their names and decorations; copies get
//! names and decorations of their own. OpLine stays in force where it was. Debug information of
//! NonSemantic sets inside of a callee is dropped from the copies.
//!
//! Control flow stays structured in the sense of SPIR-V 2.11 but for one shape. Where a callee
//! returns at several places, its copy stands in a switch of one case and the returns are breaks
//! out of it. A return inside of a loop or a switch of the callee becomes a branch out of that
//! construct to the place after the call: right control flow, which the analyses here and the
//! lowering take, but not structured.

mod annotations;
mod code;
mod expand;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
pub(super) mod interpret;
mod splice;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

use super::rewrite::{RewrittenModule, Writer};
use crate::analysis::callgraph::CallGraph;
use crate::analysis::group_copies::is_group_copy;
use crate::analysis::pairing::SiteKind;
use crate::diagnostic::Diagnostics;
use crate::module::{Declarations, Function, Id, IdFilter, IdMap, Module, WordOffset};
use annotations::Fate;
use code::Code;
use expand::{Callees, expand};
use spirv::Op;
use splice::{Callee, Shared, is_debug};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Inlines the functions of `module` that contain OpControlBarrierArriveEXT,
/// OpControlBarrierWaitEXT, OpControlBarrier, OpGroupAsyncCopy or OpGroupWaitEvents, or call such
/// functions. `None` when no function that an entry point reaches calls one.
///
/// # Errors
/// `RecursiveCall` when such functions call each other in a circle; `ModuleTooLarge` when the
/// copies have more than 2^22 words or ids run out; `UnsupportedInstruction` for an instruction
/// that cannot be copied; `TypeMismatch` for a call with a wrong number of arguments.
pub fn inline_barrier_functions(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    inline_functions(module, declarations, has_control_barrier)
}

/// As [`inline_barrier_functions`], for the functions that `is_wanted` says.
pub(super) fn inline_functions(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    is_wanted: impl Fn(&Function<'_>) -> bool,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let mut wanted = declarations
        .functions
        .iter()
        .filter(|function| is_wanted(function))
        .map(|function| function.id)
        .peekable();
    if wanted.peek().is_none() {
        return Ok(None);
    }
    let calls = CallGraph::analyze(declarations);
    let concerned = calls.callers(wanted);
    let calls_one = |function: &Id| {
        calls
            .callees(*function)
            .iter()
            .any(|(callee, _)| concerned.contains(callee))
    };
    if !concerned.iter().any(calls_one) {
        return Ok(None);
    }
    let roots = roots(module, declarations, &concerned);
    let order = calls.callees_first(roots.iter().copied(), &concerned)?;
    if !order.iter().any(calls_one) {
        return Ok(None);
    }
    let mut shared = Shared {
        declarations,
        writer: Writer::new(module),
        copies: HashMap::new(),
        renames: IdMap::new(module.words().len()),
        copied: 0,
        annotated: annotations::annotated(module),
    };
    let mut callees = Callees::new();
    let mut used = 0;
    for id in &order {
        if let Some(function) = declarations.function(*id) {
            let code = expand(&mut shared, &callees, function, &mut used)?;
            callees.insert(*id, Callee::new(declarations, code));
        }
    }
    callees.retain(|id, _| roots.contains(id));
    let kept = callees
        .into_iter()
        .map(|(id, callee)| (id, callee.code))
        .collect();
    let removed = concerned.difference(&roots).copied().collect();
    write(module, shared, &kept, &removed)
}

/// Returns true if `function` has a control barrier, or copies of a group: their waits are
/// barriers, and which copies are outstanding depends on the caller as well.
fn has_control_barrier(function: &Function<'_>) -> bool {
    function
        .syncs
        .iter()
        .any(|inst| match SiteKind::from_inst(*inst) {
            Some(SiteKind::Arrive | SiteKind::Wait | SiteKind::ControlBarrier) => true,
            Some(SiteKind::MemoryBarrier) | None => is_group_copy(*inst),
        })
}

/// Functions among `concerned` that must stay: entry points, and what is exported or named by
/// anything but calls.
fn roots(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    concerned: &BTreeSet<Id>,
) -> BTreeSet<Id> {
    let mut roots = BTreeSet::new();
    if concerned.is_empty() {
        return roots;
    }
    roots.extend(concerned.iter().filter(|id| {
        declarations
            .decoration(**id, spirv::Decoration::LinkageAttributes)
            .is_some()
    }));
    let mut in_function = false;
    let naming = IdFilter::new(module.words().len(), concerned.iter().copied());
    for inst in module.instructions() {
        in_function |= inst.op() == Some(Op::Function);
        if !naming.may_name_one(inst) {
            continue;
        }
        let ids = module.ids(inst).map(|(_, id)| id);
        match inst.op() {
            Some(Op::Name | Op::Function) => {}
            Some(Op::Decorate | Op::DecorateId | Op::DecorateString | Op::GroupDecorate) => {}
            Some(Op::ExecutionMode | Op::ExecutionModeId) => {} // the entry point names it too
            Some(Op::FunctionCall) => roots.extend(ids.skip(3).filter(|id| concerned.contains(id))),
            Some(Op::ExtInst) if in_function && is_debug(declarations, inst) => {}
            _ => roots.extend(ids.filter(|id| concerned.contains(id))),
        }
    }
    roots
}

/// Writes the new module: `kept` in place of the functions that it names, without those in
/// `removed`.
fn write(
    module: &Module<'_>,
    shared: Shared<'_, '_>,
    kept: &BTreeMap<Id, Code>,
    removed: &BTreeSet<Id>,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let Shared {
        declarations,
        mut writer,
        copies,
        ..
    } = shared;
    let fate = fate(declarations, kept, removed, &copies);
    let mut skip_to = WordOffset::FIRST;
    let mut in_functions = false;
    for inst in module.instructions() {
        if inst.offset < skip_to {
            continue;
        }
        if inst.op() == Some(Op::Function)
            && let Some(function) = inst.result().and_then(|id| declarations.function(id))
        {
            in_functions = true;
            let code = kept.get(&function.id);
            if code.is_some() || removed.contains(&function.id) {
                skip_to = function.behind();
                for item in code.into_iter().flat_map(Code::items) {
                    writer.push(item.words, item.origin)?;
                }
                continue;
            }
        }
        if in_functions {
            writer.push(inst.words, inst.offset)?;
        } else {
            annotations::write(&mut writer, &fate, inst)?;
        }
    }
    writer.finish().map(Some)
}

/// Which ids are gone, and which copies there are, in the order in which the new module defines
/// them.
fn fate(
    declarations: &Declarations<'_>,
    kept: &BTreeMap<Id, Code>,
    removed: &BTreeSet<Id>,
    roots: &HashMap<u32, u32>,
) -> Fate {
    let mut gone = IdMap::new(declarations.module.words().len());
    for function in &declarations.functions {
        if removed.contains(&function.id) || kept.contains_key(&function.id) {
            let body = declarations
                .module
                .instructions_from(function.offset)
                .take_while(|inst| inst.offset <= function.end);
            for id in body.filter_map(|inst| inst.result()) {
                gone.insert(id, true);
            }
        }
    }
    let mut copies: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let kept = kept.values().flat_map(Code::items);
    for id in kept.filter_map(|item| item.inst().result()) {
        gone.insert(id, false);
        if let Some(root) = roots.get(&id.0) {
            copies.entry(*root).or_default().push(id.0);
        }
    }
    Fate { gone, copies }
}
