//! `cargo xtask demo`: the main job on one kernel, three GPUs side by side, and a kernel whose
//! barriers nobody has split.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::{llvm, shell};

/// What is shown of a kernel.
struct Example {
    kernel: &'static str,
    /// More arguments of `splitbar lower`.
    arguments: &'static [&'static str],
    targets: &'static [&'static str],
    about: &'static str,
}

/// Written split barriers, on one GPU for each of: split barriers in hardware, a barrier in one
/// piece, an mbarrier in shared memory; and full barriers that are split here, where GPUs have a
/// split barrier.
const EXAMPLES: [Example; 2] = [
    Example {
        kernel: "fixtures/kernels/tiled_matmul/tiled_matmul.spv",
        arguments: &["--strategy", "auto=always-split"],
        targets: &["gfx1201", "gfx1100", "sm_90"],
        about: "A window is the work between arrive and wait: instructions that are still in it / instructions of the source. A fused barrier has none.",
    },
    Example {
        kernel: "fixtures/kernels/plain_matmul/plain_matmul.spv",
        arguments: &[
            "--split-barriers",
            "always",
            "--strategy",
            "auto=always-split",
        ],
        targets: &["gfx1201", "sm_90"],
        about: "The same product with two full barriers. One is split around the back edge of the loop: the wait comes behind the next tile's loads.",
    },
];

/// Characters of one column.
const WIDTH: usize = 44;

/// The part of `splitbar lower --emit reflect` that is shown.
#[derive(Deserialize)]
struct Entry {
    entry: String,
    reserved_shared_memory_bytes: u32,
    pairs: Vec<Pair>,
}

#[derive(Deserialize)]
struct Pair {
    strategy: String,
    window: Option<Window>,
}

#[derive(Deserialize)]
struct Window {
    source: u32,
    kept: u32,
}

/// Builds the command line tool, lowers the kernel for each target and prints what became of its
/// barriers.
pub(crate) fn run() -> Result<()> {
    llvm::ensure()?;
    let tool = shell::release_tool()?;

    for example in EXAMPLES {
        let (kernel, arguments) = (example.kernel, example.arguments.join(" "));
        let columns: Vec<Vec<String>> = example
            .targets
            .iter()
            .map(|target| column(&tool, &example, target))
            .collect::<Result<_>>()?;
        println!("\nsplitbar lower {kernel} {arguments}\n");
        print!("{}", side_by_side(&columns));
        println!("\n{}", example.about);
    }
    let kernel = EXAMPLES[0].kernel;
    let program = tool.display();
    println!(
        "\nThe program: {program}\nMore: {program} lower {kernel} --target gfx1201 --emit plan"
    );
    Ok(())
}

fn lower(tool: &Path, example: &Example, target: &str, emit: &str) -> Result<String> {
    let mut arguments = vec!["lower", example.kernel, "--target", target, "--emit", emit];
    arguments.extend(example.arguments);
    shell::read(shell::command(tool, &arguments))
}

/// The lines of one target's column: what was chosen, then its barriers.
fn column(tool: &Path, example: &Example, target: &str) -> Result<Vec<String>> {
    let reflect = lower(tool, example, target, "reflect")?;
    let entries: Vec<Entry> =
        serde_json::from_str(&reflect).with_context(|| format!("the reflection for {target}"))?;
    let mut lines = vec![target.to_string()];
    for entry in &entries {
        lines.push(format!(
            "entry {}, reserves {} bytes",
            entry.entry, entry.reserved_shared_memory_bytes
        ));
        for pair in &entry.pairs {
            lines.push(match &pair.window {
                Some(w) => format!("pair: {}, window {} / {}", pair.strategy, w.kept, w.source),
                None => format!("pair: {}, no window", pair.strategy),
            });
        }
    }
    lines.push("-".repeat(WIDTH - 2));
    lines.extend(barrier_lines(&lower(tool, example, target, "asm")?));
    Ok(lines)
}

/// What an instruction is to this picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A part of a barrier.
    Barrier,
    /// A fence or a wait for memory: of interest next to a barrier.
    Order,
    /// Multiply-adds; how many.
    Math(usize),
    Other,
}

const BARRIERS: &[&str] = &["s_barrier", "mbarrier.", "bar.", "barrier."];
const ORDERS: &[&str] = &[
    "s_wait",
    "global_inv",
    "global_wb",
    "buffer_inv",
    "buffer_gl",
    "buffer_wb",
    "fence",
    "membar",
];
const MATH: &[&str] = &[
    "v_fma",
    "v_pk_fma",
    "v_mad",
    "v_mac",
    "v_dual_fma",
    "fma.",
    "mad.",
];

fn kind(instruction: &str) -> Kind {
    // A predicate (`@%p1 bra ...`) precedes the mnemonic.
    let mnemonic = instruction
        .split_whitespace()
        .find(|w| !w.starts_with('@'))
        .unwrap_or_default();
    let is = |names: &[&str]| names.iter().any(|n| mnemonic.starts_with(n));
    if mnemonic == "s_wait_alu" {
        // A hazard of the pipeline, not a wait for memory.
        Kind::Other
    } else if is(BARRIERS) {
        Kind::Barrier
    } else if is(ORDERS) {
        Kind::Order
    } else {
        // One line may hold two operations: `v_dual_fmac_f32 ... :: v_dual_fmac_f32 ...`.
        let parts = instruction.split("::").map(str::trim_start);
        match parts
            .filter(|p| MATH.iter().any(|n| p.starts_with(n)))
            .count()
        {
            0 => Kind::Other,
            n => Kind::Math(n),
        }
    }
}

