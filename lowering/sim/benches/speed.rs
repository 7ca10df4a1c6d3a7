//! How many instructions of lanes the machine runs in a second.
#![allow(clippy::unwrap_used, missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use splitbar_sim::amdgpu::{Descriptor, Isa, Kernel, Line, Start};
use splitbar_sim::memory::Global;
use splitbar_sim::{Clocks, Launch, Limits, Schedule, run};

/// Iterations of the loop.
const ROUNDS: &str = "s_movk_i32 s4, 0x100";

/// Four waves: arithmetic with a few LDS accesses and a barrier in every round, as in a tiled
/// product.
const PROGRAM: [&str; 22] = [
    ROUNDS,
    "v_and_b32_e32 v0, 0x3ff, v0",
    "v_lshlrev_b32_e32 v1, 2, v0",
    "v_xor_b32_e32 v2, 0x100, v1",
    "v_cvt_f32_u32_e32 v3, v0",
    "v_mov_b32_e32 v4, 0",
    "ds_write_b32 v1, v3",
    "s_waitcnt lgkmcnt(0)",
    "s_barrier",
    "ds_read_b32 v5, v2",
    "s_waitcnt lgkmcnt(0)",
    "v_fmac_f32_e32 v4, v5, v3",
    "v_fmac_f32_e32 v4, v5, v4",
    "v_mul_f32_e32 v6, 0.5, v4",
    "v_add_f32_e32 v4, v6, v5",
    "v_max_f32_e32 v3, v3, v4",
    "v_add_u32_e32 v7, v0, v7",
    "s_barrier",
    "s_sub_i32 s4, s4, 1",
    "s_cmp_lg_u32 s4, 0",
    "s_cbranch_scc1 65521",
    "s_endpgm",
];

fn kernel() -> Kernel {
    let lines = PROGRAM
        .iter()
        .zip(0..)
        .map(|(text, index)| Line {
            address: 4 * index,
            length: 4,
            text: (*text).to_owned(),
        })
        .collect();
    let isa = Isa::by_name("gfx90a").unwrap();
    let start = Start {
        entry: 0,
        arguments: 0,
        packet: 0,
        wave_size: 64,
        private_bytes: 0,
        descriptor: Descriptor::default(),
        preloaded: [0; 16],
    };
    Kernel::new(isa, lines, start)
}

fn speed(criterion: &mut Criterion) {
    let kernel = kernel();
    let launch = Launch {
        groups: [1, 1, 1],
        cluster: [1; 3],
        workgroup_size: [256, 1, 1],
        shared_bytes: 1024,
        clocks: Clocks::Machine,
        limits: Limits::default(),
    };
    let mut group = criterion.benchmark_group("amdgpu");
    for index in 0..3 {
        let schedule = Schedule::nth(index, 1);
        let go = || run(&kernel, &mut Global::default(), &launch, schedule);
        let report = go();
        assert!(report.findings.is_empty(), "{}", report.findings[0]);
        group.throughput(Throughput::Elements(report.lane_steps));
        group.bench_function(schedule.to_string(), |b| b.iter(go));
    }
    group.finish();
}

criterion_group!(benches, speed);
criterion_main!(benches);
