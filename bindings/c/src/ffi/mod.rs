//! The functions and structures of the C interface.
//!
//! This folder is the only one of the bindings with unsafe code. The rules that make it sound:
//! - a pointer of the caller is read once, where it comes in, after a check for null: by [`text`],
//!   [`bytes`], [`list`] and [`sized`]; what comes out owns its data or lives for the call alone;
//! - a structure is copied by the size that the caller says, so that no byte behind it is touched;
//! - handles are boxes that only their `free` takes apart.
#![allow(unsafe_code, non_camel_case_types)]

mod input;
mod options;
mod refused;
mod results;
mod tables;
mod work;

pub use options::{splitbar_log, splitbar_options};
pub use results::{
    splitbar_diagnostic, splitbar_pair, splitbar_result, splitbar_result_diagnostic,
    splitbar_result_diagnostic_count, splitbar_result_free, splitbar_result_json,
    splitbar_result_pair, splitbar_result_pair_count, splitbar_result_product,
    splitbar_result_product_count, splitbar_result_text,
};
pub use tables::{
    splitbar_abi_version, splitbar_has_llvm, splitbar_pass, splitbar_pass_count, splitbar_pass_get,
    splitbar_target, splitbar_target_count, splitbar_target_get, splitbar_version,
};
pub use work::{splitbar_check, splitbar_compile, splitbar_list_pairs, splitbar_run_passes};

/// The version of this interface; `splitbar_abi_version` returns the version of the library. A
/// library with a higher version has everything in this header.
pub const SPLITBAR_ABI_VERSION: u32 = 1;

/// The result of a call: one of `SPLITBAR_OK` to `SPLITBAR_BUG`.
pub type splitbar_status = i32;
/// Done.
pub const SPLITBAR_OK: splitbar_status = 0;
/// The module is invalid.
pub const SPLITBAR_INVALID: splitbar_status = 1;
/// Wrong usage: an argument, a setting, or a name that the module does not have.
pub const SPLITBAR_USAGE: splitbar_status = 2;
/// The target or this library cannot do it, or a limit is exceeded.
pub const SPLITBAR_UNSUPPORTED: splitbar_status = 3;
/// A bug in splitbar.
pub const SPLITBAR_BUG: splitbar_status = 4;

/// The severity of a diagnostic: `SPLITBAR_ERROR`, `SPLITBAR_WARNING` or `SPLITBAR_NOTE`.
pub type splitbar_severity = u32;
/// The operation cannot go on.
pub const SPLITBAR_ERROR: splitbar_severity = 0;
/// It can go on, but somebody should look.
pub const SPLITBAR_WARNING: splitbar_severity = 1;
/// A fact worth knowing.
pub const SPLITBAR_NOTE: splitbar_severity = 2;

/// A product of a compilation: one of `SPLITBAR_ASSEMBLY` to `SPLITBAR_REFLECTION`.
pub type splitbar_product = u32;
/// Assembly of AMDGPU, or PTX.
pub const SPLITBAR_ASSEMBLY: splitbar_product = 0;
/// A relocatable ELF object (AMDGPU).
pub const SPLITBAR_OBJECT: splitbar_product = 1;
/// A code object for the ROCm loader (AMDGPU); needs lld.
pub const SPLITBAR_CODE_OBJECT: splitbar_product = 2;
/// Machine code in NVIDIA's container; needs ptxas.
pub const SPLITBAR_CUBIN: splitbar_product = 3;
/// LLVM IR as text.
pub const SPLITBAR_LLVM_IR: splitbar_product = 4;
/// LLVM bitcode.
pub const SPLITBAR_BITCODE: splitbar_product = 5;
/// The lowering of each barrier with its reason, as text.
pub const SPLITBAR_PLAN: splitbar_product = 6;
/// Arguments, memory, pairs and windows of each kernel, as JSON.
pub const SPLITBAR_REFLECTION: splitbar_product = 7;

/// A place that is not known: of a word, an operand or a line.
pub const SPLITBAR_UNKNOWN: u32 = u32::MAX;

/// A stage of a compilation begins; the message is its name.
pub const SPLITBAR_LOG_STAGE: u32 = 0;
/// A stage takes long; the message has its name, and the time that it has run.
pub const SPLITBAR_LOG_WAIT: u32 = 1;
