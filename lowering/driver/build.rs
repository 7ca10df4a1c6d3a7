//! The commit that a release build is of, for `splitbar --version`.
//!
//! From git in a clone, from what cargo wrote down in a package. Other builds do not ask, so that
//! a commit does not build and link everything again.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = match is_release {
        true => packaged().or_else(cloned),
        false => Some("of a development build".to_owned()),
    };
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=SPLITBAR_COMMIT={commit}");
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
