//! Makes a bundle: every kernel of fixtures/ with every strategy, compiled by the program
//! `splitbar`.

use crate::break_even;
use crate::bundle::{Argument, Bundle, Kernel, Manifest, Point};
use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use splitbar_passes::module::Module;
use splitbar_passes::transform::{PipelineLoops, pipelined_loops};
use splitbar_tests::fixture::{self, Fixture};
use splitbar_tests::reference;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The default targets: one for each set of barrier instructions that CUDA 13 still supports.
pub const TARGETS: &[&str] = &["sm_75", "sm_80", "sm_90"];

/// The strategy that every kernel with a barrier can be lowered by.
const FUSED: &str = "fused";

/// The planner's choice.
const AUTO: &str = "auto";

/// The forms that loops are pipelined in, as strategies: their names and the values of
/// `--pipeline-loops`.
const PIPELINED: [(&str, &str); 6] = [
    ("pipelined-1", "1"),
    ("pipelined-2", "2"),
    ("pipelined-2-always-store", "2-always-store"),
    ("pipelined-2-async", "2-async"),
    ("pipelined-3", "3"),
    ("pipelined-3-stage", "3-stage"),
];

/// The kernels and strategies to compile.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The program `splitbar`.
    pub tool: PathBuf,
    /// Names of kernels; `None`: all of fixtures/.
    pub kernels: Option<Vec<String>>,
    /// Targets.
    pub targets: Vec<String>,
    /// Waves and windows of the kernel of [`break_even`].
    pub points: Vec<(u32, u32)>,
}

/// The part of `splitbar lower --emit reflect` that a launch needs.
#[derive(Clone, Deserialize)]
struct Entry {
    symbol: String,
    arguments: Vec<Argument>,
}

/// The part of `splitbar targets` that is needed.
#[derive(Clone, Deserialize)]
struct Target {
    name: String,
    strategies: Vec<String>,
}

/// A module, and how it is compiled.
#[derive(Copy, Clone)]
struct Source<'s> {
    /// The kernel's name in the bundle.
    name: &'s str,
    module: &'s Path,
    options: &'s [&'s str],
}

/// The outcome of a compilation.
enum Compiled {
    /// The entry point and its PTX.
    Done((Entry, String)),
    /// The message of the program.
    Unsupported(String),
}

/// Compiles the selection into `bundle`.
///
/// # Errors
/// The program fails (what it does not support is no failure), a kernel has no host reference, or
/// files cannot be written.
pub fn run(selection: &Selection, bundle: &Bundle) -> Result<Manifest> {
    let fixtures: Vec<Fixture> = match &selection.kernels {
        None => fixture::all()?,
        Some(names) => (names.iter().map(|name| Fixture::load(name))).collect::<Result<_>>()?,
    };
    let targets = targets(selection)?;
    bundle.clear()?;
    let (mut kernels, mut left_out) = (Vec::new(), Vec::new());
    for fixture in &fixtures {
        let case = reference::case(&fixture.name)
            .with_context(|| format!("{} has no host reference", fixture.name))?;
        bundle.write_case(&fixture.name, &case)?;
        for target in &targets {
            let source = Source {
                name: &fixture.name,
                module: &fixture.module_path(),
                options: &[],
            };
            match strategies(&selection.tool, source, target)? {
                Ok(compiled) => {
                    for (kernel, ptx) in compiled {
                        bundle.write_ptx(&kernel, &ptx)?;
                        kernels.push(kernel);
                    }
                }
                Err(why) => left_out.push(format!("{} {}: {why}", fixture.name, target.name)),
            }
        }
    }
    let mut points = Vec::new();
    let uneven = fixture::root().join("fixtures/timing/uneven.spv");
    for &(waves, window) in &selection.points {
        let name = break_even::name(waves, window);
        let [window_is, size_is] = break_even::constants(waves, window);
        let source = Source {
            name: &name,
            module: &uneven,
            options: &["--spec", &window_is, "--spec", &size_is],
        };
        for target in &targets {
            match strategies(&selection.tool, source, target)? {
                Ok(compiled) => {
                    for (kernel, ptx) in compiled {
                        bundle.write_ptx(&kernel, &ptx)?;
                        points.push(Point {
                            kernel,
                            waves,
                            window,
                        });
                    }
                }
                Err(why) => left_out.push(format!("{name} {}: {why}", target.name)),
            }
        }
    }
    let manifest = Manifest::new(kernels, points, left_out);
    bundle.write_manifest(&manifest)?;
    Ok(manifest)
}

