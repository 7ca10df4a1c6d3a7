//! An mbarrier in shared memory. PTX ISA, "mbarrier": mbarrier.arrive releases and its waits
//! acquire, at .cta scope by default. The word that each invocation keeps is the parity of the
//! phase.

use super::situation::Situation;
use crate::protocol::{BesideFullBarrier, Protocol, Setup};
use crate::step::{NvptxStep, Step};
use crate::target::{Arch, FenceScope, Mbarrier};

/// Bytes of workgroup memory that an mbarrier takes (PTX ISA, "Size and alignment of mbarrier
/// object").
pub(crate) const BYTES: u32 = 8;

pub(super) fn fits(situation: Situation) -> Result<String, String> {
    let name = situation.target.name;
    let poll = match &situation.target.arch {
        Arch::Nvptx(gpu) if gpu.mbarrier == Mbarrier::TryWait => "try_wait",
        Arch::Nvptx(gpu) if gpu.mbarrier == Mbarrier::TestWait => "test_wait",
        Arch::Amdgpu(_) | Arch::Nvptx(_) => return Err(format!("{name} has no mbarrier")),
    };
    situation.has_room("an mbarrier", BYTES)?;
    Ok(format!("{name} has mbarrier with {poll}"))
}

pub(super) fn protocol(setup: Setup<'_>) -> Protocol {
    let try_wait = matches!(setup.arch, Arch::Nvptx(gpu) if gpu.mbarrier == Mbarrier::TryWait);
    // A test_wait does not suspend the warp, so it does no harm in the window, where ptxas hoists
    // the first poll of a loop; a try_wait does, and needs a guard of its own.
    let poll = Step::Nvptx(NvptxStep::MbarrierWait { try_wait });
    let wait = if try_wait {
        vec![Step::CloseWindow, poll]
    } else {
        vec![poll]
    };
    Protocol {
        at_entry: vec![Step::Nvptx(NvptxStep::MbarrierInit { copies: false })],
        keeps_word: true,
        ..Protocol::new(
            vec![Step::Nvptx(NvptxStep::MbarrierArrive), Step::OpenWindow],
            wait,
            BesideFullBarrier::Independent,
            Some(FenceScope::Workgroup),
        )
    }
}
