//! A launch on the simulator: `splitbar sim` in a separate process.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use splitbar_tests::launch::{Interface, Launch};
use std::path::Path;
use std::process::Command;

/// Instructions of waves that a launch may take: a guessed size can be a loop without end.
const STEPS: u32 = 1_000_000;

/// For which GPU a module is compiled, and how.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The GPU.
    pub target: &'static str,
    /// The level of optimisation.
    pub level: &'static str,
    /// Options that split its barriers.
    pub splits: &'static [&'static str],
    /// Under how many schedules it runs.
    pub schedules: u32,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The buffers afterwards.
    Done(Vec<Vec<u8>>),
    /// The findings of the simulator, each as code and message, and the buffers afterwards.
    Found(Vec<(String, String)>, Vec<Vec<u8>>),
    /// splitbar does not compile the module.
    Unsupported(String),
}

#[derive(Deserialize)]
struct Simulated {
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    code: String,
    message: String,
    at: At,
}

#[derive(Deserialize)]
struct At {
    instruction: String,
}

/// The arguments of a launch of the only kernel of the module in the file `module`.
///
/// # Errors
/// splitbar does not compile it for the GPU.
pub fn interface(tool: &Path, module: &Path, target: &str) -> Result<Interface, String> {
    let mut command = Command::new(tool);
    command.arg("lower").arg(module).args(["--target", target]);
    command.args(["--workgroup-size", "32,1,1", "-O", "0", "--emit", "reflect"]);
    let output = command.output().map_err(|error| error.to_string())?;
    let entries = serde_json::from_slice::<Vec<Interface>>(&output.stdout);
    match entries.map(|entries| entries.into_iter().next()) {
        Ok(Some(interface)) => Ok(interface),
        _ => Err(String::from_utf8_lossy(&output.stderr)
            .lines()
            .next()
            .unwrap_or("")
            .to_owned()),
    }
}

/// Runs `launch` of the module in the file `module` by the program `tool`. The buffers are
/// those that the last schedule left.
///
/// # Errors
/// The program cannot be started, says that it has a bug, or that the module or the launch is
/// wrong.
pub fn run(tool: &Path, module: &Path, launch: &Launch, code: Code) -> Result<Ran> {
    let folder = tempfile::tempdir()?;
    let file = |kind: &str, index: usize| folder.path().join(format!("{kind}{index}"));
    let [x, y, z] = launch.groups;
    let mut command = Command::new(tool);
    command
        .arg("sim")
        .arg(module)
        .args(["--target", code.target, "-O", code.level])
        .args(["--entry", &launch.entry])
        .args(["--schedules", &code.schedules.to_string()])
        .args(["--format", "json", "--steps", &STEPS.to_string()])
        .args(["--groups", &format!("{x},{y},{z}")]);
    command.args(code.splits);
    if let Some([x, y, z]) = launch.size {
        command.args(["--workgroup-size", &format!("{x},{y},{z}")]);
    }
    if launch.dynamic_shared > 0 {
        command.args(["--dynamic-shared", &launch.dynamic_shared.to_string()]);
    }
    for (id, value) in &launch.spec {
        command.args(["--spec", &format!("{id}={value}")]);
    }
    for (buffer, index) in launch.buffers.iter().zip(0..) {
        let place = format!("{}=", buffer.place);
        let argument = |kind| format!("{place}{}", file(kind, index).display());
        std::fs::write(file("before", index), &buffer.bytes)?;
        command.args(["--buffer", &argument("before")]);
        command.args(["--dump", &argument("after")]);
    }
    if !launch.push.is_empty() {
        let digits: String = launch.push.iter().map(|b| format!("{b:02x}")).collect();
        command.args(["--push", &digits]);
    }
    let result = command.output().context("splitbar cannot be started")?;
    let said = String::from_utf8_lossy(&result.stderr);
    let found = serde_json::from_slice::<Simulated>(&result.stdout);
    let buffers = || {
        let files = (0..launch.buffers.len()).map(|index| file("after", index));
        files.map(std::fs::read).collect::<Result<_, _>>()
    };
    match (result.status.code(), found) {
        (Some(0), Ok(_)) => Ok(Ran::Done(buffers()?)),
        (Some(1), Ok(simulated)) => {
            let findings = simulated.findings.into_iter();
            let told = |f: Finding| (f.code, format!("{} at `{}`", f.message, f.at.instruction));
            Ok(Ran::Found(findings.map(told).collect(), buffers()?))
        }
        (Some(3), _) => Ok(Ran::Unsupported(
            said.lines().next().unwrap_or_default().to_owned(),
        )),
        (status, _) => bail!("splitbar sim for {code:?} ended with {status:?}: {said}"),
    }
}
