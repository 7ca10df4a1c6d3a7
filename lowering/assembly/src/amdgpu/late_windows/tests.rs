//! Windows that are widened, and those that are not.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use pretty_assertions::assert_eq;
use splitbar_target::Target;

/// The lines of a kernel that orders `ordered`, widened.
fn widened(ordered: Ordered, code: &str) -> Vec<String> {
    let target = Target::by_name("gfx1201").unwrap();
    let text = format!("\t.type\tk,@function\nk:\n{code}\n.Lfunc_end0:\n");
    let kernels = [("k".to_owned(), ordered)].into();
    let wide = widen(&text, target, &kernels);
    let lines = wide.lines().map(|line| line.trim().to_owned());
    lines
        .skip(2)
        .filter(|line| line != ".Lfunc_end0:")
        .collect()
}

/// Checks that widening turns the first list of lines into the second. Lines are separated by `/`.
fn check(ordered: Ordered, before: &str, after: &str) {
    let lines = before.replace(" / ", "\n");
    assert_eq!(widened(ordered, &lines).join(" / "), after);
}

const SIGNAL: &str = "s_barrier_signal -1";
const WAIT: &str = "s_barrier_wait -1";
const WORK: &str = "v_add_f32_e32 v0, v1, v2";

#[test]
fn signals_go_up_and_waits_down_to_what_is_ordered() {
    check(
        Ordered::Local,
        &format!(
            "ds_load_b32 v1, v0 / s_wait_dscnt 0x0 / {WORK} / global_load_b32 v3, v4, s[0:1] / {SIGNAL} / {WAIT} / s_wait_loadcnt 0x0 / {WORK} / ds_store_b32 v0, v1 / s_endpgm"
        ),
        &format!(
            "ds_load_b32 v1, v0 / s_wait_dscnt 0x0 / {SIGNAL} / {WORK} / global_load_b32 v3, v4, s[0:1] / s_wait_loadcnt 0x0 / {WORK} / {WAIT} / ds_store_b32 v0, v1 / s_endpgm"
        ),
    );
    check(
        Ordered::All,
        &format!(
            "{WORK} / global_load_b32 v3, v4, s[0:1] / {WORK} / {SIGNAL} / {WAIT} / {WORK} / s_wait_loadcnt 0x0 / {WORK} / s_endpgm"
        ),
        &format!(
            "{WORK} / global_load_b32 v3, v4, s[0:1] / {SIGNAL} / {WORK} / {WORK} / {WAIT} / s_wait_loadcnt 0x0 / {WORK} / s_endpgm"
        ),
    );
}

#[test]
fn waits_that_retire_nothing_are_passed() {
    check(
        Ordered::Local,
        &format!(
            "ds_load_b32 v1, v0 / s_wait_dscnt 0x0 / {WORK} / s_wait_dscnt 0x0 / {WORK} / s_wait_dscnt 0x0 / {SIGNAL} / s_endpgm"
        ),
        &format!(
            "ds_load_b32 v1, v0 / s_wait_dscnt 0x0 / {SIGNAL} / {WORK} / s_wait_dscnt 0x0 / {WORK} / s_wait_dscnt 0x0 / s_endpgm"
        ),
    );
    // One that is stricter than the others stays in front.
    check(
        Ordered::Local,
        &format!(
            "ds_load_b32 v1, v0 / s_wait_dscnt 0x1 / {WORK} / s_wait_dscnt 0x0 / {WORK} / s_wait_dscnt 0x1 / {SIGNAL} / s_endpgm"
        ),
        &format!(
            "ds_load_b32 v1, v0 / s_wait_dscnt 0x1 / {WORK} / s_wait_dscnt 0x0 / {SIGNAL} / {WORK} / s_wait_dscnt 0x1 / s_endpgm"
        ),
    );
    // One that leaves an access outstanding is not enough, nor is one for something else.
    for other in ["s_wait_dscnt 0x1", "s_wait_loadcnt_dscnt 0x1"] {
        let code = format!(
            "ds_load_b32 v1, v0 / {other} / {WORK} / s_wait_dscnt 0x0 / {SIGNAL} / s_endpgm"
        );
        check(Ordered::Local, &code, &code);
    }
}

