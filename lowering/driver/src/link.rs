//! AMDGPU objects to code objects (`.hsaco`) with whatever lld is installed.

use crate::scratch;
use crate::tool::Refusal;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the linker to use instead of searching one: a path to `ld.lld` or to `rust-lld`.
pub const LINKER_VARIABLE: &str = "SPLITBAR_LLD";

/// A linker: its program, and the arguments that make it an ELF linker.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Linker {
    program: PathBuf,
    first: &'static [&'static str],
}

impl Linker {
    /// `ld.lld` is an ELF linker by its name, the others have to be told.
    fn at(program: PathBuf) -> Self {
        let is_elf = program
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("ld.lld"));
        Linker {
            program,
            first: if is_elf { &[] } else { &["-flavor", "gnu"] },
        }
    }
}

/// Links one relocatable object into a code object that the ROCm loader takes.
///
/// Tries `named` alone if it is there, else `SPLITBAR_LLD` alone if it is set. Otherwise:
/// `ld.lld-NN` on PATH with the highest NN first, `ld.lld`, `lld-NN`, `lld`, then the `rust-lld` of
/// the Rust tool chain; a linker that refuses the object (an old one does not know new GPUs) makes
/// way for the next.
///
/// # Errors
/// `LinkerMissing` when there is none; with the first one's words, `LinkerFailed` when it refuses
/// the object and `ToolFailed` when it cannot be used.
pub fn code_object(object: &[u8], named: Option<&Path>) -> Result<Vec<u8>, Diagnostics> {
    let linkers = linkers(named);
    let mut refusal = None;
    for linker in &linkers {
        match run(linker, object) {
            Ok(code_object) => return Ok(code_object),
            Err(why) => refusal = refusal.or(Some((linker, why))),
        }
    }
    let problem = match refusal {
        None => Diagnostic::error(Code::LinkerMissing, "no linker for AMDGPU code objects was found")
            .because("neither PATH nor the Rust tool chain has `ld.lld`, `ld.lld-NN`, `lld` or `rust-lld`")
            .help(format!("install LLVM's lld, or set {LINKER_VARIABLE} to its path; `Output::object` needs no linker")),
        Some((linker, refusal)) => {
            let help = format!("set {LINKER_VARIABLE} to the path of a newer lld; `Output::object` needs no linker");
            refusal.diagnostic(&linker.program, Code::LinkerFailed, "this object", help)
        }
    };
    Err(problem.into())
}

fn run(linker: &Linker, object: &[u8]) -> Result<Vec<u8>, Refusal> {
    let folder = scratch::folder()?;
    let (input, output) = (
        folder.path().join("kernel.o"),
        folder.path().join("kernel.hsaco"),
    );
    std::fs::write(&input, object).map_err(|error| format!("{}: {error}", input.display()))?;
    let result = Command::new(&linker.program)
        .args(linker.first)
        .args(["-shared", "--no-undefined", "-o"])
        .args([&output, &input])
        .output()
        .map_err(|error| format!("it cannot be started: {error}"))?;
    if !result.status.success() {
        let said = String::from_utf8_lossy(&result.stderr)
            .replace(&folder.path().display().to_string(), "");
        return Err(Refusal::new(&result, &said, is_about_code));
    }
    Ok(std::fs::read(&output).map_err(|error| format!("it wrote nothing: {error}"))?)
}

/// A linker that is too old finds other faults than names that nothing defines.
fn is_about_code(said: &str) -> bool {
    said.contains("undefined symbol")
}

/// The programs that [`code_object`] tries.
pub(crate) fn programs(named: Option<&Path>) -> Vec<PathBuf> {
    let linkers = linkers(named).into_iter();
    linkers.map(|linker| linker.program).collect()
}

/// Linkers in the order in which they are tried.
fn linkers(named: Option<&Path>) -> Vec<Linker> {
    if let Some(named) = named {
        return vec![Linker::at(named.to_owned())];
    }
    if let Some(named) = std::env::var_os(LINKER_VARIABLE).filter(|value| !value.is_empty()) {
        return vec![Linker::at(PathBuf::from(named))];
    }
    let path = std::env::var_os("PATH").unwrap_or_default(); // unset: no folders
    let mut found: Vec<PathBuf> = ["ld.lld", "lld"]
        .iter()
        .flat_map(|name| on_path(&path, name))
        .collect();
    found.extend(rust_lld());
    found.into_iter().map(Linker::at).collect()
}

/// `name-NN` on PATH, the highest NN first, then `name`.
fn on_path(path: &OsString, name: &str) -> Vec<PathBuf> {
    let mut versioned: Vec<(u32, PathBuf)> = Vec::new();
    let mut plain = None;
    for folder in std::env::split_paths(path) {
        let Ok(files) = std::fs::read_dir(&folder) else {
            continue; // PATH may name what is not there
        };
        for file in files.flatten() {
            let Ok(file_name) = file.file_name().into_string() else {
                continue; // not UTF-8, so not one of the names
            };
            let Some(rest) = file_name.strip_prefix(name) else {
                continue; // another program
            };
            if rest.is_empty() && plain.is_none() {
                plain = Some(file.path());
            } else if let Some(version) = rest
                .strip_prefix('-')
                .and_then(|number| number.parse().ok())
                && !versioned.iter().any(|(seen, _)| *seen == version)
            {
                versioned.push((version, file.path()));
            }
        }
    }
    versioned.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    versioned
        .into_iter()
        .map(|(_, path)| path)
        .chain(plain)
        .collect()
}

/// `rust-lld` of the tool chain that `rustc` on PATH belongs to.
fn rust_lld() -> Option<PathBuf> {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let sysroot = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim().to_owned());
    let hosts = std::fs::read_dir(sysroot.join("lib").join("rustlib")).ok()?;
    let mut candidates: Vec<PathBuf> = hosts
        .flatten()
        .map(|host| {
            host.path()
                .join("bin")
                .join(format!("rust-lld{}", std::env::consts::EXE_SUFFIX))
        })
        .filter(|path| Path::is_file(path))
        .collect();
    candidates.sort();
    candidates.into_iter().next()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn newest_version_first_and_the_plain_name_last() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "ld.lld",
            "ld.lld-14",
            "ld.lld-22",
            "ld.lld-9",
            "ld.lld.bak",
            "lld-22",
        ] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found = on_path(&folder.path().as_os_str().to_owned(), "ld.lld");
        let names: Vec<_> = found
            .iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap())
            .collect();
        assert_eq!(names, ["ld.lld-22", "ld.lld-14", "ld.lld-9", "ld.lld"]);
    }

    #[test]
    fn only_ld_lld_knows_its_flavour() {
        assert!(Linker::at("/usr/bin/ld.lld-22".into()).first.is_empty());
        assert_eq!(Linker::at("/usr/bin/lld".into()).first, ["-flavor", "gnu"]);
        assert_eq!(Linker::at("rust-lld".into()).first, ["-flavor", "gnu"]);
    }
}
