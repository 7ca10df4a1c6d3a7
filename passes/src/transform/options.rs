//! What the flags of passes say behind their `=`.

use crate::module::Spelling;
use crate::profile::Gpu;

/// What a flag says behind its `=`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum PassOptions {
    /// Nothing.
    None,
    /// Where the fused barrier goes.
    Fuse(FuseAt),
    /// The spelling that stays.
    Spelling(Spelling),
    /// Barriers are taken to order all memory, whatever their semantics say.
    AllMemory,
    /// Any two buffers and images may be the same memory.
    Aliased,
    /// How many instructions a window must have at least.
    Narrow(u32),
    /// How windows are filled.
    Fill(Fill),
    /// How many instructions the iterations of a loop may have together.
    Unroll(u32),
    /// The storage buffer that is written.
    Buffer {
        /// DescriptorSet.
        set: u32,
        /// Binding.
        binding: u32,
    },
    /// The storage buffer that clocks are written to.
    Clocks {
        /// DescriptorSet.
        set: u32,
        /// Binding.
        binding: u32,
        /// What the module is to run on, for the header.
        gpu: Option<Gpu>,
    },
}

impl PassOptions {
    /// Whether barriers are taken to order all memory, whatever their semantics say.
    pub fn orders_all_memory(&self) -> bool {
        match self {
            PassOptions::AllMemory => true,
            PassOptions::Fill(fill) => fill.all_memory,
            PassOptions::None
            | PassOptions::Fuse(_)
            | PassOptions::Spelling(_)
            | PassOptions::Aliased
            | PassOptions::Narrow(_)
            | PassOptions::Unroll(_)
            | PassOptions::Buffer { .. }
            | PassOptions::Clocks { .. } => false,
        }
    }
}

/// Where the barrier goes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum FuseAt {
    /// To the waits.
    Wait,
    /// To the arrives.
    Arrive,
}

/// How windows are filled.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    /// 32-bit words of results that may be live at a half, for each invocation.
    pub most_live: u32,
    /// Whether barriers are taken to order all memory, whatever their semantics say.
    pub all_memory: bool,
}

impl Default for Fill {
    /// 96 words: as many registers leave every GPU of the tables at least half of its waves.
    fn default() -> Fill {
        Fill {
            most_live: 96,
            all_memory: false,
        }
    }
}
