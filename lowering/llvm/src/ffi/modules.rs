//! What a module has: globals, names, its text.

use super::*;

/// The number of a synchronisation scope; the empty name is the whole system.
pub(crate) fn sync_scope(context: &Context, name: &str) -> u32 {
    let (name, length) = text(name);
    // SAFETY: a live context and a valid slice.
    unsafe { LLVMGetSyncScopeID(context.as_ctx_ref(), name, length) }
}

/// Adds a global variable in address space `space`.
pub(crate) fn add_global<'c>(
    module: ModuleRef<'c>,
    ty: Ty<'c>,
    space: u32,
    name: &str,
) -> Value<'c> {
    let name = c_name(name);
    // SAFETY: a live module and a sized type of its context.
    Value::wrap(unsafe { LLVMAddGlobalInAddressSpace(module.0, ty.0, name.as_ptr(), space) })
}

/// The global variable called `name`, if the module still has it.
pub(crate) fn named_global<'c>(module: ModuleRef<'c>, name: &str) -> Option<Value<'c>> {
    let name = c_name(name);
    // SAFETY: a live module; null means that there is none.
    let global = unsafe { LLVMGetNamedGlobal(module.0, name.as_ptr()) };
    (!global.is_null()).then(|| Value::wrap(global))
}

/// The number of global variables of type `ty`.
pub(crate) fn globals_of_type(module: ModuleRef<'_>, ty: Ty<'_>) -> usize {
    let mut count = 0;
    // SAFETY: a live module; the list of its globals is not changed while it is walked.
    unsafe {
        let mut global = LLVMGetFirstGlobal(module.0);
        while !global.is_null() {
            count += usize::from(LLVMGlobalGetValueType(global) == ty.0);
            global = LLVMGetNextGlobal(global);
        }
    }
    count
}

/// The module as text.
pub(crate) fn module_text(module: &Module<'_>) -> String {
    // SAFETY: LLVM returns a string that we own and give back.
    unsafe { owned_text(LLVMPrintModuleToString(module.as_mut_ptr())) }
}
