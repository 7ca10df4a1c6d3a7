//! The barriers of a CTA by number, for groups of warps ([`WarpGroups`]). If there are two sets,
//! the word of each invocation selects the next set.

use super::situation::Situation;
use crate::groups::{SCHEDULERS, WarpGroups};
use crate::protocol::{BesideFullBarrier, Protocol, Setup, Unwaited};
use crate::step::{NvptxStep, Step};
use crate::target::{Arch, FenceScope};

/// Barriers that are free on the target of `situation`, and warps to give them to.
fn barriers_and_warps(situation: Situation) -> Result<(u32, u32), String> {
    let name = situation.target.name;
    let Arch::Nvptx(gpu) = &situation.target.arch else {
        return Err(format!(
            "{name} has no barriers with a number and a count of warps"
        ));
    };
    if gpu.barriers_limit_occupancy {
        // Every warp has another barrier, so the numbers are in registers, and ptxas then reserves
        // all of them.
        return Err(format!(
            "a named barrier for each warp reserves all {} barriers, which limits the number of resident workgroups on {name}",
            gpu.named_barriers
        ));
    }
    let warps = situation.waves.ok_or(
        "the workgroup size is known only at launch, and named barriers count warps".to_owned(),
    )?;
    Ok((gpu.named_barriers.saturating_sub(WarpGroups::FIRST), warps))
}

/// The warps, each of which can have one barrier in each of `sets` sets.
fn warps_with_barriers(situation: Situation, sets: u32) -> Result<u32, String> {
    let (free, warps) = barriers_and_warps(situation)?;
    let needed = warps.saturating_mul(sets);
    if needed > free {
        return Err(format!(
            "{warps} warps need {needed} named barriers, and {free} are free"
        ));
    }
    Ok(warps)
}

pub(super) fn two_sets_fit(situation: Situation) -> Result<String, String> {
    let warps = warps_with_barriers(situation, 2)?;
    Ok(format!(
        "there are two named barriers for each of {warps} warps"
    ))
}

pub(super) fn one_set_fits(situation: Situation) -> Result<String, String> {
    barriers_and_warps(situation)?;
    if !situation.barrier_between_phases {
        return Err(
            "a path without a full barrier leads from a wait to the next arrive, so one set of named barriers would mix two phases"
                .to_owned(),
        );
    }
    let warps = warps_with_barriers(situation, 1)?;
    Ok(format!(
        "a full barrier separates every wait from the next arrive, so one named barrier for each of {warps} warps is enough"
    ))
}

pub(super) fn groups_fit(situation: Situation) -> Result<String, String> {
    let (_, warps) = barriers_and_warps(situation)?;
    Ok(format!("{warps} warps share the named barriers in groups"))
}

pub(super) fn two_sets(setup: Setup<'_>) -> Protocol {
    protocol(setup.waves, setup.waves, 2)
}

pub(super) fn one_set(setup: Setup<'_>) -> Protocol {
    protocol(setup.waves, setup.waves, 1)
}

pub(super) fn groups(setup: Setup<'_>) -> Protocol {
    protocol(setup.waves, setup.waves.min(SCHEDULERS), 2)
}

/// PTX ISA, "bar": it orders memory among who takes part. bar.sync is a single instruction, over
/// which ptxas would move the work of the window: it needs both guards.
fn protocol(warps: u32, groups: u32, sets: u32) -> Protocol {
    let groups = WarpGroups {
        warps,
        groups,
        sets,
    };
    Protocol {
        // A sync is the last of the arrivals that its barrier waits for. PTX says nothing of a CTA
        // that ends with some of them.
        complete: vec![Step::Nvptx(NvptxStep::GroupSync(groups))],
        unwaited: Unwaited::AtEnd,
        keeps_word: sets > 1,
        ..Protocol::new(
            vec![
                Step::Nvptx(NvptxStep::GroupArrive(groups)),
                Step::OpenWindow,
            ],
            vec![Step::CloseWindow, Step::Nvptx(NvptxStep::GroupSync(groups))],
            BesideFullBarrier::Independent,
            Some(FenceScope::Workgroup),
        )
    }
}
