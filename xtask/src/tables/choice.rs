//! `cargo xtask choose`: docs/choice.md, which strategy is advised for each kernel on some GPUs.

use super::{Options, Window, deliver};
use crate::corpus::modules;
use crate::each::each;
use crate::shell;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) const PAGE: &str = "docs/choice.md";

const GPUS: &str = "sm_75,sm_80,sm_90,sm_120,gfx942,gfx1100,gfx1201";

/// What `--check` looks at again: AMD GPUs, which need no ptxas.
const CHECKED: (&str, &str) = ("tiled_matmul", "gfx942,gfx1100,gfx1201");

#[derive(Deserialize)]
struct Advice {
    target: String,
    candidates: Vec<Candidate>,
    choice: String,
}

#[derive(Deserialize)]
struct Candidate {
    strategy: String,
    window: Window,
    resource_usage: Option<Usage>,
    resident: Option<Resident>,
}

#[derive(Deserialize)]
struct Usage {
    registers: u32,
}

#[derive(Deserialize)]
struct Resident {
    workgroups: u32,
}

/// Modules of the corpus that the page has.
const CORPUS: usize = 40;

/// Every so many modules of the corpus one is looked at, so that they come from many packages.
const STRIDE: usize = 7;

/// Writes the page, or compares some of its rows.
pub(crate) fn run(options: &Options) -> Result<()> {
    let tool = options.tool.path()?;
    if options.check {
        let (name, gpus) = CHECKED;
        return deliver(PAGE, &rows(&Kernel::fixture(name), &tool, gpus)?, true);
    }
    let mut page = INTRODUCTION.to_owned();
    let mut fixtures = Vec::new();
    for entry in std::fs::read_dir(shell::root().join("fixtures/kernels"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        fixtures.push(Kernel::fixture(&name));
    }
    fixtures.sort_by(|one, other| one.name.cmp(&other.name));
    let tables = each(&fixtures, None, |kernel, _| rows(kernel, &tool, GPUS))?;
    write!(
        page,
        "\n## Kernels of fixtures\n\n{HEAD}{}",
        tables.concat()
    )?;
    let folder = shell::target_directory()?.join("corpus").join("modules");
    let modules = modules::unpack(&folder)?;
    let spread = (0..STRIDE).flat_map(|start| modules.iter().skip(start).step_by(STRIDE));
    let mut kernels = spread.map(Kernel::of_corpus);
    let mut tables = Vec::new();
    while tables.len() < CORPUS {
        let some: Vec<Kernel> = kernels.by_ref().take(CORPUS).collect();
        if some.is_empty() {
            break;
        }
        // One GPU says whether there is something to split at all.
        let has_rows = each(&some, None, |kernel, _| rows(kernel, &tool, "gfx1201"))?;
        let found = some.into_iter().zip(has_rows);
        let found = found.filter(|(_, rows)| !rows.is_empty());
        let found: Vec<Kernel> = found
            .map(|(kernel, _)| kernel)
            .take(CORPUS - tables.len())
            .collect();
        tables.extend(each(&found, None, |kernel, _| rows(kernel, &tool, GPUS))?);
    }
    write!(
        page,
        "\n## Modules of the corpus, split\n\nEvery barrier is split by `--split-barriers always`: {} modules.\n\n{HEAD}{}",
        tables.len(),
        tables.concat()
    )?;
    deliver(PAGE, &page, false)
}

/// A module, and how it is advised on.
struct Kernel {
    name: String,
    module: PathBuf,
    flags: &'static [&'static str],
}

impl Kernel {
    fn fixture(name: &str) -> Kernel {
        Kernel {
            name: name.to_owned(),
            module: format!("fixtures/kernels/{name}/{name}.spv").into(),
            flags: if name.starts_with("opencl_") {
                // Theirs is that of the launch.
                &["--split-barriers", "never", "--workgroup-size", "128,1,1"]
            } else {
                &["--split-barriers", "never"]
            },
        }
    }

    fn of_corpus(module: &modules::Module) -> Kernel {
        let name = module.path.file_stem().unwrap_or_default();
        Kernel {
            name: name.to_string_lossy().into_owned(),
            module: module.path.clone(),
            flags: match module.set.as_str() {
                "kernel" => &["--split-barriers", "always", "--workgroup-size", "128,1,1"],
                _ => &["--split-barriers", "always"],
            },
        }
    }
}

pub(super) const INTRODUCTION: &str = "\
# Which strategy to take

`splitbar lower` decides with `--strategy auto` for each barrier whether it is split, and `--emit plan` says why:

