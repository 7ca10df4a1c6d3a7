//! Values that options can have.

use super::values::Named;
use splitbar_plan::{FuseAt, Optimization, Strategy, Waits};

/// The way to choose the strategy of workgroup-scope pairs.
#[derive(Copy, Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Choice {
    /// The best strategy that splits, whenever one is possible.
    AlwaysSplit,
    /// The best strategy that splits; a full barrier for each pair whose window in SPIR-V is
    /// narrower than the target's row requires. Compiles once, and does not consider the number of
    /// registers.
    Fast,
    /// The best strategy that splits; a full barrier for each pair whose window in the final code
    /// is narrower than the target's row requires, and for all pairs of an entry point whose
    /// occupancy they lower. The module is compiled with every pair split, and again if that does
    /// not decide all pairs. On NVIDIA GPUs, ptxas reports the resource usage; without ptxas,
    /// bounds of the resource usage are used.
    Balanced,
    /// As [`Balanced`](Choice::Balanced), but with the estimated time of a launch
    /// ([`Options::launch`](crate::Options::launch)), which includes the number of resident
    /// workgroups. The module is compiled with every other strategy that splits as well, and the
    /// fastest version is taken ([`Reasons::strategy`](crate::Reasons::strategy)).
    Measured,
}

/// The OpControlBarriers of workgroup scope to split.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum SplitBarriers {
    /// None. Pairs that the module contains do not change either.
    #[default]
    Never,
    /// As [`SplitBarriers::Always`], but only barriers whose split is expected to save cycles:
    /// [`Choice::Fast`] decides if the options select it, otherwise [`Choice::Balanced`].
    Auto,
    /// All. Barriers that order nothing are removed, and each of the others becomes a pair. Arrives
    /// move up and waits move down past work that the barrier does not have to order, also in pairs
    /// that the module contains. Pairs whose window stays small become OpControlBarriers again.
    Always,
}

/// The pipelining of loops with barriers (`pipeline-barrier-loops`): the loads of the next
/// iteration execute during the current one.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum PipelineLoops {
    /// Pipelines no loops.
    #[default]
    Never,
    /// Prefetches the loads of all possible loops. Arrays keep one buffer, and an iteration keeps
    /// its two barriers.
    OneBuffer,
    /// Pipelines all possible loops, with two buffers for each array and one split barrier in each
    /// iteration, if the workgroup memory of the target is large enough.
    TwoBuffers,
    /// As [`TwoBuffers`](PipelineLoops::TwoBuffers), but the last iteration stores too, if only
    /// loads are prefetched and the additional store is correct. The stores then need no branch.
    TwoBuffersAlwaysStored,
    /// As with [`TwoBuffers`](PipelineLoops::TwoBuffers), but loops that only copy to workgroup
    /// memory are pipelined with asynchronous copies, as [`Options::promote_async_copies`] makes
    /// them: no registers hold the data of the next iteration.
    ///
    /// [`Options::promote_async_copies`]: super::Options::promote_async_copies
    TwoBuffersAsync,
    /// As [`TwoBuffers`](PipelineLoops::TwoBuffers), with three buffers for each array: loads are
    /// two iterations ahead, and the window of the split barrier contains the work. If loads cannot
    /// be kept in registers, as [`ThreeBuffersStage`](PipelineLoops::ThreeBuffersStage).
    ThreeBuffers,
    /// Pipelines all possible loops with three buffers for each array. Loads and stores of the next
    /// iteration precede the work, and the window of the split barrier contains the work.
    ThreeBuffersStage,
    /// As [`ThreeBuffers`](PipelineLoops::ThreeBuffers), with four buffers: all stores are two
    /// iterations ahead, and stores after the work are in the window too.
    FourBuffers,
    /// The variant that is expected to take the fewest cycles, if with it at least one entry point
    /// is expected to take fewer cycles than without pipelining, and none more.
    Auto,
}

/// The memory that workgroup barriers order: all that their semantics name, or only memory on which
/// two invocations can conflict around the barrier
/// ([`Narrowed`](splitbar_passes::analysis::phases::Narrowed)).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum NarrowBarriers {
    /// All memory that the semantics name, in the whole workgroup.
    Never,
    /// Memory with conflicts; any buffers, images and pointers can alias.
    Aliased,
    /// Memory with conflicts, according to the aliasing rules of SPIR-V (2.18.2): buffers, images
    /// and pointers do not alias without the decoration Aliased, in OpenCL only with Restrict.
    #[default]
    Declared,
}

impl Choice {
    /// The value of `auto`, which is the default. A build without LLVM cannot compile the versions
    /// that [`Balanced`](Choice::Balanced) compares.
    pub const AUTO: Choice = if cfg!(feature = "llvm") {
        Choice::Balanced
    } else {
        Choice::Fast
    };
}

impl Default for Choice {
    fn default() -> Self {
        Choice::AUTO
    }
}