#[test]
fn waits_go_along_where_accesses_have_had_time() {
    let code = |works: usize, late: &str| {
        let mut code = vec!["ds_load_b32 v1, v0"];
        code.extend([WORK].repeat(works));
        code.extend(["s_wait_dscnt 0x1", WORK, late, SIGNAL, "s_endpgm"]);
        code.join(" / ")
    };
    let release = "s_wait_dscnt 0x0";
    let early = format!("{WORK} / {release} / {SIGNAL} / {WORK} / s_wait_dscnt 0x1");
    for works in [10, 59, 60, 100] {
        let before = code(works, release);
        let after = widened(Ordered::Local, &before.replace(" / ", "\n"));
        let at = after.iter().position(|line| line == SIGNAL).unwrap();
        if works <= 60 {
            // The wait for one less counts as no work.
            let moved = works == 60;
            assert_eq!(at, if moved { 62 } else { works + 4 }, "{works}");
        } else {
            assert_eq!(
                after.get(60..63).unwrap().join(" / "),
                format!("{WORK} / {release} / {SIGNAL}")
            );
            assert!(!after.join(" / ").contains(&early));
        }
    }
    // How long global memory takes nobody knows.
    let before = code(100, "s_wait_loadcnt_dscnt 0x0");
    check(Ordered::Local, &before, &before);
}

#[test]
fn loads_stay_in_flight_over_a_wait() {
    let load = "global_load_b32 v3, v4, s[0:1]";
    check(
        Ordered::Local,
        &format!("{WAIT} / {load} / s_wait_loadcnt 0x0 / ds_store_b32 v0, v3 / s_endpgm"),
        &format!("{load} / {WAIT} / s_wait_loadcnt 0x0 / ds_store_b32 v0, v3 / s_endpgm"),
    );
}

#[test]
fn halves_stay_in_their_block() {
    // The two regions have accesses that the barrier orders.
    let (access, other) = ("ds_store_b32 v0, v1", "ds_store_b32 v2, v3");
    let code = format!(
        "s_cbranch_scc1 .LBB0_1 / {access} / .LBB0_1: / {WORK} / {SIGNAL} / {WORK} / {WAIT} / {WORK} / s_cbranch_scc1 .LBB0_2 / {other} / .LBB0_2: / {WORK} / s_endpgm"
    );
    let wide = format!(
        "s_cbranch_scc1 .LBB0_1 / {access} / .LBB0_1: / {SIGNAL} / {WORK} / {WORK} / {WORK} / {WAIT} / s_cbranch_scc1 .LBB0_2 / {other} / .LBB0_2: / {WORK} / s_endpgm"
    );
    check(Ordered::Local, &code, &wide);
    // The end of a block that falls through into one that control comes to.
    check(
        Ordered::Local,
        &format!("{WAIT} / {WORK} / .LBB0_1: / {WORK} / s_branch .LBB0_1"),
        &format!("{WORK} / {WAIT} / .LBB0_1: / {WORK} / s_branch .LBB0_1"),
    );
    // Data among the code.
    check(
        Ordered::Local,
        &format!("{WAIT} / {WORK} / .long 0xbf800000 / {WORK} / s_endpgm"),
        &format!("{WORK} / {WAIT} / .long 0xbf800000 / {WORK} / s_endpgm"),
    );
    // Nobody comes to this label, which only debuggers know.
    check(
        Ordered::Local,
        &format!("{WAIT} / {WORK} / .Ltmp0: / {WORK} / s_endpgm"),
        &format!("{WORK} / .Ltmp0: / {WORK} / {WAIT} / s_endpgm"),
    );
}

#[test]
fn halves_pass_a_region_of_branches_as_a_whole() {
    let access = "ds_store_b32 v0, v1";
    let region = "s_and_saveexec_b32 s0, vcc_lo / s_cbranch_execz .LBB0_1 / global_load_b32 v3, v4, s[0:1] / .LBB0_1:";
    let second = region.replace(".LBB0_1", ".LBB0_2");
    for (rest, end) in [
        (WORK, "s_endpgm"),
        ("s_or_b32 exec_lo, exec_lo, s0", access),
    ] {
        check(
            Ordered::Local,
            &format!("{access} / {region} / {rest} / {SIGNAL} / {WAIT} / {second} / {end}"),
            &format!("{access} / {SIGNAL} / {region} / {rest} / {second} / {WAIT} / {end}"),
        );
    }
    // What is waited for in front of a region is so behind it.
    check(
        Ordered::Local,
        &format!("{access} / s_wait_dscnt 0x0 / {SIGNAL} / {WAIT} / {region} / {access}"),
        &format!("{access} / s_wait_dscnt 0x0 / {SIGNAL} / {region} / {WAIT} / {access}"),
    );
    // Right behind it, not in front of the label.
    check(
        Ordered::Local,
        &format!("{WAIT} / s_cbranch_scc1 .LBB0_1 / {WORK} / .LBB0_1: / {access}"),
        &format!("s_cbranch_scc1 .LBB0_1 / {WORK} / .LBB0_1: / {WAIT} / {access}"),
    );
    // One region behind another.
    let two =
        "s_cbranch_scc1 .LBB0_1 / s_nop 0 / .LBB0_1: / s_cbranch_scc1 .LBB0_2 / v_nop / .LBB0_2:";
    let two = two.replace("s_nop 0", WORK);
    check(
        Ordered::Local,
        &format!("{WAIT} / {two} / {access}"),
        &format!("{two} / {WAIT} / {access}"),
    );
    // A wait for accesses stays on its side, the signal behind it too.
    let works = [WORK; 100].join(" / ");
    let code =
        format!("{access} / {works} / {region} / s_wait_dscnt 0x0 / {SIGNAL} / {WAIT} / {access}");
    check(Ordered::Local, &code, &code);
}

