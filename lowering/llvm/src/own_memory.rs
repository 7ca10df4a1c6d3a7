//! Says whose memory read-modify-writes are for. Where the host and other devices do not take part,
//! the memory is the device's own and coarse-grained. AMDGPUs before gfx942 and gfx12 may lack the
//! operation for other memory, so that LLVM makes a loop of it unless it is told (AMDGPUUsage,
//! "Memory Metadata"). The optimiser drops what it is told when it makes one operation of two, so
//! it is said behind it.

use crate::codegen::{self, llvm_failed};
use crate::ffi;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::values::InstructionOpcode;
use splitbar_passes::diagnostic::Diagnostics;

/// Marks every read-modify-write that others than this device's invocations take no part in. To be
/// called on AMDGPU when the optimiser has run.
///
/// # Errors
/// `LlvmFailed` when LLVM refuses the mark.
pub(crate) fn say(context: &Context, module: &Module<'_>) -> Result<(), Diagnostics> {
    let system = ["", "one-as"].map(|name| ffi::sync_scope(context, name));
    let kinds = ["amdgpu.no.fine.grained.memory", "amdgpu.no.remote.memory"]
        .map(|kind| context.get_kind_id(kind));
    for instruction in codegen::instructions(module) {
        if instruction.get_opcode() != InstructionOpcode::AtomicRMW
            || system.contains(&ffi::scope_of_update(instruction))
        {
            continue;
        }
        for kind in kinds {
            instruction
                .set_metadata(context.metadata_node(&[]), kind)
                .map_err(|problem| llvm_failed("an atomic has no mark", &problem.to_string()))?;
        }
    }
    Ok(())
}
