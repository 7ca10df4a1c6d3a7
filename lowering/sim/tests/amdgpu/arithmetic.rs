//! Arithmetic, one family at a time.

use super::{eval, first, float, kinds};
use pretty_assertions::assert_eq;
use splitbar_sim::FindingKind;

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
    for (fused, want) in [
        (
            "v_fmamk_f64 v[4:5], v[4:5], 0xc1f00000, v[4:5]",
            3.0 - 3.0 * 4_294_967_296.0,
        ),
        (
            "v_fmaak_f64 v[4:5], v[4:5], v[4:5], 0x40590ccccccccccd",
            109.2,
        ),
    ] {
        let steps = [double[0], double[1], fused, double[3]];
        assert_eq!(float("gfx1250", &steps), want, "{fused}");
    }
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
    // 2 in the high half, 3 in the low one.
    let bfloats = "v_mov_b32_e32 v3, 0x40004040";
    for (text, want) in [
        (
            "v_fma_mix_f32_bf16 v1, v3, v3, 1.0 op_sel:[1,0,0] op_sel_hi:[1,1,0]",
            7f32.to_bits(),
        ),
        (
            "v_fma_mix_f32_bf16 v1, v3, -v3, 1.0 op_sel:[1,0,0] op_sel_hi:[1,1,1]",
            (-5f32).to_bits(),
        ),
        (
            "v_fma_mixlo_bf16 v1, v3, v3, 0 op_sel:[1,1,0] op_sel_hi:[1,1,0]",
            0x4080,
        ),
    ] {
        let zero = "v_mov_b32_e32 v1, 0";
        assert_eq!(first("gfx1250", &[bfloats, zero, text]), want, "{text}");
    }
    for (text, want) in [
        ("v_pk_min3_u16 v1, v3, 3, 2 op_sel_hi:[1,0,0]", 0x0002_0002),
        ("v_pk_max3_u16 v1, v3, 3, 2 op_sel_hi:[1,0,0]", 0xffff_0005),
        ("v_pk_min3_i16 v1, v3, 3, 2 op_sel_hi:[1,0,0]", 0xffff_0002),
        ("v_pk_max3_i16 v1, v3, 3, 2 op_sel_hi:[1,0,0]", 0x0003_0005),
    ] {
        let numbers = "v_mov_b32_e32 v3, 0xffff0005";
        assert_eq!(first("gfx1250", &[numbers, text]), want, "{text}");
    }
    for (text, want) in [
        (
            "v_pk_min3_num_f16 v1, v3, v3, v3 op_sel_hi:[0,1,1]",
            0x3c00_3c00,
        ),
        (
            "v_pk_max3_num_f16 v1, v3, v3, v3 op_sel:[1,0,0]",
            0x4000_4000,
        ),
    ] {
        assert_eq!(first("gfx1250", &[setup, text]), want, "{text}");
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
fn a_dual_instruction_reads_before_it_writes() {
    let swap = [
        "v_mov_b32_e32 v3, 5",
        "v_dual_mov_b32 v3, v0 :: v_dual_mov_b32 v1, v3",
    ];
    assert_eq!(eval("gfx1100", &swap), vec![5; 32]);
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
    // The call goes to the line behind `s_branch`: six lines behind `s_getpc`... five of four bytes
    // and this one.
    let mut moved = body;
    moved[1] = "s_add_u32 s4, s4, 20";
    assert_eq!(first("gfx906", &moved), 42);
}

#[test]
fn integers_saturate_when_they_are_told_to() {
    let of = |gpu: &str, text: &str| {
        let body = [
            "v_mov_b32_e32 v3, 0x7fffffff",
            "v_mov_b32_e32 v4, 0x80ff7f01",
            text,
        ];
        first(gpu, &body)
    };
    for (text, want) in [
        ("v_add_nc_u32_e64 v1, v3, v4 clamp", u32::MAX),
        ("v_add_nc_u32_e64 v1, v3, 1 clamp", 0x8000_0000),
        ("v_sub_nc_u32_e64 v1, 5, v3 clamp", 0),
        ("v_subrev_nc_u32_e64 v1, v3, 5 clamp", 0),
        ("v_add_nc_i32 v1, v3, 1 clamp", 0x7fff_ffff),
        ("v_add_nc_i32 v1, v3, 1", 0x8000_0000),
        ("v_sub_nc_i32 v1, v4, v3 clamp", 0x8000_0000),
        ("v_pk_add_u16 v1, v3, v4 clamp", u32::MAX),
        ("v_pk_add_i16 v1, v3, v4 clamp", 0x00fe_7f00),
        // 1 * 1, 127 * 127, 255 * 255, 128 * 128.
        ("v_dot4_i32_iu8 v1, v4, v4, 0", 97_539),
        ("v_dot4_i32_iu8 v1, v4, v4, 0 neg_lo:[1,1,0]", 32_515),
        (
            "v_dot4_i32_iu8 v1, v4, v4, v3 neg_lo:[1,0,0] clamp",
            0x7fff_ffff - 509,
        ),
        ("v_dot4_i32_iu8 v1, v4, v4, v3 clamp", 0x7fff_ffff),
    ] {
        assert_eq!(of("gfx1100", text), want, "{text}");
    }
    let accumulate = "v_mov_b32_e32 v1, 2";
    let body = [
        "v_mov_b32_e32 v4, 0x80ff7f01",
        accumulate,
        "v_dot4c_i32_i8_e32 v1, v4, v4",
    ];
    assert_eq!(first("gfx942", &body), 32_517);
}

#[test]
fn the_scalar_unit_computes_floats() {
    let of = |texts: [&str; 2]| {
        let mut body = vec!["s_mov_b32 s4, 0x40003c00", "s_mov_b32 s5, 0x7fc00000"];
        body.extend(texts);
        body.push("v_mov_b32_e32 v1, s6");
        first("gfx1201", &body)
    };
    assert_eq!(of(["s_cvt_f32_f16 s6, s4", "s_nop 0"]), 1f32.to_bits());
    assert_eq!(of(["s_cvt_hi_f32_f16 s6, s4", "s_nop 0"]), 2f32.to_bits());
    assert_eq!(of(["s_add_f16 s6, s4, s4", "s_nop 0"]), 0x4000);
    for (test, want) in [
        ("s_cmp_nlt_f32 s5, 1.0", 1),
        ("s_cmp_lt_f32 s5, 1.0", 0),
        ("s_cmp_ngt_f32 2.0, 1.0", 0),
        ("s_cmp_u_f32 s5, 1.0", 1),
        ("s_cmp_lg_f16 s4, s4", 0),
    ] {
        assert_eq!(of([test, "s_cselect_b32 s6, 1, 0"]), want, "{test}");
    }
}

/// One third and what else a direction changes, in each of them: nearest, up, down, toward zero.
#[test]
fn floats_are_rounded_as_the_mode_says() {
    let single = |mode: &str, body: &[&str]| {
        let mut texts = vec![
            mode,
            "v_mov_b32_e32 v4, 1.0",
            "v_mov_b32_e32 v5, 0x33000000",
            "v_mov_b32_e32 v6, 0x38d1b717",
        ];
        texts.extend(body);
        first("gfx906", &texts)
    };
    let above = 1f32.to_bits() + 1;
    let below = 1f32.to_bits() - 1;
    let set = |value| format!("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), {value}");
    for (mode, sum, difference) in [
        (0, above - 1, above - 1),
        (0b0001, above, above - 1),
        (0b0010, above - 1, below),
        (0b0011, above - 1, below),
        (0b1100, above - 1, above - 1),
    ] {
        let of = |body: &[&str]| single(&set(mode), body);
        assert_eq!(of(&["v_add_f32_e32 v1, v4, v5"]), sum, "{mode}");
        assert_eq!(of(&["v_sub_f32_e32 v1, v4, v5"]), difference, "{mode}");
        assert_eq!(of(&["v_subrev_f32_e32 v1, v5, v4"]), difference, "{mode}");
        let fused = ["v_mov_b32_e32 v1, v5", "v_fmac_f32_e32 v1, v4, v4"];
        assert_eq!(of(&fused), sum, "{mode}");
        // Not rounded.
        assert_eq!(of(&["v_max_f32_e32 v1, v4, v5"]), 1f32.to_bits());
    }
    // Double precision, halves, and conversions from and to them have bits of their own.
    let wide = [
        "v_cvt_f64_f32_e32 v[10:11], v4",
        "v_cvt_f64_f32_e32 v[12:13], v5",
        "v_mul_f64 v[12:13], v[12:13], v[12:13]",
        "v_add_f64 v[8:9], v[10:11], v[12:13]",
        "v_cvt_f32_f64_e32 v1, v[8:9]",
    ];
    assert_eq!(single(&set(0b0011), &wide), 1f32.to_bits());
    assert_eq!(single(&set(0b0100), &wide), above);
    let half = ["v_cvt_f16_f32_e32 v1, v6"];
    assert_eq!(single(&set(0b0100), &half), 0x068e);
    assert_eq!(single(&set(0b1000), &half), 0x068d);
    // A part of the field, and the whole of it by another instruction; then it is read.
    let read = [
        "s_getreg_b32 s4, hwreg(HW_REG_MODE, 0, 4)",
        "v_mov_b32_e32 v1, s4",
    ];
    let set = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 1), 1";
    assert_eq!(single(set, &read), 0b0100);
    let texts = [
        "s_mov_b32 s4, 9",
        "s_setreg_b32 hwreg(HW_REG_MODE, 1, 2), s4",
        read[0],
        read[1],
    ];
    assert_eq!(first("gfx906", &texts), 0b0010);
    assert_eq!(
        first("gfx1201", &["s_round_mode 0xb", read[0], read[1]]),
        0b1011
    );
}

