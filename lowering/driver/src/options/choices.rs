//! The choices that options offer.

use super::values::Named;
use splitbar_plan::{FuseAt, Optimization, Strategy, Waits};

/// The way to choose the strategy of workgroup-scope pairs.
#[derive(Copy, Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Choice {
    /// The best one that splits, wherever one fits, worth it or not.
    AlwaysSplit,
    /// That one, or a full barrier in place of each pair whose window in SPIR-V is narrower than
    /// the target's row asks for. Compiles once; what registers a kernel takes is not looked at.
    Fast,
    /// That one, or a full barrier in place of each pair whose window in the final code is narrower
    /// than the target's row asks for, and of all pairs of an entry point that leave fewer
    /// workgroups resident at once. The module is compiled with every pair split, and once more if
    /// that leaves something open. On NVIDIA GPUs ptxas reports the resource usage; without it
    /// bounds of that decide.
    Balanced,
    /// As [`Balanced`](Choice::Balanced), by the time that a launch is estimated to take
    /// ([`Options::launch`](crate::Options::launch)), which says how many workgroups run at the
    /// same time too.
    Measured,
}

/// The OpControlBarriers of the workgroup to split.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum SplitBarriers {
    /// They stay as they are, and so do written pairs.
    #[default]
    Never,
    /// As [`SplitBarriers::Always`], but barriers that are not worth it stay as they are: by
    /// [`Choice::Fast`] where the options say that, else as by [`Choice::Balanced`].
    Auto,
    /// Those that order nothing go. Each of the others becomes a pair; arrives move up and waits
    /// down, those of written pairs as well, past work that the barrier need not order; and pairs
    /// whose window stays small become OpControlBarriers again.
    Always,
}

/// The way to pipeline loops with barriers (`pipeline-barrier-loops`): the next iteration is loaded
/// while this one works.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum PipelineLoops {
    /// They stay as they are.
    #[default]
    Never,
    /// Loads of all that can be run ahead. The arrays stay as they are, and so do the two barriers
    /// of an iteration.
    OneBuffer,
    /// All that can be are, with two buffers for each array and one split barrier an iteration,
    /// within the workgroup memory of the target.
    TwoBuffers,
    /// As with [`TwoBuffers`](PipelineLoops::TwoBuffers), and the last iteration stores as well,
    /// where only loads run ahead and that is right: no branch is around the stores then.
    TwoBuffersAlwaysStored,
    /// As with [`TwoBuffers`](PipelineLoops::TwoBuffers), but loops that only copy to workgroup
    /// memory are pipelined with asynchronous copies, as [`Options::promote_async_copies`] makes
    /// them: no registers hold the data of the next iteration.
    ///
    /// [`Options::promote_async_copies`]: super::Options::promote_async_copies
    TwoBuffersAsync,
    /// In the one of the other ways that is expected to take the fewest cycles, if an entry point
    /// is expected to take fewer cycles by that than as it is, and none more.
    Auto,
}

/// The memory that workgroup barriers order: all that their semantics name, or only memory on which
/// two invocations can conflict around the barrier
/// ([`Narrowed`](splitbar_passes::analysis::phases::Narrowed)).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum NarrowBarriers {
    /// All that the semantics name.
    Never,
    /// Memory with conflicts; any two buffers, images and pointers may be the same memory.
    Aliased,
    /// Memory with conflicts; buffers, images and pointers are separate memory where SPIR-V says so
    /// (2.18.2): without the decoration Aliased, and in OpenCL with Restrict.
    #[default]
    Declared,
}

impl Choice {
    /// The choice `auto`, which is the default everywhere: in a build that makes no code there is
    /// nothing to balance.
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
        "As auto=balanced, but with the estimated time of a launch (--groups, --resident, --buffer, --push)",
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
    /// Its name, as the options are written.
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
        "auto",
        PipelineLoops::Auto,
        "Chooses one of these if fewer cycles are expected",
    ),
];

impl PipelineLoops {
    /// Its name, as the options are written.
    #[cfg(feature = "sim")]
    pub(crate) fn name(self) -> &'static str {
        name(PIPELINE_LOOPS, self)
    }
}

/// The name of a value.
fn name<T: Copy + PartialEq>(names: &Named<T>, value: T) -> &'static str {
    let mut names = names.iter();
    let found = names.find(|(_, other, _)| *other == value);
    found.map_or("", |(name, ..)| name)
}

pub(super) const NARROW_BARRIERS: &Named<NarrowBarriers> = &[
    (
        "never",
        NarrowBarriers::Never,
        "Barriers order all memory that their semantics name",
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

/// The strategies, each with what it does.
pub(crate) fn strategies() -> impl Iterator<Item = (&'static str, &'static str)> {
    Strategy::ALL
        .iter()
        .map(|strategy| (strategy.name(), strategy.summary()))
}
