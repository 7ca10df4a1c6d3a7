//! The plan of one copy.

use splitbar_passes::analysis::async_copy::{AsyncCopy, Zeros};
use splitbar_passes::analysis::group_copies::Direction;
use splitbar_passes::module::WordOffset;
use std::fmt;

/// Most rounds of a copy of a group that are written one after the other; for more there is a loop,
/// and what it loads is not held in registers.
pub const MOST_ROUNDS: u32 = 16;

/// The engine of a copy.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// Loads and stores. The stores stand behind the loads, or, where the values are held in
    /// registers, where somebody needs them.
    Registers,
    /// AMDGPU: LDS DMA. The destination is one address for the wave; lane `n` writes `n` times 4
    /// bytes behind it (16 where 12 or 16 bytes are copied).
    LdsDma,
    /// AMDGPU gfx12.5: loads to and stores from LDS, with an LDS address for each lane.
    AsyncLds,
    /// NVPTX sm_80+: `cp.async`.
    CpAsync,
    /// NVPTX sm_90+: `cp.async.bulk`, one for all invocations.
    Bulk,
}

impl Engine {
    /// Returns true if marks count its copies. Registers need none, and bulk copies are counted by
    /// their mbarriers.
    pub fn has_marks(self) -> bool {
        match self {
            Engine::LdsDma | Engine::AsyncLds | Engine::CpAsync => true,
            Engine::Registers | Engine::Bulk => false,
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Engine::Registers => "registers",
            Engine::LdsDma => "lds-dma",
            Engine::AsyncLds => "async-lds",
            Engine::CpAsync => "cp-async",
            Engine::Bulk => "bulk",
        })
    }
}

/// The plan of one copy.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CopyPlan {
    /// By what.
    pub engine: Engine,
    /// The direction.
    pub direction: Direction,
    /// Bytes that an invocation copies at once.
    pub unit: u32,
    /// Elements of this many bytes.
    pub element_bytes: u32,
    /// For a store that has become a copy: the word offset of the load of its value. `None` for the
    /// copy of a group.
    pub load: Option<WordOffset>,
    /// The conditions under which such a store writes zeros instead of the loaded value.
    pub zeros: Zeros,
    /// The number of rounds in which each invocation copies one unit; `None` if it is unknown.
    pub rounds: Option<u32>,
    /// The set of registers that holds what it has loaded until
    /// [`StoreStaged`](crate::Step::StoreStaged), by its number; `None` when it is stored at once,
    /// or not by registers.
    pub staged: Option<usize>,
}

impl CopyPlan {
    /// The load that is not made, since the copy reads its source itself. One that may be made in
    /// vain, behind a branch, stays for what the copy does not need of it.
    pub(crate) fn replaced_load(&self) -> Option<WordOffset> {
        self.load.filter(|_| !self.zeros.any())
    }
}

impl fmt::Display for CopyPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} bytes at once", self.engine, self.unit)?;
        if let (None, Some(rounds)) = (self.load, self.rounds) {
            write!(f, ", {rounds} rounds")?;
        }
        if self.zeros.any() {
            write!(f, ", or zeros")?;
        }
        match self.staged {
            Some(slot) => write!(f, ", staged in set {slot}"),
            None => Ok(()),
        }
    }
}

/// The plan of a store that `engine` makes.
pub(super) fn plan_of(copy: &AsyncCopy, engine: Engine) -> CopyPlan {
    CopyPlan {
        engine,
        direction: Direction::ToWorkgroup,
        unit: copy.bytes,
        element_bytes: copy.bytes,
        load: Some(copy.load),
        zeros: copy.zeros,
        rounds: Some(1),
        staged: None,
    }
}
