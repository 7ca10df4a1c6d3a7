//! What instructions of a module say of memory, and their debug locations.

use super::AtomicOrdering;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::*;

/// What a load or a store promises to others.
pub(crate) struct AccessFacts {
    pub is_volatile: bool,
    pub ordering: AtomicOrdering,
    /// Meaningful for atomic ones only.
    pub scope: u32,
}

/// What `instruction` promises to others, if it is a load or a store.
pub(crate) fn access_facts(
    instruction: inkwell::values::InstructionValue<'_>,
) -> Option<AccessFacts> {
    let raw = inkwell::values::AsValueRef::as_value_ref(&instruction);
    // SAFETY: a live instruction; the facts are asked of loads and stores alone, the scope of
    // atomic ones alone.
    unsafe {
        if LLVMIsALoadInst(raw).is_null() && LLVMIsAStoreInst(raw).is_null() {
            return None;
        }
        Some(AccessFacts {
            is_volatile: LLVMGetVolatile(raw) != 0,
            ordering: LLVMGetOrdering(raw),
            scope: match LLVMIsAtomic(raw) {
                0 => 0,
                _ => LLVMGetAtomicSyncScopeID(raw),
            },
        })
    }
}

/// The scope of a read-modify-write.
pub(crate) fn scope_of_update(instruction: inkwell::values::InstructionValue<'_>) -> u32 {
    let raw = inkwell::values::AsValueRef::as_value_ref(&instruction);
    // SAFETY: a live instruction; LLVM gives 0 for none.
    unsafe {
        match LLVMIsAtomic(raw) {
            0 => 0,
            _ => LLVMGetAtomicSyncScopeID(raw),
        }
    }
}

/// Gives the debug location of `instruction` another column; no effect where it has none.
pub(crate) fn set_column(
    context: &Context,
    instruction: inkwell::values::InstructionValue<'_>,
    column: u32,
) {
    use inkwell::llvm_sys::debuginfo::{
        LLVMDIBuilderCreateDebugLocation, LLVMDILocationGetInlinedAt, LLVMDILocationGetLine,
        LLVMDILocationGetScope, LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc,
    };
    let raw = inkwell::values::AsValueRef::as_value_ref(&instruction);
    // SAFETY: a live instruction of `context`; what a location says is asked of one that is there.
    unsafe {
        let location = LLVMInstructionGetDebugLoc(raw);
        if location.is_null() {
            return;
        }
        let changed = LLVMDIBuilderCreateDebugLocation(
            context.as_ctx_ref(),
            LLVMDILocationGetLine(location),
            column,
            LLVMDILocationGetScope(location),
            LLVMDILocationGetInlinedAt(location),
        );
        LLVMInstructionSetDebugLoc(raw, changed);
    }
}

/// Gives `instruction` of `function` a debug location of line 0 if it has none and the function has
/// debug information.
pub(crate) fn place_nowhere(
    context: &Context,
    function: inkwell::values::FunctionValue<'_>,
    instruction: inkwell::values::InstructionValue<'_>,
) {
    use inkwell::llvm_sys::debuginfo::{
        LLVMDIBuilderCreateDebugLocation, LLVMGetSubprogram, LLVMInstructionGetDebugLoc,
        LLVMInstructionSetDebugLoc,
    };
    let raw = inkwell::values::AsValueRef::as_value_ref(&instruction);
    let function = inkwell::values::AsValueRef::as_value_ref(&function);
    // SAFETY: a live instruction of a live function of `context`; the location's scope is there.
    unsafe {
        let subprogram = LLVMGetSubprogram(function);
        if subprogram.is_null() || !LLVMInstructionGetDebugLoc(raw).is_null() {
            return;
        }
        let nowhere = LLVMDIBuilderCreateDebugLocation(
            context.as_ctx_ref(),
            0,
            0,
            subprogram,
            std::ptr::null_mut(),
        );
        LLVMInstructionSetDebugLoc(raw, nowhere);
    }
}
