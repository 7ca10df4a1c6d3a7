//! Copies between global and shared memory that do not go through registers.

use super::{USE_V1, USE_V1_WIDE, eval, kinds};
use pretty_assertions::assert_eq;
use splitbar_sim::FindingKind;

/// Each lane's number stands in the buffer at s[2:3]; then `body`.
fn filled(body: &[&'static str]) -> Vec<&'static str> {
    let mut texts = vec![
        "global_store_dword v2, v0, s[2:3]",
        "s_waitcnt vmcnt(0)",
        "s_mov_b32 m0, 0",
    ];
    texts.extend(body);
    texts
}

/// What v1 holds in each lane of a wave.
fn moved(gpu: &str, body: &[&'static str]) -> Vec<u32> {
    eval(gpu, &filled(body))
}

/// A wave with a buffer at s[2:3], the invocation in v0 and four times that in v2; what is found.
fn found(gpu: &str, body: &[&'static str]) -> Vec<FindingKind> {
    let gfx12 = gpu == "gfx1250";
    let mut texts = if gfx12 {
        vec!["s_load_b64 s[2:3], s[0:1], 0x0", "s_wait_kmcnt 0x0"]
    } else {
        vec!["s_load_dwordx2 s[2:3], s[0:1], 0x0", "s_waitcnt lgkmcnt(0)"]
    };
    texts.extend([
        "v_and_b32_e32 v0, 0x3ff, v0",
        "v_lshlrev_b32_e32 v2, 2, v0",
        "s_mov_b32 m0, 0",
    ]);
    texts.extend(body);
    texts.push(if gfx12 {
        "s_wait_dscnt 0x0"
    } else {
        "s_waitcnt lgkmcnt(0)"
    });
    texts.extend(if gfx12 { USE_V1 } else { USE_V1_WIDE });
    texts.push("s_endpgm");
    let mut found = kinds(gpu, if gfx12 { 32 } else { 64 }, &texts);
    // What a copy has yet to write is not written.
    found.retain(|kind| *kind != FindingKind::UninitialisedShared);
    found
}

const MISSING: [FindingKind; 1] = [FindingKind::MissingWait];

#[test]
fn m0_and_the_lane_say_where_a_copy_goes() {
    for copy in [
        "global_load_lds_dword v2, s[2:3]",
        "global_load_dword v2, s[2:3] lds",
    ] {
        let read = ["s_waitcnt vmcnt(0)", "ds_read_b32 v1, v2"];
        let wait = "s_waitcnt lgkmcnt(0)";
        assert_eq!(
            moved("gfx942", &[copy, read[0], read[1], wait]),
            (0..64).collect::<Vec<_>>()
        );
    }
    // The offset counts on both sides.
    let shifted = [
        "s_movk_i32 m0, 0x80",
        "global_load_lds_dword v2, s[2:3] offset:16",
        "s_waitcnt vmcnt(0)",
        "ds_read_b32 v1, v2 offset:144",
        "s_waitcnt lgkmcnt(0)",
    ];
    let want = (4..64).chain([0; 4]).collect::<Vec<_>>();
    assert_eq!(moved("gfx942", &shifted), want);
    let wide = [
        "v_lshlrev_b32_e32 v3, 4, v0",
        "v_and_b32_e32 v3, 0xf0, v3",
        "global_load_lds_dwordx4 v3, s[2:3]",
        "s_waitcnt vmcnt(0)",
        "ds_read_b32 v1, v2",
        "s_waitcnt lgkmcnt(0)",
    ];
    assert_eq!(moved("gfx950", &wide), (0..64).collect::<Vec<_>>());
    let narrow = [
        "v_mov_b32_e32 v3, -2",
        "global_store_dword v2, v3, s[2:3]",
        "s_waitcnt vmcnt(0)",
        "global_load_lds_sbyte v2, s[2:3]",
        "s_waitcnt vmcnt(0)",
        "ds_read_b32 v1, v2",
        "s_waitcnt lgkmcnt(0)",
    ];
    assert_eq!(moved("gfx942", &narrow), [-2i32 as u32; 64]);
}

#[test]
fn a_buffer_gives_zeros_beyond_its_end() {
    let descriptor = |body: &[&'static str]| {
        let mut texts = vec![
            "s_mov_b32 s4, s2",
            "s_and_b32 s5, s3, 0xffff",
            "s_movk_i32 s6, 0x80",
            "s_mov_b32 s7, 0x27000",
        ];
        texts.extend(body);
        moved("gfx942", &texts)
    };
    let want: Vec<u32> = (0..32).chain([0; 32]).collect();
    let copied = [
        "buffer_load_dword v2, s[4:7], 0 offen lds",
        "s_waitcnt vmcnt(0)",
        "ds_read_b32 v1, v2",
        "s_waitcnt lgkmcnt(0)",
    ];
    assert_eq!(descriptor(&copied), want);
    let loaded = [
        "v_mov_b32_e32 v1, 7",
        "buffer_load_dword v1, v2, s[4:7], 0 offen",
        "s_waitcnt vmcnt(0)",
    ];
    assert_eq!(descriptor(&loaded), want);
}

#[test]
fn a_copy_into_shared_memory_is_outstanding_until_its_wait() {
    let (copy, read) = ("global_load_lds_dword v2, s[2:3]", "ds_read_b32 v1, v2");
    assert_eq!(found("gfx942", &[copy, "s_waitcnt vmcnt(0)", read]), []);
    assert_eq!(
        found("gfx942", &[copy, "s_waitcnt lgkmcnt(0)", read]),
        MISSING
    );
    // Vector memory is counted in order: of two copies, the older one is done when one is left.
    let second = "global_load_lds_dword v2, s[2:3] offset:256";
    let two = |read| found("gfx942", &[copy, second, "s_waitcnt vmcnt(1)", read]);
    assert_eq!(two(read), []);
    assert_eq!(two("ds_read_b32 v1, v2 offset:256"), MISSING);
    let copy = "global_load_async_to_lds_b32 v2, v2, s[2:3]";
    let read = "ds_load_b32 v1, v2";
    assert_eq!(found("gfx1250", &[copy, "s_wait_asynccnt 0x0", read]), []);
    assert_eq!(
        found("gfx1250", &[copy, "s_wait_loadcnt 0x0", read]),
        MISSING
    );
    let cluster = "cluster_load_async_to_lds_b32 v2, v2, s[2:3]";
    assert_eq!(found("gfx1250", &[cluster, "s_nop 0", read]), MISSING);
    // A lane whose address is -1 takes no part.
    let masked = [
        "v_mov_b32_e32 v3, -1",
        "global_load_async_to_lds_b32 v3, v2, s[2:3]",
    ];
    assert_eq!(found("gfx1250", &masked), []);
}

/// LDS instructions and copies go different ways: what a copy overwrites has to be read before,
/// what it takes away has to be written before.
#[test]
fn copies_do_not_wait_for_older_instructions() {
    let (write, read) = ("ds_write_b32 v2, v0", "ds_read_b32 v1, v2");
    let (copy, wait) = ("global_load_lds_dword v2, s[2:3]", "s_waitcnt lgkmcnt(0)");
    assert_eq!(found("gfx942", &[write, wait, read, wait, copy]), []);
    assert_eq!(found("gfx942", &[write, wait, read, copy, wait]), MISSING);
    assert_eq!(found("gfx942", &[write, copy]), MISSING);
    let elsewhere = "global_load_lds_dword v2, s[2:3] offset:256";
    assert_eq!(found("gfx942", &[write, elsewhere]), []);
    let (write, away) = (
        "ds_store_b32 v2, v0",
        "global_store_async_from_lds_b32 v2, v2, s[2:3]",
    );
    let (stored, gone) = ("s_wait_dscnt 0x0", "s_wait_asynccnt 0x0");
    assert_eq!(found("gfx1250", &[write, stored, away, gone, write]), []);
    assert_eq!(found("gfx1250", &[write, away]), MISSING);
    assert_eq!(found("gfx1250", &[write, stored, away, write]), MISSING);
    let read = "ds_load_b32 v1, v2";
    assert_eq!(found("gfx1250", &[write, stored, away, read, gone]), []);
}