#[test]
fn what_is_not_known_in_a_rounding_is_said() {
    let mode = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3";
    for (text, known) in [
        ("v_fract_f32_e32 v1, v2", false),
        ("v_fma_mix_f32 v1, v2, v2, v2", false),
        ("v_cvt_pk_i16_f32 v1, v2, v2", false),
        ("v_cvt_pk_i16_i32 v1, v2, v2", true),
        ("v_mul_f32_e64 v1, v2, v2 mul:2", false),
        ("v_rcp_f32_e32 v1, v2", true),
        ("v_pk_fma_f16 v1, v2, v2, v2", true),
        ("v_add_u32_e32 v1, v2, v2", true),
    ] {
        let want: &[FindingKind] = if known {
            &[]
        } else {
            &[FindingKind::UnsupportedInstruction]
        };
        assert_eq!(
            kinds("gfx906", 64, &[mode, text, "s_endpgm"]),
            want,
            "{text}"
        );
    }
}

#[test]
fn tables_of_three_bits_work_on_halves() {
    let set = [
        "v_mov_b32_e32 v1, 0x70007",
        "v_mov_b32_e32 v4, 0x100010",
        "v_mov_b32_e32 v5, 0x1000200",
    ];
    let of = |gpu: &str, text: &'static str| first(gpu, &[set.as_slice(), &[text]].concat());
    assert_eq!(
        of("gfx950", "v_bitop3_b16 v1, v4, v5, v1 bitop3:0xfe"),
        0x217
    );
    let high = "v_bitop3_b16 v1.h, v4.l, v5.h, v1.l bitop3:0xfe op_sel:[0,1,0,1]";
    assert_eq!(of("gfx1250", high), 0x117_0007);
}

