//! Input and output: files that are whole or not there, and the standard streams.

use crate::exit;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;

/// The most bytes of a module, as many as `splitbar` reads: many times the largest module, and few
/// enough that a file without an end is refused at once.
const MOST: usize = 1 << 28;

/// Reads `path`, or the standard input for `-`.
///
/// # Errors
/// The error of the system after the path; a file of more than [`MOST`] bytes.
pub(crate) fn read(path: &OsStr) -> Result<Vec<u8>, String> {
    // One byte more shows that the file is too long.
    let limit = MOST as u64 + 1;
    let mut bytes = Vec::new();
    let name = if path == "-" {
        let read = io::stdin().lock().take(limit).read_to_end(&mut bytes);
        read.map_err(|error| format!("standard input: {error}"))?;
        "standard input".into()
    } else {
        let path = Path::new(path);
        let read = File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
        read.map_err(|error| named(path, error))?;
        path.to_string_lossy()
    };
    if bytes.len() > MOST {
        return Err(format!("{name}: the file has more than {MOST} bytes"));
    }
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

/// Writes to standard output and returns the exit code. A closed pipe is not an error. Binary data
/// is not written to a terminal.
pub(crate) fn to_stdout(bytes: &[u8]) -> u8 {
    let mut out = io::stdout().lock();
    if out.is_terminal() && std::str::from_utf8(bytes).is_err() {
        stderr("error: standard output: a module cannot be written to a terminal\n");
        return exit::USAGE;
    }
    printed(out.write_all(bytes).and_then(|()| out.flush()))
}

/// The exit code for the `result` of writing to the standard output, as [`to_stdout`].
pub(crate) fn printed(result: io::Result<()>) -> u8 {
    match result {
        Ok(()) => exit::DONE,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit::DONE,
        Err(error) => {
            stderr(&format!("error: standard output: {error}\n"));
            exit::USAGE
        }
    }
}

/// Writes to the standard error. A stream that is closed or full is ignored: the exit code still
/// tells how the program ended.
pub(crate) fn stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// By the kind of the error alone: its full text may name the temporary file.
fn named(path: &Path, error: io::Error) -> String {
    format!("{}: {}", path.display(), io::Error::from(error.kind()))
}
