//! The back end of this build: LLVM, or none.

#[cfg(not(feature = "llvm"))]
use crate::without_llvm::WithoutLlvm;
#[cfg(feature = "llvm")]
use splitbar_llvm::Llvm;
use splitbar_plan::backend::Backend;

/// The back end of this build.
pub(crate) fn current() -> &'static dyn Backend {
    #[cfg(feature = "llvm")]
    return &Llvm;
    #[cfg(not(feature = "llvm"))]
    return &WithoutLlvm;
}

/// The release of LLVM that makes code, such as `23.1.1`; `None` in a build without it.
pub fn llvm_version() -> Option<String> {
    current().version()
}
