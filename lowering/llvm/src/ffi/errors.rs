//! What LLVM reports while it works.

use super::owned_text;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::LLVMDiagnosticSeverity;
use inkwell::llvm_sys::core::{
    LLVMContextSetDiagnosticHandler, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
};
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;
use std::cell::RefCell;

/// What LLVM reports as an error while it works in a context: collected instead of ending the
/// process, which is LLVM's default.
pub(crate) struct Errors {
    // Boxed: LLVM holds its address.
    texts: Box<RefCell<Vec<String>>>,
}

impl Errors {
    /// Collects the errors of `context` from now on. Keep the result for as long as LLVM works in
    /// the context.
    pub(crate) fn collect(context: &Context) -> Errors {
        let texts = Box::<RefCell<Vec<String>>>::default();
        let place: *const RefCell<Vec<String>> = &*texts;
        // SAFETY: the box outlives LLVM's work in the context, as asked for above; one thread uses
        // both.
        unsafe {
            LLVMContextSetDiagnosticHandler(
                context.as_ctx_ref(),
                Some(record),
                place.cast_mut().cast(),
            )
        };
        Errors { texts }
    }

    /// The errors so far, which are forgotten.
    pub(crate) fn take(&self) -> Vec<String> {
        self.texts.take()
    }
}

/// Called by LLVM for each diagnostic; remarks and warnings are dropped.
extern "C" fn record(info: LLVMDiagnosticInfoRef, place: *mut std::ffi::c_void) {
    // SAFETY: `place` is the cell that `Errors::collect` gave LLVM; the description is ours to
    // free.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) == LLVMDiagnosticSeverity::LLVMDSError
            && let Some(texts) = place.cast::<RefCell<Vec<String>>>().as_ref()
        {
            texts
                .borrow_mut()
                .push(owned_text(LLVMGetDiagInfoDescription(info)));
        }
    }
}
