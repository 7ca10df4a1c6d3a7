//! Spelling of pages, comments, diagnostics and names: the program `typos`, which knows tens of
//! thousands of misspellings and their corrections. Words of our own are in `typos.toml`.

use std::path::PathBuf;

use anyhow::Result;

use crate::shell;
use crate::wheels::{Package, Set, Wheel};

const TYPOS: Set = Set {
    what: "the spelling checker typos 1.52",
    size: "about 8 MB to fetch, 35 MB on disk",
    otherwise: "install typos yourself, so that it is on PATH",
    packages: &[Package {
        name: "typos",
        version: "1.52.0",
        parts: &[("typos-1.52.0.data/scripts", "bin")],
        wheels: &[
            Wheel {
                platform: ("linux", "x86_64"),
                sha256: "418fd85f7fc11dec14e5482e747f6e916af56da96207cde0cdd69540a4b389f6",
                bytes: 7_897_311,
            },
            Wheel {
                platform: ("linux", "aarch64"),
                sha256: "5e870133c7e9cace94183e4d638697004a1473e79abcd01b8f75e362049a9b5c",
                bytes: 8_385_443,
            },
            Wheel {
                platform: ("macos", "aarch64"),
                sha256: "257324274303a459fef79978cae942568419d2e8b18519e5f66b93a7e2df2ba1",
                bytes: 3_368_497,
            },
        ],
    }],
};

fn folder() -> PathBuf {
    shell::root().join(".llvm").join("typos")
}

/// Checks every file that git knows; installs the checker where it is missing.
pub(crate) fn check() -> Result<()> {
    shell::run(shell::command(
        program()?,
        &["--format", "brief", "--config", "typos.toml"],
    ))
}

/// The pinned checker: another release has other words.
fn program() -> Result<PathBuf> {
    let folder = folder();
    let _lock = shell::lock_tools()?;
    if !TYPOS.is_complete(&folder) {
        TYPOS.install(&folder)?;
    }
    Ok(folder.join("bin/typos"))
}
