//! Programs that the suites use: this build's own command line, and ptxas and nvdisasm when they
//! are installed.

use crate::harness::{self, Missing};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Names the ptxas to use, several separated as in PATH: each release assembles for its own range
/// of targets.
pub const PTXAS_VARIABLE: &str = "SPLITBAR_PTXAS";

/// Names the nvdisasm to use.
pub const NVDISASM_VARIABLE: &str = "SPLITBAR_NVDISASM";

/// Names the sentryward to use.
pub const SENTRYWARD_VARIABLE: &str = "SPLITBAR_SENTRYWARD";

/// Names the glslangValidator to use.
pub const GLSLANG_VARIABLE: &str = "SPLITBAR_GLSLANG";

/// The verifier of PTX that is named in the environment, or else the one on PATH.
///
/// # Errors
/// [`Missing`].
pub fn sentryward() -> Result<PathBuf, Missing> {
    harness::program(SENTRYWARD_VARIABLE, "sentryward")
}

/// The program `splitbar` of the build that the running test belongs to, made first if it is stale
/// or missing.
///
/// # Errors
/// The test stands in no target folder, or the build fails.
pub fn splitbar() -> Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| build().map_err(|error| format!("{error:#}")));
    built.clone().map_err(anyhow::Error::msg)
}

fn build() -> Result<PathBuf> {
    // TARGET/PROFILE/deps/TEST-HASH
    let test = std::env::current_exe()?;
    let folder = test.parent().and_then(Path::parent);
    let folder = folder.context("the test stands in no target folder")?;
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let target = folder.parent().context("the profile has no folder")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let result = Command::new(cargo)
        .args(["build", "--quiet", "--package", "splitbar-cli"])
        // The crates that the test itself is made of serve the program too.
        .args(["--package", "splitbar-unify"])
        .args(["--features", "splitbar-unify/llvm"])
        .args(["--bin", "splitbar", "--profile", profile])
        .arg("--target-dir")
        .arg(target)
        .current_dir(crate::fixture::root())
        .output()
        .context("cargo cannot be started")?;
    ensure!(
        result.status.success(),
        "{}",
        String::from_utf8_lossy(&result.stderr)
    );
    Ok(folder.join(format!("splitbar{}", std::env::consts::EXE_SUFFIX)))
}

/// A ptxas and its capabilities.
#[derive(Clone, Debug)]
pub struct Ptxas {
    program: PathBuf,
    targets: Vec<String>,
}

/// Every ptxas that is named in the environment, or else the one on PATH.
pub fn ptxas() -> Vec<Ptxas> {
    let programs = harness::programs(PTXAS_VARIABLE, "ptxas");
    programs.into_iter().filter_map(Ptxas::at).collect()
}

/// The nvdisasm that is named in the environment, or else the one on PATH.
///
/// # Errors
/// [`Missing`].
pub fn nvdisasm() -> Result<PathBuf, Missing> {
    harness::program(NVDISASM_VARIABLE, "nvdisasm")
}

impl Ptxas {
    fn at(program: PathBuf) -> Option<Ptxas> {
        let help = Command::new(&program).arg("--help").output().ok()?;
        let targets = targets_of(&String::from_utf8_lossy(&help.stdout));
        (!targets.is_empty()).then_some(Ptxas { program, targets })
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns true if it supports the target.
    pub fn knows(&self, target: &str) -> bool {
        self.targets.iter().any(|known| known == target)
    }

    /// Assembles `ptx` for `target` into the file `cubin`. Returns the output of ptxas: the
    /// resource usage of the kernels.
    ///
    /// # Errors
    /// What ptxas says.
    pub fn assemble(&self, ptx: &Path, target: &str, cubin: &Path) -> Result<String, String> {
        let result = Command::new(&self.program)
            .args(["-v", "-arch", target, "-o"])
            .args([cubin, ptx])
            .output()
            .map_err(|error| format!("{}: {error}", self.program.display()))?;
        let said = [result.stdout, result.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        if result.status.success() {
            Ok(said)
        } else {
            Err(format!("ptxas: {said}"))
        }
    }
}

/// The targets in the text of `ptxas --help`: quoted names that begin with `sm_`.
fn targets_of(help: &str) -> Vec<String> {
    let mut targets: Vec<String> = help
        .split('\'')
        .filter(|word| word.starts_with("sm_"))
        .map(str::to_owned)
        .collect();
    targets.sort();
    targets.dedup();
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_from_the_help() {
        let help =
            "Allowed values for this option:  'compute_90','sm_100',\n 'sm_90','sm_90a','lto_90'.";
        assert_eq!(targets_of(help), ["sm_100", "sm_90", "sm_90a"]);
    }
}