```sh run
cp docs/examples/rounds.spv kernel.spv
splitbar lower kernel.spv --target sm_90 --emit plan
splitbar advise kernel.spv --targets sm_80,sm_90,gfx1201
splitbar advise kernel.spv --target sm_90 --format svg > advice.svg
```

| `--strategy` | which barriers are split | compilations |
| --- | --- | --- |
| `auto`, `auto=balanced` | those of the version that is expected to take the fewest cycles | two; one or two more where some windows are empty in the final code |
| `auto=measured` | the same, by the time that a launch of yours is estimated to take | two or three |
| `auto=fast` | those whose window in SPIR-V is wide enough; registers are not looked at | one |
| `auto=always-split` | all, wherever a strategy fits | one |
| a strategy's name | all, by this one | one |

Over the kernels of fixtures `balanced` takes 2.0 times the processor time of `fused` on gfx1201, and 1.9 times on sm_90 without ptxas (medians, each kernel by a process of its own; 1.6 and 1.7
times when it counted instructions). It takes up to 5 times as long for kernels of which the model runs 40,000 instructions for each version.
A kernel with nothing in its windows, and one for a GPU where no strategy splits, is not compiled twice.

`--split-barriers auto` uses the same rule for barriers that nobody split: one that is not worth it stays the instruction that it is. `advise` compiles with every strategy and
advises one for each entry point.

For a kernel with plain barriers `advise` shows what `--split-barriers auto` makes of it. The first row is the kernel as it is, with full barriers. Every barrier that is not split has its reason, and where
other options split more barriers, or take fewer cycles, a line names them. `--targets` is gfx942, gfx1100, gfx1201, sm_80 and sm_90 unless you name others:

```sh run
cp docs/examples/plain.spv plain.spv
splitbar advise plain.spv --targets gfx1201
splitbar advise plain.spv --targets gfx1201 --estimate --groups 8,1,1 --buffer 0=seq:u32:512 --buffer 1=zeros:2048
```

`--estimate` runs each strategy's code on the simulator of time (`docs/timing.md`) and adds its cycles. It takes the flags of a launch of `sim`; what cannot be launched, such as a kernel in clusters, is
said of its strategy. Where another strategy takes less than 98 % of the cycles of the one that is chosen, the advice says so; the choice stays, since an estimate is of one launch:

```sh run
splitbar advise kernel.spv --targets gfx1201,gfx942 --estimate --groups 8,1,1 --buffer 0:0=seq:u32:1024 --buffer 0:1=zeros:4096
```

If you know how your kernel is launched, say it, and the choice is made for that launch, with as many workgroups at the same time as `--resident` says (or as the code allows):

```sh run
cp docs/examples/matmul.spv matmul.spv
splitbar lower matmul.spv --target gfx1201 --strategy auto=measured --pipeline-loops auto --emit plan \\
  --groups 2,2,1 --resident 1 --push 80000000 --buffer 0:0=zeros:65536 --buffer 0:1=zeros:65536 --buffer 0:2=zeros:65536
```

`lower` and `sim` take such a launch, without images, samplers and tensors; in Rust it is `Options::launch`. C, Python and `batch` have no form for it, and refuse `auto=measured` (SB0308).

## The rule

1. The module is compiled with all barriers split, and with full barriers. If a window has no instruction left in the final code, its barrier is a full one, and the version that splits the others
   is compiled as well.
2. The split version is taken if it is expected to take fewer cycles than full barriers by more than 2 %, the error of the model. Otherwise all barriers of the entry point are full.
   Where the model does not know the code, barriers are full too, and the plan says why.
3. With a profile (`--profile FILE`, `docs/profile.md`) a barrier that was measured is split if its window hides more than its phase costs: the window, or the median skew less
   what a full barrier takes by itself, whichever is smaller, must be larger than the most that a phase costs.
4. An entry point whose split leaves fewer workgroups resident at once than full barriers do gets full barriers: workgroups fill each other's waits.
   Without ptxas nobody knows the registers of an NVIDIA GPU; it takes at most ten more than are live at once in its input
   (`lowering/assembly/src/ptx/pressure.rs`), and the worst case decides. Where a split version holds as many workgroups as fit whatever its registers are, the other one is not compiled.

`auto=fast` compiles nothing to decide. It splits a barrier if its window in SPIR-V has as many instructions as the target's row requires (`costs` in `fixtures/targets`: 8 on gfx12 and 16 around
a loop, 48 on sm_90 and later, 64 on older NVIDIA GPUs).

## The model

