//! Plans of the fixture kernels whose shapes are the difficult ones: what stands where, on four
//! kinds of target.

mod support;

use anyhow::{Context, Result};
use expect_test::{Expect, expect};
use splitbar_plan::{PlanOptions, Strategy};
use support::with_plan;

/// The plan of the first entry point of a fixture kernel.
fn plan_of(kernel: &str, target: &str, options: PlanOptions) -> Result<String> {
    with_plan(
        kernel,
        target,
        |_| Ok(options),
        |_, plan| Ok(plan.to_string()),
    )
}

fn check(kernel: &str, target: &str, expected: Expect) -> Result<()> {
    expected.assert_eq(&plan_of(kernel, target, PlanOptions::default())?);
    Ok(())
}

#[test]
fn native_completes_the_open_phase_before_a_full_barrier() -> Result<()> {
    check(
        "arrive_barrier_wait",
        "gfx1201",
        expect![[r#"
        entry main for gfx1201: workgroup 128x1x1, wave 32, 0 bytes reserved
          pair 0 (Workgroup, arrive #0, wait #2): native, because gfx1201 has separate instructions to signal and to wait
          #0 arrive Workgroup, Workgroup Release|WorkgroupMemory:
            fence release workgroup local
            signal
            open-window
            set-outstanding
          #1 barrier Workgroup, Workgroup AcquireRelease|WorkgroupMemory:
            if-outstanding { wait-signal; clear-outstanding; }
            fence release workgroup local
            workgroup-barrier
            fence acquire workgroup local
          #2 wait Workgroup, Workgroup Acquire|WorkgroupMemory:
            if-outstanding { close-window; wait-signal; leave-window; clear-outstanding; }
            fence acquire workgroup local
    "#]],
    )
}

#[test]
fn a_full_barrier_in_the_window_satisfies_a_fused_wait() -> Result<()> {
    check(
        "arrive_barrier_wait",
        "gfx1100",
        expect![[r#"
        entry main for gfx1100: workgroup 128x1x1, wave 32, 0 bytes reserved
          pair 0 (Workgroup, arrive #0, wait #2): fused, because gfx1100 has no split barrier
          #0 arrive Workgroup, Workgroup Release|WorkgroupMemory:
            fence release workgroup local
            set-outstanding
          #1 barrier Workgroup, Workgroup AcquireRelease|WorkgroupMemory:
            fence release workgroup local
            workgroup-barrier
            clear-outstanding
            fence acquire workgroup local
          #2 wait Workgroup, Workgroup Acquire|WorkgroupMemory:
            if-outstanding { workgroup-barrier; clear-outstanding; }
            fence acquire workgroup local
    "#]],
    )
}

#[test]
fn an_mbarrier_does_not_meet_the_full_barrier() -> Result<()> {
    check(
        "arrive_barrier_wait",
        "sm_90",
        expect![[r#"
            entry main for sm_90: workgroup 128x1x1, wave 32, 8 bytes reserved
              pair 0 (Workgroup, arrive #0, wait #2): mbarrier, because sm_90 has mbarrier with try_wait
              entry:
                mbarrier-init
              #0 arrive Workgroup, Workgroup Release|WorkgroupMemory:
                mbarrier-arrive
                open-window
              #1 barrier Workgroup, Workgroup AcquireRelease|WorkgroupMemory:
                cta-sync
              #2 wait Workgroup, Workgroup Acquire|WorkgroupMemory:
                close-window
                mbarrier-wait try
        "#]],
    )
}

#[test]
fn native_completes_a_dangling_arrive_before_the_return() -> Result<()> {
    check(
        "dangling_arrive",
        "gfx1201",
        expect![[r#"
        entry main for gfx1201: workgroup 128x1x1, wave 32, 0 bytes reserved
          pair 0 (Workgroup, arrive #0, wait #1): native, because gfx1201 has separate instructions to signal and to wait
          pair 1 (Workgroup, arrive #2, wait never): native, because gfx1201 has separate instructions to signal and to wait
          #0 arrive Workgroup, Workgroup Release|WorkgroupMemory:
            fence release workgroup local
            signal
            open-window
          #1 wait Workgroup, Workgroup Acquire|WorkgroupMemory:
            close-window
            wait-signal
            leave-window
            fence acquire workgroup local
          #2 arrive Workgroup, Workgroup Release|WorkgroupMemory:
            fence release workgroup local
            signal
            open-window
          return at word 452:
            wait-signal
    "#]],
    )
}

#[test]
fn an_arrive_under_a_condition_is_noted_at_run_time() -> Result<()> {
    check(
        "uniform_ifs",
        "gfx1201",
        expect![[r#"
        entry main for gfx1201: workgroup 128x1x1, wave 32, 0 bytes reserved
          pair 0 (Workgroup, arrive #0, wait #1): native, because gfx1201 has separate instructions to signal and to wait
          #0 arrive Workgroup, Workgroup Release|WorkgroupMemory:
            fence release workgroup local
            signal
            open-window
            set-outstanding
          #1 wait Workgroup, Workgroup Acquire|WorkgroupMemory:
            close-window
            wait-signal
            leave-window
            clear-outstanding
            fence acquire workgroup local
          return at word 561:
            if-outstanding { wait-signal; clear-outstanding; }
    "#]],
    )
}

#[test]
fn sequences_of_two_scopes_do_not_meet() -> Result<()> {
    check(
        "subgroup_and_workgroup",
        "sm_80",
        expect![[r#"
        entry main for sm_80: workgroup 128x1x1, wave 32, 8 bytes reserved
          pair 0 (Workgroup, arrive #0, wait #3): mbarrier, because sm_80 has mbarrier with test_wait
          pair 1 (Subgroup, arrive #1, wait #2): subgroup, because the execution scope is Subgroup, so no other wave is involved
          entry:
            mbarrier-init
          #0 arrive Workgroup, Workgroup Release|WorkgroupMemory:
            mbarrier-arrive
            open-window
          #1 arrive Subgroup, Subgroup Release|WorkgroupMemory:
            nothing
          #2 wait Subgroup, Subgroup Acquire|WorkgroupMemory:
            warp-sync 0xffffffff
          #3 wait Workgroup, Workgroup Acquire|WorkgroupMemory:
            mbarrier-wait test
    "#]],
    )
}

#[test]
fn memory_barriers_around_a_relaxed_pair_stay() -> Result<()> {
    check(
        "relaxed_pair",
        "gfx1201",
        expect![[r#"
        entry main for gfx1201: workgroup 128x1x1, wave 32, 0 bytes reserved
          pair 0 (Workgroup, arrive #1, wait #2): native, because gfx1201 has separate instructions to signal and to wait
          #0 memory barrier Workgroup Release|WorkgroupMemory:
            fence release workgroup local
          #1 arrive Workgroup, Workgroup None:
            signal
            open-window
          #2 wait Workgroup, Workgroup None:
            close-window
            wait-signal
            leave-window
          #3 memory barrier Workgroup Acquire|WorkgroupMemory:
            fence acquire workgroup local
    "#]],
    )
}

#[test]
fn buffers_are_ordered_too_where_the_semantics_name_them() -> Result<()> {
    check(
        "buffer_exchange",
        "gfx1250",
        expect![[r#"
        entry main for gfx1250: workgroup 128x1x1, wave 32, 0 bytes reserved
          pair 0 (Workgroup, arrive #0, wait #1): native, because gfx1250 has separate instructions to signal and to wait
          #0 arrive Workgroup, Workgroup Release|UniformMemory:
            wait-zero kmcnt
            fence release workgroup global
            signal
            open-window
          #1 wait Workgroup, Workgroup Acquire|UniformMemory:
            close-window
            wait-signal
            leave-window
            fence acquire workgroup global
    "#]],
    )
}

#[test]
fn one_wave_needs_no_barrier() -> Result<()> {
    check(
        "one_wave",
        "sm_60",
        expect![[r#"
        entry main for sm_60: workgroup 32x1x1, wave 32, 0 bytes reserved
          pair 0 (Workgroup, arrive #0, wait #1): single-wave, because the workgroup is one wave, so no other wave is involved
          #0 arrive Workgroup, Workgroup Release|WorkgroupMemory:
            nothing
          #1 wait Workgroup, Workgroup Acquire|WorkgroupMemory:
            warp-sync 0xffffffff
    "#]],
    )
}

#[test]
fn a_strategy_that_the_target_lacks_is_refused_with_the_reason() -> Result<()> {
    let options = PlanOptions {
        strategy: Some(Strategy::Native),
        ..PlanOptions::default()
    };
    let error = plan_of("tiled_matmul", "gfx1100", options)
        .err()
        .context("gfx1100 has no split barrier")?;
    expect![[r#"
        SB0308: strategy `native` cannot lower the split barriers of entry point `main` for gfx1100
    "#]]
    .assert_eq(&error.to_string());
    Ok(())
}

/// Where a warp is several subgroups, a sync names those of its own; the shader's barrier stands in
/// uniform control flow.
#[test]
fn a_part_of_a_warp_waits_for_itself() -> Result<()> {
    let options = PlanOptions {
        subgroup_size: Some(8),
        ..PlanOptions::default()
    };
    let plan = plan_of("subgroup_and_workgroup", "sm_90", options)?;
    assert!(plan.contains("wave 32, subgroup 8, "), "{plan}");
    assert!(
        plan.contains("warp-sync subgroup of 8 of 0xffffffff"),
        "{plan}"
    );
    assert!(!plan.contains("warp-sync 0x"), "{plan}");
    Ok(())
}
