//! What the machine must have, said before anything is built.

use std::process::Command;

use anyhow::{Result, bail};

/// The C++ library that LLVM is linked with.
const CXX_LIBRARY: &str = if cfg!(target_os = "macos") {
    "-lc++"
} else {
    "-lstdc++"
};

/// Links a small C program the way rustc will: `cc`, with the C++ library that LLVM needs.
pub(super) fn check_linker() -> Result<()> {
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
