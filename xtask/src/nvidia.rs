//! NVIDIA's assembler for PTX and its disassembler, which tests ask whether they take what we make
//! and what is left of it: those that are there, or NVIDIA's own packages, pinned.
//!
//! The packages have NVIDIA's licence, not ours: they are fetched from the index by whoever runs
//! the command, onto that machine, and nothing that this project gives out contains them.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::shell;
use crate::wheels::{Package, Set, Wheel};

/// A program of NVIDIA's.
struct Tool {
    name: &'static str,
    /// Names the one to use, for the tests as for the program.
    variable: &'static str,
    set: Set,
}

const TOOLS: [Tool; 2] = [
    Tool {
        name: "ptxas",
        variable: "SPLITBAR_PTXAS",
        set: Set {
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
        },
    },
    Tool {
        name: "nvdisasm",
        variable: "SPLITBAR_NVDISASM",
        set: Set {
            what: "NVIDIA's nvdisasm 13.5 (under NVIDIA's licence, which lies beside it)",
            size: "about 5 MB to fetch, 6 MB on disk",
            otherwise: "install NVIDIA's CUDA toolkit yourself and name its nvdisasm in SPLITBAR_NVDISASM",
            packages: &[Package {
                name: "nvidia-cuda-nvdisasm",
                version: "13.5.37",
                parts: &[
                    ("nvidia/cu13/bin/nvdisasm", "bin/nvdisasm"),
                    (
                        "nvidia_cuda_nvdisasm-13.5.37.dist-info/licenses/License.txt",
                        "License.txt",
                    ),
                ],
                wheels: &[
                    Wheel {
                        platform: ("linux", "x86_64"),
                        sha256: "d3fdbdd49fa53e2e4aacd3db8259d052bd2b049ececdcb69e92e083c6728e7ca",
                        bytes: 5_170_654,
                    },
                    Wheel {
                        platform: ("linux", "aarch64"),
                        sha256: "a3a8248074edb9fba63b74c38a5416b712a91ab09e70b8ab37186c3d293fc605",
                        bytes: 5_156_579,
                    },
                ],
            }],
        },
    },
];

impl Tool {
    fn folder(&self) -> PathBuf {
        shell::root().join(".llvm").join(self.name)
    }

    fn program(&self) -> PathBuf {
        self.folder().join("bin").join(self.name)
    }

    /// Installs it where none is found; what is then used.
    fn ensure(&self) -> Result<PathBuf> {
        if let Some(found) = self.found() {
            return Ok(found);
        }
        let _lock = shell::lock_tools()?;
        let folder = self.folder();
        if !self.set.is_complete(&folder) {
            self.set.install(&folder)?;
        }
        Ok(self.program())
    }

    /// The one that the environment names, or that is on PATH.
    fn found(&self) -> Option<PathBuf> {
        let named = std::env::var_os(self.variable).filter(|value| !value.is_empty());
        let path = std::env::var_os("PATH").unwrap_or_default();
        named.map(PathBuf::from).or_else(|| {
            std::env::split_paths(&path)
                .map(|folder| folder.join(self.name))
                .find(|program| program.is_file())
        })
    }
}

/// Installs what is not found; what is then used.
pub(crate) fn ensure() -> Result<Vec<PathBuf>> {
    TOOLS.iter().map(Tool::ensure).collect()
}

/// Lets tests use what an earlier run installed, unless there is another.
pub(crate) fn offer(command: &mut Command) {
    for tool in &TOOLS {
        if tool.found().is_none() && tool.set.is_complete(&tool.folder()) {
            command.env(tool.variable, tool.program());
        }
    }
}
