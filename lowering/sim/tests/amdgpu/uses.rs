//! Findings about loaded bytes: none where nothing depends on the byte, and one beside each such
//! program where something does.

use super::{USE_V1, kinds};
use pretty_assertions::assert_eq;
use splitbar_sim::FindingKind;

const UNWRITTEN: [FindingKind; 1] = [FindingKind::UninitialisedShared];
const RACE: [FindingKind; 1] = [FindingKind::SharedRace];

/// Each lane of a wave of 32 has eight bytes of shared memory at v2 and has written six. What is in
/// v1 behind `body` is used.
fn six_of_eight(body: &[&'static str]) -> Vec<FindingKind> {
    let start = [
        "v_and_b32_e32 v0, 0x3ff, v0",
        "v_lshlrev_b32_e32 v2, 3, v0",
        "ds_store_b32 v2, v0",
        "ds_store_b16 v2, v0 offset:4",
        "ds_load_b64 v[4:5], v2",
        "s_waitcnt lgkmcnt(0)",
    ];
    kinds(
        "gfx1100",
        32,
        &[&start, body, &USE_V1, &["s_endpgm"]].concat(),
    )
}

#[test]
fn padding_in_a_register() {
    let used = |text: &'static str| six_of_eight(&[text]);
    for part in [
        "v_cvt_f32_f16_e32 v1, v5",
        "v_and_b32_e32 v1, 0xffff, v5",
        "v_lshlrev_b32_e32 v1, 16, v5",
        "v_perm_b32 v1, v5, v5, 0x5040504",
        "v_bfe_u32 v1, v5, 0, 16",
        "v_add_nc_u32_e32 v1, v4, v4",
        "v_dual_mov_b32 v1, v4 :: v_dual_mov_b32 v6, v5",
    ] {
        assert_eq!(used(part), [], "{part}");
    }
    for all in [
        "v_mov_b32_e32 v1, v5",
        "v_lshrrev_b32_e32 v1, 16, v5",
        "v_bfe_u32 v1, v5, 8, 16",
        "v_and_b32_e32 v1, 0x10000, v5",
        "v_add_f32_e32 v1, v4, v5",
        "v_dual_mov_b32 v1, v5 :: v_dual_mov_b32 v6, v4",
    ] {
        assert_eq!(used(all), UNWRITTEN, "{all}");
    }
}

/// A structure may be copied with its padding, which is undefined in the copy, too.
#[test]
fn a_copy_with_padding() {
    let copy = [
        "ds_store_b64 v2, v[4:5] offset:512",
        "ds_load_b64 v[6:7], v2 offset:512",
        "s_waitcnt lgkmcnt(0)",
        "scratch_store_b32 off, v7, off",
        "s_waitcnt_vscnt null, 0x0",
        "scratch_load_b32 v8, off, off",
        "s_waitcnt vmcnt(0)",
    ];
    let with = |last: &'static str| six_of_eight(&[copy.as_slice(), &[last]].concat());
    assert_eq!(with("v_and_b32_e32 v1, 0xffff, v8"), []);
    assert_eq!(with("v_mov_b32_e32 v1, v6"), []);
    assert_eq!(with("v_mov_b32_e32 v1, v7"), UNWRITTEN);
    assert_eq!(with("v_lshrrev_b32_e32 v1, 24, v8"), UNWRITTEN);
}

/// An undefined value decides an address, which lanes go on, or a result in global memory.
#[test]
fn what_decides() {
    let decides = |body: &[&'static str]| six_of_eight(&[body, &["v_mov_b32_e32 v1, 0"]].concat());
    assert_eq!(decides(&["v_add_nc_u32_e32 v6, v5, v5"]), []);
    let address = [
        "v_lshrrev_b32_e32 v6, 31, v5",
        "v_lshlrev_b32_e32 v6, 2, v6",
        "ds_load_b32 v7, v6",
    ];
    let wait = ["s_waitcnt lgkmcnt(0)"];
    assert_eq!(decides(&[address.as_slice(), &wait].concat()), UNWRITTEN);
    assert_eq!(
        decides(&["v_cmpx_ne_u32_e32 0, v5", "s_mov_b32 exec_lo, -1"]),
        UNWRITTEN
    );
    assert_eq!(
        decides(&[
            "v_cmp_ne_u16_e32 vcc_lo, 0, v5",
            "s_and_saveexec_b32 s4, vcc_lo",
            "s_mov_b32 exec_lo, -1"
        ]),
        [],
        "the low half is defined"
    );
    assert_eq!(
        decides(&[
            "v_readfirstlane_b32 s4, v5",
            "s_lshr_b32 s4, s4, 16",
            "s_cmp_eq_u32 s4, 7",
            "s_cbranch_scc0 0"
        ]),
        UNWRITTEN
    );
    assert_eq!(
        decides(&[
            "v_readfirstlane_b32 s4, v5",
            "s_and_b32 s4, s4, 0xffff",
            "s_cmp_eq_u32 s4, 7",
            "s_cbranch_scc0 0"
        ]),
        []
    );
    let result = |value: &'static str| {
        decides(&[
            "s_load_b64 s[2:3], s[0:1], 0x0",
            "s_waitcnt lgkmcnt(0)",
            value,
            "v_lshlrev_b32_e32 v7, 2, v0",
            "global_store_b32 v7, v6, s[2:3]",
        ])
    };
    assert_eq!(result("v_and_b32_e32 v6, 0xffff, v5"), []);
    assert_eq!(result("v_mov_b32_e32 v6, v5"), UNWRITTEN);
}

/// Each wave writes its first lane's dword, and all lanes of both load the other wave's before the
/// barrier: without one. `use_of` decides in which lanes the value counts.
fn loaded_ahead(before: bool, mask: &'static str) -> Vec<FindingKind> {
    let write = [
        "v_lshrrev_b32_e32 v3, 5, v0",
        "v_lshlrev_b32_e32 v3, 2, v3",
        "ds_store_b32 v3, v0",
    ];
    let load = ["v_xor_b32_e32 v4, 4, v3", "ds_load_b32 v5, v4"];
    let mut texts = vec![
        "v_and_b32_e32 v0, 0x3ff, v0",
        "v_mov_b32_e32 v6, 0",
        "v_mov_b32_e32 v8, 0",
        "v_lshrrev_b32_e32 v3, 5, v0",
        "v_lshlrev_b32_e32 v3, 2, v3",
        "ds_store_b32 v3, v6",
        "s_waitcnt lgkmcnt(0)",
        "s_barrier",
    ];
    let write = [
        "v_mov_b32_e32 v9, 1",
        write[0],
        write[1],
        "ds_store_b32 v3, v9",
    ];
    if before {
        texts.push("v_lshrrev_b32_e32 v3, 5, v0");
        texts.push("v_lshlrev_b32_e32 v3, 2, v3");
        texts.extend(load);
        texts.extend(write);
    } else {
        texts.extend(write);
        texts.extend(load);
    }
    texts.extend([
        "s_waitcnt lgkmcnt(0)",
        "v_add_nc_u32_e32 v5, 3, v5",
        "v_cmp_lt_u32_e64 s6, 4, v5",
        mask,
        "v_cndmask_b32_e64 v1, v8, v5, s5",
        "s_and_b32 s6, s6, s5",
        "s_and_saveexec_b32 s4, s6",
        "s_mov_b32 exec_lo, s4",
    ]);
    texts.extend(USE_V1);
    texts.push("s_endpgm");
    kinds("gfx1100", 64, &texts)
}

#[test]
fn a_value_that_was_loaded_ahead() {
    for before in [false, true] {
        assert_eq!(loaded_ahead(before, "s_mov_b32 s5, 0"), [], "{before}");
        assert_eq!(loaded_ahead(before, "s_mov_b32 s5, 4"), RACE, "{before}");
    }
}

/// A dword is loaded for one of its bytes; another wave writes the one beside it.
#[test]
fn a_byte_of_a_dword() {
    let run = |extract: &'static str| {
        let mut texts = vec![
            "v_and_b32_e32 v0, 0x3ff, v0",
            "v_lshrrev_b32_e32 v3, 5, v0",
            "v_mov_b32_e32 v2, 0",
            "v_mov_b32_e32 v6, 0",
            "v_lshlrev_b32_e32 v8, 1, v3",
            "ds_store_b16 v8, v2",
            "s_waitcnt lgkmcnt(0)",
            "s_barrier",
            "ds_store_b8 v3, v3",
            "v_mov_b32_e32 v7, v3",
            "ds_load_b32 v4, v6",
            "s_waitcnt lgkmcnt(0)",
            extract,
        ];
        texts.extend(USE_V1);
        texts.push("s_endpgm");
        kinds("gfx1100", 64, &texts)
    };
    assert_eq!(run("v_lshrrev_b32_e32 v1, 16, v4"), []);
    assert_eq!(run("v_bfe_u32 v1, v4, 8, 8"), RACE);
    assert_eq!(run("v_and_b32_e32 v1, 0xff00ff, v4"), RACE);
}
