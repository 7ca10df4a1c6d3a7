//! AMDGPU instructions one family at a time, and each kind of finding, in programs of a few lines
//! of disassembly.
#![allow(clippy::unwrap_used)]

mod arithmetic;
mod clock;
mod copies;
mod findings;
mod matrix;
mod memory;
mod uses;

use splitbar_sim::amdgpu::{Descriptor, Isa, Kernel, Line, Start};
use splitbar_sim::memory::Global;
use splitbar_sim::{Clocks, FindingKind, Launch, Limits, Report, Schedule, run};

/// A branch that depends on v1, in all lanes of a wave of 32: what a load gives there is used.
const USE_V1: [&str; 2] = ["v_cmp_eq_u32_e32 vcc_lo, 0, v1", "s_cbranch_vccz 0"];
/// The same in a wave of 64.
const USE_V1_WIDE: [&str; 2] = ["v_cmp_eq_u32_e32 vcc, 0, v1", "s_cbranch_vccz 0"];

/// Where the first instruction lies.
const ENTRY: u64 = 0x1000;

/// Every line takes four bytes: a branch's distance is a number of lines.
fn lines(texts: &[&str]) -> Vec<Line> {
    texts
        .iter()
        .zip(0..)
        .map(|(text, index)| Line {
            address: ENTRY + 4 * index,
            length: 4,
            text: (*text).to_owned(),
        })
        .collect()
}

/// Runs a program in workgroups of `size`. `s[0:1]` points to the address of a buffer of 1024
/// bytes; v0 is the invocation. Gives the buffer.
fn launch(gpu: &str, size: u32, texts: &[&str], schedule: u32) -> (Report, Vec<u32>) {
    let isa = Isa::by_name(gpu).unwrap();
    let mut global = Global::default();
    let out = global.add("out", vec![0; 1024], true);
    let arguments = global.base(out).to_le_bytes().to_vec();
    let arguments = global.add("arguments", arguments, false);
    let start = Start {
        entry: ENTRY,
        arguments: global.base(arguments),
        packet: 0,
        wave_size: isa.wave_size,
        private_bytes: 64,
        descriptor: Descriptor {
            // The arguments' address comes in registers, which are two.
            properties: 1 << 3,
            rsrc2: 2 << 1,
            // WGP mode, where there is one.
            rsrc1: 1 << 29,
            ..Descriptor::default()
        },
        preloaded: [0; 16],
    };
    let launch = Launch {
        groups: [1, 1, 1],
        cluster: [1; 3],
        workgroup_size: [size, 1, 1],
        shared_bytes: 1024,
        clocks: Clocks::Machine,
        limits: Limits {
            steps: 100_000,
            ..Limits::default()
        },
    };
    let kernel = Kernel::new(isa, lines(texts), start);
    let report = run(&kernel, &mut global, &launch, Schedule::nth(schedule, 1));
    let words = global.region(out).unwrap().bytes().chunks_exact(4);
    (
        report,
        words
            .map(|w| u32::from_le_bytes(w.try_into().unwrap()))
            .collect(),
    )
}

/// What v1 holds in each lane of one wave behind `body`; s[2:3] is the buffer's address and v2 four
/// times the lane.
fn eval(gpu: &str, body: &[&str]) -> Vec<u32> {
    let isa = Isa::by_name(gpu).unwrap();
    let new = gpu >= "gfx11" && !gpu.starts_with("gfx9");
    let mut texts = vec![if new {
        "s_load_b64 s[2:3], s[0:1], 0x0"
    } else {
        "s_load_dwordx2 s[2:3], s[0:1], 0x0"
    }];
    texts.push(if isa.kmcnt {
        "s_wait_kmcnt 0x0"
    } else {
        "s_waitcnt lgkmcnt(0)"
    });
    texts.push("v_and_b32_e32 v0, 0x3ff, v0");
    texts.push("v_lshlrev_b32_e32 v2, 2, v0");
    texts.extend(body);
    texts.push(if new {
        "global_store_b32 v2, v1, s[2:3]"
    } else {
        "global_store_dword v2, v1, s[2:3]"
    });
    texts.push("s_endpgm");
    let (report, mut words) = launch(gpu, isa.wave_size, &texts, 0);
    assert!(report.findings.is_empty(), "{}", report.findings[0]);
    words.truncate(isa.wave_size as usize);
    words
}

fn first(gpu: &str, body: &[&str]) -> u32 {
    eval(gpu, body)[0]
}

fn float(gpu: &str, body: &[&str]) -> f32 {
    f32::from_bits(first(gpu, body))
}

fn kinds(gpu: &str, size: u32, texts: &[&str]) -> Vec<FindingKind> {
    let mut kinds: Vec<FindingKind> = (0..8)
        .flat_map(|s| launch(gpu, size, texts, s).0.findings)
        .map(|f| f.kind)
        .collect();
    kinds.sort();
    kinds.dedup();
    kinds
}
