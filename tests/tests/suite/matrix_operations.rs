//! Conversions, transpositions, reductions and functions of all elements of cooperative matrices
//! give the right elements on the simulator, of subgroups and of workgroups of several, whose
//! subgroups exchange elements through workgroup memory.

use crate::support::{assembled, compile_bytes, linkable, target, told, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar_tests::matrix_operations::{Case, Operation};

const TARGETS: [&str; 7] = [
    "gfx906", "gfx942", "gfx1100", "gfx1201", "gfx1250", "sm_75", "sm_90",
];

/// Invocations of the workgroups that hold a matrix together.
const WORKGROUP: u32 = 128;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for gpu in TARGETS {
        for case in cases() {
            let name = format!("matrix_operations/{gpu}/{}", case.name());
            trials.push(trial(name, move || runs(gpu, case)));
        }
    }
    trials.push(trial(
        "matrix_operations/the_largest_exchange_is_limited".into(),
        largest,
    ));
    trials
}

fn cases() -> Vec<Case> {
    use Operation::{All, Columns, Convert, Each, Neighbours, Rows, Transpose};
    // Rows and columns, and whether they are powers of two.
    let sizes = [([16, 16], false), ([64, 32], true), ([12, 10], false)];
    let mut cases = Vec::new();
    for (from, workgroup) in sizes {
        let [rows, columns] = from;
        for (operation, to) in [
            (Convert, from),
            (Transpose, [columns, rows]),
            (Rows, [rows, 16]),
            (Columns, [32, columns]),
            (All, [16, 8]),
            (Neighbours, [rows / 2, columns / 2]),
            (Each, from),
        ] {
            // Neighbours in other subgroups are refused.
            let workgroup = workgroup && operation != Neighbours;
            cases.push(Case {
                operation,
                from,
                to,
                workgroup,
            });
        }
    }
    cases
}

fn runs(gpu: &str, case: Case) -> Result<()> {
    linkable(gpu)?;
    let invocations = match case.workgroup {
        true => WORKGROUP,
        false => target(gpu)?.default_wave_size(),
    };
    let output = compile_bytes(&assembled(&case.module(invocations))?, gpu, |_| {})?;
    told(output.assembly())?;
    let buffers = (0..).zip(case.inputs());
    let inputs = Inputs::new(
        [1, 1, 1],
        buffers
            .map(|(binding, bytes)| (BufferName::Binding(0, binding), bytes))
            .collect(),
    );
    for schedule in 0..2 {
        let outcome = Job::compiled(&output, 0)?.run(&inputs, Schedule::nth(schedule, 1))?;
        if let Some(finding) = outcome.report.findings.first() {
            anyhow::bail!("{finding}");
        }
        let found = outcome.buffers.get(1).context("no second buffer")?;
        let expected = case.expected();
        ensure!(found.len() == expected.len());
        for (at, (found, expected)) in found.chunks(4).zip(expected.chunks(4)).enumerate() {
            ensure!(
                found == expected,
                "element {at}: {found:02x?} instead of {expected:02x?}"
            );
        }
    }
    Ok(())
}

/// A matrix of 64 KiB is not exchanged.
fn largest() -> Result<()> {
    let case = Case {
        operation: Operation::Transpose,
        from: [128, 128],
        to: [128, 128],
        workgroup: true,
    };
    let module = assembled(&case.module(WORKGROUP))?;
    let problem = match compile_bytes(&module, "gfx1201", |_| {}) {
        Ok(_) => anyhow::bail!("it is compiled"),
        Err(problem) => problem.to_string(),
    };
    ensure!(
        problem.contains("SB0300") && problem.contains("65536 bytes"),
        "{problem}"
    );
    Ok(())
}