#[test]
fn halves_of_two_barriers_do_not_pass_each_other() {
    check(
        Ordered::Local,
        &format!("{SIGNAL} / {WAIT} / {WORK} / {WORK} / {SIGNAL} / {WAIT} / s_endpgm"),
        &format!("{SIGNAL} / {WORK} / {WORK} / {WAIT} / {SIGNAL} / {WAIT} / s_endpgm"),
    );
    check(
        Ordered::Local,
        &format!("s_barrier_wait 1 / {WORK} / {SIGNAL} / s_endpgm"),
        &format!("s_barrier_wait 1 / {SIGNAL} / {WORK} / s_endpgm"),
    );
}

#[test]
fn other_barriers_and_other_functions_stay() {
    for half in [
        "s_barrier_signal -3",
        "s_barrier_signal m0",
        "s_barrier_signal_isfirst -1",
        "s_barrier_wait 1",
        "s_barrier_join m0",
    ] {
        let code = format!("{WORK} / {half} / {WORK} / s_endpgm");
        check(Ordered::Local, &code, &code);
    }
    let target = Target::by_name("gfx1201").unwrap();
    let text = format!("\t.type\tk,@function\nk:\n{WORK}\n{SIGNAL}\n{WAIT}\n{WORK}\ns_endpgm\n");
    let others = [("f".to_owned(), Ordered::Local)].into();
    assert!(matches!(widen(&text, target, &others), Cow::Borrowed(_)));
}

#[test]
fn a_clause_is_not_broken() {
    check(
        Ordered::Local,
        &format!(
            "{WAIT} / s_clause 0x1 / global_load_b32 v1, v0, s[0:1] / global_load_b32 v2, v0, s[2:3] / ds_store_b32 v0, v1 / s_endpgm"
        ),
        &format!(
            "s_clause 0x1 / global_load_b32 v1, v0, s[0:1] / global_load_b32 v2, v0, s[2:3] / {WAIT} / ds_store_b32 v0, v1 / s_endpgm"
        ),
    );
    // Its second load stops the wait, which stays in front of all of it.
    let code = format!(
        "{WAIT} / {WORK} / s_clause 0x1 / global_load_b32 v1, v0, s[0:1] / global_load_b32 v2, v0, s[2:3] scope:SCOPE_SYS / s_endpgm"
    );
    let wide = code.replace(&format!("{WAIT} / {WORK}"), &format!("{WORK} / {WAIT}"));
    check(Ordered::Local, &code, &wide);
    let code = format!(
        "s_clause 0x1 / global_load_b32 v1, v0, s[0:1] scope:SCOPE_SYS / global_load_b32 v2, v0, s[2:3] / {SIGNAL} / s_endpgm"
    );
    check(Ordered::Local, &code, &code);
}

#[test]
fn delays_count_the_instructions_that_are_there() {
    let delay =
        |skip| format!("s_delay_alu instid0(VALU_DEP_1) | instskip({skip}) | instid1(VALU_DEP_2)");
    // From the inside of what it counts.
    check(
        Ordered::Local,
        &format!(
            "{} / {WORK} / {WAIT} / {WORK} / {WORK} / ds_store_b32 v0, v1 / s_endpgm",
            delay("SKIP_1")
        ),
        &format!(
            "{} / {WORK} / {WORK} / {WORK} / {WAIT} / ds_store_b32 v0, v1 / s_endpgm",
            delay("NEXT")
        ),
    );
    // Over all of it, or to its front.
    for (last, wide) in [
        (
            WORK,
            format!("{} / {WORK} / {WORK} / {WAIT} / s_endpgm", delay("NEXT")),
        ),
        (
            "ds_store_b32 v0, v1",
            format!(
                "{WAIT} / {} / {WORK} / ds_store_b32 v0, v1 / s_endpgm",
                delay("NEXT")
            ),
        ),
    ] {
        let code = format!("{WAIT} / {} / {WORK} / {last} / s_endpgm", delay("NEXT"));
        check(Ordered::Local, &code, &wide);
    }
}

