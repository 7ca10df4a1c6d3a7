//! `splitbar-gpu`: makes bundles of kernels, and runs them on a CUDA device or on the simulator.

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use splitbar_gpu::attempts;
use splitbar_gpu::break_even::{points, table};
use splitbar_gpu::bundle::Bundle;
use splitbar_gpu::check::Outcome;
use splitbar_gpu::compile::{self, Selection};
use splitbar_gpu::cuda::Cuda;
use splitbar_gpu::device::Device;
use splitbar_gpu::loops;
use splitbar_gpu::simulated::Simulated;
use splitbar_gpu::timing::{self, Choices};
use splitbar_gpu::vulkan;
use splitbar_sim::Schedule;
use splitbar_target::Target;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// The time limit of one kernel, including the driver's compilation.
const LIMIT: Duration = Duration::from_secs(120);

#[derive(Parser)]
#[command(name = "splitbar-gpu", about = "Runs splitbar's kernels on a GPU")]
struct Cli {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Compile the kernels of fixtures/ with every strategy into a folder that needs neither
    /// compiler nor repository
    Bundle {
        /// The program `splitbar`
        #[arg(long, value_name = "PATH")]
        tool: PathBuf,
        /// Only these kernels
        #[arg(long, num_args = 1.., value_name = "NAME")]
        kernel: Vec<String>,
        /// Only what `break-even` times
        #[arg(long, conflicts_with = "kernel")]
        break_even: bool,
        /// Only these targets [default: sm_75 sm_80 sm_90]
        #[arg(long, num_args = 1.., value_name = "TARGET")]
        target: Vec<String>,
        /// The folder
        #[arg(long, value_name = "FOLDER")]
        into: PathBuf,
    },
    /// Run a bundle: compare every kernel's results with the host references
    Run {
        #[command(flatten)]
        which: Which,
        /// Simulate under so many hostile schedules
        #[arg(long, value_name = "N", default_value_t = 1, requires = "simulate")]
        schedules: u32,
        /// Then time the matrix products
        #[arg(long)]
        time: bool,
        /// Rows and columns of the matrices that are timed, a multiple of 64
        #[arg(long, value_name = "N", default_value_t = 4096)]
        size: u32,
        /// Launches of which the median counts
        #[arg(long, value_name = "N", default_value_t = 20)]
        runs: u32,
    },
    /// Write the modules of a bundle for Vulkan drivers: before and after their loops are pipelined
    Loops {
        /// The folder
        #[arg(long, value_name = "FOLDER")]
        into: PathBuf,
    },
    /// Time phases in which one wave is late, with every strategy
    BreakEven {
        /// The bundle
        #[arg(value_name = "FOLDER")]
        bundle: PathBuf,
        /// By the simulator's estimate for this target instead of a CUDA device
        #[arg(long, value_name = "TARGET")]
        estimate: Option<String>,
        /// Launches of which the median counts
        #[arg(long, value_name = "N", default_value_t = 20)]
        runs: u32,
    },
    /// What `run` starts: runs kernels in order and writes a line of JSON for each
    #[command(hide = true)]
    Attempt {
        #[command(flatten)]
        which: Which,
        /// The first kernel's number
        #[arg(long)]
        from: usize,
        /// The schedule's number
        #[arg(long, default_value_t = 0)]
        schedule: u32,
    },
    /// What the Vulkan check starts: reads a launch as JSON, runs it, writes what became of it
    #[command(hide = true)]
    Vulkan,
}

#[derive(Args)]
struct Which {
    /// The bundle
    #[arg(value_name = "FOLDER")]
    bundle: PathBuf,
    /// On the simulator instead of a CUDA device
    #[arg(long)]
    simulate: bool,
}

impl Which {
    fn device(&self, schedule: u32) -> Result<Box<dyn Device>, String> {
        Ok(if self.simulate {
            Box::new(Simulated::new(Schedule::nth(schedule, 1)))
        } else {
            Box::new(Cuda::open()?)
        })
    }
}

