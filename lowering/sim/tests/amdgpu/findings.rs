//! Each kind of finding.

use super::{USE_V1, USE_V1_WIDE, kinds};
use pretty_assertions::assert_eq;
use splitbar_sim::FindingKind;

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
fn an_invalidation_counts_as_a_load_and_in_order() {
    let run = |wait: &'static str| {
        let text = [
            "v_mov_b32_e32 v3, 0",
            "scratch_load_b32 v1, v3, off",
            "global_inv scope:SCOPE_SE",
            wait,
            "v_mov_b32_e32 v4, v1",
            "s_endpgm",
        ];
        kinds("gfx1201", 32, &text)
    };
    let clean = run("s_wait_loadcnt 0x0");
    assert_eq!(
        run("s_wait_loadcnt 0x1"),
        clean,
        "the load is the older one"
    );
    assert!(run("s_wait_loadcnt 0x2").contains(&FindingKind::MissingWait));
}

#[test]
fn a_store_that_slides_over_the_barrier_is_a_race() {
    let exchange = |wait: &'static str, barrier: [&'static str; 2]| {
        let all = if wait == "s_waitcnt lgkmcnt(0)" {
            wait
        } else {
            "s_wait_dscnt 0x0"
        };
        [
            "v_and_b32_e32 v0, 0x3ff, v0",
            "v_lshlrev_b32_e32 v2, 2, v0",
            "v_xor_b32_e32 v3, 0x80, v2",
            "ds_store_b32 v2, v0",
            wait,
            barrier[0],
            barrier[1],
            "ds_load_b32 v1, v3",
            all,
            USE_V1[0],
            USE_V1[1],
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
    assert_eq!(
        wrong(&["s_barrier_signal -1", "s_endpgm"]),
        [FindingKind::BarrierMisuse],
        "the first to end has not seen the others arrive"
    );
    assert_eq!(
        kinds("gfx1250", 64, &["s_barrier_wait 1", "s_endpgm"]),
        [FindingKind::BarrierMisuse],
        "no named barrier is joined"
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
fn a_cache_that_is_not_invalidated_may_answer() {
    let exchange = |gpu: &str, inv: &str| {
        let stores = if gpu.starts_with("gfx9") {
            "s_waitcnt vmcnt(0)"
        } else {
            "s_waitcnt_vscnt null, 0x0"
        };
        let [compare, branch] = if gpu.starts_with("gfx9") {
            USE_V1_WIDE
        } else {
            USE_V1
        };
        kinds(
            gpu,
            128,
            &[
                "s_load_b64 s[2:3], s[0:1], 0x0",
                "s_waitcnt lgkmcnt(0)",
                "v_and_b32_e32 v0, 0x3ff, v0",
                "v_lshlrev_b32_e32 v2, 2, v0",
                "v_xor_b32_e32 v3, 0x100, v2",
                "global_store_b32 v2, v0, s[2:3]",
                stores,
                "s_barrier",
                inv,
                "global_load_b32 v1, v3, s[2:3]",
                "s_waitcnt vmcnt(0)",
                compare,
                branch,
                "s_endpgm",
            ],
        )
    };
    assert_eq!(exchange("gfx1100", "buffer_gl0_inv"), []);
    assert_eq!(exchange("gfx1100", "s_nop 0"), [FindingKind::StaleRead]);
    assert_eq!(
        exchange("gfx1100", "buffer_gl1_inv"),
        [FindingKind::StaleRead]
    );
    assert_eq!(exchange("gfx90a", "s_nop 0"), [], "one cache for all waves");
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
        one(&[
            "v_mov_b32_e32 v2, 0",
            "ds_read_b32 v1, v2",
            "s_waitcnt lgkmcnt(0)",
            USE_V1_WIDE[0],
            USE_V1_WIDE[1],
            "s_endpgm"
        ]),
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

/// Loads of 16 bits fill one half of a register each; the other half is free meanwhile.
#[test]
fn halves_of_a_register_are_waited_for_apart() {
    let with = |uses: &[&'static str]| {
        let mut texts = vec![
            "v_and_b32_e32 v0, 0x3ff, v0",
            "v_lshlrev_b32_e32 v2, 2, v0",
            "ds_store_b32 v2, v0",
            "v_mov_b32_e32 v1, 0",
            "ds_load_u16_d16 v1, v2",
            "s_waitcnt lgkmcnt(0)",
            "ds_load_u16_d16_hi v1, v2",
        ];
        texts.extend(uses);
        texts.push("s_endpgm");
        kinds("gfx1100", 32, &texts)
    };
    let missing = [FindingKind::MissingWait];
    assert_eq!(with(&["ds_store_b16 v2, v1 offset:512"]), []);
    assert_eq!(with(&["ds_store_b16_d16_hi v2, v1 offset:512"]), missing);
    assert_eq!(with(&["ds_store_b32 v2, v1 offset:512"]), missing);
    assert_eq!(with(&["ds_load_u16_d16 v1, v2"]), []);
    assert_eq!(with(&["v_add_f16_e32 v3, v1, v1"]), []);
    assert_eq!(with(&["v_add_f16_e64 v3, v1, v1 op_sel:[0,1,0]"]), missing);
    assert_eq!(with(&["v_add_f32_e32 v3, v1, v1"]), missing);
    assert_eq!(
        with(&["s_waitcnt lgkmcnt(0)", "v_add_f32_e32 v3, v1, v1"]),
        []
    );
}

#[test]
fn lanes_of_one_store_race_where_their_values_differ() {
    let stores = |address: &'static str, value: &'static str| {
        [
            "v_and_b32_e32 v0, 0x3ff, v0",
            address,
            "v_mov_b32_e32 v3, 7",
            value,
            "s_endpgm",
        ]
    };
    let own = "v_lshlrev_b32_e32 v2, 2, v0";
    let halved = "v_lshlrev_b32_e32 v2, 1, v0";
    let crossed = "v_xor_b32_e32 v2, 0x7c, v0";
    let found = |texts: [&str; 5]| kinds("gfx1100", 32, &texts);
    assert_eq!(found(stores(own, "ds_store_b32 v2, v0")), []);
    assert_eq!(
        found(stores(halved, "ds_store_b32 v2, v0")),
        [FindingKind::SharedRace]
    );
    assert_eq!(found(stores(halved, "ds_store_b16 v2, v0")), []);
    assert_eq!(
        found(stores(crossed, "ds_store_b8 v2, v0")),
        [],
        "in any order"
    );
    let one = "v_mov_b32_e32 v2, 16";
    assert_eq!(
        found(stores(one, "ds_store_b32 v2, v0")),
        [FindingKind::SharedRace]
    );
    assert_eq!(found(stores(one, "ds_store_b32 v2, v3")), [], "one value");
}

/// LLVM loads what lies between two words, too: nobody has written that word, and nothing reads the
/// register that it comes to.
#[test]
fn what_a_wide_load_brings_and_nobody_reads_is_no_use() {
    let with = |uses: &[&'static str]| {
        let start = [
            "v_mov_b32_e32 v2, 0",
            "ds_store_b32 v2, v2",
            "ds_store_b32 v2, v2 offset:8",
            "ds_load_b96 v[4:6], v2",
            "s_waitcnt lgkmcnt(0)",
        ];
        let end = ["v_mov_b32_e32 v1, v7", USE_V1[0], USE_V1[1], "s_endpgm"];
        kinds("gfx1100", 32, &[&start, uses, &end].concat())
    };
    let found = [FindingKind::UninitialisedShared];
    assert_eq!(with(&["v_add_nc_u32_e32 v7, v4, v6"]), []);
    assert_eq!(with(&["v_add_nc_u32_e32 v7, v4, v5"]), found);
    assert_eq!(with(&[]), [], "loaded in vain");
    let used = ["v_add_nc_u32_e32 v7, v4, v6"];
    let after = |more: &[&'static str]| with(&[&used, more].concat());
    assert_eq!(after(&["s_branch 0", "v_mov_b32_e32 v7, v5"]), found);
    let filled = ["v_mov_b32_e32 v5, v4", "v_mov_b32_e32 v7, v5"];
    assert_eq!(after(&filled), []);
    // Lanes that are off keep what the load gave them.
    let [fill, read] = filled;
    let narrowed = ["s_mov_b32 exec_lo, 1", fill, "s_mov_b32 exec_lo, -1", read];
    assert_eq!(after(&narrowed), found);
    // A branch back may come to a read in front of the load.
    let around = [
        "v_mov_b32_e32 v2, 0",
        "v_mov_b32_e32 v5, 0",
        "v_mov_b32_e32 v8, v5",
        "ds_store_b32 v2, v2",
        "ds_load_b64 v[4:5], v2",
        "s_waitcnt lgkmcnt(0)",
        "v_mov_b32_e32 v7, v4",
    ];
    let ends = |tail: &[&'static str]| kinds("gfx1100", 32, &[&around, tail].concat());
    assert_eq!(ends(&["s_endpgm"]), []);
    let back = [
        "s_add_u32 s4, s4, 1",
        "s_cmp_eq_u32 s4, 1",
        "s_cbranch_scc1 65528",
        "v_mov_b32_e32 v1, v8",
        USE_V1[0],
        USE_V1[1],
        "s_endpgm",
    ];
    let counted = [&["s_mov_b32 s4, 0"], around.as_slice()].concat();
    let ends = |tail: &[&'static str]| kinds("gfx1100", 32, &[&counted, tail].concat());
    assert_eq!(ends(&["s_endpgm"]), []);
    assert_eq!(ends(&back), found);
}
