//! Lanes and memories.

use super::{eval, first, kinds};
use pretty_assertions::assert_eq;
use splitbar_sim::FindingKind;

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
    // The sum of offsets in private memory has 32 bits: -4, and 12 on top.
    for gpu in ["gfx90a", "gfx1030"] {
        let private = [
            "s_mov_b32 s8, 0",
            "s_mov_b32 s9, 0",
            "s_mov_b32 s10, -1",
            "s_mov_b32 s11, 0xe80000",
            "buffer_store_dword v2, off, s[8:11], 0 offset:8",
            "v_mov_b32_e32 v3, -4",
            "buffer_load_dword v1, v3, s[8:11], 0 offen offset:12",
            "s_waitcnt vmcnt(0)",
        ];
        let lanes = if gpu == "gfx90a" { 64 } else { 32 };
        let want: Vec<u32> = (0..lanes).map(|lane| 4 * lane).collect();
        assert_eq!(eval(gpu, &private), want, "{gpu}");
        // Outside it is a finding all the same.
        let [.., _, wait] = private;
        let outside = [
            &private[..6],
            &[
                "buffer_load_dword v1, v3, s[8:11], 0 offen",
                wait,
                "s_endpgm",
            ],
        ];
        assert_eq!(
            kinds(gpu, 32, &outside.concat()),
            [FindingKind::OutOfBounds]
        );
    }
}

#[test]
fn scalar_bytes_and_halves_lie_where_the_offset_says() {
    // The bytes of the buffer's address, which the arguments hold and s[2:3] too.
    for (load, offset, bits) in [
        ("s_load_u16", 2, 16),
        ("s_load_u16", 4, 16),
        ("s_load_u8", 3, 8),
    ] {
        let register = format!("s_mov_b32 s5, {offset}");
        let load = format!("{load} s6, s[0:1], s5 offset:0x0");
        let same = format!(
            "s_bfe_u64 s[8:9], s[2:3], {:#x}",
            (bits << 16) | (8 * offset)
        );
        let body = [
            &register,
            &load,
            "s_wait_kmcnt 0x0",
            &same,
            "v_mov_b32_e32 v1, s6",
            "v_sub_nc_u32_e32 v1, s8, v1",
        ];
        assert_eq!(first("gfx1201", &body), 0, "{load}, {register}");
    }
}
