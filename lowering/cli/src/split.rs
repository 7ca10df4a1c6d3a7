//! Whether barriers that nobody split are split.

use clap::{Args, ValueEnum};
use splitbar::{NarrowBarriers, Options, SplitBarriers};

/// The flags that `lower`, `advise`, `sim` and `model` share.
#[derive(Clone, Debug, Args)]
pub(super) struct SplitArgs {
    /// Splits OpControlBarriers, and moves the halves of all pairs apart
    ///
    /// As far as no access can tell: docs/splitting.md.
    #[arg(long, value_enum, default_value_t = SplitBarriersArg::Never)]
    split_barriers: SplitBarriersArg,
    /// With --split-barriers: every barrier orders all memory
    ///
    /// For shaders that count on barrier() to order buffers though it names workgroup memory alone.
    /// No barrier is narrowed then.
    #[arg(long)]
    assume_barriers_order_all_memory: bool,
    /// Whether a workgroup barrier orders all the memory that its semantics name, or only memory on
    /// which two invocations can conflict around the barrier
    #[arg(long, value_enum, default_value_t = NarrowBarriersArg::Declared)]
    narrow_barriers: NarrowBarriersArg,
    /// With --split-barriers: moves other instructions into the windows too, as long as at most N
    /// registers of results are live at an arrive or a wait (96 without =N)
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "96"
    )]
    fill_windows: Option<u32>,
    /// With --split-barriers: loads one iteration ahead what a loop stores to shared memory in
    /// front of its first barrier
    #[arg(long)]
    stage_loop_loads: bool,
    /// With --split-barriers: unrolls loops that have barriers and a constant number of iterations,
    /// up to N instructions of SPIR-V for each loop
    #[arg(long, value_name = "N")]
    unroll_barrier_loops: Option<u32>,
}

impl SplitArgs {
    /// Asks for it.
    pub(super) fn set(&self, options: &mut Options) {
        options.split_barriers = self.split_barriers.into();
        options.barriers_order_all_memory = self.assume_barriers_order_all_memory;
        options.narrow_barriers = self.narrow_barriers.into();
        options.fill_windows = self.fill_windows;
        options.stage_loop_loads = self.stage_loop_loads;
        options.unroll_barrier_loops = self.unroll_barrier_loops;
    }

    /// Whether a flag was given.
    pub(super) fn any(&self) -> bool {
        self.split_barriers != SplitBarriersArg::Never
            || self.assume_barriers_order_all_memory
            || self.narrow_barriers != NarrowBarriersArg::Declared
            || self.fill_windows.is_some()
            || self.stage_loop_loads
            || self.unroll_barrier_loops.is_some()
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum NarrowBarriersArg {
    /// They order all that their semantics name
    Never,
    /// Any two buffers, images and pointers may be the same memory
    Aliased,
    /// Buffers, images and pointers are separate memory where SPIR-V says so (2.18.2): those that
    /// are not decorated Aliased, in OpenCL those that are Restrict
    Declared,
}

impl From<NarrowBarriersArg> for NarrowBarriers {
    fn from(arg: NarrowBarriersArg) -> NarrowBarriers {
        match arg {
            NarrowBarriersArg::Never => NarrowBarriers::Never,
            NarrowBarriersArg::Aliased => NarrowBarriers::Aliased,
            NarrowBarriersArg::Declared => NarrowBarriers::Declared,
        }
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum SplitBarriersArg {
    /// Leaves every barrier as it is
    Never,
    /// As always, but barriers that are not worth it stay as they are: by --strategy auto=fast or
    /// auto=balanced
    Auto,
    /// Splits what has work for a window
    Always,
}

impl From<SplitBarriersArg> for SplitBarriers {
    fn from(arg: SplitBarriersArg) -> SplitBarriers {
        match arg {
            SplitBarriersArg::Never => SplitBarriers::Never,
            SplitBarriersArg::Auto => SplitBarriers::Auto,
            SplitBarriersArg::Always => SplitBarriers::Always,
        }
    }
}