pub(super) const CHOICES: &Named<Choice> = &[
    ("auto", Choice::AUTO, "As auto=balanced"),
    (
        "auto=balanced",
        Choice::Balanced,
        "The best strategy that splits; full barriers if the split is not expected to save cycles, or lowers the occupancy. Compiles twice, and again if only some barriers are split",
    ),
    (
        "auto=measured",
        Choice::Measured,
        "As auto=balanced, but with the estimated time of a launch (--groups, --resident, --buffer, --push), and with every strategy that splits. Compiles once more for each of them",
    ),
    (
        "auto=fast",
        Choice::Fast,
        "The best strategy that splits; full barriers if the window in SPIR-V is too narrow. Compiles once",
    ),
    (
        "auto=always-split",
        Choice::AlwaysSplit,
        "The best strategy that splits, whenever one is possible",
    ),
];

pub(super) const SPLIT_BARRIERS: &Named<SplitBarriers> = &[
    ("never", SplitBarriers::Never, "Splits no barriers"),
    (
        "auto",
        SplitBarriers::Auto,
        "Splits barriers if that is expected to save cycles, as --strategy auto=balanced or auto=fast decides",
    ),
    (
        "always",
        SplitBarriers::Always,
        "Splits all barriers that have work for their windows",
    ),
];

impl SplitBarriers {
    /// Returns the name that selects it on the command line.
    pub(crate) fn name(self) -> &'static str {
        name(SPLIT_BARRIERS, self)
    }
}

pub(super) const PIPELINE_LOOPS: &Named<PipelineLoops> = &[
    ("never", PipelineLoops::Never, "Pipelines no loops"),
    (
        "1",
        PipelineLoops::OneBuffer,
        "Prefetches the loads of all possible loops; arrays keep one buffer",
    ),
    (
        "2",
        PipelineLoops::TwoBuffers,
        "Pipelines all possible loops with two buffers",
    ),
    (
        "2-always-store",
        PipelineLoops::TwoBuffersAlwaysStored,
        "As 2, and the last iteration stores too",
    ),
    (
        "2-async",
        PipelineLoops::TwoBuffersAsync,
        "As 2, with asynchronous copies where a loop only copies",
    ),
    (
        "3",
        PipelineLoops::ThreeBuffers,
        "Three buffers: loads are two iterations ahead, and the window contains the work",
    ),
    (
        "3-stage",
        PipelineLoops::ThreeBuffersStage,
        "Three buffers: loads and stores precede the work, and the window contains the work",
    ),
    (
        "4",
        PipelineLoops::FourBuffers,
        "As 3 with four buffers, and the window contains the stores too",
    ),
    (
        "auto",
        PipelineLoops::Auto,
        "Chooses one of these if fewer cycles are expected",
    ),
];

impl PipelineLoops {
    /// Returns the name that selects it on the command line.
    #[cfg(feature = "sim")]
    pub(crate) fn name(self) -> &'static str {
        name(PIPELINE_LOOPS, self)
    }
}

/// Returns the name of a value; empty if the table does not contain it.
fn name<T: Copy + PartialEq>(names: &Named<T>, value: T) -> &'static str {
    let mut names = names.iter();
    let found = names.find(|(_, other, _)| *other == value);
    found.map_or("", |(name, ..)| name)
}

pub(super) const NARROW_BARRIERS: &Named<NarrowBarriers> = &[
    (
        "never",
        NarrowBarriers::Never,
        "Barriers order all memory that their semantics name, for the whole workgroup",
    ),
    (
        "aliased",
        NarrowBarriers::Aliased,
        "Assumes that any buffers, images and pointers can alias",
    ),
    (
        "declared",
        NarrowBarriers::Declared,
        "Uses the aliasing rules of SPIR-V (2.18.2): buffers, images and pointers do not alias without Aliased, in OpenCL only with Restrict",
    ),
];

pub(super) const FUSE_AT: &Named<FuseAt> = &[
    ("arrive", FuseAt::Arrive, "At the arrive: before the window"),
    ("wait", FuseAt::Wait, "At the wait: after the window"),
];

pub(super) const WAITS: &Named<Waits> = &[
    (
        "auto",
        Waits::Auto,
        "Waits that the fences need, placed by LLVM",
    ),
    (
        "explicit",
        Waits::Explicit,
        "The same waits as instructions before each fence; LLVM adds none at barriers",
    ),
    (
        "conservative",
        Waits::Conservative,
        "Waits for everything at every barrier, for comparison",
    ),
];

pub(super) const LEVELS: &Named<Optimization> = &[
    ("0", Optimization::O0, "None"),
    ("1", Optimization::O1, "Some"),
    ("2", Optimization::O2, "LLVM's usual ones"),
    ("3", Optimization::O3, "All"),
];

pub(super) const WAVES: &Named<Option<u32>> = &[("32", Some(32), ""), ("64", Some(64), "")];

/// Returns the name and the summary of each strategy.
pub(crate) fn strategies() -> impl Iterator<Item = (&'static str, &'static str)> {
    Strategy::ALL
        .iter()
        .map(|strategy| (strategy.name(), strategy.summary()))
}
