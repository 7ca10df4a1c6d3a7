//! The time of each candidate.

use super::kernels::Kernel;
use crate::support::target;
use anyhow::{Context, Result, anyhow, bail, ensure};
use splitbar::simulate::{Inputs, Job};
use splitbar::{
    Choice, Compiler, Launch, Options, Output, PipelineLoops, SplitBarriers, Strategy, exit,
};
use splitbar_passes::module::Scope;

/// The GPUs of the page.
pub(super) const TARGETS: [&str; 6] = ["gfx942", "gfx1100", "gfx1201", "gfx1250", "sm_80", "sm_90"];

/// The times of a kernel on one GPU, in cycles.
pub(super) struct Measured {
    /// With full barriers.
    pub(super) full: u64,
    /// Of the best candidate, full barriers among them.
    pub(super) best: u64,
    pub(super) best_name: &'static str,
    /// Cycles of the choice of `auto`.
    pub(super) chosen: u64,
    pub(super) choice: &'static str,
    /// The same of `auto=measured`, which knows the launch.
    pub(super) measured: u64,
    /// Cycles with `--pipeline-loops auto`, if it pipelines a loop.
    pub(super) pipelined: Option<u64>,
    /// The same of `auto=measured`.
    pub(super) pipelined_measured: Option<u64>,
    /// The time with all barriers split, divided by the time with full barriers: expected, and
    /// estimated for the launch. `None` where the choice did not compare times.
    pub(super) ratios: Option<[f64; 2]>,
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn ratio(one: u64, other: u64) -> f64 {
    one as f64 / other.max(1) as f64
}

impl Measured {
    pub(super) fn of_best(&self) -> f64 {
        ratio(self.chosen, self.best)
    }

    pub(super) fn of_full(&self) -> f64 {
        ratio(self.chosen, self.full)
    }

    pub(super) fn measured_of_best(&self) -> f64 {
        ratio(self.measured, self.best)
    }

    /// The time with pipelined loops over that with full barriers.
    pub(super) fn pipelined_of_full(&self) -> Option<f64> {
        Some(ratio(self.pipelined?, self.full))
    }

