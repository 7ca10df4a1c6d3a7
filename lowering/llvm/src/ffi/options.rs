//! LLVM's options of the process.

use super::*;
use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use std::ptr;

/// Sets options, as LLVM's programs take them. They hold for all of the process that happens later.
/// LLVM ends the process on an option that it does not have.
pub(crate) fn set_options(options: &[&str]) {
    let program = std::iter::once("splitbar");
    let words: Vec<CString> = program.chain(options.iter().copied()).map(c_name).collect();
    let raw: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
    let count = raw.len().try_into().unwrap_or_default(); // no process has as many
    // SAFETY: as many strings that end, which LLVM copies; null: errors go to the standard error.
    unsafe { LLVMParseCommandLineOptions(count, raw.as_ptr(), ptr::null()) }
}
