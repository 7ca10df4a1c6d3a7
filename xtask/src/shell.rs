//! Running other programs from the root of the repository.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

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

/// The cargo that started this program.
///
/// It gets the environment that a person's cargo would have: the LLVM prefix that
/// `.cargo/config.toml` put into ours is taken out again (it will put it back), so that going from
/// one to the other builds nothing again.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut c = command(
        std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        args,
    );
    let default = crate::llvm::default_prefix();
    if std::env::var_os(crate::llvm::VARIABLE).is_some_and(|v| Path::new(&v) == default) {
        c.env_remove(crate::llvm::VARIABLE);
    }
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

/// Installs a program from cargo's registry where there is none; `options` are for the build.
pub(crate) fn ensure_installed(program: &str, version: &str, options: &[&str]) -> Result<()> {
    let said = Command::new(program).arg("--version").output();
    if said.is_ok_and(|said| said.status.success()) {
        return Ok(());
    }
    let install = ["install", program, "--locked", "--version", version];
    run(cargo(&[&install, options].concat()))
        .with_context(|| format!("{program} cannot be installed"))
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

/// Where cargo builds.
pub(crate) fn target_directory() -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Metadata {
        target_directory: PathBuf,
    }
    let text = read(cargo(&["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Metadata = serde_json::from_str(&text).context("cargo metadata")?;
    Ok(metadata.target_directory)
}

/// Which program `splitbar` a command uses.
#[derive(clap::Args)]
pub(crate) struct Tool {
    /// A splitbar that is built already; without it, a release build is made
    #[arg(long = "tool", value_name = "PATH")]
    built: Option<PathBuf>,
}

impl Tool {
    /// The program's path, from anywhere.
    pub(crate) fn path(&self) -> Result<PathBuf> {
        match &self.built {
            Some(path) => std::fs::canonicalize(path).with_context(|| path.display().to_string()),
            None => {
                crate::llvm::ensure()?;
                release_tool()
            }
        }
    }
}

/// Makes a release build of the program `splitbar`; its path.
pub(crate) fn release_tool() -> Result<PathBuf> {
    release("splitbar-cli", "splitbar")
}

/// Makes a release build of a program of the workspace; its path.
pub(crate) fn release(package: &str, program: &str) -> Result<PathBuf> {
    run(cargo(&[
        "build",
        "--release",
        "--package",
        package,
        "--bin",
        program,
    ]))?;
    Ok(target_directory()?
        .join("release")
        .join(format!("{program}{}", std::env::consts::EXE_SUFFIX)))
}
