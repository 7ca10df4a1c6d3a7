//! `cargo xtask split-code`: docs/splitting_code.md, what splitting the barriers of the corpus does
//! to final code.

use super::{Options, Window, deliver};
use crate::corpus::modules::{self, Module};
use crate::each::each;
use crate::shell;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

pub(super) const PAGE: &str = "docs/splitting_code.md";

/// A GPU for each way in which barriers differ: all modules have to compile for them.
const COMPILED: [&str; 8] = [
    "gfx906", "gfx942", "gfx1100", "gfx1201", "gfx1250", "sm_75", "sm_80", "sm_90",
];

/// GPUs on which registers and windows are compared.
const COMPARED: [&str; 4] = ["gfx1201", "gfx1250", "sm_80", "sm_90"];

/// Machine instructions of a window that are worth a line.
const WIDE: u32 = 16;

/// An entry point in the reflection.
#[derive(Deserialize)]
struct Entry {
    resource_usage: Option<Usage>,
    resident: Option<Resident>,
    choice: Option<Choice>,
}

#[derive(Copy, Clone, Deserialize)]
struct Usage {
    registers: u32,
    spilled_bytes: u32,
}

#[derive(Deserialize)]
struct Resident {
    workgroups: u32,
}

#[derive(Deserialize)]
struct Choice {
    barriers: Vec<Barrier>,
}

#[derive(Deserialize)]
struct Barrier {
    split: bool,
    window: Option<Window>,
}

/// What one entry point says of the two versions.
#[derive(Default)]
struct Sums {
    kernels: u32,
    barriers: usize,
    split: usize,
    wide: usize,
    registers: [u64; 2],
    fewer_workgroups: u32,
    more_workgroups: u32,
    spills: u32,
}

/// Writes the page; with `--check` nothing is looked at again, since all modules take minutes.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.check {
        bail!("this page takes all modules of the corpus: there is no short check of it");
    }
    let tool = options.tool.path()?;
    let folder = shell::target_directory()?.join("corpus").join("modules");
    let all = modules::unpack(&folder)?;
    let mut with_barriers = Vec::new();
    for module in &all {
        if module.has_barrier()? {
            with_barriers.push(module);
        }
    }
    let mut page = INTRODUCTION.to_owned();
    writeln!(page, "\n## Compiled\n\n{COMPILED_HEAD}")?;
    for target in COMPILED {
        page.push_str(&compiled(&tool, &with_barriers, target)?);
    }
    for set in ["glcompute", "kernel"] {
        let modules: Vec<&Module> = with_barriers
            .iter()
            .copied()
            .filter(|module| module.set == set)
            .collect();
        writeln!(
            page,
            "\n## {set}, `--split-barriers auto`\n\n{COMPARED_HEAD}"
        )?;
        for target in COMPARED {
            page.push_str(&compared(&tool, &modules, target)?);
        }
    }
    deliver(PAGE, &page, false)
}

/// The row of `target`: how many modules give an object or PTX with all barriers split.
fn compiled(tool: &Path, modules: &[&Module], target: &str) -> Result<String> {
    let emit = if target.starts_with("gfx") {
        "obj"
    } else {
        "ptx"
    };
    let outcomes = each(modules, None, |module, _| {
        let mut command = command(tool, module, target, "always");
        command.args(["--emit", emit, "-o", "/dev/null"]);
        let output = command.output().context("splitbar cannot be started")?;
        match output.status.code() {
            Some(0) => Ok(true),
            Some(3) => Ok(false),
            _ => bail!(
                "{} for {target}: {}",
                module.name,
                String::from_utf8_lossy(&output.stderr)
            ),
        }
    })?;
    let done = outcomes.iter().filter(|done| **done).count();
    Ok(format!(
        "| {target} | {} | {done} | {} |\n",
        outcomes.len(),
        outcomes.len() - done
    ))
}

