//! The validator of SPIRV-Tools.

use splitbar_harness::{Missing, program};
use splitbar_passes::module::Module;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const VARIABLE: &str = "SPLITBAR_SPIRV_VAL";

/// The first release that is compared with.
const OLDEST: u32 = 2025;

/// A spirv-val that is installed.
pub(crate) struct SpirvVal {
    program: PathBuf,
    /// The year of its release.
    pub year: u32,
}

impl SpirvVal {
    /// The one that `SPLITBAR_SPIRV_VAL` names, or the one on PATH.
    pub(crate) fn find() -> Result<SpirvVal, Missing> {
        let program = program(VARIABLE, "spirv-val")?;
        match year(&program) {
            Some(year) if year >= OLDEST => Ok(SpirvVal { program, year }),
            _ => Err(Missing::new(format!(
                "no spirv-val of {OLDEST} or later (name one in {VARIABLE})"
            ))),
        }
    }

    /// What it has against a module; `None` if nothing.
    pub(crate) fn complaint(&self, module: &Module<'_>, environment: &str) -> Option<String> {
        let mut child = Command::new(&self.program)
            .args(["--target-env", environment, "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It may have seen enough before it has read all.
        let _ = child.stdin.take().unwrap().write_all(&module.to_bytes());
        let output = child.wait_with_output().unwrap();
        (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// As [`SpirvVal::complaint`], in the environment of the module's version.
    pub(crate) fn complaint_of_version(&self, module: &Module<'_>) -> Option<String> {
        let minor = module.header().version >> 8 & 0xff;
        self.complaint(module, &format!("spv1.{}", minor.min(6)))
    }
}

/// The year in the answer to `--version`: `SPIRV-Tools v2026.2 ...`.
fn year(program: &Path) -> Option<u32> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_once(" v")?.1.get(..4)?.parse().ok()
}
