//! The program that the tests of the page of `splitbar report` use in a browser: axe-core looks for
//! problems of accessibility, from a package of Python's index, pinned. Its licence is MPL-2.0; the
//! project does not give it out.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::shell;
use crate::wheels::{Package, Set, Wheel};

/// Names the file to use.
const VARIABLE: &str = "SPLITBAR_AXE";

/// One archive for all machines.
const SHA256: &str = "fdd263c998388f1a8e67cad02677e612d946248bd44d163be5e8650ea31f95f8";
const BYTES: u64 = 160_681;

const AXE: Set = Set {
    what: "axe-core 4.12.1",
    size: "about 160 KB to fetch, 600 KB on disk",
    otherwise: "fetch axe.min.js of axe-core yourself and name it in SPLITBAR_AXE",
    packages: &[Package {
        name: "axe-playwright-python",
        version: "0.1.8",
        parts: &[("axe_playwright_python/axe.min.js", "axe.min.js")],
        wheels: &[
            Wheel {
                platform: ("linux", "x86_64"),
                sha256: SHA256,
                bytes: BYTES,
            },
            Wheel {
                platform: ("linux", "aarch64"),
                sha256: SHA256,
                bytes: BYTES,
            },
        ],
    }],
};

fn folder() -> PathBuf {
    shell::root().join(".llvm").join("axe")
}

/// Installs axe-core unless the environment names one; the file that is then used.
pub(crate) fn ensure() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        return Ok(named.into());
    }
    let _lock = shell::lock_tools()?;
    if !AXE.is_complete(&folder()) {
        AXE.install(&folder())?;
    }
    Ok(folder().join("axe.min.js"))
}

/// Lets tests use what an earlier run installed, unless there is another.
pub(crate) fn offer(command: &mut Command) {
    if std::env::var_os(VARIABLE).is_none() && AXE.is_complete(&folder()) {
        command.env(VARIABLE, folder().join("axe.min.js"));
    }
}
