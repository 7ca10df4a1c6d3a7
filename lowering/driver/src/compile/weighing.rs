//! The ways to decide which barriers are split.

use crate::options::{Choice, Options, SplitBarriers};

/// How barriers are weighed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Weighing {
    /// Not at all: the options say it.
    Done,
    /// By the plan.
    ByPlan,
    /// By compiling.
    ByCode,
}

impl Weighing {
    /// How the options have barriers weighed.
    pub(crate) fn from_options(options: &Options) -> Weighing {
        let names_strategy = options.strategy.is_some();
        let gates = options.split_barriers == SplitBarriers::Auto;
        if names_strategy && !gates {
            return Weighing::Done;
        }
        match options.choice {
            Choice::Fast => Weighing::ByPlan,
            Choice::AlwaysSplit if !gates && options.profile.is_none() => Weighing::Done,
            Choice::AlwaysSplit | Choice::Balanced | Choice::Measured => Weighing::ByCode,
        }
    }
}
