//! Loads and stores of cooperative matrices through tensor layouts and views have the specified
//! results on the simulator: outside the tensor in each clamp mode, through views that reorder and
//! clip, with strides that are not packed, with blocks and functions that decode them.

use crate::support::{assembled, compile_bytes, linkable, target, told, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar_tests::tensor_layouts::{CLAMP_MODES, Element, Layout, Scope, Transfer, View};

/// A GPU of each vendor and generation that differs.
const TARGETS: [&str; 8] = [
    "gfx906", "gfx942", "gfx1100", "gfx1201", "gfx1250", "sm_75", "sm_80", "sm_90",
];

/// The two that differ most run all cases with numbers of the run time too.
const BOTH: [&str; 2] = ["gfx1201", "sm_90"];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for gpu in TARGETS {
        for transfer in cases() {
            let at_run_time = [false, true];
            let modes = if BOTH.contains(&gpu) {
                &at_run_time[..]
            } else {
                &at_run_time[usize::from(transfer.name.len() % 2 == 0)..][..1]
            };
            for at_run_time in modes {
                let transfer = Transfer {
                    at_run_time: *at_run_time,
                    ..transfer.clone()
                };
                let kind = if *at_run_time { "run_time" } else { "constant" };
                let name = format!("tensor_layouts/{gpu}/{}/{kind}", transfer.name);
                trials.push(trial(name, move || runs(gpu, &transfer)));
            }
        }
    }
    trials.push(trial(
        "tensor_layouts/volatile_decode_is_refused".into(),
        volatile_decode,
    ));
    trials
}

/// Loads of a decode function say themselves how they are made.
fn volatile_decode() -> Result<()> {
    let is_decode = |transfer: &Transfer| transfer.name == "decode";
    let transfer = cases().into_iter().find(is_decode).context("no case")?;
    let text = transfer
        .module(32)
        .replace("%used_layout None", "%used_layout Volatile");
    let problem = match compile_bytes(&assembled(&text)?, "gfx1201", |_| {}) {
        Ok(_) => anyhow::bail!("it is compiled"),
        Err(problem) => problem.to_string(),
    };
    ensure!(
        problem.contains("SB0300") && problem.contains("decode"),
        "{problem}"
    );
    Ok(())
}

/// A slice that begins before the tensor and ends after it.
const BEYOND: [(i32, u32); 2] = [(-3, 16), (4, 16)];

