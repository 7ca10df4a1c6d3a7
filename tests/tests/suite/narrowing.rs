//! Barriers that keep only accesses of one wave apart, in compilations: kernels of
//! `fixtures/timing/wave_*.comp`, whose barriers become barriers of the subgroup.

use crate::support::{compile_bytes, is_nvptx, linkable, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar::{Choice, NarrowBarriers, Options, Output, PipelineLoops, SplitBarriers};
use splitbar_passes::module::Scope;
use splitbar_tests::fixture;

/// Workgroups of a launch.
const GROUPS: u32 = 4;

const TARGETS: [&str; 6] = ["gfx942", "gfx1100", "gfx1201", "gfx1250", "sm_70", "sm_90"];

/// A kernel.
struct Kernel {
    name: &'static str,
    /// Words that a workgroup reads.
    words: u32,
    /// Its barriers that become barriers of subgroups of 32, and of 64.
    narrowed: [usize; 2],
    results: fn(&[u32]) -> Vec<u32>,
}

const KERNELS: [Kernel; 5] = [
    Kernel {
        name: "wave_reduction",
        words: 256,
        narrowed: [6, 7],
        results: reduction,
    },
    Kernel {
        name: "wave_scan",
        words: 256,
        narrowed: [16, 16],
        results: scan,
    },
    Kernel {
        name: "wave_rows",
        words: 256,
        narrowed: [3, 3],
        results: rows,
    },
    Kernel {
        name: "wave_exchange",
        words: 1024,
        narrowed: [4, 4],
        results: exchange,
    },
    Kernel {
        name: "wave_tiles",
        words: 1024,
        narrowed: [2, 2],
        results: tiles,
    },
];

pub(crate) fn trials() -> Vec<Trial> {
    let of = |kernel: &'static Kernel| {
        let trial_of = move |on: &'static str| {
            trial(format!("narrowing/{}/{on}", kernel.name), move || {
                all_versions(kernel, on)
            })
        };
        TARGETS.into_iter().map(trial_of)
    };
    KERNELS.iter().flat_map(of).collect()
}

/// The sums of rows of 256 values.
fn reduction(source: &[u32]) -> Vec<u32> {
    source.chunks(256).map(sum).collect()
}

fn sum(values: &[u32]) -> u32 {
    values.iter().fold(0, |sum, value| sum.wrapping_add(*value))
}

/// The sums of the values of a workgroup up to each one.
fn scan(source: &[u32]) -> Vec<u32> {
    let group =
        |values: &[u32]| -> Vec<u32> { (0..values.len()).map(|at| sum(&values[..=at])).collect() };
    source.chunks(256).flat_map(group).collect()
}

/// Rows of 32 values, smoothed 16 times.
fn rows(source: &[u32]) -> Vec<u32> {
    let row = |values: &[u32]| {
        (0..16).fold(values.to_vec(), |row: Vec<u32>, step| {
            let new = |at: usize| {
                let [left, right] = [row[(at + 31) % 32], row[(at + 1) % 32]];
                left.wrapping_add(row[at].wrapping_mul(2))
                    .wrapping_add(right)
                    .wrapping_add(step)
            };
            (0..32).map(new).collect()
        })
    };
    source.chunks(32).flat_map(row).collect()
}

/// Eight iterations of exchanges among 128 values.
fn exchange(source: &[u32]) -> Vec<u32> {
    let group = |loaded: &[u32]| {
        let first: Vec<u32> = (0..128).collect();
        loaded.chunks(128).fold(first, |values: Vec<u32>, loaded| {
            let sent = |at: usize| values[at] ^ loaded[at];
            let second = |at: usize| sent(at ^ 16).wrapping_mul(3).wrapping_add(loaded[at]);
            let new = |at: usize| values[at].wrapping_add(second(at ^ 5));
            (0..128).map(new).collect()
        })
    };
    source.chunks(1024).flat_map(group).collect()
}

/// Rows of 32 invocations, each with eight tiles of 32 values.
fn tiles(source: &[u32]) -> Vec<u32> {
    let row = |tiles: &[u32]| {
        let of_lane = |lane: u32| {
            (0..)
                .zip(tiles)
                .fold(0_u32, |sum, (at, value): (u32, &u32)| {
                    let factor = at % 32 + lane;
                    sum.wrapping_mul(3).wrapping_add(value.wrapping_mul(factor))
                })
        };
        (0..32).map(of_lane).collect::<Vec<u32>>()
    };
    source.chunks(256).flat_map(row).collect()
}

