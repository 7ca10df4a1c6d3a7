//! Space on the disk: what a folder takes, and what is free.

use std::collections::HashSet;
use std::path::Path;

use crate::shell;

/// A gigabyte, as disks are sold.
pub(crate) const GIGABYTE: u64 = 1_000_000_000;

/// Returns the bytes of the files below `folder`, a file with several names once; 0 for a folder
/// that does not exist.
pub(crate) fn used(folder: &Path) -> u64 {
    let mut seen = HashSet::new();
    let mut folders = vec![folder.to_path_buf()];
    let mut bytes = 0;
    while let Some(folder) = folders.pop() {
        let entries = folder.read_dir().into_iter().flatten().flatten();
        for entry in entries {
            let Ok(data) = entry.metadata() else { continue };
            if data.is_dir() {
                folders.push(entry.path());
            } else if is_first_name(&data, &mut seen) {
                bytes += data.len();
            }
        }
    }
    bytes
}

/// Returns false for a file that `seen` has by another name. Cargo gives programs two names.
#[cfg(unix)]
fn is_first_name(data: &std::fs::Metadata, seen: &mut HashSet<(u64, u64)>) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    data.nlink() == 1 || seen.insert((data.dev(), data.ino()))
}

#[cfg(not(unix))]
fn is_first_name(_: &std::fs::Metadata, _: &mut HashSet<(u64, u64)>) -> bool {
    true
}

/// Returns the free bytes of the disk of `folder`, which exists; `None` where `df` does not say.
pub(crate) fn free(folder: &Path) -> Option<u64> {
    let mut df = shell::command("df", &["-Pk"]);
    df.arg(folder);
    of_df(&shell::read(df).ok()?)
}

/// Reads the column `Available` of `df -Pk`, which counts in 1024 bytes.
fn of_df(text: &str) -> Option<u64> {
    let blocks: u64 = text
        .lines()
        .nth(1)?
        .split_whitespace()
        .nth(3)?
        .parse()
        .ok()?;
    blocks.checked_mul(1024)
}

/// Writes bytes as gigabytes.
pub(crate) fn gigabytes(bytes: u64) -> String {
    let tenths = bytes.saturating_add(GIGABYTE / 20) / (GIGABYTE / 10);
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_with_two_names_count_once() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("below");
        std::fs::create_dir(&below).unwrap();
        std::fs::write(below.join("file"), [0; 1000]).unwrap();
        std::fs::write(folder.path().join("other"), [0; 10]).unwrap();
        assert_eq!(used(folder.path()), 1010);
        std::fs::hard_link(below.join("file"), folder.path().join("again")).unwrap();
        assert_eq!(used(folder.path()), 1010);
        assert_eq!(used(&folder.path().join("missing")), 0);
    }

    #[test]
    fn the_column_of_free_blocks() {
        let text = "Filesystem 1024-blocks Used Available Capacity Mounted on\n\
                    /dev/vda 263174212 30000000 64000000 32% /\n";
        assert_eq!(of_df(text), Some(65_536_000_000));
        assert_eq!(of_df("df: no such file\n"), None);
        assert!(free(Path::new(".")).is_some_and(|bytes| bytes > 0));
    }

    #[test]
    fn gigabytes_are_rounded() {
        assert_eq!(gigabytes(9_960_000_000), "10.0");
        assert_eq!(gigabytes(40_000_000), "0.0");
        assert_eq!(gigabytes(60_000_000), "0.1");
    }
}
