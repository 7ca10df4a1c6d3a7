//! The assembly texts that the modules of a command were given as.

use splitbar::diagnostic::Diagnostics;
use splitbar_passes::module::AssemblyText;
use std::sync::{Mutex, PoisonError};

/// The texts of the modules that were assembled.
static TEXTS: Mutex<Vec<AssemblyText>> = Mutex::new(Vec::new());

/// Keeps the text of a module for the positions of its problems.
pub(super) fn keep(text: AssemblyText) {
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    texts.push(text);
}

/// Fills in the positions of `problems` in the assembly text `file`, if the module was given as
/// text.
pub(super) fn place(problems: &mut Diagnostics, file: &str) {
    let texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = texts.iter().find(|text| text.file() == file) {
        for problem in problems.iter_mut() {
            text.place(problem);
        }
    }
}
