//! Says in words where LLVM comes from when there is none: the crate that links it says less, and
//! names a program that does not build this release.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// The prefix of an installation, as the crate llvm-sys reads it.
const PREFIX: &str = "LLVM_SYS_231_PREFIX";

/// The release.
const RELEASE: &str = "23.1";

/// The names of the program that llvm-sys asks.
const PROGRAMS: [&str; 6] = [
    "llvm-config-23",
    "llvm-config23",
    "llvm23-config",
    "llvm-config-23.1",
    "llvm-config231",
    "llvm-config",
];

fn main() {
    for variable in [PREFIX, "DOCS_RS"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    // With a prefix another PATH must not build everything again.
    if env::var_os(PREFIX).is_none() {
        println!("cargo::rerun-if-env-changed=PATH");
    }
    // The documentation is made without LLVM.
    if env::var_os("DOCS_RS").is_some() || env::var_os("CARGO_FEATURE_DOCS_RS").is_some() {
        return;
    }
    let folder = env::var_os(PREFIX).map(|prefix| PathBuf::from(prefix).join("bin"));
    let found: Vec<String> = PROGRAMS
        .iter()
        .filter_map(|name| version(&folder, name))
        .collect();
    // On macOS llvm-sys looks in more places.
    let elsewhere = env::consts::OS == "macos" && folder.is_none();
    if elsewhere || found.iter().any(|version| version.starts_with(RELEASE)) {
        return;
    }
    let place = match &folder {
        Some(folder) => format!("{} (by {PREFIX})", folder.display()),
        None => "PATH".to_owned(),
    };
    let other = match found.first() {
        Some(version) => format!("; there is one for LLVM {version}"),
        None => String::new(),
    };
    for line in [
        format!("splitbar-llvm links LLVM {RELEASE}, and no llvm-config of that release is in {place}{other}."),
        format!("Set {PREFIX} to an installation with the AMDGPU and NVPTX back ends, static libraries and bin/llvm-config."),
        "The Python package mlc-llvm-static 23.1.1.post0 has such libraries for Linux and macOS; in a clone of splitbar `cargo xtask llvm` installs it.".to_owned(),
        "Without LLVM: the crate splitbar with default-features = false checks, plans and explores modules.".to_owned(),
    ] {
        println!("cargo::error={line}");
    }
}

/// The version that the program `name` says it is of.
fn version(folder: &Option<PathBuf>, name: &str) -> Option<String> {
    let name = format!("{name}{}", env::consts::EXE_SUFFIX);
    let program = folder
        .as_ref()
        .map_or_else(|| PathBuf::from(&name), |folder| folder.join(&name));
    let said = Command::new(program).arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}
