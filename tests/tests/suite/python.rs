//! The Python wheel in a fresh environment, with its own tests; and the code of docs/python.md.

use crate::support::{done, made_by_xtask, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar_tests::harness::{self, Missing};
use splitbar_tests::{corpus, fixture};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// Modules of the corpus that a plain run compiles in several ways.
const SOME: usize = 12;

/// Options of pip: it compiles nothing, since few of the files are imported.
const INSTALL: &[&str] = &[
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--no-compile",
];

/// A test of the package.
type Test = fn() -> Result<()>;

pub(crate) fn trials() -> Vec<Trial> {
    let tests: [(&str, Test); 5] = [
        ("package", || pytest("test_package.py")),
        ("notebooks", || pytest("test_notebooks.py")),
        ("source", source),
        ("many", || pytest("test_many.py")),
        ("page", page),
    ];
    let trials = tests.into_iter();
    let trials = trials.map(|(name, test)| trial(format!("python/{name}"), test));
    trials.collect()
}

/// An environment with the wheel: made once.
struct Environment {
    folder: TempDir,
}

impl Environment {
    fn program(&self, name: &str) -> PathBuf {
        self.folder.path().join("venv/bin").join(name)
    }

    /// Modules of the corpus, a file each.
    fn modules(&self) -> PathBuf {
        self.folder.path().join("modules")
    }
}

fn environment() -> Result<&'static Environment> {
    static MADE: OnceLock<Result<Environment, Missing>> = OnceLock::new();
    static WITH_WHEEL: OnceLock<Result<(), String>> = OnceLock::new();
    let python = harness::program("SPLITBAR_PYTHON", "python3")?;
    let venv = Command::new(&python)
        .args(["-c", "import ensurepip, venv"])
        .output()?;
    if !venv.status.success() {
        return Err(Missing::new("no venv of python3").into());
    }
    let made = MADE.get_or_init(|| {
        let why =
            |error| Missing::new(format!("no packages for the tests of the wheel: {error:#}"));
        make(&python).map_err(why)
    });
    let made = made.as_ref().map_err(Clone::clone)?;
    let with_wheel = WITH_WHEEL.get_or_init(|| {
        let added = add_wheel(made);
        added.map_err(|error| format!("{error:#}"))
    });
    let added = with_wheel
        .as_ref()
        .map_err(|error| anyhow::anyhow!("{error}"));
    added.map(|()| made)
}

/// An environment with the packages that the tests need from Python's index.
fn make(python: &Path) -> Result<Environment> {
    let folder = tempfile::tempdir()?;
    let environment = Environment { folder };
    let venv = environment.folder.path().join("venv");
    done(Command::new(python).args(["-m", "venv"]).arg(venv))?;
    let tests = fixture::root().join("bindings/python/tests");
    let mut install = Command::new(environment.program("pip"));
    install.args(INSTALL).arg("-r");
    install.arg(tests.join("requirements.txt"));
    if !harness::is_sample() {
        install.arg("-r").arg(tests.join("requirements-all.txt"));
    }
    done(&mut install)?;
    Ok(environment)
}

/// The wheel of this build, and modules to compile.
fn add_wheel(environment: &Environment) -> Result<()> {
    let wheel = made_by_xtask("wheel", environment.folder.path())?;
    done(
        Command::new(environment.program("pip"))
            .args(INSTALL)
            .arg("--no-index")
            .arg(wheel),
    )?;
    let modules = corpus::modules()?;
    let some = if corpus::is_complete() {
        modules.len()
    } else {
        SOME
    };
    std::fs::create_dir(environment.modules())?;
    for (number, (_, bytes)) in modules.iter().step_by(modules.len() / some).enumerate() {
        std::fs::write(
            environment.modules().join(format!("{number:04}.spv")),
            bytes,
        )?;
    }
    Ok(())
}

fn pytest(file: &str) -> Result<()> {
    let environment = environment()?;
    let tests = fixture::root().join("bindings/python/tests");
    let ran = done(
        Command::new(environment.program("python"))
            .args([
                "-m",
                "pytest",
                "-q",
                "-s",
                "-W",
                "ignore",
                "-p",
                "no:cacheprovider",
            ])
            .arg(tests.join(file))
            // Not in the tree: the package has to be the wheel's.
            .current_dir(environment.folder.path())
            // Compiled once, for all processes of a cluster, and not into the tree.
            .env_remove("PYTHONDONTWRITEBYTECODE")
            .env(
                "PYTHONPYCACHEPREFIX",
                environment.folder.path().join("pycache"),
            )
            .env("SPLITBAR_FIXTURES", fixture::root().join("fixtures"))
            .env("SPLITBAR_MODULES", environment.modules()),
    )?;
    print!("{}", String::from_utf8_lossy(&ran.stdout));
    Ok(())
}