/// The targets of the selection with their strategies, as the program lists them.
fn targets(selection: &Selection) -> Result<Vec<Target>> {
    let mut command = Command::new(&selection.tool);
    let listed = command.args(["targets", "--format", "json"]).output();
    let listed =
        listed.with_context(|| format!("{} cannot be started", selection.tool.display()))?;
    let all: Vec<Target> = serde_json::from_slice(&listed.stdout)?;
    let named = selection.targets.iter().map(|name| {
        let found = all.iter().find(|target| target.name == *name);
        found
            .cloned()
            .with_context(|| format!("splitbar has no target {name}"))
    });
    named.collect()
}

/// A kernel with every strategy that the planner accepts for it. Strategies with the same PTX are
/// merged. The inner error is the reason why the kernel cannot be compiled for the target.
fn strategies(
    tool: &Path,
    source: Source<'_>,
    Target {
        name: target,
        strategies,
    }: &Target,
) -> Result<Result<Vec<(Kernel, String)>, String>> {
    let default = match compile(tool, source, target, &[])? {
        Compiled::Done(compiled) => compiled,
        Compiled::Unsupported(why) => return Ok(Err(why)),
    };
    let mut found: Vec<(Kernel, String)> = Vec::new();
    let default_ptx = default.1.clone();
    let mut add = |strategy: &str, (entry, ptx): (Entry, String)| {
        if let Some((kernel, _)) = found.iter_mut().find(|(_, other)| *other == ptx) {
            kernel
                .also
                .extend((strategy != AUTO).then(|| strategy.to_owned()));
            return;
        }
        let kernel = Kernel {
            case: source.name.to_owned(),
            target: target.to_owned(),
            strategy: strategy.to_owned(),
            also: Vec::new(),
            default: ptx == default_ptx,
            symbol: entry.symbol,
            arguments: entry.arguments,
        };
        found.push((kernel, ptx));
    };
    // Where strategies come to the same PTX it has the name of the first one: the fused barrier,
    // which the others are compared with.
    let others = strategies.iter().filter(|strategy| *strategy != FUSED);
    let others = others.map(|name| (name.as_str(), vec!["--strategy", name]));
    let fused = [
        (FUSED, vec!["--strategy", FUSED]),
        (
            "fused-at-arrive",
            vec!["--strategy", FUSED, "--fuse-at", "arrive"],
        ),
    ];
    let loops = if has_loops(source.module)? {
        &PIPELINED[..]
    } else {
        &[]
    };
    let loops = loops
        .iter()
        .map(|(name, form)| (*name, vec!["--pipeline-loops", *form]));
    for (name, options) in fused.into_iter().chain(others).chain(loops) {
        match compile(tool, source, target, &options)? {
            Compiled::Done(compiled) => add(name, compiled),
            // The kernel compiles, so it is the strategy that is not for it.
            Compiled::Unsupported(_) => {}
        }
    }
    // Where pairs are lowered in different ways, no single strategy asks for them.
    add(AUTO, default);
    Ok(Ok(found))
}

/// Returns true if `--pipeline-loops` changes a module.
fn has_loops(module: &Path) -> Result<bool> {
    let bytes = std::fs::read(module)?;
    let problem = || format!("{} cannot be read", module.display());
    let parsed = Module::parse(&bytes).map_err(|_| anyhow!(problem()))?;
    let found = pipelined_loops(&parsed, PipelineLoops::default());
    let found = found.map_err(|_| anyhow!(problem()))?;
    Ok(found.iter().any(|one| one.stays.is_none()))
}

fn compile(tool: &Path, source: Source<'_>, target: &str, options: &[&str]) -> Result<Compiled> {
    let folder = tempfile::tempdir()?;
    let lower = |emit: &str| -> Result<Output> {
        Command::new(tool)
            .arg("lower")
            .arg(source.module)
            .args(["--target", target, "--emit", emit])
            .args(source.options)
            .args(options)
            // Without ptxas nothing is measured in machine code, which takes most of the time.
            .arg("--ptxas")
            .arg(folder.path().join("none"))
            .output()
            .with_context(|| format!("{} cannot be started", tool.display()))
    };
    let reflect = lower("reflect")?;
    let said = String::from_utf8_lossy(&reflect.stderr);
    match reflect.status.code() {
        Some(0) => {}
        // Unsupported: the strategy, or something in the kernel, is not for this GPU.
        Some(3) => {
            return Ok(Compiled::Unsupported(
                said.lines().next().unwrap_or_default().to_owned(),
            ));
        }
        code => bail!("{} for {target}: exit code {code:?}: {said}", source.name),
    }
    let entries: Vec<Entry> = serde_json::from_slice(&reflect.stdout)?;
    let entry = entries.into_iter().next().context("no entry point")?;
    let ptx = String::from_utf8(lower("asm")?.stdout).context("the PTX is no text")?;
    Ok(Compiled::Done((entry, ptx)))
}
