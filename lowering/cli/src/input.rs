//! Reading the module that a command names.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most bytes of a file: many times the largest module, and little enough that a file without
/// an end has an answer at once.
pub(super) const MOST: usize = 1 << 28;

/// The bytes of the file `input`, or of the standard input for `-`.
///
/// # Errors
/// What the system says, with the name in front; more than [`MOST`] bytes.
pub(super) fn read(input: &Path) -> Result<Vec<u8>, String> {
    read_at_most(input, MOST)
}

/// As [`read`], of at most `most` bytes.
///
/// # Errors
/// As [`read`].
pub(super) fn read_at_most(input: &Path, most: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    // One more, to notice it.
    let limit = (most as u64).saturating_add(1);
    let (name, result) = if input == Path::new("-") {
        let result = std::io::stdin().lock().take(limit).read_to_end(&mut bytes);
        ("standard input".to_owned(), result)
    } else {
        let result = File::open(input).and_then(|file| file.take(limit).read_to_end(&mut bytes));
        (input.display().to_string(), result)
    };
    result.map_err(|error| format!("{name}: {error}"))?;
    if bytes.len() > most {
        return Err(format!("{name}: the file has more than {most} bytes"));
    }
    Ok(bytes)
}

/// The modules (`.spv`) below the folder `top`, as paths below it, sorted; links to folders are not
/// followed.
///
/// # Errors
/// The message of the system, after the name of the folder.
pub(super) fn modules_of_folder(top: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let mut modules = BTreeSet::new();
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        let at = top.join(&folder);
        let said = |error: std::io::Error| format!("{}: {error}", at.display());
        for entry in at.read_dir().map_err(said)? {
            let entry = entry.map_err(said)?;
            let path = folder.join(entry.file_name());
            if entry.file_type().map_err(said)?.is_dir() {
                open.push(path);
            } else if path.extension() == Some(OsStr::new("spv")) {
                modules.insert(path);
            }
        }
    }
    Ok(modules)
}
