//! Input and output: files that are whole or not there, and the standard streams.

use crate::exit;
use std::ffi::OsStr;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;

/// Reads `path`, or the standard input for `-`.
///
/// # Errors
/// What the system says, with the path in front.
pub(crate) fn read(path: &OsStr) -> Result<Vec<u8>, String> {
    if path != "-" {
        return std::fs::read(path).map_err(|error| named(Path::new(path), error));
    }
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|error| format!("standard input: {error}"))?;
    Ok(bytes)
}

/// Writes `bytes` to `path` by way of a temporary file beside it.
///
/// # Errors
/// As [`read`].
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    // A device or a pipe cannot be replaced, and must not be.
    if path.exists() && !path.is_file() {
        return std::fs::write(path, bytes).map_err(|error| named(path, error));
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".splitbar-opt-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less what the process masks out
    let mut file = builder
        .tempfile_in(folder)
        .map_err(|error| named(path, error))?;
    file.write_all(bytes).map_err(|error| named(path, error))?;
    file.persist(path)
        .map_err(|error| named(path, error.error))?;
    Ok(())
}

/// Writes to the standard output and gives the exit code. A reader that has gone away is no error;
/// a terminal gets no binary data.
pub(crate) fn to_stdout(bytes: &[u8]) -> u8 {
    let mut out = io::stdout().lock();
    if out.is_terminal() && std::str::from_utf8(bytes).is_err() {
        eprintln!("error: standard output: a module is not for a terminal");
        return exit::USAGE;
    }
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => exit::DONE,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit::DONE,
        Err(error) => {
            eprintln!("error: standard output: {error}");
            exit::USAGE
        }
    }
}

/// By the kind of the error alone: its full text may name the temporary file.
fn named(path: &Path, error: io::Error) -> String {
    format!("{}: {}", path.display(), io::Error::from(error.kind()))
}