#[test]
fn registers_are_counted_from_an_index() {
    let set = [
        "v_mov_b32_e32 v4, 40",
        "v_mov_b32_e32 v5, 50",
        "v_mov_b32_e32 v6, 60",
        "s_mov_b32 s4, 2",
    ];
    let of = |gpu: &str, texts: &[&'static str]| first(gpu, &[set.as_slice(), texts].concat());
    let to_m0 = "s_mov_b32 m0, s4";
    for gpu in ["gfx1030", "gfx1100", "gfx1201", "gfx1250"] {
        assert_eq!(of(gpu, &[to_m0, "v_movrels_b32_e32 v1, v4"]), 60, "{gpu}");
        let back = "v_mov_b32_e32 v1, v6";
        assert_eq!(of(gpu, &[to_m0, "v_movreld_b32_e32 v4, 7", back]), 7);
    }
    let off = "s_set_gpr_idx_off";
    for gpu in ["gfx906", "gfx942", "gfx950"] {
        let source = "s_set_gpr_idx_on s4, gpr_idx(SRC0)";
        let destination = "s_set_gpr_idx_on s4, gpr_idx(DST)";
        assert_eq!(of(gpu, &[source, "v_mov_b32_e32 v1, v4", off]), 60, "{gpu}");
        let texts = [
            destination,
            "v_mov_b32_e32 v4, 7",
            off,
            "v_mov_b32_e32 v1, v6",
        ];
        assert_eq!(of(gpu, &texts), 7, "{gpu}");
        let other = [source, "v_add_u32_e32 v1, v4, v5", off];
        assert_eq!(
            kinds(gpu, 64, &[set.as_slice(), &other].concat()),
            [FindingKind::UnsupportedInstruction]
        );
    }
}

#[test]
fn a_register_behind_an_index_is_waited_for() {
    let texts = |counted| {
        [
            "v_mov_b32_e32 v4, 0",
            "s_mov_b32 m0, 2",
            "global_load_dword v6, v4, s[0:1]",
            counted,
            "s_waitcnt vmcnt(0)",
            "s_endpgm",
        ]
    };
    let wrong = [FindingKind::MissingWait];
    assert_eq!(
        kinds("gfx1030", 32, &texts("v_movrels_b32_e32 v1, v4")),
        wrong
    );
    assert_eq!(
        kinds("gfx1030", 32, &texts("v_movreld_b32_e32 v4, 1")),
        wrong
    );
    assert_eq!(kinds("gfx1030", 32, &texts("v_movrels_b32_e32 v1, v3")), []);
}

/// Numbers of registers over 255 have their high bits from `s_set_vgpr_msb`.
#[test]
fn high_bits_of_register_numbers() {
    let run = |texts: &[&str]| first("gfx1250", texts);
    // v257 = 7; v513 = 9; v1 = 1.
    let set = [
        "v_mov_b32_e32 v1, 1",
        "s_set_vgpr_msb 64",
        "v_mov_b32_e32 v1, 7",
        "s_set_vgpr_msb 0x4080",
        "v_mov_b32_e32 v1, 9",
    ];
    let then = |more: &[&'static str]| run(&[&set, more, &["s_set_vgpr_msb 0"]].concat());
    assert_eq!(then(&[]), 1);
    let one = ["s_set_vgpr_msb 0x8001", "v_mov_b32_e32 v1, v1"];
    assert_eq!(then(&one), 7);
    // v1 = v257 + 16 * v513
    let sum = [
        "s_set_vgpr_msb 0x8009",
        "v_mul_lo_u32 v3, 16, v1",
        "s_set_vgpr_msb 0x901",
        "v_add_nc_u32_e32 v1, v1, v3",
    ];
    assert_eq!(then(&sum), 7 + 16 * 9);
    let compared = [
        "s_set_vgpr_msb 0x8009",
        "v_cmp_lt_u32_e32 vcc_lo, v1, v1",
        "s_set_vgpr_msb 0x900",
        "v_cndmask_b32_e64 v1, 3, 4, vcc_lo",
    ];
    assert_eq!(then(&compared), 4, "v257 < v513");
    // The address is a first source, data of an access to shared memory a second one.
    let stored = [
        "s_set_vgpr_msb 0x8004",
        "ds_store_b32 v2, v1",
        "s_wait_dscnt 0x0",
        "s_set_vgpr_msb 0x440",
        "ds_load_b32 v9, v2",
        "s_wait_dscnt 0x0",
        "s_set_vgpr_msb 0x4001",
        "v_mov_b32_e32 v1, v9",
    ];
    assert_eq!(then(&stored), 7);
}
