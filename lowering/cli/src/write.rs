//! Output files that are whole or not there, and a standard output that takes binary data only when
//! no terminal listens.

use splitbar::exit;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// The beginning of the names of temporary files.
const TEMPORARY: &str = ".splitbar-";

/// As [`TEMPORARY`], for a file that only a batch writes: the next one removes what a run that was
/// killed has left.
const TEMPORARY_OF_BATCH: &str = ".splitbar-batch-";

/// Writes `bytes` to `path` by way of a temporary file beside it, so that nobody ever sees half of
/// it.
///
/// # Errors
/// What the file system says, with the path in front.
pub(super) fn to_file(path: &Path, bytes: &[u8]) -> Result<(), String> {
    by_way_of(TEMPORARY, path, bytes)
}

fn by_way_of(temporary: &str, path: &Path, bytes: &[u8]) -> Result<(), String> {
    // By its kind alone: the full text may name the temporary file.
    let named = |error: io::Error| format!("{}: {}", path.display(), io::Error::from(error.kind()));
    // A device or a pipe cannot be replaced, and must not be.
    if path.exists() && !path.is_file() {
        return std::fs::write(path, bytes).map_err(named);
    }
    let folder = folder(path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(temporary);
    // The permissions that a plainly created file would have, less what the process masks out.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder).map_err(named)?;
    file.write_all(bytes).map_err(named)?;
    file.persist(path).map_err(|error| named(error.error))?;
    Ok(())
}

/// As [`to_file`], for an output of a batch. It leaves a file alone that has these bytes already:
/// build systems go by the time at which it was written.
///
/// # Errors
/// As [`to_file`].
pub(super) fn if_changed(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let same_length = path
        .metadata()
        .is_ok_and(|data| data.is_file() && data.len() == bytes.len() as u64);
    if same_length && std::fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    by_way_of(TEMPORARY_OF_BATCH, path, bytes)
}

/// Removes the temporary files that a batch has left in `folder` because it was killed. No batch
/// that writes there may run.
///
/// # Errors
/// As [`to_file`]; a folder that is not there has no files.
pub(super) fn remove_left_files(folder: &Path) -> Result<(), String> {
    let said = |error: io::Error| format!("{}: {error}", folder.display());
    let files = match folder.read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        files => files.map_err(said)?,
    };
    for file in files {
        let file = file.map_err(said)?;
        if (file.file_name().to_string_lossy()).starts_with(TEMPORARY_OF_BATCH) {
            std::fs::remove_file(file.path()).map_err(said)?;
        }
    }
    Ok(())
}

/// That `path` can become an output, asked before the work: its folder is there, it is no folder
/// itself, and it is none of `inputs`.
///
/// # Errors
/// What is wrong, with the path in front.
pub(super) fn check(path: &Path, inputs: &[&Path]) -> Result<(), String> {
    let shown = path.display();
    let folder = folder(path);
    if !folder.is_dir() {
        let folder = folder.display();
        return Err(format!(
            "{shown}: there is no folder {folder}; create it first"
        ));
    }
    if path.is_dir() {
        return Err(format!("{shown}: this is a folder; name a file in it"));
    }
    let Ok(file) = path.canonicalize() else {
        return Ok(()); // nothing is there yet that could be replaced
    };
    match inputs
        .iter()
        .find(|input| input.canonicalize().is_ok_and(|input| input == file))
    {
        // A device or a pipe is read and written at once; only a file would be lost.
        Some(input) if file.is_file() => Err(format!(
            "{shown}: the output would replace the input {}; name another file",
            input.display()
        )),
        _ => Ok(()),
    }
}

/// The files that a run writes, each in a place of its own.
#[derive(Default)]
pub(super) struct Places(BTreeMap<PathBuf, PathBuf>);

impl Places {
    /// Adds `path`.
    ///
    /// # Errors
    /// It is a file that was added before, however it is spelled: one would replace the other.
    pub(super) fn add(&mut self, path: &Path) -> Result<(), String> {
        if path.exists() && !path.is_file() {
            return Ok(()); // a device or a pipe takes several
        }
        let Some(other) = self.0.insert(place(path), path.to_owned()) else {
            return Ok(());
        };
        Err(format!(
            "{} and {} are the same file; name another file for one of the outputs",
            other.display(),
            path.display()
        ))
    }
}

/// One name for a file that need not be there yet. A link is the place, not what it leads to: an
/// output replaces it.
fn place(path: &Path) -> PathBuf {
    let whole = folder(path).canonicalize().ok().zip(path.file_name());
    whole.map_or_else(
        || std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
        |(folder, name)| folder.join(name),
    )
}

/// The folder that `path` lies in.
fn folder(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Writes to the standard output. A reader that has gone away (`| head`) is not an error.
///
/// # Errors
/// What the system says.
pub(super) fn stdout(bytes: &[u8]) -> Result<(), String> {
    let mut out = io::stdout().lock();
    printed(out.write_all(bytes).and_then(|()| out.flush()))
}

/// The `result` of writing to the standard output. A reader that has gone away is not an error.
///
/// # Errors
/// As [`stdout`].
pub(super) fn printed(result: io::Result<()>) -> Result<(), String> {
    match result {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(format!("standard output: {error}")),
    }
}

/// Writes to the standard output, as [`stdout`], and gives the exit code.
pub(super) fn to_stdout(bytes: &[u8]) -> u8 {
    match stdout(bytes) {
        Ok(()) => exit::DONE,
        Err(text) => {
            error(&text);
            exit::USAGE
        }
    }
}

/// Prints `text` as a note, on a line of the standard error.
pub(super) fn note(text: &str) {
    stderr(&format!("note: {text}\n"));
}

/// Prints `text` as an error, on a line of the standard error.
pub(super) fn error(text: &str) {
    stderr(&format!("error: {text}\n"));
}

/// Writes to the standard error. A stream that is closed or full is ignored: the exit code still
/// tells how the command ended.
pub(super) fn stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Returns true if binary data may go to the standard output.
pub(super) fn stdout_takes_binary() -> bool {
    !io::stdout().is_terminal()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_place_however_it_is_spelled() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (one, other) in [
            ("k.s", "./k.s"),
            ("k.s", "../X/k.s"),
            ("no/k.s", "no/./k.s"),
        ] {
            let name = folder.path().file_name().unwrap().to_str().unwrap();
            let mut places = Places::default();
            places.add(&at(one)).unwrap();
            places.add(&at("other.s")).unwrap();
            let said = places.add(&at(&other.replace('X', name))).unwrap_err();
            assert!(said.contains("are the same file"), "{said}");
        }
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.s");
        to_file(&path, b"one").unwrap();
        to_file(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(
            to_file(&folder.path().join("no/such/folder"), b"")
                .unwrap_err()
                .contains("no/such/folder")
        );
    }
}
