//! The commit that a release build is of, for `splitbar --version`, and how the program is linked.
//!
//! The commit is from git in a clone, from what cargo wrote down in a package. Other builds do not
//! ask, so that a commit does not build and link everything again.
//!
//! The program brings LLVM's C++ library along where there is a static one. The dynamic one makes
//! the loader look up two thousand names before the program begins, in each process that it starts:
//! a third of the time of a start. LLVM's two thousand options are made there too: kept together,
//! the functions that make them touch a tenth of the pages that they lie on otherwise.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = if is_release {
        packaged().or_else(cloned)
    } else {
        Some("of a development build".to_owned())
    };
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=SPLITBAR_COMMIT={commit}");
    if let Some(folder) = static_library() {
        println!("cargo::rustc-link-arg-bins=-L{}", folder.display());
    }
    if is_linux_with_llvm() {
        // GNU's linker does so without being asked, and says that it does not know the option.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,keep-text-section-prefix");
    }
}

/// A folder with the static C++ library alone, on Linux with GNU's: the linker takes from the first
/// folder that has one of the two. `None` where there is none, and without LLVM.
fn static_library() -> Option<PathBuf> {
    const NAME: &str = "libstdc++.a";
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    if !is_linux_with_llvm() {
        return None;
    }
    let linker = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let said = Command::new(linker)
        .arg(format!("-print-file-name={NAME}"))
        .output()
        .ok()?;
    // A compiler that has none says the name alone.
    let library = PathBuf::from(String::from_utf8(said.stdout).ok()?.trim());
    if !said.status.success() || !library.is_absolute() || !library.is_file() {
        return None;
    }
    let folder = PathBuf::from(env::var_os("OUT_DIR")?).join("cxx");
    fs::create_dir_all(&folder).ok()?;
    fs::copy(&library, folder.join(NAME)).ok()?;
    Some(folder)
}

/// Returns true if the program has LLVM, and the C library and the linkers of GNU/Linux.
fn is_linux_with_llvm() -> bool {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|text| text == value);
    env::var_os("CARGO_FEATURE_LLVM").is_some()
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
}

/// The commit that cargo noted when it made the package.
fn packaged() -> Option<String> {
    let note = ".cargo_vcs_info.json";
    let text = fs::read_to_string(note).ok()?;
    println!("cargo::rerun-if-changed={note}");
    let value = text.split("\"sha1\"").nth(1)?.split('"').nth(1)?;
    Some(value.get(..12)?.to_owned())
}

/// The commit of the clone that holds this folder.
fn cloned() -> Option<String> {
    let git = |arguments: &[&str]| {
        let said = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(said.stdout).ok()?;
        (said.status.success() && !text.is_empty()).then(|| text.trim().to_owned())
    };
    // A package inside of somebody else's repository is not ours.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let folder = git(&["rev-parse", "--absolute-git-dir"])?;
    for file in ["HEAD", "logs/HEAD"] {
        let path = Path::new(&folder).join(file);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}
