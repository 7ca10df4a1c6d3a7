//! Programs of the system's packages, which some tests need.

use std::process::Command;

use crate::shell;

/// A program of the tests or another file, and its package.
const PROGRAMS: &[(&str, &str)] = &[
    ("cmake", "cmake"),
    ("ninja", "ninja-build"),
    ("clang-22", "clang-22"),
    ("chromium", "chromium"),
    ("tsc", "node-typescript"),
    ("/usr/lib/clc/amdgcn-amd-amdhsa.bc", "libclc-22"),
];

/// Installs the programs of the tests that are not on PATH. Tests of what cannot be had are
/// ignored, and counted so.
pub(crate) fn ensure() {
    let missing = PROGRAMS.iter().filter(|(program, _)| !is_on_path(program));
    // Each for itself: a system that lacks one may have the others.
    for (_, package) in missing {
        install(&[package]);
    }
}

/// Whether a folder of PATH has the program, or the file of an absolute path is there.
fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Installs packages of the system; who needs them looks for them afterwards.
pub(crate) fn install(packages: &[&str]) {
    eprintln!(
        "installing from the system's packages: {}",
        packages.join(", ")
    );
    let install = [&["install", "--yes", "--no-install-recommends"], packages].concat();
    for args in [&["update"][..], &install] {
        let mut apt = Command::new("apt-get");
        apt.args(args).env("DEBIAN_FRONTEND", "noninteractive");
        if let Err(error) = shell::run(apt) {
            eprintln!("error: {error:#}");
        }
    }
}