#[test]
fn a_half_takes_its_place_in_the_source_along() {
    let text = format!(
        ".loc 1 21 0 prologue_end\n{WORK}\n.loc 1 31 0\n{SIGNAL}\n{WAIT}\n.loc 1 41 0\n{WORK}\n.loc 1 51 0\ns_endpgm"
    );
    let expected = [
        ".loc 1 21 0 prologue_end",
        ".loc 1 31 0",
        SIGNAL,
        ".loc 1 21 0",
        WORK,
        ".loc 1 31 0",
        ".loc 1 41 0",
        WORK,
        ".loc 1 31 0",
        WAIT,
        ".loc 1 41 0",
        ".loc 1 51 0",
        "s_endpgm",
    ];
    assert_eq!(widened(Ordered::Local, &text), expected);
}

#[test]
fn what_changes_more_than_halves_is_noticed() {
    let gpu = Target::by_name("gfx1201").unwrap().amdgpu().unwrap();
    let kernels = [("k".to_owned(), Ordered::Local)].into();
    let text = |code: &[&str]| {
        format!(
            "\t.type\tk,@function\nk:\n.loc 1 2 0\n{}\n",
            code.join("\n")
        )
    };
    let load = "ds_load_b32 v0, v1";
    let (label, branch) = (".LBB0_1:", "s_cbranch_scc1 .LBB0_1");
    let before = text(&[WORK, label, load, WORK, SIGNAL, branch, WAIT]);
    let same = |code: &[&str]| differs_in_halves_alone(&before, &text(code), gpu, &kernels);
    assert!(same(&[WORK, label, load, SIGNAL, WORK, branch, WAIT]));
    for wrong in [
        // Over an access, over a branch, over a label.
        &[WORK, label, SIGNAL, load, WORK, branch, WAIT][..],
        &[WORK, label, load, WORK, branch, SIGNAL, WAIT],
        &[WORK, SIGNAL, label, load, WORK, branch, WAIT],
        // Another order of the work, one less, another place.
        &[WORK, label, WORK, load, SIGNAL, branch, WAIT],
        &[WORK, label, load, SIGNAL, branch, WAIT],
        &[WORK, label, load, WORK, SIGNAL, branch],
        &[WORK, label, load, ".loc 1 3 0", SIGNAL, WORK, branch, WAIT],
    ] {
        assert!(!same(wrong), "{wrong:?}");
    }
    // Over a region that no other control comes to, but not into it.
    let (skip, end) = ("s_cbranch_scc0 .LBB0_2", ".LBB0_2:");
    let before = text(&[load, SIGNAL, skip, WORK, end, WAIT, load]);
    let same = |code: &[&str]| differs_in_halves_alone(&before, &text(code), gpu, &kernels);
    assert!(same(&[load, skip, WORK, end, SIGNAL, WAIT, load]));
    assert!(same(&[load, SIGNAL, WAIT, skip, WORK, end, load]));
    for wrong in [
        [load, SIGNAL, skip, WORK, WAIT, end, load],
        [load, SIGNAL, skip, WAIT, WORK, end, load],
        [load, skip, SIGNAL, WAIT, WORK, end, load],
        [load, SIGNAL, WAIT, skip, end, WORK, load],
    ] {
        assert!(!same(&wrong), "{wrong:?}");
    }
    let wait = "s_wait_dscnt 0x0";
    for (right, wrong) in [
        // Work without the wait in front of it, a signal without it, a wait less.
        (
            [load, wait, WORK, SIGNAL, branch],
            vec![load, WORK, wait, SIGNAL, branch],
        ),
        (
            [load, wait, SIGNAL, WORK, branch],
            vec![load, SIGNAL, wait, WORK, branch],
        ),
        (
            [load, wait, WORK, wait, SIGNAL],
            vec![load, wait, WORK, SIGNAL],
        ),
        // A wait that control passes by.
        (
            [load, label, wait, SIGNAL, branch],
            vec![load, wait, label, SIGNAL, branch],
        ),
        (
            [load, label, wait, WORK, branch],
            vec![load, wait, label, WORK, branch],
        ),
    ] {
        let right = text(&right);
        let same = differs_in_halves_alone(&right, &text(&wrong), gpu, &kernels);
        assert!(!same, "{wrong:?}");
    }
}
