//! Results by content: what a compilation gave, under a key of everything that it depends on.
//!
//! The key is a digest of the module, the options, the products, the program that compiles, and the
//! tools that it would run. What may come out otherwise next time is not kept: a limit, a crash, a
//! tool that failed.

use crate::isolate::Bytes;
use crate::{Failure, Isolated, Options, Product, Source, link, ptxas};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use splitbar_passes::diagnostic::{Code, Diagnostics, Severity};
use splitbar_plan::target::Arch;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Bytes of a digest.
const DIGEST: usize = 32;

/// A folder of results. Several processes may use one at a time.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    /// A digest of the program that compiles.
    program: [u8; DIGEST],
    /// The linkers that are found where the options name none.
    linkers: Vec<Tool>,
}

/// The name of a result.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A program that compilations run, as far as it can be told without running it: its path, its
/// bytes, and when it was written.
type Tool = (PathBuf, u64, u64);

/// What stands in a file behind the digest of it.
#[derive(Serialize, Deserialize)]
enum Entry {
    Done(Vec<Bytes>, Diagnostics),
    Refused(Diagnostics),
}

impl Store {
    /// The store in `folder`, which is made where it is missing, of results of `program`: the
    /// program `splitbar` that compiles.
    ///
    /// # Errors
    /// What the file system says of the folder or the program, with the path in front.
    pub fn open(folder: impl Into<PathBuf>, program: &Path) -> io::Result<Store> {
        let folder = folder.into();
        std::fs::create_dir_all(&folder).map_err(|error| named(&folder, &error))?;
        let program = File::open(program)
            .and_then(digest_of)
            .map_err(|error| named(program, &error))?;
        Ok(Store {
            folder,
            program,
            linkers: tools(link::programs(None)),
        })
    }

