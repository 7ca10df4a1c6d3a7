//! What LLVM does when it has no answer: it reports a reason and ends the process. Here the thread
//! that asked stops forever instead, and the one that waits for it gets the reason.

use inkwell::llvm_sys::error_handling::LLVMInstallFatalErrorHandler;
use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::Builder;

/// Why a thread has no result.
#[derive(Debug)]
pub(crate) enum Lost {
    /// It was not started.
    NotStarted(io::Error),
    /// It panicked.
    Panicked,
    /// LLVM gave up, for this reason.
    GaveUp(String),
}

/// How the work of a thread ends; `None`: it is done.
type End = Option<String>;

thread_local! {
    /// Who waits for this thread.
    static WAITING: Cell<Option<Sender<End>>> = const { Cell::new(None) };
}

/// True if the process ends when LLVM gives up.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Lets LLVM end this process when it gives up, as it does without this crate: for a process that
/// somebody watches, who starts another one.
pub(crate) fn end_with_llvm() {
    ENDS.store(true, Ordering::Relaxed);
}

/// Does `work` on a thread with a stack of so many bytes, and waits for it.
///
/// # Errors
/// Why there is no result. After `GaveUp` the thread and what it owns are there until the process
/// ends.
pub(crate) fn on_thread<T: Send>(stack: usize, work: impl FnOnce() -> T + Send) -> Result<T, Lost> {
    static INSTALLED: Once = Once::new();
    // SAFETY: the handler is a function of the program and may be called at any time.
    INSTALLED.call_once(|| unsafe { LLVMInstallFatalErrorHandler(Some(give_up)) });
    let (sender, receiver) = channel::<End>();
    let result = Mutex::new(None);
    let place = &result;
    // The sender goes with the thread: a panic drops it.
    let run = move || {
        if !ENDS.load(Ordering::Relaxed) {
            WAITING.set(Some(sender.clone()));
        }
        let done = work();
        WAITING.set(None);
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        // Nobody is left to tell when this fails.
        let _ = sender.send(None);
    };
    let builder = Builder::new().name("llvm".to_owned()).stack_size(stack);
    // SAFETY: what `run` borrows lives as long as it is used: this function returns when the thread
    // has ended, or when it has stopped forever in `give_up`, after which it touches nothing.
    let thread = unsafe { builder.spawn_unchecked(run) }.map_err(Lost::NotStarted)?;
    if let Ok(Some(reason)) = receiver.recv() {
        return Err(Lost::GaveUp(reason));
    }
    if thread.join().is_err() {
        return Err(Lost::Panicked);
    }
    let result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
    result.ok_or(Lost::Panicked)
}

/// Called by LLVM with the reason; when this returns, LLVM ends the process.
extern "C" fn give_up(reason: *const c_char) {
    let reason = if reason.is_null() {
        "no reason given".into()
    } else {
        // SAFETY: LLVM gives a string that ends with a zero.
        unsafe { CStr::from_ptr(reason) }.to_string_lossy()
    };
    let reason = format!("LLVM ERROR: {reason}");
    if let Some(waiting) = WAITING.take()
        && waiting.send(Some(reason.clone())).is_ok()
    {
        loop {
            std::thread::park();
        }
    }
    let _ = writeln!(io::stderr(), "{reason}");
}
