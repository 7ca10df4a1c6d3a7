//! Guards whose faults show in modules that were made for them: right with the guard, and not
//! without.

use super::support::{bytes, run};
use crate::support::{assembled, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs};
use splitbar::{Optimization, Output};
use splitbar_plan::faults::Guard;

use Optimization::{O0, O2, O3};

/// Invocations of a module's one workgroup.
const SIZE: u32 = 32;

/// A guard and a module in which its fault shows.
struct Row {
    guard: Guard,
    name: &'static str,
    module: &'static str,
    /// Buffer 0:0.
    input: fn() -> Vec<u32>,
    /// The problem with the code or its results; `None` if there is none.
    problem: fn(&Output, &[u32], &[u32]) -> Option<String>,
    /// Words of buffer 0:1; 0 where the results are in buffer 0:0.
    results: usize,
    on: &'static [(&'static str, Optimization)],
}

const ROWS: &[Row] = &[
    Row {
        guard: Guard::RoundedProduct,
        name: "rounded_product",
        module: include_str!("rounded_product.spvasm"),
        input: || {
            let pair = |i| [(-0.0_f32).to_bits(), (1.0 + i as f32).to_bits()];
            (0..SIZE).flat_map(pair).collect()
        },
        // -0 below, 1 above.
        problem: |_, _, results| differs(results, |_| 0x3c00_8000),
        results: SIZE as usize,
        on: &[
            ("gfx906", O2),
            ("gfx942", O2),
            ("gfx1030", O2),
            ("gfx1201", O2),
        ],
    },
    Row {
        guard: Guard::LaneMoves,
        name: "lane_moves",
        module: include_str!("lane_moves.spvasm"),
        input: scrambled,
        problem: |_, input, results| {
            let a = |lane: usize| input.get(4 * lane).copied().unwrap_or_default();
            let moved: Vec<u32> = results.iter().copied().skip(2).step_by(4).collect();
            differs(&moved, |lane| a(lane ^ 4))
        },
        results: 0,
        on: &[("gfx1150", O3), ("gfx1201", O2), ("gfx1250", O2)],
    },
    Row {
        guard: Guard::PrivateArrays,
        name: "private_arrays",
        module: include_str!("private_array.spvasm"),
        input: scrambled,
        problem: |output, _, _| {
            let assembly = output.assembly().ok()?;
            let is_size = |line: &&str| line.contains(".amdhsa_group_segment_fixed_size");
            let size = assembly.lines().find(is_size)?.trim();
            (!size.ends_with(" 0")).then(|| size.to_owned())
        },
        results: SIZE as usize,
        on: &[("gfx942", O0), ("gfx950", O2), ("gfx1250", O2)],
    },
];

fn scrambled() -> Vec<u32> {
    let word = |i: u32| i.wrapping_mul(0x9e37_79b9).rotate_left(7);
    (0..8 * SIZE).map(word).collect()
}

fn differs(results: &[u32], right: impl Fn(usize) -> u32) -> Option<String> {
    let wrong = results
        .iter()
        .enumerate()
        .find(|(at, word)| **word != right(*at));
    wrong.map(|(at, word)| format!("word {at} is {word:#x} instead of {:#x}", right(at)))
}

pub(super) fn trials() -> Vec<Trial> {
    let of_row = |row: &'static Row| {
        let name = |what| format!("faults/{}/{what}", row.name);
        [
            trial(name("kept_away"), || kept_away(row)),
            trial(name("still_there"), || still_there(row)),
        ]
    };
    ROWS.iter().flat_map(of_row).collect()
}

fn kept_away(row: &Row) -> Result<()> {
    for (name, found_at) in row.on {
        for level in [O0, *found_at] {
            let problem = problem(row, (name, level), &[])?;
            ensure!(problem.is_none(), "{name} {level:?}: {problem:?}");
        }
    }
    Ok(())
}

fn still_there(row: &Row) -> Result<()> {
    for way in row.on {
        ensure!(
            problem(row, *way, &[row.guard])?.is_some(),
            "{}: right without {:?}: LLVM no longer has the fault there",
            way.0,
            row.guard
        );
    }
    Ok(())
}

/// The problem without the guards `left_out`; `None` if there is none.
fn problem(row: &Row, way: (&str, Optimization), left_out: &[Guard]) -> Result<Option<String>> {
    let module = assembled(row.module)?;
    let input = (row.input)();
    let mut buffers = vec![bytes(&input)];
    if row.results > 0 {
        buffers.push(vec![0; 4 * row.results]);
    }
    let places = (0..).map(|binding| BufferName::Binding(0, binding));
    let inputs = Inputs::new([1, 1, 1], places.zip(buffers).collect());
    let (output, outcome) = run(&module, way, left_out, &inputs, Schedule::nth(0, 1))?;
    if let Some(finding) = outcome.report.findings.first() {
        return Ok(Some(finding.to_string()));
    }
    let results = outcome.buffers.last().context("no results")?;
    let results = results.as_chunks::<4>().0.iter();
    let results: Vec<u32> = results.map(|word| u32::from_le_bytes(*word)).collect();
    Ok((row.problem)(&output, &input, &results))
}
