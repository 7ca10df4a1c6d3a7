//! The diagnostic of a build without LLVM when code is requested.

use splitbar_passes::diagnostic::{Code, Diagnostic};

/// Checks that this build has LLVM, which `what` needs.
///
/// # Errors
/// `LlvmMissing` in a build without the feature `llvm`.
pub fn require_llvm(what: &str) -> Result<(), Diagnostic> {
    if cfg!(feature = "llvm") {
        Ok(())
    } else {
        Err(llvm_missing(what))
    }
}

/// The diagnostic of a build without LLVM, which `what` needs.
pub(crate) fn llvm_missing(what: &str) -> Diagnostic {
    Diagnostic::error(Code::LlvmMissing, "this build has no LLVM")
        .because(format!("LLVM is needed for {what}"))
        .help("build the crate `splitbar` with its feature `llvm`")
}