The expected cycles come from the simulator of time ([timing](timing.md)), with the same table of costs: it runs the final code of each version. No launch is needed. Without one the model makes one
up:

- One multiprocessor, compute unit or WGP with as many workgroups as the registers and the workgroup memory of the version allow, up to 32 waves. Versions that hold different numbers are
  compared by their cycles for the same number of bytes that are loaded and stored.
- The first of four launches counts by which both versions come to a barrier: small numbers in buffers and then 64 in every word, each with the workgroups down a column and along a row.
- Buffers have 64 KiB and begin again after their end, so every address is valid. Their words are numbers that look random, so loops whose counts come from memory are uneven.
- Every word of push constants and of arguments that are values is 64. A kernel with an open workgroup size gets 128 invocations.
- After 40,000 instructions of waves the model stops. It then compares the time in which both versions load and store the same number of bytes, and the split must save more than 5 %.

All versions compute the same from the same inputs, so they take the same branches and iterations. The ratio of their cycles depends less on the inputs than the cycles do. The model does not know
kernels with images, tensors, arrays of buffers without a length, or clusters.

With `balanced` and `fast`, a profile is refused if it is damaged, of another module, or of another target or number of waves (SB3100 to SB3106). One that does not name its target
is a warning (SB3107).

A split gains at most the smaller of its window and the time by which waves differ when they arrive. Where that depends on the contents of buffers, the model knows only its own contents: take
`fused` by name for a kernel whose waves do the same, or a profile. Cycles of a phase, by which a profile decides, were measured on a timing simulator of NVIDIA GPUs.
Nothing here ran on a GPU.

## Tables

Generated by `cargo xtask choose`: what `advise` says, a row for each GPU. at once: workgroups that a compute unit, WGP or multiprocessor holds. Registers and workgroups are those of the
version with full barriers, and those of the strategy whose windows are widest (the one that is taken, if one is). left: instructions left in all its windows, in PTX on NVIDIA GPUs where
nvdisasm is not installed. A dash: not known, or no strategy that splits fits. The command shows the other strategies and the reasons.
";

const HEAD: &str = "\
| kernel | GPU | choice | registers | at once | left in windows |
| --- | --- | --- | --- | --- | --- |
";

/// The rows of one kernel; none where it has no split barrier of a workgroup.
fn rows(kernel: &Kernel, tool: &Path, gpus: &str) -> Result<String> {
    let mut command = Command::new(tool);
    command.current_dir(shell::root()).arg("advise");
    command.arg(&kernel.module).args(kernel.flags);
    command.args(["--targets", gpus, "--format", "json"]);
    let advised = command.output().context("splitbar cannot be started")?;
    match advised.status.code() {
        Some(0) => {}
        // Something of the kernel is not for one of these GPUs.
        Some(3) if gpus.contains(',') => {
            let each = gpus.split(',').map(|gpu| rows(kernel, tool, gpu));
            return each.collect();
        }
        Some(3) => return Ok(String::new()),
        // Modules of the corpus may break rules.
        Some(1) if !kernel.module.starts_with("fixtures") => return Ok(String::new()),
        _ => bail!(
            "{}: {}",
            kernel.name,
            String::from_utf8_lossy(&advised.stderr)
        ),
    }
    let advice: Vec<Advice> = serde_json::from_slice(&advised.stdout)?;
    let rows = advice.iter().filter_map(|advice| row(&kernel.name, advice));
    Ok(rows.collect())
}

/// One row: the version with full barriers beside the strategy that is taken, or the one with the
/// widest windows.
fn row(kernel: &str, advice: &Advice) -> Option<String> {
    let (full, others) = advice.candidates.split_first()?;
    let taken = others.iter().find(|other| other.strategy == advice.choice);
    // The first of equals: the target's best.
    let widest = || {
        let others = others.iter().rev();
        others.max_by_key(|other| other.window.kept)
    };
    let split = taken.or_else(widest);
    let both = |value: fn(&Candidate) -> Option<u32>| {
        let words = |one: Option<&Candidate>| {
            let value = one.and_then(value);
            value.map_or_else(|| "-".to_owned(), |value| value.to_string())
        };
        format!("{} / {}", words(Some(full)), words(split))
    };
    let registers = both(|one| Some(one.resource_usage.as_ref()?.registers));
    let resident = both(|one| Some(one.resident.as_ref()?.workgroups));
    let window = split.map_or_else(|| "-".to_owned(), |split| split.window.to_string());
    Some(format!(
        "| {kernel} | {} | {} | {registers} | {resident} | {window} |\n",
        advice.target, advice.choice
    ))
}
