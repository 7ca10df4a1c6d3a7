//! Keeps private arrays out of LDS. AMDGPU's code generator moves arrays that registers cannot hold
//! to LDS when the workgroup seems to have room. Neither the plan nor the reflection nor the launch
//! would know how much that takes, and the accesses would stand among those that barriers order
//! (docs/llvm.md).
//!
//! The pass that does it makes vectors of small arrays first, and it leaves an alloca alone that
//! counts elements (`alloca i8, i32 256` beside `alloca [256 x i8]`). So its half for vectors runs
//! here, and what is left in memory becomes a count of bytes: nothing else looks at the difference.
//! The option `-disable-promote-alloca-to-lds` is no alternative. It holds for the process, whose
//! other users of LLVM want their own code.

use crate::codegen::{self, llvm_failed};
use inkwell::builder::BuilderError;
use inkwell::module::Module;
use inkwell::targets::{TargetData, TargetMachine};
use inkwell::values::{FunctionValue, InstructionOpcode, InstructionValue, PointerValue};
use splitbar_passes::diagnostic::Diagnostics;

/// Makes vectors of the private arrays that are small enough, and keeps all others in private
/// memory. To be called on AMDGPU when the optimiser has run.
///
/// # Errors
/// `LlvmFailed` with LLVM's reason.
pub(crate) fn keep(module: &Module<'_>, machine: &TargetMachine) -> Result<(), Diagnostics> {
    if module.get_functions().all(|f| slots(f).next().is_none()) {
        return Ok(());
    }
    codegen::run(module, machine, "function(amdgpu-promote-alloca-to-vector)")?;
    let layout = machine.get_target_data();
    for function in module.get_functions() {
        count_bytes(module, &layout, function)
            .map_err(|problem| llvm_failed("an array cannot be rewritten", &problem.to_string()))?;
    }
    Ok(())
}

/// The allocas of the entry block: the only ones that are moved.
fn slots<'c>(function: FunctionValue<'c>) -> impl Iterator<Item = InstructionValue<'c>> {
    function
        .get_first_basic_block()
        .into_iter()
        .flat_map(|entry| entry.get_instructions())
        .filter(|instruction| instruction.get_opcode() == InstructionOpcode::Alloca)
}

/// Makes each of [`slots`] one of as many bytes.
fn count_bytes(
    module: &Module<'_>,
    layout: &TargetData,
    function: FunctionValue<'_>,
) -> Result<(), BuilderError> {
    let context = module.get_context();
    let builder = context.create_builder();
    for slot in slots(function).collect::<Vec<_>>() {
        let (Ok(ty), Ok(old)) = (slot.get_allocated_type(), PointerValue::try_from(slot)) else {
            continue;
        };
        // A count of one would be an alloca without a count again.
        let bytes = layout.get_abi_size(&ty).max(2);
        builder.position_before(&slot);
        let bytes = context.i64_type().const_int(bytes, false);
        let new = builder.build_array_alloca(context.i8_type(), bytes, "private")?;
        if let (Some(to), Ok(align)) = (new.as_instruction(), slot.get_alignment()) {
            // Every alignment of an alloca is one that an alloca can have.
            let _ = to.set_alignment(align);
        }
        old.replace_all_uses_with(new);
        slot.erase_from_basic_block();
    }
    Ok(())
}
