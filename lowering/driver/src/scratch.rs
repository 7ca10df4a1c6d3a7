//! Folders for the files that other programs read and write. The names have the number of the
//! process, so that another process can remove the folders of one that was killed.

use std::path::Path;
use tempfile::TempDir;

/// Makes a folder for this process. Dropping it removes it.
///
/// # Errors
/// What the system says.
pub(crate) fn folder() -> Result<TempDir, String> {
    tempfile::Builder::new()
        .prefix(&prefix(std::process::id()))
        .tempdir()
        .map_err(|error| format!("cannot create a temporary folder: {error}"))
}

/// Removes the folders that the process with this number has left. It has ended, or is this one and
/// about to end.
pub(crate) fn remove_of(process: u32) {
    remove_from(&std::env::temp_dir(), process);
}

fn remove_from(parent: &Path, process: u32) {
    /// A program that is still being ended may add a file meanwhile.
    const ATTEMPTS: u32 = 8;
    let prefix = prefix(process);
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let own = entries.filter(|entry| {
        let is_named = entry.file_name().to_string_lossy().starts_with(&prefix);
        // Not what a link leads to.
        is_named && entry.file_type().is_ok_and(|kind| kind.is_dir())
    });
    for entry in own {
        // Nobody is left to tell when it stays.
        let _ = (0..ATTEMPTS).find(|_| std::fs::remove_dir_all(entry.path()).is_ok());
    }
}

fn prefix(process: u32) -> String {
    format!("splitbar-{process}-")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn folders_of_one_process_go_and_no_others() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        for name in [
            "splitbar-7-a/deep",
            "splitbar-7-b",
            "splitbar-77-a",
            "other",
        ] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::fs::write(at("splitbar-7-a/deep/kernel.o"), "").unwrap();
        std::fs::write(at("splitbar-7-file"), "").unwrap();
        remove_from(parent.path(), 7);
        for (name, stays) in [
            ("splitbar-7-a", false),
            ("splitbar-7-b", false),
            ("splitbar-77-a", true),
            ("splitbar-7-file", true),
            ("other", true),
        ] {
            assert_eq!(at(name).exists(), stays, "{name}");
        }
    }

    #[test]
    fn a_folder_is_named_after_its_process() {
        let folder = folder().unwrap();
        let name = folder.path().file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(&prefix(std::process::id())), "{name}");
    }
}
