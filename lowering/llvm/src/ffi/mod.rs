//! The door to LLVM's C interface: types, values, blocks, functions and a builder as small `Copy`
//! handles, and what inkwell's typed interface lacks (fences and atomics with a synchronisation
//! scope, MMRA metadata, attributes by name, intrinsics by name).
//!
//! This folder is the only place of the compiler with unsafe code. The rules that make it sound:
//! - a handle is only made from what LLVM returned, non-null, and carries the lifetime of the LLVM
//!   context that owns it;
//! - LLVM keeps values, types and blocks alive until their module or context is dropped; nothing
//!   here deletes one;
//! - handles are neither `Send` nor `Sync`, so a context is used by one thread.
//! - operand types are not checked here: LLVM asks its callers for it, and [`crate::emit::build`]
//!   is the one caller that does.
#![allow(unsafe_code)]

pub(crate) use builder::RawBuilder;
pub(crate) use disassembler::{Disassembler, LLVMInitializeAMDGPUDisassembler};
pub(crate) use errors::Errors;
pub(crate) use fatal::end_with_llvm;
pub(crate) use fatal::{Lost, on_thread};
pub(crate) use fork::fork;
pub(crate) use functions::{block_ref, declaration, inline_assembly, intrinsic, intrinsic_id};
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
pub(crate) use inkwell::llvm_sys::{
    LLVMAtomicOrdering as AtomicOrdering, LLVMAtomicRMWBinOp as RmwOp,
    LLVMIntPredicate as IntPredicate, LLVMLinkage as Linkage, LLVMOpcode as Opcode,
    LLVMRealPredicate as RealPredicate, LLVMTypeKind as TypeKind,
};
use inkwell::module::Module;
use inkwell::values::{AsValueRef, InstructionValue};
pub(crate) use instructions::{access_facts, place_nowhere, scope_of_update, set_column};
pub(crate) use machines::{Idle, InUse};
pub(crate) use metadata::{
    forget_metadata, meta_from_raw, meta_loop, meta_node, meta_string, meta_value,
};
pub(crate) use modules::{add_global, globals_of_type, module_text, named_global, sync_scope};
pub(crate) use options::set_options;
pub(crate) use reading::{
    SourcePlace, align_of_type, annotations, delete_unused, functions, named_function, parse_ir,
    size_of_global, size_of_type,
};
pub(crate) use reports::{
    report_no_pass, report_passes, reports_passes, switch_reports, wants_reports,
};
use std::ffi::{CStr, CString, c_char, c_uint};
use std::marker::PhantomData;
pub(crate) use types::{
    bfloat_type, float_type, int_type, param_types, pointer_type, return_type, struct_type,
    target_type, void_type,
};
pub(crate) use values::{
    const_bytes, const_cast, const_offset, const_struct, const_sum, int_value, int_value_ref,
};

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $raw:ty) => {
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
        pub(crate) struct $name<'c>($raw, PhantomData<&'c Context>);

        impl<'c> $name<'c> {
            /// Wraps what LLVM returned. LLVM's constructors return non-null for the arguments that
            /// this crate gives them.
            fn wrap(raw: $raw) -> Self {
                debug_assert!(!raw.is_null());
                $name(raw, PhantomData)
            }
        }
    };
}

handle! {
    /// An LLVM type.
    Ty, LLVMTypeRef
}
handle! {
    /// An LLVM value: constant, instruction, argument, global.
    Value, LLVMValueRef
}
handle! {
    /// An LLVM basic block.
    Block, LLVMBasicBlockRef
}
handle! {
    /// An LLVM function.
    Func, LLVMValueRef
}
handle! {
    /// A metadata node or string.
    Meta, LLVMMetadataRef
}

handle! {
    /// A module. Whoever makes one keeps the inkwell module alive for as long as the handle is
    /// used.
    ModuleRef, LLVMModuleRef
}

/// The handle of `module`.
pub(crate) fn module_ref<'c>(module: &Module<'c>) -> ModuleRef<'c> {
    ModuleRef::wrap(module.as_mut_ptr())
}

macro_rules! calls {
    ($this:ident $($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*) = $call:expr;)*) => {
        $(
            $(#[$doc])*
            pub(crate) fn $name($this, $($arg: $ty),*) {
                // SAFETY: stated at the row.
                unsafe { $call }
            }
        )*
    };
}

// Behind the macros, which they use.
mod builder;
mod disassembler;
mod errors;
mod fatal;
mod fork;
mod functions;
mod instructions;
mod machines;
mod metadata;
mod modules;
mod options;
mod reading;
mod reports;
mod types;
mod values;

fn text(bytes: &str) -> (*const c_char, usize) {
    (bytes.as_ptr().cast(), bytes.len())
}

const NO_NAME: *const c_char = c"".as_ptr();

/// Copies a string that LLVM allocated, and frees it.
///
/// # Safety
/// `raw` is null or a string that LLVM says to free with `LLVMDisposeMessage`.
unsafe fn owned_text(raw: *mut c_char) -> String {
    if raw.is_null() {
        return String::new();
    }
    // SAFETY: by contract a zero-terminated string, which stays alive until it is disposed of.
    unsafe {
        let text = CStr::from_ptr(raw).to_string_lossy().into_owned();
        LLVMDisposeMessage(raw);
        text
    }
}

/// A name for LLVM: what follows a zero byte is cut off.
fn c_name(name: &str) -> CString {
    let clean: String = name.chars().take_while(|c| *c != '\0').collect();
    CString::new(clean).unwrap_or_default()
}
