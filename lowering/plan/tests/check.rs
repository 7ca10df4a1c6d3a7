//! A plan that lacks something, or has a step that the target cannot do, is a bug that is named.

mod support;

use anyhow::{Result, ensure};
use splitbar_plan::{AmdgpuStep, EntryPlan, NvptxStep, PlanOptions, Step, Strategy, Target};

/// The message of [`EntryPlan::check`] for a plan of a fixture after `damage`.
fn said(
    kernel: &str,
    target: &str,
    strategy: Option<Strategy>,
    damage: impl FnOnce(&mut EntryPlan),
) -> Result<String> {
    let options = |_: &splitbar_layout::Kernel<'_>| {
        Ok(PlanOptions {
            strategy,
            ..PlanOptions::default()
        })
    };
    support::with_plan(kernel, target, options, |_, mut plan| {
        damage(&mut plan);
        let target = Target::by_name(plan.target);
        let found = target.map(|target| plan.check(target));
        Ok(match found {
            Some(Ok(())) => "fine".to_owned(),
            Some(Err(bug)) => bug.message,
            None => "no such target".to_owned(),
        })
    })
}

#[test]
fn whole_plans_are_fine() -> Result<()> {
    for target in Target::all() {
        ensure!(said("arrive_barrier_wait", target.name, None, |_| {})? == "fine");
    }
    Ok(())
}

#[test]
fn barriers_without_steps_are_named() -> Result<()> {
    let said = said("arrive_barrier_wait", "gfx1201", None, |plan| {
        plan.at_instruction.pop_first();
    })?;
    ensure!(said.ends_with("a barrier has no steps"), "{said}");
    Ok(())
}

#[test]
fn pairs_without_sites_are_named() -> Result<()> {
    let said = said("arrive_barrier_wait", "gfx1201", None, |plan| {
        plan.sites.pop();
    })?;
    ensure!(said.ends_with("a site of pair 0 is not listed"), "{said}");
    Ok(())
}

#[test]
fn steps_of_other_gpus_are_named() -> Result<()> {
    let inner = Step::IfOutstanding(vec![Step::ClusterArrive]);
    for (target, step, named) in [
        ("sm_80", AmdgpuStep::Signal.into(), "signal"),
        ("gfx1201", NvptxStep::CtaSync.into(), "cta-sync"),
        ("gfx1201", AmdgpuStep::BareBarrier.into(), "bare-barrier"),
        ("gfx942", AmdgpuStep::WaitSignal.into(), "wait-signal"),
        ("gfx1201", AmdgpuStep::NamedJoin.into(), "named-join"),
        ("sm_80", NvptxStep::BulkWait(0).into(), "bulk-wait 0"),
        ("sm_70", NvptxStep::MbarrierArrive.into(), "mbarrier-arrive"),
        ("gfx942", inner, "cluster-arrive"),
    ] {
        let said = said("arrive_barrier_wait", target, None, |plan| {
            plan.state.outstanding = true;
            plan.at_end.push(step);
        })?;
        let end = format!("the target has no instruction for the step `{named}`");
        ensure!(said.ends_with(&end), "{said}");
    }
    Ok(())
}

#[test]
fn undeclared_state_is_named() -> Result<()> {
    let staged = |plan: &mut EntryPlan| plan.at_end.push(Step::StoreStaged(9));
    let found = said("arrive_barrier_wait", "gfx1201", None, staged)?;
    let end = "the step `store-staged 9` uses state that is not declared";
    ensure!(found.ends_with(end), "{found}");
    let mbarrier = Some(Strategy::Mbarrier);
    let found = said("arrive_barrier_wait", "sm_90", mbarrier, |plan| {
        plan.state.word = false;
    })?;
    ensure!(
        found.ends_with("uses state that is not declared"),
        "{found}"
    );
    let found = said("arrive_barrier_wait", "gfx1201", None, |plan| {
        plan.state.outstanding = false;
    })?;
    ensure!(
        found.ends_with("uses state that is not declared"),
        "{found}"
    );
    Ok(())
}
