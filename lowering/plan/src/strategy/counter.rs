//! A counter in workgroup memory. An arrive without a wait leaves no state behind: the counter ends
//! with the workgroup, and full barriers use another object. The word of each invocation is the
//! value of the counter when all have arrived for the last arrive; it is zero at the entry.

use super::situation::Situation;
use crate::protocol::{BesideFullBarrier, Protocol, Setup};
use crate::step::Step;
use crate::target::{Arch, FenceScope};

/// Bytes of workgroup memory: one word for all pairs and all phases.
pub(super) const BYTES: u32 = 4;

pub(super) fn fits(situation: Situation) -> Result<String, String> {
    match &situation.target.arch {
        Arch::Nvptx(gpu) if !gpu.nanosleep => {
            return Err(format!(
                "on {} a warp that polls a counter may keep the other warps from running",
                situation.target.name
            ));
        }
        Arch::Amdgpu(_) | Arch::Nvptx(_) => {}
    }
    situation.has_room("the counter", BYTES)?;
    Ok("a counter needs only atomic additions".to_owned())
}

pub(super) fn protocol(setup: Setup<'_>) -> Protocol {
    Protocol {
        at_entry: vec![Step::CounterInit],
        keeps_word: true,
        ..Protocol::new(
            vec![Step::CounterArrive, Step::OpenWindow],
            vec![Step::CloseWindow, Step::CounterWait],
            BesideFullBarrier::Independent,
            match setup.arch {
                Arch::Amdgpu(_) => None,
                // A leader releases for its warp, which fences of the lanes before it could not do.
                Arch::Nvptx(_) => Some(FenceScope::Workgroup),
            },
        )
    }
}
