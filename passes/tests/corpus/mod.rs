//! The corpus of `fixtures/corpus`, read out of its archive once for each process.

use anyhow::{Context, Result};
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::{Mutex, OnceLock};

/// One file of the archive.
#[derive(Clone)]
pub(crate) struct File {
    /// Its path in the archive.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// All files, in the order of the archive.
pub(crate) fn files() -> Result<&'static [File]> {
    static FILES: OnceLock<Vec<File>> = OnceLock::new();
    static UNPACKING: Mutex<()> = Mutex::new(());
    let _one = UNPACKING.lock();
    if FILES.get().is_none() {
        let _ = FILES.set(unpack()?);
    }
    FILES
        .get()
        .map(Vec::as_slice)
        .context("the corpus was unpacked a moment ago")
}

/// The modules: all files whose name ends with `.spv`.
pub(crate) fn modules() -> Result<Vec<File>> {
    let is_module = |file: &&File| file.path.ends_with(".spv");
    Ok(files()?.iter().filter(is_module).cloned().collect())
}

fn unpack() -> Result<Vec<File>> {
    // Crates of several folders include this file.
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|folder| folder.join("fixtures/corpus/dev.tar.xz"))
        .find(|path| path.exists())
        .context("no fixtures/corpus/dev.tar.xz")?;
    let packed =
        std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut unpacked = Vec::new();
    lzma_rs::xz_decompress(&mut Cursor::new(packed), &mut unpacked)?;
    let mut files = Vec::new();
    for entry in tar::Archive::new(Cursor::new(unpacked)).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.to_string_lossy().into_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        files.push(File { path, bytes });
    }
    Ok(files)
}
