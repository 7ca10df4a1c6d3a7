//! The options of a pass: those that its flag has after `=`, and those of the library alone.

use crate::module::{SpecValues, SplitBarrierExtension, WordOffset};
use crate::profile::Gpu;
use std::collections::BTreeSet;

/// The options of one run of a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PassOptions {
    /// Nothing.
    None,
    /// Where the fused barrier goes.
    Fuse(FuseAt),
    /// The extension that stays.
    Extension(SplitBarrierExtension),
    /// Barriers are taken to order all memory, whatever their semantics say.
    AllMemory,
    /// Any two buffers and images may be the same memory.
    Aliased,
    /// How many instructions a window must have at least.
    Narrow(u32),
    /// The options of `fill-split-barrier-windows`.
    Fill(Fill),
    /// How many instructions the iterations of a loop may have together.
    Unroll(u32),
    /// The options of `narrow-barriers-to-subgroups`.
    Subgroups {
        /// The number of invocations of a subgroup, at least 1.
        size: u32,
        /// OpControlBarriers that stay, at these words of the module that the pass is given. No
        /// flag says this.
        kept: BTreeSet<WordOffset>,
    },
    /// The options of `pipeline-barrier-loops`.
    PipelineLoops(PipelineLoops),
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
    /// OpControlBarriers that stay, at these words of the module that the pass is given. No flag
    /// says this.
    AllBut(BTreeSet<WordOffset>),
    /// The values of specialization constants. No flag says this.
    Values {
        /// By SpecId; the others have their default values.
        spec: SpecValues,
        /// The size of a workgroup where specialization constants give it.
        workgroup_size: Option<[u32; 3]>,
    },
}

impl PassOptions {
    /// Returns true if barriers are assumed to order all memory, whatever their memory semantics
    /// are.
    pub fn orders_all_memory(&self) -> bool {
        match self {
            PassOptions::AllMemory => true,
            PassOptions::Fill(fill) => fill.all_memory,
            PassOptions::PipelineLoops(pipeline) => pipeline.all_memory,
            PassOptions::None
            | PassOptions::Fuse(_)
            | PassOptions::Extension(_)
            | PassOptions::Aliased
            | PassOptions::Narrow(_)
            | PassOptions::Unroll(_)
            | PassOptions::Subgroups { .. }
            | PassOptions::Buffer { .. }
            | PassOptions::Clocks { .. }
            | PassOptions::AllBut(_)
            | PassOptions::Values { .. } => false,
        }
    }

    /// True if they name places in one module: they have no meaning for the module that comes out.
    pub(crate) fn name_places(&self) -> bool {
        match self {
            PassOptions::AllBut(_) => true,
            PassOptions::Subgroups { kept, .. } => !kept.is_empty(),
            _ => false, // none has words
        }
    }
}

/// The options of `pipeline-barrier-loops`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PipelineLoops {
    /// The part that runs one iteration ahead, before the work of the iteration.
    pub ahead: Ahead,
    /// The buffers of each array, if it gets several.
    pub buffers: Buffers,
    /// True if the last iteration stores as well: registers of any contents, where that is right
    /// and the loads alone are ahead. The other iterations need no branch then.
    pub always_store: bool,
    /// True if an OpControlBarrier takes the place of each arrive, and waits go.
    pub plain: bool,
    /// 32-bit words of loaded values that an invocation may keep over the work.
    pub most_words: u32,
    /// Bytes of workgroup memory that an entry point may take.
    pub most_memory: u32,
    /// True if any two buffers and images may be the same memory.
    pub aliased: bool,
    /// True if barriers are assumed to order all memory, whatever their memory semantics are.
    pub all_memory: bool,
}

impl Default for PipelineLoops {
    /// 64 words, and 32 KiB: the `maxComputeSharedMemorySize` that most Vulkan drivers have at
    /// least.
    fn default() -> PipelineLoops {
        PipelineLoops {
            ahead: Ahead::Either,
            buffers: Buffers::Two,
            always_store: false,
            plain: false,
            most_words: 64,
            most_memory: 32 << 10,
            aliased: false,
            all_memory: false,
        }
    }
}

/// The buffers of each array of a pipelined loop.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// Two: the window of the split barrier begins after the work and ends before that of the next
    /// iteration.
    Two,
    /// Three: the window contains the work of an iteration. Stores after the work are two
    /// iterations ahead; stores before it are one iteration ahead. No buffers alternate.
    Three,
    /// Four: the same, with all stores two iterations ahead and in the window, too.
    Four,
}

impl Buffers {
    /// Returns the number.
    pub fn count(self) -> u32 {
        match self {
            Buffers::Two => 2,
            Buffers::Three => 3,
            Buffers::Four => 4,
        }
    }
}

/// The part of a loop that runs one iteration ahead.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// The loads where their values can be kept, and else loads and stores; nothing where neither
    /// can be ahead.
    Either,
    /// The loads: their values are kept in registers over the work, and stored after it.
    Loads,
    /// Loads and stores.
    Stage,
    /// Loads and stores if each store is a plain copy that can be asynchronous
    /// ([`crate::analysis::async_copy`]), and else as with `Either`.
    Copies,
    /// The loads, and the arrays keep their one buffer: a barrier is between the work and the
    /// stores.
    LoadsOfOneBuffer,
    /// Nothing: the buffers alternate, and the second barrier of an iteration goes.
    Nothing,
}

impl Ahead {
    /// True if each array gets several buffers.
    pub(crate) fn has_buffers(self) -> bool {
        match self {
            Ahead::Either | Ahead::Loads | Ahead::Stage | Ahead::Copies | Ahead::Nothing => true,
            Ahead::LoadsOfOneBuffer => false,
        }
    }

    /// The parts that are tried, in order; none if nothing runs ahead. With more than two buffers,
    /// loads need more iterations whose beginning is known than loads and stores.
    pub(crate) fn tried(self, has_more: bool) -> &'static [Ahead] {
        match self {
            Ahead::Either if has_more => &[Ahead::Loads, Ahead::Stage],
            Ahead::Either => &[Ahead::Either],
            Ahead::Loads => &[Ahead::Loads],
            Ahead::Stage => &[Ahead::Stage],
            Ahead::Copies => &[Ahead::Copies],
            Ahead::LoadsOfOneBuffer => &[Ahead::LoadsOfOneBuffer],
            Ahead::Nothing => &[],
        }
    }

    /// True if the buffers of a loop may alternate while nothing runs ahead.
    pub(crate) fn may_alternate(self) -> bool {
        match self {
            Ahead::Either | Ahead::Copies | Ahead::Nothing => true,
            Ahead::Loads | Ahead::Stage | Ahead::LoadsOfOneBuffer => false,
        }
    }
}

/// The place of a fused barrier.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum FuseAt {
    /// To the waits.
    Wait,
    /// To the arrives.
    Arrive,
}

/// The options of `fill-split-barrier-windows`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    /// 32-bit words of results that may be live at a half, for each invocation.
    pub most_live: u32,
    /// True if barriers are assumed to order all memory, whatever their memory semantics are.
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
