//! Mutants of plans: a step is left out before the plan is lowered. The explorer looks at the
//! barriers, the audit and the simulator at the code.

use super::mutant::{Fate, Mutant};
use super::subject::{Run, Subject};
use crate::ir::kernels;
use crate::support::{always_split, linkable, told};
use anyhow::Result;
use splitbar::diagnostic::Severity;
use splitbar::simulate::Job;
use splitbar::{Bounds, Compiler, EntryPlan, Explored, Failure, Input, Options, Output};
use splitbar_passes::model::Verdict;
use splitbar_plan::{AmdgpuStep, Step};
use splitbar_tests::fixture::Fixture;

/// One target for each way to wait.
pub(super) const TARGETS: [&str; 6] = ["gfx90a", "gfx1100", "gfx1201", "gfx1250", "sm_75", "sm_90"];

/// The same for kernels in LLVM IR.
pub(super) const IR_TARGETS: [&str; 4] = ["gfx1100", "gfx1201", "sm_75", "sm_90"];

/// The language of a kernel.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Language {
    SpirV,
    LlvmIr,
}

impl Language {
    /// The bytes of a module in it.
    fn input(self, module: &[u8]) -> Input<'_> {
        match self {
            Language::SpirV => Input::SpirV(module),
            Language::LlvmIr => Input::LlvmIr(module),
        }
    }

    /// Compiles with `change` made to the plans.
    fn compile(
        self,
        module: &[u8],
        options: &Options,
        mut change: impl FnMut(&mut [EntryPlan]),
    ) -> Result<Output, Failure> {
        let mut compiler = Compiler::new(options).with_changed_plans(&mut change);
        compiler.compile(self.input(module))
    }

    /// Explores with `change` made to the plans.
    fn explore(
        self,
        module: &[u8],
        options: &Options,
        bounds: Bounds,
        mut change: impl FnMut(&mut [EntryPlan]),
    ) -> Result<Vec<Explored>, Failure> {
        let mut compiler = Compiler::new(options).with_changed_plans(&mut change);
        Ok(compiler.model(self.input(module), bounds)?.entries)
    }
}
pub(super) fn mutants(fixture: &Fixture, name: &'static str) -> Result<Vec<Mutant>> {
    made(fixture, name, Language::SpirV)
}

pub(super) fn ir_mutants(fixture: &Fixture, name: &'static str) -> Result<Vec<Mutant>> {
    made(fixture, name, Language::LlvmIr)
}

fn made(fixture: &Fixture, name: &'static str, language: Language) -> Result<Vec<Mutant>> {
    let mut options = always_split(name)?;
    options.audit = true;
    linkable(name)?;
    let (module, case) = match language {
        Language::SpirV => (fixture.module()?, None),
        Language::LlvmIr if !kernels::is_there(&fixture.name) => return Ok(Vec::new()),
        Language::LlvmIr => (
            kernels::module(&fixture.name, name)?,
            Some(kernels::case(&fixture.name)?),
        ),
    };
    let whole = language.compile(&module, &options, |_| {})?;
    if whole.entries().is_empty() {
        return Ok(Vec::new()); // nothing of it is planned
    }
    let subject = match case {
        Some(case) => Subject::prepare(&fixture.name, case, &whole)?,
        None => Subject::new(fixture, &whole)?,
    };
    let text = told(whole.assembly())?;
    let mut mutants = Vec::new();
    for number in 0..usize::MAX {
        let mut plan = whole.entries()[0].plan.clone();
        let Some(step) = leave_out(&mut plan, number) else {
            break;
        };
        if !synchronises(&step) {
            continue;
        }
        mutants.push(Mutant {
            kernel: fixture.name.clone(),
            what: step.to_string(),
            fate: fate(&subject, (language, &module), &options, number, &text)?,
        });
    }
    Ok(mutants)
}

fn fate(
    subject: &Subject,
    (language, module): (Language, &[u8]),
    options: &Options,
    number: usize,
    whole: &str,
) -> Result<Fate> {
    let change = |plans: &mut [EntryPlan]| {
        if let Some(plan) = plans.first_mut() {
            leave_out(plan, number);
        }
    };
    let mut bounds = Bounds::default();
    bounds.unroll = 2;
    let explored = language.explore(module, options, bounds, change)?;
    if explored
        .iter()
        .any(|one| one.report.verdict != Verdict::Proved)
    {
        return Ok(Fate::Explorer);
    }
    let output = match language.compile(module, options, change) {
        Ok(output) => output,
        Err(failure) if is_of_audit(&failure) => return Ok(Fate::Audit),
        Err(failure) => return Err(failure.into()),
    };
    if told(output.assembly())? == whole {
        return Ok(Fate::SameCode);
    }
    let mutant = Job::compiled(&output, 0)?;
    if let Run::Noticed(fate) = subject.run(&mutant)? {
        return Ok(fate);
    }
    Ok(if subject.is_separated(&mutant)? {
        Fate::Separated
    } else {
        Fate::Survives
    })
}

/// Returns true if only the audit rejected the code.
fn is_of_audit(failure: &Failure) -> bool {
    use splitbar::diagnostic::Code::{
        MissingFence, MissingInvalidation, MissingWait, MissingWriteBack,
    };
    let codes = [
        MissingWait,
        MissingInvalidation,
        MissingWriteBack,
        MissingFence,
    ];
    let mut problems = failure.diagnostics.iter();
    problems.all(|problem| problem.severity != Severity::Error || codes.contains(&problem.code))
}

/// Removes step `number` from a plan, including nested steps, and returns it; `None` if there are
/// fewer.
fn leave_out(plan: &mut EntryPlan, number: usize) -> Option<Step> {
    let mut left = number;
    let lists = std::iter::once(&mut plan.at_entry)
        .chain(plan.at_instruction.values_mut())
        .chain(plan.at_return.values_mut())
        .chain(std::iter::once(&mut plan.at_end));
    for steps in lists {
        if let Some(step) = take(steps, &mut left) {
            return Some(step);
        }
    }
    None
}

fn take(steps: &mut Vec<Step>, left: &mut usize) -> Option<Step> {
    for at in 0..steps.len() {
        if *left == 0 {
            return Some(steps.remove(at));
        }
        *left -= 1;
        if let Step::IfOutstanding(inner) | Step::IfFirst(inner) = &mut steps[at]
            && let Some(step) = take(inner, left)
        {
            return Some(step);
        }
    }
    None
}

/// Returns true if a step waits, fences or takes part in a barrier, by itself.
fn synchronises(step: &Step) -> bool {
    match step {
        Step::OpenWindow
        | Step::CloseWindow
        | Step::Amdgpu(AmdgpuStep::LeaveWindow)
        | Step::IfFirst(_)
        | Step::SetOutstanding(_)
        | Step::IfOutstanding(_) => false,
        Step::Fence(_)
        | Step::Amdgpu(_)
        | Step::Nvptx(_)
        | Step::ClusterArrive
        | Step::ClusterWait
        | Step::CounterInit
        | Step::CounterArrive
        | Step::CounterWait
        | Step::AsyncMark
        | Step::AsyncWait(_)
        | Step::StoreStaged(_) => true,
    }
}
