//! `cargo xtask amdgpu`: docs/amdgpu.md, what is left of each window and which waits stand in the
//! loops of AMDGPU code.

use super::loops::{self, Waits};
use super::{Options, Window, deliver, lower, reflection};
use crate::fixtures::kernels;
use crate::shell;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::Path;

pub(super) const PAGE: &str = "docs/amdgpu.md";

/// A GPU of each generation, and how a pair is split on it.
const GPUS: &[(&str, &str)] = &[
    ("gfx906", "counter"),
    ("gfx90a", "counter"),
    ("gfx942", "counter"),
    ("gfx950", "counter"),
    ("gfx1030", "counter"),
    ("gfx1100", "counter"),
    ("gfx1201", "native"),
    ("gfx1250", "native"),
];

/// What `--check` measures again.
const CHECKED: &[(&str, &str)] = &[
    ("tiled_matmul", "gfx942"),
    ("tiled_matmul_double_buffered", "gfx1201"),
];

#[derive(Deserialize)]
struct Entry {
    symbol: String,
    reserved_shared_memory_bytes: u32,
    pairs: Vec<Pair>,
    audit: Option<Audit>,
}

#[derive(Deserialize)]
struct Pair {
    strategy: String,
    window: Option<Window>,
}

#[derive(Deserialize)]
struct Audit {
    barriers: Vec<Barrier>,
    redundant_waits: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Barrier {
    outstanding: Vec<InFlight>,
}

#[derive(Deserialize)]
struct InFlight {
    memory: String,
    writes: bool,
}

/// What was measured of one compilation.
struct Measured {
    strategies: Vec<String>,
    windows: Vec<Window>,
    reserved: u32,
    waits: Waits,
    redundant: usize,
    /// The most loads from global memory that may be outstanding at one barrier.
    loads: usize,
}

/// Writes the page, or compares some of its rows.
pub(crate) fn run(options: &Options) -> Result<()> {
    let tool = options.tool.path()?;
    if options.check {
        let rows = CHECKED.iter().map(|(kernel, gpu)| {
            let measured = row(&tool, kernel, gpu)?;
            Ok(measured.map_or(String::new(), |(row, _)| row))
        });
        return deliver(PAGE, &rows.collect::<Result<String>>()?, true);
    }
    let mut tables = String::new();
    let mut closed = String::new();
    for kernel in kernels(&shell::root().join("fixtures/kernels"))? {
        let mut rows = String::new();
        for (gpu, _) in GPUS {
            if let Some((row, split)) = row(&tool, &kernel, gpu)? {
                rows.push_str(&row);
                for window in split.windows.iter().filter(|window| !window.is_open()) {
                    writeln!(closed, "| {kernel} | {gpu} | {window} |")?;
                }
            }
        }
        if !rows.is_empty() {
            write!(
                tables,
                "\n## {kernel}\n\n\
                 | GPU | split by | window | LDS reserved | waits in loops | for all loads | waits that retire nothing | loads across a barrier |\n\
                 | --- | --- | --- | --- | --- | --- | --- | --- |\n{rows}"
            )?;
        }
    }
    let closed = match closed.as_str() {
        "" => "None.\n".to_owned(),
        rows => format!("| kernel | GPU | window |\n| --- | --- | --- |\n{rows}"),
    };
    let page = format!("{INTRODUCTION}{closed}{tables}");
    deliver(PAGE, &page, false)
}

pub(super) const INTRODUCTION: &str = "\
# Windows and waits on AMD GPUs

Use this page to look up how much of each window, and which waits, remain in the final code of the test kernels for AMD GPUs. `cargo xtask amdgpu` generates it from
the assembly (`splitbar lower --audit`, -O2). None of this code has run on a GPU yet.

If a cell has three figures, they are for the split barrier, for `--strategy fused`, and for `--strategy fused --waits conservative`. The split barrier is native on
gfx12 and later, and a counter in LDS on earlier GPUs. Pairs that cannot be split (one wave, subgroups) are lowered with the default strategy.

- window: instructions that are left in the window in the final code / all instructions of the window, one figure for each pair. A fused pair keeps none.
- LDS reserved: bytes that the split barrier needs.
- waits in loops: instructions that wait for memory operations, including loads from LDS.
- for all loads: waits in loops that wait until no load from global memory is outstanding. A kernel that uses all loaded values in each iteration needs one.
- waits that retire nothing: waits in the whole kernel for operations of which none can be outstanding.
- loads across a barrier: the maximum number of loads from global memory that can be outstanding while a wave is at a barrier. Polling a counter does not count as a
  barrier; the figure is for the full barriers of the kernel.

Windows with less than 90 % left lose address arithmetic and formulas, not the work of a loop:

- A full barrier inside a pair ends the window (arrive_barrier_wait).
- The optimiser combines the seven steps of scan's recurrence into one formula, after all windows.
- The comparison of message_passing becomes part of the branch after the wait.
- The loop counter and the addresses of opencl_async_pipeline and opencl_async_bulk are at the end of the loop, after its last wait.
- The source of async_double_buffer and async_overlap computes the address of the result in the first window. The code computes it where it is used.

## Windows with less than 90 % left

";

/// One row, and what was measured of the split barrier; `None` where the kernel is not for the GPU.
fn row(tool: &Path, kernel: &str, gpu: &str) -> Result<Option<(String, Measured)>> {
    let split = GPUS.iter().find(|(name, _)| *name == gpu);
    let (_, split) = split.context("no such GPU in the table")?;
    let target = ["--target", gpu];
    let split = match measure(tool, kernel, &target, &["--strategy", split])? {
        Some(measured) => measured,
        None => match measure(tool, kernel, &target, &[])? {
            Some(measured) => measured,
            None => return Ok(None),
        },
    };
    let fused = ["--strategy", "fused"];
    let conservative = ["--strategy", "fused", "--waits", "conservative"];
    let others = [&fused[..], &conservative].map(|options| measure(tool, kernel, &target, options));
    let [fused, conservative] = others;
    let (Some(fused), Some(conservative)) = (fused?, conservative?) else {
        anyhow::bail!("{kernel} for {gpu} cannot be fused");
    };
    let all = [&split, &fused, &conservative];
    let three = |figure: &dyn Fn(&Measured) -> usize| {
        all.map(|measured| figure(measured).to_string()).join(" / ")
    };
    let windows: Vec<String> = split.windows.iter().map(Window::to_string).collect();
    let row = format!(
        "| {gpu} | {} | {} | {} | {} | {} | {} | {} |\n",
        split.strategies.join(", "),
        windows.join(", "),
        split.reserved,
        three(&|measured| measured.waits.in_loops as usize),
        three(&|measured| measured.waits.for_all_loads as usize),
        three(&|measured| measured.redundant),
        three(&|measured| measured.loads),
    );
    Ok(Some((row, split)))
}

fn measure(
    tool: &Path,
    kernel: &str,
    target: &[&str],
    options: &[&str],
) -> Result<Option<Measured>> {
    let options = [target, options, &["--audit"]].concat();
    let Some(entry) = reflection::<Entry>(tool, kernel, &options)? else {
        return Ok(None);
    };
    let assembly = String::from_utf8(lower(tool, kernel, &options, "asm")?.stdout)?;
    let mut strategies: Vec<String> = entry.pairs.iter().map(|p| p.strategy.clone()).collect();
    strategies.dedup();
    let audit = entry
        .audit
        .with_context(|| format!("{kernel} has no audit"))?;
    let loads = audit.barriers.iter().map(|barrier| {
        let flying = barrier.outstanding.iter();
        let is_load = |f: &&InFlight| !f.writes && matches!(f.memory.as_str(), "global" | "both");
        flying.filter(is_load).count()
    });
    Ok(Some(Measured {
        strategies,
        windows: entry.pairs.iter().filter_map(|pair| pair.window).collect(),
        reserved: entry.reserved_shared_memory_bytes,
        waits: loops::waits(&assembly, &entry.symbol),
        redundant: audit.redundant_waits.len(),
        loads: loads.max().unwrap_or(0),
    }))
}
