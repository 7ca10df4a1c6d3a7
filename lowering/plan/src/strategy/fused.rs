//! One full barrier in place of the pair, at the wait or at the arrive.

use super::situation::Situation;
use crate::options::FuseAt;
use crate::protocol::{BesideFullBarrier, Protocol, Setup};
use crate::target::{Arch, FenceScope};

pub(super) fn fits(_: Situation) -> Result<String, String> {
    Ok("every target has a full barrier".to_owned())
}

pub(super) fn protocol(setup: Setup<'_>) -> Protocol {
    let orders = match setup.arch {
        Arch::Amdgpu(_) => None,
        Arch::Nvptx(_) => Some(FenceScope::Workgroup),
    };
    let (arrive, wait, beside) = match setup.fuse_at {
        FuseAt::Wait => (vec![], vec![setup.barrier], BesideFullBarrier::Satisfies),
        FuseAt::Arrive => (vec![setup.barrier], vec![], BesideFullBarrier::Independent),
    };
    Protocol::new(arrive, wait, beside, orders)
}
