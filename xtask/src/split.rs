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
        "halves moved",
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
        "halves moved, windows filled",
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
        "loops unrolled, loads staged, halves moved, windows filled",
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

Instructions that control can come to between a signal and the next wait, in the machine code. Modules that leave their workgroup open have 256 invocations. `docs/code_generation.md` says how
windows are widened in final code. Under each row stands a bound, for what the halves of its code could have between them wherever they stood: a wait may go down and a signal up to the next barrier,
atomic operation or access of workgroup memory, and over branches whose ways meet again. Most of what is missing from it lies behind waits for such accesses (`s_wait_dscnt`): a signal that
goes up with its wait before the access has had time to finish comes no earlier.

";

const HEAD: &str = "\
| passes | barriers | windows of 1 and more | 4 | 16 | 64 |
| --- | --- | --- | --- | --- | --- |";

pub(crate) const INTRODUCTION: &str = "\
# Splitting barriers that nobody split

Existing shaders have OpControlBarrier and nothing else. `splitbar lower --split-barriers always` makes arrives and waits of them and moves these apart, so that work comes
between; `sim`, `model` and `advise` take the same options, and `splitbar-opt` has each step as a pass:

| pass | what it does |
| --- | --- |
| `eliminate-redundant-control-barriers` | removes barriers that order no two accesses, one after another |
| `freeze-specialization-constants` | puts the values of specialization constants in the place of their uses; `lower` does so before it unrolls, with the values that it was given |
| `unroll-barrier-loops=N` | unrolls loops that have a constant number of iterations and barriers, or that copy to shared memory inside of a loop with barriers, up to N instructions a loop, unless LoopControl says DontUnroll; `lower` with `--unroll-barrier-loops=N` |
| `prefetch-barrier-loop-loads` | loads one iteration ahead what a loop stores to shared memory before its first barrier; `lower` with `--prefetch-loop-loads` |
| `split-control-barriers` | makes an arrive and a wait of each OpControlBarrier |
| `move-split-barriers` | moves arrives up and waits down: in blocks, across blocks, and around back edges (an arrive in front of the loop, a wait where control leaves it) |
| `fill-split-barrier-windows` | moves other instructions from in front of arrives and from behind waits into the windows; `lower` does so with `--fill-windows` |
| `fuse-narrow-split-barriers=N` | makes an OpControlBarrier again of a pair with fewer than N instructions in its window; `lower` takes 4 |

Without these flags only the halves move, and all other instructions keep their order. Pairs that people wrote move as well.

## What may move

With A in front of the arrive, B in the window and C behind the wait, a barrier orders A before C. An arrive may move up over an instruction of A unless something in C conflicts
with it, a wait down over one of C unless something in A does. Two accesses conflict when they may touch the same memory and one of them writes. `passes/src/analysis/phases/`
has the details and the reasons:

- A reaches back to the *arrive* of the last barrier that surely orders the memory, C forward to the *wait* of the next: what stands in the window of a neighbour is not ordered by it.
- Memory that no semantics of the barrier name is free, unless an OpMemoryBarrier of the entry point names it.
- An atomic operation that others may see conflicts with everything in its zone: locations alone do not show cumulativity. A relaxed one on workgroup memory conflicts with
  its own location and with the memory that fences and acquiring atomic operations of the kernel name.
- Atomic operations, volatile accesses, OpMemoryBarrier, operations of the workgroup and other barriers are never passed.
- Workgroup variables do not overlap, unless their layout is explicit; buffers and images may all be the same memory.
- An arrive or a wait moves only to control-equivalent blocks (those that run exactly as often as its barrier), in the same innermost loop, and never in an irreducible cycle. A barrier goes around a
  back edge only if the workgroup leaves the loop by one exit, or all of it by the same one.

With `--fill-windows` an instruction also passes those that stay between it and the window: none of them uses its result or makes what it uses, and their accesses do not conflict with its
own, in shared memory and in variables of the invocation. It goes within a block, or to a block that control comes to equally often, as long as at most 96 registers of results are live at the
half (`--fill-windows=N`).

`--prefetch-loop-loads` makes `if (first) tile = load; loop { shared = tile; barrier; if (next) tile = load; compute; barrier }` of `loop { shared = load; barrier; compute; barrier }`. The loads stand behind
the first barrier, whose window they fill, and no load is executed that was not: each stands under the condition of its iteration, and under copies of the branches that lead to it, as those that check
bounds. Loops in front of the barrier are passed: what they load is staged where they were unrolled. Nothing in the loop may write the memory that is read, and the
address of the next iteration must follow from this one's values. The tile takes registers over the work, at most 32 a lane. A module that is compiled with these flags and `--split-barriers auto`
keeps the unrolled loop and the staged loads also where no barrier is split.

Shaders that count on `barrier()` to order buffers, though its semantics name workgroup memory alone, need `--assume-barriers-order-all-memory` (`=all-memory` of the passes).

Where the workgroups of a cluster meet at split barriers (`--strategy cluster` with more than one workgroup) nothing is split: others would meet. That is an error.

What checks motion: arrives and waits must alternate as before; debug builds and `--validate-after-all` ask once more, in another way, whether any two conflicting accesses have lost
their order (`still_ordered`), and filling checks the order of each invocation's own accesses and values; the tests split the barriers of every kernel of `fixtures/` and of a quarter of the random programs, and compare what the simulator computes
with the host (`cargo test -p splitbar-tests --test suite -- split/`; `SPLITBAR_SPLIT=1` for all random programs). Of the modules of `fixtures/corpus` with barriers, those that the simulator
can launch give the same results with and without: 149 on gfx1201, 155 on sm_90, none otherwise (`SPLITBAR_CORPUS=all cargo test --release -p splitbar-gpu --test split`; what is skipped is named with the reason).

## When it pays

`--split-barriers auto` keeps the splits that are worth it and leaves the other barriers as they are: by the final code, or with `--strategy auto=fast` by the windows in SPIR-V alone
(`docs/choice.md`). The default is `never`; `docs/splitting_code.md` has what `auto` does to registers and occupancy. `--emit plan` says of each barrier what its arrive and its wait could not pass, how many operations are in its window, and what was chosen and why;
`--emit reflect` has the same as `moves` and `choice`. Nothing here ran on a GPU.

The tables are generated by `cargo xtask split`: instructions of SPIR-V between arrive and wait, in the modules of `fixtures/corpus` that nobody has split. Barriers in functions
count once for each call that was inlined.
";