/// The source distribution has what its build needs, and says what else that is. Cargo reads its
/// workspace; the build itself takes minutes and is not tried here.
fn source() -> Result<()> {
    environment()?; // Its packages come from the same index.
    let folder = tempfile::tempdir()?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let made = done(
        Command::new(&cargo)
            .args(["run", "--quiet", "--package", "xtask", "--", "wheel"])
            .args(["--source", "--output"])
            .arg(folder.path())
            .current_dir(fixture::root()),
    )?;
    let archive = String::from_utf8(made.stdout)?;
    done(
        Command::new("tar")
            .arg("-xzf")
            .arg(archive.trim())
            .args(["--strip-components", "1", "-C"])
            .arg(folder.path()),
    )?;
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name));
    let metadata = text("PKG-INFO")?;
    for words in [
        "Name: splitbar\n",
        "Rust 1.95",
        "LLVM 23.1",
        "LLVM_SYS_231_PREFIX",
    ] {
        ensure!(metadata.contains(words), "PKG-INFO lacks {words}");
    }
    let project: toml::Table = toml::from_str(&text("pyproject.toml")?)?;
    let place = |table: &str, key: &str| -> Result<PathBuf> {
        let found = project.get(table).and_then(|table| match key {
            "backend-path" => table.get(key)?.get(0)?.as_str(),
            "readme" => table.get(key)?.as_str(),
            _ => table.get("maturin")?.get(key)?.as_str(),
        });
        let path = found.with_context(|| format!("no {key}"))?;
        Ok(folder.path().join(path))
    };
    ensure!(
        place("build-system", "backend-path")?
            .join("build_backend.py")
            .is_file()
    );
    for (table, key) in [
        ("project", "readme"),
        ("tool", "manifest-path"),
        ("tool", "python-source"),
    ] {
        ensure!(place(table, key)?.exists(), "{key}");
    }
    // Fails if a crate of the workspace is missing, or the lock file does not fit.
    done(
        Command::new(&cargo)
            .args(["metadata", "--locked", "--offline", "--format-version=1"])
            .current_dir(folder.path()),
    )?;
    // Without LLVM the build says what it needs before it compiles anything.
    let refused = Command::new(harness::program("SPLITBAR_PYTHON", "python3")?)
        .args(["-c", "import build_backend as b; b._build_program(None)"])
        .current_dir(folder.path().join("bindings/python"))
        .env_remove("LLVM_SYS_231_PREFIX")
        .output()?;
    let said = String::from_utf8_lossy(&refused.stderr);
    ensure!(
        !refused.status.success() && said.contains("LLVM 23.1, which was not found"),
        "{said}"
    );
    Ok(())
}

/// The examples of docs/python.md, one after the other in one program, and the types of all.
fn page() -> Result<()> {
    let environment = environment()?;
    let text = std::fs::read_to_string(fixture::root().join("docs/python.md"))?;
    let blocks = text.split("```python\n").skip(1);
    let code: Vec<&str> = blocks
        .filter_map(|block| block.split("```").next())
        .collect();
    ensure!(code.len() > 4, "{} examples", code.len());
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("page.py");
    std::fs::write(&program, code.join("\n"))?;
    let kernels = fixture::root().join("fixtures/kernels");
    std::fs::copy(
        kernels.join("reduction/reduction.spv"),
        folder.path().join("reduction.spv"),
    )?;
    let python = environment.program("python");
    done(
        Command::new(&python)
            .arg("page.py")
            .current_dir(folder.path())
            .env("MPLBACKEND", "Agg"),
    )?;
    for picture in ["windows.png", "occupancy.png", "timeline.png"] {
        ensure!(folder.path().join(picture).is_file(), "no {picture}");
    }
    done(
        Command::new(&python)
            .args(["-m", "mypy", "--strict", "-p", "splitbar"])
            .current_dir(folder.path()),
    )?;
    Ok(())
}
