//! What the machine must have, said before anything is built.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The C++ library that LLVM is linked with.
const CXX_LIBRARY: &str = if cfg!(target_os = "macos") {
    "-lc++"
} else {
    "-lstdc++"
};

/// Links a small C program the way rustc will: `cc`, with the C++ library that LLVM needs.
pub fn check_linker() -> Result<()> {
    let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let folder = std::env::temp_dir().join(format!("splitbar-link-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let source = folder.join("probe.c");
    std::fs::write(&source, "int main(void) { return 0; }\n")?;
    let result = Command::new(&cc)
        .arg(&source)
        .arg("-o")
        .arg(folder.join("probe"))
        .arg(CXX_LIBRARY)
        .output();
    // Leaving a few bytes in the temporary folder is better than failing over them.
    let _ = std::fs::remove_dir_all(&folder);
    const REMEDY: &str = "Install a C and C++ compiler: on Debian and Ubuntu `apt-get install build-essential`, on Fedora `dnf install gcc-c++`, \
                          on macOS `xcode-select --install`.";
    match result {
        Err(e) => bail!(
            "a C compiler is needed to link, and `{}` cannot be started ({e}).\n{REMEDY}",
            cc.to_string_lossy()
        ),
        Ok(out) if !out.status.success() => bail!(
            "`{} {CXX_LIBRARY}` cannot link a program:\n{}\n{REMEDY}",
            cc.to_string_lossy(),
            String::from_utf8_lossy(&out.stderr).trim_end()
        ),
        Ok(_) => Ok(()),
    }
}

/// A Python that can fetch the packages: at least 3.10 (their own floor), with pip.
pub fn find_python() -> Result<PathBuf> {
    const REMEDY: &str = "Install Python 3.10 or newer with pip (on Debian and Ubuntu: `apt-get install python3 python3-pip`), \
                          or install LLVM 23.1 yourself and name its prefix in LLVM_SYS_231_PREFIX.";
    const LEAST: (u32, u32) = (3, 10);
    let mut seen = Vec::new();
    for name in ["python3"] {
        let asked = Command::new(name)
            .args(["-c", "import sys; print(*sys.version_info[:2])"])
            .output();
        let Some(out) = asked.ok().filter(|o| o.status.success()) else {
            continue;
        };
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let mut numbers = text.split_whitespace().map(str::parse::<u32>);
        let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
            continue;
        };
        if (major, minor) < LEAST {
            seen.push(format!("`{name}` is {major}.{minor}"));
            continue;
        }
        let pip = Command::new(name)
            .args(["-m", "pip", "--version"])
            .output()
            .context("cannot start Python")?;
        if pip.status.success() {
            return Ok(name.into());
        }
        seen.push(format!("`{name}` ({major}.{minor}) has no pip"));
    }
    let seen = if seen.is_empty() {
        "there is no python3 on PATH".to_string()
    } else {
        seen.join(", ")
    };
    bail!(
        "LLVM {} is installed through Python's pip, but {seen}.\n{REMEDY}",
        super::pins::RELEASE
    )
}
