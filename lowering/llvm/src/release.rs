//! The release of LLVM that is linked.

/// The release of LLVM that is linked.
pub(crate) fn version() -> String {
    let (major, minor, patch) = inkwell::support::get_llvm_version();
    format!("{major}.{minor}.{patch}")
}