/// The instructions of an assembly: no labels, directives or comments.
fn instructions(assembly: &str) -> Vec<String> {
    assembly
        .lines()
        // What follows is a description of the kernel, not its code.
        .take_while(|l| l.trim() != ".amdgpu_metadata")
        .map(|l| l.split(';').next().unwrap_or_default())
        .map(|l| l.split("//").next().unwrap_or_default())
        .map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|l| l.starts_with(|c: char| c.is_ascii_lowercase() || c == '@'))
        .filter(|l| !l.ends_with(':'))
        .collect()
}

/// The barriers of an assembly with the fences and waits around them, and counts of what lies
/// between.
fn barrier_lines(assembly: &str) -> Vec<String> {
    /// How near to a barrier a wait must be to belong to it, in instructions.
    const NEAR: usize = 3;
    let all: Vec<(String, Kind)> = instructions(assembly)
        .into_iter()
        .map(|l| (kind(&l), l))
        .map(|(k, l)| (l, k))
        .collect();
    let barriers: Vec<usize> = all
        .iter()
        .enumerate()
        .filter(|(_, (_, k))| *k == Kind::Barrier)
        .map(|(i, _)| i)
        .collect();

    let mut lines = Vec::new();
    let (mut between, mut math) = (0, 0);
    for (i, (text, kind)) in all.iter().enumerate() {
        let near = barriers.iter().any(|b| b.abs_diff(i) <= NEAR);
        let shown = match kind {
            Kind::Barrier => true,
            Kind::Order => near,
            Kind::Math(_) | Kind::Other => false,
        };
        if shown {
            lines.extend(gap(between, math));
            lines.push(text.clone());
            (between, math) = (0, 0);
        } else {
            between += 1;
            if let Kind::Math(n) = kind {
                math += n;
            }
        }
    }
    lines.extend(gap(between, math));
    lines
}

fn gap(instructions: usize, math: usize) -> Option<String> {
    match (instructions, math) {
        (0, _) => None,
        (n, 0) => Some(format!("    ... {n}")),
        (n, m) => Some(format!("    ... {n}, with {m} multiply-adds")),
    }
}

fn side_by_side(columns: &[Vec<String>]) -> String {
    let height = columns.iter().map(Vec::len).max().unwrap_or(0);
    let mut out = String::new();
    for row in 0..height {
        let mut line = String::new();
        for column in columns {
            let text = shorten(column.get(row).map(String::as_str).unwrap_or_default());
            line.push_str(&format!("{text:WIDTH$}"));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A text that fits into a column, with a blank to spare.
fn shorten(text: &str) -> String {
    if text.chars().count() < WIDTH {
        return text.to_string();
    }
    let kept: String = text.chars().take(WIDTH - 4).collect();
    format!("{kept}...")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amdgpu() {
        let lines = barrier_lines(
            "main:\n ds_load_b32 v1, v0\n s_wait_dscnt 0x0 ; note\n s_barrier_signal -1\n v_dual_fmac_f32 v1, v2, v3 :: v_dual_fmac_f32 v4, v5, v6\n \
             v_add_u32 v1, v1, v1\n s_barrier_wait -1\n.Lend:\n s_endpgm\n .section x\n .amdgpu_metadata\nversion: 1\n",
        );
        assert_eq!(
            lines,
            [
                "    ... 1",
                "s_wait_dscnt 0x0",
                "s_barrier_signal -1",
                "    ... 2, with 2 multiply-adds",
                "s_barrier_wait -1",
                "    ... 1"
            ]
        );
    }

    #[test]
    fn a_wait_far_from_a_barrier_is_not_shown() {
        let far = " v_nop a\n".repeat(5);
        let lines = barrier_lines(&format!(" s_wait_loadcnt 0x0\n{far} s_barrier\n"));
        assert_eq!(lines, ["    ... 6", "s_barrier"]);
    }

    #[test]
    fn ptx() {
        let lines = barrier_lines(
            ".visible .entry main(\n)\n{\n\t.reg .b32 %r<3>;\n// %bb.0:\n\tmbarrier.arrive.shared.b64 %rd1, [bar];\n\tfma.rn.f32 %f1, %f2, %f3, %f4;\n$L__BB0_1:\n\t\
             mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], %r1;\n\t@%p1 bra $L__BB0_1;\n\tret;\n}\n",
        );
        assert_eq!(
            lines,
            [
                "mbarrier.arrive.shared.b64 %rd1, [bar]",
                "    ... 1, with 1 multiply-adds",
                "mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], %r1",
                "    ... 2"
            ]
        );
    }

    #[test]
    fn columns_line_up() {
        let out = side_by_side(&[vec!["a".into()], vec!["b".into(), "c".into()]]);
        assert_eq!(
            out,
            format!("a{}b\n{}c\n", " ".repeat(WIDTH - 1), " ".repeat(WIDTH))
        );
    }
}
