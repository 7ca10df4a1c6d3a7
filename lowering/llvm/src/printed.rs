//! Bitcode, printed as text.

use crate::{codegen, ffi};
use inkwell::context::Context;

/// Bitcode that this crate wrote, as text; if LLVM could not read it back, its reason as a comment.
pub(crate) fn text(bitcode: &[u8]) -> String {
    let printed = codegen::on_large_stack(|| {
        let context = Context::create();
        // Debug lines that are not declared yet are dropped, with a warning that nobody needs.
        let _errors = ffi::Errors::collect(&context);
        Ok(ffi::module_text(&codegen::parse(&context, bitcode)?))
    });
    printed.unwrap_or_else(|problems| format!("; {problems}"))
}
