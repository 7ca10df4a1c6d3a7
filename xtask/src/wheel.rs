//! `cargo xtask wheel`: the Python wheel, by maturin: the package, its native part, and the
//! program; or the source distribution.

mod needs;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use needs::Needs;

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
    /// Writes the source distribution instead, which pip builds where LLVM and Rust are installed
    #[arg(long)]
    source: bool,
}

/// Builds the wheel, or writes the source distribution; prints its path.
pub(crate) fn run(options: &Options) -> Result<()> {
    let target = shell::target_directory()?;
    let output = options
        .output
        .clone()
        .unwrap_or_else(|| target.join("wheel"));
    std::fs::create_dir_all(&output)?;
    let tools = target.join("maturin");
    if options.source {
        return source(&tools, &output);
    }
    llvm::ensure()?;
    let maturin = maturin(&tools)?;
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
    let build = |tag: &[&str]| -> Result<PathBuf> {
        let mut maturin = Command::new(&maturin);
        maturin.args(["build", &profile, "--manifest-path"]);
        maturin.arg(shell::root().join(PACKAGE).join("Cargo.toml"));
        maturin.arg("--out").arg(folder.path()).args(tag);
        if options.unified {
            maturin.args(["--features", "unify", "--compression-level", "1"]);
        }
        // The environment that cargo gets from `shell::cargo`.
        if std::env::var_os(llvm::VARIABLE).is_some_and(|v| Path::new(&v) == llvm::default_prefix())
        {
            maturin.env_remove(llvm::VARIABLE);
        }
        shell::run(maturin)?;
        let wheel = folder.path().read_dir()?.next();
        Ok(wheel.context("maturin made no wheel")??.path())
    };
    let mut wheel = build(&[])?;
    // Maturin's tag is that of the native part alone.
    if let Some(tag) = tag_of_program(&wheel, &place)? {
        std::fs::remove_file(&wheel)?;
        wheel = build(&["--compatibility", &tag])?;
    }
    let name = wheel.file_name().context("a wheel has a name")?;
    let place = output.join(name);
    std::fs::copy(&wheel, &place)?;
    println!("{}", place.display());
    Ok(())
}

/// The platform that the wheel has to name because of the program in it, if it names another one
/// that has less: a newer glibc, or a plain Linux if the program needs libraries that not every
/// system has.
fn tag_of_program(wheel: &Path, program: &Path) -> Result<Option<String>> {
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    let Some(promised) = needs::promised(&name)? else {
        return Ok(None);
    };
    let needs = Needs::read(&std::fs::read(program)?)?;
    let foreign = needs.foreign();
    if !foreign.is_empty() {
        eprintln!("the wheel is not for every Linux: {}", foreign.join(", "));
        return Ok(Some("linux".to_owned()));
    }
    Ok((needs.glibc > promised).then(|| format!("manylinux_2_{}", needs.glibc)))
}

/// Writes the source distribution into `output`, by the build backend of the package; prints its
/// path.
fn source(tools: &Path, output: &Path) -> Result<()> {
    maturin(tools)?;
    let write = "import sys, build_backend as b; print(b.build_sdist(sys.argv[1]))";
    let mut python = Command::new(tools.join("bin/python"));
    python.args(["-c", write]).arg(std::path::absolute(output)?);
    python.current_dir(shell::root().join(PACKAGE));
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    let said = shell::read(python)?;
    println!("{}", output.join(said.trim()).display());
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
