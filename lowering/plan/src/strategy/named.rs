//! A named barrier object. An arrive without a wait leaves no state behind: the object ends with
//! the workgroup.

use super::situation::Situation;
use crate::protocol::{BesideFullBarrier, Protocol, Setup};
use crate::step::{AmdgpuStep, Step};
use crate::target::Arch;

pub(super) fn fits(situation: Situation) -> Result<String, String> {
    let name = situation.target.name;
    match &situation.target.arch {
        Arch::Amdgpu(gpu) if gpu.named_barriers > 0 => Ok(format!(
            "a full barrier may be between the arrive and the wait, and {name} has separate barrier objects for both"
        )),
        Arch::Amdgpu(_) | Arch::Nvptx(_) => Err(format!("{name} has no named barrier objects")),
    }
}

pub(super) fn protocol(_: Setup<'_>) -> Protocol {
    Protocol {
        at_entry: vec![
            Step::Amdgpu(AmdgpuStep::NamedInit),
            Step::Amdgpu(AmdgpuStep::NamedJoin),
        ],
        // The workgroup's own object would be dropped by the end of the wave; this one is not.
        leave: vec![Step::Amdgpu(AmdgpuStep::NamedLeave)],
        ..Protocol::new(
            vec![Step::Amdgpu(AmdgpuStep::NamedArrive), Step::OpenWindow],
            vec![
                Step::CloseWindow,
                Step::Amdgpu(AmdgpuStep::NamedWait),
                Step::Amdgpu(AmdgpuStep::LeaveWindow),
            ],
            BesideFullBarrier::Independent,
            None,
        )
    }
}
