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
        "loops unrolled, loads prefetched, arrives and waits moved, windows filled",
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

This table counts the instructions that can execute between a signal and the next wait, in the machine code. Modules without a fixed workgroup size get 256
invocations. [Code generation](code_generation.md) explains how windows are widened in final code. Each row is followed by an upper bound: the windows if every
wait moved down, and every signal up, to the nearest barrier, atomic operation or workgroup memory access. In it, both may also pass branches that reconverge.
Most of the difference cannot be gained: a signal can move up only together with the `s_wait_dscnt` before it, and this wait then stalls until the memory access
has finished.

";

const HEAD: &str = "\
| passes | barriers | windows of 1 and more | 4 | 16 | 64 |
| --- | --- | --- | --- | --- | --- |";

pub(crate) const INTRODUCTION: &str = "\
# Splitting full barriers automatically

This page shows how to split the full barriers of an existing shader, and which instructions may move. `splitbar lower --split-barriers always` replaces each
OpControlBarrier by an arrive and a wait. It then moves the two apart. The instructions between them are the *window* of the barrier.

In a tiled matrix multiplication with full barriers (`barrier()` in GLSL), the split places the multiply-adds in the window:

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
| `eliminate-redundant-control-barriers` | Removes each barrier that orders no pair of accesses; tests one barrier at a time |
| `freeze-specialization-constants` | Replaces specialization constants by their values; before it unrolls loops, `lower` runs this pass with the values of `--spec` |
| `unroll-barrier-loops=N` | Unrolls loops with a constant trip count: loops with barriers, and loops inside them that copy to workgroup memory. An unrolled loop has at most N instructions, and loops with DontUnroll stay. `lower` has `--unroll-barrier-loops=N` |
| `prefetch-barrier-loop-loads` | Prefetches, one iteration ahead, the values that a loop stores to workgroup memory before its first barrier; `lower` has `--prefetch-loop-loads` |
| `split-control-barriers` | Replaces each OpControlBarrier by an arrive and a wait |
| `move-split-barriers` | Moves arrives up and waits down: in blocks, across blocks, and around back edges (an arrive before the loop, a wait at its exit) |
| `fill-split-barrier-windows` | Moves other instructions into the windows: down past arrives and up past waits; `lower` has `--fill-windows` |
| `fuse-narrow-split-barriers=N` | Replaces a pair with fewer than N instructions in its window by an OpControlBarrier; `lower` uses N = 4 |

Without the flags in this table, only arrives and waits move, and all other instructions keep their order. Arrives and waits that are already in the source move
too.

## What may move

With A before the arrive, B in the window and C after the wait, a barrier orders A before C. An arrive may move up over an instruction of A unless an
instruction of C conflicts with it. A wait may move down over an instruction of C unless an instruction of A conflicts with it. Two accesses conflict if they
may touch the same memory and one of them writes. These are the rules; `passes/src/analysis/phases/` has the details:

- A begins at the *arrive* of the last barrier that certainly orders the memory. C ends at the *wait* of the next such barrier. A barrier does not order the
  instructions in its own window, so those in the windows of these two barriers belong to A and to C.
- A barrier does not order memory that its semantics do not name, unless an OpMemoryBarrier of the entry point names it.
- An atomic operation that other invocations may see, in A or C, conflicts with all accesses in the other of the two: release and acquire are cumulative, and
  also order accesses to other locations. A relaxed atomic operation on workgroup memory conflicts only with accesses to its own location and to the memory that
  the fences and acquiring atomic operations of the kernel name.
- Arrives and waits never pass atomic operations, volatile accesses, OpMemoryBarrier, workgroup operations (OpGroup*), or other barriers.
- Workgroup variables do not overlap unless their layout is explicit. All buffers and images may be the same memory.
- An arrive or a wait moves only to a control-equivalent block, which runs exactly as often as its barrier. It stays in the same innermost loop, and never moves in an irreducible cycle.
  A barrier moves around a back edge only if the loop has one exit, or the whole workgroup leaves it by the same one.

With `--fill-windows`, other instructions also move into the window. On its way, an instruction may pass another one that stays, under two conditions: neither
uses the result of the other, and their accesses to workgroup memory and to private variables do not conflict. An instruction moves within its block, or to a
block that is executed equally often. The moved results may occupy at most 96 registers at the arrive or the wait (`--fill-windows=N` changes the limit).

`--prefetch-loop-loads` changes `loop { shared = load; barrier; compute; barrier }` to `if (first) tile = load; loop { shared = tile; barrier; if (next) tile = load; compute; barrier }`:

- The loads follow the first barrier and fill its window.
- No load is executed that was not executed before. Each is guarded by the condition of its iteration, and by copies of the branches that lead to it, such as bounds checks.
- Loads in inner loops before the barrier are not prefetched, unless these loops were unrolled first.
- The loop must not write the memory that it reads, and the next address must be computable in the current iteration.
- The prefetched tile occupies registers during the computation, at most 32 per lane.
- With `--split-barriers auto`, the unrolled loop and the prefetched loads stay even if no barrier is split.

Shaders that rely on `barrier()` to order buffers, although its semantics name only workgroup memory, need `--assume-barriers-order-all-memory` (in
`splitbar-opt`: `--PASS=all-memory`).

If the workgroups of a cluster synchronise at split barriers (`--strategy cluster` with more than one workgroup), splitting is an error, because it would change which workgroups synchronise.

Three checks find mistakes of these passes:

- Arrives and waits must alternate as before.
- Debug builds and `--validate-after-all` check with a second algorithm that all conflicting accesses are still ordered (`still_ordered`). The pass that fills windows also checks that each invocation's own accesses and data dependences keep their order.
- The tests split the barriers of every kernel of `fixtures/` and of a quarter of the random programs, and compare the results of the simulator with the host
  (`cargo test -p splitbar-tests --test suite -- split/`; `SPLITBAR_SPLIT=1` for all random programs).

All modules in `fixtures/corpus` that have barriers and that the simulator can launch (149 on gfx1201, 155 on sm_90) give the same results with and without
splitting. `SPLITBAR_CORPUS=all cargo test --release -p splitbar-gpu --test split` repeats this, and prints why it skips the other modules.

## When splitting pays off

The default is `never`. `--split-barriers auto` keeps only the splits that are expected to save cycles, and leaves the other barriers as they are. The decision
is based on the final code, or, with `--strategy auto=fast`, on the windows in SPIR-V ([choice](choice.md)). [Final code](splitting_code.md) shows the effect on
registers and occupancy.

For each barrier, `--emit plan` lists which instructions its arrive and its wait could not pass, how many operations are in its window, and the decision with
its reason. `--emit reflect` writes the same information, in the fields `moves` and `choice`.

The tables are generated by `cargo xtask split`. They count SPIR-V instructions between arrive and wait, in the modules of `fixtures/corpus` without split barriers. A barrier in a
function counts once for each call that was inlined.
";
