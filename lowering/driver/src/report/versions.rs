//! The versions of a module that a report compares.

use super::model::Setting;
use crate::compile::Output;
use crate::compiler::Compiler;
use crate::failure::Failure;
use crate::options::{Choice, Options, PipelineLoops, SplitBarriers};
use splitbar_passes::module::{Module, Scope};
use splitbar_plan::Strategy;

/// The name of the version with full barriers.
pub(super) const FULL: &str = "full";

/// The name of the version in which the compiler decides about each barrier.
pub(super) const AUTO: &str = "auto";

/// The versions with pipelined loops: their names, and how the loops are pipelined.
const PIPELINED: [(&str, PipelineLoops); 6] = [
    ("pipelined-1", PipelineLoops::OneBuffer),
    ("pipelined-2", PipelineLoops::TwoBuffers),
    (
        "pipelined-2-always-store",
        PipelineLoops::TwoBuffersAlwaysStored,
    ),
    ("pipelined-2-async", PipelineLoops::TwoBuffersAsync),
    ("pipelined-3", PipelineLoops::ThreeBuffers),
    ("pipelined-3-stage", PipelineLoops::ThreeBuffersStage),
];

/// A version to compile.
pub(super) struct Version {
    /// Its name.
    pub(super) name: &'static str,
    /// The options that make it, as people read them.
    pub(super) settings: Vec<Setting>,
    options: Options,
}

/// How the loops of the version with this name are pipelined; `None` where they are not.
pub(super) fn pipelining(name: &str) -> Option<PipelineLoops> {
    let mut all = PIPELINED.iter();
    let found = all.find(|(other, _)| *other == name);
    found.map(|(_, loops)| *loops)
}

impl Version {
    /// Compiles it, and measures and audits its code.
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    pub(super) fn compile(&self, bytes: &[u8]) -> Result<Output, Failure> {
        Compiler::new(&self.options).compile(bytes)
    }
}

/// Returns true if the module has an OpControlBarrier.
pub(super) fn has_plain_barriers(module: &Module<'_>) -> bool {
    let mut instructions = module.instructions();
    instructions.any(|inst| inst.op() == Some(spirv::Op::ControlBarrier))
}

/// The versions of a module, the one with full barriers first. `is_plain`: the module has an
/// OpControlBarrier. What `options` say about strategies, splitting and pipelining is not looked
/// at.
pub(super) fn versions(options: &Options, is_plain: bool) -> Vec<Version> {
    let base = Options {
        measure: true,
        audit: true,
        lines: true,
        profile: None,
        strategy: None,
        choice: Choice::Balanced,
        split_barriers: SplitBarriers::Never,
        pipeline_loops: PipelineLoops::Never,
        ..options.clone()
    };
    let setting = |option, value: &str| Setting {
        option,
        value: value.to_owned(),
    };
    let split = |when: SplitBarriers| {
        if is_plain {
            (when, vec![setting("split-barriers", when.name())])
        } else {
            (SplitBarriers::Never, Vec::new())
        }
    };
    let mut versions = vec![Version {
        name: FULL,
        settings: vec![setting("strategy", Strategy::Fused.name())],
        options: Options {
            strategy: Some(Strategy::Fused),
            choice: Choice::AlwaysSplit,
            ..base.clone()
        },
    }];
    let (split_barriers, settings) = split(SplitBarriers::Auto);
    versions.push(Version {
        name: AUTO,
        settings: settings.clone(),
        options: Options {
            split_barriers,
            ..base.clone()
        },
    });
    if is_plain {
        versions.extend(PIPELINED.into_iter().map(|(name, pipeline_loops)| {
            let mut settings = settings.clone();
            settings.push(setting("pipeline-loops", pipeline_loops.name()));
            Version {
                name,
                settings,
                options: Options {
                    split_barriers,
                    pipeline_loops,
                    ..base.clone()
                },
            }
        }));
    }
    let (split_barriers, settings) = split(SplitBarriers::Always);
    let all = Strategy::all_of_target(options.target).into_iter();
    let others = all.filter(|s| s.scope() == Scope::Workgroup && *s != Strategy::Fused);
    versions.extend(others.map(|strategy| {
        let mut settings = settings.clone();
        settings.push(setting("strategy", strategy.name()));
        Version {
            name: strategy.name(),
            settings,
            options: Options {
                strategy: Some(strategy),
                choice: Choice::AlwaysSplit,
                split_barriers,
                ..base.clone()
            },
        }
    }));
    versions
}
