//! `cargo xtask nvptx`: docs/nvptx.md, what each strategy costs and keeps on NVIDIA GPUs, as ptxas
//! sees it.

use super::{Options, Window, deliver, reflection, strategies};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::Path;

pub(super) const PAGE: &str = "docs/nvptx.md";

const KERNELS: &[&str] = &[
    "tiled_matmul",
    "tiled_matmul_double_buffered",
    "cooperative_matmul",
    "cooperative_tensors",
    "stencil_halo",
    "odd_workgroup",
];

const GPUS: &[&str] = &[
    "sm_60", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120",
];

#[derive(Deserialize)]
struct Entry {
    pairs: Vec<Pair>,
    /// Null where no ptxas takes the code.
    resource_usage: Option<Usage>,
    resident: Option<Resident>,
}

#[derive(Deserialize)]
struct Pair {
    window: Option<Window>,
    machine_window: Option<Window>,
}

/// What ptxas says that a kernel takes.
#[derive(Deserialize)]
struct Usage {
    registers: u32,
    barriers: u32,
    shared_memory_bytes: u32,
}

/// What a multiprocessor holds.
#[derive(Deserialize)]
struct Resident {
    workgroups: u32,
    limiter: String,
}

/// What `--check` measures again.
const CHECKED: (&str, &str) = ("tiled_matmul", "sm_80");

/// The window of a pair in one of the two places where it is measured.
type Seen = fn(&Pair) -> Option<Window>;

/// One row of a table.
struct Row {
    text: String,
    /// The windows of pairs that are split, less than 90 % of which are left in the PTX or in the
    /// machine code.
    closed: Vec<String>,
}

/// Writes the page, or compares some of its rows.
pub(crate) fn run(options: &Options) -> Result<()> {
    if !is_there("SPLITBAR_PTXAS", "ptxas") || !is_there("SPLITBAR_NVDISASM", "nvdisasm") {
        bail!(
            "ptxas or nvdisasm was not found: name them in SPLITBAR_PTXAS and SPLITBAR_NVDISASM, or put them on PATH"
        );
    }
    let tool = options.tool.path()?;
    let strategies = strategies(&tool)?;
    let rows = |kernel: &str, gpu: &str| -> Result<Vec<Row>> {
        let strategies = strategies.get(gpu);
        let rows = strategies.context("splitbar has no such GPU")?.iter();
        let rows = rows.map(|strategy| row(&tool, kernel, gpu, strategy).transpose());
        rows.flatten().collect()
    };
    if options.check {
        let (kernel, name) = CHECKED;
        let rows = rows(kernel, name)?;
        let text: String = rows.into_iter().map(|row| row.text).collect();
        return deliver(PAGE, &text, true);
    }
    let (mut tables, mut closed) = (String::new(), String::new());
    for kernel in KERNELS {
        write!(
            tables,
            "\n## {kernel}\n\n\
             | GPU | strategy | window, PTX | window, machine code | registers | shared bytes | barriers | workgroups |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        )?;
        for gpu in GPUS {
            for row in rows(kernel, gpu)? {
                tables.push_str(&row.text);
                for window in row.closed {
                    writeln!(closed, "| {kernel} | {window} |")?;
                }
            }
        }
    }
    let closed = match closed.as_str() {
        "" => "None.\n".to_owned(),
        rows => format!(
            "| kernel | GPU | strategy | where | window |\n| --- | --- | --- | --- | --- |\n{rows}"
        ),
    };
    deliver(PAGE, &format!("{INTRODUCTION}{closed}{tables}"), false)
}

pub(super) const INTRODUCTION: &str = "\
# Strategies on NVIDIA GPUs

Use this page to compare the strategies on NVIDIA GPUs: how much of each window they keep, and how many registers and barriers they need. `cargo xtask nvptx` generates it
from `splitbar lower --emit reflect`, with ptxas and nvdisasm. None of this code has run on a GPU yet.

- window: instructions that are left in the window / all instructions of the window, in the PTX. If nvdisasm supports the GPU, also in the machine code of ptxas.
  There is one figure for each pair of the kernel.
- barriers: hardware barriers that ptxas reserves. A barrier number in a register reserves all 16.
- workgroups: the number of resident workgroups of one multiprocessor, and the resource that limits it.

## The fence of an arrive before sm_90

On sm_80 to sm_89, the arrive at an mbarrier is two instructions, `MEMBAR.ALL.CTA` and `ATOMS.ARRIVE`. The fence costs more than the arrive, but it is needed:

- On these GPUs, every arrive of the PTX ISA releases at `.cta`. ptxas 12.9 emits the fence for `mbarrier.arrive`, `.noComplete` and `mbarrier.arrive_drop`. `.relaxed` exists only on sm_90 and later,
  where the instruction has no fence anyway.
- `cp.async.mbarrier.arrive.noinc` is one instruction without a fence (`ARRIVES.LDGSTSBAR`). It arrives when earlier asynchronous copies of the thread have completed, and orders nothing else. So it can be the
  arrive only of pairs whose semantics release nothing. `red.relaxed.cta` on a counter has no fence either.
- For a pair that releases, the fence can be omitted only if it provably orders no access of the wave since its last barrier. Loads count like stores, because after the wait another
  wave may overwrite the loaded memory. Machine code executes accesses to shared memory in order, but PTX does not guarantee it, and ptxas may move a relaxed arrive before a load.
- So the fence orders nothing only if there is no access between two barriers, or if the semantics are relaxed. `eliminate-redundant-split-barriers` removes barriers of the first
  kind. Of the second kind, the fixtures have one kernel (`relaxed_pair`). Barriers of the corpus that order nothing are removed before they are split.

## Split windows with less than 90 % left

";

/// One row; `None` where the strategy does not apply.
fn row(tool: &Path, kernel: &str, gpu: &str, strategy: &str) -> Result<Option<Row>> {
    let options = ["--target", gpu, "--strategy", strategy];
    let Some(entry) = reflection::<Entry>(tool, kernel, &options)? else {
        return Ok(None);
    };
    let usage = entry.resource_usage.as_ref();
    let usage = usage.with_context(|| format!("no ptxas takes the code for {gpu}"))?;
    let resident = entry.resident.as_ref();
    let Resident {
        workgroups,
        limiter,
    } = resident.with_context(|| format!("{gpu} is not known well enough"))?;
    let places: [(&str, Seen); 2] = [
        ("PTX", |pair| pair.window),
        ("machine code", |pair| pair.machine_window),
    ];
    let [ptx, machine] = places.map(|(_, window)| {
        let shown = entry
            .pairs
            .iter()
            .map(|pair| window(pair).map_or("-".to_owned(), |window| window.to_string()));
        shown.collect::<Vec<_>>().join(", ")
    });
    let mut closed = Vec::new();
    for (place, window) in places {
        let split = entry.pairs.iter().filter(|_| strategy != "fused");
        for window in split.filter_map(window).filter(|window| !window.is_open()) {
            closed.push(format!("{gpu} | {strategy} | {place} | {window}"));
        }
    }
    let text = format!(
        "| {} | {strategy} | {ptx} | {machine} | {} | {} | {} | {workgroups}, {limiter} |\n",
        gpu, usage.registers, usage.shared_memory_bytes, usage.barriers,
    );
    Ok(Some(Row { text, closed }))
}

/// Whether the variable names a program, or one is called `name` on PATH.
fn is_there(variable: &str, name: &str) -> bool {
    let named = std::env::var_os(variable).filter(|value| !value.is_empty());
    let path = std::env::var_os("PATH").unwrap_or_default();
    named.is_some() || std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}
