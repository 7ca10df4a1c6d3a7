//! Errors of LLVM and other tools about a module in LLVM IR that others wrote: they are not bugs
//! of splitbar.

use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};

/// Turns refusals by LLVM or another tool into `IrEndsLlvm`. Our own bugs stay what they are.
pub(crate) fn of_foreign_ir(problems: Diagnostics) -> Diagnostics {
    let mut all = Diagnostics::new();
    for problem in problems.iter().cloned() {
        all.push(match problem.code {
            Code::Internal => problem,
            _ => of_process(problem),
        });
    }
    all
}

/// As [`of_foreign_ir`], of what ended a process: a bug there is LLVM's.
pub(crate) fn of_process(problem: Diagnostic) -> Diagnostic {
    if !matches!(
        problem.code,
        Code::LlvmFailed | Code::Internal | Code::LinkerFailed | Code::AssemblerFailed
    ) {
        return problem;
    }
    let refused = Diagnostic::error(Code::IrEndsLlvm, problem.message);
    let refused = problem
        .reasons
        .into_iter()
        .fold(refused, Diagnostic::because);
    refused
        .help("remove the feature that the reason names, or compile for a target that supports it")
}
