//! AMDGPU instructions one family at a time, and each kind of finding, in programs of a few lines of disassembly.
#![allow(clippy::unwrap_used)]

use pretty_assertions::assert_eq;
use splitbar_sim::amdgpu::{Descriptor, Isa, Kernel, Line, Start};
use splitbar_sim::memory::Global;
use splitbar_sim::{FindingKind, Launch, Limits, Report, Schedule, run};

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

/// Runs a program in workgroups of `size`. `s[0:1]` points to the address of a buffer of 1024 bytes; v0 is the invocation. Gives the buffer.
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
            ..Descriptor::default()
        },
        preloaded: [0; 16],
    };
    let launch = Launch {
        groups: [1, 1, 1],
        workgroup_size: [size, 1, 1],
        shared_bytes: 1024,
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

/// What v1 holds in each lane of one wave behind `body`; s[2:3] is the buffer's address and v2 four times the lane.
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

#[test]
fn integers() {
    let mov = "v_mov_b32_e32 v3, 0x80000001";
    for (text, want) in [
        ("v_add_nc_u32_e32 v1, -2, v3", 0x7fff_ffff),
        ("v_mul_lo_u32 v1, v3, 3", 0x8000_0003),
        ("v_mul_hi_u32 v1, v3, 4", 2),
        ("v_ashrrev_i32_e32 v1, 4, v3", 0xf800_0000),
        ("v_bfe_i32 v1, v3, 28, 4", 0xffff_fff8),
        ("v_bfe_u32 v1, v3, 28, 4", 8),
        ("v_alignbit_b32 v1, 1, v3, 31", 3),
        ("v_perm_b32 v1, v3, 0x44332211, 0x0c070100", 0x0080_2211),
        ("v_bfrev_b32_e32 v1, v3", 0x8000_0001),
        ("v_min_i32_e32 v1, 0, v3", 0x8000_0001),
        ("v_lshl_or_b32 v1, v3, 4, 1", 0x11),
        ("v_bcnt_u32_b32 v1, v3, 5", 7),
        ("v_xor3_b32 v1, v3, 1, -1", 0x7fff_ffff),
        ("v_mad_u32_u24 v1, v3, 5, 1", 6),
        ("v_bitop3_b32 v1, v3, 5, 4 bitop3:0x96", 0x8000_0000),
    ] {
        assert_eq!(first("gfx1100", &[mov, text]), want, "{text}");
    }
}

#[test]
fn carries_and_masks() {
    let add = [
        "v_mov_b32_e32 v3, -1",
        "v_add_co_u32 v4, vcc_lo, v3, v0",
        "v_add_co_ci_u32_e64 v1, null, 5, 0, vcc_lo",
    ];
    let want: Vec<u32> = (0..32).map(|lane| 5 + u32::from(lane > 0)).collect();
    assert_eq!(eval("gfx1100", &add), want);
    let choose = [
        "v_cmp_lt_u32_e64 s4, 15, v0",
        "v_cndmask_b32_e64 v1, 7, v0, s4",
    ];
    let want: Vec<u32> = (0..32)
        .map(|lane| if lane > 15 { lane } else { 7 })
        .collect();
    assert_eq!(eval("gfx1201", &choose), want);
    let both = [
        "v_mov_b32_e32 v1, 1",
        "v_cmp_gt_u32_e32 vcc, 40, v0",
        "s_and_saveexec_b64 s[4:5], vcc",
        "v_mov_b32_e32 v1, 2",
        "s_or_b64 exec, exec, s[4:5]",
    ];
    let want: Vec<u32> = (0..64).map(|lane| if lane < 40 { 2 } else { 1 }).collect();
    assert_eq!(eval("gfx906", &both), want);
}

#[test]
fn floats() {
    let three = "v_mov_b32_e32 v3, 0x40400000";
    for (text, want) in [
        ("v_add_f32_e64 v1, -v3, |v3|", 0.0),
        ("v_fma_f32 v1, v3, 2.0, -1.0", 5.0),
        ("v_mul_f32_e64 v1, v3, 2.0 mul:2", 12.0),
        ("v_mul_f32_e64 v1, v3, 2.0 clamp", 1.0),
        ("v_rcp_f32_e32 v1, v3", 1.0 / 3.0),
        ("v_exp_f32_e32 v1, v3", 8.0),
        ("v_log_f32_e32 v1, v3", 3f32.log2()),
        ("v_fract_f32_e32 v1, 0.15915494", 0.15915494),
        ("v_ldexp_f32 v1, v3, -2", 0.75),
        ("v_rndne_f32_e32 v1, v3", 3.0),
        ("v_fmamk_f32 v1, v3, 0x40000000, v3", 9.0),
        ("v_med3_f32 v1, v3, 1.0, 2.0", 2.0),
    ] {
        assert_eq!(float("gfx1100", &[three, text]), want, "{text}");
    }
    let half = ["v_mov_b32_e32 v3, 0x40003c00", "v_cvt_f32_f16_e32 v1, v3.h"];
    assert_eq!(float("gfx1100", &half), 2.0);
    let double = [
        "v_mov_b32_e32 v4, 0",
        "v_mov_b32_e32 v5, 0x40080000",
        "v_fma_f64 v[4:5], v[4:5], 2.0, -1.0",
        "v_cvt_f32_f64_e32 v1, v[4:5]",
    ];
    assert_eq!(float("gfx90a", &double), 5.0);
}

#[test]
fn division_goes_through_its_steps() {
    // What LLVM emits for a division of floats.
    let divide = |a: f32, b: f32| {
        let (a, b) = (
            format!("v_mov_b32_e32 v3, {:#x}", a.to_bits()),
            format!("v_mov_b32_e32 v4, {:#x}", b.to_bits()),
        );
        float(
            "gfx906",
            &[
                &a,
                &b,
                "v_div_scale_f32 v5, s[4:5], v4, v4, v3",
                "v_div_scale_f32 v6, vcc, v3, v4, v3",
                "v_rcp_f32_e32 v7, v5",
                "v_fma_f32 v8, -v5, v7, 1.0",
                "v_fma_f32 v7, v8, v7, v7",
                "v_mul_f32_e32 v8, v6, v7",
                "v_fma_f32 v9, -v5, v8, v6",
                "v_fma_f32 v8, v9, v7, v8",
                "v_fma_f32 v5, -v5, v8, v6",
                "v_div_fmas_f32 v5, v5, v7, v8",
                "v_div_fixup_f32 v1, v5, v4, v3",
            ],
        )
    };
    for (a, b) in [
        (1.0, 3.0),
        (-7.5, 2.5),
        (1e30, 1e-5),
        (1e-30, 3e30),
        (3e-39, 7.0),
        (0.0, -4.0),
        (5.0, 0.0),
        (1e38, 1e-38),
        (f32::MAX, 0.5),
    ] {
        assert_eq!(divide(a, b).to_bits(), (a / b).to_bits(), "{a:e} / {b:e}");
    }
}

#[test]
fn packed_and_mixed() {
    let setup = "v_mov_b32_e32 v3, 0x40003c00"; // 1, 2
    for (text, want) in [
        ("v_pk_add_f16 v1, v3, v3", 0x4400_4000),
        ("v_pk_fma_f16 v1, v3, v3, v3", 0x4600_4000),
        ("v_pk_mul_f16 v1, v3, 2.0 op_sel_hi:[1,0]", 0x4400_4000),
        (
            "v_pk_add_f16 v1, v3, v3 op_sel:[1,0] op_sel_hi:[0,1]",
            0x4200_4200,
        ),
        ("v_pk_add_f16 v1, v3, v3 neg_lo:[1,0] neg_hi:[0,1]", 0),
        ("v_pk_lshlrev_b16 v1, 1, v3 op_sel_hi:[0,1]", 0x8000_7800),
        (
            "v_fma_mix_f32 v1, v3, v3, 1.0 op_sel:[1,1,0] op_sel_hi:[1,1,0]",
            5f32.to_bits(),
        ),
        ("v_dot2_f32_f16 v1, v3, v3, 1.0", 6f32.to_bits()),
    ] {
        assert_eq!(first("gfx90a", &[setup, text]), want, "{text}");
    }
    let pairs = [
        "v_mov_b32_e32 v4, 1.0",
        "v_mov_b32_e32 v5, 2.0",
        "v_pk_fma_f32 v[6:7], v[4:5], v[4:5], v[4:5] op_sel_hi:[0,1,1]",
        "v_pk_mov_b32 v[6:7], v[6:7], v[6:7] op_sel:[1,0]",
        "v_mov_b32_e32 v1, v6",
    ];
    assert_eq!(float("gfx90a", &pairs), 4.0);
}

#[test]
fn lanes_exchange() {
    let lane = |f: fn(u32) -> u32| (0..32).map(f).collect::<Vec<_>>();
    for (text, want) in [
        (
            "v_mov_b32_dpp v1, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
            lane(|l| l ^ 1),
        ),
        (
            "v_mov_b32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1",
            lane(|l| if l % 16 == 0 { 0 } else { l - 1 }),
        ),
        (
            "v_mov_b32_dpp v1, v0 row_shl:2 row_mask:0xf bank_mask:0xf",
            lane(|l| if l % 16 > 13 { 99 } else { l + 2 }),
        ),
        (
            "v_mov_b32_dpp v1, v0 row_ror:4 row_mask:0xf bank_mask:0xf",
            lane(|l| (l & 16) + (l + 12) % 16),
        ),
        (
            "v_mov_b32_dpp v1, v0 row_xmask:5 row_mask:0xf bank_mask:0xf",
            lane(|l| l ^ 5),
        ),
        (
            "v_mov_b32_dpp v1, v0 dpp8:[7,6,5,4,3,2,1,0]",
            lane(|l| l ^ 7),
        ),
    ] {
        assert_eq!(
            eval("gfx1100", &["v_mov_b32_e32 v1, 0x63", text]),
            want,
            "{text}"
        );
    }
    let wait = "s_waitcnt lgkmcnt(0)";
    assert_eq!(
        eval("gfx1100", &["ds_bpermute_b32 v1, v2, v0 offset:4", wait])[..4],
        [1, 2, 3, 4]
    );
    assert_eq!(
        eval(
            "gfx1100",
            &["ds_swizzle_b32 v1, v0 offset:swizzle(SWAP,4)", wait]
        )[..5],
        [4, 5, 6, 7, 0]
    );
    assert_eq!(
        eval(
            "gfx1100",
            &[
                "ds_swizzle_b32 v1, v0 offset:swizzle(BITMASK_PERM,\"00pi1\")",
                wait
            ]
        )[..8],
        [3, 3, 1, 1, 7, 7, 5, 5]
    );
    assert_eq!(
        eval(
            "gfx1100",
            &["v_readlane_b32 s4, v0, 9", "v_mov_b32_e32 v1, s4"]
        ),
        vec![9; 32]
    );
    let count = [
        "v_mbcnt_lo_u32_b32 v1, -1, 0",
        "v_mbcnt_hi_u32_b32 v1, -1, v1",
    ];
    assert_eq!(eval("gfx906", &count), (0..64).collect::<Vec<_>>());
    let sdwa = [
        "v_mov_b32_e32 v3, 0x84030201",
        "v_add_u32_sdwa v1, sext(v3), v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:DWORD",
    ];
    assert_eq!(first("gfx906", &sdwa), 0xffff_ff84);
}

#[test]
fn shared_memory() {
    let wait = "s_waitcnt lgkmcnt(0)";
    let two = [
        "ds_write2_b32 v2, v0, v2 offset1:64",
        "ds_read2_b32 v[4:5], v2 offset0:64 offset1:1",
        wait,
        "v_add_u32_e32 v1, v4, v5",
    ];
    let mut want: Vec<u32> = (0..64).map(|l| 4 * l + l + 1).collect();
    // The last lane reads the first of the second half.
    want[63] = 4 * 63;
    assert_eq!(eval("gfx906", &two), want);
    let atomic = [
        "v_mov_b32_e32 v3, 0",
        "v_mov_b32_e32 v4, 1",
        "ds_write_b32 v3, v3",
        "ds_add_rtn_u32 v1, v3, v4",
        wait,
    ];
    assert_eq!(eval("gfx906", &atomic), (0..64).collect::<Vec<_>>());
    let swap = [
        "v_mov_b32_e32 v3, 0",
        "v_mov_b32_e32 v4, 7",
        "ds_store_b32 v3, v3",
        "ds_cmpstore_rtn_b32 v1, v3, v4, v3",
        wait,
    ];
    assert_eq!(eval("gfx1100", &swap), [vec![0], vec![7; 31]].concat());
    let bytes = [
        "ds_write_b8 v0, v0",
        "ds_write_b8 v0, v2 offset:128",
        "ds_read_u8_d16_hi v1, v0 offset:128",
        wait,
        "v_lshrrev_b32_e32 v1, 16, v1",
    ];
    assert_eq!(
        eval("gfx906", &bytes),
        (0..64).map(|l| 4 * l).collect::<Vec<_>>()
    );
}

#[test]
fn private_and_flat_memory() {
    let scratch = [
        "scratch_store_b32 off, v2, off offset:8",
        "v_mov_b32_e32 v3, 4",
        "scratch_load_b32 v1, v3, off offset:4",
        "s_waitcnt vmcnt(0)",
    ];
    assert_eq!(
        eval("gfx1100", &scratch),
        (0..32).map(|l| 4 * l).collect::<Vec<_>>()
    );
    let flat = [
        "s_mov_b64 s[4:5], src_shared_base",
        "v_mov_b32_e32 v4, v2",
        "v_mov_b32_e32 v5, s5",
        "flat_store_b32 v[4:5], v0",
        "s_waitcnt lgkmcnt(0)",
        "s_waitcnt_vscnt null, 0x0",
        "ds_load_b32 v1, v2",
        "s_waitcnt lgkmcnt(0)",
    ];
    assert_eq!(eval("gfx1100", &flat), (0..32).collect::<Vec<_>>());
}

#[test]
fn calls_return() {
    let body = [
        "s_getpc_b64 s[4:5]",
        "s_add_u32 s4, s4, 24",
        "s_addc_u32 s5, s5, 0",
        "s_swappc_b64 s[30:31], s[4:5]",
        "v_add_u32_e32 v1, 1, v1",
        "s_branch 2",
        "v_mov_b32_e32 v1, 41",
        "s_setpc_b64 s[30:31]",
    ];
    // The call goes to the line behind `s_branch`: six lines behind `s_getpc`... five of four bytes and this one.
    let mut moved = body;
    moved[1] = "s_add_u32 s4, s4, 20";
    assert_eq!(first("gfx906", &moved), 42);
}

#[test]
fn a_dual_instruction_reads_before_it_writes() {
    let swap = [
        "v_mov_b32_e32 v3, 5",
        "v_dual_mov_b32 v3, v0 :: v_dual_mov_b32 v1, v3",
    ];
    assert_eq!(eval("gfx1100", &swap), vec![5; 32]);
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

#[test]
fn a_missing_wait_is_found_exactly() {
    let ids = "v_lshlrev_b32_e32 v2, 2, v0";
    let used = [
        "v_and_b32_e32 v0, 0x3ff, v0",
        ids,
        "ds_store_b32 v2, v0",
        "ds_load_b32 v1, v2",
        "ds_load_b32 v3, v2",
    ];
    let with = |tail: &[&'static str]| [used.as_slice(), tail, &["s_endpgm"]].concat();
    assert_eq!(
        kinds("gfx1100", 32, &with(&["v_add_nc_u32_e32 v4, v1, v0"])),
        [FindingKind::MissingWait]
    );
    assert_eq!(
        kinds("gfx1100", 32, &with(&["v_mov_b32_e32 v1, 0"])),
        [FindingKind::MissingWait],
        "overwritten"
    );
    assert_eq!(
        kinds(
            "gfx1100",
            32,
            &with(&["s_waitcnt lgkmcnt(1)", "v_mov_b32_e32 v4, v1"])
        ),
        []
    );
    assert_eq!(
        kinds(
            "gfx1100",
            32,
            &with(&["s_waitcnt lgkmcnt(1)", "v_mov_b32_e32 v4, v3"])
        ),
        [FindingKind::MissingWait]
    );
    // Scalar loads come back in any order: a number other than 0 proves nothing.
    let scalar = [
        "s_load_b32 s4, s[0:1], 0x0",
        "s_load_b32 s5, s[0:1], 0x4",
        "s_waitcnt lgkmcnt(1)",
        "s_mov_b32 s6, s4",
        "s_endpgm",
    ];
    assert_eq!(kinds("gfx1100", 32, &scalar), [FindingKind::MissingWait]);
}

#[test]
fn a_store_that_slides_over_the_barrier_is_a_race() {
    let exchange = |wait: &'static str, barrier: [&'static str; 2]| {
        [
            "v_and_b32_e32 v0, 0x3ff, v0",
            "v_lshlrev_b32_e32 v2, 2, v0",
            "v_xor_b32_e32 v3, 0x80, v2",
            "ds_store_b32 v2, v0",
            wait,
            barrier[0],
            barrier[1],
            "ds_load_b32 v1, v3",
            "s_endpgm",
        ]
    };
    let split = ["s_barrier_signal -1", "s_barrier_wait -1"];
    assert_eq!(
        kinds("gfx1201", 64, &exchange("s_wait_dscnt 0x0", split)),
        []
    );
    assert!(kinds("gfx1201", 64, &exchange("s_nop 0", split)).contains(&FindingKind::SharedRace));
    assert!(
        kinds(
            "gfx1201",
            64,
            &exchange("s_wait_dscnt 0x0", ["s_nop 0", "s_nop 0"])
        )
        .contains(&FindingKind::SharedRace)
    );
    assert_eq!(
        kinds(
            "gfx1100",
            64,
            &exchange("s_waitcnt lgkmcnt(0)", ["s_barrier", "s_nop 0"])
        ),
        []
    );
}

#[test]
fn barriers_used_wrongly() {
    let wrong = |texts: &[&str]| kinds("gfx1201", 64, texts);
    assert_eq!(
        wrong(&["s_barrier_wait -1", "s_endpgm"]),
        [FindingKind::Deadlock, FindingKind::BarrierMisuse]
    );
    assert_eq!(
        wrong(&[
            "s_barrier_signal -1",
            "s_barrier_signal -1",
            "s_barrier_wait -1",
            "s_endpgm"
        ])[..1],
        [FindingKind::BarrierMisuse]
    );
    assert_eq!(
        wrong(&["s_barrier_signal 3", "s_endpgm"]),
        [FindingKind::BarrierMisuse]
    );
    // Wave 0 alone arrives and waits; wave 1 waits for a named barrier that nobody completes.
    let stuck = [
        "v_readfirstlane_b32 s4, v0",
        "s_cmp_lg_u32 s4, 0",
        "s_cbranch_scc1 3",
        "s_barrier_signal -1",
        "s_barrier_wait -1",
        "s_endpgm",
        "s_branch 65535",
    ];
    assert_eq!(wrong(&stuck), [FindingKind::StepLimit]);
}

#[test]
fn hostile_programs_end_with_a_finding() {
    let one = |texts: &[&str]| kinds("gfx906", 64, texts);
    assert_eq!(
        one(&["v_frobnicate_b32 v0, v1", "s_endpgm"]),
        [FindingKind::UnsupportedInstruction]
    );
    assert_eq!(one(&["s_branch 65535"]), [FindingKind::StepLimit]);
    assert_eq!(one(&["s_nop 0"]), [FindingKind::BadProgramCounter]);
    assert_eq!(
        one(&["s_mov_b64 s[4:5], 5", "s_setpc_b64 s[4:5]"]),
        [FindingKind::BadProgramCounter]
    );
    assert_eq!(one(&["s_trap 2"]), [FindingKind::Trap]);
    assert_eq!(
        one(&[
            "v_mov_b32_e32 v2, 0x10000",
            "ds_read_b32 v1, v2",
            "s_endpgm"
        ]),
        [FindingKind::OutOfBounds]
    );
    assert_eq!(
        one(&["v_mov_b32_e32 v2, 0", "ds_read_b32 v1, v2", "s_endpgm"]),
        [FindingKind::UninitialisedShared]
    );
    assert_eq!(
        one(&[
            "v_mov_b32_e32 v2, 0",
            "global_store_dword v2, v2, s[0:1]",
            "s_endpgm"
        ]),
        [FindingKind::WriteToReadOnly]
    );
    assert_eq!(one(&[]), [FindingKind::BadProgramCounter]);
}

#[test]
fn a_copy_into_shared_memory_is_outstanding_until_its_wait() {
    let copy = |wait: &'static str| {
        [
            "s_load_b64 s[2:3], s[0:1], 0x0",
            "s_wait_kmcnt 0x0",
            "v_and_b32_e32 v0, 0x3ff, v0",
            "v_lshlrev_b32_e32 v2, 2, v0",
            "global_load_async_to_lds_b32 v2, v2, s[2:3]",
            wait,
            "ds_load_b32 v1, v2",
            "s_endpgm",
        ]
    };
    assert_eq!(kinds("gfx1250", 32, &copy("s_wait_asynccnt 0x0")), []);
    assert!(kinds("gfx1250", 32, &copy("s_nop 0")).contains(&FindingKind::MissingWait));
}