    /// The same of `auto=measured`.
    pub(super) fn pipelined_measured_of_full(&self) -> Option<f64> {
        Some(ratio(self.pipelined_measured?, self.full))
    }
}

/// The times of `kernel` on the GPU `on`; `None` if it is not for this GPU, has no barrier to
/// choose for, or cannot be estimated there.
///
/// # Errors
/// Bugs, and findings in one of the candidates but not in full barriers.
pub(super) fn measure(kernel: &Kernel, on: &str) -> Result<Option<Measured>> {
    let Some(output) = compiled(kernel, on, |options| {
        options.strategy = Some(Strategy::Fused);
    })?
    else {
        return Ok(None);
    };
    let has_pairs = |output: &Output| {
        let mut entries = output.entries().iter();
        entries.any(|entry| !entry.plan.pairs.is_empty())
    };
    let splits = if has_pairs(&output) {
        [SplitBarriers::Never; 2]
    } else {
        [SplitBarriers::Always, SplitBarriers::Auto]
    };
    let Some(full) = cycles(kernel, &output)? else {
        return Ok(None);
    };
    let (mut best, mut best_name) = (full, "full barriers");
    let mut all = Vec::new();
    let strategies = Strategy::all_of_target(target(on)?);
    let splitting = strategies
        .into_iter()
        .filter(|one| one.scope() == Scope::Workgroup && *one != Strategy::Fused);
    for strategy in splitting {
        let candidate = compiled(kernel, on, |options| {
            options.strategy = Some(strategy);
            options.split_barriers = splits[0];
        })?;
        let Some(candidate) = candidate.filter(has_pairs) else {
            continue;
        };
        let Some(time) = cycles(kernel, &candidate)? else {
            bail!("{strategy}: the simulator finds something that full barriers do not have");
        };
        all.push((strategy.name(), time));
        if time < best {
            (best, best_name) = (time, strategy.name());
        }
    }
    if all.is_empty() {
        return Ok(None);
    }
    let auto = |choice, pipeline_loops| {
        compiled(kernel, on, |options| {
            options.choice = choice;
            options.split_barriers = splits[1];
            options.pipeline_loops = pipeline_loops;
            options.launch = (choice == Choice::Measured).then(|| launch(&kernel.inputs));
        })
    };
    let time = |output: &Output| match cycles(kernel, output)? {
        Some(time) => Ok(time),
        None => bail!("auto: the simulator finds something that full barriers do not have"),
    };
    let pipelined = |choice| match auto(choice, PipelineLoops::Auto)? {
        Some(output) if is_pipelined(&output) => Ok::<_, anyhow::Error>(Some(time(&output)?)),
        _ => Ok(None),
    };
    let of_launch = auto(Choice::Measured, PipelineLoops::Never)?;
    let of_launch = of_launch.context("auto=measured does not compile it, and fused does")?;
    let measured = time(&of_launch)?;
    let pipelined_measured = pipelined(Choice::Measured)?;
    let pipelined = pipelined(Choice::Balanced)?;
    let auto = auto(Choice::Balanced, PipelineLoops::Never)?;
    let auto = auto.context("auto does not compile it, and fused does")?;
    let chosen = time(&auto)?;
    let entry = auto.entries().first();
    let split = entry.and_then(|entry| {
        let pairs = entry.plan.pairs.iter();
        pairs.map(|pair| pair.strategy).find(|one| one.is_split())
    });
    let decisions = entry.and_then(|entry| entry.decisions.as_ref());
    let ratios = decisions.and_then(|decisions| {
        let strategy = decisions.barriers.first()?.strategy;
        let (_, time) = all.iter().find(|(name, _)| *name == strategy)?;
        let expected = decisions.split.expected.as_ref()?;
        let expected = expected.over(decisions.full.as_ref()?.expected.as_ref()?)?;
        Some([expected, ratio(*time, full)])
    });
    Ok(Some(Measured {
        full,
        best,
        best_name,
        chosen,
        measured,
        pipelined,
        pipelined_measured,
        choice: split.map_or("full barriers", Strategy::name),
        ratios,
    }))
}

/// Why `auto=measured` takes its strategy for `kernel`, with plain barriers or pairs.
///
/// # Errors
/// Kernels that are not compiled, and those without a reason.
pub(super) fn strategy(kernel: &Kernel, on: &str) -> Result<String> {
    let output = compiled(kernel, on, |options| {
        options.choice = Choice::Measured;
        options.split_barriers = SplitBarriers::Auto;
        options.launch = Some(launch(&kernel.inputs));
    })?;
    let output = output.context("it is not compiled")?;
    output.reasons().strategy.clone().context("no reason")
}

/// Returns true if a loop of the kernel was pipelined.
fn is_pipelined(output: &Output) -> bool {
    let outcome = output.reasons().loops.as_deref();
    outcome.is_some_and(|outcome| outcome.starts_with("pipelined "))
}

/// The launch of `inputs`, by which `auto=measured` decides.
fn launch(inputs: &Inputs) -> Launch {
    let mut launch = Launch::new(inputs.groups, inputs.buffers.clone());
    launch.push.clone_from(&inputs.push);
    launch.dynamic_shared = inputs.dynamic_shared;
    launch.steps = inputs.limits.steps;
    launch
}

/// `kernel` for the GPU `on`; `None` where that is not supported.
fn compiled(
    kernel: &Kernel,
    on: &str,
    change: impl FnOnce(&mut Options),
) -> Result<Option<Output>> {
    let mut options = Options::new(target(on)?);
    options.choice = Choice::AlwaysSplit;
    options.measure = true;
    for (id, value) in &kernel.spec {
        options.spec.0.insert(*id, u64::from(*value));
    }
    options.workgroup_size = kernel.inputs.workgroup_size;
    change(&mut options);
    match Compiler::new(&options).compile(&kernel.module) {
        Ok(output) => Ok(Some(output)),
        Err(failure) => {
            let is_unsupported = failure.exit_code() == exit::UNSUPPORTED;
            ensure!(is_unsupported, "{failure}");
            Ok(None)
        }
    }
}

/// The cycles of the launch; `None` if it does not fit this code, or the simulator has a finding.
fn cycles(kernel: &Kernel, output: &Output) -> Result<Option<u64>> {
    let job = Job::compiled(output, 0).map_err(|why| anyhow!("{why}"))?;
    Ok(job
        .estimate(&kernel.inputs, None)
        .ok()
        .filter(|estimate| estimate.findings.is_empty())
        .map(|estimate| estimate.cycles))
}
