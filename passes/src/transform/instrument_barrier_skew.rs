//! Makes every subgroup write its clock around each barrier of its workgroup: before an arrive,
//! before its wait and after the wait; for OpControlBarrier before and after it.
//!
//! The records go to a ring in a storage buffer, whose form is [`crate::profile::layout`]; one
//! invocation of a subgroup writes them, behind the wait. Clocks of an arrive are kept in Private
//! variables until the wait, so that calls and any control flow are right. The number of barriers
//! that an invocation has passed is kept too: barriers of a workgroup stand in uniform control
//! flow, so equal numbers in one workgroup are one phase.
//!
//! Needs: SPIR-V 1.3, for the election of one invocation. Barriers of scope Subgroup are not
//! measured: no other subgroup waits there. A module that has the clocks already, at this set and
//! binding, stays as it is. OpenCL kernels have no descriptors and are refused.

mod record;

use super::edit::{Edit, extend_interface_of};
use super::operands::{WORKGROUP, execution, is_split};
use super::options::PassOptions;
use super::report_buffer::{occupied, refuse_kernels, variables_at};
use super::rewrite::RewrittenModule;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::module::{Declarations, EntryPoint, Id, Inst, Module};
use record::Recorder;
use spirv::Op;
use std::collections::BTreeSet;

/// The first version with GroupNonUniform.
const VERSION_1_3: u32 = 0x0001_0300;

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    options: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let PassOptions::Clocks { set, binding, gpu } = *options else {
        return Err(Diagnostic::bug("the pass has no buffer for the clocks").into());
    };
    let sites = sites(declarations)?;
    // An arrive alone makes no record.
    if !sites.iter().any(|site| ends_phase(*site)) {
        return Ok(None);
    }
    refuse_kernels(declarations)?;
    let taken = variables_at(declarations, set, binding);
    if let Some(first) = taken.first() {
        return if is_instrumented(declarations, &sites, &taken) {
            Ok(None)
        } else {
            Err(occupied(declarations, *first, set, binding).into())
        };
    }
    refuse_version(module)?;
    let entries = entries(declarations, &sites)?;
    let mut edit = Edit::new(declarations);
    let recorder = Recorder::declare(&mut edit, (set, binding), gpu)?;
    for site in sites {
        match site.op() {
            Some(Op::ControlBarrierArriveINTEL) => recorder.arrive(&mut edit, site.offset)?,
            Some(Op::ControlBarrierWaitINTEL) => recorder.wait(&mut edit, site.offset)?,
            _ => recorder.barrier(&mut edit, site.offset)?, // OpControlBarrier
        }
    }
    // Up to version 1.3 the interface lists Input and Output variables, from 1.4 on all of them
    // (SPIR-V, OpEntryPoint).
    let mut interface = recorder.inputs().to_vec();
    if module.header().version > VERSION_1_3 {
        interface.extend(recorder.others());
    }
    for entry in entries {
        extend_interface_of(&mut edit, entry, &interface)?;
    }
    edit.finish()
}

/// Arrives, waits and control barriers of scope Workgroup, in module order.
///
/// # Errors
/// `UnsupportedInstruction` for each whose scope is not known yet.
fn sites<'m>(declarations: &Declarations<'m>) -> Result<Vec<Inst<'m>>, Diagnostics> {
    let mut sites = Vec::new();
    let mut problems = Diagnostics::new();
    let functions = declarations.functions.iter();
    for inst in functions.flat_map(|function| function.insts()) {
        if !is_split(inst) && inst.op() != Some(Op::ControlBarrier) {
            continue;
        }
        match execution(declarations, inst) {
            Some(WORKGROUP) => sites.push(inst),
            Some(_) => {} // no other subgroup waits there
            None => problems.push(unknown_scope(declarations, inst)),
        }
    }
    if problems.is_empty() {
        Ok(sites)
    } else {
        Err(problems)
    }
}

fn unknown_scope(declarations: &Declarations<'_>, inst: Inst<'_>) -> Diagnostic {
    Diagnostic::error(
        Code::UnsupportedInstruction,
        format!(
            "the execution scope of this {} is unknown",
            declarations.op_name(inst)
        ),
    )
    .at_word(inst.offset)
    .because("the pass measures only barriers of scope Workgroup, and a specialization constant can still change the scope")
    .help("specialize the module first")
}

/// Returns true if a record is made behind it.
fn ends_phase(site: Inst<'_>) -> bool {
    site.op() != Some(Op::ControlBarrierArriveINTEL)
}

fn refuse_version(module: &Module<'_>) -> Result<(), Diagnostic> {
    let version = module.header().version;
    if version >= VERSION_1_3 {
        return Ok(());
    }
    let (major, minor) = (version >> 16, version >> 8 & 0xff);
    Err(Diagnostic::error(
        Code::UnsupportedCapability,
        format!("the instrumentation needs SPIR-V 1.3, but the module has the version {major}.{minor}"),
    )
    .because(
        "it elects one invocation of each subgroup, which needs the capability GroupNonUniform of version 1.3",
    )
    .help("compile the module for SPIR-V 1.3 or later, as for Vulkan 1.1"))
}

/// The entry points that reach a site.
///
/// # Errors
/// `RecursiveCall`, `UndefinedId` for calls; `UnsupportedExecutionModel` for one that is no compute
/// shader.
fn entries<'d, 'm>(
    declarations: &'d Declarations<'m>,
    sites: &[Inst<'m>],
) -> Result<Vec<&'d EntryPoint<'m>>, Diagnostic> {
    let functions = sites.iter().filter_map(|site| {
        let function = declarations.function_at(site.offset)?;
        Some(function.id)
    });
    let functions: BTreeSet<Id> = functions.collect();
    let mut entries = Vec::new();
    for entry in &declarations.entry_points {
        let reached = declarations.reachable_functions(entry.function)?;
        if !reached.iter().any(|id| functions.contains(id)) {
            continue;
        }
        if !entry.is_compute() {
            return Err(Diagnostic::error(
                Code::UnsupportedExecutionModel,
                format!("entry point {} is not a compute shader", entry.name),
            )
            .at_word(entry.inst.offset)
            .because(
                "it reaches a barrier that the pass measures, and the measurement needs workgroups and subgroups",
            )
            .help("remove the entry point from the module"));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// Returns true if a clock and a call stand behind every wait and control barrier, to a function
/// that uses a variable of `buffers`.
fn is_instrumented(declarations: &Declarations<'_>, sites: &[Inst<'_>], buffers: &[Id]) -> bool {
    let module = declarations.module;
    let uses = |inst: Inst<'_>| module.ids(inst).any(|(_, id)| buffers.contains(&id));
    let functions = declarations.functions.iter();
    let recorders: BTreeSet<Id> = functions
        .filter(|function| function.insts().any(uses))
        .map(|function| function.id)
        .collect();
    sites.iter().filter(|site| ends_phase(**site)).all(|site| {
        let mut behind = module.instructions_from(site.offset).skip(1);
        let is_clock = |inst: Inst<'_>| inst.op() == Some(Op::ReadClockKHR);
        let callee = |inst: Inst<'_>| match inst.op()? {
            Op::FunctionCall => inst.id(0).ok(),
            _ => None, // no call
        };
        behind.next().is_some_and(is_clock)
            && behind
                .find(|inst| inst.op() != Some(Op::Load))
                .and_then(callee)
                .is_some_and(|callee| recorders.contains(&callee))
    })
}
