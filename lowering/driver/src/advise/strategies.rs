//! A module, compiled with each strategy of a target.

use super::advice::{Candidate, Refused};
use crate::compile::{Barrier, Entry, Known, Output, barriers};
use crate::compiler::Compiler;
use crate::failure::Failure;
use crate::options::{Choice, Options, SplitBarriers};
use crate::window::Window;
use splitbar_passes::module::Scope;
use splitbar_plan::{PhaseCycles, Strategy};

/// A module, compiled with each strategy of the workgroup that fits it.
pub(super) struct Compiled {
    /// With strategies other than `fused`.
    pub(super) outputs: Vec<(Strategy, Output)>,
    /// The strategies that do not fit.
    pub(super) refused: Vec<Refused>,
}

impl Compiled {
    /// Compiles `bytes` with every barrier split, as far as `options` have barriers split.
    ///
    /// # Errors
    /// As [`Compiler::compile`] for a reason that lies not in the strategy.
    pub(super) fn with_each(bytes: &[u8], options: &Options) -> Result<Compiled, Failure> {
        let mut all = Compiled {
            outputs: Vec::new(),
            refused: Vec::new(),
        };
        let others = Strategy::all_of_target(options.target).into_iter();
        for strategy in others.filter(|s| s.scope() == Scope::Workgroup && *s != Strategy::Fused) {
            match compiled(bytes, options, strategy) {
                Ok(output) => all.outputs.push((strategy, output)),
                Err(failure) => all.refused.push(Refused {
                    strategy: strategy.name(),
                    reason: failure.of_strategy().ok_or(failure)?,
                }),
            }
        }
        Ok(all)
    }
}

/// Compiles with `strategy` and measures.
///
/// # Errors
/// As [`Compiler::compile`].
pub(super) fn compiled(
    bytes: &[u8],
    options: &Options,
    strategy: Strategy,
) -> Result<Output, Failure> {
    let options = Options {
        measure: true,
        strategy: Some(strategy),
        choice: Choice::AlwaysSplit,
        profile: None,
        split_barriers: match options.split_barriers {
            SplitBarriers::Never => SplitBarriers::Never,
            SplitBarriers::Auto | SplitBarriers::Always => SplitBarriers::Always,
        },
        ..options.clone()
    };
    Compiler::new(&options).compile(bytes)
}

/// Waves of a workgroup, where its size is known.
pub(super) fn waves(entry: &Entry) -> Option<u32> {
    entry.plan.workgroup_size.map(|[x, y, z]| {
        let invocations = u64::from(x) * u64::from(y) * u64::from(z);
        let waves = invocations.div_ceil(u64::from(entry.plan.wave_size));
        u32::try_from(waves).unwrap_or(u32::MAX)
    })
}

/// What `entry` takes, compiled with `strategy`.
pub(super) fn candidate(strategy: Strategy, entry: &Entry, known: Known<'_>) -> Candidate {
    let windows = entry.final_windows();
    let barriers = barriers(&entry.plan, &entry.source_pairs, windows, known);
    with_barriers(strategy, entry, barriers, known)
}

/// The same with `barriers` that are decided about.
pub(super) fn with_barriers(
    strategy: Strategy,
    entry: &Entry,
    barriers: Vec<Barrier>,
    known: Known<'_>,
) -> Candidate {
    let mut window = Window { source: 0, kept: 0 };
    for one in barriers.iter().filter_map(|barrier| barrier.window) {
        window.source += one.source;
        window.kept += one.kept;
    }
    Candidate {
        strategy: strategy.name(),
        overlap: strategy.overlap(),
        window,
        barriers,
        version: entry.version(),
        phase_cycles: PhaseCycles::estimate(strategy, known.options.target),
        estimate: None,
        of_full: None,
    }
}
