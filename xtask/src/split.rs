//! `cargo xtask split`: docs/splitting.md, what splitting brings to the barriers of the corpus.

mod final_code;

use crate::corpus::modules::{self, Module};
use crate::shell;
use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

pub(crate) const PAGE: &str = "docs/splitting.md";

/// Instructions that a window has at least.
const THRESHOLDS: [u32; 4] = [1, 4, 16, 64];

/// Passes, and what they do in words.
const STAGES: [(&[&str], &str); 7] = [
    (&["--split-control-barriers"], "split, and nothing moved"),
    (
        &["--split-control-barriers", "--move-split-barriers"],
        "arrives and waits moved",
    ),
    (
        &[
            "--eliminate-redundant-control-barriers",
            "--split-control-barriers",
            "--move-split-barriers",
            "--fuse-narrow-split-barriers=4",
        ],
        "as `--split-barriers always` does",
    ),
    (
        &[
            "--split-control-barriers",
            "--move-split-barriers",
            "--fill-split-barrier-windows",
        ],
        "arrives and waits moved, windows filled",
    ),
    (
        &[
            "--eliminate-redundant-control-barriers",
            "--split-control-barriers",
            "--move-split-barriers",
            "--fill-split-barrier-windows",
            "--fuse-narrow-split-barriers=4",
        ],
        "as `--split-barriers always --fill-windows` does",
    ),
    (
        &[
            "--freeze-specialization-constants",
            "--unroll-barrier-loops=4096",
            "--prefetch-barrier-loop-loads",
            "--split-control-barriers",
            "--move-split-barriers",
            "--fill-split-barrier-windows",
        ],
        "loops unrolled, loads staged, arrives and waits moved, windows filled",
    ),
    (
        &[
            "--eliminate-redundant-control-barriers",
            "--freeze-specialization-constants",
            "--unroll-barrier-loops=4096",
            "--prefetch-barrier-loop-loads",
            "--split-control-barriers",
            "--move-split-barriers",
            "--fill-split-barrier-windows",
            "--fuse-narrow-split-barriers=4",
        ],
        "as `--split-barriers always --fill-windows --prefetch-loop-loads --unroll-barrier-loops=4096` does",
    ),
];

/// Runs the passes on every module that nobody has split, checks what comes out, and writes the
/// page.
pub(crate) fn run() -> Result<()> {
    let tool = shell::release("splitbar-passes", "splitbar-opt")?;
    let folder = shell::target_directory()?.join("corpus").join("modules");
    let all = modules::unpack(&folder)?;
    let mut page = INTRODUCTION.to_owned();
    for set in ["glcompute", "kernel"] {
        let modules: Vec<&Module> = all.iter().filter(|module| module.set == set).collect();
        writeln!(page, "\n## {set}: {} modules\n\n{HEAD}", modules.len())?;
        for (flags, about) in STAGES {
            let mut windows = Vec::new();
            for module in &modules {
                windows.extend(of_module(&tool, &module.path, flags)?);
            }
            let share = |least: &u32| {
                let wide = windows.iter().filter(|window| *window >= least).count();
                format!(
                    "{wide}, {:.1} %",
                    100.0 * wide as f64 / windows.len().max(1) as f64
                )
            };
            let shares: Vec<String> = THRESHOLDS.iter().map(share).collect();
            writeln!(
                page,
                "| {about} | {} | {} |",
                windows.len(),
                shares.join(" | ")
            )?;
        }
    }
    let mut shaders = Vec::new();
    for module in all.iter().filter(|of| of.set == "glcompute") {
        if module.has_barrier()? {
            shaders.push(module);
        }
    }
    page.push_str(FINAL_CODE);
    page.push_str(&final_code::table(&shell::release_tool()?, &shaders)?);
    std::fs::write(shell::root().join(PAGE), page).context(PAGE)?;
    println!("{PAGE} written");
    Ok(())
}

