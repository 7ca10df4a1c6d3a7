//! Matrix instructions: which lane holds what, and what is found when lanes are missing.

use super::{eval, kinds};
use pretty_assertions::assert_eq;
use splitbar_sim::FindingKind;

/// Sixteen-bit floats of the lane's row in both halves of v4 to v11 (matrix A), ones in v12 to v19
/// (B), and `then`.
fn rows_times_ones(then: &[&'static str]) -> Vec<&'static str> {
    let mut texts = vec![
        "v_and_b32_e32 v3, 15, v0",
        "v_cvt_f32_u32_e32 v3, v3",
        "v_cvt_f16_f32_e32 v3, v3",
        "v_and_b32_e32 v3, 0xffff, v3",
        "v_lshlrev_b32_e32 v4, 16, v3",
        "v_or_b32_e32 v4, v4, v3",
    ];
    for texts_of in [
        [
            "v_mov_b32_e32 v5, v4",
            "v_mov_b32_e32 v6, v4",
            "v_mov_b32_e32 v7, v4",
            "v_mov_b32_e32 v8, v4",
            "v_mov_b32_e32 v9, v4",
            "v_mov_b32_e32 v10, v4",
            "v_mov_b32_e32 v11, v4",
            "v_mov_b32_e32 v12, 0x3c003c00",
        ],
        [
            "v_mov_b32_e32 v13, v12",
            "v_mov_b32_e32 v14, v12",
            "v_mov_b32_e32 v15, v12",
            "v_mov_b32_e32 v16, v12",
            "v_mov_b32_e32 v17, v12",
            "v_mov_b32_e32 v18, v12",
            "v_mov_b32_e32 v19, v12",
            "v_nop",
        ],
    ] {
        texts.extend(texts_of);
    }
    texts.extend(then);
    texts
}

/// Row `r` of the sum is `r` times the depth; each family has its own place for it.
#[test]
fn sums_lie_where_the_family_has_them() {
    let sum = |gpu, multiply| {
        let texts = rows_times_ones(&[multiply, "v_cvt_u32_f32_e32 v1, v21"]);
        eval(gpu, &texts)
    };
    let rows = |lanes: u32, depth: u32, row: fn(u32) -> u32| -> Vec<u32> {
        (0..lanes).map(|lane| depth * row(lane)).collect()
    };
    assert_eq!(
        sum(
            "gfx90a",
            "v_mfma_f32_16x16x16f16 v[20:23], v[4:5], v[12:13], 0"
        ),
        rows(64, 16, |lane| 4 * (lane / 16) + 1)
    );
    assert_eq!(
        sum(
            "gfx950",
            "v_mfma_f32_16x16x32_f16 v[20:23], v[4:7], v[12:15], 0"
        ),
        rows(64, 32, |lane| 4 * (lane / 16) + 1)
    );
    assert_eq!(
        sum(
            "gfx1100",
            "v_wmma_f32_16x16x16_f16 v[20:27], v[4:11], v[12:19], 0"
        ),
        rows(32, 16, |lane| 2 + lane / 16)
    );
    assert_eq!(
        sum(
            "gfx1201",
            "v_wmma_f32_16x16x16_f16 v[20:27], v[4:7], v[12:15], 0"
        ),
        rows(32, 16, |lane| 8 * (lane / 16) + 1)
    );
    assert_eq!(
        sum(
            "gfx1250",
            "v_wmma_f32_16x16x32_f16 v[20:27], v[4:11], v[12:19], 0 matrix_a_reuse"
        ),
        rows(32, 32, |lane| 8 * (lane / 16) + 1)
    );
}

#[test]
fn integers_are_signed_or_not_and_saturate() {
    let sum = |text: &str| {
        let mut body = vec!["v_mov_b32_e32 v4, 0xff01ff01"];
        body.extend([
            "v_mov_b32_e32 v5, v4",
            "v_mov_b32_e32 v6, v4",
            "v_mov_b32_e32 v7, v4",
        ]);
        body.push("v_mov_b32_e32 v8, 0x7fffffff");
        body.extend([
            "v_mov_b32_e32 v9, v8",
            "v_mov_b32_e32 v10, v8",
            "v_mov_b32_e32 v11, v8",
        ]);
        body.extend([
            "v_mov_b32_e32 v12, v8",
            "v_mov_b32_e32 v13, v8",
            "v_mov_b32_e32 v14, v8",
        ]);
        body.extend(["v_mov_b32_e32 v15, v8", text, "v_mov_b32_e32 v1, v8"]);
        eval("gfx1201", &body)[0] as i32
    };
    let multiply = |addend: &str, modifiers: &str| {
        sum(&format!(
            "v_wmma_i32_16x16x16_iu8 v[8:15], v[4:5], v[6:7], {addend}{modifiers}"
        ))
    };
    assert_eq!(multiply("0", ""), 8 * (255 * 255 + 1));
    assert_eq!(multiply("0", " neg_lo:[1,1,0]"), 16);
    assert_eq!(multiply("0", " neg_lo:[1,0,0]"), 8 * (1 - 255));
    assert_eq!(multiply("v[8:15]", " neg_lo:[1,1,0]"), i32::MIN + 15);
    assert_eq!(multiply("v[8:15]", " neg_lo:[1,1,0] clamp"), i32::MAX);
}

#[test]
fn all_lanes_take_part() {
    let with = |gpu: &str, size: u32, before: &'static str, multiply: &'static str| {
        let mut texts = vec!["v_and_b32_e32 v0, 0x3ff, v0"];
        texts.extend(rows_times_ones(&[before, multiply, "s_endpgm"]));
        kinds(gpu, size, &texts)
    };
    let wmma = "v_wmma_f32_16x16x16_f16 v[20:27], v[4:11], v[12:19], 0";
    let mfma = "v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[12:13], 0";
    assert_eq!(with("gfx1100", 32, "s_nop 0", wmma), []);
    assert_eq!(with("gfx942", 64, "s_nop 0", mfma), []);
    let missing = [FindingKind::MatrixLanes];
    assert_eq!(
        with("gfx1100", 32, "s_mov_b32 exec_lo, 0xffff", wmma),
        missing
    );
    assert_eq!(with("gfx942", 64, "s_mov_b64 exec, 1", mfma), missing);
    assert_eq!(with("gfx942", 48, "s_nop 0", mfma), missing);
    // Lanes 16 to 31 have to hold what lanes 0 to 15 hold.
    assert_eq!(with("gfx1100", 32, "v_mov_b32_e32 v5, v0", wmma), missing);
    // Shapes that are not known are not guessed.
    assert_eq!(
        with(
            "gfx942",
            64,
            "s_nop 0",
            "v_smfmac_f32_16x16x32_f16 v[20:23], v[4:5], v[12:15], v0"
        ),
        [FindingKind::UnsupportedInstruction]
    );
}
