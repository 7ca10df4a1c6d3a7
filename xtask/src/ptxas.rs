//! NVIDIA's assembler for PTX, which tests ask whether it takes what we make: one that is there, or
//! NVIDIA's own package, pinned.
//!
//! The package has NVIDIA's licence, not ours: it is fetched from the index by whoever runs the
//! command, onto that machine, and nothing that this project gives out contains it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::shell;
use crate::wheels::{Package, Set, Wheel};

/// Names the ptxas to use, for the tests as for the program.
const VARIABLE: &str = "SPLITBAR_PTXAS";

const PTXAS: Set = Set {
    what: "NVIDIA's ptxas 12.9 (under NVIDIA's licence, which lies beside it)",
    size: "about 40 MB to fetch, 35 MB on disk",
    otherwise: "install NVIDIA's CUDA toolkit yourself and name its ptxas in SPLITBAR_PTXAS",
    packages: &[Package {
        name: "nvidia-cuda-nvcc-cu12",
        version: "12.9.86",
        parts: &[
            ("nvidia/cuda_nvcc/bin/ptxas", "bin/ptxas"),
            (
                "nvidia_cuda_nvcc_cu12-12.9.86.dist-info/licenses/License.txt",
                "License.txt",
            ),
        ],
        wheels: &[
            Wheel {
                platform: ("linux", "x86_64"),
                sha256: "5d6a0d32fdc7ea39917c20065614ae93add6f577d840233237ff08e9a38f58f0",
                bytes: 40_546_229,
            },
            Wheel {
                platform: ("linux", "aarch64"),
                sha256: "44e1eca4d08926193a558d2434b1bf83d57b4d5743e0c431c0c83d51da1df62b",
                bytes: 39_411_138,
            },
        ],
    }],
};

fn folder() -> PathBuf {
    shell::root().join(".llvm").join("ptxas")
}

fn program(folder: &Path) -> PathBuf {
    folder.join("bin").join("ptxas")
}

/// Installs a ptxas where none is found; what is then used.
pub(crate) fn ensure() -> Result<PathBuf> {
    if let Some(found) = found() {
        return Ok(found);
    }
    let _lock = shell::lock_tools()?;
    let folder = folder();
    if !PTXAS.is_complete(&folder) {
        PTXAS.install(&folder)?;
    }
    Ok(program(&folder))
}

/// Lets tests use the ptxas that an earlier run installed, unless there is another.
pub(crate) fn offer(command: &mut Command) {
    let folder = folder();
    if found().is_none() && PTXAS.is_complete(&folder) {
        command.env(VARIABLE, program(&folder));
    }
}

/// The one that the environment names, or that is on PATH.
fn found() -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let path = std::env::var_os("PATH").unwrap_or_default();
    named.map(PathBuf::from).or_else(|| {
        std::env::split_paths(&path)
            .map(|folder| folder.join("ptxas"))
            .find(|program| program.is_file())
    })
}
