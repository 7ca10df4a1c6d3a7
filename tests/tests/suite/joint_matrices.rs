//! The operations that SPV_INTEL_joint_matrix adds to cooperative matrices have the right results
//! on the simulator, also across the bounds of memory: no element outside is accessed.

use crate::support::{assembled, compile_bytes, linkable, target, told, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::Output;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar_tests::joint_matrices::{Case, Interpretation, Operation, Order, Read};

const TARGETS: [&str; 6] = ["gfx906", "gfx942", "gfx1201", "gfx1250", "sm_80", "sm_90"];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for gpu in TARGETS {
        for case in cases() {
            let name = format!("joint_matrices/{gpu}/{}", case.name());
            trials.push(trial(name, move || {
                let invocations = if case.workgroup {
                    128
                } else {
                    target(gpu)?.default_wave_size()
                };
                let output = compiled(gpu, &case.module(invocations))?;
                runs(&output, &case.inputs(), 1, &case.expected())
            }));
        }
        for interpretation in [
            Interpretation::Factors,
            Interpretation::All,
            Interpretation::Tf32,
        ] {
            for shape in [[16, 16, 16], [4, 8, 4]] {
                let read = Read::new(interpretation, shape);
                let name = format!("joint_matrices/{gpu}/{}", read.name());
                trials.push(trial(name, move || product(gpu, read)));
            }
        }
    }
    trials
}

fn cases() -> Vec<Case> {
    use Operation::{Construct, Coordinates, Load, LoadPacked, Store};
    use Order::{Columns, Packed, Rows};
    let (factor, sum) = (1, 2);
    let case = |operation, bits, shape, role| Case {
        operation,
        bits,
        shape,
        role,
        workgroup: false,
        region: [24, 24, 27],
        offsets: [0, 0],
    };
    let mut cases = Vec::new();
    // Inside, over the far edges, over the near ones, beyond all, and of a region that is smaller.
    let places = [
        ([24, 24, 27], [3, 5]),
        ([24, 24, 27], [16, 20]),
        ([24, 24, 27], [-5, -9]),
        ([24, 24, 27], [24, 0]),
        ([24, 24, 27], [-16, 0]),
        ([5, 7, 7], [-2, -1]),
        ([1, 1, 1], [0, 0]),
    ];
    for (region, offsets) in places {
        for (bits, role, order) in [
            (32, sum, Rows),
            (32, sum, Columns),
            (16, factor, Rows),
            (16, 0, Columns),
        ] {
            for operation in [Load(order), Store(order)] {
                let case = case(operation, bits, [16, 16], role);
                cases.push(Case {
                    region,
                    offsets,
                    ..case
                });
            }
        }
        let construct = case(Construct, 32, [16, 16], sum);
        cases.push(Case {
            region,
            offsets,
            ..construct
        });
    }
    // Lines of packed regions have the elements of two or four rows.
    for (region, offsets) in [([10, 40, 44], [3, 12]), ([10, 40, 44], [-2, -8])] {
        for (bits, shape) in [(16, [16, 16]), (8, [32, 16])] {
            for operation in [Load(Packed), Store(Packed)] {
                let case = case(operation, bits, shape, factor);
                cases.push(Case {
                    region,
                    offsets,
                    ..case
                });
            }
        }
    }
    for (bits, shape) in [(8, [32, 16]), (16, [16, 16]), (16, [6, 10]), (32, [8, 8])] {
        cases.push(case(LoadPacked, bits, shape, factor));
        cases.push(case(Coordinates, bits, shape, factor));
    }
    cases.push(case(Coordinates, 32, [16, 16], sum));
    cases.push(case(Coordinates, 16, [12, 10], 0));
    // Blocks of rows, one for each subgroup.
    for operation in [Load(Rows), Store(Columns), Construct] {
        let case = case(operation, 32, [64, 16], sum);
        cases.push(Case {
            workgroup: true,
            region: [70, 70, 70],
            offsets: [30, -4],
            ..case
        });
    }
    cases
}

fn compiled(gpu: &str, text: &str) -> Result<Output> {
    linkable(gpu)?;
    let output = compile_bytes(&assembled(text)?, gpu, |_| {})?;
    told(output.assembly())?;
    Ok(output)
}

/// Buffer `last` must be as `expected` after a launch.
fn runs(output: &Output, inputs: &[Vec<u8>], last: usize, expected: &[u8]) -> Result<()> {
    let buffers = (0..).zip(inputs);
    let inputs = Inputs::new(
        [1, 1, 1],
        buffers
            .map(|(binding, bytes)| (BufferName::Binding(0, binding), bytes.clone()))
            .collect(),
    );
    for schedule in 0..2 {
        let outcome = Job::compiled(output, 0)?.run(&inputs, Schedule::nth(schedule, 1))?;
        if let Some(finding) = outcome.report.findings.first() {
            anyhow::bail!("{finding}");
        }
        let found = outcome.buffers.get(last).context("a buffer is missing")?;
        ensure!(found.len() == expected.len());
        let differ = found.iter().zip(expected).position(|(a, b)| a != b);
        ensure!(
            differ.is_none(),
            "byte {differ:?}: {found:02x?} instead of {expected:02x?}"
        );
    }
    Ok(())
}

/// Integers that are bfloat16 lie as the instructions of the target want them.
fn product(gpu: &str, read: Read) -> Result<()> {
    let wave = target(gpu)?.default_wave_size();
    let output = compiled(gpu, &read.module(wave))?;
    let is_native = read.name().ends_with("16x16x16") && gpu != "gfx906";
    if is_native && read.interpretation != Interpretation::Tf32 {
        let assembly = told(output.assembly())?;
        let has =
            |line: &str| line.contains("bf16") && (line.contains("mma") || line.contains("mfma"));
        ensure!(
            assembly.lines().any(has),
            "no instruction multiplies bfloat16"
        );
    }
    runs(&output, &read.inputs(), 3, &read.expected())
}
