//! Copies between global and shared memory that do not go through registers.

use super::kinds;
use pretty_assertions::assert_eq;
use splitbar_sim::FindingKind;

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