/// The instructions in the window of each barrier of a module, after passes that break no rule and
/// find nothing to do when they run again.
fn of_module(tool: &Path, module: &Path, flags: &[&str]) -> Result<Vec<u32>> {
    let mut command = Command::new(tool);
    command.arg("--inline-barrier-functions").args(flags).args([
        "--validate-after-all",
        "--window-report",
        "-o",
        "/dev/null",
    ]);
    let output = command
        .arg(module)
        .output()
        .context("splitbar-opt cannot be started")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {said}", module.display());
    let lines = said
        .lines()
        .skip_while(|line| !line.ends_with("entry point"));
    let first = |line: &str| Some(line.split_whitespace().next()?.parse().ok());
    let windows: Option<Vec<u32>> = lines.skip(1).filter_map(first).collect();
    windows.with_context(|| format!("{}: {said}", module.display()))
}

const FINAL_CODE: &str = "
## Final code: glcompute on gfx1201

This table counts the instructions that can execute between a signal and the next wait, in the machine code. Modules without a fixed workgroup size get 256 invocations.
[Code generation](code_generation.md) explains how windows are widened in final code. The row below each row is an upper bound: the window if each wait moved down and each signal moved up to
the next barrier, atomic operation or access of workgroup memory, also over branches that reconverge. Most of the difference lies after waits for such accesses (`s_wait_dscnt`): a
signal that moves up together with its wait, before the access has had time to finish, does not execute earlier.

";

const HEAD: &str = "\
| passes | barriers | windows of 1 and more | 4 | 16 | 64 |
| --- | --- | --- | --- | --- | --- |";

pub(crate) const INTRODUCTION: &str = "\
# Splitting full barriers automatically

This page shows how to split the full barriers of an existing shader, and which instructions may move. `splitbar lower --split-barriers always` replaces each
OpControlBarrier by an arrive and a wait, and moves the two apart so that work lies between them.

With full barriers (`barrier()` in GLSL), a tiled matrix product gets a window with its multiply-adds:

```sh run
splitbar lower fixtures/kernels/plain_matmul/plain_matmul.spv --target gfx1201 --split-barriers always --strategy auto=always-split
```

```text
gfx1201                              sm_90
-----------------------------------  -----------------------------------
s_barrier_signal -1                  mbarrier.arrive.shared.b64 %rd8, ...
    ... 100, with 129 multiply-adds      ... 228, with 130 multiply-adds
s_barrier_wait -1                    mbarrier.try_wait.parity.shared.b64 ...
```

`sim`, `model` and `advise` accept the same options. `splitbar-opt` has each step as a pass:

| pass | what it does |
| --- | --- |
| `eliminate-redundant-control-barriers` | Removes each barrier that orders no pair of accesses, one barrier after the other |
| `freeze-specialization-constants` | Replaces specialization constants by their values; `lower` runs it before it unrolls, with the values that you give |
| `unroll-barrier-loops=N` | Unrolls loops with a constant trip count that contain barriers, or that copy to workgroup memory inside a loop with barriers, up to N instructions a loop, unless LoopControl has DontUnroll; `lower` with `--unroll-barrier-loops=N` |
| `prefetch-barrier-loop-loads` | Loads, one iteration ahead, the values that a loop stores to workgroup memory before its first barrier; `lower` with `--prefetch-loop-loads` |
| `split-control-barriers` | Replaces each OpControlBarrier by an arrive and a wait |
| `move-split-barriers` | Moves arrives up and waits down: in blocks, across blocks, and around back edges (an arrive before the loop, a wait at its exit) |
| `fill-split-barrier-windows` | Moves other instructions into the windows: down past arrives and up past waits; `lower` with `--fill-windows` |
| `fuse-narrow-split-barriers=N` | Replaces a pair with fewer than N instructions in its window by an OpControlBarrier; `lower` uses N = 4 |

Without these flags only arrives and waits move, and all other instructions keep their order. Pairs in the source move too.

## What may move

