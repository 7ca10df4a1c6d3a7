//! The modules of the corpus, out of their archive.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::shell;

const ARCHIVE: &str = "fixtures/corpus/dev.tar.xz";

/// A module on disk.
pub(crate) struct Module {
    /// Its path in the archive.
    pub name: String,
    /// The folder of the archive that it is in.
    pub set: String,
    /// Where it was unpacked to.
    pub path: PathBuf,
}

impl Module {
    /// The words of its instructions, in order.
    pub(crate) fn instructions(&self) -> Result<Vec<Vec<u32>>> {
        let bytes = std::fs::read(&self.path).with_context(|| self.path.display().to_string())?;
        let (words, _) = bytes.as_chunks::<4>();
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let mut rest = words.get(5..).unwrap_or_default();
        let mut found = Vec::new();
        while let Some(word) = rest.first() {
            let length = (word >> 16).max(1) as usize;
            let (instruction, others) = rest.split_at(length.min(rest.len()));
            found.push(instruction.to_vec());
            rest = others;
        }
        Ok(found)
    }

    /// Returns true if it has an OpControlBarrier (224).
    pub(crate) fn has_barrier(&self) -> Result<bool> {
        let instructions = self.instructions()?;
        let mut opcodes = instructions.iter().filter_map(|words| words.first());
        Ok(opcodes.any(|word| word & 0xffff == 224))
    }
}

/// The modules in `folder` and the folders in it, in order of name. A module is named after its
/// path and its content, so that one that has changed is a new one.
pub(super) fn list(folder: &Path) -> Result<Vec<Module>> {
    let mut modules = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        let entries = std::fs::read_dir(&inner).with_context(|| inner.display().to_string())?;
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "spv") {
                let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
                let digest = Sha256::digest(&bytes);
                let digest: String = digest.iter().take(4).map(|b| format!("{b:02x}")).collect();
                let within = path.strip_prefix(folder).unwrap_or(&path);
                let set = within.parent().map(|set| set.display().to_string());
                modules.push(Module {
                    name: format!("{} ({digest})", within.display()),
                    set: set
                        .filter(|set| !set.is_empty())
                        .unwrap_or_else(|| ".".to_owned()),
                    path,
                });
            }
        }
    }
    ensure!(!modules.is_empty(), "{} has no module", folder.display());
    modules.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(modules)
}

/// Unpacks the archive into `folder` and lists its modules in order of name. What is there already
/// is kept.
pub(crate) fn unpack(folder: &Path) -> Result<Vec<Module>> {
    let packed = std::fs::read(shell::root().join(ARCHIVE)).context(ARCHIVE)?;
    let mut unpacked = Vec::new();
    lzma_rs::xz_decompress(&mut packed.as_slice(), &mut unpacked).context(ARCHIVE)?;
    let mut modules = Vec::new();
    for entry in tar::Archive::new(unpacked.as_slice()).entries()? {
        let mut entry = entry?;
        let name = entry.path()?.display().to_string();
        let (Some((set, _)), true) = (name.split_once('/'), name.ends_with(".spv")) else {
            continue;
        };
        let path = folder.join(&name);
        let set = set.to_owned();
        if std::fs::metadata(&path).map(|data| data.len()).ok() != Some(entry.size()) {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            std::fs::create_dir_all(folder.join(&set))?;
            std::fs::write(&path, bytes).with_context(|| path.display().to_string())?;
        }
        modules.push(Module { name, set, path });
    }
    modules.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(modules)
}
