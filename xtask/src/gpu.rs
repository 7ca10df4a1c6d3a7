//! `cargo xtask gpu`: the kernels of fixtures/ with every strategy on a CUDA device, or on the
//! simulator.

use crate::shell;
use anyhow::{Context, Result};
use clap::Args;

/// What `cargo xtask gpu` takes.
#[derive(Args)]
pub(crate) struct Options {
    /// Run on the simulator, under so many hostile schedules, instead of a CUDA device
    #[arg(long, value_name = "SCHEDULES", num_args = 0..=1, default_missing_value = "1")]
    simulate: Option<u32>,
    /// Time only phases in which one wave is late, by the simulator's estimate for this target
    #[arg(long, value_name = "TARGET", conflicts_with_all = ["simulate", "kernel", "target"])]
    estimate: Option<String>,
    /// Only these kernels
    #[arg(long, num_args = 1.., value_name = "NAME")]
    kernel: Vec<String>,
    /// Only these targets [default: sm_75 sm_80 sm_90]
    #[arg(long, num_args = 1.., value_name = "TARGET")]
    target: Vec<String>,
    #[command(flatten)]
    tool: shell::Tool,
}

/// Builds the bundle and the program that runs it, and runs it where there is something to run it
/// on.
pub(crate) fn run(options: &Options) -> Result<()> {
    let tool = options.tool.path()?;
    let runner = shell::release("splitbar-gpu", "splitbar-gpu")?;
    let folder = shell::target_directory()?.join("gpu-bundle");
    let mut bundle = shell::command(&runner, &["bundle", "--tool"]);
    bundle.arg(tool).arg("--into").arg(&folder);
    for (flag, values) in [("--kernel", &options.kernel), ("--target", &options.target)] {
        for value in values {
            bundle.args([flag, value]);
        }
    }
    if let Some(target) = &options.estimate {
        bundle.args(["--break-even", "--target", target]);
    }
    shell::run(bundle)?;
    // With its own runner, the folder is all that a machine with a GPU needs.
    let name = format!("splitbar-gpu{}", std::env::consts::EXE_SUFFIX);
    std::fs::copy(&runner, folder.join(name)).context("the runner cannot be copied")?;
    let mut late = shell::command(&runner, &["break-even"]);
    late.arg(&folder);
    if let Some(target) = &options.estimate {
        late.args(["--estimate", target]);
        return shell::run(late);
    }
    let mut check = shell::command(&runner, &["run"]);
    check.arg(&folder);
    match options.simulate {
        Some(schedules) => check.args(["--simulate", "--schedules", &schedules.to_string()]),
        None => check.arg("--time"),
    };
    shell::run(check)?;
    match options.simulate {
        Some(_) => Ok(()),
        None => shell::run(late),
    }
}
