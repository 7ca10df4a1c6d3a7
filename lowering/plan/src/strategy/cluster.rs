//! The barrier of the cluster. PTX ISA, "barrier.cluster": `.relaxed` orders nothing, and costs no
//! fence of cluster scope.

use super::situation::Situation;
use crate::protocol::{BesideFullBarrier, Protocol, Setup};
use crate::step::{AmdgpuStep, Step};
use crate::target::Arch;

pub(super) fn fits(situation: Situation) -> Result<String, String> {
    let name = situation.target.name;
    let is_alone = situation.cluster.is_none_or(|size| size == [1; 3]);
    if !is_alone && !situation.is_asked_for {
        return Err("the cluster barrier also synchronises other workgroups".to_owned());
    }
    match &situation.target.arch {
        Arch::Amdgpu(gpu) if gpu.cluster_barrier && situation.cluster.is_none() => Err(format!(
            "{name} has a cluster barrier only if it launches clusters, and no cluster size was given"
        )),
        Arch::Amdgpu(gpu) if !gpu.cluster_barrier => Err(format!("{name} has no clusters")),
        Arch::Nvptx(gpu) if !gpu.cluster => Err(format!("{name} has no clusters")),
        Arch::Amdgpu(_) | Arch::Nvptx(_) => Ok(format!(
            "{name} has a cluster barrier, and a cluster of one workgroup needs no workgroup memory for it"
        )),
    }
}

pub(super) fn protocol(setup: Setup<'_>) -> Protocol {
    match setup.arch {
        // A single instruction, over which ptxas would move the work of the window: it needs both
        // guards.
        Arch::Nvptx(_) => Protocol::new(
            vec![Step::ClusterArrive, Step::OpenWindow],
            vec![Step::CloseWindow, Step::ClusterWait],
            BesideFullBarrier::Independent,
            None,
        ),
        // The cluster's object counts workgroups: the first wave arrives for its own, once all
        // waves of it are there. Each wave keeps whether it was the first. A wave that ends drops
        // the object, so an arrival that nobody waits for is completed before.
        Arch::Amdgpu(_) => Protocol {
            complete: vec![Step::ClusterWait],
            keeps_word: true,
            ..Protocol::new(
                vec![
                    Step::Amdgpu(AmdgpuStep::SignalFirst),
                    Step::Amdgpu(AmdgpuStep::WaitSignal),
                    Step::IfFirst(vec![Step::ClusterArrive]),
                    Step::OpenWindow,
                ],
                vec![
                    Step::CloseWindow,
                    Step::ClusterWait,
                    Step::Amdgpu(AmdgpuStep::LeaveWindow),
                ],
                BesideFullBarrier::CompleteFirst,
                None,
            )
        },
    }
}
