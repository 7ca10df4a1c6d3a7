//! Conversions, transpositions, reductions and functions of all elements of cooperative matrices
//! give the right elements on the simulator, of subgroups and of workgroups of several, whose
//! subgroups exchange elements through workgroup memory.

use crate::support::{assembled, compile_bytes, linkable, target, told, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar_tests::matrix_operations::{Case, Operation, workgroup};

const TARGETS: [&str; 7] = [
    "gfx906", "gfx942", "gfx1100", "gfx1201", "gfx1250", "sm_75", "sm_90",
];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    let all = TARGETS
        .into_iter()
        .flat_map(|gpu| cases().into_iter().map(move |case| (gpu, case)));
    for (gpu, case) in all.chain(pieces()) {
        let name = format!("matrix_operations/{gpu}/{}", case.name());
        trials.push(trial(name, move || {
            let invocations = if case.workgroup {
                workgroup(case.from)
            } else {
                target(gpu)?.default_wave_size()
            };
            runs(gpu, case, invocations)
        }));
    }
    // 128 loads of each lane, more than VMcnt has numbers for: with the stores between them and
    // their uses LLVM leaves out waits for what is complete before the wave can issue these.
    let case = Case {
        operation: Operation::Transpose,
        from: [128, 128],
        to: [128, 128],
        workgroup: true,
    };
    let name = format!("matrix_operations/gfx942/{}/two_waves", case.name());
    trials.push(trial(name, move || runs("gfx942", case, 128)));
    trials
}

fn cases() -> Vec<Case> {
    use Operation::{All, Columns, Convert, Each, Neighbours, Numbers, Rows, Transpose};
    // Rows and columns, and whether a workgroup holds them: powers of two, and others.
    let sizes = [
        ([16, 16], false),
        ([64, 32], true),
        ([12, 10], false),
        ([96, 24], true),
    ];
    let mut cases = Vec::new();
    for (from, workgroup) in sizes {
        let [rows, columns] = from;
        for (operation, to) in [
            (Convert, from),
            (Numbers, from),
            (Transpose, [columns, rows]),
            (Rows, [rows, 16]),
            (Columns, [32, columns]),
            (All, [16, 8]),
            (Neighbours, [rows / 2, columns / 2]),
            (Each, from),
        ] {
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

/// Exchanges that do not fit in the memory are made in parts: matrices of 64 and 36 KiB, and 64 KiB
/// of sums of columns. (A matrix B of more than 32 KiB needs more registers of gfx12.5 than the
/// simulator supports.)
fn pieces() -> Vec<(&'static str, Case)> {
    use Operation::{Columns, Convert, Numbers, Transpose};
    let wide = ["gfx906", "gfx1100"];
    let all = |operation, from, to, gpus: &[&'static str]| -> Vec<(&'static str, Case)> {
        let case = Case {
            operation,
            from,
            to,
            workgroup: true,
        };
        gpus.iter().map(|gpu| (*gpu, case)).collect()
    };
    [
        all(
            Transpose,
            [128, 128],
            [128, 128],
            &["gfx906", "gfx1201", "sm_75"],
        ),
        all(Numbers, [128, 128], [128, 128], &wide),
        all(Convert, [96, 96], [96, 96], &wide),
        all(Columns, [256, 1024], [16, 1024], &["gfx1201"]),
    ]
    .concat()
}

fn runs(gpu: &str, case: Case, invocations: u32) -> Result<()> {
    linkable(gpu)?;
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
