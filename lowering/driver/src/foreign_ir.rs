//! LLVM IR with split barriers: the skeleton of its kernels is compiled like a SPIR-V module, and
//! diagnostics about the skeleton refer to its LLVM instructions.

use crate::compile::Output;
use crate::failure::Failure;
use crate::options::{Options, SplitBarriers};
use crate::refusal;
use crate::stage::{Observer, Stage};
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_plan::backend::IrModule;

/// Reads a module; `None` where it has no barriers.
///
/// # Errors
/// What LLVM cannot read (`UnreadableIr`), what a call of a barrier asks and the module does not
/// have, and options that ask to split barriers.
pub(crate) fn read(
    bytes: &[u8],
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Option<Box<dyn IrModule>>, Failure> {
    observer.begin(Stage::Read);
    if options.split_barriers != SplitBarriers::Never {
        let refused = Diagnostic::error(
            Code::WrongUsage,
            "full barriers in LLVM IR cannot be split automatically",
        );
        return Err(refused.into());
    }
    let read = crate::backend::current().read_ir(bytes, options.target, options.workgroup_size)?;
    Ok(read)
}

/// A module without barriers, as it is.
///
/// # Errors
/// As [`read`].
pub(crate) fn unchanged(bytes: &[u8], options: &Options) -> Result<Output, Failure> {
    let lowered = crate::backend::current()
        .unchanged_ir(bytes, options.target, options.optimization)
        .map_err(refusal::of_foreign_ir)?;
    Ok(Output::unchanged(lowered, true, options))
}

/// The problems of a skeleton, as problems of the LLVM module.
pub(crate) fn failure_of(ir: &dyn IrModule, failure: Failure) -> Failure {
    let mut problems = refusal::of_foreign_ir(failure.diagnostics);
    ir.relocate(&mut problems);
    problems.into()
}
