//! The target's own split barrier. A wave that ends drops it, and a full barrier uses it too, so an
//! open phase is completed before either.

use super::situation::Situation;
use crate::protocol::{BesideFullBarrier, Protocol, Setup};
use crate::step::{AmdgpuStep, Step};
use crate::target::Arch;

pub(super) fn fits(situation: Situation) -> Result<String, String> {
    let name = situation.target.name;
    match &situation.target.arch {
        Arch::Amdgpu(gpu) if gpu.split_barrier => Ok(format!(
            "{name} has separate instructions to signal and to wait"
        )),
        Arch::Amdgpu(_) => Err(format!("{name} has no split barrier")),
        Arch::Nvptx(_) => Err(format!(
            "{name} has no barrier at which a thread can arrive first and wait later"
        )),
    }
}

pub(super) fn protocol(_: Setup<'_>) -> Protocol {
    Protocol {
        complete: vec![Step::Amdgpu(AmdgpuStep::WaitSignal)],
        ..Protocol::new(
            vec![Step::Amdgpu(AmdgpuStep::Signal), Step::OpenWindow],
            vec![
                Step::CloseWindow,
                Step::Amdgpu(AmdgpuStep::WaitSignal),
                Step::Amdgpu(AmdgpuStep::LeaveWindow),
            ],
            BesideFullBarrier::CompleteFirst,
            None,
        )
    }
}
