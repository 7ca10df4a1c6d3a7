//! Whether barriers that nobody split are split.

use clap::{Args, ValueEnum};
use splitbar::{Options, SplitBarriers};

/// The two flags that `lower`, `advise`, `sim` and `model` share.
#[derive(Debug, Args)]
pub(super) struct SplitArgs {
    /// Splits OpControlBarriers of the workgroup, and moves the halves of these and of written
    /// pairs apart as far as no access can tell
    #[arg(long, value_enum, default_value_t = SplitBarriersArg::Never)]
    split_barriers: SplitBarriersArg,
    /// With --split-barriers: takes every barrier to order all memory, for shaders that count on
    /// barrier() to order buffers though it names workgroup memory alone
    #[arg(long)]
    assume_barriers_order_all_memory: bool,
}

impl SplitArgs {
    /// Asks for it.
    pub(super) fn set(&self, options: &mut Options) {
        options.split_barriers = self.split_barriers.into();
        options.barriers_order_all_memory = self.assume_barriers_order_all_memory;
    }

    /// Whether a flag was given.
    pub(super) fn any(&self) -> bool {
        self.split_barriers != SplitBarriersArg::Never || self.assume_barriers_order_all_memory
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
