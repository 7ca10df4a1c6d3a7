//! Copies of this process: what LLVM makes when a program starts (a thousand pages of options and
//! of tables that the loader puts right) is there already.

use splitbar_plan::backend::Fork;
use std::io;

/// Copies this process. The copy has its memory and its open files.
///
/// # Errors
/// `Unsupported` where other threads run, or may run: they would be gone in the copy, with the
/// locks that they hold. Only Linux says that there are none. Else what the system says.
pub(crate) fn fork() -> io::Result<Fork> {
    if !has_one_thread() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    #[cfg(target_os = "linux")]
    {
        // SAFETY: this is the only thread, so the copy lacks nothing that this process has.
        let number = unsafe { libc::fork() };
        match u32::try_from(number) {
            Ok(0) => Ok(Fork::Copy),
            Ok(number) => Ok(Fork::Owner(number)),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }
    #[cfg(not(target_os = "linux"))]
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns true if this process is known to have one thread alone.
fn has_one_thread() -> bool {
    cfg!(target_os = "linux")
        && std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests run in threads.
    #[test]
    fn a_process_of_several_threads_is_not_copied() {
        let refused = std::thread::spawn(fork)
            .join()
            .map(|forked| forked.map_err(|e| e.kind()));
        assert_eq!(refused.ok(), Some(Err(io::ErrorKind::Unsupported)));
    }
}
