//! Makes an arrive, directly followed by its wait, out of every OpControlBarrier: the raw material
//! for motion of either side.
//!
//! The arrive has what the barrier releases (Release, MakeAvailable), the wait what it acquires
//! (Acquire, MakeVisible); both have its storage classes and memory scope, and a side with nothing
//! to order has semantics None. SequentiallyConsistent is taken as AcquireRelease: split barriers
//! have no stronger order (VUIDs 13556, 13557; cl_intel_split_work_group_barrier).
//!
//! Left alone: barriers of other scopes than Workgroup and Subgroup; one inside of an open pair of
//! its scope (two arrives would follow each other, VUID 13561); one with operands from
//! specialization constants, or marked Volatile; in OpenCL kernels also Subgroup barriers and those
//! that do not both release and acquire, which the extension there has no form for. A module with
//! an entry point that is no compute shader and no kernel stays as it is (VUID 13552). Where the
//! module has arrives, or calls functions for elements of matrices, which no barrier can stand in,
//! functions with barriers are inlined first, to know what is open.

use super::edit::Edit;
use super::inlined::{each_paired, inlined};
use super::operands::{
    CAPABILITY, EXTENSION_EXT, EXTENSION_INTEL, Fence, SUBGROUP, VOLATILE, WORKGROUP,
    barrier_operands, execution, fence, is_split,
};
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use crate::analysis::pairing::Open;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{
    Declarations, EntryPoint, Inst, Module, Scope, WordOffset, called_for_elements,
};
use spirv::{Capability, Op};

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    options: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    // Of a module with arrives and functions with barriers, which are inlined first, these are
    // words of the inlined one.
    let wanted = &|word: WordOffset| match options {
        PassOptions::AllBut(words) => !words.contains(&word),
        _ => true,
    };
    if !declarations.entry_points.iter().all(EntryPoint::is_compute) {
        return Ok(None);
    }
    if module
        .instructions()
        .any(|inst| is_split(inst) || called_for_elements(inst).is_some())
    {
        inlined(module, declarations, |declarations| {
            split_closed(declarations, wanted)
        })
    } else {
        let all: Vec<Inst<'_>> = declarations
            .functions
            .iter()
            .flat_map(|function| function.insts())
            .collect();
        split(declarations, &all, wanted)
    }
}

/// Splits the barriers of entry functions that no open arrive reaches.
fn split_closed(
    declarations: &Declarations<'_>,
    wanted: &dyn Fn(WordOffset) -> bool,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let mut closed = Vec::new();
    each_paired(declarations, |function, pairing| {
        closed.extend(function.insts().filter_map(|inst| {
            let scope = execution(declarations, inst).and_then(Scope::from_u32);
            let is_closed = inst.op() == Some(Op::ControlBarrier)
                && scope
                    .is_some_and(|scope| pairing.open_before(scope, inst.offset) == Open::Never);
            is_closed
                .then(|| declarations.module.at(inst.offset))
                .flatten()
        }));
        Ok(())
    })?;
    split(declarations, &closed, wanted)
}

fn split(
    declarations: &Declarations<'_>,
    insts: &[Inst<'_>],
    wanted: &dyn Fn(WordOffset) -> bool,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let mut edit = Edit::new(declarations);
    let mut any = false;
    for inst in insts
        .iter()
        .filter(|inst| inst.op() == Some(Op::ControlBarrier) && wanted(inst.offset))
    {
        let (Some(scope), Some(fence)) =
            (execution(declarations, *inst), fence(declarations, *inst))
        else {
            continue; // specialization constants: their values may still change
        };
        if can_split(declarations, scope, fence) {
            any = true;
            let arrive = barrier_operands(&mut edit, scope, fence.release_half())?;
            let wait = barrier_operands(&mut edit, scope, fence.acquire_half())?;
            edit.replace(inst.offset, Op::ControlBarrierArriveINTEL, &arrive)?;
            edit.after(inst.offset, Op::ControlBarrierWaitINTEL, &wait)?;
        }
    }
    if !any {
        return Ok(None);
    }
    declare(&mut edit)?;
    edit.finish()
}

fn can_split(declarations: &Declarations<'_>, scope: u32, fence: Fence) -> bool {
    let is_opencl = declarations.has_capability(Capability::Kernel);
    let has_form = if is_opencl {
        scope == WORKGROUP && fence.releases() && fence.acquires()
    } else {
        scope == WORKGROUP || scope == SUBGROUP
    };
    has_form && fence.bits & VOLATILE == 0
}

/// Declares capability and extension where they are missing; OpenCL's compilers know the INTEL name
/// only.
pub(super) fn declare(edit: &mut Edit<'_, '_>) -> Result<(), Diagnostic> {
    let declarations = edit.declarations;
    if !declarations
        .capabilities
        .iter()
        .any(|(number, _)| *number == CAPABILITY)
    {
        edit.capability(CAPABILITY)?;
    }
    let is_declared = |name: &String| name == EXTENSION_EXT || name == EXTENSION_INTEL;
    if !declarations.extensions.iter().any(is_declared) {
        edit.extension(if declarations.has_capability(Capability::Kernel) {
            EXTENSION_INTEL
        } else {
            EXTENSION_EXT
        })?;
    }
    Ok(())
}
