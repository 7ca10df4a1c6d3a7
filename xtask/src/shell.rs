//! Running other programs from the root of the repository.

mod cargo;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

pub(crate) use cargo::{Tool, cargo, ensure_installed, release, release_tool, target_directory};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// A command that runs in the root of the repository.
pub(crate) fn command(program: impl AsRef<OsStr>, args: &[&str]) -> Command {
    let mut c = Command::new(program);
    c.args(args).current_dir(root());
    c
}

/// Says what is about to run and runs it with the terminal attached; an error if it fails.
pub(crate) fn run(mut c: Command) -> Result<()> {
    let shown = show(&c);
    eprintln!("$ {shown}");
    let status = c
        .status()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// Runs a command and returns what it printed; an error with its complaint if it fails.
pub(crate) fn read(mut c: Command) -> Result<String> {
    let shown = show(&c);
    let out = c
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !out.status.success() {
        bail!(
            "`{shown}` failed ({}):\n{}",
            out.status,
            String::from_utf8_lossy(&out.stderr).trim_end()
        );
    }
    String::from_utf8(out.stdout)
        .with_context(|| format!("`{shown}` printed something that is not UTF-8"))
}

/// A command as a person would type it, with programs by their file name.
pub(crate) fn show(c: &Command) -> String {
    let program = Path::new(c.get_program());
    let mut line = program
        .file_name()
        .unwrap_or(program.as_os_str())
        .to_string_lossy()
        .into_owned();
    for arg in c.get_args() {
        line.push(' ');
        line.push_str(&arg.to_string_lossy());
    }
    line
}

/// Keeps others from installing into `.llvm` until the result is dropped: two at once must not
/// unpack over each other.
pub(crate) fn lock_tools() -> Result<std::fs::File> {
    let folder = root().join(".llvm");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    let lock = std::fs::File::create(folder.join("lock"))?;
    lock.lock().context("cannot lock .llvm/lock")?;
    Ok(lock)
}