fn main() -> ExitCode {
    match run(Cli::parse().action) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Returns true if everything was right.
fn run(action: Action) -> Result<bool> {
    match action {
        Action::Bundle {
            tool,
            kernel,
            break_even,
            target,
            into,
        } => {
            let selection = Selection {
                tool: std::fs::canonicalize(&tool).with_context(|| tool.display().to_string())?,
                points: if kernel.is_empty() {
                    points()
                } else {
                    Vec::new()
                },
                kernels: if break_even {
                    Some(Vec::new())
                } else {
                    Some(kernel).filter(|names| !names.is_empty())
                },
                targets: if target.is_empty() {
                    compile::TARGETS
                        .iter()
                        .map(|name| (*name).to_owned())
                        .collect()
                } else {
                    target
                },
            };
            let bundle = Bundle::at(into);
            let manifest = compile::run(&selection, &bundle)?;
            if selection.kernels.is_none() {
                let modules = loops::write(&bundle.folder().join(loops::FOLDER))?;
                println!(
                    "{modules} modules with pipelined loops in {}",
                    loops::FOLDER
                );
            }
            for why in &manifest.left_out {
                println!("left out: {why}");
            }
            println!(
                "{} kernels in {}",
                manifest.kernels.len() + manifest.points.len(),
                bundle.folder().display()
            );
            Ok(true)
        }
        Action::Loops { into } => {
            let modules = loops::write(&into)?;
            println!("{modules} modules with pipelined loops");
            Ok(true)
        }
        Action::Run {
            which,
            schedules,
            time,
            size,
            runs,
        } => {
            let bundle = Bundle::at(&which.bundle);
            let mut right = true;
            for schedule in 0..schedules.max(1) {
                match which.device(schedule) {
                    Ok(device) => println!("{}", device.describe()),
                    Err(why) => {
                        println!(
                            "skipped: {why}; the bundle in {} is whole",
                            which.bundle.display()
                        );
                        return Ok(true);
                    }
                }
                right &= check(&bundle, &which, schedule)?;
            }
            if time {
                let mut device = which.device(0).map_err(anyhow::Error::msg)?;
                let choices = Choices { size, runs };
                println!("{}", timing::tables(&bundle, device.as_mut(), choices)?);
            }
            Ok(right)
        }
        Action::BreakEven {
            bundle,
            estimate,
            runs,
        } => {
            let device: Result<Box<dyn Device>, String> = match &estimate {
                None => Cuda::open().map(|device| Box::new(device) as Box<dyn Device>),
                Some(name) => Target::by_name(name)
                    .ok_or_else(|| format!("there is no target {name}"))
                    .and_then(Simulated::estimating)
                    .map(|device| Box::new(device) as Box<dyn Device>),
            };
            let mut device = match device {
                Ok(device) => device,
                Err(why) => {
                    println!(
                        "skipped: {why}; the bundle in {} is whole",
                        bundle.display()
                    );
                    return Ok(estimate.is_none());
                }
            };
            // An estimate is the same each time.
            let runs = if estimate.is_some() { 0 } else { runs };
            let table = table(&Bundle::at(bundle), device.as_mut(), runs)?;
            println!("{}\n{table}", device.describe());
            Ok(true)
        }
        Action::Attempt {
            which,
            from,
            schedule,
        } => {
            let mut device = which.device(schedule).map_err(anyhow::Error::msg)?;
            let bundle = Bundle::at(&which.bundle);
            attempts::serve(&bundle, from, device.as_mut(), &mut std::io::stdout())?;
            Ok(true)
        }
        Action::Vulkan => {
            vulkan::serve(&mut std::io::stdin(), &mut std::io::stdout(), LIMIT)?;
            Ok(true)
        }
    }
}

/// Runs every kernel of the bundle, and prints the outcome of each; returns true if none failed.
fn check(bundle: &Bundle, which: &Which, schedule: u32) -> Result<bool> {
    let manifest = bundle.manifest()?;
    let program = std::env::current_exe()?;
    let child = |first: usize| {
        let mut command = Command::new(&program);
        command.arg("attempt").arg(&which.bundle);
        command.args(["--from", &first.to_string()]);
        command.args(["--schedule", &schedule.to_string()]);
        command.args(which.simulate.then_some("--simulate"));
        command
    };
    let (mut right, mut wrong, mut left_out) = (0, 0, 0);
    let mut each = |number: usize, outcome: &Outcome| {
        let label = manifest.kernels.get(number).map(|kernel| kernel.label());
        let label = label.unwrap_or_default();
        match outcome {
            Outcome::Right(Some(ms)) => {
                right += 1;
                println!("right    {label}, {ms:.3} ms");
            }
            Outcome::Right(None) => {
                right += 1;
                println!("right    {label}");
            }
            Outcome::LeftOut(why) => {
                left_out += 1;
                println!(
                    "left out {label}: {}",
                    why.lines().next().unwrap_or_default()
                );
            }
            Outcome::Wrong(why) => {
                wrong += 1;
                println!("WRONG    {label}: {why}");
            }
        }
    };
    attempts::run(manifest.kernels.len(), LIMIT, &child, &mut each)?;
    println!("{right} right, {wrong} wrong, {left_out} left out");
    Ok(wrong == 0)
}
