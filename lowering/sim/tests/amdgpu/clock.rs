//! Clocks: they grow, and some have to be waited for.

use super::{eval, first, kinds};
use pretty_assertions::assert_eq;
use splitbar_sim::FindingKind;

/// Reads a clock into s[4:5] and, after 8 other instructions, into s[6:7]; then v1 is how many
/// steps lie between.
fn between<'t>(read: [&'t str; 2], wait: &'t str) -> Vec<&'t str> {
    let mut texts = vec![read[0], wait];
    texts.extend(["s_nop 0"; 7]);
    texts.extend([
        read[1],
        wait,
        "s_sub_u32 s8, s6, s4",
        "v_mov_b32_e32 v1, s8",
    ]);
    texts
}

#[test]
fn clocks_grow_with_the_steps() {
    let waited = "s_waitcnt lgkmcnt(0)";
    for read in [
        ["s_memtime s[4:5]", "s_memtime s[6:7]"],
        ["s_memrealtime s[4:5]", "s_memrealtime s[6:7]"],
    ] {
        assert_eq!(first("gfx906", &between(read, waited)), 9);
    }
    let realtime = [
        "s_sendmsg_rtn_b64 s[4:5], sendmsg(MSG_RTN_GET_REALTIME)",
        "s_sendmsg_rtn_b64 s[6:7], sendmsg(MSG_RTN_GET_REALTIME)",
    ];
    assert_eq!(first("gfx1100", &between(realtime, waited)), 9);
    assert_eq!(first("gfx1201", &between(realtime, "s_wait_kmcnt 0x0")), 9);
    let cycles = [
        "s_getreg_b32 s4, hwreg(HW_REG_SHADER_CYCLES, 0, 20)",
        "s_getreg_b32 s6, hwreg(HW_REG_SHADER_CYCLES, 0, 20)",
    ];
    assert_eq!(first("gfx1100", &between(cycles, "s_nop 0")), 9);
    let low = [
        "s_getreg_b32 s4, hwreg(HW_REG_SHADER_CYCLES_LO)",
        "s_getreg_b32 s6, hwreg(HW_REG_SHADER_CYCLES_LO)",
    ];
    assert_eq!(first("gfx1201", &between(low, "s_nop 0")), 9);
    let wide = [
        "s_get_shader_cycles_u64 s[4:5]",
        "s_get_shader_cycles_u64 s[6:7]",
    ];
    assert_eq!(first("gfx1250", &between(wide, "s_nop 0")), 9);
}

#[test]
fn parts_of_a_clock_are_its_bits() {
    let part = [
        "s_getreg_b32 s4, hwreg(HW_REG_SHADER_CYCLES_LO, 0, 20)",
        "s_getreg_b32 s5, hwreg(HW_REG_SHADER_CYCLES_HI)",
        "s_getreg_b32 s6, hwreg(HW_REG_SHADER_CYCLES_LO, 2, 1)",
        "s_sub_u32 s4, s4, 4",
        "v_mov_b32_e32 v1, s4",
        "v_add_nc_u32_e32 v1, s5, v1",
        "v_lshl_add_u32 v1, s6, 8, v1",
    ];
    // The fifth step of the wave reads first; the seventh has the bit of 4.
    assert_eq!(eval("gfx1201", &part)[0], 0x101);
}

#[test]
fn the_time_has_to_be_waited_for() {
    let early = ["s_memtime s[4:5]", "s_mov_b32 s6, s5", "s_endpgm"];
    assert_eq!(kinds("gfx1030", 32, &early), [FindingKind::MissingWait]);
}
