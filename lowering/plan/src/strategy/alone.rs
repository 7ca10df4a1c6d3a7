//! Pairs at which no other wave takes part: a wave keeps its accesses on their sides of the wait.

use super::situation::Situation;
use crate::protocol::{BesideFullBarrier, Protocol, Setup};
use crate::step::{AmdgpuStep, NvptxStep, Step};
use crate::target::{Arch, FenceScope};

pub(super) fn single_wave_fits(situation: Situation) -> Result<String, String> {
    match situation.waves {
        Some(1) => Ok("the workgroup is one wave, so no other wave is involved".to_owned()),
        Some(waves) => Err(format!("the workgroup has {waves} waves")),
        None => Err("the workgroup size is known only at launch".to_owned()),
    }
}

pub(super) fn subgroup_fits(_: Situation) -> Result<String, String> {
    Ok("the execution scope is Subgroup, so no other wave is involved".to_owned())
}

/// The one warp is the whole workgroup: what its sync orders is ordered for the workgroup.
pub(super) fn single_wave(setup: Setup<'_>) -> Protocol {
    protocol(setup, FenceScope::Workgroup)
}

pub(super) fn subgroup(setup: Setup<'_>) -> Protocol {
    protocol(setup, FenceScope::Subgroup)
}

fn protocol(setup: Setup<'_>, ordered: FenceScope) -> Protocol {
    let (step, orders) = match setup.arch {
        Arch::Amdgpu(_) => (Step::Amdgpu(AmdgpuStep::WaveBarrier), None),
        Arch::Nvptx(_) => (Step::Nvptx(NvptxStep::WarpSync(setup.lanes)), Some(ordered)),
    };
    Protocol::new(vec![], vec![step], BesideFullBarrier::Independent, orders)
}
