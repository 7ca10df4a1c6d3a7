//! LLVM's reports of the passes that it runs, on the standard error.

use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use std::sync::OnceLock;

/// The line that says that the passes which were reported have all ended; empty while the reports
/// are off.
static NO_PASS: OnceLock<&'static str> = OnceLock::new();

/// Switches the reports on: those of the code generator, which are an option of LLVM, and those
/// that [`reports_passes`] says the optimiser is to be asked for. The first `no_pass` stays.
pub(crate) fn report_passes(no_pass: &'static str) {
    NO_PASS.get_or_init(|| {
        let arguments = [c"splitbar".as_ptr(), c"-debug-pass=Executions".as_ptr()];
        // SAFETY: two strings that end, which LLVM copies; called once, and LLVM has the option.
        unsafe {
            LLVMParseCommandLineOptions(
                arguments.len() as i32,
                arguments.as_ptr(),
                std::ptr::null(),
            )
        };
        no_pass
    });
}

/// Says that the passes have ended, where they are reported.
pub(crate) fn report_no_pass() {
    if let Some(no_pass) = NO_PASS.get() {
        eprintln!("{no_pass}");
    }
}

/// Whether they are on.
pub(crate) fn reports_passes() -> bool {
    NO_PASS.get().is_some()
}
