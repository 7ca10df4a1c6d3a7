//! `cargo xtask wheel`: the Python wheel, by maturin: the package, its native part, and the
//! program.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::unify::{self, Splitbar};
use crate::{dist, llvm, shell};

/// The release of maturin that is installed, into an environment of its own.
const MATURIN: &str = "maturin==1.9.4";

/// The package, and the place of the program in it.
const PACKAGE: &str = "bindings/python";
const PROGRAM: &str = "python/splitbar/bin/splitbar";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The profile that is built
    #[arg(long, default_value = "release")]
    profile: String,
    /// The folder that gets the wheel [default: wheel in cargo's target folder]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Gives the crates the features that they have in the tests, so that few are built again
    #[arg(long)]
    unified: bool,
}

/// Builds the wheel; prints its path.
pub(crate) fn run(options: &Options) -> Result<()> {
    llvm::ensure()?;
    let target = shell::target_directory()?;
    let maturin = maturin(&target.join("maturin"))?;
    let profile = format!("--profile={}", options.profile);
    let build = [
        "build",
        &profile,
        "--package=splitbar-cli",
        "--bin=splitbar",
    ];
    let with = unify::selection(options.unified, Splitbar::WithLlvm);
    shell::run(shell::cargo(&[&build[..], with].concat()))?;
    let program = dist::folder(&options.profile)?.join("splitbar");
    let place = shell::root().join(PACKAGE).join(PROGRAM);
    std::fs::create_dir_all(place.parent().unwrap_or(Path::new("")))?;
    dist::strip(&program, &place)?;

    // Maturin writes beside other wheels: its own folder says which one is new.
    let folder = tempfile::tempdir()?;
    let mut maturin = Command::new(maturin);
    maturin.args(["build", &profile, "--manifest-path"]);
    maturin.arg(shell::root().join(PACKAGE).join("Cargo.toml"));
    maturin.arg("--out").arg(folder.path());
    if options.unified {
        maturin.args(["--features", "unify", "--compression-level", "1"]);
    }
    // The environment that cargo gets from `shell::cargo`.
    if std::env::var_os(llvm::VARIABLE).is_some_and(|v| Path::new(&v) == llvm::default_prefix()) {
        maturin.env_remove(llvm::VARIABLE);
    }
    shell::run(maturin)?;
    let output = options
        .output
        .clone()
        .unwrap_or_else(|| target.join("wheel"));
    std::fs::create_dir_all(&output)?;
    let wheel = folder
        .path()
        .read_dir()?
        .next()
        .context("maturin made no wheel")??;
    let place = output.join(wheel.file_name());
    std::fs::copy(wheel.path(), &place)?;
    println!("{}", place.display());
    Ok(())
}

/// Maturin, installed into the environment `folder` where it is not there.
fn maturin(folder: &Path) -> Result<PathBuf> {
    let program = folder.join("bin/maturin");
    if !program.is_file() {
        shell::run({
            let mut venv = Command::new("python3");
            venv.args(["-m", "venv"]).arg(folder);
            venv
        })?;
        let mut pip = Command::new(folder.join("bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check", MATURIN]);
        shell::run(pip)?;
    }
    Ok(program)
}