fn cases() -> Vec<Transfer> {
    let new = Transfer::new;
    let mut cases = Vec::new();
    let loads = ["load.constant", "load.edge", "load.repeat", "load.mirrored"];
    let stores = [
        "store.constant",
        "store.edge",
        "store.repeat",
        "store.mirrored",
    ];
    for (clamp, (load, store)) in (1..).zip(loads.into_iter().zip(stores)) {
        let layout = Layout {
            value: Some(0x8765_4321),
            ..Layout::new(clamp, &[7, 9], &BEYOND)
        };
        cases.push(new(load, layout.clone()));
        cases.push(Transfer {
            store: true,
            ..new(store, layout)
        });
    }
    // So far outside that repetition takes more than one round; a dimension of 1.
    for (clamp, name) in [(2, "far.edge"), (3, "far.repeat"), (4, "far.mirrored")] {
        let layout = Layout::new(clamp, &[1, 3, 5], &[(-2, 4), (-20, 8), (17, 8)]);
        cases.push(new(name, layout));
    }
    let whole = Layout::new(0, &[16, 16], &[(0, 16), (0, 16)]);
    cases.push(new("whole", whole.clone()));
    let gaps = Layout {
        strides: Some(vec![50, 2]),
        ..Layout::new(0, &[40, 20], &[(5, 16), (3, 16)])
    };
    cases.push(new("load.gaps", gaps.clone()));
    cases.push(Transfer {
        store: true,
        ..new("store.gaps", gaps.clone())
    });
    cases.push(new(
        "slices_add_up",
        Layout {
            slices: vec![vec![(2, 30), (-1, 18)], vec![(3, 16), (4, 16)]],
            ..gaps.clone()
        },
    ));
    cases.push(Transfer {
        view: Some(View::permuted(&[1, 0])),
        size: [16, 32],
        ..new(
            "load.transposed",
            Layout::new(1, &[30, 20], &[(2, 32), (7, 16)]),
        )
    });
    cases.push(Transfer {
        view: Some(View::permuted(&[1, 0])),
        store: true,
        size: [16, 32],
        ..new(
            "store.transposed",
            Layout::new(1, &[30, 20], &[(2, 32), (7, 16)]),
        )
    });
    let cube = Layout::new(0, &[6, 5, 40], &[(1, 4), (1, 2), (3, 32)]);
    cases.push(Transfer {
        view: Some(View::permuted(&[1, 2, 0])),
        ..new("permuted.3", cube)
    });
    let five = Layout::new(
        2,
        &[3, 4, 2, 5, 4],
        &[(0, 2), (1, 4), (-1, 2), (2, 4), (0, 4)],
    );
    cases.push(Transfer {
        view: Some(View::permuted(&[4, 2, 0, 1, 3])),
        ..new("permuted.5", five)
    });
    // Rows of a convolution overlap in the tensor.
    let overlapping = View {
        sizes: Some(vec![4, 4, 4, 4]),
        strides: Some(vec![32, 1, 8, 2]),
        ..View::permuted(&[0, 1, 2, 3])
    };
    let line = Layout::new(0, &[1024], &[(64, 256)]);
    cases.push(Transfer {
        view: Some(overlapping),
        ..new("overlapping", line.clone())
    });
    cases.push(Transfer {
        view: Some(View {
            sizes: Some(vec![8, 32]),
            ..View::permuted(&[1, 0])
        }),
        variables: true,
        ..new("view.own_sizes", line)
    });
    for (store, name) in [(false, "load.clipped"), (true, "store.clipped")] {
        cases.push(Transfer {
            view: Some(View {
                clip: Some([3, 9, 5, 7]),
                ..View::permuted(&[0, 1])
            }),
            store,
            variables: true,
            ..new(name, Layout::new(1, &[8, 40], &[(1, 9), (30, 7)]))
        });
    }
    cases.push(Transfer {
        view: Some(View {
            clip: Some([4, 100, 2, 100]),
            ..View::permuted(&[1, 0])
        }),
        element: Element::F16,
        ..new(
            "clipped.half",
            Layout::new(1, &[20, 12], &[(-2, 16), (1, 16)]),
        )
    });
    let blocks = |clamp, slice: &[(i32, u32)]| Layout {
        blocks: Some(vec![2, 8]),
        value: Some(7),
        ..Layout::new(clamp, &[20, 60], slice)
    };
    let decode = |name, layout| Transfer {
        decode: true,
        ..new(name, layout)
    };
    cases.push(decode("decode", blocks(0, &[(3, 16), (5, 16)])));
    cases.push(decode("decode.constant", blocks(1, &[(-5, 16), (50, 16)])));
    cases.push(decode("decode.edge", blocks(2, &[(10, 16), (50, 16)])));
    cases.push(Transfer {
        view: Some(View::permuted(&[1, 0])),
        role: 1,
        ..decode("decode.transposed", blocks(1, &[(9, 16), (-3, 16)]))
    });
    cases.push(Transfer {
        size: [32, 32],
        scope: Scope::Workgroup,
        ..decode("decode.workgroup", blocks(1, &[(0, 32), (30, 32)]))
    });
    for (role, name) in [(0, "half.a"), (1, "half.b"), (2, "half.sum")] {
        cases.push(Transfer {
            element: Element::F16,
            role,
            size: [32, 16],
            ..new(
                name,
                Layout {
                    value: Some(0x3800),
                    ..Layout::new(1, &[31, 20], &[(2, 32), (8, 16)])
                },
            )
        });
    }
    cases.push(Transfer {
        element: Element::U8,
        role: 0,
        size: [16, 32],
        ..new("bytes", Layout::new(3, &[10, 33], &[(2, 16), (8, 32)]))
    });
    // No powers of two: some lanes hold nothing.
    for (store, name) in [(false, "load.odd"), (true, "store.odd")] {
        cases.push(Transfer {
            size: [5, 12],
            store,
            ..new(name, Layout::new(1, &[6, 11], &[(-1, 5), (1, 12)]))
        });
    }
    // More elements than are moved without a loop.
    for (store, name) in [(false, "load.large"), (true, "store.large")] {
        cases.push(Transfer {
            element: Element::F16,
            size: [40, 100],
            store,
            view: Some(View {
                clip: Some([1, 38, 2, 99]),
                ..View::permuted(&[1, 0])
            }),
            ..new(name, Layout::new(1, &[90, 37], &[(1, 99), (-1, 38)]))
        });
    }
    for (store, name) in [(false, "load.workgroup"), (true, "store.workgroup")] {
        cases.push(Transfer {
            scope: Scope::Workgroup,
            size: [64, 16],
            store,
            view: Some(View::permuted(&[1, 0])),
            ..new(name, Layout::new(1, &[15, 70], &[(0, 16), (3, 64)]))
        });
    }
    cases
}

fn runs(gpu: &str, transfer: &Transfer) -> Result<()> {
    linkable(gpu)?;
    let wave = target(gpu)?.default_wave_size();
    let invocations = match transfer.scope {
        Scope::Subgroup => wave,
        Scope::Workgroup => 128,
    };
    let module = assembled(&transfer.module(invocations))?;
    let output = compile_bytes(&module, gpu, |_| {})?;
    told(output.assembly())?;
    let buffers = (0..).zip(transfer.inputs());
    let inputs = Inputs::new(
        [1, 1, 1],
        buffers
            .map(|(binding, bytes)| (BufferName::Binding(0, binding), bytes))
            .collect(),
    );
    let outcome = Job::compiled(&output, 0)?.run(&inputs, Schedule::nth(0, 1))?;
    if let Some(finding) = outcome.report.findings.first() {
        anyhow::bail!("{finding}");
    }
    let found = outcome.buffers.get(1).context("no second buffer")?;
    let expected = transfer.expected();
    let bytes = transfer.element.bytes();
    ensure!(found.len() == expected.len());
    for (at, (found, expected)) in found.chunks(bytes).zip(expected.chunks(bytes)).enumerate() {
        ensure!(
            found == expected,
            "{}, {} clamp: element {at}: {found:02x?} instead of {expected:02x?}",
            transfer.name,
            CLAMP_MODES[transfer.layout.clamp as usize],
        );
    }
    Ok(())
}
