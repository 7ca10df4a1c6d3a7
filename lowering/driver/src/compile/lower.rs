//! The lowering stage: a candidate to code. Bodies and steps become IR; then the mid-level
//! optimiser runs; barriers are spelled out after it, so that it cannot close the windows.

use super::annotations::additions;
use super::plan::Candidate;
use super::request::{Extent, Request};
use crate::failure::Failure;
use crate::options::{Options, SplitBarriers};
use crate::stage::{Artefact, Observer, Stage, show};
use splitbar_passes::analysis::visible::first_effect;
use splitbar_passes::diagnostic::{Code as DiagnosticCode, Diagnostic, Diagnostics};
use splitbar_plan::backend::{DebugLines, LateWindows, LowerInput, LowerKernel, LoweredModule};
use splitbar_plan::{EntryPlan, Optimization};
use tracing::info_span;

/// A candidate, lowered.
pub(crate) struct Code<'p, 'w> {
    /// The version of the module that was lowered.
    pub(crate) candidate: Candidate<'p, 'w>,
    /// The plans that were lowered: those of the candidate, unless the request changes them.
    pub(crate) plans: Vec<EntryPlan>,
    /// The module.
    pub(crate) lowered: Box<dyn LoweredModule>,
}

/// Which words debug lines count.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Words {
    /// Those of the user's module.
    Original,
    /// Those of the module that is planned and lowered.
    Planned,
}

/// Lowers `candidate`.
///
/// # Errors
/// Unsupported instructions, at their places, and LLVM's own errors.
pub(crate) fn lower<'p, 'w>(
    mut candidate: Candidate<'p, 'w>,
    request: Request<'_>,
    observer: &mut dyn Observer,
) -> Result<Code<'p, 'w>, Failure> {
    let _span = info_span!("lower").entered();
    observer.begin(Stage::Lower);
    let options = request.options;
    let plans = lowered_plans(&candidate, request);
    if observer.wants_artefacts() {
        // The IR as it was written must be there before the optimiser begins, which may not come
        // back.
        let written = translate(&candidate, &plans, request, false);
        let written = written.map_err(|refused| candidate.problems.and(refused))?;
        let text = crate::backend::current().text(&written);
        observer.produced(Artefact::UnoptimizedIr, text.as_bytes());
    }
    let is_measured = options.measure && request.extent == Extent::Whole;
    let reads = is_measured || options.audit || additions(options).any();
    let lines = match (options.lines, reads) {
        (true, _) => DebugLines::All,
        (false, true) => DebugLines::Separate,
        (false, false) => DebugLines::None,
    };
    // People want the words of their own module, measurements those of the one that is planned.
    let words = if options.lines {
        Words::Original
    } else {
        Words::Planned
    };
    let lowered = lower_with_lines(&candidate, &plans, lines, words, request)
        .map_err(|refused| candidate.problems.and(refused))?;
    show(observer, Artefact::Ir, || lowered.ir().into_bytes());
    if !request.is_ir {
        // A skeleton has only the barriers of the kernel in LLVM IR.
        let lost = lost_effects(&candidate, lowered.as_ref());
        candidate.problems.take(lost)?;
    }
    Ok(Code {
        candidate,
        plans,
        lowered,
    })
}

/// The bitcode of `candidate` as it was written; with `calls` its barriers are calls.
///
/// # Errors
/// Unsupported instructions.
pub(crate) fn translate(
    candidate: &Candidate<'_, '_>,
    plans: &[EntryPlan],
    request: Request<'_>,
    calls: bool,
) -> Result<Vec<u8>, Diagnostics> {
    let kernels = lower_kernels(candidate, plans);
    let input = LowerInput {
        calls,
        ..input(
            candidate,
            &kernels,
            DebugLines::None,
            Words::Planned,
            request,
        )
    };
    request.lower.translate(&input)
}

/// The code of `plans` with these debug lines.
///
/// # Errors
/// Unsupported instructions, and LLVM's own errors.
pub(super) fn lower_with_lines(
    candidate: &Candidate<'_, '_>,
    plans: &[EntryPlan],
    lines: DebugLines,
    words: Words,
    request: Request<'_>,
) -> Result<Box<dyn LoweredModule>, Diagnostics> {
    let kernels = lower_kernels(candidate, plans);
    let input = input(candidate, &kernels, lines, words, request);
    request.lower.lower(&input)
}

/// The plans of `candidate`, changed if the request asks for that.
pub(crate) fn lowered_plans(candidate: &Candidate<'_, '_>, request: Request<'_>) -> Vec<EntryPlan> {
    let plans = candidate.kernels.iter().map(|kernel| kernel.plan.clone());
    let mut plans: Vec<EntryPlan> = plans.collect();
    if let Some(change) = request.change_plans {
        change(&mut plans);
    }
    plans
}

fn lower_kernels<'l>(
    candidate: &'l Candidate<'_, '_>,
    plans: &'l [EntryPlan],
) -> Vec<LowerKernel<'l>> {
    let kernels = candidate.kernels.iter().zip(plans);
    kernels
        .map(|(kernel, plan)| LowerKernel {
            kernel: &kernel.prepared.kernel,
            plan,
        })
        .collect()
}

/// The input of the back end.
fn input<'l>(
    candidate: &'l Candidate<'_, '_>,
    kernels: &'l [LowerKernel<'l>],
    lines: DebugLines,
    words: Words,
    request: Request<'l>,
) -> LowerInput<'l> {
    let (prepared, options) = (candidate.prepared, request.options);
    LowerInput {
        module: prepared.module,
        target: options.target,
        kernels,
        lines,
        source_map: prepared.source_map.filter(|_| words == Words::Original),
        optimization: options.optimization,
        abi: &options.abi,
        late_windows: late_windows(options),
        correctly_rounded: options.correctly_rounded_divide_sqrt,
        calls: false,
        guards: request.guards,
    }
}

/// Nothing moves where nobody optimises, and where windows are measured as LLVM leaves them.
fn late_windows(options: &Options) -> Option<LateWindows> {
    let wanted = options.scheduling_barriers && options.optimization != Optimization::O0;
    wanted.then_some(LateWindows {
        full_barriers: options.split_barriers != SplitBarriers::Never,
        all_memory: options.barriers_order_all_memory,
    })
}

/// Warnings of entry points that others can see the effects of, as the module has it, and whose
/// code has none.
fn lost_effects(candidate: &Candidate<'_, '_>, lowered: &dyn LoweredModule) -> Diagnostics {
    let module = &candidate.prepared.module;
    let mut found = Diagnostics::new();
    for (kernel, abi) in candidate.kernels.iter().zip(lowered.kernels()) {
        if lowered.has_effects(&abi.symbol) {
            continue;
        }
        let plan = &kernel.plan;
        let (declarations, constants) = (module.declarations(), module.constants());
        if let Some(first) = first_effect(declarations, constants, plan.function) {
            let message = format!(
                "the final code of entry point `{}` writes nothing",
                plan.entry
            );
            found.push(
                Diagnostic::warning(DiagnosticCode::NoEffectLeft, message)
                    .at_word(first)
                    .because("its final code writes no memory that outlives the workgroup")
                    .help("check whether a write can be reached; if so, report a bug"),
            );
        }
    }
    found
}
