//! The modules that are measured.

use crate::corpus;
use crate::measure::{compiled, instructions};
use anyhow::{Context, Result};
use splitbar::Target;
use std::path::{Path, PathBuf};

/// Modules with more instructions of code are left out: a few of the corpus take longer than all
/// others together, and the table would speak of them alone.
const MOST_INSTRUCTIONS: usize = 1500;

/// Writes the modules that are compiled for `target` into `folder`: the kernels of the fixtures and
/// every `every`-th module of the corpus, but for large ones. How many these are.
pub(crate) fn write(target: &'static Target, every: usize, folder: &Path) -> Result<usize> {
    let corpus = corpus::modules()?;
    let corpus = corpus.into_iter().step_by(every).map(|file| file.bytes);
    let mut count = 0;
    for bytes in kernels()?.into_iter().chain(corpus) {
        let code = compiled(&bytes, target, 1);
        let length = code.map(|(assembly, _)| instructions(&assembly, target));
        if length
            .transpose()?
            .is_some_and(|length| length <= MOST_INSTRUCTIONS)
        {
            std::fs::write(folder.join(format!("{count:04}.spv")), bytes)?;
            count += 1;
        }
    }
    Ok(count)
}

/// The modules of `fixtures/kernels`, by name.
fn kernels() -> Result<Vec<Vec<u8>>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kernels");
    let mut folders: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(&root)? {
        let path = entry?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    let modules = folders.iter().map(|folder| {
        let name = folder.file_name().context("a folder without a name")?;
        let path = folder.join(name).with_extension("spv");
        std::fs::read(&path).with_context(|| path.display().to_string())
    });
    modules.collect()
}