/// The row of `target`: its entry points with `--split-barriers never` and `auto`.
fn compared(tool: &Path, modules: &[&Module], target: &str) -> Result<String> {
    let pairs = each(modules, None, |module, _| {
        let never: Option<Vec<Entry>> = reflection(tool, module, target, "never")?;
        let auto: Option<Vec<Entry>> = reflection(tool, module, target, "auto")?;
        Ok(never
            .unwrap_or_default()
            .into_iter()
            .zip(auto.unwrap_or_default())
            .collect::<Vec<_>>())
    })?;
    let mut sums = Sums::default();
    for (never, auto) in pairs.iter().flatten() {
        sums.add(never, auto);
    }
    Ok(sums.row(target))
}

impl Sums {
    fn add(&mut self, never: &Entry, auto: &Entry) {
        let (Some(before), Some(after)) = (never.resource_usage, auto.resource_usage) else {
            return;
        };
        let barriers = auto
            .choice
            .as_ref()
            .map_or(&[][..], |choice| &choice.barriers);
        let split = barriers.iter().filter(|barrier| barrier.split);
        let is_wide = |barrier: &&Barrier| barrier.window.is_some_and(|w| w.kept >= WIDE);
        self.kernels += 1;
        self.barriers += barriers.len();
        self.split += split.clone().count();
        self.wide += split.filter(is_wide).count();
        self.registers[0] += u64::from(before.registers);
        self.registers[1] += u64::from(after.registers);
        self.spills += u32::from(after.spilled_bytes > before.spilled_bytes);
        if let (Some(before), Some(after)) = (&never.resident, &auto.resident) {
            self.fewer_workgroups += u32::from(after.workgroups < before.workgroups);
            self.more_workgroups += u32::from(after.workgroups > before.workgroups);
        }
    }

    fn row(&self, target: &str) -> String {
        let mean = |sum: u64| sum as f64 / f64::from(self.kernels.max(1));
        let [before, after] = self.registers;
        format!(
            "| {target} | {} | {} | {} | {} | {:.1} | {:.1} | {} | {} | {} |\n",
            self.kernels,
            self.barriers,
            self.split,
            self.wide,
            mean(before),
            mean(after),
            self.fewer_workgroups,
            self.more_workgroups,
            self.spills
        )
    }
}

/// The reflection of a module; none if the target does not support it.
fn reflection<T: DeserializeOwned>(
    tool: &Path,
    module: &Module,
    target: &str,
    splits: &str,
) -> Result<Option<T>> {
    let mut command = command(tool, module, target, splits);
    let output = command.args(["--emit", "reflect"]).output();
    let output = output.context("splitbar cannot be started")?;
    match output.status.code() {
        Some(0) => Ok(Some(serde_json::from_slice(&output.stdout)?)),
        Some(3) => Ok(None),
        _ => bail!(
            "{} for {target}: {}",
            module.name,
            String::from_utf8_lossy(&output.stderr)
        ),
    }
}

fn command(tool: &Path, module: &Module, target: &str, splits: &str) -> Command {
    let mut command = Command::new(tool);
    command.arg("lower").arg(&module.path);
    command.args(["--target", target, "--split-barriers", splits]);
    if module.set.starts_with("kernel") {
        command.args(["--workgroup-size", "128,1,1"]);
    }
    command
}

const COMPILED_HEAD: &str = "\
| GPU | modules | compiled | refused |
| --- | --: | --: | --: |";

const COMPARED_HEAD: &str = "\
| GPU | kernels | barriers | split | windows of 16 and more | registers, never | registers, auto | fewer workgroups | more workgroups | more spills |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |";

pub(super) const INTRODUCTION: &str = "\
# Effect of splitting on the final code

Generated by `cargo xtask split-code` from the modules of `fixtures/corpus` that have barriers. [Splitting](splitting.md) describes the passes, and counts the windows in SPIR-V. None of this code has run on a GPU yet.

- Compiled: modules with all barriers split by `--split-barriers always`, compiled to an object or to PTX. Refused: exit code 3 with a coded error, for example for samplers, or for a workgroup size that is
  not fixed.
- `--split-barriers auto` compared with `never`. barriers: the barriers for which the final code was compared. split: the barriers that stay split. windows of 16 and more: split barriers with at least 16 machine
  instructions in their windows. registers: mean per kernel, on NVIDIA GPUs from ptxas. fewer and more workgroups: kernels whose occupancy changes.
";
