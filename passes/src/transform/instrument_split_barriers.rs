//! Puts checks of VUIDs 13559 to 13561 into the module: the first violation of the dispatch is
//! written to a storage buffer.
//!
//! Every invocation keeps, per execution scope, what its last arrive or wait was, in a Private
//! variable, so that calls and any control flow are right. A call before each arrive and wait
//! checks the rule: a wait with no arrive before it (13559), a second wait with none since the last
//! arrive (13560, as meant), a second arrive with no wait since (13561). The first invocation that
//! breaks one takes the record with an atomic compare-exchange and fills it in. The program then
//! goes on as it would have: a dispatch that hangs must be ended by its driver before the record
//! can be read.
//!
//! The record, at the set and binding of the flag, seven 32-bit words that start as zeros:
//!
//! | byte | what |
//! |---|---|
//! | 0 | 1 once a violation is recorded |
//! | 4 | the site: word offset of the arrive or wait in the module that the pass was given |
//! | 8 | the rule: 13559, 13560 or 13561 |
//! | 12 | LocalInvocationIndex |
//! | 16 | WorkgroupId, three words |
//!
//! A module that has these checks already, at this set and binding, stays as it is. OpenCL kernels
//! have no descriptors and are refused.

mod checks;

use super::edit::{Edit, extend_interface};
use super::operands::{SUBGROUP, WORKGROUP, execution, is_split};
use super::options::PassOptions;
use super::report_buffer::{occupied, refuse_kernels, variables_at};
use super::rewrite::RewrittenModule;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{Declarations, Id, Inst, Module};
use checks::Record;
use spirv::Op;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    options: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let PassOptions::Buffer { set, binding } = *options else {
        return Err(Diagnostic::bug("the pass has no buffer for the records").into());
    };
    let sites: Vec<Inst<'_>> = declarations
        .functions
        .iter()
        .flat_map(|function| function.insts())
        .filter(|inst| is_split(*inst))
        .collect();
    if sites.is_empty() {
        return Ok(None);
    }
    refuse_kernels(declarations)?;
    let taken = variables_at(declarations, set, binding);
    if let Some(first) = taken.first() {
        return if is_instrumented(declarations, &taken) {
            Ok(None)
        } else {
            Err(occupied(declarations, *first, set, binding).into())
        };
    }
    let mut edit = Edit::new(declarations);
    let record = Record::declare(&mut edit, set, binding)?;
    let mut checks: BTreeMap<(u32, bool), u32> = BTreeMap::new();
    let mut states: BTreeMap<u32, u32> = BTreeMap::new();
    for site in sites {
        let Some(scope) =
            execution(declarations, site).filter(|scope| [WORKGROUP, SUBGROUP].contains(scope))
        else {
            continue; // breaks another rule (13553)
        };
        let state = match states.get(&scope) {
            Some(state) => *state,
            None => {
                let state = checks::state(&mut edit)?;
                states.insert(scope, state);
                state
            }
        };
        let is_arrive = site.op() == Some(Op::ControlBarrierArriveINTEL);
        let check = match checks.get(&(scope, is_arrive)) {
            Some(check) => *check,
            None => {
                let check = checks::check(&mut edit, &record, state, is_arrive)?;
                checks.insert((scope, is_arrive), check);
                check
            }
        };
        let void = edit.type_of(Op::TypeVoid, &[])?;
        let place = edit.number(site.offset.get())?;
        let result = edit.fresh()?;
        edit.before(site.offset, Op::FunctionCall, &[void, result, check, place])?;
    }
    // Up to version 1.3 the interface lists Input and Output variables, from 1.4 on all of them
    // (SPIR-V, OpEntryPoint).
    let mut interface = record.inputs.to_vec();
    if module.header().version >= 0x0001_0400 {
        interface.push(record.variable);
        interface.extend(states.values());
    }
    extend_interface(&mut edit, &interface)?;
    edit.finish()
}

/// Returns true if a call stands before every arrive and wait to a function that leads, by a call,
/// to one that uses a variable of `records`.
fn is_instrumented(declarations: &Declarations<'_>, records: &[Id]) -> bool {
    let uses = |wanted: &dyn Fn(Id) -> bool| -> BTreeSet<Id> {
        let names = |inst: Inst<'_>| declarations.module.ids(inst).any(|(_, id)| wanted(id));
        let functions = declarations
            .functions
            .iter()
            .filter(|function| function.insts().any(names));
        functions.map(|function| function.id).collect()
    };
    let writers = uses(&|id| records.contains(&id));
    let checks = uses(&|id| writers.contains(&id));
    let mut before: Option<Inst<'_>> = None;
    for inst in declarations
        .functions
        .iter()
        .flat_map(|function| function.insts())
    {
        let is_ours = execution(declarations, inst)
            .is_some_and(|scope| [WORKGROUP, SUBGROUP].contains(&scope));
        if is_split(inst) && is_ours {
            let callee = before
                .filter(|call| call.op() == Some(Op::FunctionCall))
                .and_then(|call| call.id(0).ok());
            if !callee.is_some_and(|callee| checks.contains(&callee)) {
                return false;
            }
        }
        before = Some(inst);
    }
    true
}
