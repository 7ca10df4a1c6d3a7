//! Says whose memory read-modify-writes are for. Where the host and other devices do not take part,
//! the memory is the device's own and coarse-grained. AMDGPUs before gfx942 and gfx12 may lack the
//! operation for other memory, so that LLVM makes a loop of it unless it is told (AMDGPUUsage,
//! "Memory Metadata"). The optimiser drops what it is told when it makes one operation of two, so
//! it is said behind it.

use crate::codegen::{self, llvm_failed};
use crate::ffi;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::values::{InstructionOpcode, InstructionValue};
use splitbar_passes::diagnostic::Diagnostics;

/// Marks every read-modify-write that others than this device's invocations take no part in. To be
/// called on AMDGPU when the optimiser has run.
///
/// # Errors
/// `LlvmFailed` when LLVM refuses the mark.
pub(crate) fn annotate(context: &Context, module: &Module<'_>) -> Result<(), Diagnostics> {
    for instruction in updates(context, module) {
        for kind in kinds(context) {
            instruction
                .set_metadata(context.metadata_node(&[]), kind)
                .map_err(|problem| llvm_failed("an atomic has no mark", &problem.to_string()))?;
        }
    }
    Ok(())
}

/// Returns true if a module that somebody else wrote marks all of these operations: what the
/// optimiser makes of them may be marked then, too.
pub(crate) fn has_annotations(context: &Context, module: &Module<'_>) -> bool {
    let kinds = kinds(context);
    updates(context, module).all(|update| {
        kinds
            .iter()
            .all(|kind| update.get_metadata(*kind).is_some())
    })
}

/// The read-modify-writes that others than this device's invocations take no part in.
fn updates<'c>(
    context: &Context,
    module: &Module<'c>,
) -> impl Iterator<Item = InstructionValue<'c>> {
    let system = ["", "one-as"].map(|name| ffi::sync_scope(context, name));
    codegen::instructions(module).filter(move |instruction| {
        instruction.get_opcode() == InstructionOpcode::AtomicRMW
            && !system.contains(&ffi::scope_of_update(*instruction))
    })
}

fn kinds(context: &Context) -> [u32; 2] {
    ["amdgpu.no.fine.grained.memory", "amdgpu.no.remote.memory"]
        .map(|kind| context.get_kind_id(kind))
}
