//! LLVM's reports of the passes that it runs, on the standard error.

use super::set_options;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The line that says that the passes which were reported have all ended; empty in a process that
/// wants no reports.
static NO_PASS: OnceLock<&'static str> = OnceLock::new();

/// Whether reports are on now. Only the thread that compiles changes it: a process that wants
/// reports does nothing else.
static ON: AtomicBool = AtomicBool::new(false);

/// Asks for reports from now on. The first `no_pass` stays.
pub(crate) fn report_passes(no_pass: &'static str) {
    NO_PASS.get_or_init(|| no_pass);
}

/// Returns true if anybody asked for reports.
pub(crate) fn wants_reports() -> bool {
    NO_PASS.get().is_some()
}

/// Switches reports on or off, in a process that wants some: those of the code generator, which are
/// an option of LLVM, and those that [`reports_passes`] says the optimiser is to be asked for.
pub(crate) fn switch_reports(on: bool) {
    if !wants_reports() || ON.swap(on, Ordering::Relaxed) == on {
        return;
    }
    set_options(&[if on {
        "-debug-pass=Executions"
    } else {
        "-debug-pass=Disabled"
    }]);
}

/// Says that the passes have ended, where they are reported.
pub(crate) fn report_no_pass() {
    if let Some(no_pass) = NO_PASS.get().filter(|_| reports_passes()) {
        eprintln!("{no_pass}");
    }
}

/// Returns true if they are on.
pub(crate) fn reports_passes() -> bool {
    ON.load(Ordering::Relaxed)
}
