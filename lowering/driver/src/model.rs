//! The barriers of a module, lowered to the steps of a target and explored in every interleaving.

use crate::failure::Failure;
use crate::options::Options;
use crate::prepare::{Problems, Work, guarded, run};
use splitbar_passes::analysis::cfg::Cfg;
use splitbar_passes::analysis::pairing::SiteKind;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::model::skeleton::{BarrierRole, Skeleton};
use splitbar_passes::model::{self, Report};
use splitbar_passes::module::{Scope, WordOffset};
use splitbar_plan::{EntryPlan, MeetsAt, PairPlan, Strategy};

/// How much is explored.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// Waves of a workgroup; fewer when it has fewer.
    pub waves: u8,
    /// How often a loop goes back.
    pub unroll: u8,
    /// States that are told apart.
    pub most_states: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            waves: 3,
            unroll: 3,
            most_states: model::Options::default().most_states,
        }
    }
}

/// What the exploration of one entry point came to.
#[derive(Clone, Debug)]
pub struct Explored {
    /// The entry point.
    pub entry: String,
    /// The strategies of its pairs, each once.
    pub strategies: Vec<Strategy>,
    /// Waves of each workgroup that were explored.
    pub waves: u8,
    /// Workgroups that were explored: those of a cluster whose barrier they share, else one.
    pub workgroups: u8,
    /// Whether paths were left out on which arrives and waits do not alternate.
    /// [`splitbar_passes::validate`] says whether there are such paths.
    pub is_partial: bool,
    /// Verdict and trace.
    pub report: Report,
}

/// Explores the barriers of the module in `bytes` as [`crate::compile`] would lower them. With them
/// come the planner's warnings.
///
/// Control flow around barriers is taken to be uniform: at a branch every wave goes the same way,
/// and both ways are looked at. With [`Strategy::Cluster`] all workgroups of [`Options::cluster`]
/// are explored side by side; the arrives and waits are promised to be those of the whole cluster.
///
/// # Errors
/// As [`crate::plan`]; a `ModuleTooLarge` when the unrolled control flow is too large, or has no
/// end within the bound, or when a cluster has more waves than can be explored.
pub fn model(
    bytes: &[u8],
    options: &Options,
    bounds: Bounds,
) -> Result<(Vec<Explored>, Diagnostics), Failure> {
    model_changed(bytes, options, bounds, |_| {})
}

/// As [`model()`], with `change` made to the plans before they are explored: for tests that ask
/// what a missing step does.
///
/// # Errors
/// As [`model()`].
pub fn model_changed(
    bytes: &[u8],
    options: &Options,
    bounds: Bounds,
    change: impl FnOnce(&mut [EntryPlan]),
) -> Result<(Vec<Explored>, Diagnostics), Failure> {
    guarded(options, || {
        run(bytes, options, &mut (), |mut prepared, _| {
            change(&mut prepared.plans);
            let (work, problems) = (&prepared.work, &mut prepared.problems);
            let mut explored = Vec::new();
            for plan in &prepared.plans {
                match explore(work, problems, plan, bounds) {
                    Ok(one) => explored.push(one),
                    Err(refused) => return Err(problems.and(refused.into())),
                }
            }
            Ok((explored, problems.take_all()))
        })
    })
}

fn explore(
    work: &Work<'_>,
    problems: &Problems<'_>,
    plan: &EntryPlan,
    bounds: Bounds,
) -> Result<Explored, Diagnostic> {
    let module = work.checked.declarations().module;
    let function = work
        .checked
        .declarations()
        .function(plan.function)
        .ok_or_else(|| {
            Diagnostic::error(
                Code::Internal,
                format!("entry point `{}` has no function", plan.entry),
            )
        })?;
    let skeleton = Skeleton::of(
        function,
        &Cfg::of(module, function),
        bounds.unroll,
        |offset| place(plan, offset),
    )
    .map_err(|why| {
        let message = format!(
            "the control flow of entry point `{}` cannot be explored",
            plan.entry
        );
        Diagnostic::error(Code::ModuleTooLarge, message)
            .at_word(function.offset)
            .because(why)
            .help("change `Bounds::unroll`")
    })?;
    let waves = waves(plan, bounds.waves);
    let workgroups = workgroups(plan, waves)?;
    let describe = |offset| match module.at(offset) {
        Some(inst) => {
            let text = work.checked.declarations().disassemble(inst);
            match problems.original_word(offset) {
                Some(word) => format!("{text} (word {word})"),
                None => text,
            }
        }
        None => String::new(),
    };
    let arch = &work.options.target.arch;
    let system = splitbar_plan::model::cluster(plan, arch, &skeleton, workgroups, waves, describe);
    let report = model::explore_with(
        &system,
        model::Options {
            most_states: bounds.most_states,
            ..model::Options::default()
        },
    );
    let mut strategies: Vec<Strategy> = plan.pairs.iter().map(|pair| pair.strategy).collect();
    strategies.sort_unstable();
    strategies.dedup();
    Ok(Explored {
        entry: plan.entry.clone(),
        strategies,
        waves,
        workgroups,
        is_partial: skeleton.is_partial,
        report,
    })
}

/// What the instruction at `offset` is to the workgroup's sequence; nothing if no step stands
/// there.
fn place(plan: &EntryPlan, offset: WordOffset) -> Option<BarrierRole> {
    let stands = plan.at_instruction.contains_key(&offset) || plan.at_return.contains_key(&offset);
    if !stands {
        return None;
    }
    let site = plan.sites.iter().find(|site| site.offset == offset);
    let of_workgroup = site.filter(|site| site.execution == Some(Scope::Workgroup));
    Some(match of_workgroup.map(|site| site.kind) {
        Some(SiteKind::Arrive) => BarrierRole::Arrive,
        Some(SiteKind::Wait) => BarrierRole::Wait,
        Some(SiteKind::ControlBarrier | SiteKind::MemoryBarrier) | None => BarrierRole::Other,
    })
}

/// As many waves as asked for, but no more than the workgroup has.
fn waves(plan: &EntryPlan, asked: u8) -> u8 {
    let Some(size) = plan.workgroup_size else {
        return asked; // the host says how many there are
    };
    let invocations = size
        .iter()
        .map(|n| u64::from(*n))
        .fold(1, u64::saturating_mul);
    let waves = invocations
        .div_ceil(u64::from(plan.wave_size.max(1)))
        .max(1);
    u8::try_from(waves).map_or(asked, |waves| asked.min(waves))
}

/// The workgroups that meet at the barriers of `plan`, each with `waves` waves.
fn workgroups(plan: &EntryPlan, waves: u8) -> Result<u8, Diagnostic> {
    let meets = |pair: &PairPlan| pair.strategy.meets_at() == MeetsAt::ClusterBarrier;
    let Some([x, y, z]) = plan.cluster.filter(|_| plan.pairs.iter().any(meets)) else {
        return Ok(1); // each workgroup by itself
    };
    let all: u64 = [x, y, z].map(u64::from).iter().product();
    match u8::try_from(all) {
        Ok(count) if all * u64::from(waves) <= model::MOST_THREADS as u64 => Ok(count),
        _ => Err(Diagnostic::error(
            Code::ModuleTooLarge,
            format!(
                "a cluster of {x}x{y}x{z} workgroups cannot be explored with {waves} waves in each"
            ),
        )
        .because(format!("the model takes {} waves", model::MOST_THREADS))
        .help("choose a smaller `Bounds::waves` or `Options::cluster`")),
    }
}
