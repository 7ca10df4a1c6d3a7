//! LLVM's reports of the passes that it runs, on the standard error.

use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use std::sync::Once;

/// The line that says that the passes which were reported have all ended.
pub const NO_PASS: &str = "splitbar: no pass is running";

static REPORTS: Once = Once::new();

/// Switches the reports on: those of the code generator, which are an option of LLVM, and those that [`reports_passes`] says the optimiser is to be asked for.
pub(crate) fn report_passes() {
    REPORTS.call_once(|| {
        let arguments = [c"splitbar".as_ptr(), c"-debug-pass=Executions".as_ptr()];
        // SAFETY: two strings that end, which LLVM copies; called once, and LLVM has the option.
        unsafe {
            LLVMParseCommandLineOptions(
                arguments.len() as i32,
                arguments.as_ptr(),
                std::ptr::null(),
            )
        };
    });
}

/// Says that the passes have ended, where they are reported.
pub(crate) fn report_no_pass() {
    if reports_passes() {
        eprintln!("{NO_PASS}");
    }
}

/// Whether they are on.
pub(crate) fn reports_passes() -> bool {
    REPORTS.is_completed()
}