    /// The key of a compilation.
    pub fn key(&self, source: &Source, options: &Options, products: &[Product]) -> Key {
        let linkers = match (products.contains(&Product::CodeObject), &options.lld) {
            (true, None) => self.linkers.clone(),
            (true, named) => tools(link::programs(named.as_deref())),
            (false, _) => Vec::new(),
        };
        // Without a ptxas another strategy may be the best one.
        let assemblers = match options.target.arch {
            Arch::Nvptx(_) => tools(ptxas::tools(options.ptxas.as_deref())),
            Arch::Amdgpu(_) => Vec::new(),
        };
        let mut digest = Sha256::new();
        digest.update(self.program);
        let asked = (source, options, products, linkers, assemblers);
        // What cannot be written has a key of its own with no entry: paths that are not UTF-8.
        match rmp_serde::to_vec(&asked) {
            Ok(bytes) => digest.update(bytes),
            Err(_) => digest.update(format!("{asked:?}")),
        }
        let digest = digest.finalize();
        Key(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The result under `key`. A damaged one is as good as none.
    pub fn get(&self, key: &Key) -> Option<Result<Isolated, Failure>> {
        let bytes = std::fs::read(self.file(key)).ok()?;
        let (digest, entry) = bytes.split_at_checked(DIGEST)?;
        if digest != Sha256::digest(entry).as_slice() {
            return None;
        }
        Some(match rmp_serde::from_slice(entry).ok()? {
            Entry::Done(products, warnings) => Ok(Isolated {
                products: products.into_iter().map(|bytes| bytes.0).collect(),
                warnings,
            }),
            Entry::Refused(diagnostics) => Err(diagnostics.into()),
        })
    }

    /// Keeps a `result` under `key`, if it is one that comes again.
    ///
    /// # Errors
    /// What the file system says, with the path in front.
    pub fn put(&self, key: &Key, result: &Result<Isolated, Failure>) -> io::Result<()> {
        let entry = match result {
            Ok(made) => Entry::Done(
                made.products.iter().cloned().map(Bytes).collect(),
                made.warnings.clone(),
            ),
            Err(failure) if comes_again(&failure.diagnostics) => {
                Entry::Refused(failure.diagnostics.clone())
            }
            Err(_) => return Ok(()),
        };
        let entry = rmp_serde::to_vec(&entry).map_err(io::Error::other)?;
        let file = self.file(key);
        let write = || {
            let folder = file.parent().unwrap_or(&self.folder);
            std::fs::create_dir_all(folder)?;
            let mut whole = tempfile::NamedTempFile::new_in(folder)?;
            whole.write_all(&Sha256::digest(&entry))?;
            whole.write_all(&entry)?;
            whole.persist(&file).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|error: io::Error| named(&file, &error))
    }

    /// Where the result under `key` lies: in one of 256 folders.
    fn file(&self, key: &Key) -> PathBuf {
        let (folder, name) = key.0.split_at(2);
        self.folder.join(folder).join(name)
    }
}

/// The SHA-256 of a file, which is read in parts: a program may be large.
fn digest_of(mut file: File) -> io::Result<[u8; 32]> {
    const PART: u64 = 1 << 16;
    let mut digest = Sha256::new();
    let mut part = Vec::new();
    while Read::by_ref(&mut file).take(PART).read_to_end(&mut part)? > 0 {
        digest.update(&part);
        part.clear();
    }
    Ok(digest.finalize().into())
}

/// By its kind alone: the full text may name a temporary file.
fn named(path: &Path, error: &io::Error) -> io::Error {
    let kind = error.kind();
    io::Error::new(kind, format!("{}: {kind}", path.display()))
}

/// Returns true if none of the errors is one of this run: a limit, a crash, a tool.
fn comes_again(problems: &Diagnostics) -> bool {
    /// Errors that another run may not have.
    const OF_THE_RUN: [Code; 5] = [
        Code::WorkerLimit,
        Code::WorkerMissing,
        Code::LlvmFailed,
        Code::Internal,
        Code::ToolFailed,
    ];
    problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .all(|problem| !OF_THE_RUN.contains(&problem.code))
}

fn tools(programs: Vec<PathBuf>) -> Vec<Tool> {
    let tool = |program: PathBuf| {
        let data = std::fs::metadata(&program).ok();
        let bytes = data.as_ref().map_or(0, std::fs::Metadata::len);
        let written = data.and_then(|data| data.modified().ok());
        let since = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        (program, bytes, since.map_or(0, |since| since.as_secs()))
    };
    programs.into_iter().map(tool).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::Target;
    use splitbar_passes::diagnostic::Diagnostic;

    fn store(folder: &Path) -> Store {
        let program = folder.join("program");
        std::fs::write(&program, "a program").unwrap();
        Store::open(folder.join("store"), &program).unwrap()
    }

    #[test]
    fn keys_are_of_everything_that_a_result_depends_on() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        let options = Options::new(Target::by_name("gfx1201").unwrap());
        let (one, two) = (Source::from(b"one"), Source::from(b"two"));
        let key = store.key(&one, &options, &[Product::Assembly]);
        assert_eq!(key, store.key(&one, &options, &[Product::Assembly]));
        let mut other = options.clone();
        other.measure = true;
        std::fs::write(folder.path().join("program"), "another program").unwrap();
        let program = folder.path().join("program");
        let newer = Store::open(folder.path().join("store"), &program).unwrap();
        for differs in [
            store.key(&two, &options, &[Product::Assembly]),
            store.key(&one, &other, &[Product::Assembly]),
            store.key(&one, &options, &[Product::Object]),
            newer.key(&one, &options, &[Product::Assembly]),
        ] {
            assert_ne!(key, differs);
        }
    }

    #[test]
    fn what_comes_again_is_kept_and_damage_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        let options = Options::new(Target::by_name("gfx1201").unwrap());
        let key = |name: &str| store.key(&Source::from(name), &options, &[]);
        let made = Isolated {
            products: vec![vec![0, 255], Vec::new()],
            warnings: Diagnostic::warning(Code::BadScope, "a warning").into(),
        };
        store.put(&key("done"), &Ok(made.clone())).unwrap();
        assert_eq!(store.get(&key("done")).unwrap().unwrap(), made);
        for (name, code, is_kept) in [
            ("invalid", Code::BadScope, true),
            ("unsupported", Code::UnsupportedType, true),
            ("late", Code::WorkerLimit, false),
            ("crash", Code::LlvmFailed, false),
        ] {
            let failure = Failure::from(Diagnostic::error(code, name));
            store.put(&key(name), &Err(failure)).unwrap();
            assert_eq!(store.get(&key(name)).is_some(), is_kept, "{name}");
        }
        let file = store.file(&key("done"));
        let mut bytes = std::fs::read(&file).unwrap();
        for damage in [bytes.len() - 1, 3] {
            bytes[damage] ^= 1;
            std::fs::write(&file, &bytes).unwrap();
            assert!(store.get(&key("done")).is_none());
        }
        std::fs::write(&file, [1; 7]).unwrap();
        assert!(store.get(&key("done")).is_none());
    }
}
