//! The corpus of `fixtures/corpus`, read out of its archive.

use anyhow::{Context, Result};
use std::io::{Cursor, Read};
use std::path::Path;

/// One file of the archive.
pub struct File {
    /// Its path in the archive.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// All files, in the order of the archive.
pub fn files() -> Result<Vec<File>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/corpus/dev.tar.xz");
    let packed = std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
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

/// The modules: all files whose name ends with `.spv`.
pub fn modules() -> Result<Vec<File>> {
    Ok(files()?.into_iter().filter(|file| file.path.ends_with(".spv")).collect())
}