With A before the arrive, B in the window and C after the wait, a barrier orders A before C. An arrive may move up over an instruction of A unless an instruction of C conflicts
with it. A wait may move down over an instruction of C unless an instruction of A conflicts with it. Two accesses conflict if they may touch the same memory and one of them writes.
`passes/src/analysis/phases/` has the details and the reasons:

- A begins at the *arrive* of the last barrier that certainly orders the memory. C ends at the *wait* of the next one. Instructions in the window of a neighbouring
  barrier are not ordered by it.
- A barrier does not order memory that its semantics do not name, unless an OpMemoryBarrier of the entry point names it.
- An atomic operation that others may see conflicts with all accesses in its zone, since locations alone do not show cumulativity. A relaxed one on workgroup memory conflicts with
  its own location, and with the memory that fences and acquiring atomic operations of the kernel name.
- Arrives and waits never pass atomic operations, volatile accesses, OpMemoryBarrier, operations of the workgroup, or other barriers.
- Workgroup variables do not overlap unless their layout is explicit. All buffers and images may be the same memory.
- An arrive or a wait moves only to a control-equivalent block, which runs exactly as often as its barrier. It stays in the same innermost loop, and never moves in an irreducible cycle.
  A barrier moves around a back edge only if the loop has one exit, or the whole workgroup leaves it by the same one.

With `--fill-windows`, an instruction may also pass the instructions that stay between it and the window. None of them uses its result or defines its operands, and their accesses do
not conflict with its own, in workgroup memory and in variables of the invocation. It moves within its block, or to a block that is executed equally often. At most 96 registers of
results may be live at the arrive or the wait (`--fill-windows=N` changes the limit).

`--prefetch-loop-loads` changes `loop { shared = load; barrier; compute; barrier }` to `if (first) tile = load; loop { shared = tile; barrier; if (next) tile = load; compute; barrier }`:

- The loads follow the first barrier and fill its window.
- No load is executed that was not executed before. Each is guarded by the condition of its iteration, and by copies of the branches that lead to it, such as bounds checks.
- Loads in inner loops before the barrier are not loaded ahead. If they were unrolled, their loads are staged as well.
- The loop must not write the memory that it reads, and the next address must be computable in the current iteration.
- The tile takes registers during the work, at most 32 per lane.
- With `--split-barriers auto`, the unrolled loop and the staged loads stay even if no barrier is split.

Shaders that rely on `barrier()` to order buffers, although its semantics name only workgroup memory, need `--assume-barriers-order-all-memory` (`=all-memory` of the passes).

If the workgroups of a cluster synchronise at split barriers (`--strategy cluster` with more than one workgroup), splitting is an error, because it would change which workgroups synchronise.

Three checks guard the motion:

- Arrives and waits must alternate as before.
- Debug builds and `--validate-after-all` check with a second algorithm that no two conflicting accesses lost their order (`still_ordered`). Filling checks the order of each
  invocation's own accesses and values.
- The tests split the barriers of every kernel of `fixtures/` and of a quarter of the random programs, and compare the results of the simulator with the host
  (`cargo test -p splitbar-tests --test suite -- split/`; `SPLITBAR_SPLIT=1` for all random programs).

The modules of `fixtures/corpus` with barriers that the simulator can launch give the same results with and without splitting: 149 on gfx1201 and 155 on sm_90, without exception
(`SPLITBAR_CORPUS=all cargo test --release -p splitbar-gpu --test split`, which names each skipped module with the reason).

## When it pays

The default is `never`. `--split-barriers auto` keeps the splits that pay and leaves the other barriers as they are. It decides by the final code, or with `--strategy auto=fast` by
the windows in SPIR-V ([choice](choice.md)). [Final code](splitting_code.md) shows the effect on registers and occupancy.

`--emit plan` lists for each barrier which instructions its arrive and its wait could not pass, how many operations are in its window, and the decision with its reason.
`--emit reflect` has the same information as `moves` and `choice`. No GPU has run this code.

The tables are generated by `cargo xtask split`. They count SPIR-V instructions between arrive and wait, in the modules of `fixtures/corpus` without split barriers. A barrier in a
function counts once for each call that was inlined.
";
