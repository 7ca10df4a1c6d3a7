//! Main loops of matrix multiplications as other compilers write them around split barriers:
//! Triton's back end for Intel GPUs, and CUTLASS for SYCL (fixtures/llvm_ir names the originals).
//! Their barriers order no memory; they keep the waves of a workgroup in step.

use super::kernels::{agrees, module};
use crate::support::{always_split, is_nvptx, linkable, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::Optimization;
use splitbar_tests::fixture::root;
use splitbar_tests::reference::{Buffer, BufferName, Case, Element};

/// One target for each way to wait; true if the arrive and the wait of a pair are two instructions.
const TARGETS: [(&str, bool); 7] = [
    ("gfx942", false),
    ("gfx1100", false),
    ("gfx1201", true),
    ("gfx1250", true),
    ("sm_75", true),
    ("sm_80", true),
    ("sm_90", true),
];

/// A loop: its name, its size in rows, columns and depth, workgroups and invocations, and the
/// instructions that its window has at least.
type Loop = (&'static str, [u32; 3], [u32; 3], [u32; 3], u32);

const LOOPS: [Loop; 2] = [
    ("triton_loop", [3, 128, 16], [3, 1, 1], [128, 1, 1], 8),
    ("cutlass_loop", [64, 128, 24], [2, 1, 1], [16, 16, 1], 64),
];

pub(super) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for one in LOOPS {
        for (target, splits) in TARGETS {
            for (level, optimization) in [("O0", Optimization::O0), ("O2", Optimization::O2)] {
                let name = format!("ir/loops/{}/{target}/{level}", one.0);
                trials.push(trial(name, move || {
                    stays_open(one, target, splits, optimization)
                }));
            }
        }
    }
    trials
}

fn stays_open(
    (name, size, groups, workgroup_size, least): Loop,
    gpu: &str,
    splits: bool,
    optimization: Optimization,
) -> Result<()> {
    linkable(gpu)?;
    let bytes = match name {
        "triton_loop" => {
            let vendor = if is_nvptx(gpu) { "nvptx64" } else { "amdgcn" };
            std::fs::read(root().join(format!("fixtures/llvm_ir/{name}.{vendor}.ll")))?
        }
        _ => module(name, gpu)?,
    };
    let mut options = always_split(gpu)?;
    options.optimization = optimization;
    options.measure = true;
    options.audit = true;
    let output = splitbar::Compiler::new(&options).compile(splitbar::Input::LlvmIr(&bytes))?;
    let entry = output.entries().first().context("no kernel")?;
    ensure!(!entry.plan.pairs.is_empty(), "no pair was found");
    let is_split = entry.plan.pairs.iter().all(|pair| pair.strategy.is_split());
    ensure!(
        is_split == splits,
        "the pairs are split: {is_split}, because {}",
        entry.plan.pairs[0].reason
    );
    if splits && optimization != Optimization::O0 {
        let windows = entry.windows.as_deref().unwrap_or_default();
        let window = windows.first().context("nothing was measured")?;
        ensure!(
            window.source >= least && window.kept * 10 >= window.source * 9,
            "{} of {} are left in the window",
            window.kept,
            window.source
        );
    }
    agrees(&product(name, size, groups, workgroup_size), &output, gpu)
}

/// The launch with its results: small integers, so that sums are exact.
fn product(name: &str, [m, n, k]: [u32; 3], groups: [u32; 3], workgroup_size: [u32; 3]) -> Case {
    let values = |count: u32, step: u32| -> Vec<f32> {
        let of = |i| (i * step % 13) as f32 - 6.0;
        (0..count).map(of).collect()
    };
    let (a, b) = (values(m * k, 5), values(k * n, 7));
    let element = |at: u32| -> f32 {
        let (i, j) = (at / n, at % n);
        let term = |x: u32| a[(i * k + x) as usize] * b[(x * n + j) as usize];
        (0..k).map(term).sum()
    };
    let c: Vec<f32> = (0..m * n).map(element).collect();
    let buffer = |index, name: &str, before: Vec<u32>, after: Option<Vec<u32>>| Buffer {
        place: BufferName::Argument(index),
        name: name.to_owned(),
        element: Element::F32 { tolerance: 0.0 },
        before,
        after,
    };
    let bits = |values: &[f32]| -> Vec<u32> { values.iter().map(|x| x.to_bits()).collect() };
    Case {
        groups,
        workgroup_size,
        push_constants: match name {
            "triton_loop" => vec![k],
            _ => vec![m, n, k],
        },
        buffers: vec![
            buffer(0, "a", bits(&a), None),
            buffer(1, "b", bits(&b), None),
            buffer(2, "c", vec![0xdead_beef; c.len()], Some(bits(&c))),
        ],
    }
}
