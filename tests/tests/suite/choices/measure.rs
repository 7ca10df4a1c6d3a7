//! The time of each candidate.

use super::kernels::Kernel;
use crate::support::target;
use anyhow::{Result, anyhow, bail, ensure};
use splitbar::simulate::Job;
use splitbar::{Choice, Compiler, Options, Output, PipelineLoops, SplitBarriers, Strategy, exit};
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
    /// Cycles with `--pipeline-loops auto`, if it pipelines a loop.
    pub(super) pipelined: Option<u64>,
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

    /// The time with pipelined loops over that with full barriers.
    pub(super) fn pipelined_of_full(&self) -> Option<f64> {
        Some(ratio(self.pipelined?, self.full))
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
    let auto = compiled(kernel, on, |options| {
        options.choice = Choice::Balanced;
        options.split_barriers = splits[1];
    })?;
    let Some(auto) = auto else {
        bail!("auto does not compile it, and fused does");
    };
    let Some(chosen) = cycles(kernel, &auto)? else {
        bail!("auto: the simulator finds something that full barriers do not have");
    };
    let pipelined = compiled(kernel, on, |options| {
        options.choice = Choice::Balanced;
        options.split_barriers = splits[1];
        options.pipeline_loops = PipelineLoops::Auto;
    })?;
    let is_pipelined = |output: &Output| {
        let outcome = output.loops();
        outcome.is_some_and(|outcome| outcome.starts_with("pipelined "))
    };
    let pipelined = match pipelined.filter(is_pipelined) {
        None => None,
        Some(output) => match cycles(kernel, &output)? {
            Some(time) => Some(time),
            None => {
                bail!("pipelined: the simulator finds something that full barriers do not have")
            }
        },
    };
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
        pipelined,
        choice: split.map_or("full barriers", Strategy::name),
        ratios,
    }))
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