/// Compiles a kernel by options of all kinds. It has the same results with each, and its barriers
/// of one wave are barriers of the subgroup, neither split nor full.
fn all_versions(kernel: &Kernel, on: &str) -> Result<()> {
    linkable(on)?;
    let path = fixture::root().join(format!("fixtures/timing/{}.spv", kernel.name));
    let module = std::fs::read(path)?;
    let compiled = |set: &dyn Fn(&mut Options)| compile_bytes(&module, on, |options| set(options));
    let narrowed = kernel.narrowed[usize::from(on == "gfx942")];

    let default = compiled(&|_| ())?;
    is_right(kernel, &default)?;
    ensure!(of_subgroup(&default)? == narrowed, "{}", default.plan());
    let outcomes = &default.entries().first().context("no entry point")?.unsplit;
    ensure!(outcomes.len() == narrowed, "{outcomes:?}");
    for outcome in outcomes {
        ensure!(outcome.narrowed && !outcome.removed, "{outcome:?}");
        ensure!(outcome.reason.contains("one wave"), "{outcome:?}");
    }

    let never = compiled(&|options| options.narrow_barriers = NarrowBarriers::Never)?;
    let all_memory = compiled(&|options| options.barriers_order_all_memory = true)?;
    for output in [&never, &all_memory] {
        is_right(kernel, output)?;
        ensure!(of_subgroup(output)? == 0, "{}", output.plan());
    }
    let cycles = [&default, &never].map(|output| -> Result<u64> {
        Ok(Job::compiled(output, 0)?
            .estimate(&inputs(kernel), Some(4))?
            .cycles)
    });
    let [default, never] = cycles;
    let (default, never) = (default?, never?);
    // Waves that leave each other's step may get in each other's way.
    ensure!(
        100 * default < 102 * never,
        "{default} cycles, {never} with barriers of the workgroup"
    );
    ensure!(
        kernel.name == "wave_tiles" || 100 * default < 97 * never,
        "{default} cycles, {never} with barriers of the workgroup"
    );

    let copies = compiled(&|options| options.promote_async_copies = true)?;
    is_right(kernel, &copies)?;
    let wanted = if is_nvptx(on) { narrowed } else { 0 };
    ensure!(of_subgroup(&copies)? == wanted, "{}", copies.plan());

    for split in [SplitBarriers::Auto, SplitBarriers::Always] {
        for choice in [Choice::Balanced, Choice::Fast] {
            let output = compiled(&|options| {
                (options.split_barriers, options.choice) = (split, choice);
            })?;
            is_right(kernel, &output)?;
            stays_narrowed(&output, narrowed)?;
        }
    }
    pipelined(kernel, &module, on)
}

/// Checks that `count` barriers of the subgroup are there, no pair of the subgroup, and an outcome
/// for each.
fn stays_narrowed(output: &Output, count: usize) -> Result<()> {
    ensure!(of_subgroup(output)? == count, "{}", output.plan());
    let entry = output.entries().first().context("no entry point")?;
    let mut pairs = entry.plan.pairs.iter();
    ensure!(
        pairs.all(|pair| pair.scope == Scope::Workgroup),
        "{}",
        output.plan()
    );
    let narrowed = entry.unsplit.iter().filter(|barrier| barrier.narrowed);
    ensure!(narrowed.count() == count, "{:?}", entry.unsplit);
    Ok(())
}

/// Loops are pipelined as they are without narrowing: the pairs of a pipelined loop are the same.
fn pipelined(kernel: &Kernel, module: &[u8], on: &str) -> Result<()> {
    for form in [PipelineLoops::OneBuffer, PipelineLoops::TwoBuffers] {
        let pairs = |narrow| -> Result<usize> {
            let output = compile_bytes(module, on, |options| {
                (options.pipeline_loops, options.narrow_barriers) = (form, narrow);
            })?;
            is_right(kernel, &output)?;
            let entry = output.entries().first().context("no entry point")?;
            Ok(entry.plan.pairs.len())
        };
        let [never, declared] = [NarrowBarriers::Never, NarrowBarriers::Declared].map(pairs);
        let (never, declared) = (never?, declared?);
        ensure!(
            never == declared,
            "{form:?}: {never} pairs, {declared} narrowed"
        );
        let is_wanted = kernel.name == "wave_tiles" && form == PipelineLoops::TwoBuffers;
        ensure!(!is_wanted || never > 0, "{form:?}: not pipelined");
    }
    Ok(())
}

/// The barriers of the subgroup in the plan.
fn of_subgroup(output: &Output) -> Result<usize> {
    let entry = output.entries().first().context("no entry point")?;
    let text = entry.plan.text(&|_| None);
    Ok(text.matches("barrier Subgroup,").count())
}

fn source() -> Vec<u32> {
    let values = 0..GROUPS * 1024;
    values.map(|at| at.wrapping_mul(0x9e37_79b9)).collect()
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The words of the input that the launch reads, and the results of all of it.
fn expected(kernel: &Kernel) -> Vec<u8> {
    let source = source();
    bytes(&(kernel.results)(
        &source[..(GROUPS * kernel.words) as usize],
    ))
}

fn inputs(kernel: &Kernel) -> Inputs {
    let results = vec![0; expected(kernel).len()];
    let buffers = vec![
        (BufferName::Binding(0, 0), bytes(&source())),
        (BufferName::Binding(0, 1), results),
    ];
    Inputs::new([GROUPS, 1, 1], buffers)
}

/// Runs a kernel by several schedules.
fn is_right(kernel: &Kernel, output: &Output) -> Result<()> {
    let job = Job::compiled(output, 0)?;
    let (inputs, wanted) = (inputs(kernel), expected(kernel));
    for index in 0..4 {
        let outcome = job.run(&inputs, Schedule::nth(index, 3))?;
        let found = &outcome.report.findings;
        ensure!(found.is_empty(), "{}: {found:?}", output.plan());
        ensure!(
            outcome.buffers.get(1) == Some(&wanted),
            "wrong results: {}",
            output.plan()
        );
    }
    Ok(())
}
