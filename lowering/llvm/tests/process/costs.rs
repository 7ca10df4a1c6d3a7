//! What takes time is asked of LLVM as seldom as can be. The counts are of the process, so this
//! test is the only one of its process.

use crate::support::lowered;
use pretty_assertions::assert_eq;
use splitbar_harness::alone;
use splitbar_llvm::{Work, work};
use splitbar_plan::Target;

/// Lowers a kernel and generates its code; what that took.
fn costs(bytes: &[u8], target: &'static Target) -> Work {
    let before = work();
    lowered(bytes, target);
    let after = work();
    Work {
        machines: after.machines - before.machines,
        reads: after.reads - before.reads,
        pipelines: after.pipelines - before.pipelines,
        generations: after.generations - before.generations,
        threads: after.threads - before.threads,
    }
}

#[test]
fn a_machine_is_made_once_and_code_no_oftener_than_it_must() {
    alone(
        "costs::a_machine_is_made_once_and_code_no_oftener_than_it_must",
        each_costs_what_it_must,
    );
}

fn each_costs_what_it_must() {
    let split: &[u8] =
        include_bytes!("../../../../fixtures/kernels/rotating_buffers/rotating_buffers.spv");
    let plain: &[u8] = include_bytes!("../../../../fixtures/kernels/plain_matmul/plain_matmul.spv");
    let straight: &[u8] =
        include_bytes!("../../../../fixtures/kernels/opencl_async_copy/opencl_async_copy.spv");
    let once = Work {
        machines: 1,
        reads: 1,
        pipelines: 1,
        generations: 1,
        threads: 2, // one to lower, one to generate code
    };
    // Code without windows is generated as it is lowered; loops of NVIDIA's code have a pipeline
    // of their own, code without loops has not, and NVIDIA's machines are used once, to lower and
    // to generate code.
    let cases = [
        (split, "gfx1201", once),
        (plain, "gfx1100", Work { threads: 1, ..once }),
        (
            plain,
            "sm_90",
            Work {
                pipelines: 2,
                machines: 2,
                ..once
            },
        ),
        (
            straight,
            "sm_90",
            Work {
                machines: 2,
                ..once
            },
        ),
    ];
    for (module, target, expected) in cases {
        let target = Target::by_name(target).unwrap();
        assert_eq!(costs(module, target), expected, "{}", target.name);
        let next = Work {
            machines: if target.amdgpu().is_some() { 0 } else { 2 },
            ..expected
        };
        assert_eq!(costs(module, target), next, "{} again", target.name);
    }
}
